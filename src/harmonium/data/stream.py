"""Rows that are read while a model learns from them, for more rows than memory holds."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import described, positive_integer
from ..errors import InputError
from ..layers import AbstractLayer
from ..statistics import effective_size
from .block_files import source_of_files
from .blocks import AbstractSource, ArrayBlocks, Batches, BlockSource, Part, Reading
from .dataset import Dataset, checked_weights
from .windows import AbstractRows, AbstractWindows, OneWindow, Window, count_of_rows

__all__ = ["Stream"]

ENTRIES_IN_WINDOW = 2**25  # of a window whose size is not told: 128 MB in float32
ORDER_OF_BLOCKS = 5  # folded into a run's key, whose parts 0 to 4 are used otherwise


class Stream(AbstractRows):
    """Rows that are read while a model learns from them.

    `fit` and `initialize` take it in place of rows. In memory are two windows of rows: one that is
    learned from, in a shuffled order, and the next one, which is read meanwhile. Files and arrays
    are read in blocks of about a megabyte (row groups of a Parquet file, arrays of .npz files). The
    blocks are visited in another order in each epoch, so that the rows of a window come from all
    parts of the source. Batches of an iterable keep their order, and rows are shuffled within
    windows alone: if the source is sorted, shuffle it before.

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
        (42, 'finished after 10 updates (2 epochs)')
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
            source: files of .npy, .npz, Parquet or Arrow (a path, a folder, a pattern such as
                "rows-*.npy", or a list of them); something that is sliced like an array, such as a
                mapped array, a dataset of h5py or of Hugging Face; an iterable of batches, such as
                a list, a tf.data.Dataset or a DataLoader; or a function that returns an iterator of
                batches. A batch is a matrix, a SciPy sparse matrix, or columns by name.
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
        label = name or (str(source) if isinstance(source, str | Path) else "data")
        self._source = _opened(source, label, rows)
        given = positive_integer(window, "window") if window is not None else None
        self.name, self._window, self._missing = label, given, missing
        self._scale, self._stochastic = scale, stochastic
        self._weights = None
        if weights is not None:
            self._weights = checked_weights(weights, len(self._source))
        self._layer: AbstractLayer | None = None
        self._change: Callable[[np.ndarray], np.ndarray] | None = None
        self._exact = False
        self._known: Dataset | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._source)

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """Refuse to become an array."""
        raise InputError(
            f"{self.name}: expected rows in memory here; got a Stream. Take some rows of it, such"
            " as stream.some(10_000)."
        )

    @property
    def window(self) -> int:
        """The number of rows that are shuffled together."""
        if self._window is None:
            return max(1, ENTRIES_IN_WINDOW // self.columns)
        return self._window

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self._first.columns

    @property
    def missing(self) -> int:
        """The largest number of missing values in a row."""
        return self._first.missing if self._missing is None else self._missing

    @property
    def effective_rows(self) -> float:
        """The number of rows; if they are weighted, (Σw)²/Σw² (Kish 1965)."""
        if self._weights is None:
            return float(len(self))
        return float(effective_size(np.asarray(self._weights, np.float64)))

    @property
    def weights(self) -> Any:
        """The weights of the rows, of mean 1, or None."""
        return self._weights

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether the rows at the beginning of a run are small whole numbers."""
        return self._first.is_exact_in_bfloat16

    @property
    def head(self) -> Dataset:
        """Rows to begin a run with, from all blocks, with padding rows."""
        return self._first.padded()

    @property
    def _first(self) -> Dataset:
        """As many rows as a window has, from all blocks; read once."""
        if self._known is None:
            self._known = self._stored(self._source.sample(self.window))
        return self._known

    def some(self, count: int) -> Dataset:
        """Return at most `count` rows, from all blocks of a source that is read in blocks."""
        if count <= len(self._first):
            return self._first.some(count)
        return self._stored(self._source.sample(min(count, len(self)))).some(count)

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
        rest = copy.copy(self)
        rest._source, held = self._source.without(count)
        rest._known = None
        return rest, self._stored(held)

    def checked_for(self, visible: AbstractLayer, name: str | None = None) -> Stream:
        """Return the stream whose rows are compared with a layer's domain as they are read.

        Args:
            visible: the layer that will take the rows.
            name: not used: rows are named after the source.

        Raises:
            InputError: naming the first entry outside the domain, of the rows to begin with.
        """
        found = copy.copy(self)
        found._layer = visible
        try:
            found._known = self._first.checked_for(visible, self.name)
        except InputError:
            found._name_the_row(self._source.sample(self.window))
            raise
        return found

    def kept_exact(self) -> Stream:
        """Return the stream that refuses rows which bfloat16 would round."""
        found = copy.copy(self)
        found._exact = True
        return found

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> Stream:
        """Return the stream with a function applied to all rows as they are read."""
        found = copy.copy(self)
        found._change, found._known = change, None
        return found

    def windows(self, batch_size: int, *, key: PRNGKeyArray) -> AbstractWindows:
        """Return the windows of a run, the next of which is read ahead."""
        if len(self._first) == len(self):
            return OneWindow(self._first)
        return _Windows(self, batch_size, key)

    def _stored(self, parts: Sequence[Part], space: _Space | None = None) -> Dataset:
        """Return parts of the source as a dataset.

        Raises:
            InputError: naming the first entry that does not fit, by its row in the source.
        """
        rows = (space or _Space()).joined([part.rows for part in parts])
        rows = rows if self._change is None else self._change(rows)
        try:
            dataset = self._checked(Dataset(rows, **self._options))
        except InputError:
            self._name_the_row(parts)
            raise
        if self._exact and not dataset.is_exact_in_bfloat16:
            raise InputError(
                f"{self.name}: expected small whole numbers, as in the rows at the beginning, for"
                ' products in bfloat16; got others. Choose precision="float32".'
            )
        if self._weights is not None:
            places = [np.arange(part.first, part.first + part.rows.shape[0]) for part in parts]
            dataset = dataset.weighted(self._weights[np.concatenate(places)])
        if self._missing is None and self._known is None:
            return dataset
        if dataset.missing > self.missing:
            raise InputError(
                f"{self.name}: expected at most {self.missing} missing values in a row, as in the"
                f" rows at the beginning; got {dataset.missing}. Pass missing={dataset.missing} or"
                " more to Stream."
            )
        return dataset.with_most_missing(self.missing)

    @property
    def _options(self) -> dict[str, Any]:
        return {"scale": self._scale, "stochastic": self._stochastic, "name": self.name}

    def _checked(self, dataset: Dataset) -> Dataset:
        return dataset if self._layer is None else dataset.checked_for(self._layer, self.name)

    def _name_the_row(self, parts: Sequence[Part]) -> None:
        """Raise InputError for the first row that does not fit, alone of its block."""
        for part in parts:
            rows = part.rows if self._change is None else self._change(part.rows)
            try:
                self._checked(Dataset(rows, **self._options))
            except InputError as error:
                last = part.first + part.rows.shape[0] - 1
                where = f"rows {part.first:,} to {last:,} of the source, counted from 0"
                raise InputError(f"{error} (in {where})") from None


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


class _Space:
    """Memory in which dense rows are joined, used again and again."""

    def __init__(self) -> None:
        self.array = np.empty(0)

    def joined(self, parts: Sequence[Any]) -> Any:
        """Return matrices one below the other, until the next call."""
        if any(hasattr(part, "tocsr") for part in parts):
            from scipy.sparse import vstack  # imported here: it takes a tenth of a second

            return vstack(parts, format="csr")
        n, dtype = sum(map(len, parts)), np.result_type(*parts)
        columns = {part.shape[1] for part in parts}
        if len(columns) > 1:
            raise InputError(f"data: expected batches of equal width; got {sorted(columns)}.")
        size = n * parts[0].shape[1]
        if self.array.dtype != dtype or self.array.size < size:
            self.array = np.empty(size, dtype)
        return np.concatenate(parts, out=self.array[:size].reshape(n, -1))


class _Windows(AbstractWindows):
    """The windows of a stream: the next one is read while a model learns from the last."""

    def __init__(self, stream: Stream, batch_size: int, key: PRNGKeyArray):
        self.stream, self.batch, self.rows = stream, batch_size, len(stream)
        self.size = max(1, stream.window // batch_size) * batch_size
        self.an_epoch = -(-self.rows // self.size)  # windows
        self.updates = -(-self.rows // batch_size)  # in an epoch
        data = jax.random.key_data(jax.random.fold_in(key, ORDER_OF_BLOCKS))
        self.seed = np.asarray(data).tolist()
        self.space, self.reading = _Space(), (-1, None)
        self.one_at_a_time = Lock()
        self.here: tuple[int, Window] | None = None
        self.ahead: tuple[int, Future[Window]] | None = None

    def at(self, updates: int) -> Window:
        """Return the window of an update; waits until it is read."""
        epoch, made = divmod(updates, self.updates)
        number = epoch * self.an_epoch + made * self.batch // self.size
        if self.here is None or self.here[0] != number:
            self.here = None  # two windows are in memory, not three
            coming = self.ahead if self.ahead and self.ahead[0] == number else self._begin(number)
            window = coming[1].result()
            self.here, self.ahead = (number, window), self._begin(number + 1)
        return self.here[1]

    def _begin(self, number: int) -> tuple[int, Future[Window]]:
        """Read a window in a thread, which does not keep the process from ending."""
        found: Future[Window] = Future()

        def read() -> None:
            try:
                with self.one_at_a_time:
                    found.set_result(self._read(number))
            except BaseException as error:
                found.set_exception(error)

        Thread(target=read, daemon=True).start()
        return number, found

    def _read(self, number: int) -> Window:
        epoch, place = divmod(number, self.an_epoch)
        first = place * self.size
        count = min(self.size, self.rows - first)
        dataset = self.stream._stored(self._pass(epoch).take(first, count), self.space)
        begin = epoch * self.updates + first // self.batch
        end = begin + -(-count // self.batch)
        return Window(dataset.filled_to(self.size), count_of_rows(dataset), begin, end, number)

    def _pass(self, epoch: int) -> Reading:
        if self.reading[0] != epoch:
            order = np.random.default_rng([*self.seed, epoch])
            self.reading = epoch, self.stream._source.epoch(order)
        return self.reading[1]


def _opened(source: Any, name: str, rows: int | None) -> AbstractSource:
    """Return the source of what a user passes.

    Raises:
        InputError: it is none.
    """
    if isinstance(source, str | Path):
        return source_of_files([source], name)
    if isinstance(source, list | tuple) and source and isinstance(source[0], str | Path):
        return source_of_files(source, name)
    if hasattr(source, "shape") and hasattr(source, "__getitem__"):
        if len(source.shape) != 2 or 0 in source.shape:
            found = f"shape {tuple(source.shape)}"
            raise InputError(f"{name}: expected a matrix, shape (rows, columns); got {found}.")
        return BlockSource(ArrayBlocks(source, name), name)
    if callable(source) or hasattr(source, "__iter__"):
        return Batches(source, name, None if rows is None else positive_integer(rows, "rows"))
    expected = "files, an array, or an iterable of batches"
    raise InputError(f"{name}: expected {expected}; got {described(source)}.")
