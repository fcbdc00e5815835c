"""Standard output and standard error that are closed, full, or lose their reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from ..errors import InputError
from .terminal import below

STANDARD = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def open_closed_streams() -> None:
    """Give a standard stream that is closed a file in which nothing arrives.

    Otherwise the next file that is opened gets its number, and what a library prints is written
    into that file.
    """
    for number, (name, mode) in enumerate(STANDARD):
        try:
            os.fstat(number)
        except OSError:
            _lead_nowhere(number)
        if getattr(sys, name) is None:  # as Python leaves it where the stream was closed
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _lead_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:  # the lowest number that is free
        os.dup2(nowhere, number)
        os.close(nowhere)


class Output:
    """Standard output that remembers why it could not be written.

    A stream that fails may throw away what it holds, and then looks as if nothing had happened.

    Attributes:
        cause: the first error, or None.
    """

    def __init__(self, stream: IO[str]):
        self.stream = stream
        self.cause: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write text."""
        return self._noted(self.stream.write, text)

    def flush(self) -> None:
        """Write what the stream still holds."""
        self._noted(self.stream.flush)

    def _noted(self, call: Callable[..., Any], *given: str) -> Any:
        try:
            return call(*given)
        except OSError as error:
            self.cause = self.cause or error
            raise


@contextmanager
def remembered_errors() -> Iterator[Output]:
    """Within the context, standard output is an `Output`."""
    before: Any = sys.stdout
    output = Output(before)
    stream: Any = output
    sys.stdout = stream
    try:
        yield output
    finally:
        flushed(stream)
        flushed(sys.stderr)
        sys.stdout = before


def flushed(stream: IO[str]) -> OSError | None:
    """Write what a stream still holds; return why that, or something before it, was not possible.

    What it holds is then thrown away, so that Python does not try again at its end, and fail.
    """
    cause = None
    try:
        stream.flush()
    except OSError as error:
        cause = error
    if isinstance(stream, Output):
        cause = stream.cause or cause
        stream.cause = None
    if cause is not None:
        with suppress(OSError):  # a stream without a number
            _lead_nowhere(stream.fileno())
    return cause


def check_output(error: OSError | None = None) -> None:
    """Refuse to go on if standard output failed; its reader may go, as `head` does.

    Args:
        error: what was raised, which may be about something else.

    Raises:
        InputError: standard output cannot be written.
        OSError: the error, if it is about something else.
    """
    cause = flushed(below(sys.stdout))
    if isinstance(cause or error, BrokenPipeError):
        return
    if cause is None:
        if error is not None:
            raise error
        return
    reason = (cause.strerror or str(cause)).lower()
    raise InputError(
        f"standard output: expected a place that can be written to; got {reason}; make room, or"
        " send it elsewhere."
    ) from None
