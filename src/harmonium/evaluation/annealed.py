"""log Z between two annealed estimates: one from below, one from above."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from ..errors import InputError, NotFiniteError
from ..path import AbstractPath, Heating
from ..rbm import RBM
from ..samplers import Annealing, Gibbs, anneal, start_annealing
from ..statistics import effective_sample_size
from .base import TRUSTED_ESS, Z_95, LogZ

STEPS_PER_DISPATCH = 500
MARKOV_BOUND = -float(np.log(0.025))  # P(log Ẑ > log Z + b) ≤ e^(−b), whatever the weights


class Direction(NamedTuple):
    """One journey along a path: the estimate of log Z(1) − log Z(0), and how far to trust it."""

    estimate: float
    stderr: float
    ess: float
    log_weights: np.ndarray


def annealed_log_z(
    rbm: RBM,
    *,
    key: PRNGKeyArray,
    chains: int = 512,
    steps: int = 4_000,
    path: Heating | None = None,
    starts: Any = None,
    burn_in: int = 1_000,
    tolerance: float = 0.2,
    progress: Callable[[float], Any] | None = None,
) -> LogZ:
    """Estimate log Z by annealed importance sampling in both directions.

    Forward, from exact draws of the base machine, the estimate is on average below log Z and so
    over-rates the model. Reverse, from draws of the machine itself, it is on average above, but
    only as far as those draws are exact: they are the forward chains, resampled by their weights,
    after `burn_in` sweeps more, or the `starts` given. The value is Bennett's acceptance ratio
    between both journeys, an estimate and no bound; the interval reaches from the lower end of one
    to the upper end of the other.

    What neither direction can see is a mode that no chain ever finds: both then agree on log Z of
    what was found. More chains, or `starts` from elsewhere, such as the data, are the remedy.

    Args:
        rbm: the machine.
        key: a JAX random key.
        chains: chains in each direction.
        steps: machines on the path from the base machine.
        path: the path; from the independent machine with the chains' own moments if None.
        starts: visible states to start the reverse journey from, shape (n, visible).
        burn_in: Gibbs sweeps before chains are taken for draws of the machine.
        tolerance: the largest gap between the two estimates that counts as converged, nats.
        progress: called with the part done, from 0 to 1.

    Source: Neal 2001; Bennett 1976; Salakhutdinov & Murray 2008; Burda et al. 2015.
    """
    for name, number, least in (
        ("chains", chains, 2),
        ("steps", steps, 1),
        ("burn_in", burn_in, 1),
    ):
        if number < least:
            raise InputError(f"{name}: expected a whole number of at least {least}; got {number}.")
    key_base, key_start, key_up, key_burn, key_down = jax.random.split(key, 5)
    told = progress or (lambda part: None)
    path = moment_base(rbm, key=key_base) if path is None else path
    times = np.linspace(0.0, 1.0, steps + 1)
    begun = _start(path, chains, key=key_start)
    up = _travel(path, times, begun, lambda part: told(part / 2), key=key_up)
    if starts is None:
        starts = _burnt_in(rbm, up, burn_in, key=key_burn)
    starts = jnp.asarray(starts, up.v.dtype)
    begun = Annealing(starts, jnp.zeros(len(starts), up.v.dtype))
    down = _travel(path, times[::-1], begun, lambda part: told((1 + part) / 2), key=key_down)
    forward, reverse = _direction(up.log_weights, 1), _direction(down.log_weights, -1)
    method = f"annealed both ways, {chains} chains × {steps:,} machines"
    return sandwich(forward, reverse, float(path.log_z_of_base), method, tolerance)


def sandwich(
    forward: Direction, reverse: Direction, offset: float, method: str, tolerance: float
) -> LogZ:
    """Combine two journeys into log Z; neither side is ever given without the other.

    Raises:
        NotFiniteError: weights are not finite, as for a machine with parameters out of all bounds.
    """
    if not (np.isfinite(forward.log_weights).all() and np.isfinite(reverse.log_weights).all()):
        raise NotFiniteError("log Z: the annealing weights are not finite; the machine diverged.")
    ends = [d.estimate + side * Z_95 * d.stderr for d in (forward, reverse) for side in (-1, 1)]
    value = bennett(forward.log_weights, reverse.log_weights)
    low, high = min(*ends, value), max(*ends, value)
    ess = min(forward.ess, reverse.ess)
    if ess < TRUSTED_ESS:  # a spread over so few chains says nothing; Markov's bound still holds
        low, high = low - MARKOV_BOUND, high + MARKOV_BOUND
    gap = reverse.estimate - forward.estimate
    converged = abs(gap) < tolerance and ess >= TRUSTED_ESS
    return LogZ(value + offset, low + offset, high + offset, method, converged, ess, gap)


def bennett(forward: np.ndarray, reverse: np.ndarray) -> float:
    """Give Bennett's acceptance ratio estimate of a log ratio from log weights of both journeys.

    The r that solves Σ_forward σ(w − r + m) = Σ_reverse σ(w + r − m), with log weights w of each
    journey and m = log(n_reverse / n_forward).
    """
    m = float(np.log(len(reverse) / len(forward)))

    def imbalance(r: float) -> float:
        return float(expit(forward - r + m).sum() - expit(reverse + r - m).sum())

    sides = (logsumexp(forward) - np.log(len(forward)), np.log(len(reverse)) - logsumexp(reverse))
    reach = 50.0 + max(float(np.ptp(forward)), float(np.ptp(reverse)))
    return float(brentq(imbalance, min(sides) - reach, max(sides) + reach))  # pyright: ignore


@eqx.filter_jit
def data_base(rbm: RBM, v: Array, *, key: PRNGKeyArray) -> Heating:
    """Give the path from the independent machine with the moments of these states and their h."""
    hidden = rbm.hidden.fit_moments(rbm.sample_h_from_v(v, key=key))
    return Heating(rbm.visible.fit_moments(v), hidden, rbm)


def moment_base(rbm: RBM, *, key: PRNGKeyArray, chains: int = 256, sweeps: int = 300) -> Heating:
    """Give the path from the independent machine whose moments short chains of `rbm` have."""
    visible, hidden = _moment_layers(rbm, chains, sweeps, key=key)
    return Heating(visible, hidden, rbm)


@eqx.filter_jit
def _moment_layers(rbm: RBM, chains: int, sweeps: int, *, key: PRNGKeyArray) -> tuple:
    key_init, key_step = jax.random.split(key)
    sampler = Gibbs(sweeps)
    state = sampler.init(rbm, chains, key=key_init)
    state, _ = sampler.step(rbm, state, key=key_step)
    return rbm.visible.fit_moments(state.v), rbm.hidden.fit_moments(state.h)


@eqx.filter_jit
def _burnt_in(rbm: RBM, up: Annealing, sweeps: int, *, key: PRNGKeyArray) -> Array:
    """Resample chains by their weights (systematically) and let each move on by itself."""
    key_offset, key_start, key_step = jax.random.split(key, 3)
    n = up.v.shape[0]
    cumulative = jnp.cumsum(jax.nn.softmax(up.log_weights))
    positions = (jnp.arange(n) + jax.random.uniform(key_offset)) / n
    chosen = jnp.searchsorted(cumulative / cumulative[-1], positions)
    sampler = Gibbs(sweeps)
    state = sampler.start(rbm, up.v[chosen], key=key_start)
    return sampler.step(rbm, state, key=key_step)[0].v


@eqx.filter_jit
def _start(path: AbstractPath, chains: int, *, key: PRNGKeyArray) -> Annealing:
    return start_annealing(path, chains, key=key)


@eqx.filter_jit
def _stretch(
    path: AbstractPath,
    times: Array,
    state: Annealing,
    first: Array,
    last: Array,
    *,
    key: PRNGKeyArray,
) -> Annealing:
    return anneal(path, times, state, first, last, key=key)


def _travel(
    path: AbstractPath, times: np.ndarray, state: Annealing, told: Callable, *, key: PRNGKeyArray
) -> Annealing:
    """Anneal along all times, in stretches, so that it can be watched and interrupted."""
    steps = len(times) - 1
    positions = jnp.asarray(times, state.v.dtype)
    for first in range(0, steps, STEPS_PER_DISPATCH):
        last = min(first + STEPS_PER_DISPATCH, steps)
        bounds = jnp.asarray(first, jnp.int32), jnp.asarray(last, jnp.int32)
        state = jax.block_until_ready(_stretch(path, positions, state, *bounds, key=key))
        told(last / steps)
    return state


def _direction(log_weights: Array, sign: int) -> Direction:
    """Summarise the weights of a journey; sign −1 turns a reverse journey's ratio round."""
    w = np.asarray(log_weights, np.float64)
    ess = float(effective_sample_size(log_weights))
    estimate = sign * float(logsumexp(w) - np.log(len(w)))
    relative = np.exp(w - w.max())
    stderr = float(relative.std(ddof=1) / relative.mean() / np.sqrt(len(w)))
    return Direction(estimate, stderr, ess, w)
