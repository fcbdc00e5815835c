"""The available memory, and an early error for sizes that would not fit."""

from __future__ import annotations

from .._files import memory_there
from ..errors import input_error

USABLE = 0.8  # fraction of the available memory


def refuse_beyond_memory(needed: int, sizes: dict[str, float], what: str = "this run") -> None:
    """Refuse sizes that do not fit into memory, before anything is written.

    Args:
        needed: bytes of memory.
        sizes: the options (or the source) that the memory grows with, and how many times larger
            than usual each of them is.
        what: what needs the memory, in words for the message.

    Raises:
        InputError: names the most unusual option, how much is needed and how much there is.
    """
    there = memory_there()
    if there is None or needed <= USABLE * there:
        return
    largest = max(sizes, key=lambda option: sizes[option])
    expected = f"sizes that fit into {_gib(there)} of memory"
    found = f"that {what} needs about {_gib(needed)}"
    advice = f"lower {largest}" if largest.startswith("-") else "use fewer columns or states"
    raise input_error(largest, expected, found, advice)


def _gib(count: int) -> str:
    return f"{count / 2**30:,.1f} GiB" if count < 2**60 else "more than 2^60 bytes"
