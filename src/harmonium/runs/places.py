"""Which process of how many this is, and where they meet: from the environment."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from ..errors import InputError, input_error

ADDRESS, COUNT, NUMBER = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
DEVICES = "JAX_LOCAL_DEVICE_IDS"
SEEN = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
# Launchers that tell each process its number, and not where the first one is: MPI without mpi4py.
LAUNCHERS = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),  # Open MPI
    ("PMI_SIZE", "PMI_RANK"),  # MPICH, Intel MPI
)
MPI = "mpi4py"
ALL_THREE = (
    f"set {ADDRESS}=HOST:PORT of the first process, {COUNT}=N and {NUMBER}=0 to N-1 for each, or"
    " start them by srun or mpirun"
)


class Place(NamedTuple):
    """The place of a process in a run of several.

    Attributes:
        host: the computer of the first process.
        port: where the first process listens.
        count: how many processes there are.
        number: which one this is, from 0.
        devices: the devices of this computer that are for this process; None for all.
    """

    host: str
    port: int
    count: int
    number: int
    devices: list[int] | None


def place_here(environment: Mapping[str, str] = os.environ) -> Place:
    """Return the place that variables or a launcher of many processes tell.

    JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID hold if all three are set. What is
    not set is found as JAX finds it: under SLURM, Open MPI, Kubernetes, or by mpi4py.

    Raises:
        InputError: a value is missing, is no such value, or contradicts the launcher.
    """
    told = {name: environment[name] for name in (ADDRESS, COUNT, NUMBER) if environment.get(name)}
    launched = {} if len(told) == 3 else _launched(environment)
    for name, value in told.items():
        other = launched.get(name, value)
        if str(other) != value:
            advice = f"unset {name}, or set {ADDRESS}, {COUNT} and {NUMBER}"
            raise input_error(name, f"{other}, as the launcher says", value, advice)
    found = launched | told
    missing = [name for name in (ADDRESS, COUNT, NUMBER) if name not in found]
    if missing:
        expected = "the address, the number of processes and which one this is"
        raise input_error("--distributed", expected, f"no {', no '.join(missing)}", ALL_THREE)
    host, port = _parts(found[ADDRESS])
    count = _whole(COUNT, found[COUNT], 1, None)
    number = _whole(NUMBER, found[NUMBER], 0, count - 1)
    rank = None if len(told) == 3 else launched.get(DEVICES)
    return Place(host, port, count, number, devices_of(rank, environment))


def check_name() -> None:
    """Check that the name of this computer has an address, which processes tell one another.

    Raises:
        InputError: it has none.
    """
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        expected, advice = "a name of this computer with an address", f"add {name} to /etc/hosts"
        raise input_error("--distributed", expected, f"{name!r} without one", advice) from None


def devices_of(rank: int | None, environment: Mapping[str, str]) -> list[int] | None:
    """Return the devices for the process of this rank on its computer; None lets JAX use all.

    JAX takes the rank, as if each process saw all devices of the computer. But where the launcher
    gives each process its own, as SLURM does by `--gpus-per-task`, that one is its device 0 (JAX's
    issues 23452 and 28194). JAX_LOCAL_DEVICE_IDS, which JAX reads, is left to it.
    """
    if rank is None or environment.get(DEVICES):
        return None
    seen = next((environment[name] for name in SEEN if environment.get(name)), None)
    return [0] if seen is not None and len(seen.split(",")) == 1 else [rank]


def _launched(environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what JAX finds out about a launcher, by the names of variables, where it is known."""
    from jax._src import clusters  # what jax.distributed.initialize asks; it has no public name

    known = next(((n, i) for n, i in LAUNCHERS if {n, i} <= environment.keys()), None)
    method = MPI if known is not None and find_spec(MPI) is not None else None
    find = clusters.ClusterEnv.auto_detect_unset_distributed_params
    try:
        values = find(None, None, None, None, method, 300)
    except Exception as error:  # of another launcher's environment, half of it set
        reason = f"{type(error).__name__}: {error}"
        raise input_error("--distributed", "a launcher that JAX knows", reason, ALL_THREE) from None
    names = (ADDRESS, COUNT, NUMBER)
    found = {name: value for name, value in zip(names, values, strict=False) if value is not None}
    if values[3]:
        found[DEVICES] = next(iter(values[3]))
    if not found and known is not None:
        found = {COUNT: environment[known[0]], NUMBER: environment[known[1]]}
    return found


def _parts(address: Any) -> tuple[str, int]:
    host, _, port = str(address).rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        advice = "write it as node1:29500"
        raise input_error(ADDRESS, "HOST:PORT of the first process", repr(address), advice)
    return host.strip("[]"), int(port)


def _whole(name: str, value: Any, least: int, most: int | None) -> int:
    text = str(value)
    if text.isascii() and text.isdecimal() and least <= int(text) <= (most or int(text)):
        return int(text)
    return _refuse(name, least, most, text)


def _refuse(name: str, least: int, most: int | None, found: str) -> int:
    span = f"from {least}" + ("" if most is None else f" to {most}, one below {COUNT}")
    error: InputError = input_error(name, f"a whole number {span}", repr(found), ALL_THREE)
    raise error
