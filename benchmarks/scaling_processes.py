"""The processes of `scaling.py`: they make updates, exchanges or sweeps on demand."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scaling_model import Work

import harmonium as hm
from harmonium._base.numerics import whole_number
from harmonium._base.sharding import use_mesh
from harmonium.training.arguments import first_state, plan_run
from harmonium.training.chunks import advance


def prepared(work: Work, recipe: hm.Recipe | None = None, precision: str = "float32") -> tuple:
    """Return the arguments of the compiled loop of updates; within the mesh."""
    n = max(2_048, 4 * work.batch)
    key = jax.random.key(0)
    rows = (np.random.default_rng(0).random((n, work.visible), np.float32) < 0.2).astype(np.uint8)
    rbm = hm.initialize(hm.Bernoulli(work.visible), hm.Bernoulli(work.hidden), rows, key=key)
    method = hm.Persistent(hm.Gibbs(work.k), chains=work.chains)
    recipe = recipe or hm.Recipe()
    plan = plan_run(rbm, rows, None, method, recipe(10**9), 10**6, work.batch, precision)
    state = first_state(rbm, plan, key=key)
    return plan.method, plan.dataset.padded(), whole_number(len(plan.dataset)), state


def mesh_of(work: Work) -> dict[str, int] | None:
    """Return the mesh, or None for one device."""
    sizes = {"data": work.data, "hidden": work.columns}
    return {name: size for name, size in sizes.items() if size > 1} or None


def compiled(work: Work, **options: Any) -> Any:
    """Return the compiled loop of updates."""
    with use_mesh(mesh_of(work)):
        *arguments, state = prepared(work, **options)
        until = jnp.asarray(1, jnp.int32)
        key = jax.random.key(0)
        return advance.lower(*arguments, state, until, key=key).compile().compiled


class Jobs:
    """Updates, exchanges and sweeps in this process, prepared at their first call."""

    def __init__(self) -> None:
        self.prepared: dict[Any, Any] = {}

    def updates(self, sizes: list[int], times: int) -> None:
        """Make so many more updates."""
        work = Work(*sizes)
        with use_mesh(mesh_of(work)):
            *arguments, state = self.prepared.get(work) or prepared(work)
            until = jnp.asarray(int(state.updates) + times, jnp.int32)
            state = advance(*arguments, state, until, key=jax.random.key(0))
            self.prepared[work] = (*arguments, jax.block_until_ready(state))

    def exchange(self, size: int, devices: int, times: int) -> None:
        """Add up so many bytes of each device, again and again."""
        with use_mesh({"data": devices}):
            name = ("exchange", size, devices)
            if name not in self.prepared:
                self.prepared[name] = exchange_of(size, devices)
            add_up, numbers = self.prepared[name]
            jax.block_until_ready(add_up(numbers, times))

    def sweeps(self, visible: int, hidden: int, chains: int, precision: str, times: int) -> None:
        """Make so many sweeps of Gibbs chains."""
        name = ("sweeps", visible, hidden, chains, precision)
        if name not in self.prepared:
            self.prepared[name] = sweeps_of(visible, hidden, chains, precision)
        sweep, states = self.prepared[name]
        jax.block_until_ready(sweep(states, times))


def exchange_of(size: int, devices: int) -> tuple[Callable, jax.Array]:
    """Return a compiled loop of sums over devices, and numbers of so many bytes a device."""
    spec = jax.sharding.PartitionSpec("data")

    def add_up(numbers, times):
        return jax.lax.fori_loop(0, times, lambda _, x: jax.lax.psum(x, "data") / devices, numbers)

    shared = jax.shard_map(
        add_up, in_specs=(spec, jax.sharding.PartitionSpec()), out_specs=spec, check_vma=False
    )
    ones = jax.jit(lambda: jax.lax.with_sharding_constraint(jnp.ones(devices * size // 4), spec))
    return jax.jit(shared), ones()


def sweeps_of(visible: int, hidden: int, chains: int, precision: str) -> tuple[Callable, Any]:
    """Return a compiled loop of Gibbs sweeps, and the states of its chains."""
    weights = 0.01 * np.random.default_rng(0).standard_normal((visible, hidden), np.float32)
    rbm = hm.RBM(hm.Bernoulli(visible), hm.Bernoulli(hidden), weights)
    if precision == "bfloat16":
        rbm = hm.transforms.rounded(rbm)
    sampler = hm.Gibbs(1)
    states = sampler.init_independent(rbm, chains, key=jax.random.key(0))
    return jax.jit(lambda s, n: sampler.run(rbm, s, n, key=jax.random.key(1))), states


class Seconds(NamedTuple):
    """Seconds of wall-clock time, and of CPU time."""

    wall: float
    cpu: float


def child(number: int, processes: int, devices: int, port: int) -> None:
    """Do what the lines of the standard input say, and answer with seconds of both clocks."""
    jax.config.update("jax_num_cpu_devices", devices)
    if processes > 1:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(
            f"127.0.0.1:{port}", processes, number, heartbeat_timeout_seconds=3_600
        )
    jobs = Jobs()
    for line in sys.stdin:
        job = json.loads(line)
        wall = time.perf_counter()
        cpu = time.process_time()
        getattr(jobs, job.pop("what"))(**job)
        spent = [time.perf_counter() - wall, time.process_time() - cpu]
        print(f"\n@{json.dumps(spent)}", flush=True)


class Group:
    """Processes that share a run, or one with several devices; they wait until they are asked."""

    def __init__(self, processes: int, devices: int, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        # On a busy computer, some processes compile much longer than others wait by default.
        flags = os.environ.get("XLA_FLAGS", "")
        flags += " --xla_cpu_collective_call_terminate_timeout_seconds=3600"
        flags += " --xla_cpu_collective_timeout_seconds=3600"
        environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
        self.members: list[subprocess.Popen] = []
        self.logs = [folder / f"{processes}x{devices}_{i}.log" for i in range(processes)]
        self.paces: dict[str, float] = {}
        for number, log in enumerate(self.logs):
            command = [sys.executable, __file__, *map(str, (number, processes, devices, port))]
            with log.open("w") as errors:
                member = subprocess.Popen(
                    command,
                    env=environment,
                    text=True,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                )
            self.members.append(member)

    def ask(self, job: dict) -> Seconds:
        """Let all processes do a job; return the longest wall-clock time and all CPU time."""
        for member in self.members:
            print(json.dumps(job), file=member.stdin, flush=True)
        answers = []
        for member, log in zip(self.members, self.logs, strict=True):
            line = " "
            while line and not line.startswith("@"):
                line = member.stdout.readline()  # type: ignore[union-attr]
            if not line:
                sys.exit(f"a process ended; its messages are in {log}:\n{log.read_text()[-2000:]}")
            answers.append(Seconds(*json.loads(line[1:])))
        return Seconds(max(a.wall for a in answers), sum(a.cpu for a in answers))

    def time(self, job: dict, seconds: float) -> Seconds:
        """Return the seconds of one update, exchange or sweep, from a call of about so many."""
        name = json.dumps(job)
        if name not in self.paces:
            self.ask(job | {"times": 1})  # compiles
            self.paces[name] = max(self.ask(job | {"times": 3}).wall / 3, 1e-6)
        times = max(2, round(seconds / self.paces[name]))
        total = self.ask(job | {"times": times})
        self.paces[name] = total.wall / times
        return Seconds(total.wall / times, total.cpu / times)

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
