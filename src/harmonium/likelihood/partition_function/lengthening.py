"""log Z for all lengths of documents at once, by annealing along the length.

A model that takes a row's length D as given has one log Z for each D. In F(h) the length acts as an
inverse temperature, since it multiplies the term of the visible units: Γ_v = D L(h). Chains of
hidden states start with no words, when the hidden units are independent, and receive one word after
another; they thus pass through the models of all lengths. One annealing run therefore estimates
log Z for all lengths.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from ..._base.numerics import from_numpy, whole_number
from ..._base.programs import compiled
from ..._base.sharding import clock, fetched
from ..._base.statistics import from_left_out, log_mean_exp, lower_mean_bound, resampled
from ..._base.threefry import fold_in, split
from ...path import AbstractPath
from ...rbm import RBM
from ...samplers import Annealing, anneal
from .agreement import MET, MOST_LOST, TAIL
from .base import LogZ, broken, check_finite_weights, message_of
from .bridge import bennett, smaller_effective_size
from .schedule import AnnealingSchedule, swept

GROUPS = 16  # number of groups of chains, enough for a jackknife
KNOTS = 64  # lengths at which chains are resampled, besides the requested lengths
# Mean number of steps between knots, for the pilot and the first round.
PILOT_STEPS = 2
FIRST_STEPS = 4


class Lengthening(AbstractPath):
    """A path over hidden states, from the model of empty rows to the model of the longest rows.

    Attributes:
        rbm: the model of the longest rows; the path's models are transposed.
    """

    rbm: RBM
    longest: Float[Array, ""]

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Return the transposed model of rows whose length is t times the longest."""
        return self.rbm.with_lengths(t * self.longest).T

    def ending_at(self, rbm: RBM) -> Lengthening:
        return Lengthening(rbm, self.longest)


