"""`--distributed`: one command run by several processes, which `jax.distributed` connects.

Under SLURM, Open MPI or Kubernetes, JAX finds the other processes by itself. JAX notices that a
process has ended when its heartbeats stop. Each process reports its own errors; everything else is
printed by the first process. A signal to one process takes effect in all processes at the same
update, within about a second (`sharding.clock`).
"""

from __future__ import annotations

import os
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from .._base.signals import Asked
from ..errors import InputError

ADDRESS = "JAX_COORDINATOR_ADDRESS"
COUNT = "JAX_NUM_PROCESSES"
INDEX = "JAX_PROCESS_ID"
MEANINGS = {COUNT: "the number of processes", INDEX: "the index of this process, from 0"}
# Seconds that a failed process waits for the others to end; JAX would wait 5 minutes.
SECONDS_TO_SHUT_DOWN = 20
OPTION = "--distributed"


@contextmanager
def distributed() -> Iterator[None]:
    """Return a context in which this process computes jointly with the command's other processes.

    Raises:
        InputError: the other processes cannot be found or reached, or the processes differ in
            their command line or number of devices.
    """
    import jax

    from .._base.files import reason_of
    from .._base.processes import check_same

    # JAX's own handler of SIGTERM would replace ours.
    jax.config.update("jax_enable_preemption_service", False)
    count = _number_in(COUNT)
    index = _number_in(INDEX)
    _keep_standard_output()
    try:
        jax.distributed.initialize(
            num_processes=count, process_id=index, shutdown_timeout_seconds=SECONDS_TO_SHUT_DOWN
        )
    except Exception as error:  # JAX raises different types for each launcher and connection
        raise InputError(
            f"{OPTION}: expected processes that JAX can connect; got {reason_of(error)}; set"
            f" {ADDRESS} to HOST:PORT of the first process, {COUNT} to the number of processes and"
            f" {INDEX} to the index of each, from 0; or start the processes with srun or mpirun."
        ) from None
    Asked.is_shared = True
    command = shlex.join(sys.argv[1:])
    check_same(
        OPTION,
        command,
        "the same command in all processes",
        "start all processes with the same line",
    )
    devices = Counter(device.process_index for device in jax.devices())
    if len(set(devices.values())) > 1:
        listed = ", ".join(f"{count} in process {index}" for index, count in devices.items())
        raise InputError(
            f"{OPTION}: expected the same number of devices in all processes; got {listed}; choose"
            " devices with CUDA_VISIBLE_DEVICES or JAX_LOCAL_DEVICE_IDS."
        )
    yield
    jax.distributed.shutdown()


def _number_in(variable: str) -> int | None:
    """Return the number in an environment variable that JAX does not read; None if it is unset."""
    text = os.environ.get(variable)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise InputError(
            f"{variable}: expected a whole number; got {text!r}; set it to {MEANINGS[variable]}."
        )
    return int(text)


def _keep_standard_output() -> None:
    """Prevent Gloo, by which processes on CPUs communicate, from printing into JSON output."""
    sys.stdout.flush()
    own = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = os.fdopen(own, "w", buffering=1, encoding=sys.stdout.encoding, errors="replace")
