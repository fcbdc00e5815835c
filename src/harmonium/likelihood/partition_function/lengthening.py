"""log Z for all lengths of documents at once, by annealing along the length.

A model that takes a row's length D as given has one log Z for each D. In F(h) the length is a
temperature: Γ_v = D L(h). So chains of hidden states that begin without any words, where the hidden
units are independent, and are given one word after the other, pass through the models of all
lengths. One annealing run finds all of their log Z.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from ..._base.numerics import from_numpy
from ..._base.sharding import clock, fetched
from ..._base.statistics import (
    effective_size,
    from_left_out,
    log_mean_exp,
    lower_mean_bound,
    relative_weights,
    resampled,
)
from ...errors import NotFiniteError
from ...path import AbstractPath
from ...rbm import RBM
from ...samplers import Annealing, anneal
from .agreement import MET, MOST_LOST, TAIL
from .base import AbstractLogZ, LogZ
from .bridge import bennett
from .schedule import AnnealingSchedule, swept

GROUPS = 16
KNOTS = 64
# mean steps between two knots
PILOT_STEPS = 2
FIRST_STEPS = 4


class Lengthening(AbstractPath):
    """From a model of empty rows to one of rows of this length, seen from the hidden side.

    Attributes:
        rbm: the model of the longest rows; the path's models are transposed.
    """

    rbm: RBM
    longest: Float[Array, ""]

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Return the transposed model of rows of t times the length."""
        return self.rbm.with_lengths(t * self.longest).T

    def ending_at(self, rbm: RBM) -> Lengthening:
        return Lengthening(rbm, self.longest)


class AbstractAlongLengths(AbstractLogZ):
    """A method that can find log Z of all lengths of documents in one run."""

    @abstractmethod
    def is_along_lengths(self, rbm: RBM) -> bool:
        """Return whether it can do so for this model, with its settings."""

    @abstractmethod
    def along_lengths(
        self,
        rbm: RBM,
        lengths: Float[np.ndarray, " lengths"],
        key: Any,
        progress: Callable[[float], Any],
    ) -> list[LogZ]:
        """Return log Z of the model of each of these lengths, which rise."""


