"""log Z by annealed importance sampling in both directions: a lower and an upper estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from .._numerics import from_numpy
from ..checks import check_positive, positive_integer
from ..data import Dataset
from ..errors import InputError, NotFiniteError
from ..path import AbstractPath
from ..precision import check_precision, rounded_if_faster
from ..rbm import RBM
from ..sharding import clock
from .agreement import MET, MOST_LOST, AnnealingRuns, contradictions
from .base import CHAINS, AbstractLogZ, LogZ, exact_result
from .bridge import sandwich
from .lengthening import is_independent_when_empty, log_z_of_lengths
from .schedule import (
    SEGMENTS,
    AnnealingSchedule,
    FinalStates,
    base_from_data,
    groups_of,
    resampled_states,
    swept,
    usual_bases,
)

MOST_STARTS = 4_096  # rows from which reverse runs start
PILOT = (3, 6)  # steps per segment: to find the spacing, then to choose among the bases
AIM = 0.5  # nats lost forward and in reverse together, at which a schedule aims
FEWEST_STEPS, MOST_STEPS = 4, 2**20  # per segment
ENOUGH_GROUPS = 8  # of forward chains; with fewer, an interval is hardly ever narrow
WHOLE_ROUND = 2.6  # time of a round over that of its forward runs: burn-in, reverse runs, starts
ON_TIME = 0.95  # share of the time left that a round may take by the pace of the last one


@dataclass(frozen=True)
class Annealed(AbstractLogZ):
    """log Z by annealed importance sampling in both directions.

    Forward runs start from exact draws of a base model. Their estimate is on average below log Z,
    so a log-likelihood from it alone is too high. Reverse runs start from draws of the model
    itself. Their estimate is on average above log Z, as far as those draws are exact: they are the
    final states of the forward chains of all bases, resampled by their weights, after `burn_in`
    more sweeps. The value is Bennett's acceptance ratio between both, an estimate and no bound.

    A pilot run tries each base, spaces the models along the path by the work that the chains lose
    there, and takes the base that loses least. Then steps and chains grow until the forward and
    reverse estimates agree within `tolerance` and the interval's half width is below it too, or
    the time is up. The 95 % interval is a jackknife that leaves out one independent group of
    chains at a time. Where the answer has not converged, the interval is wider: its ends hold for
    annealing weights of any distribution (`AnnealingRuns.wide_interval`), and enclose what other
    bases and the given starts say.

    A path may end at another model close to this one; the step from there to this model is
    weighted too. So chains may be annealed to the RBM with weights rounded to bfloat16, where that
    is faster, and the answer is still that of this model.

    A mode that no chain of any base ever finds cannot be detected: all estimates then agree on
    log Z of the modes that were found. `starts` from another source, such as the data, would
    reveal it.

    Attributes:
        chains: chains in each direction.
        steps: steps of each annealing run; as many as are needed if None.
        paths: paths to try, from independent models to this one or to a model close to it;
            `usual_bases` if none is given.
        starts: visible states from which additional reverse runs start, as a check, shape (n,
            visible).
        burn_in: sweeps of the resampled chains before the reverse runs; a quarter of the steps if
            None.
        tolerance: nats, the largest accepted difference of the forward and reverse estimates, and
            the largest half width of the interval.
        seconds: time after which no new round begins.
        precision: of products with the weights during annealing: "float32", or "bfloat16" where all
            states are exact in it; if None, bfloat16 where it is measured to be faster. A key gives
            the same digits only at the same precision.

    Raises:
        InputError: a number is out of its range, or a path does not begin without weights.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> method = hm.Annealed(chains=64, steps=32)
        >>> found = hm.log_z(rbm, method=method, key=jax.random.key(0))
        >>> found.converged, bool(abs(found.value - np.log(432)) < 0.1)
        (True, True)

    Source: Neal 2001; Bennett 1976; Salakhutdinov & Murray 2008; Burda et al. 2015.
    """

    chains: int = CHAINS
    steps: int | None = None
    paths: Sequence[AbstractPath] = ()
    starts: Any = None
    burn_in: int | None = None
    tolerance: float = 0.1
    seconds: float = 120.0
    precision: str | None = None

    def __post_init__(self):
        _check(self)

    def with_rows(self, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> Annealed:
        """Add the independent model with the rows' moments as a base, and reverse runs from rows.

        For incomplete rows, neither is done.
        """
        if self.paths:
            return self
        key_data, key_own, key_rows = jax.random.split(key, 3)
        near = self._near(rbm)
        bases = usual_bases(near, key=key_own)
        if dataset.missing:
            return replace(self, paths=bases)
        rows = dataset.some(MOST_STARTS).rows(key=key_rows)
        bases.insert(0, base_from_data(near, rbm.visible.encode(rows), key=key_data))
        return replace(self, paths=bases, starts=rows if self.starts is None else self.starts)

    def _near(self, rbm: RBM) -> RBM:
        """Return the model that chains are annealed to: this one, or with rounded weights."""
        return rounded_if_faster(rbm, self.chains, self.precision)

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z.

        Raises:
            InputError: no key, a path that begins with weights, or starts that do not fit.
            NotFiniteError: annealing weights are not finite, because parameters are far too large.
        """
        key_base, key_search = jax.random.split(key)
        starts = None
        if self.starts is not None:
            starts = rbm.visible.encode(rbm.visible.validate(self.starts, "starts"))
        search = _Search(rbm, self, starts, progress, key=key_search)
        paths = self.paths or usual_bases(self._near(rbm), key=key_base)
        return search.rounds(*search.pilot(paths))

    def compute_each(
        self, rbm: RBM, totals: np.ndarray, key: Any, progress: Callable[[float], Any]
    ) -> list[LogZ]:
        """Return log Z given each of these totals; for documents, in one run along their lengths.

        That run uses neither `paths`, `starts` nor `burn_in`.
        """
        if self.paths or not is_independent_when_empty(rbm):
            return super().compute_each(rbm, totals, key, progress)
        own = exact_result(float(rbm.hidden.cgf(rbm.hidden.zero_inputs)), "exact, empty rows")
        lengths = totals[:, 0]
        found = [own] * int((lengths == 0).sum())
        if len(found) == len(lengths):
            return found
        return found + log_z_of_lengths(
            rbm,
            lengths[len(found) :],
            chains=self.chains,
            steps=self.steps,
            tolerance=self.tolerance,
            seconds=self.seconds,
            key=key,
            progress=progress,
        )


