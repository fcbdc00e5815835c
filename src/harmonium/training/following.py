"""Following log Z from one model to a model close to it, with states of both or of the first."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._numerics import from_numpy
from ..partition_function.agreement import AnnealingRuns
from ..partition_function.bridge import bennett, bennett_stderr
from ..path import AbstractPath, Line
from ..rbm import RBM
from ..samplers import Annealing, Cloud, anneal
from ..samplers.gibbs import after_sweeps
from ..statistics import effective_size, log_mean_exp, relative_weights, resampled, sigmoid

PARTICLES = 256
GOOD, TRUSTED = 0.8, 0.02  # effective fractions of the particles after a step
SETTLING = 4  # sweeps of the run's chains under the averaged model
TOLERANCE = 0.1  # nats, below which a mode that few particles reach does not matter
FAR = 0.3  # effective fraction below which more steps are needed by far

# Why log Z is not relied on: the places of these words are stored in a run's state.
NO_DOUBT, APART, BELOW, CONTRADICTED, INFINITE, TOO_ROUGH = range(6)
DOUBTS = (
    "",
    "two records were too far apart",
    "rows would have had a probability above 1",
    "annealing anew did not confirm it",
    "Z may be infinite",
    "too few chains anneal the missing values of its rows",
)


class Followed(NamedTuple):
    """What one way of following log Z knows at the last record.

    Attributes:
        v: visible states of the record's model, shape (particles, visible); none if log Z is exact.
        log_z: log Z of that model, nats.
        variance: estimated variance of `log_z` from sampling.
        doubt: why `log_z` is not relied on, a place in `DOUBTS`; 0 if it is.
        steps: annealing steps that were needed last.
        sweeps: sweeps of the states made so far.
    """

    v: Float[Array, "particles visible"]
    log_z: Float[Array, ""]
    variance: Float[Array, ""]
    doubt: Int[Array, ""]
    steps: Int[Array, ""]
    sweeps: Int[Array, ""]

    @property
    def is_known(self) -> bool:
        """Whether `log_z` is relied on."""
        return int(self.doubt) == NO_DOUBT

    @property
    def reach(self) -> float:
        """Two standard errors of `log_z`, nats."""
        return 2.0 * float(self.variance) ** 0.5


def next_record(
    way: Followed, ends: tuple[RBM, RBM], here: Array | None, allowed: int, *, key: PRNGKeyArray
) -> Followed:
    """Return a way at the next record, whose sweeps in all may be as many as `allowed`.

    It anneals from the last model to the next, and back if there are states of the next.

    Args:
        way: the way at the last record.
        ends: the models of the last record and of the next.
        here: states of the next model, from the run's chains; None for forward runs alone.
        allowed: sweeps.
        key: a JAX random key.
    """
    steps, spent, attempt = int(way.steps), int(way.sweeps), 0
    directions = 1 if here is None else 2
    while True:
        steps = max(1, min(steps, (allowed - spent) // directions))
        spent, attempt = spent + directions * steps, attempt + 1
        found = _both_ways(*ends, way.v, here, steps, key=jax.random.fold_in(key, attempt))
        part = found.part
        if part >= GOOD or spent + 2 * directions * steps > allowed or not way.is_known:
            break
        steps *= 2 if part > FAR else 4
    way = way._replace(
        v=found.v, steps=number(max(1, steps // 2), np.int32), sweeps=number(spent, np.int32)
    )
    if not found.part >= TRUSTED:
        return doubted(way, APART)
    return way._replace(
        log_z=number(float(way.log_z) + found.log_ratio, way.log_z.dtype),
        variance=number(float(way.variance) + found.variance, way.variance.dtype),
    )


class _Found(NamedTuple):
    """What annealing between two models gave.

    Attributes:
        v: visible states of the second model, equally weighted.
        log_ratio: its log Z less that of the first.
        variance: the estimated variance of that.
        part: the effective fraction of the particles: that at which forward runs alone would have
            this variance.
    """

    v: Any
    log_ratio: float
    variance: float
    part: float


def _both_ways(
    first: RBM, second: RBM, v: Array, here: Array | None, steps: int, *, key: PRNGKeyArray
) -> _Found:
    """Anneal v from one model to another, and the states `here` of the second one back.

    Without `here`, the states at the second model are those of the forward runs, resampled.
    """
    keys, count = jax.random.split(key), number(steps, np.int32)
    reached, log_w = annealed(Line(first, second), v, count, key=keys[0])
    forward = np.asarray(log_w, np.float64)
    part = _effective_part(forward)
    if not part > 0.0:
        return _Found(reached, 0.0, 0.0, 0.0)
    if here is None:
        chosen = resampled(relative_weights(forward), len(forward), 0.5).astype(np.int32)
        added = (1.0 / part - 1.0) / len(forward)
        return _Found(reached[from_numpy(chosen)], log_mean_exp(forward), added, part)
    back = np.asarray(annealed(Line(second, first), here, count, key=keys[1])[1], np.float64)
    if not np.isfinite(back).all():
        return _Found(here, 0.0, 0.0, 0.0)
    return _Found(here, *bennett_of(AnnealingRuns(forward, back), 1))


def bennett_of(runs: AnnealingRuns, groups: int) -> tuple[float, float, float]:
    """Return Bennett's log ratio, its variance, and the effective fraction of the runs.

    The variance is the larger of two estimates that agree where both directions see the same
    states. One comes from the spread of the accepted shares f, the other from their mean A alone:
    (1/A − 2)/n for n runs in each direction. If forward and reverse runs are each narrow but far
    apart, as where they know different modes, f hardly varies, but A is e^(−gap/2).

    Args:
        runs: as many in each direction.
        groups: independent groups among them.
    """
    forward, back, log_shares = runs.forward, runs.reverse, runs.shares
    log_ratio = bennett(forward, back, log_shares)
    count = len(forward)
    accepted = sigmoid(forward - log_ratio).mean()
    accepted_back = np.average(sigmoid(back + log_ratio), weights=relative_weights(log_shares))
    overlap = max(float(accepted + accepted_back) / 2.0, 1e-300)
    variance = max(bennett_stderr(forward, back, log_shares) ** 2, (1.0 / overlap - 2.0) / count)
    part = 1.0 / (1.0 + count * variance)
    if part < FAR:  # the runs hardly overlap: the standard error is no measure of what is doubtful
        low, high = runs.wide_interval(runs.sandwich(groups), TOLERANCE)
        variance = max(variance, (max(high - log_ratio, log_ratio - low) / 2.0) ** 2)
    return log_ratio, variance, part


@eqx.filter_jit
def settled(rbm: RBM, chains: Cloud, *, key: PRNGKeyArray) -> Array:
    """Return states of a model from the chains of a run whose model is close to it."""
    places = resampled(jnp.abs(chains.weights), PARTICLES, 0.5)
    return after_sweeps(rbm, chains.states[places], SETTLING, key=key)


def doubted(way: Followed, doubt: int) -> Followed:
    """Return a way whose log Z is not relied on, for the first reason that was given."""
    return way if not way.is_known else way._replace(doubt=number(doubt, np.int32))


def number(value: Any, dtype: Any) -> Array:
    """Return a scalar of this type."""
    return from_numpy(np.full((), value, dtype))


def _effective_part(log_weights: Any) -> float:
    """Return the effective fraction of weighted particles; 0 if a weight is not finite."""
    found = np.asarray(log_weights, np.float64)
    if not np.isfinite(found).all():
        return 0.0
    return float(effective_size(relative_weights(found))) / len(found)


@eqx.filter_jit
def annealed(
    path: AbstractPath, v: Array, steps: Array, *, key: PRNGKeyArray
) -> tuple[Array, Array]:
    """Return states annealed along a path in so many steps, and their log weights."""
    begun = Annealing(v, jnp.zeros(len(v), v.dtype))
    found = anneal(path, 0.0, 1.0, steps, begun, key=key)
    return found.v, found.log_weights
