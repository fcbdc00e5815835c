"""Sources of data larger than memory: blocks read in any order, or batches in a fixed order.

A source is read by a reader, `reader(order, first, last)`, which yields the rows at positions
`first` to `last` − 1 of a pass. Blocks are read in a different order in each pass, and batches
always in the same order.
"""

from __future__ import annotations

import functools
import math
import mmap
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from .._base.checks import as_array, described
from ..errors import InputError
from .parts import mapping_of

BYTES_IN_BLOCK = 2**20  # bytes; large enough that blocks in any order are read as fast as a file
HELD_OUT_BLOCKS = 64  # the number of blocks from which rows are held out


class Part(NamedTuple):
    """Consecutive rows of a source.

    Attributes:
        rows: shape (n, columns), an array or a SciPy sparse matrix.
        first: the index of the first row in the source, counted from 0.
    """

    rows: Any
    first: int


Reader = Callable[[np.random.Generator | None, int, int], Iterator[Part]]


class AbstractSource(ABC):
    """A source of rows, which is read once in each epoch.

    Attributes:
        name: the name of the source in error messages.
    """

    name: str

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @functools.cached_property
    def columns(self) -> int:
        """The number of columns."""
        return int(next(self.reader()(None, 0, 1)).rows.shape[1])

    @property
    @abstractmethod
    def places(self) -> np.ndarray:
        """The index that each row had in the source before any rows were held out."""

    @abstractmethod
    def reader(self) -> Reader:
        """Return a reader: a function that yields rows `first` to `last` − 1 of a pass.

        The first argument of the reader, a random generator, determines the order of the blocks;
        None means the order of the source.
        """

    @abstractmethod
    def sample(self, count: int) -> Iterator[Part]:
        """Yield `count` rows, or all rows if there are fewer, in the order of the source."""

    @abstractmethod
    def without(self, count: int) -> tuple[AbstractSource, Iterator[Part]]:
        """Hold out `count` rows; return a source of the other rows, and the held-out rows."""


# --- blocks that are read by index ----------------------------------------------------------


class Block(NamedTuple):
    """Consecutive rows of a file or an array, loaded on demand.

    Attributes:
        size: the number of rows.
        load: a function that returns the rows in a form that `matrix_of` accepts.
        label: the name of the file in error messages.
    """

    size: int
    load: Callable[[], Any]
    label: str


class Blocks:
    """A sequence of blocks of rows that can be read in any order.

    The last block read is kept in memory, since a window may end within a block. At most one block
    is in memory. A lock lets only one thread read at a time, since a run that has ended may still
    be reading ahead.
    """

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = blocks
        self.sizes = np.array([block.size for block in blocks])
        self.ends = np.cumsum(self.sizes)
        self.lock = Lock()
        self.number: int | None = None
        self.rows: Any = None

    def read(self, first: int, last: int) -> Any:
        """Return the rows with indices `first` to `last` − 1, which must all be in one block.

        Raises:
            InputError: the block cannot be read, or its number of rows has changed.
        """
        number = int(np.searchsorted(self.ends, first, side="right"))
        begin = int(self.ends[number]) - self.blocks[number].size
        with self.lock:
            if self.number != number:
                self.number = self.rows = None  # so that two blocks are never in memory
                self.rows = self._loaded(self.blocks[number])
                self.number = number
            return self.rows[first - begin : last - begin]

    def _loaded(self, block: Block) -> Any:
        rows = matrix_of(block.load(), block.label)
        if rows.shape[0] != block.size:
            expected = f"{block.size:,} rows, as in the first reading"
            raise InputError(f"{block.label}: expected {expected}; got {rows.shape[0]:,}.")
        return rows