def is_independent_when_empty(rbm: RBM) -> bool:
    """Return whether rows of length 0 say nothing of the hidden units."""
    empty = rbm.with_lengths(jnp.zeros((), rbm.visible.dtype)).visible
    return not bool(np.asarray(empty.variance(empty.zero_inputs)).any())


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
    r"""Return log Z for each of these lengths, in rising order without repetition.

    Long rows prefer hidden states that short ones hardly know, and chains do not move to them in
    time. So at the ends of segments the chains of each of 16 independent groups are resampled by
    their weights. The value is the sum of Bennett's ratios of the segments, whose interval is a
    jackknife over groups. Its checks are the estimates of each direction alone: of forward runs,
    E[Π_s mean_group e^w_s] = Z_D / Z_0, and of reverse runs, that of whole runs over that of their
    first part, down to D.

    Args:
        rbm: the model.
        lengths: above 0.
        chains: in each direction.
        steps: steps of a run in all; as many as are needed if None.
        tolerance: nats, at each length, as in `Annealed`.
        seconds: time after which no new round begins.
        key: a JAX random key.
        progress: called with the fraction done.

    Source: Neal 2001; Hukushima & Iba 2003 (population annealing); Bennett 1976.
    """
    run = _Run(rbm, lengths, max(2, chains // GROUPS), key=key)
    spread = run.pilot()
    progress(0.1)
    total = FIRST_STEPS * len(spread) if steps is None else steps
    kept: list[_Round] = []
    while True:
        started = clock()
        kept.append(run.round(np.maximum(1, np.round(total * spread)).astype(np.int32)))
        found = run.concluded(kept, tolerance)
        spent = clock() - started
        left = seconds - (clock() - run.began)
        doubles = kept[-1].lost > MOST_LOST  # then more steps help more than more chains
        is_late = left < (1 + doubles) * spent
        if is_late or steps is not None or all(one.converged for one in found):
            progress(1.0)
            return found
        if doubles:
            total = 2 * total
            kept = []
        progress(min(0.9, 1.0 - left / seconds))


class _Round(NamedTuple):
    """Log weights of one round, for each segment from short rows to long ones.

    Attributes:
        forward: shape (segments, groups, chains of a group).
        reverse: those of the reverse runs, likewise.
        steps: of a run in all.
    """

    forward: np.ndarray
    reverse: np.ndarray
    steps: int

    @property
    def lost(self) -> float:
        """The work lost forward and in reverse together, nats."""
        return -float((self.forward + self.reverse).sum(0).mean())


class _Run:
    """The runs of a search: a pilot that spaces the steps, then rounds with more of them."""

    def __init__(self, rbm: RBM, lengths: np.ndarray, members: int, *, key: PRNGKeyArray):
        longest = from_numpy(np.asarray(lengths[-1], rbm.visible.dtype))
        self.path = Lengthening(rbm, longest)
        even = np.linspace(0.0, lengths[-1], KNOTS + 1)
        self.knots = np.unique(np.append(even, lengths)) / lengths[-1]
        self.places = np.searchsorted(self.knots, lengths / lengths[-1])
        self.members = members
        self.key = key
        self.used = 0
        self.began = clock()
        self.offset = float(rbm.hidden.cgf(rbm.hidden.zero_inputs))

    def _next_key(self) -> PRNGKeyArray:
        self.used += 1
        return jax.random.fold_in(self.key, self.used)

    def pilot(self) -> Float[np.ndarray, " segments"]:
        """Return the share of the steps that each segment needs: as the deviation of its work."""
        steps = np.full(len(self.knots) - 1, PILOT_STEPS, np.int32)
        gains = self._through(self._start(), steps, 1)[1]
        apart = gains.std((1, 2))
        apart = np.where(np.isfinite(apart), apart, 0.0) + 1e-9
        apart = apart + 0.1 * apart.mean()
        return apart / apart.sum()

    def _start(self) -> Array:
        begin = AnnealingSchedule(self.path, self.knots)
        return begin.start(GROUPS * self.members, key=self._next_key())

    def _through(self, v: Array, steps: np.ndarray, sign: int) -> tuple[Array, np.ndarray]:
        """Anneal through all segments in one direction; return log weights in rising order."""
        key = self._next_key()
        gains = []
        order = range(len(steps))[::sign]
        for s in order:
            ends = self.knots[s : s + 2][::sign].astype(v.dtype)
            count = from_numpy(np.full((), steps[s], np.int32))
            own = jax.random.fold_in(key, s)
            v, gained = _segment(self.path, from_numpy(ends), count, v, key=own)
            gains.append(fetched(gained).astype(np.float64))
        found = np.stack(gains[::sign]).reshape(len(steps), GROUPS, self.members)
        if not np.isfinite(found).all():
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        return v, found

    def round(self, steps: Integer[np.ndarray, " segments"]) -> _Round:
        """Anneal in both directions."""
        v, forward = self._through(self._start(), steps, 1)
        burn_in = jnp.asarray(max(1, int(steps.sum()) // 4), jnp.int32)
        v = swept(self.path.at(1.0), v, burn_in, key=self._next_key())
        return _Round(forward, self._through(v, steps, -1)[1], int(steps.sum()))

    def concluded(self, kept: list[_Round], tolerance: float) -> list[LogZ]:
        """Return log Z of each length, from all rounds with the same steps."""
        forward, reverse = (
            np.concatenate([getattr(one, way) for one in kept], axis=1)
            for way in ("forward", "reverse")
        )
        count = forward.shape[1]
        # Group g of every round is one group here: sixteen are enough for a jackknife.
        joined = [
            np.concatenate([getattr(one, way) for one in kept], axis=2)
            for way in ("forward", "reverse")
        ]
        ratios = np.array([_ratios(*pair) for pair in zip(*joined, strict=True)])
        upwards = np.cumsum(ratios, axis=0)[self.places - 1]  # whole, then without each group
        ups = np.cumsum(log_mean_exp(forward, axis=2), axis=0)[self.places - 1]
        downs = log_mean_exp(reverse, axis=2)
        whole = downs.sum(0)
        parts = np.cumsum(downs[::-1], axis=0)[::-1]
        parts = np.concatenate([parts, np.zeros((1, count))])[self.places]
        return [
            self._answer(*each, whole, kept, tolerance)
            for each in zip(upwards, ups, parts, strict=True)
        ]

    def _answer(
        self,
        values: np.ndarray,
        up: np.ndarray,
        part: np.ndarray,
        whole: np.ndarray,
        kept: list[_Round],
        tolerance: float,
    ) -> LogZ:
        """Return log Z of one length.

        Args:
            values: sums of Bennett's ratios, of all groups and without each of them.
            up: log weights of the groups' forward runs, shape (groups,).
            part: those of their reverse runs down to this length.
            whole: those of their whole reverse runs.
            kept: the rounds.
            tolerance: nats.
        """
        n = len(up)
        value = float(values[0])
        half = from_left_out(value, values[1:]).half_width
        lower = float(log_mean_exp(up))
        upper = float(log_mean_exp(part) - log_mean_exp(whole))
        ess = min(float(effective_size(relative_weights(w))) for w in (up, whole - part))
        tests = {
            f"forward and reverse estimates differ by {upper - lower:.2f} nats": (
                abs(upper - lower) < tolerance
            ),
            f"the interval is ± {half:.2f} nats": half < tolerance,
            f"only {ess:.1f} of {n} groups carry the weight": ess > n / 2,
        }
        warnings = [why for why, fine in tests.items() if not fine]
        ends = [value - half, value + half]
        if warnings:
            high = float(log_mean_exp(part)) - lower_mean_bound(whole, TAIL)
            ends += [lower, upper, lower_mean_bound(up, TAIL), high]
        low, value, high = (self.offset + x for x in (min(ends), value, max(ends)))
        chains = n * self.members
        steps = kept[-1].steps
        return LogZ(
            value=value,
            low=low,
            high=high,
            method=f"annealed along the length both ways, {chains:,} chains × {steps:,} steps",
            converged=not warnings,
            ess=ess * self.members,
            gap=upper - lower,
            message=f"Not converged: {'; '.join(warnings)}." if warnings else MET,
        )


def _ratios(forward: np.ndarray, reverse: np.ndarray) -> np.ndarray:
    """Return Bennett's ratio of a segment from all groups, and without each of them."""
    every = np.arange(len(forward))
    chosen = [every, *(every[every != g] for g in every)]
    return np.array([bennett(forward[some].ravel(), reverse[some].ravel()) for some in chosen])


@eqx.filter_jit
def _segment(
    path: AbstractPath, ends: Array, steps: Array, v: Array, *, key: PRNGKeyArray
) -> tuple[Array, Array]:
    """Anneal from one knot to the next and resample each group; return states and log weights."""
    key_move, key_choose = jax.random.split(key)
    begun = Annealing(v, jnp.zeros(len(v), v.dtype))
    moved = anneal(path, ends[0], ends[1], steps, begun, key=key_move)
    groups = moved.log_weights.reshape(GROUPS, -1)
    members = groups.shape[1]
    weights = jnp.exp(groups - groups.max(1, keepdims=True))
    offsets = jax.random.uniform(key_choose, (GROUPS,), v.dtype)
    chosen = jax.vmap(lambda w, offset: resampled(w, members, offset))(weights, offsets)
    places = (chosen + members * jnp.arange(GROUPS)[:, None]).ravel()
    return moved.v[places], moved.log_weights
