"""Unbiased contrastive divergence: pairs of chains that meet."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .._base.checks import positive_integer
from ..layers import AbstractLayer
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, Estimate, mean_free_energy, phase_info

NARROWER = 2  # factor by which the number of pairs falls from one round to the next
NARROWEST = 4  # the last round starts with at most NARROWER * NARROWEST pairs
FEWEST_DRAWS = 16  # the fewest draws made at once


class CoupledState(NamedTuple):
    """Coupling times of the last update and of the run so far.

    Attributes:
        mean: mean coupling time of the pairs in the last update, in sweeps.
        longest: longest coupling time in the run, in sweeps.
    """

    mean: Float[Array, ""]
    longest: Int[Array, ""]


class Coupled(AbstractGradient):
    r"""Unbiased CD-k: pairs of coupled chains remove the bias that remains after k sweeps.

    Two chains, ξ and η, start at the same row. First ξ makes one sweep alone; from then on the two
    chains move together. Each chain on its own is a Gibbs chain, but the chains are coupled so that
    they meet: τ is the first sweep with ξ_τ = η_{τ−1}. With f = ∂F/∂θ, an unbiased estimate of the
    model average of f is, for every k,

        f(ξ_k) + Σ_{t=k+1}^{τ−1} [f(ξ_t) − f(η_{t−1})]

    This sum is averaged over n pairs: states of ξ have weight 1/n, and states of η have weight
    −1/n. The sum is not truncated, so an update lasts until the slowest pair has met; pairs that
    have met are dropped. If the chains mix slowly, an update takes very long and the estimate has a
    large variance: this is the price of removing the bias of CD.

    Attributes:
        sweeps: k, the number of sweeps before the states of a chain enter the sum.
        chains: number of pairs, which start at rows drawn in proportion to the rows' weights. If
            None, one pair starts at each row of the batch.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> fit = hm.fit(rbm, rows, key=key, gradient=hm.Coupled(sweeps=1), epochs=2)
        >>> bool(fit.history[-1]["coupling_time"] < 5)  # weak weights: pairs meet soon
        True

    Source: Qiu, Zhang & Wang 2020; Jacob, O'Leary & Atchadé 2020; Glynn & Rhee 2014.
    """

    sweeps: int = eqx.field(static=True, default=1)
    chains: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        positive_integer(self.sweeps, "Coupled sweeps")
        if self.chains is not None:
            positive_integer(self.chains, "Coupled chains")

    @property
    def about(self) -> About:
        return About(f"unbiased CD-{self.sweeps}", multiplies_states=True)

    def metrics(self, state: CoupledState) -> dict[str, Array]:
        """Return the mean and the longest coupling time, in sweeps."""
        return {"coupling_time": state.mean, "longest_coupling_time": state.longest}

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> CoupledState:
        return CoupledState(jnp.zeros((), batch.weights.dtype), jnp.zeros((), jnp.int32))

    def estimate(
        self, rbm: RBM, batch: Cloud, state: CoupledState, *, key: PRNGKeyArray
    ) -> Estimate:
        """Run pairs of chains until all have met; return the gradient."""
        key_rows, key_ahead, key_meet = jax.random.split(key, 3)
        v, weights, _ = self._starts(batch, key=key_rows)
        ahead = rbm.gibbs_sweep(v, key=key_ahead)
        pairs = Pairs(ahead, v, (ahead == v).all(-1), jnp.ones(len(v), jnp.int32))
        sums, times = _until_met(rbm, pairs, weights, self.sweeps, key=key_meet)
        data_energy, data_grads = eqx.filter_value_and_grad(mean_free_energy)(rbm, batch)
        grads = jax.tree.map(jnp.subtract, data_grads, sums.grads)
        info = phase_info(rbm, batch, data_energy - sums.free_energy)
        longest = jnp.maximum(state.longest, times.max())
        return grads, CoupledState(times.astype(weights.dtype).mean(), longest), info

    def _starts(self, batch: Cloud, *, key: PRNGKeyArray) -> Cloud:
        if self.chains is None:
            return batch
        chosen = jax.random.categorical(key, jnp.log(batch.weights), shape=(self.chains,))
        return Cloud.uniform(batch.states[chosen])


class Pairs(NamedTuple):
    """Pairs of chains ξ and η, where ξ is one sweep ahead of η.

    Attributes:
        ahead: ξ_t, shape (n, visible).
        behind: η_{t−1}, shape (n, visible).
        met: whether the pair has met, shape (n,).
        times: the sweep τ at which the pair met, or t if it has not, shape (n,).
    """

    ahead: Float[Array, "n visible"]
    behind: Float[Array, "n visible"]
    met: Bool[Array, " n"]
    times: Int[Array, " n"]


class _Sums(NamedTuple):
    """The sums Σ w F and Σ w ∂F/∂θ over the weighted states of the chains so far."""

    free_energy: Array
    grads: RBM

    def plus(self, rbm: RBM, states: Array, weights: Array) -> _Sums:
        terms = eqx.filter_value_and_grad(mean_free_energy)(rbm, Cloud(states, weights))
        return _Sums(*jax.tree.map(jnp.add, tuple(self), terms))


def _until_met(
    rbm: RBM, pairs: Pairs, weights: Float[Array, " n"], k: int, *, key: PRNGKeyArray
) -> tuple[_Sums, Int[Array, " n"]]:
    """Run pairs of chains until all have met; return sums over their states, and coupling times."""
    nothing = _Sums(jnp.zeros((), weights.dtype), jax.tree.map(jnp.zeros_like, rbm))
    keys = jax.random.split(key, k)

    def move(t: Array, pairs: Pairs) -> Pairs:
        return moved_together(rbm, pairs, key=keys[t])

    pairs = jax.lax.fori_loop(1, k, move, pairs)  # before sweep k, no state enters the sum
    sums = nothing.plus(rbm, pairs.ahead, weights)

    def step(carry: tuple) -> tuple:
        t, pairs, weights, sums = carry
        pairs = moved_together(rbm, pairs, key=jax.random.fold_in(keys[0], t))
        apart = jnp.where(pairs.met, 0.0, weights)
        states = jnp.concatenate([pairs.ahead, pairs.behind])
        return t + 1, pairs, weights, sums.plus(rbm, states, jnp.concatenate([apart, -apart]))

    times = pairs.times
    where = jnp.arange(len(weights))
    t = jnp.asarray(k, jnp.int32)
    for width, below in _widths(len(weights)):
        first = jnp.argsort(pairs.met)[:width]  # the pairs that have not met; sorting is stable
        pairs, weights, where = jax.tree.map(lambda x: x[first], (pairs, weights, where))  # noqa: B023
        t, pairs, weights, sums = jax.lax.while_loop(
            lambda carry: (~carry[1].met).sum() > below,  # noqa: B023
            step,
            (t, pairs, weights, sums),
        )
        times = times.at[where].set(pairs.times)
    return sums, times


def _widths(n: int) -> list[tuple[int, int]]:
    """Return, for each round, the number of pairs, and how many may be left unmet at its end."""
    widths = [n]
    while widths[-1] > NARROWER * NARROWEST:
        widths.append(-(-widths[-1] // NARROWER))
    return list(zip(widths, [*widths[1:], 0], strict=True))


def moved_together(rbm: RBM, pairs: Pairs, *, key: PRNGKeyArray) -> Pairs:
    """Run one sweep of both chains of every pair; each half-sweep is maximally coupled."""
    key_h, key_v = jax.random.split(key)
    h = drawn_together(rbm.hidden, *map(rbm.inputs_to_h, (pairs.ahead, pairs.behind)), key=key_h)
    v = drawn_together(rbm.visible, *map(rbm.inputs_to_v, h), key=key_v)
    times = jnp.where(pairs.met, pairs.times, pairs.times + 1)
    return Pairs(*v, pairs.met | (v[0] == v[1]).all(-1), times)


def drawn_together(
    layer: AbstractLayer,
    inputs: Float[Array, "n columns"],
    others: Float[Array, "n columns"],
    *,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "n columns"], Float[Array, "n columns"]]:
    r"""Draw x given `inputs` and y given `others`, equal with the largest possible probability.

    This is a maximal coupling of the two conditional distributions p of x and q of y: P(x = y) =
    ∫ min(p, q) over the states of the whole layer. First x is drawn from p, and y = x is accepted
    with probability min(1, q(x)/p(x)). Otherwise x and y are redrawn from the residuals of p and q,
    by rejection: a draw x from p is rejected with probability min(1, q(x)/p(x)), and a draw y from
    q is rejected with probability min(1, p(y)/q(y)). The draws of
    x and y use the same random numbers, so x and y are close even if they differ. If p and q are
    nearly equal, few pairs need the residuals, but each of these pairs needs many draws. Draws are
    therefore made for all rows at once and divided among the waiting pairs, and each pair takes the
    first of its draws that is accepted.

    Source: Thorisson 2000; Jacob, O'Leary & Atchadé 2020; Qiu, Zhang & Wang 2020 (common random
    numbers).
    """
    n = len(inputs)
    fields = (inputs, others)
    signs = (1.0, -1.0)
    slots = jnp.arange(max(n, FEWEST_DRAWS))
    key_x, key_u, key_rest = jax.random.split(key, 3)
    gap = others - inputs
    offset = layer.cgf(inputs) - layer.cgf(others)

    def refused(states: Array, rows: Array, sign: float, *, key: PRNGKeyArray) -> Array:
        log_ratio = (gap[rows] * states).sum(-1) + offset[rows]  # log q/p
        uniforms = jax.random.uniform(key, rows.shape, inputs.dtype)
        return jnp.log(uniforms) >= sign * log_ratio

    x = layer.sample(inputs, key=key_x)
    apart = refused(x, slots[:n], 1.0, key=key_u)

    def again(carry: tuple) -> tuple:
        turn, pair, waiting = carry
        key_states, key_u = jax.random.split(jax.random.fold_in(key_rest, turn))
        rows = _in_turn(waiting[0] | waiting[1], slots)
        reached = []
        left = []
        for field, sign, old, waits in zip(fields, signs, pair, waiting, strict=True):
            drawn = layer.sample(field[rows], key=key_states)
            first = _first_of_each(refused(drawn, rows, sign, key=key_u), rows, n)
            done = waits & (first < len(slots))
            reached.append(jnp.where(done[:, None], drawn[first], old))
            left.append(waits & ~done)
        return turn + 1, tuple(reached), tuple(left)

    def any_waits(carry: tuple) -> Array:
        return (carry[2][0] | carry[2][1]).any()

    start = jnp.zeros((), jnp.int32), (x, x), (apart, apart)
    return jax.lax.while_loop(any_waits, again, start)[1]


def _in_turn(waiting: Bool[Array, " n"], slots: Int[Array, " slots"]) -> Int[Array, " slots"]:
    """Return the row to which each draw of a turn belongs, cycling through the waiting rows."""
    n = len(waiting)
    place = jnp.where(waiting, jnp.cumsum(waiting) - 1, n)
    listed = jnp.zeros(n, slots.dtype).at[place].set(jnp.arange(n), mode="drop")
    return listed[slots % waiting.sum()]


def _first_of_each(
    good: Bool[Array, " slots"], rows: Int[Array, " slots"], n: int
) -> Int[Array, " n"]:
    """Return the first accepted draw for each row, or the number of draws if there is none."""
    count = len(rows)
    return jnp.full(n, count).at[rows].min(jnp.where(good, jnp.arange(count), count))
