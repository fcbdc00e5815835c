"""How libraries say that memory ran out, in one line: the only place that knows."""

from __future__ import annotations

import re

from ..errors import InputError

# XLA writes "allocate 8.00GiB", "allocating 7680000000 bytes", "allocate 8589934592"; NumPy
# "allocate 7.15 GiB for an array".
_AMOUNT = re.compile(r"allocat\w+ (?:request for )?([\d.,]+) ?([KMGTPE]i?B|bytes?)?")


def memory_error(error: BaseException) -> InputError | None:
    """Return an error that says how much was asked for and what to lower; None for other errors."""
    if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
        return None
    reason = "that it ran out"
    match = _AMOUNT.search(str(error))
    if match is not None:
        reason += f" when {_readable(*match.groups())} more were asked for"
    return InputError(
        f"memory: expected sizes that fit; got {reason}; lower --hidden, --batch, --chains or"
        " --count, or use fewer rows or columns."
    )


def _readable(number: str, unit: str | None) -> str:
    if unit not in (None, "byte", "bytes"):
        return f"{number.rstrip('.')} {unit}"
    return f"{int(re.sub('[^0-9]', '', number)) / 2**30:,.2f} GiB"
