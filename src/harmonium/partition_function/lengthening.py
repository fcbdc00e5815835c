"""log Z for all lengths of documents at once, by annealing along the length.

A model that takes a row's length D as given has one log Z for each D. In F(h) the length is a
temperature: Γ_v = D L(h). So chains of hidden states that begin without any words, where the hidden
units are independent, and are given one word after the other, pass through the models of all
lengths. One annealing run finds all of their log Z.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._numerics import from_numpy
from ..errors import NotFiniteError
from ..path import AbstractPath
from ..rbm import RBM
from ..statistics import log_mean_exp
from .agreement import MET, AnnealingRuns
from .base import LogZ
from .bridge import sandwich
from .schedule import AnnealingSchedule, FinalStates, groups_of, resampled_states, swept

SEGMENTS, PILOT_STEPS, FIRST_STEPS = 128, 2, 4
MOST_LOST = 2.0  # nats forward and in reverse, for which more chains are enough


class Lengthening(AbstractPath):
    """From a model of empty rows to one of rows with these totals, seen from the hidden side.

    Attributes:
        rbm: the model of the longest rows; the path's models are transposed.
    """

    rbm: RBM
    longest: Float[Array, " totals"]

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Return the transposed model of rows with t times the totals."""
        visible = self.rbm.visible.with_totals(t * self.longest)
        return RBM(visible, self.rbm.hidden, self.rbm.weights).T

    def ending_at(self, rbm: RBM) -> Lengthening:
        """Return the path to another model."""
        return Lengthening(rbm, self.longest)


def is_independent_when_empty(rbm: RBM) -> bool:
    """Return whether rows with a total of 0 say nothing of the hidden units."""
    visible = rbm.visible
    if visible.n_totals != 1:
        return False
    empty = visible.with_totals(jnp.zeros(1, visible.dtype))
    return not bool(np.asarray(empty.variance(empty.zero_inputs)).any())


class _Round(NamedTuple):
    """Log weights of one round.

    Attributes:
        forward: up to each length, shape (lengths, chains).
        whole: of reverse runs from the longest rows to empty ones, shape (chains,).
        parts: those of the reverse runs down to each length, shape (lengths, chains).
        groups: independent groups of chains.
    """

    forward: np.ndarray
    whole: np.ndarray
    parts: np.ndarray
    groups: int

    @property
    def lost(self) -> float:
        """The work lost forward and in reverse together, nats."""
        return -float(self.forward[-1].mean() + self.whole.mean())


def log_z_of_lengths(
    rbm: RBM,
    lengths: Float[np.ndarray, " lengths"],
    *,
    chains: int,
    steps: int | None,
    tolerance: float,
    seconds: float,
    key: PRNGKeyArray,
    progress: Callable[[float], Any],
) -> list[LogZ]:
    """Return log Z for each of these lengths, in rising order without repetition.

    Forward runs give at each length a lower estimate, with E[e^w] = Z_D / Z_0, and reverse runs
    from states of the longest rows an upper one. The value is Bennett's ratio between the forward
    runs up to D and the reverse runs from there, as if the latter were at D draws of its model.
    What they are off by shows in an estimate without that assumption: Z_0 / Z_D is the mean weight
    of whole reverse runs over that of their first part, down to D.

    Args:
        rbm: the model.
        lengths: above 0.
        chains: in each direction.
        steps: steps of a run in all; as many as are needed if None.
        tolerance: nats, at each length, as in `Annealed`.
        seconds: time after which no new round begins.
        key: a JAX random key.
        progress: called with the fraction done.

    Source: Neal 2001; Salakhutdinov & Hinton 2009 (the model).
    """
    run = _Run(rbm, lengths, chains, key=key)
    schedule, owners = run.pilot()
    progress(0.1)
    each = FIRST_STEPS if steps is None else max(1, round(steps / (len(schedule.times) - 1)))
    kept: list[_Round] = []
    while True:
        started = time.perf_counter()
        kept.append(run.round(schedule, owners, each))
        found = _concluded(kept, tolerance, each * len(owners))
        spent = time.perf_counter() - started
        left = seconds - (time.perf_counter() - run.began)
        doubles = kept[-1].lost > MOST_LOST  # then more steps help more than more chains
        if steps is not None or all(one.converged for one in found) or left < (1 + doubles) * spent:
            progress(1.0)
            return found
        if doubles:
            each, kept = 2 * each, []
        progress(min(0.9, 1.0 - left / seconds))


