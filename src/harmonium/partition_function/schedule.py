"""Courses between independent models and a trained one: where they begin, how they are spaced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._numerics import from_numpy
from ..path import AbstractPath, Heating
from ..rbm import RBM
from ..samplers import Annealing, Gibbs, anneal, start_annealing
from ..statistics import effective_size, relative_weights, resampled

__all__ = ["base_from_data", "base_from_moments", "usual_bases"]

SEGMENTS = 32
STEPS_AT_ONCE = 64  # of a dispatch: small models wait for few, large ones can be interrupted
GROUPS = (16, 8, 4, 2, 1)
ESS_OF_GROUP = 8.0  # with fewer chains that count, what a group resamples is no draw of the model


class AnnealingSchedule(NamedTuple):
    """A path and where its segments begin and end; every segment is made in as many steps.

    Attributes:
        path: the models.
        times: positions from 0 to 1, shape (segments + 1,).
    """

    path: AbstractPath
    times: np.ndarray

    @classmethod
    def even(cls, path: AbstractPath, segments: int = SEGMENTS) -> AnnealingSchedule:
        """Return segments of equal length in t."""
        return cls(path, np.linspace(0.0, 1.0, segments + 1))

    def respaced(self, *gains: np.ndarray) -> AnnealingSchedule:
        """Space the segments so that all add the same to the variance of the whole work.

        A segment adds C_b = cov(w_b, Σ w), which counts how long chains remember: where they are
        slow, work in one segment goes with that in the next. Since C falls as the square of a
        segment's length, lengths are measured by √C; C is bounded from below by a fifth of the
        segment's own variance, since a covariance is noisy.

        Args:
            gains: log weights of each segment in the order of the schedule, shape (segments, n),
                for one or more sets of chains.

        Source: Crooks 2007; Sivak & Crooks 2012.
        """
        shares = np.zeros(len(self.times) - 1)
        for gain in gains:
            apart = gain - gain.mean(1, keepdims=True)
            shares += np.maximum((apart * apart.sum(0)).mean(1), 0.2 * (apart**2).mean(1))
        lengths = np.sqrt(shares)
        along = np.append(0.0, np.cumsum(lengths + 0.1 * lengths.mean() + 1e-12))
        times = np.interp(np.linspace(0.0, along[-1], len(self.times)), along, self.times)
        times[0], times[-1] = 0.0, 1.0
        return AnnealingSchedule(self.path, times)

    def last_step(self, rbm: RBM, v: Float[Array, "n visible"]) -> np.ndarray:
        """Return F of the path's last model less F of the one it is to lead to, shape (n,).

        That is the log weight of one step more, 0 where the two are the same model.
        """
        return np.asarray(_last_step(self.path, rbm, v), np.float64)

    def start(self, chains: int, *, key: PRNGKeyArray) -> Float[Array, "n visible"]:
        """Draw chains from the model without weights where the path begins."""
        return _started(self.path, chains, key=key)

    def run(
        self,
        v: Float[Array, "n visible"],
        steps: int,
        *,
        key: PRNGKeyArray,
        reverse: bool = False,
    ) -> tuple[Float[Array, "n visible"], np.ndarray]:
        """Carry chains from one end of the path to the other, `steps` steps a segment.

        A few segments at a time, so that it can be interrupted; the weights of segments are added
        in float64.

        Args:
            v: where the chains stand, shape (n, visible).
            steps: steps in each segment.
            key: a JAX random key.
            reverse: from t = 1 to 0.

        Returns:
            Where the chains arrive, and their log weights in each segment, in the order of travel,
            shape (segments, n).
        """
        times = from_numpy((self.times[::-1] if reverse else self.times).astype(v.dtype))
        last, at_once = len(times) - 1, max(1, STEPS_AT_ONCE // steps)
        gains = []
        for first in range(0, last, at_once):
            end = min(first + at_once, last)
            numbers = from_numpy(np.array([first, end, steps], np.int32))
            v, gained = _segments(self.path, times, numbers, v, key=key)
            gains.append(np.asarray(gained, np.float64)[first:end])
        return v, np.concatenate(gains)


@eqx.filter_jit
def _segments(
    path: AbstractPath, times: Array, numbers: Array, v: Array, *, key: PRNGKeyArray
) -> tuple[Array, Array]:
    """Travel from segment `first` to `end` in so many steps each; others add nothing."""
    first, end, steps = numbers

    def segment(i: Array, arrived: tuple[Array, Array]) -> tuple[Array, Array]:
        v, gains = arrived
        start = Annealing(v, jnp.zeros(len(v), v.dtype))
        ours = jax.random.fold_in(key, i)
        v, gained = anneal(path, times[i], times[i + 1], steps, start, key=ours)
        return v, gains.at[i].set(gained)

    gains = jnp.zeros((len(times) - 1, len(v)), v.dtype)
    return jax.lax.fori_loop(first, end, segment, (v, gains))


@eqx.filter_jit
def _started(path: AbstractPath, chains: int, *, key: PRNGKeyArray) -> Array:
    return start_annealing(path, chains, key=key).v


@eqx.filter_jit
def _last_step(path: AbstractPath, rbm: RBM, v: Array) -> Array:
    return path.at(1.0).free_energy(v) - rbm.free_energy(v)


class FinalStates(NamedTuple):
    """Where forward annealing runs ended: draws of the model, each with a weight.

    Attributes:
        v: visible states, shape (n, visible).
        log_weights: shape (n,); the mean of e^w is an unbiased estimate of Z.
    """

    v: Float[Array, "n visible"]
    log_weights: np.ndarray


def resampled_states(arrivals: Sequence[FinalStates], n: int, groups: int, seed: int) -> np.ndarray:
    """Draw n states from arrivals in proportion to their weights, systematically.

    Each group draws from its own part of every set of arrivals, so that groups stay independent.
    The sets share in proportion to their effective sizes: all estimate the same Z.
    """
    rng = np.random.default_rng(seed)
    states = np.concatenate([np.asarray(one.v) for one in arrivals])
    logs, places, first = [], [], 0
    for one in arrivals:
        count = len(one.log_weights)
        logs.append(
            one.log_weights + np.log(effective_size(relative_weights(one.log_weights)) / count)
        )
        places.append(np.arange(count) * groups // count)
        first += count
    log_w, place = np.concatenate(logs), np.concatenate(places)
    chosen = []
    for g, mine in enumerate(np.array_split(np.arange(n), groups)):
        members = np.flatnonzero(place == g)
        weights = relative_weights(log_w[members])
        chosen.append(members[resampled(weights, len(mine), rng.uniform())])
    return states[np.concatenate(chosen)]


def groups_of(log_weights: np.ndarray) -> int:
    """Return as many groups as still have enough chains that count, at most sixteen."""
    ess = effective_size(relative_weights(log_weights))
    fitting = [g for g in GROUPS if ess / g >= ESS_OF_GROUP and len(log_weights) >= 4 * g]
    return fitting[0] if fitting else 1


@eqx.filter_jit
def after_sweeps(
    rbm: RBM, v: Float[Array, "n visible"], sweeps: Array, *, key: PRNGKeyArray
) -> Float[Array, "n visible"]:
    """Let chains make Gibbs sweeps under a model; their number is dynamic."""
    sampler = Gibbs(1)
    key_start, key_step = jax.random.split(key)
    return sampler.steps(rbm, sampler.start(rbm, v, key=key_start), sweeps, key=key_step).v


@eqx.filter_jit
def base_from_data(rbm: RBM, v: Float[Array, "n visible"], *, key: PRNGKeyArray) -> Heating:
    """Return the path from the independent model with the moments of these states and their h."""
    hidden = rbm.hidden.fit_moments(rbm.sample_h_from_v(v, key=key))
    return Heating(rbm.visible.fit_moments(v), hidden, rbm)


@eqx.filter_jit
def base_from_moments(
    rbm: RBM, *, key: PRNGKeyArray, chains: int = 256, sweeps: int = 300
) -> Heating:
    """Return the path from the independent model whose moments short chains of `rbm` have."""
    key_draw, key_move, key_h = jax.random.split(key, 3)
    v = rbm.visible.sample_without_inputs((chains,), key=key_draw)
    return base_from_data(rbm, after_sweeps(rbm, v, jnp.asarray(sweeps), key=key_move), key=key_h)


def usual_bases(rbm: RBM, *, key: PRNGKeyArray) -> list[AbstractPath]:
    """Return the bases that need nothing but the model: its short chains' moments, and neutrality.

    The first is near; the second is broad, and finds modes that no short chain reaches.
    """
    return [base_from_moments(rbm, key=key), Heating.from_neutral(rbm)]
