"""Rows on the device, stored in the most compact form and read one batch at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.dtypes import canonicalize_dtype
from jaxtyping import Array, Integer, PRNGKeyArray

from .._base.module import AbstractModule
from .._base.numerics import from_numpy, whole_number
from .._base.programs import compiled
from .._base.statistics import effective_size
from ..errors import InputError
from ..layers import AbstractLayer
from .parts import rows_at_once
from .stored import AbstractStored, padded_size, stored

MOST_TO_COPY = 2**15  # rows; copying more takes longer than compiling for a new size (a second)
NO_END = 2**31 - 1  # the largest count of updates, a 32-bit integer


class Window(NamedTuple):
    """Rows that stay on the device for several consecutive updates.

    The compiled training loop treats the rows of a window as an epoch, so it needs no special code
    for streams, and training on a stream with a single window matches training in memory bit for
    bit.

    Attributes:
        dataset: the rows, including padding rows.
        count: the number of rows that are not padding; they are visited in a shuffled order.
        begin: the number of updates made before the first update on these rows.
        end: the number of updates made once the last update on these rows is complete.
        passes: the number of earlier passes over windows of this size; it determines the order of
            the rows.
    """

    dataset: Dataset
    count: Any
    begin: int = 0
    end: int = NO_END
    passes: int = 0

    def at(self, updates: int) -> Window:
        """Return this window, which contains all rows and so serves every update."""
        return self


class Windows(Protocol):
    """The windows of a training run, in the order in which they are used."""

    def at(self, updates: int) -> Window:
        """Return the window for the update that follows the first `updates` updates."""
        ...


class AbstractRows(ABC):
    """The interface of training data: rows in memory, or rows read during training.

    Attributes:
        is_whole: whether all rows are in memory.
        weights: the weights of the rows; None if all rows count equally.
    """

    is_whole: ClassVar[bool] = True
    weights: Any

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows visited once in each epoch."""

    @property
    def effective_rows(self) -> float:
        """The effective number of rows: (Σw)²/Σw² if rows have weights w (Kish 1965)."""
        if self.weights is None:
            return float(len(self))
        return float(effective_size(np.asarray(self.weights, np.float64)))

    @property
    @abstractmethod
    def head(self) -> Dataset:
        """The rows, with padding, from which a run is set up; all rows if they are in memory."""

    @property
    @abstractmethod
    def in_memory(self) -> Dataset:
        """The complete dataset, for functions that need all rows in memory.

        Raises:
            InputError: the rows are not in memory.
        """

    @abstractmethod
    def some(self, count: int) -> Dataset:
        """Return at most `count` rows, spread as evenly as possible over the source."""

    @abstractmethod
    def kept_exact(self) -> AbstractRows:
        """Return rows that are checked to be exact in bfloat16 when they are read."""

    @abstractmethod
    def windows(self, batch_size: int, *, key: PRNGKeyArray, end: int = NO_END) -> Windows:
        """Return the windows of a run with updates of `batch_size` rows.

        Args:
            batch_size: the number of rows per update.
            key: a JAX random key; it determines the order in which the parts of a source are read.
            end: the number of updates at the end of the run; no rows are read for later updates.
        """


@jax.tree_util.register_static
@dataclass(frozen=True)
class Meaning:
    """The meaning of the stored values of a dataset.

    Attributes:
        scale: the divisor of the stored values; 255 for grey levels in bytes.
        stochastic: whether binary values are drawn at each visit to a row, with the stored values,
            divided by the scale, as probabilities.
        missing: the largest number of missing values (NaN) in a row; 0 if there are none.
        fits: the `form` of the layer whose domain is known to contain every value; None if the
            values have not been checked for any layer.
        latent: the number of units of that layer that are latent, and so missing in every row.
    """

    scale: float
    stochastic: bool
    missing: int
    fits: tuple | None = None
    latent: int = 0


