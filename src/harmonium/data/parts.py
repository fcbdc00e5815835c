"""Rows taken a part at a time, so that the rows of a file are never in memory as a whole."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._base.numerics import from_numpy
from .._base.sharding import fetched

ENTRIES_AT_ONCE = 2**21  # of the largest array of a computation: 8 MB in float32
ENTRIES_LOOKED_AT = 2**17  # of a part that NumPy passes over several times, in a processor's cache


def rows_at_once(width: int) -> int:
    """Return how many rows to compute at a time: a power of two, with at most 2²¹ entries.

    Args:
        width: entries that one row takes in the largest array of the computation.
    """
    return 1 << max(0, (ENTRIES_AT_ONCE // max(1, width)).bit_length() - 1)


def parts_of(matrix: Any, which: np.ndarray | None = None) -> Iterator[Any]:
    """Yield a matrix some rows at a time: one that is on disk is never in memory as a whole.

    Args:
        matrix: an array, or a SciPy sparse matrix by rows.
        which: the indices of the rows to yield; all of them if None.
    """
    mapped = mapping_of(matrix)
    size = max(1, ENTRIES_LOOKED_AT // max(1, math.prod(matrix.shape[1:])))
    count = matrix.shape[0]
    if which is not None:
        count = len(which)
    for first in range(0, count, size):
        part: Any = slice(first, first + size)
        if which is not None:
            part = which[part]
        yield matrix[part]
        if mapped is not None:
            mapped.madvise(mmap.MADV_DONTNEED)


def in_parts(function: Callable[..., Any], rows: Any, width: int, dtype: Any = None) -> np.ndarray:
    """Apply a compiled function to rows, a part at a time, and return the results, concatenated.

    The last part is padded with copies of its first row, and the size of a part is a power of two:
    few sizes need few compilations. A sparse matrix is made dense one part at a time.

    Args:
        function: takes some rows and the number of the part; returns an array with an entry for
            each row.
        rows: an array, or a SciPy sparse matrix by rows.
        width: entries that one row takes in the largest array of the computation; see
            `rows_at_once`.
        dtype: the type that the rows are converted to; their own if None.
    """
    size = min(rows_at_once(width), 1 << (rows.shape[0] - 1).bit_length())
    results = []
    for number, first in enumerate(range(0, rows.shape[0], size)):
        part = rows[first : first + size]
        if hasattr(part, "toarray"):
            part = part.toarray()
        part = np.asarray(part, dtype)
        filled = np.concatenate([part, np.repeat(part[:1], size - len(part), axis=0)])
        results.append(fetched(function(from_numpy(filled), number))[: len(part)])
    return np.concatenate(results)


def extremes(matrix: Any, which: np.ndarray | None = None) -> tuple[Any, Any]:
    """Return the smallest and the largest number of a matrix, or of some of its rows."""
    ends = [(part.min(), part.max()) for part in parts_of(matrix, which)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def holds_only(matrix: Any, low: int, high: int, which: np.ndarray | None = None) -> bool:
    """Return whether every number of a matrix, or of some of its rows, is one of the two."""
    return all(((part == low) | (part == high)).all() for part in parts_of(matrix, which))


def is_mapped(matrix: Any) -> bool:
    """Return whether an array is mapped from a file (not copy-on-write)."""
    return mapping_of(matrix) is not None


def mapping_of(matrix: Any) -> mmap.mmap | None:
    """Return the mapped file of a matrix, whose pages may be released once they were read.

    Return None for a file that is mapped copy-on-write: its pages may hold changes.
    """
    while matrix is not None:
        if isinstance(matrix, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            if getattr(matrix, "mode", "c") in ("r", "r+"):
                return getattr(matrix, "_mmap", None)
            return None
        matrix = getattr(matrix, "base", None)
    return None
