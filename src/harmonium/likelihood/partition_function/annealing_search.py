"""A search for log Z: choice of the path, steps and chains, and checks of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from ..._base.numerics import from_numpy, whole_number
from ..._base.sharding import clock, fetched
from ..._base.statistics import log_mean_exp
from ..._base.threefry import fold_in
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
from .base import LogZ, check_finite_weights, message_of
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

# Steps per segment of pilot runs: to find the spacing, then to choose among the bases.
SPACING_STEPS = 3
CHOOSING_STEPS = 6
AIM = 0.3  # nats that runs along a schedule should dissipate, in both directions together
# Steps per segment of a round.
FEWEST_STEPS = 4
MOST_STEPS = 2**20
ENOUGH_GROUPS = 8  # groups of forward chains; with fewer groups, an interval is rarely narrow
WHOLE_ROUND = 2.6  # time of a round, with burn-in and reverse runs, relative to its forward runs
FEWEST_CHAINS = 32  # fewest chains, for a model so large that more would not finish in time
BY_PILOT = 10.0  # nats that pilot runs may dissipate on any path
MORE_BASES = 2  # number of bases fitted to states that no other base reaches
# One in this many reverse runs of a round starts from each kind of reference state. They replace
# other runs, since XLA compiles a program for each number of chains: with batches of 512, 576 and
# 768 the first result took 2.6 s longer. Replacing these runs widens intervals by 4 to 8 %.
ONE_OF = 8
# Sweeps before a base is fitted to states that no other base reaches. These states may all be
# equal, and a base without spread has no finite precision.
SETTLING_SWEEPS = 8
# The costs of a path's own states vary. Costs up to this quantile count as usual; the maximum is
# not used instead, because a single stray chain determines it.
USUAL = 0.97
# One base is a check of another if its own estimate is at most this many nats lower. It then found
# at least a third of Z, so it could have found a missed mode of similar size.
COMPETENT = 1.0
ON_TIME = 0.95  # fraction of the remaining time that a round may take at the last pace


class Candidate(NamedTuple):
    """A path that was tried, and the results of pilot runs along it.

    Attributes:
        schedule: the path of its forward runs.
        final: final states of these runs.
        gains: log weights of these runs, by segment.
        spaced: the path, spaced by the work of runs in both directions.
        lost: the total dissipated work of forward and reverse runs, nats.
        spread: half the sum of the variances of this work. `spread` equals `lost` if both are
            small, and is estimated much more precisely.
    """

    schedule: AnnealingSchedule
    final: FinalStates
    gains: np.ndarray
    spaced: AnnealingSchedule | None = None
    lost: float = np.nan
    spread: float = np.nan

    @property
    def references(self) -> ReferenceStates:
        """The path's final states as reference states for another path."""
        return ReferenceStates.of_chains(self.final.v, self.final.log_weights)