class _Search:
    """A search for log Z: a pilot chooses the schedule; rounds run until both estimates agree."""

    def __init__(self, rbm: RBM, asked: Annealed, starts: Any, progress: Any, *, key: PRNGKeyArray):
        self.rbm, self.asked, self.key, self.keys_used = rbm, asked, key, 0
        self.groups = 1
        # A quarter as many reverse runs start from the given starts.
        many = max(1, asked.chains // 4)
        self.starts = None if starts is None else np.asarray(starts)[np.arange(many) % len(starts)]
        self.progress, self.done = progress, 0.0
        self.began = clock()
        self.pace = 0.0  # seconds for one step in each segment, forward and in reverse
        self.segments = min(SEGMENTS, asked.steps or SEGMENTS)
        self.cross_checks: list[FinalStates] = []

    def pilot(self, paths: Sequence[AbstractPath]) -> tuple[AnnealingSchedule, int]:
        """Space the models of each path by lost work; return the best and its steps per segment."""
        schedules, all_gains, steps = [], [], self._given_steps()
        for path in paths:
            schedule = AnnealingSchedule.even(path, self.segments)
            schedules.append(schedule.respaced(self._forward(schedule, PILOT[0])[1]))
        if steps is not None and len(schedules) == 1:
            return schedules[0], steps
        for schedule in schedules:
            final, gains = self._forward(schedule, PILOT[1])
            self.cross_checks.append(final)
            all_gains.append(gains)
            self._report(0.1 * len(all_gains) / len(schedules))
        lost, spaced = [], []
        for schedule, gains, final in zip(schedules, all_gains, self.cross_checks, strict=True):
            started = clock()
            back = self._reverse(schedule, self.cross_checks, PILOT[1])
            self.pace = 2 * (clock() - started) / PILOT[1]
            spaced.append(schedule.respaced(gains, back[::-1, : self.asked.chains]))
            lost.append(self._whole_runs(schedule, final, back).lost)
            self._report(0.1 + 0.1 * len(lost) / len(schedules))
        best = int(np.argmin(lost))
        del self.cross_checks[best]  # every round adds its own final states instead
        needed = min(PILOT[1] * lost[best] / AIM, self._left() / self.pace)
        return spaced[best], steps or int(np.clip(needed, FEWEST_STEPS, MOST_STEPS))

    def _given_steps(self) -> int | None:
        steps = self.asked.steps
        return None if steps is None else max(1, round(steps / self.segments))

    def rounds(self, schedule: AnnealingSchedule, steps: int) -> LogZ:
        """Anneal in both directions with more steps or chains each round, until estimates agree."""
        kept: list[AnnealingRuns] = []
        while True:
            started = clock()
            final, gains = self._forward(schedule, steps)
            if not kept:
                self.groups = groups_of(final.log_weights)
                self.pace = WHOLE_ROUND * (clock() - started) / steps
                more = self._more_steps(steps)
                if self.groups < ENOUGH_GROUPS and more > steps:  # it would hardly converge
                    schedule, steps = schedule.respaced(gains), more
                    continue
            self._report(self.done + 0.4 * (1 - self.done))
            back = self._reverse(schedule, [final, *self.cross_checks], steps)
            self._report(self.done + 0.5 * (1 - self.done))
            self.pace = (clock() - started) / steps
            kept.append(self._whole_runs(schedule, final, back))
            found = self._conclude(kept, steps * self.segments)
            if found.converged or self.asked.steps is not None:
                break
            more = self._more_steps(steps)
            if self._needs_more_steps(kept[-1]) and more > steps:
                kept, steps = [], more
                schedule = schedule.respaced(gains, back[::-1, : self.asked.chains])
            elif self._left() < self.pace * steps:  # otherwise the next round adds more chains
                late = f" The time limit of {self.asked.seconds:g} s was reached; raise `seconds`."
                found = found._replace(message=found.message + late)
                break
        self._report(1.0)
        return found

    def _more_steps(self, steps: int) -> int:
        """Return the steps of a round with more of them; the same if no such round is in time.

        They are doubled. But if only one more round can be longer, it takes the time that is left.
        """
        if self.asked.steps is not None:
            return steps
        within = int(ON_TIME * self._left() / self.pace)
        if within < 4 * steps:
            return within if within > 1.25 * steps else steps
        return 2 * steps

    def _needs_more_steps(self, last: AnnealingRuns) -> bool:
        """Return whether more steps would help more than more chains."""
        tolerance = self.asked.tolerance
        return last.lost > MOST_LOST or last.hardly_seen(tolerance) > tolerance / 3

    def _forward(self, schedule: AnnealingSchedule, steps: int) -> tuple[FinalStates, np.ndarray]:
        """Anneal from the base to the model; return final states and log weights by segment."""
        begun = schedule.start(self.asked.chains, key=self._next_key())
        v, gains = schedule.run(begun, steps, key=self._next_key())
        gains[-1] += schedule.last_step(self.rbm, v)
        return FinalStates(v, gains.sum(0) + float(schedule.path.log_z_of_base)), gains

    def _reverse(
        self, schedule: AnnealingSchedule, final_states: Sequence[FinalStates], steps: int
    ) -> np.ndarray:
        """Anneal in reverse from resampled final states after a burn-in; return log weights."""
        if not all(np.isfinite(one.log_weights).all() for one in final_states):
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        v = resampled_states(final_states, self.asked.chains, self.groups, seed=self.keys_used)
        if self.starts is not None:
            v = np.concatenate([v, self.starts.astype(v.dtype)])
        sweeps = self.asked.burn_in or max(1, steps * self.segments // 4)
        sweeps = jnp.asarray(sweeps, jnp.int32)
        v = swept(self.rbm, from_numpy(v), sweeps, key=self._next_key())
        back = schedule.run(v, steps, key=self._next_key(), reverse=True)[1]
        back[0] -= schedule.last_step(self.rbm, v)
        return back

    def _whole_runs(
        self, schedule: AnnealingSchedule, final_states: FinalStates, back: np.ndarray
    ) -> AnnealingRuns:
        """Return the log weights of whole runs, with those of reverse segments summed up."""
        reverse, n = back.sum(0) - float(schedule.path.log_z_of_base), self.asked.chains
        return AnnealingRuns(final_states.log_weights, reverse[:n], reverse[n:])

    def _conclude(self, kept: Sequence[AnnealingRuns], steps: int) -> LogZ:
        """Combine rounds into one answer, which always uses both directions."""
        joined = AnnealingRuns(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))
        if not (np.isfinite(joined.forward).all() and np.isfinite(joined.reverse).all()):
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        groups, tolerance = self.groups * len(kept), self.asked.tolerance
        found = sandwich(joined.forward, joined.reverse, groups)
        chains = self.asked.chains * len(kept)
        against = [
            *contradictions(found, [one.log_weights for one in self.cross_checks]),
            *joined.unreached_starts(found, tolerance),
        ]
        warnings = [*joined.warnings(found, tolerance), *(why for why, _ in against)]
        low, high = found.interval
        if warnings:
            low, high = joined.wide_interval(found, tolerance, [ends for _, ends in against])
        return LogZ(
            value=found.value,
            low=low,
            high=high,
            method=f"annealed both ways, {chains:,} chains × {steps:,} steps",
            converged=not warnings,
            ess=found.ess,
            gap=found.gap,
            message=f"Not converged: {'; '.join(warnings)}." if warnings else MET,
            forward=joined.forward,
            reverse=joined.reverse,
        )

    def _next_key(self) -> PRNGKeyArray:
        self.keys_used += 1
        return jax.random.fold_in(self.key, self.keys_used)

    def _left(self) -> float:
        return self.asked.seconds - (clock() - self.began)

    def _report(self, part: float) -> None:
        self.done = part
        self.progress(part)


def _check(asked: Annealed) -> None:
    least = {"chains": 2, "steps": 1, "burn_in": 1}
    for name, lowest in least.items():
        number = getattr(asked, name)
        if number is not None and positive_integer(number, name) < lowest:
            raise InputError(f"{name}: expected a whole number of at least {lowest}; got {number}.")
    check_precision(asked.precision)
    check_positive(tolerance=asked.tolerance, seconds=asked.seconds)
    for path in asked.paths:
        if not path.begins_uncoupled:
            raise InputError(
                "path: expected one that begins at a model without weights, as Heating does;"
                " begin a History with one."
            )
