"""Units that take one of several states, each with its own number of states."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._numerics import from_numpy, product
from ..errors import InputError
from .base_arrays import parameter, places_in, weighted_mean
from .base_one_hot import AbstractOneHot
from .registry import register_layer

TINIEST = float(np.finfo(np.float32).tiny)


@register_layer("categorical", rows="codes")
class Categorical(AbstractOneHot):
    """Units with q_i states each, one-hot: U(x) = −b·x, Γ(I) = Σ_i log Σ_a e^(I_ia + b_ia).

    These are `Potts` units whose numbers of states differ, as those of a table's columns do. One
    such layer compiles as quickly as one of `Potts` units, where a `Mixed` layer of Potts layers
    takes longer with each different number.

    Rows in the user's coding hold integer codes 0 … q_i − 1, one column for each unit. In a state,
    unit i has q_i columns, one of which is 1 (one-hot). So `size` is Σ q_i, and the weights have
    that many rows.

    Attributes:
        counts: q_i of each unit, each at least 2. The constructor calls them `states`.
        bias: b, shape (size,), in nats.

    Example:
        >>> layer = hm.Categorical(2, states=(2, 4))
        >>> layer.size, layer.n_units, layer.n_states
        (6, 2, 8)
        >>> layer.encode(np.array([[1, 2]])).tolist()
        [[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]]
        >>> layer.mean(layer.zero_inputs).round(2).tolist()
        [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
    """

    counts: tuple[int, ...] = eqx.field(static=True)
    bias: Float[Array, "*models columns"]

    def __init__(self, size: int, states: int | Sequence[int], bias: Any = None):
        """Make `size` units; `states` is their number of states, or one number for each unit."""
        given = np.broadcast_to(np.asarray(states), np.shape(states) or (max(int(size), 1),))
        if given.shape != (size,) or given.dtype.kind not in "iu" or (given < 2).any():
            expected = "a positive number of units, and whole numbers of states, at least 2 each"
            raise InputError(f"Categorical: expected {expected}; got {size} and {states!r}.")
        self.counts = tuple(given.tolist())
        self.bias = parameter(bias, (sum(self.counts),), "Categorical bias")

    @classmethod
    def from_fields(cls, **fields: Any) -> "Categorical":
        """Build a layer from its dataclass fields."""
        return cls(len(fields["counts"]), fields["counts"], fields["bias"])

    def __str__(self) -> str:
        """Return the numbers of states."""
        return f"Categorical(states={self.counts})"

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of columns of a state, the sum of the numbers of states."""
        return sum(self.counts)

    @property
    def n_units(self) -> int:
        """The number of units."""
        return len(self.counts)

    @property
    def _units(self) -> Integer[np.ndarray, " columns"]:
        """The unit of each column."""
        return np.repeat(np.arange(self.n_units), self.counts)

    @property
    def _codes(self) -> Integer[np.ndarray, " columns"]:
        """The code that each column stands for."""
        return places_in(self._units)

    def _first_columns(self) -> Integer[np.ndarray, " units"]:
        return np.cumsum((0, *self.counts[:-1]))

    def _highest(self, x: Array) -> Float[Array, "*batch units"]:
        """Return the largest entry of each unit's columns."""
        columns = jnp.moveaxis(x, -1, 0)
        found = jax.ops.segment_max(columns, self._units, self.n_units, indices_are_sorted=True)
        return jax.lax.stop_gradient(jnp.moveaxis(found, 0, -1))

    def fold(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Sum over the states of each unit; NaN stays within its unit."""
        columns = jnp.moveaxis(x, -1, 0)
        found = jax.ops.segment_sum(columns, self._units, self.n_units, indices_are_sorted=True)
        return jnp.moveaxis(found, 0, -1)

    def _sums(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return the same for finite numbers, faster."""
        member = self._units[:, None] == np.arange(self.n_units)
        return product(x, jnp.asarray(member, x.dtype))

    def spread(self, x: Array) -> Array:
        """Repeat each unit's entry over its states."""
        return x[..., self._units]

    def unit_cgfs(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return log Σ_a e^(I_ia + b_ia)."""
        logits = inputs + self.bias
        highest = self._highest(logits)
        return highest + jnp.log(self._sums(jnp.exp(logits - self.spread(highest))))

    def _odds(self, inputs: Array) -> Float[Array, "*batch columns"]:
        """Return e^(I + b) of each state, divided by the largest of its unit."""
        logits = inputs + self.bias
        return jnp.exp(logits - self.spread(self._highest(logits)))

    def mean(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return each state's probability, the softmax over a unit's states."""
        odds = self._odds(inputs)
        return odds / self.spread(self._sums(odds))

    def variance(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return p(1 − p) for each column, with 1 − p summed from a unit's other states."""
        odds = self._odds(inputs)
        others = (self._units[:, None] == self._units) & ~np.eye(self.size, dtype=bool)
        rest = product(odds, jnp.asarray(others, odds.dtype))
        return odds * rest / self.spread(self._sums(odds)) ** 2

    def sample(
        self, inputs: Float[Array, "*batch columns"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw each unit's state as the first of waiting times with the states' odds as rates."""
        odds = self._odds(inputs)
        times = jax.random.exponential(key, odds.shape, odds.dtype)
        speeds = odds / jnp.maximum(times, TINIEST)
        is_first = speeds == self.spread(self._highest(speeds))
        ranks = jnp.where(is_first, -self._codes.astype(odds.dtype), -jnp.inf)
        return (ranks == self.spread(self._highest(ranks))).astype(odds.dtype)  # of ties the lowest

    @property
    def n_states(self) -> int:
        """The number of joint states, the product of the numbers of states."""
        return math.prod(self.counts)

    def states(self, indices: Integer[Array, "*batch"]) -> Float[Array, "*batch columns"]:
        """Return the digits of the indices in the mixed radix q_0, q_1, …, one-hot."""
        if self.n_states > 2**31:
            raise InputError(
                f"2^{math.log2(self.n_states):.0f} joint states cannot be indexed (2^31 at most):"
                " enumerate a smaller layer."
            )
        steps = np.cumprod((1, *self.counts[:-1])).astype(np.uint32)
        counts = np.array(self.counts, np.uint32)
        return self.encode((indices[..., None].astype(jnp.uint32) // steps) % counts)

    def proposals(
        self, x: Float[Array, "*batch columns"]
    ) -> tuple[Integer[np.ndarray, "proposals few"], Float[Array, "*batch proposals few"]]:
        """Return the proposals that put one unit into one of its q_i − 1 other states."""
        most, columns, sources = max(self.counts), [], []
        for first, count in zip(self._first_columns(), self.counts, strict=True):
            own = first + np.arange(count)
            for step in range(1, count):
                columns.append(np.pad(own, (0, most - count), mode="edge"))
                sources.append(np.pad(np.roll(own, step), (0, most - count), mode="edge"))
        places, taken = np.array(columns), np.array(sources)
        is_pad = np.zeros(places.shape, bool)
        is_pad[:, 1:] = places[:, 1:] == places[:, :-1]
        return places, jnp.where(is_pad, 0, x[..., taken] - x[..., places])

    def fit_moments(
        self, x: Float[Array, "rows columns"], weights: Float[Array, " rows"] | None = None
    ) -> "Categorical":
        """Set b = log p with p = (n m + 1/q) / (n + 1), centred over each unit's states."""
        mean, n = weighted_mean(x, weights)
        counts = from_numpy(np.array(self.counts, self.dtype))
        logs = jnp.log((n * mean + 1.0 / self.spread(counts)) / (n + 1.0))
        bias = logs - self.spread(self._sums(logs) / counts)
        return eqx.tree_at(lambda layer: layer.bias, self, bias)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the codes that are not whole numbers from 0 to q_i − 1."""
        return (rows < 0) | (rows >= np.array(self.counts)) | (rows != np.floor(rows))

    def domain(self, unit: int) -> str:
        """Describe the values of a unit."""
        return f"this unit takes integer codes from 0 to {self.counts[unit] - 1}"

    def encode(self, rows: Any) -> Float[Array, "*batch columns"]:
        """Write integer codes as one-hot columns."""
        codes = self.spread(jnp.asarray(rows, jnp.int32))
        return (codes == self._codes).astype(self.dtype)

    def decode(self, x: Any) -> np.ndarray:
        """Return integer codes, in the smallest type that holds them."""
        array = np.asarray(x)
        highest = np.maximum.reduceat(array, self._first_columns(), axis=-1)
        is_highest = array == np.repeat(highest, self.counts, axis=-1)
        codes = np.where(is_highest, self._codes, max(self.counts))
        lowest = np.minimum.reduceat(codes, self._first_columns(), axis=-1)
        return lowest.astype(np.min_scalar_type(max(self.counts) - 1))
