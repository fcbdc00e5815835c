"""0/1 units in groups; usually at most one unit of a group is on."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray, Shaped

from .._base.numerics import computed_once, log_expm1, product, softplus
from ..errors import InputError
from .arrays import Columns, Rows, RowWeights, Units, bisected, parameter, weighted_mean
from .base import AbstractLayer
from .capabilities import AbstractBlocked, AbstractMatched
from .coding import AbstractCoding, AbstractNumbers
from .discrete import AbstractBernoulli
from .registry import layer_named

# The lower end of the intervals in which log c and the log odds of c are found by bisection; c is
# the probability that a unit of a group would be on if the units were independent.
LOWEST_LOG = -60.0


@dataclasses.dataclass(frozen=True)
class _StrictGroups(AbstractNumbers):
    """The coding of 0/1 units of which at most one is on in each group."""

    groups: tuple[tuple[int, ...], ...] = ()

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the entries that are not valid.

        These are entries outside [0, 1] and, in each group, every unit that is on except the first.
        """
        is_outside = super().outside(rows)
        for group in self.groups:
            on = rows[..., list(group)] > 0
            is_outside[..., list(group)] |= on & (np.cumsum(on, axis=-1) > 1)
        return is_outside

    def describe(self, unit: int) -> str:
        if any(unit in group for group in self.groups):
            return "an Exclusive unit is on only if no other unit of its group is"
        return self.words


