"""Rows taken a part at a time, so that those of a file never are in memory as a whole."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

ROWS_AT_ONCE = 8_192


def parts_of(matrix: Any, which: np.ndarray | None = None) -> Iterator[Any]:
    """Give a matrix some rows at a time: one that lies on disk is never in memory as a whole.

    Args:
        matrix: an array, or a sparse matrix of SciPy's by rows.
        which: the indices of the rows to give; all of them if None.
    """
    mapped = _mapped(matrix)
    for first in range(0, matrix.shape[0] if which is None else len(which), ROWS_AT_ONCE):
        some = slice(first, first + ROWS_AT_ONCE)
        yield matrix[some if which is None else which[some]]
        if mapped is not None:
            mapped.madvise(mmap.MADV_DONTNEED)


def extremes(matrix: Any, which: np.ndarray | None = None) -> tuple[Any, Any]:
    """Give the smallest and the largest number of a matrix, or of these rows of it."""
    ends = [(part.min(), part.max()) for part in parts_of(matrix, which)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def holds_only(matrix: Any, low: int, high: int, which: np.ndarray | None = None) -> bool:
    """Whether every number of a matrix, or of these rows of it, is one of the two."""
    return all(((part == low) | (part == high)).all() for part in parts_of(matrix, which))


def is_mapped(matrix: Any) -> bool:
    """Whether an array's rows lie in a file that is only read from."""
    return _mapped(matrix) is not None


def _mapped(matrix: Any) -> mmap.mmap | None:
    """Give the file behind a matrix, whose pages the system may take back once they were read.

    Those of a file that is mapped copy-on-write may hold changes, and stay.
    """
    while matrix is not None:
        if isinstance(matrix, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            found = getattr(matrix, "_mmap", None)
            return found if getattr(matrix, "mode", "c") in ("r", "r+") else None
        matrix = getattr(matrix, "base", None)
    return None
