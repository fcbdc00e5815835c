"""Storage of a matrix of rows on the device: as bits, numbers, or nonzero entries."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from .._base.checks import as_array
from .._base.module import AbstractModule
from .._base.numerics import from_numpy
from ..errors import InputError
from .parts import extremes, holds_only, parts_of

ALIGNMENT = 64  # bytes; with this alignment JAX uses a NumPy array without a copy


class AbstractStored(AbstractModule):
    """The interface of a stored matrix, from which any rows can be read as numbers.

    Attributes:
        columns: the number of columns.
    """

    columns: int = eqx.field(static=True)

    @property
    def is_binary(self) -> bool:
        """Whether the matrix can contain only zeros and ones."""
        return False

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether all numbers are stored in one byte, so that bfloat16 represents them exactly."""
        return False

    @property
    def most_missing(self) -> int:
        """The largest number of missing values (NaN) in a row."""
        return 0

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def take(self, indices: Integer[Array, " batch"]) -> Array:
        """Return rows in their stored dtype, shape (batch, columns); JAX can trace this method."""

    def rows_here(self, indices: np.ndarray) -> np.ndarray | None:
        """Return the same rows as `take` without compiling; None if this would copy the matrix."""
        return None

    @abstractmethod
    def chosen(self, indices: np.ndarray) -> AbstractStored:
        """Return a stored matrix of the rows with these indices."""

    @abstractmethod
    def filled_to(self, count: int) -> AbstractStored:
        """Return the matrix padded to `count` rows; the contents of padding rows are arbitrary."""


class AbstractDense(AbstractStored):
    """Rows stored in a dense array."""

    values: Array

    def __len__(self) -> int:
        return self.values.shape[0]

    def rows_here(self, indices: np.ndarray) -> np.ndarray | None:
        # On a CPU, NumPy reads the device's memory in place; a GPU would copy the whole array.
        if {device.platform for device in self.values.devices()} != {"cpu"}:
            return None
        here: Any = np.asarray(self.values)
        which: Any = indices
        return np.asarray(type(self)(self.columns, here).take(which))

    def chosen(self, indices: np.ndarray) -> AbstractStored:
        return type(self)(self.columns, self.values[indices])

    def filled_to(self, count: int) -> AbstractStored:
        return type(self)(self.columns, _with_more_rows(self.values, count))

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether the numbers are stored as bytes or bits."""
        return self.values.dtype.itemsize == 1


class Bits(AbstractDense):
    """Rows of zeros and ones, stored as bits: `values` has shape (n, ⌈columns / 8⌉)."""

    @property
    def is_binary(self) -> bool:
        return True

    def take(self, indices: Integer[Array, " batch"]) -> Array:
        xp: Any = np if isinstance(self.values, np.ndarray) else jnp
        return xp.unpackbits(self.values[indices], axis=-1, count=self.columns)


class Numbers(AbstractDense):
    """Rows stored as numbers: `values` has shape (n, columns)."""

    @property
    def most_missing(self) -> int:
        """The largest number of NaN values in a row."""
        if self.values.dtype.kind != "f":
            return 0
        return int(np.isnan(np.asarray(self.values)).sum(1).max())

    def take(self, indices: Integer[Array, " batch"]) -> Array:
        return self.values[indices]


class Nonzeros(AbstractStored):
    """Rows stored as nonzero entries (CSR); only one batch at a time is converted to a dense array.

    Attributes:
        first: the index of each row's first entry, then the number of entries, shape (n + 1,).
        places: the column of each entry.
        values: the values of the entries.
        longest: the largest number of entries in a row.
    """

    first: Array
    places: Array
    values: Array
    longest: int = eqx.field(static=True)

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether the numbers are stored as bytes."""
        return self.values.dtype.itemsize == 1

    @property
    def most_missing(self) -> int:
        """The largest number of NaN values among the stored entries of a row."""
        if self.values.dtype.kind != "f":
            return 0
        before = np.append(0, np.cumsum(np.isnan(np.asarray(self.values))))
        return int(np.diff(before[np.asarray(self.first)]).max())

    def __len__(self) -> int:
        return self.first.shape[0] - 1

    def take(self, indices: Integer[Array, " batch"]) -> Array:
        """Return rows in dense form."""
        begin = self.first[indices][:, None]
        end = self.first[indices + 1][:, None]
        entries = begin + jnp.arange(self.longest)
        there = entries < end
        places = jnp.where(there, self.places[entries], self.columns)  # dropped if beyond the row
        empty = jnp.zeros((indices.shape[0], self.columns), self.values.dtype)
        rows = jnp.arange(indices.shape[0])[:, None]
        return empty.at[rows, places].set(self.values[entries], mode="drop")

    def chosen(self, indices: np.ndarray) -> AbstractStored:
        """Return the rows with these indices, stored sparsely or densely, whichever is smaller."""
        first = np.asarray(self.first)
        values, places = (np.asarray(array)[: first[-1]] for array in (self.values, self.places))
        matrix = _sparse_array((values, places, first), shape=(len(self), self.columns))
        return stored(matrix[indices])

    def filled_to(self, count: int) -> Nonzeros:
        """Return the matrix padded with empty rows, with entries padded to a common size."""
        missing = count - len(self)
        first = from_numpy(np.pad(np.asarray(self.first), (0, missing), mode="edge"))
        total = padded_size(len(self.places))
        places = _with_more_rows(self.places, total)
        values = _with_more_rows(self.values, total)
        longest = min(padded_size(self.longest), self.columns)
        return Nonzeros(self.columns, first, places, values, longest)


