"""Rows taken a part at a time, so that those of a file never are in memory as a whole."""

from __future__ import annotations

import math
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._numerics import from_numpy

ENTRIES_AT_ONCE = 2**21  # of the largest array of a computation: 8 MB in float32


def rows_at_once(width: int) -> int:
    """Return how many rows to compute at a time: a power of two, and at most 2²¹ entries.

    Args:
        width: entries that one row takes in the largest array of the computation.
    """
    return 1 << max(0, (ENTRIES_AT_ONCE // max(1, width)).bit_length() - 1)


def parts_of(matrix: Any, which: np.ndarray | None = None) -> Iterator[Any]:
    """Return a matrix some rows at a time: one that lies on disk is never in memory as a whole.

    Args:
        matrix: an array, or a sparse matrix of SciPy's by rows.
        which: the indices of the rows to give; all of them if None.
    """
    mapped = _mapped(matrix)
    size = rows_at_once(math.prod(matrix.shape[1:]))
    for first in range(0, matrix.shape[0] if which is None else len(which), size):
        some = slice(first, first + size)
        yield matrix[some if which is None else which[some]]
        if mapped is not None:
            mapped.madvise(mmap.MADV_DONTNEED)


def in_parts(function: Callable[..., Any], rows: Any, width: int, dtype: Any = None) -> np.ndarray:
    """Apply a compiled function to rows, a part at a time, and return the parts' results joined.

    The last part is filled up with copies of its first row, and parts of fewer rows are powers of
    two: few sizes, few compilations. A sparse matrix is written out one part at a time.

    Args:
        function: from some rows and the number of the part to an array with an entry for each row.
        rows: an array, or one of SciPy's sparse matrices by rows.
        width: entries that a row takes in the largest array; see `rows_at_once`.
        dtype: what the rows become; as they are if None.
    """
    size = min(rows_at_once(width), 1 << (rows.shape[0] - 1).bit_length())
    found = []
    for number, first in enumerate(range(0, rows.shape[0], size)):
        part = rows[first : first + size]
        part = np.asarray(part.toarray() if hasattr(part, "toarray") else part, dtype)
        filled = np.concatenate([part, np.repeat(part[:1], size - len(part), axis=0)])
        found.append(np.asarray(function(from_numpy(filled), number))[: len(part)])
    return np.concatenate(found)


def extremes(matrix: Any, which: np.ndarray | None = None) -> tuple[Any, Any]:
    """Return the smallest and the largest number of a matrix, or of these rows of it."""
    ends = [(part.min(), part.max()) for part in parts_of(matrix, which)]
    return min(low for low, _ in ends), max(high for _, high in ends)


def holds_only(matrix: Any, low: int, high: int, which: np.ndarray | None = None) -> bool:
    """Whether every number of a matrix, or of these rows of it, is one of the two."""
    return all(((part == low) | (part == high)).all() for part in parts_of(matrix, which))


def is_mapped(matrix: Any) -> bool:
    """Whether an array's rows lie in a file that is only read from."""
    return _mapped(matrix) is not None


def _mapped(matrix: Any) -> mmap.mmap | None:
    """Return the file behind a matrix, whose pages the system may take back once they were read.

    Those of a file that is mapped copy-on-write may hold changes, and stay.
    """
    while matrix is not None:
        if isinstance(matrix, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
            found = getattr(matrix, "_mmap", None)
            return found if getattr(matrix, "mode", "c") in ("r", "r+") else None
        matrix = getattr(matrix, "base", None)
    return None
