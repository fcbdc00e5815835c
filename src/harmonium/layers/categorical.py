"""Units that take one of several states; each unit has its own number of states."""

from collections.abc import Iterable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._base.numerics import from_numpy, product
from ..errors import InputError
from .arrays import (
    Columns,
    Proposals,
    Rows,
    RowWeights,
    Units,
    check_indexable,
    parameter,
    weighted_mean,
)
from .capabilities import AbstractOrdered
from .coding import Codes
from .discrete import AbstractOneHot
from .registry import register_layer

TINIEST = float(np.finfo(np.float32).tiny)  # replaces a waiting time of 0 as a divisor
# The fraction of the prior variance of weights along ordered states that is due to a linear trend;
# the rest allows curvature if many rows support it. With one half, or with random walks instead of
# linear trends, models of ratings and marks needed more rows (docs/decisions/rows.md).
SLOPE = 0.95


@register_layer("categorical", rows="codes")
class Categorical(AbstractOneHot, AbstractOrdered):
    """Units that take one of several states; unit i has q_i states.

    With U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = −b·x,      Γ(I) = Σ_i log Σ_a e^(I_ia + b_ia),      a = 0, …, q_i − 1.

    These are `Potts` units whose numbers of states may differ, as in the columns of a table. Such a
    layer compiles as quickly as a `Potts` layer, whereas a `Mixed` layer of Potts layers takes
    longer to compile for each additional distinct number of states.

    Rows in the user's coding have one column for each unit, with integer codes 0 … q_i − 1. In a
    state, unit i has q_i columns, one of which is 1 (one-hot). Therefore `size`, the number of
    columns of a state, is Σ q_i.

    The states of a unit may be ordered, as marks from 1 to 10 are. The order does not change the
    model, but a prior (`smoothing`) favours weights that rise or fall along the states, so that
    monotonic effects are learned from fewer rows.

    Attributes:
        counts: the number of states q_i of each unit, at least 2, from the argument `states`.
        bias: b, shape (size,), in nats.
        orders: the states of each unit from lowest to highest, or () for a unit with unordered
            states; empty if no unit has ordered states.

    Example:
        >>> layer = hm.Categorical(2, states=(2, 4))
        >>> layer.size, layer.n_units, layer.n_states
        (6, 2, 8)
        >>> layer.encode(np.array([[1, 2]])).tolist()
        [[0.0, 1.0, 0.0, 0.0, 1.0, 0.0]]
        >>> layer.mean(layer.zero_inputs).round(2).tolist()
        [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]
        >>> print(hm.Categorical(2, states=(2, 4), orders=[(), range(4)]))
        Categorical(states=(2, 4), 1 in order)
    """

    counts: tuple[int, ...] = eqx.field(static=True)
    bias: Float[Array, "*models columns"]
    orders: tuple[tuple[int, ...], ...] = eqx.field(static=True, default=())

    def __init__(
        self,
        size: int,
        states: int | Sequence[int],
        bias: Any = None,
        orders: Iterable[Iterable[int]] = (),
    ):
        """Build the layer; `states` is one number for all units, or one number per unit."""
        given = np.broadcast_to(np.asarray(states), np.shape(states) or (max(int(size), 1),))
        if given.shape != (size,) or given.dtype.kind not in "iu" or (given < 2).any():
            expected = "a positive size and at least two states for each unit"
            raise InputError(
                f"Categorical: expected {expected}; got size {size} and states {states!r}."
            )
        self.counts = tuple(given.tolist())
        self.bias = parameter(bias, (sum(self.counts),), "Categorical bias")
        self.orders = tuple(tuple(int(state) for state in order) for order in orders)
        # Not strict: `orders` may be empty, and its length is checked below.
        pairs = zip(self.orders, self.counts, strict=False)
        are_whole = all(sorted(order) == list(range(count)) for order, count in pairs if order)
        if not are_whole or len(self.orders) not in (0, size):
            raise InputError(
                "Categorical orders: expected, for each unit, a tuple of all its states or ()"
                f" (number of units: {size}); got {self.orders}."
            )

    @classmethod
    def from_fields(cls, **fields: Any) -> "Categorical":
        counts = fields.pop("counts")
        return cls(len(counts), counts, **fields)

    def __str__(self) -> str:
        ordered = ""
        if any(self.orders):
            ordered = f", {sum(map(bool, self.orders))} in order"
        return f"Categorical(states={self.counts}{ordered})"

    @property
    def coding(self) -> Codes:
        """The coding: in rows, unit i has a code from 0 to q_i − 1; states are one-hot vectors."""
        return Codes(self.counts)

    def _highest(self, x: Array) -> Units:
        """Return the largest entry among each unit's columns."""
        columns = jnp.moveaxis(x, -1, 0)
        units = self.coding.units
        highest = jax.ops.segment_max(columns, units, self.n_units, indices_are_sorted=True)
        return jax.lax.stop_gradient(jnp.moveaxis(highest, 0, -1))

    def _sums(self, x: Columns) -> Units:
        """Sum each unit's columns; faster than `fold`, but all numbers must be finite."""
        member = self.coding.units[:, None] == np.arange(self.n_units)
        return product(x, jnp.asarray(member, x.dtype))

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log Σ_a e^(I_ia + b_ia)."""
        logits = inputs + self.bias
        highest = self._highest(logits)
        return highest + jnp.log(self._sums(jnp.exp(logits - self.spread(highest))))

    def _odds(self, inputs: Array) -> Columns:
        """Return e^(I + b) of each state, divided by its largest value over the unit's states."""
        logits = inputs + self.bias
        return jnp.exp(logits - self.spread(self._highest(logits)))

    def mean(self, inputs: Columns) -> Columns:
        """Return each state's probability, the softmax over a unit's states."""
        odds = self._odds(inputs)
        return odds / self.spread(self._sums(odds))

    def variance(self, inputs: Columns) -> Columns:
        """Return p(1 − p) for each column, where 1 − p is a sum over the unit's other states."""
        odds = self._odds(inputs)
        others = (self.coding.units[:, None] == self.coding.units) & ~np.eye(self.size, dtype=bool)
        rest = product(odds, jnp.asarray(others, odds.dtype))
        return odds * rest / self.spread(self._sums(odds)) ** 2

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw an exponential waiting time per state; a unit takes the state with the shortest."""
        odds = self._odds(inputs)
        times = jax.random.exponential(key, odds.shape, odds.dtype)
        speeds = odds / jnp.maximum(times, TINIEST)
        is_first = speeds == self.spread(self._highest(speeds))
        ranks = jnp.where(is_first, -self.coding.codes.astype(odds.dtype), -jnp.inf)
        # If waiting times are equal, the state with the lowest code is chosen.
        return (ranks == self.spread(self._highest(ranks))).astype(odds.dtype)

    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states; codes are an index's digits in mixed radix (q_0, q_1, …)."""
        check_indexable(self.n_states)
        steps = np.cumprod((1, *self.counts[:-1])).astype(np.uint32)
        counts = np.array(self.counts, np.uint32)
        return self.encode((indices[..., None].astype(jnp.uint32) // steps) % counts)

    def proposals(self, x: Columns) -> Proposals:
        """Return the proposals that move one unit to one of its q_i − 1 other states."""
        most = max(self.counts)
        columns = []
        sources = []
        for first, count in zip(self.coding.first_columns, self.counts, strict=True):
            own = first + np.arange(count)
            for step in range(1, count):
                columns.append(np.pad(own, (0, most - count), mode="edge"))
                sources.append(np.pad(np.roll(own, step), (0, most - count), mode="edge"))
        places = np.array(columns)
        taken = np.array(sources)
        is_pad = np.zeros(places.shape, bool)
        is_pad[:, 1:] = places[:, 1:] == places[:, :-1]
        return places, jnp.where(is_pad, 0, x[..., taken] - x[..., places])

    @property
    def ordered_columns(self) -> Integer[np.ndarray, " some"]:
        """The columns of units with ordered states, unit by unit, from lowest to highest state."""
        firsts = self.coding.first_columns
        columns = [
            first + state
            for first, order in zip(firsts, self.orders, strict=False)
            for state in order
        ]
        return np.array(columns, int)

    @property
    def smoothing(self) -> Float[np.ndarray, "some some"]:
        """A matrix S with (SSᵀ)⁻¹ = K, the prior covariance of a hidden unit's weights.

        K favours weights with a linear trend along the ordered states. For q states, it is
        0.95 (q − 1) uuᵀ + 0.05 (I − J/q) + J/q, where I is the identity, J the matrix of ones and u
        the unit vector that rises by equal steps from state to state. K has the trace of the
        identity, so the prior variances have a mean of 1, as they do for unordered states.
        """
        factors = [np.linalg.cholesky(_expected(len(order))) for order in self.orders if order]
        blocks = [np.linalg.inv(factor).T for factor in factors]
        return np.asarray(scipy.linalg.block_diag(np.zeros((0, 0)), *blocks))

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Categorical":
        """Set b = log p with p = (n m + 1/q) / (n + 1), then subtract each unit's mean bias.

        Here m is the mean of the n rows, and q is the number of states of the unit.
        """
        mean, n = weighted_mean(x, weights)
        counts = from_numpy(np.array(self.counts, self.dtype))
        logs = jnp.log((n * mean + 1.0 / self.spread(counts)) / (n + 1.0))
        bias = logs - self.spread(self._sums(logs) / counts)
        return eqx.tree_at(lambda layer: layer.bias, self, bias)


def _expected(count: int) -> Float[np.ndarray, "states states"]:
    """Return K, the prior covariance of the weights of ordered states; see `smoothing`."""
    numbers = np.arange(1.0, count + 1.0)
    slope = numbers - numbers.mean()
    slope /= np.linalg.norm(slope)
    even = np.full((count, count), 1.0 / count)
    bends = np.eye(count) - even
    # Weights that are equal for all states have no effect, so their prior variance stays 1.
    return SLOPE * (count - 1.0) * np.outer(slope, slope) + (1.0 - SLOPE) * bends + even
