"""log Z between two annealed estimates: one from below, one from above."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from .._numerics import from_numpy
from ..checks import check_positive
from ..data import Dataset
from ..errors import InputError, NotFiniteError
from ..path import AbstractPath
from ..precision import quicker
from ..rbm import RBM
from ..statistics import effective_size, jackknife, log_mean_exp, relative_weights
from .base import CHAINS, TRUSTED_ESS, AbstractLogZ, LogZ
from .bridge import Sandwich, bennett, sandwich
from .schedule import (
    SEGMENTS,
    AnnealingSchedule,
    FinalStates,
    after_sweeps,
    base_from_data,
    groups_of,
    resampled_states,
    usual_bases,
)

FEWEST_GROUPS = 4
MOST_STARTS = 4_096  # rows to travel back from
PILOT = (3, 6)  # steps a segment: to find the spacing, then to choose among the bases
AIM, MOST_LOST = (
    0.5,
    2.0,
)  # nats lost forward and in reverse: a plan's aim; what more chains can bear
FEWEST_STEPS, MOST_STEPS = 4, 2**20  # a segment
MET = "The two directions meet."
MARKOV_BOUND = -float(np.log(0.025))  # P(log Ẑ > log Z + b) ≤ e^(−b), whatever the weights


class AnnealingRuns(NamedTuple):
    """Log weights of annealing runs in both directions along one schedule.

    Attributes:
        forward: shape (n,); the mean of e^w estimates Z.
        reverse: the reverse run, shape (n,); the mean of e^w estimates 1/Z.
        other: the reverse run from the starts that the user gave; empty if none.
    """

    forward: np.ndarray
    reverse: np.ndarray
    other: np.ndarray

    @property
    def lost(self) -> float:
        """Work lost on the way forward and in reverse, nats, which is 0 only if nothing is irreversible."""
        return -float(self.forward.mean() + self.reverse.mean())

    def hardly_seen(self, tolerance: float) -> float:
        """Return the share of the model's mass that too few forward chains reach.

        A reverse run that costs c nats more than log Z comes from a region of mass p that forward
        chains reach with probability p e^(−c). Of n chains, three would come to any such region
        with a mass of the tolerance if c < log(n · tolerance / 3); where the reverse run costs more,
        what is known of the mass is luck.
        """
        costs = -bennett(self.forward, self.reverse) - self.reverse
        return float((costs > np.log(len(self.forward) * tolerance / 3.0)).mean())


@dataclass(frozen=True)
class Annealed(AbstractLogZ):
    """Annealed importance sampling in both directions.

    Forward, from exact draws of a base model, the estimate is on average below log Z and so
    over-rates the model. Reverse, from draws of the model itself, it is on average above, as far
    as those draws are exact: they are the forward chains of all bases, resampled by their weights,
    after `burn_in` sweeps more. The value is Bennett's acceptance ratio between both, an estimate
    and no bound.

    A pilot tries each base, spaces the models on the way by the work that the chains lose
    there, and takes the base that loses least. Then steps and chains grow until the two directions
    meet within `tolerance` and the interval is as narrow, or the time is up. The 95 % interval is
    that of independent groups of chains, left out one at a time. Where the answer has not
    converged, it reaches from the lowest to the highest estimate and by what Markov's inequality
    allows, log 40 = 3.7 nats, beyond them.

    A path may end at another model close by; the step from there to this one is weighed too. So
    chains travel to the model whose weights are rounded to bfloat16 where that is faster, and the
    answer is still of this one.

    What no annealing run can see is a mode that no chain of any base ever finds: all then agree on log Z
    of what was found. `starts` from elsewhere, such as the data, would show it.

    Attributes:
        chains: chains in each direction.
        steps: steps of each annealing run; as many as it takes if None.
        paths: paths from independent models to this one, or close by, to be tried; `usual_bases` if
            none is given.
        starts: visible states to travel back from as a check, shape (n, visible).
        burn_in: sweeps that resampled chains make first; a quarter of the steps if None.
        tolerance: nats that the two directions may lie apart, and the interval's half width.
        seconds: time after which no new round begins.

    Raises:
        InputError: an impossible number.

    Source: Neal 2001; Bennett 1976; Salakhutdinov & Murray 2008; Burda et al. 2015.
    """

    chains: int = CHAINS
    steps: int | None = None
    paths: Sequence[AbstractPath] = ()
    starts: Any = None
    burn_in: int | None = None
    tolerance: float = 0.1
    seconds: float = 120.0

    def __post_init__(self):
        _check(self)

    def with_rows(self, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> Annealed:
        """Try the independent model with the rows' moments as a base too; travel back from rows.

        Of incomplete rows neither is done.
        """
        if self.paths:
            return self
        key_data, key_own, key_rows = jax.random.split(key, 3)
        near = quicker(rbm, self.chains)
        bases = usual_bases(near, key=key_own)
        if dataset.missing:
            return replace(self, paths=bases)
        rows = dataset.some(MOST_STARTS).rows(key=key_rows)
        bases.insert(0, base_from_data(near, rbm.visible.encode(rows), key=key_data))
        return replace(self, paths=bases, starts=rows if self.starts is None else self.starts)

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z.

        Raises:
            InputError: no key, a path that begins with weights, or starts that do not fit.
            NotFiniteError: weights are not finite, as for parameters out of all bounds.
        """
        key_base, key_search = jax.random.split(key)
        starts = None
        if self.starts is not None:
            starts = rbm.visible.encode(rbm.visible.validate(self.starts, "starts"))
        search = _Search(rbm, self, starts, progress, key=key_search)
        paths = self.paths or usual_bases(quicker(rbm, self.chains), key=key_base)
        return search.rounds(*search.pilot(paths))


