"""The available memory, and an early error for sizes that would not fit."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..errors import input_error

USABLE = 0.8  # fraction of the available memory
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def memory_there() -> int | None:
    """Return the bytes of memory that this process may use; None if unknown."""
    known = [limit for limit in map(_limit_in, LIMITS) if limit is not None]
    with suppress(AttributeError, ValueError, OSError):  # not known on this system
        known.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min((number for number in known if number > 0), default=None)


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


def _limit_in(path: str) -> int | None:
    """Read a container's limit, which is a number or the word `max`."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None


def _gib(count: int) -> str:
    return f"{count / 2**30:,.1f} GiB" if count < 2**60 else "more than 2^60 bytes"