def stored(
    rows: Any, name: str = "data", whole_bits: bool = True, which: np.ndarray | None = None
) -> AbstractStored:
    """Store a dense or SciPy sparse matrix in the most compact form.

    A sparse matrix is never converted to a dense one as a whole before it is stored.

    Args:
        rows: shape (n, columns).
        name: the name of the rows in error messages.
        whole_bits: whether zeros and ones may be stored as bits.
        which: indices of the rows to store, or a mask of all rows; None means all rows.

    Raises:
        InputError: `rows` is not a matrix of numbers with at least one row and one column, or
            `which` is invalid.
    """
    sparse = _is_sparse(rows)
    array = rows if sparse else as_array(rows, name)
    if array.ndim != 2 or 0 in array.shape:
        advice = "; use x.reshape(len(x), -1)" * (array.ndim > 2)
        raise InputError(
            f"{name}: expected a matrix, shape (rows, columns); got shape {array.shape}{advice}."
        )
    if array.dtype.kind not in "buif":
        raise InputError(f"{name}: expected numbers; got an array of dtype {array.dtype}.")
    n = int(array.shape[0])
    if which is not None:
        which = _indices(which, n)
        n = len(which)
    if sparse and which is not None:
        rows = rows.tocsr()[which]
    if sparse:
        return _from_sparse(rows, whole_bits)
    columns = array.shape[1]
    if whole_bits and _is_binary(array, which):
        packed = (np.packbits(part != 0, axis=1) for part in parts_of(array, which))
        return Bits(columns, _joined(packed, n, math.ceil(columns / 8), np.dtype(np.uint8)))
    parts = parts_of(array, which)
    return Numbers(columns, _joined(parts, n, columns, _smallest(array, which)))


def _indices(which: Any, n: int) -> np.ndarray:
    """Return checked indices of rows, given as indices or as a mask of all n rows."""
    given = np.asarray(which)
    indices = given
    if given.dtype == bool and given.shape == (n,):  # a mask
        indices = np.flatnonzero(given)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or not indices.size:
        expected = f"indices of one row or more, or a mask of {n:,} rows"
        raise InputError(
            f"which: expected {expected}; got an array of {given.dtype}, shape {given.shape}."
        )
    if indices.min() < 0 or indices.max() >= n:
        got = f"{indices.min():,} to {indices.max():,}"
        raise InputError(f"which: expected indices from 0 to {n - 1:,}; got {got}.")
    return indices


