"""Describe why a command, or a part of a command, failed."""

from __future__ import annotations

import os
import re

from .._base.files import reason_of
from ..errors import HarmoniumError, InputError

DEBUG = "HARMONIUM_DEBUG"
# XLA writes "allocate 8.00GiB", "allocating 7680000000 bytes", "allocate 8589934592"; NumPy
# "allocate 7.15 GiB for an array".
_AMOUNT = re.compile(r"allocat\w+ (?:request for )?([\d.,]+) ?([KMGTPE]i?B|bytes?)?")


class NotMeasuredError(HarmoniumError):
    """Raised if there is nothing to measure or draw; the message gives the reason."""


def failure_of(error: Exception) -> str:
    """Return the reason why a computation failed, as a phrase without a full stop.

    Raises:
        Exception: the error itself, if it is a bug and HARMONIUM_DEBUG is set.
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


def memory_error(error: BaseException) -> InputError | None:
    """Return an InputError with advice if memory ran out, or None for any other kind of error."""
    if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
        return None
    reason = "too little memory"
    match = _AMOUNT.search(str(error))
    if match is not None:
        reason += f" when {_readable(*match.groups())} more were requested"
    return InputError(
        f"memory: expected sizes that fit; got {reason}; lower --hidden, --batch, --chains or"
        " --count, or use fewer rows or columns."
    )


def _readable(number: str, unit: str | None) -> str:
    if unit not in (None, "byte", "bytes"):
        return f"{number.rstrip('.')} {unit}"
    return f"{int(re.sub('[^0-9]', '', number)) / 2**30:,.2f} GiB"