@dataclass(frozen=True, eq=False)
class BlockSource(AbstractSource):
    """A source of rows in blocks, which are read in a different order in each epoch.

    Attributes:
        blocks: the blocks to read.
        spans: for each block, the indices of the first row used and of the row after the last row
            used, shape (n, 2).
        name: the name of the source in error messages.
    """

    blocks: Blocks
    spans: np.ndarray
    name: str

    @classmethod
    def of(cls, blocks: Sequence[Block], name: str) -> BlockSource:
        """Return a source that contains all rows of the given blocks."""
        joined = Blocks(blocks)
        return cls(joined, np.stack([joined.ends - joined.sizes, joined.ends], axis=1), name)

    def __len__(self) -> int:
        return int(np.diff(self.spans).sum())

    @property
    def places(self) -> np.ndarray:
        return np.concatenate([np.arange(first, last) for first, last in self.spans])

    def reader(self) -> Reader:
        return self._rows

    def _rows(self, order: np.random.Generator | None, first: int, last: int) -> Iterator[Part]:
        spans = self.spans
        if order is not None:
            spans = spans[order.permutation(np.arange(len(spans)))]
        ends = np.cumsum(np.diff(spans))
        starts = spans[:, 0] + np.maximum(first - ends + np.diff(spans)[:, 0], 0)
        stops = spans[:, 1] - np.maximum(ends - last, 0)
        return self._parts(starts, stops)

    def _parts(self, starts: np.ndarray, stops: np.ndarray) -> Iterator[Part]:
        """Yield the rows from each start to the corresponding stop, skipping empty ranges."""
        # Rows are read in the order of the file, since random access to single rows is much slower.
        # `_rows` shuffles the blocks, and the compiled loop shuffles the rows of a window.
        for i in np.argsort(starts):
            if starts[i] < stops[i]:
                yield Part(self.blocks.read(int(starts[i]), int(stops[i])), int(starts[i]))

    def sample(self, count: int) -> Iterator[Part]:
        """Yield `count` rows: the first rows of evenly spaced blocks of the source."""
        starts = self.spans[:, 0]
        return self._parts(starts, starts + self._sizes_of_beginnings(count, len(starts)))

    def without(self, count: int) -> tuple[BlockSource, Iterator[Part]]:
        """Hold out `count` rows: the first rows of evenly spaced blocks of the source."""
        starts, stops = self.spans.T
        ends = starts + self._sizes_of_beginnings(count, HELD_OUT_BLOCKS)
        spans = np.stack([ends, stops], axis=1)[ends < stops]
        return replace(self, spans=spans), self._parts(starts, ends)

    def _sizes_of_beginnings(self, count: int, usual: int) -> np.ndarray:
        """Return how many rows to take from the start of each block to take `count` rows in total.

        Args:
            count: the number of rows to take; all rows if the source has fewer.
            usual: the number of evenly spaced blocks to use if they contain enough rows.
        """
        sizes = np.diff(self.spans)[:, 0]
        left = min(count, len(self))
        wanted = min(len(sizes), usual, -(-left * len(sizes) // len(self)))
        while True:
            chosen = np.linspace(0, len(sizes) - 1, wanted).round().astype(int)
            if sizes[chosen].sum() >= left:
                break
            wanted = min(len(sizes), 2 * wanted)
        taken = np.zeros_like(sizes)
        for done, block in enumerate(chosen[np.argsort(sizes[chosen], kind="stable")]):
            taken[block] = min(sizes[block], -(-left // (wanted - done)))
            left -= int(taken[block])
        return taken


def blocks_of_array(rows: Any, name: str) -> list[Block]:
    """Return the blocks of an object that can be sliced like an array: `rows[first:last]`.

    The object may be a memory-mapped array, or an h5py, zarr or Hugging Face data set.
    """
    mapped = mapping_of(rows)

    def load(first: int, last: int) -> Any:
        if mapped is not None:  # release the pages already read
            mapped.madvise(mmap.MADV_DONTNEED)
        return rows[first:last]

    return sliced(load, int(rows.shape[0]), name)


def sliced(load: Callable[[int, int], Any], rows: int, label: str) -> list[Block]:
    """Return blocks of about a megabyte; `load(first, last)` returns rows `first` to `last` − 1."""
    beginning = matrix_of(load(0, 1), label)
    size = max(1, BYTES_IN_BLOCK // (beginning.shape[1] * beginning.dtype.itemsize))
    return [
        Block(min(size, rows - first), partial(load, first, min(first + size, rows)), label)
        for first in range(0, rows, size)
    ]


# --- batches in a fixed order ---------------------------------------------------------------


@dataclass(eq=False)
class Batches(AbstractSource):
    """A source of batches of rows, in the order in which an iterator yields them.

    Attributes:
        batches: an iterable, or a function that returns an iterator.
        name: the name of the source in error messages.
        rows: the number of rows used, not counting the skipped rows; None until the rows are
            counted.
        skip: the number of rows at the beginning that are not used.
    """

    batches: Any
    name: str
    rows: int | None = None
    skip: int = 0

    def __post_init__(self) -> None:
        """Reject iterators, which yield their rows only once."""
        if isinstance(self.batches, Iterator):
            raise InputError(
                f"{self.name}: expected batches that can be read again in each epoch; got an"
                " iterator, which can be read only once; pass the function that creates it, or a"
                " list."
            )

    def __len__(self) -> int:
        """Return the number of rows; if it is unknown, read all rows once to count them."""
        if self.rows is None:
            self.rows = sum(part.rows.shape[0] for part in self.parts())
        if self.rows < 1:
            raise InputError(f"{self.name}: expected batches of rows; got no rows.")
        return self.rows

    @property
    def places(self) -> np.ndarray:
        return np.arange(self.skip, self.skip + len(self))

    def parts(self) -> Iterator[Part]:
        """Yield the batches, starting from the first row."""
        batches: Any = self.batches
        if callable(batches):
            batches = batches()
        if not hasattr(batches, "__iter__"):
            got = described(batches)
            raise InputError(
                f"{self.name}: expected a function that returns an iterator; got {got}."
            )
        first = 0
        for batch in batches:
            rows = matrix_of(batch, self.name)
            yield Part(rows, first)
            first += rows.shape[0]

    def reader(self) -> Reader:
        """Return a reader that continues after the last row read, or restarts at the first row."""
        return _BatchReader(self).rows

    def sample(self, count: int) -> Iterator[Part]:
        """Yield the first rows."""
        return self.reader()(None, 0, min(count, len(self)))

    def without(self, count: int) -> tuple[Batches, Iterator[Part]]:
        """Hold out the first rows."""
        rest = replace(self, rows=len(self) - count, skip=self.skip + count)
        return rest, self.sample(count)


class _BatchReader:
    """A pass over batches, in which the rows before the requested rows are read and discarded."""

    def __init__(self, source: Batches):
        self.source = source
        self.place: int | None = None  # position of the next row; None before the first pass
        self.parts: Iterator[Part] = iter(())
        self.rest: Part | None = None  # the unread rows of the batch in which the last window ended

    def rows(self, _: np.random.Generator | None, first: int, last: int) -> Iterator[Part]:
        """Yield the rows at positions `first` to `last` − 1 of a pass."""
        if self.place is None or first < self.place:
            self.parts = self.source.parts()
            self.place = -self.source.skip
            self.rest = None
        while self.place < last:
            part = self.rest or next(self.parts, None)
            if part is None:
                raise InputError(
                    f"{self.source.name}: expected {len(self.source):,} rows; got {self.place:,};"
                    " pass the correct number as rows=."
                )
            begin = min(max(0, first - self.place), part.rows.shape[0])
            end = min(last - self.place, part.rows.shape[0])
            self.place += end
            self.rest = None
            if end < part.rows.shape[0]:
                self.rest = Part(part.rows[end:], part.first + end)
            if begin < end:
                yield Part(part.rows[begin:end], part.first + begin)


# --- matrices ---------------------------------------------------------------------------------


def matrix_of(batch: Any, name: str) -> Any:
    """Convert a batch to a matrix: an array, or a SciPy sparse matrix. Named columns are joined.

    Raises:
        InputError: the batch cannot be converted, for example because it is a pair of rows and
            labels.
    """
    if is_arrow(batch):
        batch = {column: cells_of(batch.column(column)) for column in batch.schema.names}
    if isinstance(batch, Mapping):
        batch = _side_by_side(batch, name)
    if isinstance(batch, tuple):
        raise InputError(
            f"{name}: expected batches of rows; got a tuple of length {len(batch)},"
            " perhaps of rows and labels; yield only the rows."
        )
    batch = batch.tocsr() if hasattr(batch, "tocsr") else as_array(batch, name)
    if batch.ndim != 2 or batch.shape[1] < 1:
        advice = "use x.reshape(len(x), -1)"
        if batch.ndim < 2:
            advice = "batch the rows, for example 1,024 at a time"
        raise InputError(
            f"{name}: expected batches of shape (rows, columns); got {batch.shape}; {advice}."
        )
    if batch.dtype.kind not in "buif":
        raise InputError(f"{name}: expected numbers; got an array of dtype {batch.dtype}.")
    return batch


def is_arrow(batch: Any) -> bool:
    """Return whether a batch is a pyarrow table or record batch, such as DuckDB returns."""
    pyarrow = sys.modules.get("pyarrow")  # already imported if a pyarrow table exists
    return pyarrow is not None and isinstance(batch, pyarrow.RecordBatch | pyarrow.Table)


def cells_of(column: Any) -> np.ndarray:
    """Convert an Arrow column to an array; nulls become NaN, and fixed-size lists become rows."""
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    if pyarrow.types.is_fixed_size_list(column.type):
        return cells_of(column.flatten()).reshape(len(column), column.type.list_size)
    if pyarrow.types.is_boolean(column.type) and column.null_count:
        column = column.cast(pyarrow.int8())
    return column.to_numpy(zero_copy_only=False)


def _side_by_side(columns: Mapping[Any, Any], name: str) -> np.ndarray:
    """Join named columns of numbers, each a vector or an array of rows, into one matrix."""
    arrays = {key: as_array(column, f"{name}, {key!r}") for key, column in columns.items()}
    for key, column in arrays.items():
        if column.dtype.kind not in "buif":
            raise InputError(
                f"{name}, {key!r}: expected numbers; got an array of dtype {column.dtype}."
            )
    shapes = [column.shape for column in arrays.values()]
    if not shapes or () in shapes or len({shape[0] for shape in shapes}) > 1:
        shown = ", ".join(map(str, shapes[:5])) or "no columns"
        raise InputError(f"{name}: expected columns of equal length; got shapes {shown}.")
    flat = [column.reshape(len(column), math.prod(column.shape[1:])) for column in arrays.values()]
    return np.concatenate(flat, axis=1)