class Exclusive(AbstractBernoulli, AbstractBlocked, AbstractMatched):
    r"""0/1 units in groups, such as the indicator columns of a variable.

    The energy of a state x is

        U(x) = −b·x + Σ_g κ_g (x_g − 1)₊

    Here x_g is the number of units of group g that are on, and (·)₊ is the positive part, so that
    each unit of group g that is on beyond the first adds κ_g to the energy. In the limit κ → ∞, a
    group becomes a Potts unit with the additional state "none". If κ = 0, the units of a group are
    independent; if κ < 0, they tend to be on together. Rows in which several units of a group are
    on are possible too, and the probabilities of all binary rows sum to one. The cumulant
    generating function for the inputs I is

        Γ(I) = Σ_g log(1 + e^κ_g (e^S_g − 1)),      S_g = Σ_{i in g} log(1 + e^(I_i + b_i − κ_g)).

    Units outside the groups are Bernoulli units.

    Attributes:
        size: number of units.
        groups: the units of each group, a tuple of tuples.
        bias: b, shape (size,), in nats.
        cost: κ, shape (groups,), in nats.
        strict: whether to reject rows in which several units of a group are on.

    Example:
        >>> layer = hm.Exclusive(4, [(0, 1, 2)], cost=[20.0])
        >>> layer.mean(layer.zero_inputs).round(2).tolist()  # one of three, or none of them
        [0.25, 0.25, 0.25, 0.5]
    """

    groups: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    cost: Float[Array, "*models groups"]
    strict: bool = eqx.field(static=True)

    def __init__(
        self,
        size: int,
        groups: Iterable[Iterable[int]] = (),
        bias: Any = None,
        cost: Any = None,
        strict: bool = False,
    ):
        super().__init__(size, bias)
        self.groups = tuple(tuple(int(unit) for unit in group) for group in groups)
        units = [unit for group in self.groups for unit in group]
        is_known = all(0 <= unit < size for unit in units) and len(set(units)) == len(units)
        if not (is_known and all(len(group) > 1 for group in self.groups)):
            raise InputError(
                "Exclusive groups: expected two or more units in each group, and each unit in at"
                f" most one group (number of units: {size}, counted from 0); got {self.groups}."
            )
        self.strict = bool(strict)
        self.cost = parameter(cost, (len(self.groups),), "Exclusive cost", default=0.0)

    def __str__(self) -> str:
        return f"Exclusive({self.size}, {len(self.groups)} groups)"

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units in [0, 1]; if `strict`, at most one unit of a group is nonzero."""
        groups = self.groups if self.strict else ()
        words = "an Exclusive unit takes values in [0, 1]"
        return _StrictGroups(self.size, words, 0.0, 1.0, stored=np.uint8, groups=groups)

    def apart(self) -> AbstractLayer:
        """Return a layer of independent Bernoulli units."""
        return layer_named("bernoulli", "apart").make(self.size)

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The index of each unit's block, which is its group, or itself if it is in no group."""
        numbers = np.full(self.size, -1)
        for number, group in enumerate(self.groups):
            numbers[list(group)] = number
        single = numbers < 0
        numbers[single] = len(self.groups) + np.arange(single.sum())
        return numbers

    def _costs(self) -> Float[Array, "*models blocks"]:
        """Return κ of each block, or 0 for a block of a single unit, in which κ has no effect."""
        singles = self.size - sum(map(len, self.groups))
        zeros = jnp.zeros((*self.cost.shape[:-1], singles), self.cost.dtype)
        return jnp.concatenate([self.cost, zeros], axis=-1)

    def _by_block(self, reduce: Callable[..., Array], x: Array) -> Shaped[Array, "*batch blocks"]:
        """Reduce `x` over the units of each block with a segment function from `jax.ops`."""
        blocks = self.blocks
        count = int(blocks.max()) + 1
        return jnp.moveaxis(reduce(jnp.moveaxis(x, -1, 0), blocks, count), 0, -1)

    def _sums(self, x: Array) -> Float[Array, "*batch blocks"]:
        """Sum over the units of each block."""
        return self._by_block(jax.ops.segment_sum, x)

    def _least(self, x: Array) -> Shaped[Array, "*batch blocks"]:
        """Return the least entry of each block."""
        return self._by_block(jax.ops.segment_min, x)

    def _logits(self, inputs: Array) -> Units:
        """Return I + b − κ, the log odds of each unit if another unit of its group is on."""
        return inputs + self.bias - self._costs()[..., self.blocks]

    def _log_any(self, total: Array) -> Float[Array, "*batch blocks"]:
        """Return log(e^κ (e^S − 1)), the log odds that any unit of a block is on; `total` is S."""
        return self._costs() + log_expm1(total)

    def _energies_beyond(self, x: Array) -> Float[Array, "*batch blocks"]:
        """Return the energy κ (x_g − 1)₊ of each block."""
        return self._costs() * jnp.maximum(self._sums(x) - 1.0, 0.0)

    def _firsts(self) -> np.ndarray:
        """Return the index of the first unit of each block."""
        return np.unique(self.blocks, return_index=True)[1]

    def energy(self, x: Columns) -> Float[Array, "*batch"]:
        """Return −b·x + Σ_g κ_g (x_g − 1)₊, in nats."""
        return self._energies_beyond(x).sum(-1) + product(x, -self.bias)

    def cgf(self, inputs: Columns) -> Float[Array, "*batch"]:
        """Return Σ_g log(1 + e^κ_g (e^S_g − 1)), in nats."""
        return self._block_cgfs(inputs).sum(-1)

    def _block_cgfs(self, inputs: Array) -> Float[Array, "*batch blocks"]:
        return softplus(self._log_any(self._sums(softplus(self._logits(inputs)))))

    def unit_energies(self, x: Columns) -> Units:
        """Return −b_i x_i; the entry of a group's first unit also includes κ (x_g − 1)₊."""
        return (-self.bias * x).at[..., self._firsts()].add(self._energies_beyond(x))

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return each block's Γ in the entry of its first unit, and 0 in the others."""
        none = jnp.zeros_like(inputs + self.bias)
        return none.at[..., self._firsts()].set(self._block_cgfs(inputs))

    def unit_cgfs_given(self, inputs: Array, known: Array, values: Array) -> Units:
        """Return the cgfs with the known units held at their values.

        If k known units of a group are on, its unknown units contribute the term
        log(1 + e^(κ (1 − k)) (e^S − 1)) for k ≤ 1 and S − κ (k − 1) for k > 1, with S summed over
        the unknown units. This term is stored in the entry of the first unknown unit. For k ≥ 1,
        the unknown units are independent.
        """
        values = jnp.where(known, values, 0.0)
        rest = self._sums(jnp.where(known, 0.0, softplus(self._logits(inputs))))
        on = self._sums(values)
        room = self._costs() * (1.0 - on)
        of_rest = jnp.where(on >= 1.0, rest + room, softplus(room + log_expm1(rest)))
        numbers = jnp.where(known, self.size, 0) + np.arange(self.size)
        at_first = self._least(numbers)[..., self.blocks] == numbers  # a known one if all are known
        held = jnp.where(known, (inputs + self.bias) * values, 0.0)
        return held + jnp.where(at_first, of_rest[..., self.blocks], 0.0)

    def mean(self, inputs: Columns) -> Columns:
        """Return the means σ(I + b − κ) p(any) / (1 − e^−S), where p(any) = p(x_g > 0)."""
        logits = self._logits(inputs)
        total = jnp.maximum(self._sums(softplus(logits)), jnp.finfo(logits.dtype).tiny)
        ratio = jax.nn.sigmoid(self._log_any(total)) / -jnp.expm1(-total)
        return jax.nn.sigmoid(logits) * ratio[..., self.blocks]

    def variance(self, inputs: Columns) -> Columns:
        """Return p(1 − p) of each unit, with 1 − p a sum over states in which the unit is off."""
        blocks = self.blocks
        rates = softplus(self._logits(inputs))
        log_any = self._log_any(self._sums(rates))[..., blocks]
        same = blocks[:, None] == blocks
        apart = jnp.asarray(same ^ np.eye(self.size, dtype=bool), rates.dtype)
        without = self._costs()[..., blocks] + log_expm1(product(rates, apart)) - log_any
        off = jax.nn.sigmoid(-log_any) + jnp.exp(without) * jax.nn.sigmoid(log_any)
        return self.mean(inputs) * off

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw the units of each group exactly, as arrivals in competing Poisson processes.

        Given that at least one unit of a group is on, the units are distributed as independent
        units with probabilities σ(I + b − κ), conditioned on not all being off. Equivalently, units
        arrive at the rates log(1 + e^(I + b − κ)), and those are on that arrive before time 1,
        conditioned on at least one arrival. The time of the first arrival is drawn conditioned on
        being below 1; after this time, the waiting times of the other units are exponential with
        the same rates, because exponential waiting times are memoryless.
        """
        rates = softplus(self._logits(inputs))
        return self._arrived(rates, self._log_any(self._sums(rates)), key)

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> Columns:
        """Draw the unknown units, which are independent if a known unit of their group is on."""
        rates = jnp.where(known, 0.0, softplus(self._logits(inputs)))
        total = self._sums(rates)
        on = self._sums(jnp.where(known, values, 0.0))
        room = jnp.where(on >= 1.0, 0.0, self._costs() * (1.0 - on))
        drawn = self._arrived(rates, room + log_expm1(total), key)
        return jnp.where(known, values, drawn)

    def _arrived(self, rates: Units, log_any: Float[Array, "*batch blocks"], key: Any) -> Units:
        """Draw which units arrive before time 1, given the log odds of an arrival in each block."""
        key_any, key_time = jax.random.split(key)
        rates = jnp.maximum(rates, jnp.finfo(rates.dtype).tiny)
        times = jax.random.exponential(key_time, rates.shape, rates.dtype) / rates
        first = self._least(times)
        total = self._sums(rates)
        blocks = self.blocks
        # If t is the time of the first arrival, 1 − e^(−S t) is uniform, whichever unit arrives.
        earliest = -jnp.log1p(jnp.expm1(-total * first) * -jnp.expm1(-total)) / total
        uniforms = jax.random.uniform(key_any, total.shape, total.dtype)
        room = jnp.where(uniforms < jax.nn.sigmoid(log_any), 1.0 - earliest, -1.0)
        drawn = (times - first[..., blocks] <= room[..., blocks]).astype(rates.dtype)
        return computed_once(drawn)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Exclusive":
        """Fit b and κ to the means of x and (x_g − 1)₊ over the rows and one pseudo-row.

        In the pseudo-row, each group has at most one unit on with probability ½ and two units on
        with probability ½; a unit outside the groups is on with probability ½.
        """
        on = self._sums(x)
        means, n = weighted_mean(x, weights)
        anys, _ = weighted_mean(jnp.minimum(on, 1.0), weights)
        blocks = self.blocks
        sizes = np.bincount(blocks)
        row = np.where(sizes > 1, 0.5 / (sizes + 1) + 1 / sizes, 0.5)
        row_any = np.where(sizes > 1, 0.5 * sizes / (sizes + 1) + 0.5, 0.5)
        means = (n * means + row[blocks].astype(x.dtype)) / (n + 1)
        anys = (n * anys + row_any.astype(x.dtype)) / (n + 1)
        fractions = means / anys[blocks]
        log_c = _log_any_alone(fractions, self._sums(fractions) - 1.0, blocks)
        c = jnp.exp(log_c)
        costs = jnp.log(anys) - jnp.log1p(-anys) + jnp.log1p(-c) - log_c
        means_alone = c[blocks] * fractions
        of_groups = jnp.log(means_alone) - jnp.log1p(-means_alone) + costs[blocks]
        of_singles = jnp.log(means) - jnp.log1p(-means)
        bias = jnp.where(sizes[blocks] > 1, of_groups, of_singles)
        return Exclusive(self.size, self.groups, bias, costs[: len(self.groups)], self.strict)

    def inputs_at(self, mean: Columns) -> Columns:
        """Return logit(a) + κ − b, where a is a unit's mean if another unit of its group is on.

        In terms of the means m, a_i = m_i (c + (1 − c) e^−κ), where c is the root of the equation
        c = 1 − Π (1 − a_i) of the block. For a unit outside the groups, a = m.
        """
        blocks = self.blocks
        costs = self._costs()

        def alone(log_odds: Array) -> Array:
            c = jax.nn.sigmoid(log_odds)
            return mean * (c + jnp.exp(-costs - softplus(log_odds)))[..., blocks]

        def is_low(log_odds: Array) -> Array:
            # If κ < 0 and c is too low, an a_i may exceed 1. The sum is then NaN; c counts as low.
            return ~(self._sums(jnp.log1p(-alone(log_odds))) >= -softplus(log_odds))

        lowest = jnp.full_like(self._sums(mean), LOWEST_LOG)
        low, high = bisected(is_low, lowest, -lowest)
        a = alone(0.5 * (low + high))
        return jnp.log(a) - jnp.log1p(-a) + costs[..., blocks] - self.bias


def _log_any_alone(
    shares: Float[Array, " units"], beyond: Float[Array, " blocks"], blocks: np.ndarray
) -> Float[Array, " blocks"]:
    """Return log c of each block, where 1 − c = Π (1 − c w_i) and `shares` is w_i = p_i / p(any).

    Here p_i is the probability that unit i is on, p(any) the probability that any unit of its block
    is on, and c = 1 − e^−S the probability that any unit would be on if all were independent. The
    nonzero root c is found by bisection of log c. The equation is divided by c and written in a
    form that is also accurate for small c; `beyond` is Σ w − 1.
    """

    def curved(z: Array) -> Array:
        """Return −log(1 − z) − z, which is approximately ½z² for small z."""
        series = z**2 * (1 / 2 + z / 3 + z**2 / 4 + z**3 / 5)
        return jnp.where(z < 0.02, series, -jnp.log1p(-z) - z)

    def is_low(log_c: Array) -> Array:
        c = jnp.exp(log_c)
        sums = jax.ops.segment_sum(curved(c[blocks] * shares), blocks, len(c))
        return beyond + (sums - curved(c)) / c > 0

    lowest = jnp.full_like(beyond, LOWEST_LOG)
    highest = jnp.full_like(beyond, -float(jnp.finfo(beyond.dtype).eps))
    low, high = bisected(is_low, lowest, highest)
    return 0.5 * (low + high)
