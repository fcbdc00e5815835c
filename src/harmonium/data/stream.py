"""Rows that are read while a model learns from them, for more rows than memory holds."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
from jax.dtypes import canonicalize_dtype
from jaxtyping import PRNGKeyArray

from .._base.checks import described, positive_integer
from .._base.numerics import whole_number
from .._base.threefry import fold_in
from ..errors import InputError, count_of
from ..layers import AbstractLayer
from .block_files import source_of_files
from .blocks import AbstractSource, Batches, BlockSource, Part, blocks_of_array
from .dataset import (
    NO_END,
    AbstractRows,
    Dataset,
    Window,
    Windows,
    checked_weights,
    entries_of,
)

__all__ = ["Stream"]

ENTRIES_IN_WINDOW = 2**25  # of a window whose size is not given: 128 MB in float32
ORDER_OF_BLOCKS = 5  # folded into a run's key, whose parts 0 to 4 are used otherwise


class Space:
    """Memory for rows that come in parts, used again.

    To fill 128 MB of new pages took 230 ms and more, and 12 ms of pages that were used before.
    """

    def __init__(self) -> None:
        self.array = np.empty((0, 0))

    def joined(self, parts: Iterable[Part], count: int, name: str) -> tuple[Any, np.ndarray]:
        """Return `count` rows one below the other, until the next call, and their places.

        Raises:
            InputError: their widths differ, or some parts are sparse and some dense.
        """
        places: list[np.ndarray] = []
        sparse: list[Any] = []
        width = None
        done = 0
        for rows, first in parts:
            size = rows.shape[0]
            places.append(np.arange(first, first + size))
            width = width or rows.shape[1]
            if rows.shape[1] != width:
                got = f"{rows.shape[1]:,} from row {first:,} on"
                raise InputError(f"{name}: expected {width:,} columns, as at first; got {got}.")
            if hasattr(rows, "tocsr"):
                sparse.append(rows)
                continue
            dtype = np.result_type(self.array, rows) if done else rows.dtype
            self._make_room((count, width), dtype, done)
            self.array[done : done + size] = rows
            done += size
        if sparse and done:
            raise InputError(f"{name}: expected batches of one kind; got sparse and dense ones.")
        if sparse:
            from scipy.sparse import vstack  # imported here: it takes a tenth of a second

            return vstack(sparse, format="csr"), np.concatenate(places)
        return self.array[:done], np.concatenate(places)

    def _make_room(self, shape: tuple[int, int], dtype: np.dtype, done: int) -> None:
        """Make room for rows of this type, of which so many are there."""
        fits = self.array.shape[1] == shape[1] and len(self.array) >= shape[0]
        if not fits or self.array.dtype != dtype:
            before = self.array[:done]
            self.array = np.empty(shape, dtype)
            if done:
                self.array[:done] = before


class Stream(AbstractRows):
    """Rows that are read while a model learns from them.

    `fit` and `initialize` take it in place of rows. In memory are two windows of rows: one that is
    learned from, in a shuffled order, and the next one, which is read meanwhile. Files and arrays
    are read in blocks of about a megabyte (row groups of a Parquet file). The blocks are visited in
    another order in each epoch, so that the rows of a window come from all parts of the source.
    Batches of an iterable keep their order, and rows are shuffled within windows alone: if the
    source is sorted, shuffle it before.

    A run is a function of its key and of the source, as with rows in memory: it can be interrupted
    and resumed at any update. Where one window holds all rows, the run is that of `fit` with these
    rows in memory.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for part in range(3):
        ...         np.save(pathlib.Path(folder, f"rows-{part}.npy"), hm.bars_and_stripes(3))
        ...     stream = hm.Stream(f"{folder}/rows-*.npy", window=20)
        ...     key = jax.random.key(0)
        ...     rbm = hm.initialize(hm.Bernoulli(9), hm.Bernoulli(4), stream, key=key)
        ...     fit = hm.fit(rbm, stream, key=key, epochs=2, batch_size=10)
        >>> len(stream), fit.message
        (48, 'finished after 10 updates (2 epochs)')
    """

    is_whole = False

    def __init__(
        self,
        source: Any,
        *,
        rows: int | None = None,
        window: int | None = None,
        weights: Any = None,
        scale: float = 1.0,
        stochastic: bool = False,
        missing: int | None = None,
        name: str | None = None,
    ):
        """Open a source; its rows are read later.

        Args:
            source: files of .npy, Parquet or Arrow (a path, a folder, a pattern such as
                "rows-*.npy", or a list of them); something that is sliced like an array, such as a
                mapped array, a dataset of h5py or of Hugging Face; an iterable of batches, such as
                a list, a tf.data.Dataset or a DataLoader; or a function that returns an iterator of
                batches, such as those of a query of DuckDB. A batch is a matrix, a SciPy sparse
                matrix, columns by name, or a table of pyarrow.
            rows: number of rows of an iterable; it is read once to count them if None. Of a longer
                one, so many rows are used.
            window: rows that are shuffled together; rounded to full batches. If None, as many as
                have 2²⁵ entries.
            weights: sample weights, one for each row in the order of the source.
            scale: as in `Dataset`.
            stochastic: as in `Dataset`.
            missing: the largest number of missing values (NaN) in a row. If None, that of the rows
                at the beginning of a run, which come from all blocks.
            name: what error messages call it; the name of the file, or "data", if None.

        Raises:
            InputError: the source cannot be read in blocks or batches.
        """
        usual_name = "data"
        if isinstance(source, str | Path):
            usual_name = str(source)
        self.name = name or usual_name
        self.source = _opened(source, self.name, rows)
        if window is not None:
            window = positive_integer(window, "window")
        self.rows_in_window = window
        self.scale = scale
        self.stochastic = stochastic
        self.weights_in_source = None
        if weights is not None:
            self.weights_in_source = checked_weights(weights, len(self.source))
        self.most_missing = missing
        self.change: Callable[[np.ndarray], np.ndarray] | None = None
        self.layer: AbstractLayer | None = None  # in whose domain all values must lie
        self.is_exact = False  # whether all values must be small whole numbers
        self.beginning_read: Dataset | None = None

    def _with(self, beginning_read: Dataset | None = None, **changes: Any) -> Stream:
        """Return the stream with other attributes, and the rows to begin with if they stay."""
        stream = copy.copy(self)
        vars(stream).update(changes, beginning_read=beginning_read)
        return stream

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    def __repr__(self) -> str:
        """Return its name and sizes."""
        return f"Stream({self.name!r}: {count_of(len(self), 'row')}, {self.window:,} at a time)"

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """Refuse to become an array."""
        return self.in_memory.rows()

    @property
    def in_memory(self) -> Dataset:
        raise InputError(
            f"{self.name}: expected rows in memory here; got a Stream. Take some rows of it, such"
            " as stream.some(10_000)."
        )

    @property
    def window(self) -> int:
        """The number of rows that are shuffled together."""
        if self.rows_in_window is None:
            return max(1, ENTRIES_IN_WINDOW // self.columns)
        return self.rows_in_window

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.source.columns

    @property
    def beginning(self) -> Dataset:
        """Rows from all blocks, as many as a window has: a run is prepared by them."""
        if self.beginning_read is None:
            parts = self.source.sample(self.window)
            self.beginning_read = self.dataset(parts, self.window, self.most_missing)
        return self.beginning_read

    @property
    def missing(self) -> int:
        """The largest number of missing values in a row; of `beginning` where nobody counted."""
        if self.most_missing is None:
            return self.beginning.missing
        return self.most_missing

    @property
    def weights(self) -> Any:
        """The weights of the rows, or None."""
        return entries_of(self.weights_in_source, self.source.places)

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether the rows of `beginning`, and so presumably all, are small whole numbers."""
        return self.beginning.is_exact_in_bfloat16

    @property
    def head(self) -> Dataset:
        """Rows to begin a run with, from all blocks, with padding rows."""
        return self.beginning.padded()

    def some(self, count: int) -> Dataset:
        """Return at most `count` rows, from all blocks of a source that is read in blocks."""
        if count <= len(self.beginning):
            return self.beginning.some(count)
        return self.dataset(self.source.sample(count), count, self.missing).some(count)

    def dataset(
        self,
        parts: Iterator[Part],
        count: int,
        most_missing: int | None,
        space: Space | None = None,
    ) -> Dataset:
        """Return `count` rows of the source, all if there are fewer, stored and checked.

        Args:
            parts: yields them.
            count: how many.
            most_missing: the largest number of missing values in a row; None for what they have.
            space: memory to join them in.

        Raises:
            InputError: naming the first entry that does not fit, by its row in the source.
        """
        space = space or Space()
        rows, places = space.joined(parts, min(count, len(self.source)), self.name)
        if self.change is not None:
            rows = self.change(rows)
        try:
            dataset = self._checked(rows, 0)
        except InputError:
            # Rows that follow one another are checked for themselves, to name one by its number.
            ends = np.flatnonzero(np.diff(places) != 1) + 1
            for start, end in itertools.pairwise([0, *ends.tolist(), len(places)]):
                self._checked(rows[start:end], int(places[start]))
            raise
        if self.is_exact and not dataset.is_exact_in_bfloat16:
            raise InputError(
                f"{self.name}: expected small whole numbers, as in the rows at the beginning, for"
                ' products in bfloat16; got others. Choose precision="float32".'
            )
        if self.weights_in_source is not None:
            dataset = dataset.weighted(self.weights_in_source[places])
        if most_missing is None:
            return dataset
        if dataset.missing > most_missing:
            raise InputError(
                f"{self.name}: expected at most {most_missing} missing values in a row, as in the"
                f" rows at the beginning; got {dataset.missing}. Pass missing={dataset.missing} or"
                " more to Stream."
            )
        return dataset.with_most_missing(most_missing)

    def _checked(self, rows: Any, before: int) -> Dataset:
        """Return rows that have so many others before them, compared with the layer's domain."""
        dataset = Dataset(rows, scale=self.scale, stochastic=self.stochastic, name=self.name)
        if self.layer is None:
            return dataset
        return dataset.checked_for(self.layer, self.name, before)

    def split_off(self, count: int) -> tuple[Stream, Dataset]:
        """Return the stream without some rows, and these, for validation.

        They are the first rows of up to 64 blocks that lie evenly in the source, or the first rows
        of batches.

        Args:
            count: the number of rows to hold out.

        Raises:
            InputError: no rows are left.
        """
        if not 0 < positive_integer(count, "count") < len(self):
            raise InputError(f"count: expected fewer than the {len(self):,} rows; got {count:,}.")
        rest, parts = self.source.without(count)
        held_out = self.dataset(parts, count, self.most_missing)
        return self._with(source=rest), held_out

    def checked_for(self, visible: AbstractLayer, name: str | None = None) -> Stream:
        """Return the stream whose rows are compared with a layer's domain as they are read.

        Args:
            visible: the layer that will take the rows.
            name: not used: rows are named after the source.

        Raises:
            InputError: naming the first entry outside the domain, of the rows to begin with.
        """
        try:
            checked = self.beginning.checked_for(visible, self.name)
        except InputError:
            _ = self._with(layer=visible).beginning  # names the row
            raise
        return self._with(checked, layer=visible)

    def kept_exact(self) -> Stream:
        """Return the stream that refuses rows which bfloat16 would round."""
        return self._with(self.beginning, is_exact=True)

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> Stream:
        """Return the stream with a function applied to all rows as they are read, after others.

        Raises:
            InputError: binary values are drawn from the rows, which have to be drawn before.
        """
        if self.stochastic:
            raise InputError(f"{self.name}: expected rows from which nothing is drawn; got greys.")

        def both(rows: np.ndarray) -> np.ndarray:
            if self.change is not None:
                rows = self.change(rows)
            if self.scale != 1.0:
                rows = rows / self.scale
            return change(rows)

        return self._with(change=both, scale=1.0)

    def windows(self, batch_size: int, *, key: PRNGKeyArray, end: int = NO_END) -> Windows:
        """Return the windows of a run, the next of which is read ahead."""
        if len(self.beginning) == len(self):
            return self.beginning.windows(batch_size, key=key)
        return StreamWindows(self, batch_size, key, end)


