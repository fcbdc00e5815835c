"""A search for log Z: the path, the steps and chains, and what could contradict the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..._base.numerics import from_numpy
from ..._base.sharding import clock, fetched
from ..._base.statistics import log_mean_exp
from ...errors import NotFiniteError
from ...path import AbstractPath
from ...rbm import RBM
from .agreement import (
    MET,
    MOST_LOST,
    UNCHECKED,
    AnnealingRuns,
    ReferenceRuns,
    contradictions,
    level_of_look,
)
from .base import LogZ
from .pilot import Candidate, PilotRuns
from .reference_states import COVERED, ReferenceStates, covered, quenched
from .schedule import (
    SEGMENTS,
    AnnealingSchedule,
    FinalStates,
    base_from_data,
    groups_of,
    resampled_states,
    swept,
)

PILOT = (3, 6)  # steps per segment: to find the spacing, then to choose among the bases
AIM = 0.3  # nats lost forward and in reverse together, at which a schedule aims
# per segment
FEWEST_STEPS = 4
MOST_STEPS = 2**20
ENOUGH_GROUPS = 8  # of forward chains; with fewer, an interval is hardly ever narrow
WHOLE_ROUND = 2.6  # time of a round over that of its forward runs: burn-in, reverse runs, starts
FEWEST_CHAINS = 32  # of a model so large that more would not end in time
BY_PILOT = 10.0  # nats that a pilot's runs may lose anywhere
MORE_BASES = 2  # fitted to states that no other base reaches
# Of the reverse runs of a round, those that start from reference states of one kind. All batches
# of chains have one size, as XLA compiles a program for each size.
ONE_OF = 8
# States that are left may be copies of one, and a base without any width has no finite precision.
FEW_SWEEPS = 8
# The costs of a path's own states are spread; the highest of them say how spread, not the maximum,
# which one stray chain decides.
USUAL = 0.97
# A base checks another one if its own estimate lies at most so many nats below: it then found a
# third of Z at least, so that a mode of like size would have had a chance to be found.
COMPETENT = 1.0
ON_TIME = 0.95  # share of the time left that a round may take by the pace of the last one


class Search:
    """A search for log Z: a pilot chooses the schedule; rounds run until both estimates agree."""

    def __init__(
        self,
        rbm: RBM,
        starts: Any,
        progress: Callable[[float], Any],
        *,
        chains: int,
        steps: int | None,
        burn_in: int | None,
        tolerance: float,
        seconds: float,
        key: PRNGKeyArray,
    ):
        self.rbm = rbm
        self.key = key
        self.keys_used = 0
        self.chains = chains
        self.steps = steps
        self.burn_in = burn_in
        self.tolerance = tolerance
        self.seconds = seconds
        self.groups = 1
        self.looks = 0
        self.rows = [] if starts is None else [ReferenceStates.of_rows(np.asarray(starts))]
        self.progress = progress
        self.done = 0.0
        self.began = clock()
        self.pace = 0.0  # seconds for one step in each segment, forward and in reverse
        self.segments = min(SEGMENTS, steps or SEGMENTS)
        self.others: list[Candidate] = []
        self.quenches: np.ndarray | None = None
        self.beyond = 0.0  # nats; above 0, the pilot left some states unreached
        self.is_checked = bool(self.rows)

    def pilot(self, paths: Sequence[AbstractPath]) -> tuple[AnnealingSchedule, int]:
        """Space the models of each path by lost work; return the best and its steps per segment.

        States of other origins are tried as well. Where no path comes to some of them, another
        base is fitted to these.
        """
        steps = self._given_steps()
        schedules = []
        for path in paths:
            schedule = AnnealingSchedule.even(path, self.segments)
            schedules.append(schedule.respaced(self._forward(schedule, PILOT[0])[1]))
        if steps is not None and len(schedules) == 1:
            return schedules[0], steps
        if steps is None:
            self._fit_to_time(schedules)
        tried = []
        for schedule in schedules:
            tried.append(Candidate(schedule, *self._forward(schedule, PILOT[1])))
            self._report(0.1 * len(tried) / len(schedules))
        probes = self._probes(tried)
        pilots, beyond = self._compared(tried, probes)
        for _ in range(MORE_BASES):
            is_far = beyond > 0.0
            if not is_far.any() or self._left() < PILOT[1] * self.pace * (len(tried) + 1):
                break
            tried.append(self._candidate_for(probes[is_far], tried[0].schedule.path))
            pilots, beyond = self._compared(tried, probes)
        self.beyond = float(beyond.max())
        best = int(np.argmin([max(one.lost, one.spread) for one in pilots]))
        self.others = [one for i, one in enumerate(tried) if i != best]
        needed = PILOT[1] * pilots[best].lost / AIM
        within = ON_TIME * self._left() / self.pace
        if needed > within / 2:  # no second round would be in time, so the first takes all of it
            needed = within
        return pilots[best].schedule, steps or int(np.clip(needed, FEWEST_STEPS, MOST_STEPS))

    def _fit_to_time(self, schedules: Sequence[AnnealingSchedule]) -> None:
        """Take fewer chains where a pilot and one short round would not end in time."""
        steps = PILOT[1] * WHOLE_ROUND * len(schedules) + FEWEST_STEPS * WHOLE_ROUND
        spent = clock() - self.began
        if spent * steps < PILOT[0] * len(schedules) * self._left():
            return  # even if no part of that time was for compiling
        started = clock()
        self._forward(schedules[-1], 1)
        # Where compiling took the time, what is left says nothing of how slow the model is.
        allowed = max(self._left(), self.seconds / 2)
        part = allowed / (steps * (clock() - started))
        if part < 1.0:
            fewest = min(FEWEST_CHAINS, self.chains)
            self.chains = max(fewest, int(part * self.chains))

    def _probes(self, tried: Sequence[Candidate]) -> np.ndarray:
        """Return states of several origins: of all bases, whatever their weights, and quenches.

        They are as many as half of the chains.
        """
        wanted = self.chains // 2
        self.quenches = fetched(quenched(self.rbm, self.chains, key=self._next_key()))
        others = [rows.states for rows in self.rows]
        others += [fetched(one.final.v) for one in tried]
        of_each_origin = wanted // 2 // len(others)
        probes = np.concatenate([states[:of_each_origin] for states in others])
        return np.concatenate([probes, self.quenches[: wanted - len(probes)]])

    def _candidate_for(self, states: np.ndarray, near: AbstractPath) -> Candidate:
        """Return a path whose base has the moments of these states, after a few sweeps."""
        same_shape = np.resize(states, (max(2, self.chains // 2), states.shape[1]))
        sweeps = jnp.asarray(FEW_SWEEPS, jnp.int32)
        v = swept(self.rbm, from_numpy(same_shape), sweeps, key=self._next_key())
        path = base_from_data(near.at(1.0), v, key=self._next_key())
        schedule = AnnealingSchedule.even(path, self.segments)
        schedule = schedule.respaced(self._forward(schedule, PILOT[0])[1])
        return Candidate(schedule, *self._forward(schedule, PILOT[1]))

    def _compared(
        self, tried: Sequence[Candidate], probes: np.ndarray
    ) -> tuple[list[PilotRuns], np.ndarray]:
        """Return what pilot runs say of each candidate, and how far off the probes are.

        That is by how many nats a reverse run from a probe costs more than is usual for the path
        that comes nearest to it; above 0, no path comes to it.
        """
        pilots = []
        beyond = np.full(len(probes), np.inf)
        n = self.chains - len(probes)
        pooled = [one.final for one in tried]
        for one in tried:
            started = clock()
            back, _ = self._reverse(one.schedule, pooled, PILOT[1], n, lambda known: probes)
            self.pace = 2 * (clock() - started) / PILOT[1]
            costs = -back.sum(0)
            # A crude path loses work everywhere; what counts is more than it loses at its own.
            usual = np.quantile(costs[:n], USUAL)
            reached = usual + np.log(max(1.0, self.chains * self.tolerance / 3.0))
            beyond = np.minimum(beyond, costs[n:] - reached)
            work = one.gains.sum(0)
            spaced = one.schedule.respaced(one.gains, back[::-1, :n])
            lost = float(costs[:n].mean() - work.mean())
            pilots.append(PilotRuns(spaced, lost, float(costs[:n].var() + work.var()) / 2))
            self._report(0.1 + 0.1 * len(pilots) / len(tried))
        return pilots, beyond

    def _given_steps(self) -> int | None:
        steps = self.steps
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
                    schedule = schedule.respaced(gains)
                    steps = more
                    continue
            self._report(self.done + 0.4 * (1 - self.done))
            runs, back = self._round(schedule, final, steps)
            self._report(self.done + 0.5 * (1 - self.done))
            self.pace = (clock() - started) / steps
            kept.append(runs)
            found = self._conclude(kept, steps)
            if found.convergence != "not converged" or self.steps is not None:
                break
            more = self._more_steps(steps)
            if self._needs_more_steps(kept[-1], found.value) and more > steps:
                kept = []
                steps = more
                schedule = schedule.respaced(gains, back[::-1, : len(runs.reverse)])
            elif self._left() < self.pace * steps:  # otherwise the next round adds more chains
                late = f" The time limit of {self.seconds:g} s was reached; raise `seconds`."
                found = found._replace(message=found.message + late)
                break
        self._report(1.0)
        return found

    def _more_steps(self, steps: int) -> int:
        """Return the steps of a round with more of them; the same if no such round is in time.

        They are doubled. But if only one more round can be longer, it takes the time that is left.
        """
        if self.steps is not None:
            return steps
        within = int(ON_TIME * self._left() / self.pace)
        if within < 4 * steps:
            return within if within > 1.25 * steps else steps
        return 2 * steps

    def _needs_more_steps(self, last: AnnealingRuns, value: float) -> bool:
        """Return whether more steps would help more than more chains."""
        tolerance = self.tolerance
        unreached = any(mass > tolerance for mass, _ in last.unreached(value, tolerance))
        is_doubtful = last.doubt(value, tolerance) > tolerance / 2
        hardly_seen = last.hardly_seen(value, tolerance)
        return last.lost > MOST_LOST or hardly_seen > tolerance / 3 or is_doubtful or unreached

    def _forward(self, schedule: AnnealingSchedule, steps: int) -> tuple[FinalStates, np.ndarray]:
        """Anneal from the base to the model; return final states and log weights by segment."""
        begun = schedule.start(self.chains, key=self._next_key())
        v, gains = schedule.run(begun, steps, key=self._next_key())
        gains[-1] += schedule.last_step(self.rbm, v)
        return FinalStates(v, gains.sum(0) + float(schedule.path.log_z_of_base)), gains

    def _reverse(
        self,
        schedule: AnnealingSchedule,
        final_states: Sequence[FinalStates],
        steps: int,
        own: int,
        others_than: Callable[[np.ndarray], np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Anneal in reverse after a burn-in; return log weights by segment, and starts' shares.

        So many `own` runs start from resampled final states, and the others from the states that
        `others_than` returns, given those.
        """
        if not all(np.isfinite(one.log_weights).all() for one in final_states):
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        v, log_shares = resampled_states(final_states, own, self.groups, seed=self.keys_used)
        v = np.concatenate([v, others_than(v).astype(v.dtype)])
        sweeps = self.burn_in or max(1, steps * self.segments // 4)
        sweeps = jnp.asarray(sweeps, jnp.int32)
        v = swept(self.rbm, from_numpy(v), sweeps, key=self._next_key())
        back = schedule.run(v, steps, key=self._next_key(), reverse=True)[1]
        back[0] -= schedule.last_step(self.rbm, v)
        return back, log_shares

    def _round(
        self, schedule: AnnealingSchedule, final: FinalStates, steps: int
    ) -> tuple[AnnealingRuns, np.ndarray]:
        """Return the log weights of a round's whole runs, and those of its reverse segments."""
        rng = np.random.default_rng(self.keys_used)
        references = self._references()
        n = self.chains - sum(count for _, count in references)
        fractions: list[np.ndarray] = []

        def chosen(known: np.ndarray) -> np.ndarray:
            if not self.is_checked and self.quenches is not None:
                # States that come to all that is known would have come to more of it.
                self.is_checked = covered(known, self.quenches) > COVERED
            states = [known[:0]]
            for some, count in references:
                more, each = some.chosen(known, count, rng)
                states.append(more)
                fractions.append(each)
            return np.concatenate(states)

        back, log_shares = self._reverse(schedule, [final], steps, n, chosen)
        reverse = back.sum(0) - float(schedule.path.log_z_of_base)
        ends = n + np.cumsum([count for _, count in references], dtype=int)
        runs = [
            ReferenceRuns(some.source, part, each, some.log_z, some.effective)
            for (some, _), part, each in zip(
                references, np.split(reverse, [n, *ends])[1:], fractions, strict=False
            )
        ]
        return AnnealingRuns(final.log_weights, reverse[:n], log_shares, runs), back

    def _references(self) -> list[tuple[ReferenceStates, int]]:
        """Return the reference states of a round, with the number of runs that start from each."""
        n = self.chains // ONE_OF
        references = [(rows, n) for rows in self.rows if n]
        others = [one.references for one in self.others]
        parts = np.array_split(np.arange(n), max(1, len(others)))
        references += [(one, len(part)) for one, part in zip(others, parts, strict=False)]
        return [(one, count) for one, count in references if count]

    def _conclude(self, kept: Sequence[AnnealingRuns], steps: int) -> LogZ:
        """Combine rounds into one answer, which always uses both directions."""
        joined = AnnealingRuns.joined(kept)
        if not (np.isfinite(joined.forward).all() and np.isfinite(joined.reverse).all()):
            raise NotFiniteError("log Z: annealing weights are not finite; the model diverged.")
        groups = self.groups * len(kept)
        tolerance = self.tolerance
        found = joined.sandwich(groups).at_level(level_of_look(self.looks + 1))
        others = [one.final.log_weights for one in self.others]
        against = contradictions(found, others)
        if self.beyond > 0.0:
            # The mass of a region is at most e^cost times what was found.
            why = "states that chains from another start came to are reached from no base"
            against.append((why, found.value + float(np.logaddexp(0.0, self.beyond + BY_PILOT))))
        warnings = [*joined.warnings(found, tolerance), *(why for why, _ in against)]
        low, high = joined.interval(found, tolerance)
        if not warnings:
            # An answer that is refused for another reason than its width had no chance to be taken.
            self.looks += 1
        half = (high - low) / 2
        if half >= tolerance:
            warnings.append(f"the interval is ± {half:.2f} nats")
        if warnings:
            warnings += [why for _, why in joined.unreached(found.value, tolerance)]
            low, high = joined.wide_interval(found, tolerance, [ends for _, ends in against])
        is_checked = self.is_checked or any(
            log_mean_exp(log_weights) > found.value - COMPETENT for log_weights in others
        )
        message = MET
        if warnings:
            message = f"Not converged: {'; '.join(warnings)}."
        elif not is_checked:
            message = f"{MET} {UNCHECKED}"
        chains = self.chains * len(kept)
        return LogZ(
            value=found.value,
            low=low,
            high=high,
            method=f"annealed both ways, {chains:,} chains × {steps * self.segments:,} steps",
            converged=is_checked and not warnings,
            ess=found.ess,
            gap=found.gap,
            message=message,
            forward=joined.forward,
            reverse=joined.weighted_reverse,
            checked=is_checked or bool(warnings),
        )

    def _next_key(self) -> PRNGKeyArray:
        self.keys_used += 1
        return jax.random.fold_in(self.key, self.keys_used)

    def _left(self) -> float:
        return self.seconds - (clock() - self.began)

    def _report(self, part: float) -> None:
        self.done = part
        self.progress(part)
