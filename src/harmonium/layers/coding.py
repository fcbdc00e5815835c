"""Values of units, and the conversion between rows in the user's coding and states."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from .arrays import Columns, Units, places_in

LARGEST = float(2**53)  # float64 represents every whole number up to this one exactly
EXACT_IN_BFLOAT16 = 256  # bfloat16 represents every whole number up to this one exactly


class AbstractCoding(ABC):
    """The values of a layer's units, and how they are represented in rows and in states.

    A *row* in the user's coding has one column for each observed unit; a *state* has the columns
    that are multiplied by W. A unit may own several columns of a state; for example, a Potts unit
    owns one for each value that it can take. Only a `Mixed` layer has units that are not observed,
    namely those in the deeper layers of a deep model.
    """

    @property
    @abstractmethod
    def n_units(self) -> int:
        """The number of units."""

    @property
    def n_observed(self) -> int:
        """The number of observed units, which is the number of columns of a row."""
        return self.n_units

    def missing(self, rows: Any) -> Any:
        """Return a mask of the missing units of each row, which are NaN or not observed at all."""
        xp = np if isinstance(rows, np.ndarray) else jnp
        return xp.isnan(rows)

    @property
    @abstractmethod
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest value of each column of a state; ±∞ if unbounded."""

    @property
    def holds_small_integers(self) -> bool:
        """Whether all states consist of small integers, which bfloat16 represents exactly."""
        return False

    @abstractmethod
    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the entries that are not valid values; at NaN, the mask is arbitrary."""

    @abstractmethod
    def describe(self, unit: int) -> str:
        """Describe the values of a unit, as in "a Bernoulli unit takes values in [0, 1]"."""

    @abstractmethod
    def encode(self, rows: Any, dtype: Any) -> Any:
        """Convert rows to states; NumPy rows give NumPy states, so that JAX compiles nothing.

        JAX can trace this method, which does not check the rows; see `AbstractLayer.validate`.
        """

    @abstractmethod
    def decode(self, x: Any) -> np.ndarray:
        """Convert states to rows, of the smallest dtype that can hold them."""

    def fold(self, x: Columns) -> Units:
        """Sum the columns of each unit: (..., columns) → (..., units)."""
        return x

    def spread(self, x: Any) -> Any:
        """Repeat each unit's entry over the columns of that unit: (..., units) → (..., columns)."""
        return x


@dataclasses.dataclass(frozen=True)
class AbstractNumbers(AbstractCoding):
    """Units whose values are numbers; each unit has one column.

    Attributes:
        size: number of units.
        words: a description of the values of a unit, for messages.
        low: the lowest value.
        high: the highest value.
        is_whole: whether rows hold whole numbers only.
        stored: the integer type of decoded rows, or None if states are not whole numbers.
    """

    size: int
    words: str
    low: float = -np.inf
    high: float = np.inf
    is_whole: bool = False
    stored: Any = None

    @property
    def n_units(self) -> int:
        return self.size

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        return np.full(self.size, self.low), np.full(self.size, self.high)

    @property
    def holds_small_integers(self) -> bool:
        return self.stored is not None and max(-self.low, self.high) <= EXACT_IN_BFLOAT16

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of entries outside the interval, and of fractions if `is_whole`."""
        beyond = (rows < self.low) | (rows > self.high)
        if self.is_whole:
            beyond |= rows != np.floor(rows)
        return beyond

    def describe(self, unit: int) -> str:
        return self.words

    def encode(self, rows: Any, dtype: Any) -> Any:
        if isinstance(rows, np.ndarray):
            return rows.astype(dtype, copy=False)
        return jnp.asarray(rows, dtype)

    def decode(self, x: Any) -> np.ndarray:
        if self.stored is None:
            return np.asarray(x)
        if not self.is_whole:
            return np.asarray(x).astype(self.stored)
        return np.rint(np.minimum(np.asarray(x, np.float64), LARGEST)).astype(self.stored)


class Numbers(AbstractNumbers):
    """Units that take all numbers, or all whole numbers, in an interval."""


@dataclasses.dataclass(frozen=True)
class Values(AbstractNumbers):
    """Units that take one of the few numbers listed in `values`."""

    values: tuple[float, ...] = ()

    @classmethod
    def of(cls, size: int, words: str, values: tuple[float, ...]) -> Values:
        """Return the coding for units that take these values."""
        are_small = all(value == int(value) and abs(value) < 128 for value in values)
        stored = np.int8 if are_small else None
        return cls(size, words, min(values), max(values), stored=stored, values=values)

    @property
    def holds_small_integers(self) -> bool:
        return all(x == int(x) and abs(x) <= EXACT_IN_BFLOAT16 for x in self.values)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the entries that are not among the values."""
        return ~np.isin(rows, np.asarray(self.values))


