"""Rows read during training, for data larger than memory."""

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

ENTRIES_IN_WINDOW = 2**25  # default size of a window: 128 MB in float32
ORDER_OF_BLOCKS = 5  # a number folded into a run's key; 0 to 4 have other uses


class Space:
    """Reusable memory for rows that arrive in parts.

    Filling 128 MB took at least 230 ms if memory pages were new, but 12 ms if they were reused.
    """

    def __init__(self) -> None:
        self.array = np.empty((0, 0))

    def joined(self, parts: Iterable[Part], count: int, name: str) -> tuple[Any, np.ndarray]:
        """Return `count` rows, which the next call overwrites, and their indices in the source.

        Raises:
            InputError: parts differ in width, or some are sparse and some dense.
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
                raise InputError(
                    f"{name}: expected {width:,} columns, as in the first rows; got {got}."
                )
            if hasattr(rows, "tocsr"):
                sparse.append(rows)
                continue
            dtype = np.result_type(self.array, rows) if done else rows.dtype
            self._make_room((count, width), dtype, done)
            self.array[done : done + size] = rows
            done += size
        if sparse and done:
            raise InputError(f"{name}: expected all batches to be sparse, or all dense; got both.")
        if sparse:
            from scipy.sparse import vstack  # imported here, since it takes a tenth of a second

            return vstack(sparse, format="csr"), np.concatenate(places)
        return self.array[:done], np.concatenate(places)

    def _make_room(self, shape: tuple[int, int], dtype: np.dtype, done: int) -> None:
        """Allocate memory for rows of this shape and dtype, keeping the first `done` rows."""
        fits = self.array.shape[1] == shape[1] and len(self.array) >= shape[0]
        if not fits or self.array.dtype != dtype:
            before = self.array[:done]
            self.array = np.empty(shape, dtype)
            if done:
                self.array[:done] = before


class Stream(AbstractRows):
    """Training data that are read from a source during training.

    Pass a stream to `fit` and `initialize` in place of rows. Two windows of rows are in memory: the
    current window, visited in a shuffled order, and the next window, which is read in the
    background. Files and arrays are read in blocks of about a megabyte (or one row group of a
    Parquet file). The order of the blocks changes in each epoch, so that the rows of a window come
    from all parts of the source. Batches of an iterable keep their order, and rows are shuffled
    only within windows, so a sorted source must be shuffled beforehand.

    As with rows in memory, a run is determined by its key and the source, and can be interrupted
    and resumed at any update. If one window contains all rows, the run is identical to a run with
    these rows in memory.

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
        """Open a source without reading its rows yet.

        Args:
            source: .npy, Parquet or Arrow files (a path, a folder, a pattern such as "rows-*.npy",
                or a list of them); an object that can be sliced like an array, such as a
                memory-mapped array or a data set of h5py or Hugging Face; an iterable of batches,
                such as a list, a tf.data.Dataset or a DataLoader; or a function that returns an
                iterator of batches, for example from a DuckDB query. A batch is a matrix, a SciPy
                sparse matrix, columns by name, or a table of pyarrow.
            rows: number of rows to use from an iterable; if None, all rows, which are counted by
                reading the iterable once.
            window: number of rows that are shuffled together, rounded to full batches. If None, as
                many rows as have 2²⁵ entries in total.
            weights: sample weights, one for each row in the order of the source.
            scale: as in `Dataset`.
            stochastic: as in `Dataset`.
            missing: the largest number of missing values (NaN) in a row. If None, it is determined
                at the beginning of a run from rows in all blocks.
            name: the name of the source in error messages; if None, the name of the file, or
                "data".

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
        self.layer: AbstractLayer | None = None  # its domain must contain all values
        self.is_exact = False  # whether all values must be small integers
        self.beginning_read: Dataset | None = None

    def _with(self, beginning_read: Dataset | None = None, **changes: Any) -> Stream:
        """Return a copy of the stream with these attributes and `beginning_read` replaced."""
        stream = copy.copy(self)
        vars(stream).update(changes, beginning_read=beginning_read)
        return stream

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.source)

    def __repr__(self) -> str:
        """Return the name and sizes of the stream."""
        return f"Stream({self.name!r}: {count_of(len(self), 'row')}, {self.window:,} at a time)"

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """Raise an error, since a stream cannot be converted to an array."""
        return self.in_memory.rows()

    @property
    def in_memory(self) -> Dataset:
        raise InputError(
            f"{self.name}: expected rows in memory here; got a Stream; take some of its rows,"
            " for example with stream.some(10_000)."
        )

    @property
    def window(self) -> int:
        """The number of rows shuffled together."""
        if self.rows_in_window is None:
            return max(1, ENTRIES_IN_WINDOW // self.columns)
        return self.rows_in_window

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.source.columns

    @property
    def beginning(self) -> Dataset:
        """A window of rows, taken from all blocks, from which a run is set up."""
        if self.beginning_read is None:
            parts = self.source.sample(self.window)
            self.beginning_read = self.dataset(parts, self.window, self.most_missing)
        return self.beginning_read

    @property
    def missing(self) -> int:
        """The largest number of missing values in a row: NaN values and latent units."""
        return self.beginning.missing

    @property
    def weights(self) -> Any:
        """The weights of the rows, or None."""
        return entries_of(self.weights_in_source, self.source.places)

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether bfloat16 represents the rows of `beginning`, presumably all rows, exactly."""
        return self.beginning.is_exact_in_bfloat16

    @property
    def head(self) -> Dataset:
        """The rows from which a run is set up, taken from all blocks, with padding rows."""
        return self.beginning.padded()

    def some(self, count: int) -> Dataset:
        """Return at most `count` rows, from all blocks if the source is read in blocks."""
        if count <= len(self.beginning):
            return self.beginning.some(count)
        most_missing = self.beginning.meaning.missing
        return self.dataset(self.source.sample(count), count, most_missing).some(count)

    def dataset(
        self,
        parts: Iterator[Part],
        count: int,
        most_missing: int | None,
        space: Space | None = None,
    ) -> Dataset:
        """Store and check `count` rows of the source, or all rows if there are fewer.

        Args:
            parts: the parts to read the rows from.
            count: the number of rows.
            most_missing: the largest number of missing values in a row; None to count them.
            space: the memory in which the rows are concatenated.

        Raises:
            InputError: a value is invalid; the message gives the index of its row.
        """
        space = space or Space()
        rows, places = space.joined(parts, min(count, len(self.source)), self.name)
        if self.change is not None:
            rows = self.change(rows)
        try:
            dataset = self._checked(rows, 0)
        except InputError:
            # Each range of consecutive rows is checked separately, so that errors can give the
            # index of a row.
            ends = np.flatnonzero(np.diff(places) != 1) + 1
            for start, end in itertools.pairwise([0, *ends.tolist(), len(places)]):
                self._checked(rows[start:end], int(places[start]))
            raise
        if self.is_exact and not dataset.is_exact_in_bfloat16:
            raise InputError(
                f"{self.name}: expected small whole numbers, as in the rows at the beginning, for"
                ' products in bfloat16; got other numbers; choose precision="float32".'
            )
        if self.weights_in_source is not None:
            dataset = dataset.weighted(self.weights_in_source[places])
        if most_missing is None:
            return dataset
        if dataset.meaning.missing > most_missing:
            raise InputError(
                f"{self.name}: expected at most {most_missing} missing values in a row, as in the"
                f" rows at the beginning; got {dataset.meaning.missing}; pass"
                f" missing={dataset.meaning.missing} or more to Stream."
            )
        return dataset.with_most_missing(most_missing)

    def _checked(self, rows: Any, before: int) -> Dataset:
        """Return rows after checking them for the layer; `before` rows precede these rows."""
        dataset = Dataset(rows, scale=self.scale, stochastic=self.stochastic, name=self.name)
        if self.layer is None:
            return dataset
        return dataset.checked_for(self.layer, self.name, before)

    def split_off(self, count: int) -> tuple[Stream, Dataset]:
        """Hold out rows for validation; return a stream of the other rows, and the held-out rows.

        The held-out rows are the first rows of up to 64 evenly spaced blocks or, if the source
        consists of batches, its first rows.

        Args:
            count: the number of rows to hold out.

        Raises:
            InputError: no rows would remain in the stream.
        """
        if not 0 < positive_integer(count, "count") < len(self):
            raise InputError(f"count: expected fewer than the {len(self):,} rows; got {count:,}.")
        rest, parts = self.source.without(count)
        held_out = self.dataset(parts, count, self.most_missing)
        return self._with(source=rest), held_out

    def checked_for(self, visible: AbstractLayer, name: str | None = None) -> Stream:
        """Return a stream whose rows are checked against a layer's domain when they are read.

        Args:
            visible: the layer that will take the rows.
            name: unused, since error messages use the name of the source.

        Raises:
            InputError: one of the rows of `beginning` has a value outside the domain.
        """
        try:
            checked = self.beginning.checked_for(visible, self.name)
        except InputError:
            _ = self._with(layer=visible).beginning  # raises an error that gives the row
            raise
        return self._with(checked, layer=visible)

    def kept_exact(self) -> Stream:
        """Return a stream that raises an error for rows that bfloat16 would round."""
        return self._with(self.beginning, is_exact=True)

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> Stream:
        """Return a stream that applies a function to all rows when they are read.

        Raises:
            InputError: the stream draws binary values, to which the function cannot be applied.
        """
        if self.stochastic:
            raise InputError(
                f"{self.name}: expected the same values at each visit; got grey levels, from which"
                " bits are drawn; set them to 0 or 1 first."
            )

        def both(rows: np.ndarray) -> np.ndarray:
            if self.change is not None:
                rows = self.change(rows)
            if self.scale != 1.0:
                rows = rows / self.scale
            return change(rows)

        return self._with(change=both, scale=1.0)

    def windows(self, batch_size: int, *, key: PRNGKeyArray, end: int = NO_END) -> Windows:
        """Return the windows of a run; each window is read while the previous one is used."""
        if len(self.beginning) == len(self):
            return self.beginning.windows(batch_size, key=key)
        return StreamWindows(self, batch_size, key, end)