class Dataset(AbstractModule, AbstractRows):
    """Rows in the user's coding, stored in the most compact form and read one batch at a time.

    Attributes:
        stored: the n rows, as bits, bytes, floats, or nonzero entries.
        weights: sample weights, shape (n,), or None if all rows count equally.
        log_density: if the rows are codes of other data, log p(original) − log p(codes) of each row
            in nats, shape (n,), which is added to log-likelihoods; otherwise None.
        meaning: how the stored values are interpreted.

    Example:
        >>> greys = hm.Dataset([[0, 51], [255, 102]], scale=255, stochastic=True)  # bits are drawn
        >>> len(greys), greys.columns
        (2, 2)
        >>> gaps = hm.Dataset([[0, 1, np.nan], [1, np.nan, np.nan]], weights=[1.0, 3.0])
        >>> gaps.missing, round(gaps.effective_rows, 3)  # (1 + 3)² / (1² + 3²)
        (2, 1.6)
    """

    stored: AbstractStored
    weights: Array | None
    log_density: Array | None
    meaning: Meaning

    def __init__(
        self,
        rows: Any,
        weights: Any = None,
        *,
        scale: float = 1.0,
        stochastic: bool = False,
        which: np.ndarray | None = None,
        log_density: Any = None,
        name: str = "data",
    ):
        """Store rows.

        Args:
            rows: an array or a SciPy sparse matrix, shape (n, columns), in the user's coding times
                `scale`, with NaN for missing values. A sparse matrix is never converted to a dense
                one as a whole; a memory-mapped array is read in parts.
            weights: non-negative sample weights, one for each stored row.
            scale: the number by which to divide values.
            stochastic: whether to draw binary values from grey levels at each visit.
            which: indices of the rows to store, or a mask of all rows; None means all rows.
            log_density: log p(original) − log p(codes) of each stored row, if rows are codes of
                other data.
            name: the name of the rows in error messages.

        Raises:
            InputError: `rows` is not a matrix of numbers, or contains an infinity; `scale` is not
                positive; or the weights or indices do not match the rows.
        """
        if not 0 < scale < float("inf"):
            raise InputError(f"scale: expected a positive number; got {scale}.")
        self.stored = stored(rows, name, scale == 1.0, which)
        is_drawn = stochastic and not self.stored.is_binary
        self.meaning = Meaning(float(scale), is_drawn, self.stored.most_missing)
        if weights is not None:
            weights = checked_weights(weights, len(self.stored))
        if log_density is not None:
            log_density = from_numpy(np.asarray(log_density, np.float32))
        self.weights = weights
        self.log_density = log_density

    @classmethod
    def of(cls, data: Any, weights: Any = None, name: str = "data") -> Dataset:
        """Return `data` itself if it is a dataset; otherwise store the data in a dataset.

        Raises:
            InputError: `data` is not a matrix of numbers, or weights are given for a dataset.
        """
        if not isinstance(data, cls):
            return cls(data, weights, name=name)
        if weights is not None:
            raise InputError(
                "weights: expected none with a Dataset; got some; pass Dataset(rows, weights)"
                " instead."
            )
        return data

    def checked_for(self, visible: AbstractLayer, name: str = "data", before: int = 0) -> Dataset:
        """Return the dataset after checking that every value is in a layer's domain or NaN.

        The returned dataset records the result, so that rows are checked only once for each layer.

        Args:
            visible: the layer that will take the rows.
            name: the name of the rows in error messages.
            before: the number of rows of the source that precede these rows.

        Raises:
            InputError: a value is outside the domain; the message gives the first such value.
        """
        if self.fits == visible.form:
            return self
        size = rows_at_once(self.columns)
        bits = np.repeat([[0], [1]], visible.n_observed, axis=1)
        for first in range(0, len(self), size):
            rows = self.values(first, first + size)
            visible.validate(rows, name, before + first, missing=self.meaning.missing > 0)
            if self.stored.is_binary and not visible.coding.outside(bits).any():
                break  # the rows contain only zeros and ones, and both are in the domain
        return self._with(meaning=replace(self.meaning, fits=visible.form, latent=visible.n_latent))

    def with_most_missing(self, count: int) -> Dataset:
        """Return the dataset, declared to have at most `count` NaN values per row."""
        return self._with(meaning=replace(self.meaning, missing=count))

    def _with(self, **fields: Any) -> Dataset:
        """Return the dataset with some fields replaced."""
        return eqx.tree_at(
            lambda dataset: [getattr(dataset, name) for name in fields],
            self,
            list(fields.values()),
            is_leaf=lambda node: node is None or isinstance(node, Meaning),
        )

    @property
    def scale(self) -> float:
        """The divisor of the stored values; 255 for grey levels in bytes."""
        return self.meaning.scale

    @property
    def stochastic(self) -> bool:
        """Whether each visit to a row draws binary values; the row contains their probabilities."""
        return self.meaning.stochastic

    @property
    def missing(self) -> int:
        """The largest number of missing values in a row: NaN values and latent units."""
        return self.meaning.missing + self.meaning.latent

    @property
    def fits(self) -> tuple | None:
        """The `form` of the layer for which the values were checked; None before any check."""
        return self.meaning.fits

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def columns(self) -> int:
        """The number of columns."""
        return self.stored.columns

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether bfloat16 represents all values exactly, because all values are small integers."""
        return self.stochastic or (self.stored.is_exact_in_bfloat16 and self.scale == 1.0)

    def take(self, indices: Integer[Array, " batch"], *, key: PRNGKeyArray) -> Array:
        """Return rows in the user's coding or, if `stochastic`, binary values drawn from them."""
        rows = self.stored.take(indices)
        if not self.stochastic:
            return self._scaled(rows)
        drawn = self.scale * jax.random.uniform(key, rows.shape) < rows
        if not self.meaning.missing:
            return drawn
        return jnp.where(jnp.isnan(rows), jnp.nan, drawn)

    def _scaled(self, rows: Array) -> Array:
        return rows if self.scale == 1.0 else rows / self.scale

    def keys(self, key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray]:
        """Return a key for `take` and a key for later draws, which differ only if `take` draws."""
        if not self.stochastic:
            return key, key
        key_rows, key_rest = jax.random.split(key)
        return key_rows, key_rest

    def weights_of(
        self, indices: Integer[Array, " batch"], count: Any = None
    ) -> tuple[Array, Array | None]:
        """Return the normalised weights of rows, and the mean of their sample weights.

        Without sample weights, the mean is None. Rows beyond the first `count` are padding rows of
        a short batch and have weight 0.
        """
        if count is None:
            count = len(indices)
        there = (jnp.arange(len(indices)) < count).astype(jnp.result_type(float))
        if self.weights is None:
            return there / count, None
        weights = there * self.weights[indices]
        total = weights.sum()
        return weights / jnp.maximum(total, jnp.finfo(total.dtype).tiny), total / count

    def some(self, count: int) -> Dataset:
        """Return at most `count` rows, evenly spaced, since files are often sorted by class.

        If rows have weights, only rows of positive weight are used.
        """
        if count >= len(self):
            return self
        rows = np.arange(len(self))
        if self.weights is not None:
            rows = np.flatnonzero(self.weights)
        places = np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int)
        return self.chosen(rows[places])

    def chosen(self, indices: np.ndarray) -> Dataset:
        """Return the rows with these indices."""
        return self._with(
            stored=self.stored.chosen(indices),
            weights=entries_of(self.weights, indices),
            log_density=entries_of(self.log_density, indices),
        )

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> Dataset:
        """Return a dataset of real numbers: the result of applying a function to all rows."""
        rows = np.empty((len(self), self.columns), canonicalize_dtype(float))
        done = 0
        for part in self.parts():
            rows[done : done + len(part)] = change(part)
            done += len(part)
        return Dataset(rows, self.weights)

    def weighted(self, weights: Array) -> Dataset:
        """Return the same rows with these weights, without normalising the weights."""
        return self._with(weights=weights)

    def padded(self) -> Dataset:
        """Return the dataset with padding rows, so that programs are compiled for fewer sizes.

        The caller must know how many rows are not padding. A large dataset is returned without
        padding, since it would have to be copied.
        """
        if len(self) > MOST_TO_COPY:
            return self
        return self.filled_to(padded_size(len(self)))

    def filled_to(self, count: int) -> Dataset:
        """Return the dataset with padding rows added, to a total of `count` rows."""
        dataset = self._with(stored=self.stored.filled_to(count))
        if count == len(self):
            return dataset
        weights = self.weights
        if weights is not None:
            weights = from_numpy(np.pad(weights, (0, count - len(self))))
        return dataset._with(weights=weights, log_density=None)

    @property
    def in_memory(self) -> Dataset:
        return self

    @property
    def head(self) -> Dataset:
        return self.padded()

    def kept_exact(self) -> Dataset:
        return self

    def windows(self, batch_size: int, *, key: PRNGKeyArray, end: int = NO_END) -> Window:
        """Return all rows as the only window of a run."""
        return Window(self.padded(), whole_number(len(self)))

    def values(self, first: int, last: int) -> np.ndarray:
        """Return rows `first` to `last` − 1, divided by the scale; no binary values are drawn."""
        indices = np.arange(first, min(last, len(self)))
        rows = self.stored.rows_here(indices)
        if rows is None:
            return np.asarray(_undrawn(self._for_any_layer, indices))
        if self.scale == 1.0:
            return rows
        return np.divide(rows, self.scale, dtype=jnp.result_type(float))

    def parts(self, *, key: PRNGKeyArray | None = None) -> Iterator[np.ndarray]:
        """Yield all rows in parts, in the user's coding; a sparse part becomes dense."""
        size = rows_at_once(self.columns)
        if self.stochastic:
            drawn = self.rows(key=key)
            yield from (drawn[first : first + size] for first in range(0, len(self), size))
            return
        for first in range(0, len(self), size):
            yield self.values(first, first + size)

    def rows(self, *, key: PRNGKeyArray | None = None) -> np.ndarray:
        """Return all rows in the user's coding.

        Raises:
            InputError: binary values must be drawn, but no key is given.
        """
        if not self.stochastic:
            return self.values(0, len(self))
        if key is None:
            raise InputError(
                "key: expected a key to draw binary values from grey levels; got None; pass key=."
            )
        return np.asarray(_taken(self._for_any_layer, np.arange(len(self)), key))

    @property
    def _for_any_layer(self) -> Dataset:
        """The dataset without the record of a checked layer, so that all layers share a program."""
        return self._with(meaning=replace(self.meaning, fits=None, latent=0))