@dataclass
class Search:
    """A search for log Z: a pilot chooses a schedule, then rounds run until both directions agree.

    The settings are the same as for `Annealed`.
    """

    rbm: RBM
    starts: Any
    progress: Callable[[float], Any]
    chains: int
    steps: int | None
    burn_in: int | None
    tolerance: float
    seconds: float
    key: PRNGKeyArray
    keys_used: int = 0
    groups: int = 1
    looks: int = 0
    done: float = 0.0
    pace: float = 0.0  # seconds for one step in each segment, forward and in reverse
    others: list[Candidate] = field(default_factory=list)
    quenches: np.ndarray | None = None
    beyond: float = 0.0  # nats; above 0, the pilot left some states unreached

    def __post_init__(self):
        self.began = clock()
        self.segments = min(SEGMENTS, self.steps or SEGMENTS)
        self.rows: list[ReferenceStates] = []
        if self.starts is not None:
            self.rows.append(ReferenceStates.of_rows(np.asarray(self.starts)))
        self.is_checked = bool(self.rows)

    def pilot(self, paths: Sequence[AbstractPath]) -> tuple[AnnealingSchedule, int]:
        """Space each path's models by dissipated work; return the best path, and steps per segment.

        Reverse runs also start from the final states of other bases. If no path reaches some of
        them, another base is fitted to the unreached states.
        """
        schedules = [self._spaced(path) for path in paths]
        if self.steps is None:
            self._fit_to_time(schedules)
        elif len(schedules) == 1:
            return schedules[0], self._given_steps(self.steps)
        tried = []
        for schedule in schedules:
            tried.append(self._candidate(schedule))
            self._report(0.1 * len(tried) / len(schedules))
        probes = self._probes(tried)
        tried, beyond = self._compared(tried, probes)
        for _ in range(MORE_BASES):
            is_far = beyond > 0.0
            if not is_far.any() or self._left() < CHOOSING_STEPS * self.pace * (len(tried) + 1):
                break
            fitted = self._candidate_for(probes[is_far], tried[0].schedule.path)
            tried, beyond = self._compared([*tried, fitted], probes)
        self.beyond = float(beyond.max())
        # Compare by the larger of `lost` and `spread`: the error in the mean work of 256 chains
        # exceeds the difference between easy bases. With `lost` alone, every third easy model was
        # annealed from the wrong base.
        best = min(tried, key=lambda candidate: max(candidate.lost, candidate.spread))
        self.others = [candidate for candidate in tried if candidate is not best]
        assert best.spaced is not None
        if self.steps is not None:
            return best.spaced, self._given_steps(self.steps)
        needed = CHOOSING_STEPS * best.lost / AIM
        within = ON_TIME * self._left() / self.pace
        if needed > within / 2:  # no time for a second round, so the first takes all of it
            needed = within
        return best.spaced, int(np.clip(needed, FEWEST_STEPS, MOST_STEPS))

    def _given_steps(self, steps: int) -> int:
        return max(1, round(steps / self.segments))

    def _spaced(self, path: AbstractPath) -> AnnealingSchedule:
        """Return the schedule along a path, spaced by the dissipated work of a few forward runs."""
        schedule = AnnealingSchedule.even(path, self.segments)
        return schedule.respaced(self._forward(schedule, SPACING_STEPS)[1])

    def _candidate(self, schedule: AnnealingSchedule) -> Candidate:
        return Candidate(schedule, *self._forward(schedule, CHOOSING_STEPS))

    def _fit_to_time(self, schedules: Sequence[AnnealingSchedule]) -> None:
        """Reduce the number of chains if a pilot and one short round would not finish in time."""
        steps = CHOOSING_STEPS * WHOLE_ROUND * len(schedules) + FEWEST_STEPS * WHOLE_ROUND
        spent = clock() - self.began
        if spent * steps < SPACING_STEPS * len(schedules) * self._left():
            return  # there is enough time, even if none of the time spent was compilation
        started = clock()
        self._forward(schedules[-1], 1)
        # If compilation took most of the time, the time left is no measure of the model's speed.
        allowed = max(self._left(), self.seconds / 2)
        fraction = allowed / (steps * (clock() - started))
        if fraction < 1.0:
            fewest = min(FEWEST_CHAINS, self.chains)
            self.chains = max(fewest, int(fraction * self.chains))

    def _probes(self, tried: Sequence[Candidate]) -> np.ndarray:
        """Return states of several origins, in all half as many as there are chains.

        The origins are rows, final states of the bases, without weights, and final states of short
        chains from random states (quenches).
        """
        wanted = self.chains // 2
        self.quenches = fetched(quenched(self.rbm, self.chains, key=self._next_key()))
        others = [rows.states for rows in self.rows]
        others += [fetched(candidate.final.v) for candidate in tried]
        of_each_origin = wanted // 2 // len(others)
        probes = np.concatenate([states[:of_each_origin] for states in others])
        return np.concatenate([probes, self.quenches[: wanted - len(probes)]])

    def _candidate_for(self, states: np.ndarray, near: AbstractPath) -> Candidate:
        """Return a path whose base has the moments of these states, after a few sweeps."""
        same_shape = np.resize(states, (max(2, self.chains // 2), states.shape[1]))
        sweeps = whole_number(SETTLING_SWEEPS)
        v = swept(self.rbm, from_numpy(same_shape), sweeps, key=self._next_key())
        path = base_from_data(near.at(1.0), v, key=self._next_key())
        return self._candidate(self._spaced(path))

    def _compared(
        self, tried: Sequence[Candidate], probes: np.ndarray
    ) -> tuple[list[Candidate], np.ndarray]:
        """Return the candidates with results of runs in both directions, and the probes' distances.

        The distance of a probe is the cost of a reverse run from it, in nats, in excess of the
        usual costs, along the path for which this excess is smallest. If it is positive, no path
        reaches the probe.
        """
        compared = []
        beyond = np.full(len(probes), np.inf)
        n = self.chains - len(probes)
        pooled = [candidate.final for candidate in tried]
        for candidate in tried:
            started = clock()
            schedule = candidate.schedule
            back, _ = self._reverse(schedule, pooled, CHOOSING_STEPS, n, lambda known: probes)
            self.pace = 2 * (clock() - started) / CHOOSING_STEPS
            costs = -back.sum(0)
            own_costs = costs[:n]
            # A crude path dissipates work everywhere; only costs above its own states' costs count.
            usual = np.quantile(own_costs, USUAL)
            reached = usual + np.log(max(1.0, self.chains * self.tolerance / 3.0))
            beyond = np.minimum(beyond, costs[n:] - reached)
            work = candidate.gains.sum(0)
            compared.append(
                candidate._replace(
                    spaced=schedule.respaced(candidate.gains, back[::-1, :n]),
                    lost=float(own_costs.mean() - work.mean()),
                    spread=float(own_costs.var() + work.var()) / 2,
                )
            )
            self._report(0.1 + 0.1 * len(compared) / len(tried))
        return compared, beyond

    def rounds(self, schedule: AnnealingSchedule, steps: int) -> LogZ:
        """Anneal in both directions, with more steps or chains in each round, until both agree."""
        rounds: list[AnnealingRuns] = []  # the rounds with the current number of steps
        while True:
            started = clock()
            final, gains = self._forward(schedule, steps)
            if not rounds:
                self.groups = groups_of(final.log_weights)
                self.pace = WHOLE_ROUND * (clock() - started) / steps
                more = self._more_steps(steps)
                if self.groups < ENOUGH_GROUPS and more > steps:  # the search would hardly converge
                    schedule = schedule.respaced(gains)
                    steps = more
                    continue
            self._report(self.done + 0.4 * (1 - self.done))
            runs, back = self._round(schedule, final, steps)
            self._report(self.done + 0.5 * (1 - self.done))
            self.pace = (clock() - started) / steps
            rounds.append(runs)
            answer = self._conclude(rounds, steps)
            if answer.convergence != "not converged" or self.steps is not None:
                break
            more = self._more_steps(steps)
            if self._needs_more_steps(runs, answer.value) and more > steps:
                rounds = []
                steps = more
                schedule = schedule.respaced(gains, back[::-1, : len(runs.reverse)])
            elif self._left() < self.pace * steps:  # otherwise the next round adds more chains
                answer = answer.out_of_time(self.seconds)
                break
        self._report(1.0)
        return answer

    def _more_steps(self, steps: int) -> int:
        """Return the number of steps of the next round; unchanged if there is no time for more.

        The number is doubled. But if there is time for only one round with more steps, this round
        uses all of the time.
        """
        if self.steps is not None:
            return steps
        within = int(ON_TIME * self._left() / self.pace)
        if within >= 4 * steps:
            return 2 * steps
        if within > 1.25 * steps:
            return within
        return steps

    def _needs_more_steps(self, last: AnnealingRuns, value: float) -> bool:
        """Return whether more steps would help more than more chains."""
        tolerance = self.tolerance
        return (
            last.lost > MOST_LOST
            or last.undersampled_fraction(value, tolerance) > tolerance / 3
            or last.possible_excess(value, tolerance) > tolerance / 2
            or any(mass > tolerance for mass, _ in last.unreached(value, tolerance))
        )

    def _forward(self, schedule: AnnealingSchedule, steps: int) -> tuple[FinalStates, np.ndarray]:
        """Anneal from the base to the model; return final states and log weights by segment."""
        start = schedule.start(self.chains, key=self._next_key())
        v, gains = schedule.run(start, steps, key=self._next_key())
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
        """Anneal in reverse after a burn-in; return log weights by segment, and the starts' shares.

        The first `own` runs start from resampled final states. The other runs start from the states
        that the function `others_than` returns for these final states.
        """
        check_finite_weights(*(final.log_weights for final in final_states))
        v, log_shares = resampled_states(final_states, own, self.groups, seed=self.keys_used)
        v = np.concatenate([v, others_than(v).astype(v.dtype)])
        burn_in = self.burn_in or max(1, steps * self.segments // 4)
        v = swept(self.rbm, from_numpy(v), whole_number(burn_in), key=self._next_key())
        back = schedule.run(v, steps, key=self._next_key(), reverse=True)[1]
        back[0] -= schedule.last_step(self.rbm, v)
        return back, log_shares

    def _round(
        self, schedule: AnnealingSchedule, final: FinalStates, steps: int
    ) -> tuple[AnnealingRuns, np.ndarray]:
        """Return the log weights of a round's complete runs, and of reverse runs by segment."""
        rng = np.random.default_rng(self.keys_used)
        references = self._references()
        n = self.chains - sum(count for _, count in references)
        fractions: list[np.ndarray] = []

        def starts_from(known: np.ndarray) -> np.ndarray:
            if not self.is_checked and self.quenches is not None:
                # Chains that reach all known states would also have reached unknown mass.
                self.is_checked = covered(known, self.quenches) > COVERED
            starts = [known[:0]]
            for reference, count in references:
                states, of_states = reference.chosen(known, count, rng)
                starts.append(states)
                fractions.append(of_states)
            return np.concatenate(starts)

        back, log_shares = self._reverse(schedule, [final], steps, n, starts_from)
        reverse = back.sum(0) - float(schedule.path.log_z_of_base)
        ends = n + np.cumsum([count for _, count in references], dtype=int)
        of_references = np.split(reverse, [n, *ends])[1:-1]
        reference_runs = [
            ReferenceRuns(reference.source, runs, of_states, reference.log_z, reference.effective)
            for (reference, _), runs, of_states in zip(
                references, of_references, fractions, strict=True
            )
        ]
        return AnnealingRuns(final.log_weights, reverse[:n], log_shares, reference_runs), back

    def _references(self) -> list[tuple[ReferenceStates, int]]:
        """Return the reference states of a round, with the number of runs from each."""
        n = self.chains // ONE_OF
        references = [(rows, n) for rows in self.rows]
        parts = np.array_split(np.arange(n), max(1, len(self.others)))
        for candidate, part in zip(self.others, parts, strict=False):
            references.append((candidate.references, len(part)))
        return [(reference, count) for reference, count in references if count]

    def _conclude(self, rounds: Sequence[AnnealingRuns], steps: int) -> LogZ:
        """Combine rounds into one result, which always uses both directions."""
        joined = AnnealingRuns.joined(rounds)
        check_finite_weights(joined.forward, joined.reverse)
        groups = self.groups * len(rounds)
        tolerance = self.tolerance
        estimate = joined.sandwich(groups).at_level(level_of_look(self.looks + 1))
        others = [candidate.final.log_weights for candidate in self.others]
        against = contradictions(estimate, others)
        if self.beyond > 0.0:
            # The mass of a region is at most e^cost times the mass found.
            reason = "chains from other starts reached states that no base reaches"
            cost = float(np.logaddexp(0.0, self.beyond + BY_PILOT))
            against.append((reason, estimate.value + cost))
        warnings = joined.warnings(estimate, tolerance) + [reason for reason, _ in against]
        low, high = joined.interval(estimate, tolerance)
        if not warnings:
            # Only results without other warnings count as looks: no other result could be accepted.
            self.looks += 1
        half = (high - low) / 2
        if half >= tolerance:
            warnings.append(f"the interval is ± {half:.2f} nats")
        if warnings:
            warnings += [reason for _, reason in joined.unreached(estimate.value, tolerance)]
            low, high = joined.wide_interval(estimate, tolerance, [end for _, end in against])
        is_checked = self.is_checked or any(
            log_mean_exp(log_weights) > estimate.value - COMPETENT for log_weights in others
        )
        met = MET
        if not is_checked:
            met = f"{MET} {UNCHECKED}"
        chains = self.chains * len(rounds)
        return LogZ(
            value=estimate.value,
            low=low,
            high=high,
            method=f"annealed both ways, {chains:,} chains × {steps * self.segments:,} steps",
            converged=is_checked and not warnings,
            ess=estimate.ess,
            gap=estimate.gap,
            message=message_of(warnings, met),
            forward=joined.forward,
            reverse=joined.weighted_reverse,
            checked=is_checked or bool(warnings),
        )

    def _next_key(self) -> PRNGKeyArray:
        self.keys_used += 1
        return fold_in(self.key, self.keys_used)

    def _left(self) -> float:
        return self.seconds - (clock() - self.began)

    def _report(self, fraction: float) -> None:
        self.done = fraction
        self.progress(fraction)
