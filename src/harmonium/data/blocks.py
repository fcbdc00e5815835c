"""Sources of rows larger than memory: rows in blocks that are read by number, or one by one."""

from __future__ import annotations

import functools
import math
import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import as_array, described
from ..errors import InputError, input_error
from .parts import mapping_of

BYTES_IN_BLOCK = 2**20  # read at once from a file: as fast as reading from front to back


class Part(NamedTuple):
    """Rows that follow one another in a source.

    Attributes:
        rows: shape (n, columns), an array or a SciPy sparse matrix.
        first: the number of the first of them in the source, from 0.
    """

    rows: Any
    first: int


class Parts(NamedTuple):
    """Parts of a source that are read one after the other, and how many rows they have."""

    count: int
    each: Iterator[Part]


class Span(NamedTuple):
    """Some rows of a block.

    Attributes:
        block: the number of the block.
        start: the first row, counted in the block.
        stop: the row after the last one.
        first: the number of the first row in the source.
    """

    block: int
    start: int
    stop: int
    first: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.stop - self.start


class AbstractSource(ABC):
    """Rows that are read again in each epoch.

    Attributes:
        name: what error messages call it.
    """

    name: str

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @functools.cached_property
    def columns(self) -> int:
        """The number of columns."""
        return int(next(self.epoch(None).take(0, 1).each).rows.shape[1])

    @abstractmethod
    def epoch(self, order: np.random.Generator | None) -> AbstractReading:
        """Return a reading of all rows: in a random order of blocks if it can be, else as they are.

        Args:
            order: draws the order of blocks; None for that of the source.
        """

    @abstractmethod
    def sample(self, count: int) -> Parts:
        """Return at least `count` rows, if there are so many, in the order of the source."""

    @abstractmethod
    def without(self, count: int) -> tuple[AbstractSource, Parts]:
        """Return the source without `count` rows, and these rows."""


class AbstractReading(ABC):
    """One pass over a source."""

    @abstractmethod
    def take(self, first: int, count: int) -> Parts:
        """Return the rows at places `first` to `first + count` of this pass."""


# --- blocks that are read by number ---------------------------------------------------------


class AbstractBlocks(ABC):
    """Rows in blocks, any of which can be read.

    Attributes:
        sizes: the number of rows in each block.
    """

    sizes: Sequence[int]

    @abstractmethod
    def read(self, block: int, start: int, stop: int) -> Any:
        """Return some rows of a block, shape (stop − start, columns)."""


class ArrayBlocks(AbstractBlocks):
    """Rows of something that is sliced like an array: `x[first:last]`.

    It may be an array mapped from a file, a dataset of h5py or zarr, or one of Hugging Face.
    """

    def __init__(self, rows: Any, name: str):
        self.rows, self.name = rows, name
        first = matrix_of(rows[:1], name)
        self.size = rows_of_block(first.shape[1] * first.dtype.itemsize)
        self.sizes = sizes_of_blocks(int(rows.shape[0]), self.size)
        self.mapped = mapping_of(rows)

    def read(self, block: int, start: int, stop: int) -> Any:
        """Return some rows of a block; pages of a mapped file are released at the next call."""
        if self.mapped is not None:
            self.mapped.madvise(mmap.MADV_DONTNEED)
        at = block * self.size
        return matrix_of(self.rows[at + start : at + stop], self.name)


