"""Processing rows in parts, so that the rows of a file are never in memory all at once."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._base.numerics import from_numpy
from .._base.sharding import fetched

ENTRIES_AT_ONCE = 2**21  # entries in the largest array of a computation, 8 MB in float32
ENTRIES_LOOKED_AT = 2**17  # entries in a part that NumPy scans repeatedly in the CPU's cache


def rows_at_once(width: int) -> int:
    """Return the number of rows to process at once, a power of two, with at most 2²¹ entries.

    Args:
        width: number of entries per row in the largest array of the computation.
    """
    return 1 << max(0, (ENTRIES_AT_ONCE // max(1, width)).bit_length() - 1)


def parts_of(matrix: Any, which: np.ndarray | None = None) -> Iterator[Any]:
    """Yield the rows of a matrix in parts, so that a matrix on disk is never entirely in memory.

    Args:
        matrix: an array, or a SciPy sparse matrix in row format.
        which: the indices of the rows to yield; None means all rows.
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
    """Apply a compiled function to the rows in parts, and return the concatenated results.

    The last part is padded with copies of its first row, and the size of a part is a power of two,
    so that the function is compiled for few sizes. Each part of a sparse matrix is converted to a
    dense array.

    Args:
        function: a function of some rows and the index of their part, which returns an array with
            one entry per row.
        rows: an array, or a SciPy sparse matrix in row format.
        width: number of entries per row in the largest array of the computation.
        dtype: the dtype to which rows are converted; None keeps their dtype.
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
    """Return the smallest and the largest number in a matrix, or in some of its rows."""
    ends = [(part.min(), part.max()) for part in parts_of(matrix, which)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def holds_only(matrix: Any, low: int, high: int, which: np.ndarray | None = None) -> bool:
    """Return whether every number in a matrix, or in some of its rows, is `low` or `high`."""
    return all(((part == low) | (part == high)).all() for part in parts_of(matrix, which))


def is_mapped(matrix: Any) -> bool:
    """Return whether an array is memory-mapped from a file, except in copy-on-write mode."""
    return mapping_of(matrix) is not None


def mapping_of(matrix: Any) -> mmap.mmap | None:
    """Return the memory map of a matrix, whose pages may be released after reading, or None.

    None is also returned for a file mapped copy-on-write, since its pages may contain changes.
    """
    while matrix is not None:
        if isinstance(matrix, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            if getattr(matrix, "mode", "c") in ("r", "r+"):
                return getattr(matrix, "_mmap", None)
            return None
        matrix = getattr(matrix, "base", None)
    return None
