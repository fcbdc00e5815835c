"""Following log Z from one model to a model close to it, with states of both or of the first."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .._numerics import from_numpy
from ..partition_function.agreement import AnnealingRuns
from ..partition_function.bridge import bennett, bennett_stderr, sandwich
from ..partition_function.schedule import base_from_data
from ..path import AbstractPath, Line
from ..rbm import RBM
from ..samplers import Annealing, Cloud, anneal, start_annealing
from ..samplers.gibbs import after_sweeps
from ..statistics import effective_size, log_mean_exp, relative_weights, resampled

PARTICLES = 256
GOOD, TRUSTED = 0.8, 0.02  # effective fractions of the particles after a step
SETTLING = 4  # sweeps of the run's chains under the averaged model
TOLERANCE = 0.1  # nats, below which a mode that few particles reach does not matter
FAR = 0.3  # effective fraction below which more steps are needed by far


class Followed(NamedTuple):
    """What one way of following log Z knows at the last record.

    Attributes:
        v: visible states of the record's model, shape (particles, visible); none if log Z is exact.
        log_z: log Z of that model, nats.
        variance: estimated variance of `log_z` from sampling.
        is_known: whether `log_z` can be relied on.
        steps: annealing steps that were needed last.
        sweeps: sweeps of the states made so far.
        tried: sweeps that the last attempt to find log Z anew was allowed.
    """

    v: Float[Array, "particles visible"]
    log_z: Float[Array, ""]
    variance: Float[Array, ""]
    is_known: Bool[Array, ""]
    steps: Int[Array, ""]
    sweeps: Int[Array, ""]
    tried: Int[Array, ""]


def next_record(
    way: Followed, ends: tuple[RBM, RBM], here: Array | None, allowed: int, *, key: PRNGKeyArray
) -> Followed:
    """Return a way at the next record, whose sweeps in all may be as many as `allowed`.

    Args:
        way: the way at the last record.
        ends: the models of the last record and of the next.
        here: states of the next model, from the run's chains; None for forward runs alone.
        allowed: sweeps.
        key: a JAX random key.
    """
    way = _stepped(way, ends, here, allowed, key=jax.random.fold_in(key, 0))
    allowed -= int(way.sweeps)
    if way.is_known or allowed <= 2 * int(way.tried):
        return way
    return _anew(way, ends[1], here, allowed, key=jax.random.fold_in(key, 1))


def _stepped(
    way: Followed, ends: tuple[RBM, RBM], here: Array | None, allowed: int, *, key: PRNGKeyArray
) -> Followed:
    """Anneal from the last model to the next, and back if there are states of the next."""
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
    way = way._replace(steps=number(max(1, steps // 2), np.int32), sweeps=number(spent, np.int32))
    return _arrived(way, found)


def _anew(
    way: Followed, rbm: RBM, here: Array | None, allowed: int, *, key: PRNGKeyArray
) -> Followed:
    """Anneal from independent units with the states' moments, after log Z was lost."""
    keys = jax.random.split(key, 3)
    base, v, log_z = independent_start(rbm, way.v, keys=keys[:2])
    steps = max(1, allowed // (1 if here is None else 2))
    found = _both_ways(base, rbm, v, here, steps, key=keys[2])
    way = way._replace(
        sweeps=number(int(way.sweeps) + allowed, np.int32),
        tried=number(allowed, np.int32),
        log_z=number(log_z, way.log_z.dtype),
        variance=number(0.0, way.variance.dtype),
        is_known=number(True, bool),
    )
    return _arrived(way, found)


def independent_start(
    rbm: RBM, v: Array, *, keys: PRNGKeyArray
) -> tuple[RBM, Float[Array, "particles visible"], float]:
    """Return a model without weights that has the moments of v, draws of it, and its log Z."""
    path = base_from_data(rbm, v, key=keys[0])
    base = RBM(path.visible, path.hidden, rbm.uncoupled.weights)
    begun = start_annealing(path, PARTICLES, key=keys[1])
    return base, begun.v, float(path.log_z_of_base)


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
    variance, log_ratio = bennett_stderr(forward, back) ** 2, bennett(forward, back)
    part = 1.0 / (1.0 + len(back) * variance)
    if part < FAR:  # the runs hardly overlap: the standard error is no measure of what is doubtful
        low, high = AnnealingRuns(forward, back).wide_interval(
            sandwich(forward, back, 1), TOLERANCE
        )
        variance = max(variance, (max(high - log_ratio, log_ratio - low) / 2.0) ** 2)
    return _Found(here, log_ratio, variance, part)


def _arrived(way: Followed, found: _Found) -> Followed:
    """Return a way with states at the next model, and its log Z if that is known."""
    way = way._replace(v=found.v)
    if not found.part >= TRUSTED:
        return unknown(way)
    return way._replace(
        log_z=number(float(way.log_z) + found.log_ratio, way.log_z.dtype),
        variance=number(float(way.variance) + found.variance, way.variance.dtype),
    )


@eqx.filter_jit
def settled(rbm: RBM, chains: Cloud, *, key: PRNGKeyArray) -> Array:
    """Return states of a model from the chains of a run whose model is close to it."""
    places = resampled(jnp.abs(chains.weights), PARTICLES, 0.5)
    return after_sweeps(rbm, chains.states[places], SETTLING, key=key)


def unknown(way: Followed) -> Followed:
    """Return a way whose log Z is not known."""
    return way._replace(is_known=number(False, bool))


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
