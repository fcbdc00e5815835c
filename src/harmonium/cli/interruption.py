"""On Ctrl-C, SIGTERM and SIGHUP, save the run; end the command even if a computation hangs."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._base.signals import Asked

SECONDS_TO_ACT = 10.0  # after SIGTERM: batch systems kill a job half a minute later
SECONDS_TO_HINT = 2.0  # a chunk of updates takes about one second
SECONDS_OF_A_PRESS = 0.5  # signals within this time count as one, such as those of a key press


@contextmanager
def signals_as_interrupts(ended_by: list[int], say: Callable[[str], Any]) -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that a run is saved; ensure that no signal is lost.

    Batch systems send SIGTERM before they kill a job; SIGHUP arrives when a terminal is closed or a
    connection is lost. A command that was started with nohup ignores SIGHUP.

    Args:
        ended_by: a list to which the number of the signal is appended.
        say: a function that prints a line, called if the program cannot act on a signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int) -> None:
        if Asked.is_shared and ended_by:
            return  # a signal that another process reports later must not stop the saving
        ended_by.append(number)
        raise KeyboardInterrupt

    def handle(number: int, frame: Any) -> None:
        is_second_press = Asked.number == number == signal.SIGINT
        Asked.hear(number)
        if not Asked.is_shared:
            interrupt(number)
        elif is_second_press:
            _end(number, say)

    def show(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            hook(unraisable)

    names = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
    known = [number for name in names if (number := getattr(signal, name, None)) is not None]
    heard = [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heard}
    Asked.act = interrupt
    hook = sys.unraisablehook
    sys.unraisablehook = show
    try:
        with _watched(say):
            yield
    finally:
        Asked.number = 0
        Asked.act = signal.raise_signal
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watched(say: Callable[[str], Any]) -> Iterator[None]:
    """End the process if the main thread does not return to Python after a signal.

    Python calls signal handlers between bytecode instructions of the main thread, so never while
    that thread waits for a compiled program. But Python's C-level handler immediately writes the
    number of each signal to a socket, which another thread reads.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    watch = threading.Thread(target=_watch, args=(reader, say), daemon=True)
    watch.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()
        watch.join()
        reader.close()


def _watch(reader: socket.socket, say: Callable[[str], Any]) -> None:
    """Read signals from the socket; end the process if the main thread does not handle them."""
    first = 0
    came_at = 0.0
    is_hinted = False
    while True:
        timeout = None  # without a pending signal, there is no deadline
        if first:
            timeout = 0.1
        ready, _, _ = select.select([reader], [], [], timeout)
        numbers = b""
        if ready:
            numbers = reader.recv(64)
            if not numbers:
                return
        now = time.monotonic()
        # A handler may have been called before this thread read the signal's number.
        if first and Asked.heard_at > came_at - SECONDS_OF_A_PRESS:
            first = 0
        if not first:
            if numbers:
                first = numbers[0]
                came_at = now
                is_hinted = False
            continue
        waited = now - came_at
        if (numbers and waited > SECONDS_OF_A_PRESS) or (
            first != signal.SIGINT and waited > SECONDS_TO_ACT
        ):
            _end([first, *numbers][-1], say)
        if waited > SECONDS_TO_HINT and first == signal.SIGINT and not is_hinted:
            is_hinted = True
            _hint("a computation is still running; press Ctrl-C again to end without saving.")


def _end(number: int, say: Callable[[str], Any]) -> None:
    """End the process, whatever its main thread is waiting for; no file is left half-written."""
    say("ended without saving, since a computation did not return; checkpoints are intact.")
    os._exit(128 + number)


def _hint(line: str) -> None:
    # Do not use print: the main thread may hold the lock of the stream.
    os.write(2, f"harmonium: {line}\n".encode())