class _Run:
    """The runs of a search: a pilot that spaces the steps, then rounds with more of them."""

    def __init__(self, rbm: RBM, lengths: np.ndarray, chains: int, *, key: PRNGKeyArray):
        longest = from_numpy(np.asarray(lengths[-1:], rbm.visible.dtype))
        self.path = Lengthening(rbm, longest)
        self.lengths, self.chains, self.key, self.used = lengths, chains, key, 0
        self.began = time.perf_counter()
        self.offset = float(rbm.hidden.cgf(rbm.hidden.zero_inputs))

    def _next_key(self) -> PRNGKeyArray:
        self.used += 1
        return jax.random.fold_in(self.key, self.used)

    def _divided(self, parts: np.ndarray) -> tuple[AnnealingSchedule, np.ndarray]:
        """Return the schedule with so many segments up to each length, and these by segment."""
        ends = np.append(0.0, self.lengths) / self.lengths[-1]
        owners = np.repeat(np.arange(len(parts)), parts)
        times = [np.linspace(a, b, n + 1)[:-1] for a, b, n in zip(ends, ends[1:], parts)]  # noqa: B905
        return AnnealingSchedule(self.path, np.append(np.concatenate(times), 1.0)), owners

    def pilot(self) -> tuple[AnnealingSchedule, np.ndarray]:
        """Space the segments by the work that a few steps lose between the lengths."""
        gaps = np.diff(np.append(0.0, self.lengths)) / self.lengths[-1]
        schedule, owners = self._divided(np.ceil(gaps * SEGMENTS).astype(int))
        _, gains = schedule.run(
            schedule.start(self.chains, key=self._next_key()),
            PILOT_STEPS,
            key=self._next_key(),
        )
        apart = gains - gains.mean(1, keepdims=True)
        shares = np.maximum((apart * apart.sum(0)).mean(1), 0.2 * (apart**2).mean(1))
        ways = np.bincount(owners, np.sqrt(shares * np.bincount(owners)[owners]))
        ways = np.where(np.isfinite(ways), ways, 0.0) + 1e-12
        return self._divided(np.maximum(1, np.round(SEGMENTS * ways / ways.sum())).astype(int))

    def round(self, schedule: AnnealingSchedule, owners: np.ndarray, steps: int) -> _Round:
        """Anneal in both directions."""
        v, gains = schedule.run(
            schedule.start(self.chains, key=self._next_key()), steps, key=self._next_key()
        )
        ends = np.flatnonzero(np.diff(np.append(owners, owners[-1] + 1)))
        forward = self.offset + np.cumsum(gains, axis=0)[ends]
        if not np.isfinite(forward).all():
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        groups = groups_of(forward[-1])
        v = resampled_states([FinalStates(v, forward[-1])], self.chains, groups, seed=self.used)
        burn_in = jnp.asarray(max(1, steps * len(owners) // 4), jnp.int32)
        v = swept(self.path.at(1.0), from_numpy(v), burn_in, key=self._next_key())
        back = schedule.run(v, steps, key=self._next_key(), reverse=True)[1]
        down = np.cumsum(back, axis=0)
        if not np.isfinite(down).all():
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        whole = down[-1] - self.offset
        # Weights of the reverse runs from the longest rows down to each length.
        parts = np.concatenate([np.zeros((1, self.chains)), down])[len(owners) - 1 - ends]
        return _Round(forward, whole, parts, groups)


def _concluded(kept: list[_Round], tolerance: float, steps: int) -> list[LogZ]:
    """Return log Z of each length, from all rounds with the same steps."""
    forward, whole, parts = (
        np.concatenate([getattr(one, name) for one in kept], axis=-1)
        for name in ("forward", "whole", "parts")
    )
    groups, found = min(one.groups for one in kept) * len(kept), []
    for up, part in zip(forward, parts, strict=True):
        runs = AnnealingRuns(up, whole - part, np.zeros(0))
        here = sandwich(up, runs.reverse, groups)
        weighted = float(log_mean_exp(part) - log_mean_exp(whole))
        warnings = runs.warnings(here, tolerance)
        if not abs(weighted - here.value) < tolerance:
            late = weighted - here.value
            warnings.append(
                f"reverse runs that are weighted by their way differ by {late:.2f} nats"
            )
        ends = runs.wide_interval(here, tolerance) if warnings else here.interval
        found.append(
            LogZ(
                value=here.value,
                low=min(ends[0], weighted),
                high=max(ends[1], weighted),
                method=f"annealed along the length both ways, {len(up):,} chains × {steps:,} steps",
                converged=not warnings,
                ess=here.ess,
                gap=here.gap,
                message=f"Not converged: {'; '.join(warnings)}." if warnings else MET,
            )
        )
    return found