@dataclasses.dataclass(frozen=True)
class AbstractCodes(AbstractCoding):
    """Units whose values are codes 0, 1, … in rows, and one-hot vectors in the layer's states.

    Attributes:
        counts: the number of states of each unit.
        noun: the name of a unit in messages.
    """

    counts: tuple[int, ...]
    noun: str = "this unit"

    @property
    def n_units(self) -> int:
        return len(self.counts)

    @property
    def units(self) -> Integer[np.ndarray, " columns"]:
        """The index of the unit to which each column belongs."""
        return np.repeat(np.arange(self.n_units), self.counts)

    @property
    def codes(self) -> Integer[np.ndarray, " columns"]:
        """The code that each column represents."""
        return places_in(self.units)

    @property
    def first_columns(self) -> Integer[np.ndarray, " units"]:
        """The index of each unit's first column."""
        return np.cumsum((0, *self.counts[:-1]))

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(sum(self.counts)), np.ones(sum(self.counts))

    @property
    def holds_small_integers(self) -> bool:
        return True

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the entries that are not whole numbers from 0 to q_i − 1."""
        return (rows < 0) | (rows >= np.array(self.counts)) | (rows != np.floor(rows))

    def describe(self, unit: int) -> str:
        return f"{self.noun} takes integer codes from 0 to {self.counts[unit] - 1}"

    def decode(self, x: Any) -> np.ndarray:
        """Return each unit's code: that of its largest column, or of the first of equal columns."""
        array = np.asarray(x)
        highest = np.maximum.reduceat(array, self.first_columns, axis=-1)
        is_highest = array == np.repeat(highest, self.counts, axis=-1)
        codes = np.where(is_highest, self.codes, max(self.counts))
        lowest = np.minimum.reduceat(codes, self.first_columns, axis=-1)
        return lowest.astype(np.min_scalar_type(max(self.counts) - 1))

    def encode(self, rows: Any, dtype: Any) -> Any:
        if isinstance(rows, np.ndarray):
            codes = np.where(np.isnan(rows), 0, rows).astype(np.int32)  # NaN becomes 0, as in JAX
        else:
            codes = jnp.asarray(rows, jnp.int32)
        return (self.spread(codes) == self.codes).astype(dtype)


class Codes(AbstractCodes):
    """Codes for units whose numbers of states may differ."""

    def fold(self, x: Columns) -> Units:
        """Sum over the columns of each unit; a NaN affects only the sum of its own unit."""
        columns = jnp.moveaxis(x, -1, 0)
        sums = jax.ops.segment_sum(columns, self.units, self.n_units, indices_are_sorted=True)
        return jnp.moveaxis(sums, 0, -1)

    def spread(self, x: Any) -> Any:
        return x[..., self.units]


class EqualCodes(AbstractCodes):
    """Codes for units with equal numbers of states, for which reshaping replaces segment sums."""

    def by_unit(self, x: Array) -> Float[Array, "*batch units states"]:
        """Return the states with a separate axis for the columns of each unit."""
        return x.reshape(*x.shape[:-1], self.n_units, self.counts[0])

    def fold(self, x: Columns) -> Units:
        return self.by_unit(x).sum(-1)

    def spread(self, x: Any) -> Any:
        return x.repeat(self.counts[0], axis=-1)

    def encode(self, rows: Any, dtype: Any) -> Any:
        if isinstance(rows, np.ndarray):
            return super().encode(rows, dtype)
        one_hot = jax.nn.one_hot(jnp.asarray(rows, jnp.int32), self.counts[0], dtype=dtype)
        return one_hot.reshape(*one_hot.shape[:-2], -1)