def padded_size(n: int) -> int:
    """Round a number of rows up by at most an eighth, so that similar sizes share one program."""
    step = 1 << max(0, (n - 1).bit_length() - 4)
    return math.ceil(n / step) * step


def _is_sparse(rows: Any) -> bool:
    """Return whether rows are a SciPy sparse matrix, without importing scipy.sparse."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(rows)


def _sparse_array(*content: Any, **options: Any) -> Any:
    from scipy.sparse import csr_array  # imported here, since it takes a tenth of a second

    return csr_array(*content, **options)


def _from_sparse(rows: Any, whole_bits: bool) -> AbstractStored:
    """Store a sparse matrix as nonzero entries, or densely if that takes less memory."""
    matrix = _sparse_array(rows, copy=True)  # the next lines change the copy in place
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    n, columns = map(int, rows.shape)
    entries = matrix.data
    places = matrix.indices
    if not matrix.nnz:  # an empty array cannot be indexed
        entries = np.zeros(1, np.uint8)
        places = np.zeros(1)
    binary = whole_bits and _is_binary(entries)
    dtype = _smallest(entries)
    width = columns * dtype.itemsize  # bytes per row
    if binary:
        width = math.ceil(columns / 8)
    if matrix.nnz * (4 + dtype.itemsize) + 4 * n < n * width and matrix.nnz < 2**31:
        ends = np.asarray(matrix.indptr).astype(np.int32)
        first = from_numpy(ends)
        where = from_numpy(places.astype(np.int32))
        values = from_numpy(entries.astype(dtype))
        return Nonzeros(columns, first, where, values, max(1, int(np.diff(ends).max())))
    dense = (part.toarray() for part in parts_of(matrix))
    if binary:
        bits = [np.packbits(part != 0, axis=1) for part in dense]
        return Bits(columns, from_numpy(np.concatenate(bits)))
    return Numbers(columns, from_numpy(np.concatenate([part.astype(dtype) for part in dense])))


def _joined(parts: Iterable[np.ndarray], n: int, width: int, dtype: np.dtype) -> Array:
    """Concatenate parts into n rows, in aligned memory that JAX can use without a copy."""
    size = n * width * dtype.itemsize
    space = np.empty(size + ALIGNMENT, np.uint8)
    begin = -space.ctypes.data % ALIGNMENT
    rows = space[begin : begin + size].view(dtype).reshape(n, width)
    done = 0
    for part in parts:
        rows[done : done + len(part)] = part
        done += len(part)
    return jax.device_put(rows, may_alias=True)


def _is_binary(array: np.ndarray, which: np.ndarray | None = None) -> bool:
    return array.dtype == bool or holds_only(array, 0, 1, which)


def _smallest(array: np.ndarray, which: np.ndarray | None = None) -> np.dtype:
    """Return a one- or two-byte integer dtype that represents all numbers, else a float dtype."""
    if array.dtype == bool:
        return np.dtype(np.uint8)
    parts = parts_of(array, which)
    if array.dtype.kind != "f" or all((part == np.floor(part)).all() for part in parts):
        low, high = map(float, extremes(array, which))  # in float16 some bounds would be ∞
        for dtype in (np.uint8, np.int8, np.uint16, np.int16):
            bounds = np.iinfo(dtype)
            if low >= bounds.min and high <= bounds.max:
                return np.dtype(dtype)
    return np.dtype(jnp.result_type(float))


def _with_more_rows(array: Array, count: int) -> Array:
    if count == len(array):
        return array
    # NumPy, unlike JAX, needs no compilation for a new size.
    missing = [(0, count - len(array))] + [(0, 0)] * (array.ndim - 1)
    return from_numpy(np.pad(np.asarray(array), missing))
