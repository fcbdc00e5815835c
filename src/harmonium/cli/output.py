"""Handle standard streams that are closed, cannot be written, or lose their reader."""

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
    """Replace each closed standard stream with the null device.

    Otherwise the next file that is opened would get the stream's file descriptor, and output that a
    library prints would be written into that file.
    """
    for number, (name, mode) in enumerate(STANDARD):
        try:
            os.fstat(number)
        except OSError:
            _lead_nowhere(number)
        if getattr(sys, name) is None:  # Python sets a closed stream to None
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _lead_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != number:  # `open` takes the lowest free number
        os.dup2(nowhere, number)
        os.close(nowhere)


class Output:
    """A wrapper of standard output that records why a write failed.

    After a failure, a stream may discard its buffer, so later flushes do not report the failure.

    Attributes:
        cause: the first write error, or None if there was none.
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
        """Flush the stream."""
        self._noted(self.stream.flush)

    def _noted(self, call: Callable[..., Any], *given: str) -> Any:
        try:
            return call(*given)
        except OSError as error:
            self.cause = self.cause or error
            raise


@contextmanager
def remembered_errors() -> Iterator[Output]:
    """Wrap standard output in an `Output` within the context."""
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
    """Flush a stream; return the error if the flush or an earlier write failed, else None.

    After a failure, the stream's buffer is discarded, so that Python does not fail again on exit.
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
        with suppress(OSError):  # the stream may have no file descriptor
            _lead_nowhere(stream.fileno())
    return cause


def check_output(error: OSError | None = None) -> None:
    """Raise an error if writing failed, unless the reader of the output, such as `head`, has ended.

    Args:
        error: the error that was raised, possibly for an unrelated reason.

    Raises:
        InputError: standard output cannot be written.
        OSError: `error`, if it does not come from standard output.
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
        f"standard output: expected a place that can be written to; got {reason}; free some space,"
        " or redirect the output."
    ) from None
