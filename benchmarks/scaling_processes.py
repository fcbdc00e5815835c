"""The processes of `scaling.py`: they make updates, exchanges or sweeps when they are told to."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scaling_model import Work

import harmonium as hm
from harmonium.sharding import use_mesh
from harmonium.training.arguments import plan_run
from harmonium.training.chunks import advance
from harmonium.training.start import first_state
from harmonium.training.update import padded


def prepared(work: Work, recipe: hm.Recipe | None = None, precision: str = "float32") -> tuple:
    """Return the arguments of the compiled loop of updates; within the mesh."""
    n, key = max(2_048, 4 * work.batch), jax.random.key(0)
    rows = (np.random.default_rng(0).random((n, work.visible), np.float32) < 0.2).astype(np.uint8)
    rbm = hm.initialize(hm.Bernoulli(work.visible), hm.Bernoulli(work.hidden), rows, key=key)
    method = hm.Persistent(hm.Gibbs(work.k), chains=work.chains)
    recipe = recipe or hm.Recipe()
    plan = plan_run(rbm, rows, None, method, recipe(10**9), 10**6, work.batch, precision)
    state = first_state(rbm, plan, key=key)
    return plan.method, *padded(plan.dataset), state


def mesh_of(work: Work) -> dict[str, int] | None:
    """Return the mesh, or None for one device."""
    sizes = {"data": work.data, "hidden": work.columns}
    return {name: size for name, size in sizes.items() if size > 1} or None


def compiled(work: Work, **options: Any) -> Any:
    """Return the compiled loop of updates."""
    with use_mesh(mesh_of(work)):
        *given, state = prepared(work, **options)
        until, key = jnp.asarray(1, jnp.int32), jax.random.key(0)
        return advance.lower(*given, state, until, key=key).compile().compiled


class Timed:
    """Updates and exchanges in this process, prepared at their first call."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}

    def updates(self, sizes: list[int], times: int) -> None:
        """Make so many more updates."""
        work = Work(*sizes)
        with use_mesh(mesh_of(work)):
            *given, state = self.kept.get(work) or prepared(work)
            until, key = jnp.asarray(int(state.updates) + times, jnp.int32), jax.random.key(0)
            state = jax.block_until_ready(advance(*given, state, until, key=key))
            self.kept[work] = (*given, state)

    def exchange(self, size: int, devices: int, times: int) -> None:
        """Add up so many bytes of each device, again and again."""
        spec = jax.sharding.PartitionSpec("data")
        with use_mesh({"data": devices}):
            if ("sum", devices) not in self.kept:

                def several(x, n):
                    return jax.lax.fori_loop(
                        0, n, lambda _, y: jax.lax.psum(y, "data") / devices, x
                    )

                shared = jax.shard_map(
                    several,
                    in_specs=(spec, jax.sharding.PartitionSpec()),
                    out_specs=spec,
                    check_vma=False,
                )
                self.kept["sum", devices] = jax.jit(shared)
            if ("ones", size, devices) not in self.kept:
                made = jax.jit(
                    lambda: jax.lax.with_sharding_constraint(jnp.ones(devices * size // 4), spec)
                )
                self.kept["ones", size, devices] = made()
            jax.block_until_ready(
                self.kept["sum", devices](self.kept["ones", size, devices], times)
            )

    def sweeps(self, visible: int, hidden: int, chains: int, precision: str, times: int) -> None:
        """Make so many sweeps of Gibbs chains."""
        name = ("sweeps", visible, hidden, chains, precision)
        if name not in self.kept:
            rbm = hm.RBM(
                hm.Bernoulli(visible),
                hm.Bernoulli(hidden),
                0.01 * np.random.default_rng(0).standard_normal((visible, hidden), np.float32),
            )
            rbm, sampler = hm.rounded(rbm) if precision == "bfloat16" else rbm, hm.Gibbs(1)
            chains_ = sampler.init_independent(rbm, chains, key=jax.random.key(0))
            go = jax.jit(lambda s, n: sampler.run(rbm, s, n, key=jax.random.key(1)))
            self.kept[name] = (go, chains_)
        go, chains_ = self.kept[name]
        jax.block_until_ready(go(chains_, times))


def child(number: int, processes: int, devices: int, port: int) -> None:
    """Do what the lines of the standard input say, and answer with seconds of both clocks."""
    jax.config.update("jax_num_cpu_devices", devices)
    if processes > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        address, patience = f"127.0.0.1:{port}", {"heartbeat_timeout_seconds": 3_600}
        jax.distributed.initialize(address, processes, number, **patience)
    timed = Timed()
    for line in sys.stdin:
        told = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        getattr(timed, told.pop("what"))(**told)
        spent = [time.perf_counter() - wall, time.process_time() - cpu]
        print(f"\n@{json.dumps(spent)}", flush=True)


class Group:
    """Processes that share a run, or one with several devices; they wait until they are asked."""

    def __init__(self, processes: int, devices: int, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        flags = os.environ.get("XLA_FLAGS", "")  # on a busy computer some compile much longer
        flags += " --xla_cpu_collective_call_terminate_timeout_seconds=3600"
        flags += " --xla_cpu_collective_timeout_seconds=3600"
        environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
        self.members: list[subprocess.Popen] = []
        self.logs = [folder / f"{processes}x{devices}_{i}.log" for i in range(processes)]
        self.paces: dict[str, float] = {}
        for number, log in enumerate(self.logs):
            told = map(str, (number, processes, devices, port))
            command = [sys.executable, __file__, *told]
            with log.open("w") as errors:
                streams: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
                self.members.append(
                    subprocess.Popen(command, env=environment, text=True, stderr=errors, **streams)
                )

    def ask(self, told: dict) -> list[float]:
        """Return the seconds of wall-clock and of CPU time that all of them took."""
        for member in self.members:
            print(json.dumps(told), file=member.stdin, flush=True)
        answers = []
        for member, log in zip(self.members, self.logs, strict=True):
            line = " "
            while line and not line.startswith("@"):
                line = member.stdout.readline() if member.stdout else ""
            if not line:
                sys.exit(f"a process ended; its messages are in {log}:\n{log.read_text()[-2000:]}")
            answers.append(json.loads(line[1:]))
        return [max(wall for wall, _ in answers), sum(cpu for _, cpu in answers)]

    def time(self, told: dict, seconds: float) -> list[float]:
        """Return the seconds of one, from a call of about so many seconds."""
        name = json.dumps(told)
        if name not in self.paces:
            self.ask(told | {"times": 1})  # compiles
            self.paces[name] = max(self.ask(told | {"times": 3})[0] / 3, 1e-6)
        times = max(2, round(seconds / self.paces[name]))
        found = [spent / times for spent in self.ask(told | {"times": times})]
        self.paces[name] = found[0]
        return found

    def close(self) -> None:
        """End the processes."""
        for member in self.members:
            with contextlib.suppress(BrokenPipeError):
                member.stdin.close()  # type: ignore[union-attr]
        for member in self.members:
            try:
                member.wait(30)
            except subprocess.TimeoutExpired:
                member.kill()


if __name__ == "__main__":
    child(*map(int, sys.argv[1:]))
