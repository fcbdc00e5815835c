"""Rows that are read while a model learns from them, for more rows than memory holds."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import described, positive_integer
from ..errors import InputError, count_of
from ..layers import AbstractLayer
from .block_files import source_of_files
from .blocks import AbstractSource, ArrayBlocks, Batches, BlockSource, Parts
from .dataset import Dataset, checked_weights
from .read_ahead import Joined, Space, StreamWindows
from .windows import NO_END, AbstractRows, AbstractWindows

__all__ = ["Stream"]

ENTRIES_IN_WINDOW = 2**25  # of a window whose size is not told: 128 MB in float32


class Stream(AbstractRows[Dataset]):
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
            self._own = np.ones(len(self._weights), bool)  # not held out
        self._layer: AbstractLayer | None = None
        self._change: Callable[[np.ndarray], np.ndarray] | None = None
        self._exact = False
        self._known: Dataset | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._source)

    def __repr__(self) -> str:
        """Return its name and sizes."""
        return f"Stream({self.name!r}: {count_of(len(self), 'row')}, {self.window:,} at a time)"

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        """Refuse to become an array."""
        return self.in_memory.rows()

    @property
    def in_memory(self) -> Dataset:
        """Refused.

        Raises:
            InputError: always.
        """
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
        return self._source.columns

    @property
    def missing(self) -> int:
        """The largest number of missing values in a row."""
        return self._first.missing if self._missing is None else self._missing

    @property
    def weights(self) -> Any:
        """The weights of the rows, or None."""
        return None if self._weights is None else self._weights[self._own]

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
        rest._source, parts = self._source.without(count)
        held = Space().joined(parts, self.name)
        if self._weights is not None:
            rest._own = self._own.copy()
            rest._own[held.places] = False
        rest._known = None
        return rest, self._dataset(held)

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
            found._stored(self._source.sample(self.window))  # which names the rows
            raise
        return found

    def kept_exact(self) -> Stream:
        """Return the stream that refuses rows which bfloat16 would round."""
        found = copy.copy(self)
        found._exact = True
        return found

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> Stream:
        """Return the stream with a function applied to all rows as they are read, after others.

        Raises:
            InputError: binary values are drawn from the rows, which have to be drawn before.
        """
        if self._stochastic:
            raise InputError(f"{self.name}: expected rows from which nothing is drawn; got greys.")
        found, before, scale = copy.copy(self), self._change, self._scale

        def both(rows: np.ndarray) -> np.ndarray:
            rows = rows if before is None else before(rows)
            return change(rows if scale == 1.0 else rows / scale)

        found._change, found._scale, found._known = both, 1.0, None
        return found

    def windows(
        self, batch_size: int, *, key: PRNGKeyArray, end: int = NO_END
    ) -> AbstractWindows[Dataset]:
        """Return the windows of a run, the next of which is read ahead."""
        if len(self._first) == len(self):
            return self._first.windows(batch_size, key=key)
        return StreamWindows(self._source, self._stored, self.window, batch_size, key, end)

    def _stored(self, parts: Parts, space: Space | None = None) -> Dataset:
        """Return parts of the source as a dataset; errors are those of `_dataset`."""
        return self._dataset((space or Space()).joined(parts, self.name))

    def _dataset(self, found: Joined) -> Dataset:
        """Return rows of the source as a dataset.

        Raises:
            InputError: naming the first entry that does not fit, by its row in the source.
        """
        rows = found.rows if self._change is None else self._change(found.rows)
        try:
            dataset = Dataset(rows, **self._options)
            if self._layer is not None:
                dataset = dataset.checked_for(self._layer, self.name)
        except InputError:
            self._name_the_rows(rows, found)
            raise
        if self._exact and not dataset.is_exact_in_bfloat16:
            raise InputError(
                f"{self.name}: expected small whole numbers, as in the rows at the beginning, for"
                ' products in bfloat16; got others. Choose precision="float32".'
            )
        if self._weights is not None:
            dataset = dataset.weighted(self._weights[found.places])
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

    def _name_the_rows(self, rows: Any, found: Joined) -> None:
        """Raise InputError for the first rows that do not fit, of those that follow one another."""
        ends = np.flatnonzero(np.diff(found.places) != 1) + 1
        for start, end in itertools.pairwise([0, *ends.tolist(), rows.shape[0]]):
            some = Dataset(rows[start:end], **self._options)
            if self._layer is not None:
                some.checked_for(self._layer, self.name, int(found.places[start]))


def rows_to_train_on(data: Any, weights: Any = None) -> Dataset | Stream:
    """Return a stream or a dataset as it is, and store other rows in a dataset.

    Raises:
        InputError: not a matrix of numbers, or weights for rows that have their own.
    """
    if getattr(data, "is_whole", True):  # all but a stream
        return Dataset.of(data, weights)
    if weights is not None:
        raise InputError("weights: a Stream takes them itself: Stream(source, weights=...).")
    return data


def _opened(source: Any, name: str, rows: int | None) -> AbstractSource:
    """Return the source of what a user passes.

    Raises:
        InputError: it is none.
    """
    several = isinstance(source, list | tuple) and source and isinstance(source[0], str | Path)
    given: Any = source
    is_known = several or isinstance(source, str | Path) or hasattr(source, "shape")
    if is_known and rows is not None:
        raise InputError(f"rows: expected none with {name}, whose number is known; got {rows!r}.")
    if isinstance(source, str | Path):
        return source_of_files([source], name)
    if several:
        return source_of_files(given, name)
    if hasattr(given, "shape") and hasattr(given, "__getitem__"):
        if len(given.shape) != 2 or 0 in given.shape:
            found = f"shape {tuple(given.shape)}"
            raise InputError(f"{name}: expected a matrix, shape (rows, columns); got {found}.")
        return BlockSource(ArrayBlocks(given, name), name)
    if callable(given) or hasattr(given, "__iter__"):
        return Batches(given, name, None if rows is None else positive_integer(rows, "rows"))
    expected = "files, an array, or an iterable of batches"
    raise InputError(f"{name}: expected {expected}; got {described(given)}.")
