"""`--distributed`: a command that several processes run as one.

The first process prints; the others say what went wrong through it. What the system asks one of
them for, by a signal, all do at the same place, within about a second (`sharding.clock`).
"""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from contextlib import suppress
from typing import Any

from ..signals import Asked
from .base import DEBUG, INTERNAL_ERROR, INTERRUPTED, LOST, complain

SECONDS_TO_LEARN_WHY = 10.0
SECONDS_TO_PART = 20
SECONDS_OF_A_STOP = 86_400  # a stopped process is no dead one, which the lookout notices
MUTED = (1, 2)  # what C++ libraries write to: Gloo its connections, XLA pages about lost ones


class Together:
    """The other processes of a command; a context manager within which JAX computes with them."""

    options = ("--distributed",)

    def __init__(self):
        self.is_first, self.is_ending = False, False
        self.lookout: Any = None
        self.before: dict[int, Any] = {}
        self.kept: dict[int, int] = {}
        self.streams = (sys.stdout, sys.stderr)
        self.voice = sys.stderr

    def __enter__(self) -> Together:
        """Meet the others.

        Raises:
            InputError: the environment does not say who they are, they are not there, or this
                computer's name has no address.
        """
        import jax

        from .. import __version__
        from ..runs.lookout import LOOPBACK, Lookout
        from ..runs.places import check_name, place_here

        place = place_here()
        command = f"harmonium {__version__} {shlex.join(sys.argv[1:])}"
        self.lookout = Lookout(place, command, LOST, self._end)
        self.lookout.meet()
        self.is_first = place.number == 0
        self._mute(is_silent=not self.is_first)
        check_name()
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        # JAX's own handler of SIGTERM would take the place of ours.
        jax.config.update("jax_enable_preemption_service", False)
        # JAX's coordinator is behind the lookout, not behind a proxy for the web.
        os.environ["no_grpc_proxy"] = LOOPBACK  # noqa: SIM112  (gRPC reads this one)
        jax.config.update("jax_check_proxy_envs", False)
        jax.distributed.initialize(
            self.lookout.address,
            place.count,
            place.number,
            local_device_ids=place.devices,
            cluster_detection_method="deactivate",
            coordinator_bind_address=self.lookout.address,
            shutdown_timeout_seconds=SECONDS_TO_PART,
            heartbeat_timeout_seconds=SECONDS_OF_A_STOP,
        )
        _check_devices()
        Asked.act = self._act
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self.before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type | None, error: Any, trace: Any) -> None:
        """Part from the others; after an error, `fail` does."""
        for number, handler in self.before.items():
            signal.signal(number, handler)
        if error is None:
            import jax

            self.lookout.leave(0)
            jax.distributed.shutdown()
            self._unmute()

    def fail(self, status: int, line: str) -> None:
        """Say what went wrong, and end this process and the others with it."""
        if self.lookout is None:
            complain(line)
            return
        # Who cannot compute with a process that has just ended meets an error of JAX, whatever its
        # type. The lookout knows better, and ends this process; the first one decides for all.
        if status == INTERNAL_ERROR and self.is_first:
            time.sleep(SECONDS_TO_LEARN_WHY)
        self.lookout.leave(status, line)
        if not self.is_first and self.kept:
            time.sleep(SECONDS_TO_LEARN_WHY)
        self._end(status, line if self.is_first or not self.kept else None)

    def _note(self, number: int, frame: Any) -> None:
        """Keep in mind what the system asks for; Ctrl-C twice ends at once, without saving."""
        if number == signal.SIGINT and Asked.number == number:
            self.fail(INTERRUPTED, "interrupted twice: not saved.")
        Asked.hear(number)

    def _act(self, number: int) -> None:
        """Interrupt the run here, once: later signals do not keep it from being saved."""
        if not self.is_ending:
            self.is_ending = True
            self.before.get(number, signal.default_int_handler)(number, None)

    def _end(self, status: int, line: str | None) -> None:
        """Print a line and end this process, whatever its threads wait for."""
        with suppress(OSError, ValueError):  # nobody reads it any more: it ends all the same
            if line is not None:
                self.voice.write(f"harmonium: {' '.join(line.split())}\n")
                self.voice.flush()
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
        os._exit(status)

    def _mute(self, is_silent: bool) -> None:
        """Mute C++ libraries, and in all processes but the first one Python's output too."""
        if os.environ.get(DEBUG):
            return
        self.kept = {number: os.dup(number) for number in MUTED}
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for number in MUTED:
            self.streams[number - 1].flush()
            os.dup2(nowhere, number)
        own = [
            open(  # noqa: SIM115  (until the process ends)
                self.kept[number],
                "w",
                buffering=1,
                encoding=self.streams[number - 1].encoding,
                errors="replace",
                closefd=False,
            )
            for number in MUTED
        ]
        self.voice = own[1]
        if not is_silent:
            sys.stdout, sys.stderr = own

    def _unmute(self) -> None:
        for number, kept in self.kept.items():
            self.streams[number - 1].flush()
            os.dup2(kept, number)
        sys.stdout, sys.stderr = self.streams


def _check_devices() -> None:
    """Refuse processes of unequal numbers of devices.

    Raises:
        InputError: says how many each has.
    """
    import jax

    from ..errors import input_error

    here = [0] * jax.process_count()
    for device in jax.devices():
        here[device.process_index] += 1
    if len(set(here)) > 1:
        found = ", ".join(f"{count} in process {i}" for i, count in enumerate(here[:10]))
        advice = "give each as many by CUDA_VISIBLE_DEVICES or JAX_LOCAL_DEVICE_IDS"
        raise input_error("--distributed", "equally many devices for all processes", found, advice)