def rows_of_block(bytes_of_row: int) -> int:
    """Return the rows of a block of the usual size."""
    return max(1, BYTES_IN_BLOCK // max(1, bytes_of_row))


def sizes_of_blocks(rows: int, size: int) -> list[int]:
    """Return the sizes of the blocks of so many rows: all the same but the last."""
    return [min(size, rows - at) for at in range(0, rows, size)]


class Chained(AbstractBlocks):
    """The blocks of several sources, one after the other."""

    def __init__(self, members: Sequence[AbstractBlocks]):
        self.places = [(each, i) for each in members for i in range(len(each.sizes))]
        self.sizes = [size for each in members for size in each.sizes]

    def read(self, block: int, start: int, stop: int) -> Any:
        """Return some rows of a block."""
        member, own = self.places[block]
        return member.read(own, start, stop)


class BlockSource(AbstractSource):
    """A source of blocks: each epoch reads them in another order."""

    def __init__(self, blocks: AbstractBlocks, name: str, spans: Sequence[Span] | None = None):
        self.blocks, self.name = blocks, name
        ends = np.cumsum(blocks.sizes).tolist()
        every = [
            Span(i, 0, size, end - size)
            for i, (size, end) in enumerate(zip(blocks.sizes, ends, strict=True))
        ]
        self.spans = list(every if spans is None else spans)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(map(len, self.spans))

    def epoch(self, order: np.random.Generator | None) -> AbstractReading:
        """Return a reading of all blocks, each once."""
        places = np.arange(len(self.spans))
        return BlockReading(self, places if order is None else order.permutation(places))

    def read(self, spans: Sequence[Span]) -> Parts:
        """Return the rows of these spans, in the order of the source."""
        each = (
            Part(self.blocks.read(span.block, span.start, span.stop), span.first)
            for span in sorted(spans, key=lambda span: span.first)
        )
        return Parts(sum(map(len, spans)), each)

    def sample(self, count: int) -> Parts:
        """Return the first rows of blocks that lie evenly in the source, `count` in all."""
        return self.read(list(self._spread(count, len(self.spans)).values()))

    def without(self, count: int) -> tuple[AbstractSource, Parts]:
        """Hold out the first rows of blocks that lie evenly in the source."""
        held = self._spread(count, HELD_BLOCKS)
        kept = [
            _cut(span, len(held[i]) if i in held else 0, len(span))
            for i, span in enumerate(self.spans)
        ]
        rest = BlockSource(self.blocks, self.name, [span for span in kept if len(span)])
        return rest, self.read(list(held.values()))

    def _spread(self, count: int, usual: int) -> dict[int, Span]:
        """Return the beginnings of evenly spaced spans with `count` rows, by their numbers.

        Args:
            count: rows; all if there are fewer.
            usual: how many spans are taken if they are long enough.
        """
        every, count = len(self.spans), min(count, len(self))
        wanted = min(every, usual, -(-count * every // len(self)))
        while True:
            places = np.linspace(0, every - 1, wanted).round().astype(int).tolist()
            if sum(len(self.spans[i]) for i in places) >= count:
                break
            wanted = min(every, 2 * wanted)
        found, left = {}, count
        for done, i in enumerate(sorted(places, key=lambda i: len(self.spans[i]))):
            rows = min(len(self.spans[i]), -(-left // (wanted - done)))
            found[i] = _cut(self.spans[i], 0, rows)
            left -= rows
        return {i: span for i, span in found.items() if len(span)}


HELD_BLOCKS = 64  # so many blocks give rows to hold out


def _cut(span: Span, start: int, stop: int) -> Span:
    """Return some rows of a span."""
    return Span(span.block, span.start + start, span.start + stop, span.first + start)


class BlockReading(AbstractReading):
    """A pass over blocks in some order."""

    def __init__(self, source: BlockSource, order: np.ndarray):
        self.source = source
        self.spans = [source.spans[i] for i in order]
        self.ends = np.cumsum([len(span) for span in self.spans])

    def take(self, first: int, count: int) -> Parts:
        """Read what lies there; nothing before it is read."""
        found = []
        place = int(np.searchsorted(self.ends, first, side="right"))
        while count > 0 and place < len(self.spans):
            span, begin = self.spans[place], int(self.ends[place]) - len(self.spans[place])
            some = _cut(span, first - begin, min(len(span), first - begin + count))
            found.append(some)
            first, count, place = first + len(some), count - len(some), place + 1
        return self.source.read(found)


# --- batches that come in their own order ---------------------------------------------------


class Batches(AbstractSource):
    """Batches of rows in the order in which an iterable yields them, or a function's iterator."""

    def __init__(self, batches: Any, name: str, rows: int | None, skip: int = 0):
        self.batches, self.name, self.skip = batches, name, skip
        if isinstance(batches, Iterator):
            expected = "batches that can be read again in each epoch"
            advice = "pass the function that makes it, or a list"
            raise input_error(name, expected, "an iterator, which is read once", advice)
        self._count = rows

    def __len__(self) -> int:
        """Return the number of rows; if it is not known, they are read once to count them."""
        if self._count is None:
            count = sum(part.rows.shape[0] for part in self.parts()) - self.skip
            if count < 1:
                advice = "check how it is made"
                raise input_error(self.name, "batches of rows", "no rows", advice)
            self._count = count
        return self._count

    def parts(self) -> Iterator[Part]:
        """Yield the batches from the first row on."""
        first = 0
        batches: Any = self.batches() if callable(self.batches) else self.batches
        if not hasattr(batches, "__iter__"):
            expected, advice = "a function that returns an iterator", "let it yield batches"
            raise input_error(self.name, expected, f"one of {described(batches)}", advice)
        for batch in batches:
            rows = matrix_of(batch, self.name)
            yield Part(rows, first)
            first += rows.shape[0]

    def epoch(self, order: np.random.Generator | None) -> AbstractReading:
        """Return a reading from the first row on."""
        return BatchReading(self, self.skip)

    def sample(self, count: int) -> Parts:
        """Return the first rows."""
        return BatchReading(self, self.skip).take(0, min(count, len(self)))

    def without(self, count: int) -> tuple[AbstractSource, Parts]:
        """Hold out the first rows."""
        held, rows = self.sample(count), len(self) - count
        return Batches(self.batches, self.name, rows, self.skip + count), held


class BatchReading(AbstractReading):
    """A pass over batches; rows before those that are wanted are read and dropped."""

    def __init__(self, source: Batches, skip: int):
        self.source, self.skip = source, skip
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.parts, self.place, self.left = self.source.parts(), -self.skip, None

    def take(self, first: int, count: int) -> Parts:
        """Read on from where the last call ended, or from the beginning if it lies behind."""
        if first < self.place:
            self._begin_anew()
        return Parts(count, self._read(first, count))

    def _read(self, first: int, count: int) -> Iterator[Part]:
        while self.place < first + count:
            part = self.left or next(self.parts, None)
            if part is None:
                rows, there = f"{len(self.source):,} rows", f"{self.place:,}"
                raise input_error(self.source.name, rows, there, "give their number as rows=")
            skipped = min(max(0, first - self.place), part.rows.shape[0])
            end = min(part.rows.shape[0], first + count - self.place)
            self.left = None
            if end < part.rows.shape[0]:
                self.left = Part(part.rows[end:], part.first + end)
            self.place += end
            if skipped < end:
                yield Part(part.rows[skipped:end], part.first + skipped)


def matrix_of(batch: Any, name: str) -> Any:
    """Return a batch as a matrix: an array, or a SciPy sparse matrix; named columns side by side.

    Raises:
        InputError: something else, such as pairs of rows and labels.
    """
    if isinstance(batch, Mapping):
        batch = _side_by_side(batch, name)
    if isinstance(batch, tuple):
        found = f"a tuple of {len(batch)}, such as rows and labels"
        raise input_error(name, "batches of rows", found, "map it to the rows alone")
    batch = batch.tocsr() if hasattr(batch, "tocsr") else as_array(batch, name)
    if batch.ndim != 2 or batch.shape[1] < 1:
        advice = (
            "batch it, such as by 1,024 rows" if batch.ndim < 2 else "use x.reshape(len(x), -1)"
        )
        raise input_error(name, "batches of shape (rows, columns)", f"{batch.shape}", advice)
    if batch.dtype.kind not in "buif":
        raise InputError(f"{name}: expected numbers; got an array of {batch.dtype}.")
    return batch


def _side_by_side(columns: Mapping[Any, Any], name: str) -> np.ndarray:
    """Return named columns of numbers, each a vector or an array of rows, as one matrix."""
    found = {key: as_array(column, f"{name}, {key!r}") for key, column in columns.items()}
    for key, column in found.items():
        if column.dtype.kind not in "buif":
            raise InputError(f"{name}, {key!r}: expected numbers; got an array of {column.dtype}.")
    shapes = [column.shape for column in found.values()]
    if not shapes or () in shapes or len({shape[0] for shape in shapes}) > 1:
        shown = ", ".join(map(str, shapes[:5])) or "no columns"
        raise input_error(name, "columns of equal length", f"shapes {shown}", "check the batches")
    flat = [column.reshape(len(column), math.prod(column.shape[1:])) for column in found.values()]
    return np.concatenate(flat, axis=1)