@compiled
def _taken(dataset: Dataset, indices: np.ndarray, key: PRNGKeyArray) -> Array:
    """Return rows from `take`, compiled as a single program rather than as one per operation."""
    return dataset.take(jnp.asarray(indices), key=key)


@compiled
def _undrawn(dataset: Dataset, indices: np.ndarray) -> Array:
    return dataset._scaled(dataset.stored.take(jnp.asarray(indices)))


def entries_of(values: Any, which: np.ndarray | None) -> Any:
    """Return the values at the indices `which`, or `values` itself if either argument is None."""
    if values is None or which is None:
        return values
    return values[which]


def checked_weights(weights: Any, n: int) -> Array:
    """Return weights scaled to mean 1; raise InputError unless they are n non-negative numbers."""
    try:
        array = np.asarray(weights, float)
    except (ValueError, TypeError):
        raise InputError(
            f"weights: expected {n} numbers; got {type(weights).__name__}, which is not numeric."
        ) from None
    if array.shape != (n,) or not np.isfinite(array).all() or (array < 0).any():
        raise InputError(
            f"weights: expected {n} finite non-negative numbers, one for each row;"
            f" got shape {np.shape(weights)}, or numbers that are negative or not finite."
        )
    if not array.sum() > 0:
        raise InputError("weights: expected a positive sum; got zero.")
    return from_numpy(array * (n / array.sum()))
