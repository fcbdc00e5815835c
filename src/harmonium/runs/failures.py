"""Why a part of a command has failed, in words, where the rest goes on without it."""

from __future__ import annotations

import os

from .._base.files import reason_of
from ..errors import HarmoniumError
from .memory import memory_error

DEBUG = "HARMONIUM_DEBUG"


class NotMeasuredError(HarmoniumError):
    """There is nothing to measure or to draw; the message says why."""


def failure_of(error: Exception) -> str:
    """Return why something failed, as a sentence without a full stop.

    Raises:
        Exception: the error itself, if it is a fault of the program and HARMONIUM_DEBUG is set.
    """
    if isinstance(error, HarmoniumError):
        return " ".join(str(error).split()).rstrip(".")
    if isinstance(error, OSError):
        return f"a file cannot be read or written: {reason_of(error)}"
    if os.environ.get(DEBUG):
        raise error
    if memory_error(error) is not None:
        return "memory ran out"
    first_line = next(iter(str(error).splitlines()), "").rstrip(".")
    return f"an internal error: {type(error).__name__}: {first_line}"