class StreamWindows:
    """The windows of a stream: the next one is read while a model learns from the last."""

    def __init__(self, rows: Stream, batch_size: int, key: PRNGKeyArray, end: int):
        """Fix the settings, which are those of `AbstractRows.windows`."""
        self.rows = rows
        self.batch_size = batch_size
        self.size = max(1, rows.window // batch_size) * batch_size
        self.per_epoch = math.ceil(len(rows) / self.size)  # windows
        self.updates = math.ceil(len(rows) / batch_size)  # in an epoch
        data = jax.random.key_data(fold_in(key, ORDER_OF_BLOCKS))
        self.seed = np.asarray(data).tolist()
        self.end = end
        self.read = rows.source.reader()
        self.space = Space()
        self.current: tuple[int, Window] | None = None
        self.ahead: tuple[int, Future[Window]] | None = None
        # One thread for all windows, as an iterator may be bound to it. NumPy releases the lock of
        # the interpreter while it copies and packs; rows from workers would be copied once more.
        self.thread = ThreadPoolExecutor(1, "windows")

    def at(self, updates: int) -> Window:
        """Return the window of an update; waits until it is read."""
        epoch, place = divmod(updates, self.updates)
        number = epoch * self.per_epoch + place * self.batch_size // self.size
        if self.current is None or self.current[0] != number:
            self.current = None  # two windows are in memory, not three
            if self.ahead is None or self.ahead[0] != number:
                self.ahead = self._begin(number)
            window = self.ahead[1].result()
            self.ahead = None
            # A run that has ended reads no more: the source may be closed, or be used by another.
            if window.end < self.end:
                self.ahead = self._begin(number + 1)
            self.current = number, window
        return self.current[1]

    def _begin(self, number: int) -> tuple[int, Future[Window]]:
        """Let the thread read a window, in the precision of this thread, which may have its own."""
        is_double = canonicalize_dtype(float).itemsize == 8
        return number, self.thread.submit(self._read, number, is_double)

    def _read(self, number: int, is_double: bool) -> Window:
        epoch, place = divmod(number, self.per_epoch)
        first = place * self.size
        last = min(first + self.size, len(self.rows))
        order = np.random.default_rng([*self.seed, epoch])
        with jax.enable_x64(is_double):
            parts = self.read(order, first, last)
            dataset = self.rows.dataset(parts, last - first, self.rows.missing, self.space)
            padded = dataset.filled_to(self.size)
            begin = epoch * self.updates + first // self.batch_size
            end = begin + math.ceil(len(dataset) / self.batch_size)
            return Window(padded, whole_number(len(dataset)), begin, end, number)


def rows_to_train_on(data: Any, weights: Any = None) -> Dataset | Stream:
    """Return a stream or a dataset as it is, and store other rows in a dataset.

    Raises:
        InputError: not a matrix of numbers, or weights for rows that have their own.
    """
    if not isinstance(data, Stream):
        return Dataset.of(data, weights)
    if weights is not None:
        raise InputError("weights: a Stream takes them itself: Stream(source, weights=...).")
    return data


@runtime_checkable
class ArrayLike(Protocol):
    """What is sliced like an array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and of columns."""
        ...

    def __getitem__(self, rows: slice, /) -> Any:
        """Return some rows."""
        ...


def _opened(source: Any, name: str, rows: int | None) -> AbstractSource:
    """Return the source of what a user passes.

    Raises:
        InputError: it is none.
    """
    paths = source
    if isinstance(source, str | Path):
        paths = [source]
    is_files = isinstance(paths, list | tuple) and paths and isinstance(paths[0], str | Path)
    is_array = isinstance(source, ArrayLike)
    if (is_files or is_array) and rows is not None:
        raise InputError(f"rows: expected none with {name}, whose number is known; got {rows!r}.")
    if is_files:
        return source_of_files(paths, name)
    if is_array:
        shape = tuple(source.shape)
        if len(shape) != 2 or 0 in shape:
            raise InputError(
                f"{name}: expected a matrix, shape (rows, columns); got shape {shape}."
            )
        return BlockSource.of(blocks_of_array(source, name), name)
    if rows is not None:
        rows = positive_integer(rows, "rows")
    if callable(source) or hasattr(source, "__iter__"):
        return Batches(source, name, rows)
    expected = "files, an array, or an iterable of batches"
    raise InputError(f"{name}: expected {expected}; got {described(source)}.")