class _Search:
    """A search for log Z: a pilot that chooses the schedule, then rounds until both sides meet."""

    def __init__(self, rbm: RBM, asked: Annealed, starts: Any, progress: Any, *, key: PRNGKeyArray):
        self.rbm, self.asked, self.key, self.keys_used = rbm, asked, key, 0
        self.groups = 1
        # Chains from the starts given travel along, a quarter as many.
        many = max(1, asked.chains // 4)
        self.starts = None if starts is None else np.asarray(starts)[np.arange(many) % len(starts)]
        self.progress, self.done = progress, 0.0
        self.began = time.perf_counter()
        self.pace = 0.0  # seconds that a step of all segments costs, forward and in reverse
        self.segments = min(SEGMENTS, asked.steps or SEGMENTS)
        self.witnesses: list[FinalStates] = []

    def pilot(self, paths: Sequence[AbstractPath]) -> tuple[AnnealingSchedule, int]:
        """Space the models of each path by its losses; return the best, and steps a segment."""
        schedules, there, progress = [], [], self._steps_told()
        for path in paths:
            schedule = AnnealingSchedule.even(path, self.segments)
            schedules.append(schedule.respaced(self._depart(schedule, PILOT[0])[1]))
        if progress is not None and len(schedules) == 1:
            return schedules[0], progress
        for schedule in schedules:
            arrivals, gains = self._depart(schedule, PILOT[1])
            self.witnesses.append(arrivals)
            there.append(gains)
            self._tell(0.1 * len(there) / len(schedules))
        lost, spaced = [], []
        for schedule, gains, arrivals in zip(schedules, there, self.witnesses, strict=True):
            started = time.perf_counter()
            back = self._return(schedule, self.witnesses, PILOT[1])
            self.pace = 2 * (time.perf_counter() - started) / PILOT[1]
            spaced.append(schedule.respaced(gains, back[::-1, : self.asked.chains]))
            lost.append(self._journeys(schedule, arrivals, back).lost)
            self._tell(0.1 + 0.1 * len(lost) / len(schedules))
        best = int(np.argmin(lost))
        del self.witnesses[best]  # whose place every round takes with its own
        needed = min(PILOT[1] * lost[best] / AIM, self._left() / self.pace)
        return spaced[best], progress or int(np.clip(needed, FEWEST_STEPS, MOST_STEPS))

    def _steps_told(self) -> int | None:
        steps = self.asked.steps
        return None if steps is None else max(1, round(steps / self.segments))

    def rounds(self, schedule: AnnealingSchedule, steps: int) -> LogZ:
        """Travel forward and in reverse, longer or with more chains each time, until both sides meet."""
        kept: list[AnnealingRuns] = []
        while True:
            started = time.perf_counter()
            arrivals, gains = self._depart(schedule, steps)
            self.groups = self.groups if kept else groups_of(arrivals.log_weights)
            self._tell(self.done + 0.4 * (1 - self.done))
            back = self._return(schedule, [arrivals, *self.witnesses], steps)
            self._tell(self.done + 0.5 * (1 - self.done))
            self.pace = (time.perf_counter() - started) / steps
            kept.append(self._journeys(schedule, arrivals, back))
            found = self._conclude(kept, steps * self.segments)
            if found.converged or self.asked.steps is not None:
                break
            within = int(self._left() / self.pace)  # steps that there is time for
            if self._needs_more_steps(kept[-1]) and within > 1.25 * steps:
                kept, steps = [], min(2 * steps, within)
                schedule = schedule.respaced(gains, back[::-1, : self.asked.chains])
            elif within < steps:  # else more chains, beside those that there are
                late = f" The {self.asked.seconds:g} s allowed are up; allow more with `seconds`."
                found = found._replace(message=found.message + late)
                break
        self._tell(1.0)
        return found

    def _needs_more_steps(self, last: AnnealingRuns) -> bool:
        """Return whether more chains would gain less than more steps."""
        tolerance = self.asked.tolerance
        return last.lost > MOST_LOST or last.hardly_seen(tolerance) > tolerance / 3

    def _depart(self, schedule: AnnealingSchedule, steps: int) -> tuple[FinalStates, np.ndarray]:
        """Travel from the base to the model."""
        begun = schedule.start(self.asked.chains, key=self._next_key())
        v, gains = schedule.run(begun, steps, key=self._next_key())
        gains[-1] += schedule.last_step(self.rbm, v)
        return FinalStates(v, gains.sum(0) + float(schedule.path.log_z_of_base)), gains

    def _return(
        self, schedule: AnnealingSchedule, arrivals: Sequence[FinalStates], steps: int
    ) -> np.ndarray:
        """Travel back, from arrivals drawn by their weights and left to themselves for a while."""
        if not all(np.isfinite(one.log_weights).all() for one in arrivals):
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        v = resampled_states(arrivals, self.asked.chains, self.groups, seed=self.keys_used)
        if self.starts is not None:
            v = np.concatenate([v, self.starts.astype(v.dtype)])
        sweeps = self.asked.burn_in or max(1, steps * self.segments // 4)
        sweeps = jnp.asarray(sweeps, jnp.int32)
        v = after_sweeps(self.rbm, from_numpy(v), sweeps, key=self._next_key())
        back = schedule.run(v, steps, key=self._next_key(), reverse=True)[1]
        back[0] -= schedule.last_step(self.rbm, v)
        return back

    def _journeys(
        self, schedule: AnnealingSchedule, arrivals: FinalStates, back: np.ndarray
    ) -> AnnealingRuns:
        """Return whole annealing runs' weights in terms of Z from those of the segments back."""
        reverse, n = back.sum(0) - float(schedule.path.log_z_of_base), self.asked.chains
        return AnnealingRuns(arrivals.log_weights, reverse[:n], reverse[n:])

    def _conclude(self, kept: Sequence[AnnealingRuns], steps: int) -> LogZ:
        """Combine rounds into an answer; neither side is ever given without the other."""
        joined = AnnealingRuns(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))
        forward, reverse = joined.forward, joined.reverse
        if not (np.isfinite(forward).all() and np.isfinite(reverse).all()):
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        found = sandwich(forward, reverse, self.groups * len(kept))
        warnings = _doubts(found, joined.hardly_seen(self.asked.tolerance), self.asked.tolerance)
        estimates = [found.value, found.lower, found.upper]
        for why, estimate in (
            *_contradictions(found, self.witnesses),
            *self._unseen(found, joined),
        ):
            warnings.append(why)
            estimates.append(estimate)
        ends = estimates if warnings else [found.value]
        half = found.half_width if np.isfinite(found.half_width) else 0.0
        reach = half + (MARKOV_BOUND if warnings else 0.0)
        chains = self.asked.chains * len(kept)
        return LogZ(
            value=found.value,
            low=min(ends) - reach,
            high=max(ends) + reach,
            method=f"annealed both ways, {chains:,} chains × {steps:,} steps",
            converged=not warnings,
            ess=found.ess,
            gap=found.gap,
            message=f"Not converged: {'; '.join(warnings)}." if warnings else MET,
            forward=forward,
            reverse=reverse,
        )

    def _unseen(self, found: Sandwich, kept: AnnealingRuns) -> list[tuple[str, float]]:
        """Say so if some of the starts given may lie where no forward chain came.

        A reverse run that costs c nats more than log Z ends in a region of mass p that forward chains
        reach with probability p e^(−c): where 3 e^c / n is below the tolerance, a mass that matters
        would have been seen (rule of three). Beyond that, one start in twenty may cost more than
        the reverse run of any chain that came there.
        """
        costs, usual = (-found.value - w for w in (kept.other, kept.reverse))
        known = max(np.log(self.asked.chains * self.asked.tolerance / 3.0), usual.max())
        strange = costs[costs > known]
        if len(strange) <= len(costs) / 20:
            return []
        apart = float(np.median(strange))
        why = f"of the starts given, {len(strange) / len(costs):.0%} lie where no chain came"
        return [(f"{why}: their reverse run costs {apart:.1f} nats more", found.value + apart)]

    def _next_key(self) -> PRNGKeyArray:
        self.keys_used += 1
        return jax.random.fold_in(self.key, self.keys_used)

    def _left(self) -> float:
        return self.asked.seconds - (time.perf_counter() - self.began)

    def _tell(self, part: float) -> None:
        self.done = part
        self.progress(part)


def _doubts(found: Sandwich, hardly_seen: float, tolerance: float) -> list[str]:
    """Say what speaks against the interval."""
    tests = {
        f"the two directions lie {found.gap:.2f} nats apart": abs(found.gap) < tolerance,
        f"the interval is ± {found.half_width:.2f} nats": found.half_width < tolerance,
        f"{hardly_seen:.0%} of the mass is reached by few chains": hardly_seen < tolerance / 3,
        f"only {found.ess:.1f} chains carry the weight": found.ess >= TRUSTED_ESS,
        f"{found.groups} independent groups are too few": found.groups >= FEWEST_GROUPS,
    }
    return [why for why, fine in tests.items() if not fine]


def _contradictions(found: Sandwich, witnesses: Sequence[FinalStates]) -> list[tuple[str, float]]:
    """Return the other bases' forward estimates that lie above the interval, beyond chance."""
    against = []
    for one in witnesses:
        seen = jackknife(log_mean_exp, one.log_weights, groups=16)
        trusted = effective_size(relative_weights(one.log_weights)) >= TRUSTED_ESS
        margin = 4 * seen.stderr if trusted else MARKOV_BOUND
        if seen.value - margin > found.value + found.half_width:
            against.append((f"from another base it is at least {seen.value:.2f}", seen.value))
    return against


def _check(asked: Annealed) -> None:
    least = {"chains": 2, "steps": 1, "burn_in": 1}
    for name, lowest in least.items():
        number = getattr(asked, name)
        if number is not None and number < lowest:
            raise InputError(f"{name}: expected a whole number of at least {lowest}; got {number}.")
    check_positive(tolerance=asked.tolerance, seconds=asked.seconds)
    for path in asked.paths:
        if not path.begins_uncoupled:
            raise InputError(
                "path: expected one that begins at a model without weights, as Heating does;"
                " begin a History with one."
            )