class StreamWindows:
    """The windows of a stream; the next window is read while the current window is in use."""

    def __init__(self, rows: Stream, batch_size: int, key: PRNGKeyArray, end: int):
        """Store the arguments of `AbstractRows.windows`; reading starts later."""
        self.rows = rows
        self.batch_size = batch_size
        self.size = max(1, rows.window // batch_size) * batch_size
        self.per_epoch = math.ceil(len(rows) / self.size)  # windows per epoch
        self.updates = math.ceil(len(rows) / batch_size)  # updates per epoch
        data = jax.random.key_data(fold_in(key, ORDER_OF_BLOCKS))
        self.seed = np.asarray(data).tolist()
        self.end = end
        self.read = rows.source.reader()
        self.space = Space()
        self.current: tuple[int, Window] | None = None
        self.ahead: tuple[int, Future[Window]] | None = None
        # A single thread reads all windows, since an iterator may be bound to a thread. One thread
        # suffices because NumPy releases the interpreter lock while it copies and packs; worker
        # processes would copy rows once more.
        self.thread = ThreadPoolExecutor(1, "windows")

    def at(self, updates: int) -> Window:
        """Return the window for an update, waiting until it has been read."""
        epoch, place = divmod(updates, self.updates)
        number = epoch * self.per_epoch + place * self.batch_size // self.size
        if self.current is None or self.current[0] != number:
            self.current = None  # at most two windows are in memory
            if self.ahead is None or self.ahead[0] != number:
                self.ahead = self._begin(number)
            window = self.ahead[1].result()
            self.ahead = None
            # Nothing is read after the end of a run, when the source may be closed or in use
            # elsewhere.
            if window.end < self.end:
                self.ahead = self._begin(number + 1)
            self.current = number, window
        return self.current[1]

    def _begin(self, number: int) -> tuple[int, Future[Window]]:
        """Start reading a window in the background, with the calling thread's JAX precision."""
        is_double = canonicalize_dtype(float).itemsize == 8
        return number, self.thread.submit(self._read, number, is_double)

    def _read(self, number: int, is_double: bool) -> Window:
        epoch, place = divmod(number, self.per_epoch)
        first = place * self.size
        last = min(first + self.size, len(self.rows))
        order = np.random.default_rng([*self.seed, epoch])
        with jax.enable_x64(is_double):
            parts = self.read(order, first, last)
            most_missing = self.rows.beginning.meaning.missing
            dataset = self.rows.dataset(parts, last - first, most_missing, self.space)
            padded = dataset.filled_to(self.size)
            begin = epoch * self.updates + first // self.batch_size
            end = begin + math.ceil(len(dataset) / self.batch_size)
            return Window(padded, whole_number(len(dataset)), begin, end, number)


def rows_to_train_on(data: Any, weights: Any = None) -> Dataset | Stream:
    """Return data for training: a stream or a dataset unchanged, other rows stored in a dataset.

    Raises:
        InputError: `data` is not a matrix of numbers, or weights are given for a stream or dataset.
    """
    if not isinstance(data, Stream):
        return Dataset.of(data, weights)
    if weights is not None:
        raise InputError(
            "weights: expected none with a Stream; got some; pass Stream(source, weights=...)"
            " instead."
        )
    return data


@runtime_checkable
class ArrayLike(Protocol):
    """An object whose rows can be sliced like those of an array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        ...

    def __getitem__(self, rows: slice, /) -> Any:
        """Return a slice of the rows."""
        ...


def _opened(source: Any, name: str, rows: int | None) -> AbstractSource:
    """Return a source that reads the rows of a path, array, iterable or function.

    Raises:
        InputError: the object cannot be used as a source of rows.
    """
    paths = source
    if isinstance(source, str | Path):
        paths = [source]
    is_files = isinstance(paths, list | tuple) and paths and isinstance(paths[0], str | Path)
    is_array = isinstance(source, ArrayLike)
    if (is_files or is_array) and rows is not None:
        raise InputError(
            f"rows: expected None with {name}, whose size is known; got {rows!r}; leave it out."
        )
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