def is_independent_when_empty(rbm: RBM) -> bool:
    """Return whether rows of length 0 carry no information about the hidden units."""
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
    r"""Return log Z for each of these lengths, which must be ascending and distinct.

    Long rows prefer hidden states that are rare for short rows, and chains do not reach these
    states in time. At the ends of segments, the chains of each of 16 independent groups are
    therefore resampled by weight. The value is the sum of Bennett's ratios over the segments, with
    a jackknife interval over groups. The value is checked against the estimates from each
    direction. With log weights w_s in segment s, E[Π_s mean_group e^w_s] = Z_D / Z_0 for forward
    runs; for reverse runs, the estimate from whole runs is divided by the estimate from their first
    part, down to D.

    Args:
        rbm: the model.
        lengths: the lengths, all positive.
        chains: number of chains in each direction.
        steps: total steps of a run; as many as needed if None.
        tolerance: nats, at each length, as in `Annealed`.
        seconds: time limit after which no new round starts.
        key: a JAX random key.
        progress: a function called with the fraction done, from 0 to 1.

    Source: Neal 2001; Hukushima & Iba 2003 (population annealing); Bennett 1976.
    """
    runs = _Runs(rbm, lengths, max(2, chains // GROUPS), key=key)
    fractions = runs.pilot()
    progress(0.1)
    total = steps
    if total is None:
        total = FIRST_STEPS * len(fractions)
    rounds: list[_Round] = []  # rounds with the current number of steps
    while True:
        started = clock()
        latest = runs.round(np.maximum(1, np.round(total * fractions)).astype(np.int32))
        rounds.append(latest)
        answers = runs.answers(rounds, tolerance)
        spent = clock() - started
        left = seconds - (clock() - runs.began)
        needs_more_steps = latest.lost > MOST_LOST  # more steps then help more than more chains
        is_late = left < (1 + needs_more_steps) * spent
        if is_late or steps is not None or all(answer.converged for answer in answers):
            progress(1.0)
            return answers
        if needs_more_steps:
            total = 2 * total
            rounds = []
        progress(min(0.9, 1.0 - left / seconds))


class _Round(NamedTuple):
    """Log weights of one round, for each segment from short rows to long ones.

    Attributes:
        forward: shape (segments, groups, chains of a group).
        reverse: log weights of the reverse runs, in the same shape.
        steps: total steps of a run.
    """

    forward: np.ndarray
    reverse: np.ndarray
    steps: int

    @property
    def lost(self) -> float:
        """The total work dissipated in both directions, in nats."""
        return -float((self.forward + self.reverse).sum(0).mean())


class _Runs:
    """The runs of a search: a pilot that spaces the steps, then rounds with more steps."""

    def __init__(self, rbm: RBM, lengths: np.ndarray, members: int, *, key: PRNGKeyArray):
        longest = from_numpy(np.asarray(lengths[-1], rbm.visible.dtype))
        self.path = Lengthening(rbm, longest)
        even = np.linspace(0.0, lengths[-1], KNOTS + 1)
        self.knots = np.unique(np.append(even, lengths)) / lengths[-1]
        self.places = np.searchsorted(self.knots, lengths / lengths[-1])
        self.members = members
        self.key = key
        self.keys_used = 0
        self.began = clock()
        self.log_z_of_empty = float(rbm.hidden.cgf(rbm.hidden.zero_inputs))

    def _next_key(self) -> PRNGKeyArray:
        self.keys_used += 1
        return fold_in(self.key, self.keys_used)

    def pilot(self) -> Float[np.ndarray, " segments"]:
        """Return each segment's fraction of the steps, proportional to the spread of its work."""
        steps = np.full(len(self.knots) - 1, PILOT_STEPS, np.int32)
        gains = self._through(self._start(), steps)[1]
        deviations = gains.std((1, 2))
        deviations = np.where(np.isfinite(deviations), deviations, 0.0) + 1e-9
        deviations = deviations + 0.1 * deviations.mean()
        return deviations / deviations.sum()

    def _start(self) -> Array:
        schedule = AnnealingSchedule(self.path, self.knots)
        return schedule.start(GROUPS * self.members, key=self._next_key())

    def _through(
        self, v: Array, steps: np.ndarray, *, reverse: bool = False
    ) -> tuple[Array, np.ndarray]:
        """Anneal through all segments in one direction; return log weights in order of length."""
        key = self._next_key()
        direction = -1 if reverse else 1
        gains = []
        for s in range(len(steps))[::direction]:
            ends = self.knots[s : s + 2][::direction].astype(v.dtype)
            count = from_numpy(np.full((), steps[s], np.int32))
            key_segment = fold_in(key, s)
            v, gain = _segment(self.path, from_numpy(ends), count, v, key=key_segment)
            gains.append(fetched(gain).astype(np.float64))
        log_weights = np.stack(gains[::direction]).reshape(len(steps), GROUPS, self.members)
        check_finite_weights(log_weights)
        return v, log_weights

    def round(self, steps: Integer[np.ndarray, " segments"]) -> _Round:
        """Anneal through all segments in both directions, with these numbers of steps."""
        v, forward = self._through(self._start(), steps)
        burn_in = whole_number(max(1, int(steps.sum()) // 4))
        v = swept(self.path.at(1.0), v, burn_in, key=self._next_key())
        return _Round(forward, self._through(v, steps, reverse=True)[1], int(steps.sum()))

    def answers(self, rounds: list[_Round], tolerance: float) -> list[LogZ]:
        """Return log Z of each length, from all rounds with the same steps."""
        # Group g of all rounds forms one group of the ratios: sixteen are enough for a jackknife.
        forward = np.concatenate([runs.forward for runs in rounds], axis=2)
        reverse = np.concatenate([runs.reverse for runs in rounds], axis=2)
        ratios = np.array([_ratios(*segment) for segment in zip(forward, reverse, strict=True)])
        values = np.cumsum(ratios, axis=0)[self.places - 1]  # for all groups, then without each
        # The estimates from each direction are products over groups of one round.
        up = np.concatenate([log_mean_exp(runs.forward, axis=2) for runs in rounds], axis=1)
        down = np.concatenate([log_mean_exp(runs.reverse, axis=2) for runs in rounds], axis=1)
        ups = np.cumsum(up, axis=0)[self.places - 1]
        whole = down.sum(0)
        above = np.cumsum(down[::-1], axis=0)[::-1]  # from the longest rows down to each knot
        above = np.concatenate([above, np.zeros((1, above.shape[1]))])[self.places]
        return [
            self._answer(*of_length, whole, rounds[-1].steps, tolerance)
            for of_length in zip(values, ups, above, strict=True)
        ]

    def _answer(
        self,
        values: np.ndarray,
        up: np.ndarray,
        part: np.ndarray,
        whole: np.ndarray,
        steps: int,
        tolerance: float,
    ) -> LogZ:
        """Return log Z for one length.

        Args:
            values: sums of Bennett's ratios, for all groups and with each group left out.
            up: log weights of the groups' forward runs, shape (groups,).
            part: log weights of the groups' reverse runs down to this length.
            whole: log weights of the groups' whole reverse runs.
            steps: number of steps of a run.
            tolerance: nats.
        """
        n = len(up)
        value = float(values[0])
        half = from_left_out(value, values[1:]).half_width
        lower = float(log_mean_exp(up))
        upper = float(log_mean_exp(part) - log_mean_exp(whole))
        ess = smaller_effective_size(up, whole - part)
        warnings = broken(
            (
                abs(upper - lower) < tolerance,
                f"forward and reverse estimates differ by {upper - lower:.2f} nats",
            ),
            (half < tolerance, f"the interval is ± {half:.2f} nats"),
            (ess > n / 2, f"only {ess:.1f} of {n} groups carry the weight"),
        )
        ends = [value - half, value + half]
        if warnings:
            high = float(log_mean_exp(part)) - lower_mean_bound(whole, TAIL)
            ends += [lower, upper, lower_mean_bound(up, TAIL), high]
        chains = n * self.members
        return LogZ(
            value=self.log_z_of_empty + value,
            low=self.log_z_of_empty + min(ends),
            high=self.log_z_of_empty + max(ends),
            method=f"annealed along the length both ways, {chains:,} chains × {steps:,} steps",
            converged=not warnings,
            ess=ess * self.members,
            gap=upper - lower,
            message=message_of(warnings, MET),
        )


def _ratios(forward: np.ndarray, reverse: np.ndarray) -> np.ndarray:
    """Return Bennett's ratio of a segment, from all groups and with each group left out."""
    ratios = [bennett(forward.ravel(), reverse.ravel())]
    for g in range(len(forward)):
        others = np.arange(len(forward)) != g
        ratios.append(bennett(forward[others].ravel(), reverse[others].ravel()))
    return np.array(ratios)


@compiled
def _segment(
    path: AbstractPath, ends: Array, steps: Array, v: Array, *, key: PRNGKeyArray
) -> tuple[Array, Array]:
    """Anneal from one knot to the next and resample each group; return states and log weights."""
    key_move, key_choose = split(key)
    start = Annealing(v, jnp.zeros(len(v), v.dtype))
    end = anneal(path, ends[0], ends[1], steps, start, key=key_move)
    groups = end.log_weights.reshape(GROUPS, -1)
    members = groups.shape[1]
    weights = jnp.exp(groups - groups.max(1, keepdims=True))
    offsets = jax.random.uniform(key_choose, (GROUPS,), v.dtype)
    chosen = jax.vmap(lambda w, offset: resampled(w, members, offset))(weights, offsets)
    places = (chosen + members * jnp.arange(GROUPS)[:, None]).ravel()
    return end.v[places], end.log_weights
