"""Whether annealing runs in both directions agree, and the interval that follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._base.statistics import log_mean_exp, lower_mean_bound, most_expected, relative_weights
from .base import TRUSTED_ESS
from .bridge import Sandwich, sandwich

FEWEST_GROUPS = 4
TAIL = 0.025  # probability that log Z lies beyond one end of an interval
CONTRADICTED = 1e-3  # of a lower bound from another base
MARKOV = -float(np.log(TAIL))  # P(log Ẑ > log Z + b) ≤ e^(−b), whatever the weights
MET = "The forward and reverse estimates agree."
UNCHECKED = (
    "Unchecked: there are no rows to start from, and chains from elsewhere do not come to the"
    " same states, so nothing could have shown that a part of the model is missed."
)
MOST_LOST = 2.0  # nats forward and in reverse together, for which more chains are enough
BY_CHANCE = 0.05  # probability of as many reference states without a cause
FIRST_LOOK = 0.045  # of the 5 % by which an interval may miss; later looks share the rest

Ends = tuple[float, float]


class ReferenceRuns(NamedTuple):
    """Reverse runs from reference states.

    Attributes:
        source: where the states come from, in words.
        reverse: log weights, shape (n,).
        fractions: the fraction of their mass that each start stands for.
        log_z: the log of that mass, or None if it is that of the model.
        effective: the effective number of these states.
    """

    source: str
    reverse: np.ndarray
    fractions: np.ndarray
    log_z: float | None
    effective: float


class AnnealingRuns(NamedTuple):
    """Log weights of annealing runs in both directions along one schedule.

    Attributes:
        forward: shape (n,); the mean of e^w estimates Z.
        reverse: those of the reverse runs, shape (n,); the mean of e^w estimates 1/Z.
        log_shares: the log of what the start of each reverse run stands for; None if all are equal.
        references: reverse runs from states of another origin.
        rounds: independent rounds of as many chains.
    """

    forward: np.ndarray
    reverse: np.ndarray
    log_shares: np.ndarray | None = None
    references: Sequence[ReferenceRuns] = ()
    rounds: int = 1

    @classmethod
    def joined(cls, rounds: Sequence[AnnealingRuns]) -> AnnealingRuns:
        """Return the runs of several rounds as one."""
        references = []
        for same in zip(*(one.references for one in rounds), strict=True):
            reverse = np.concatenate([runs.reverse for runs in same])
            fractions = np.concatenate([runs.fractions for runs in same]) / len(rounds)
            references.append(same[0]._replace(reverse=reverse, fractions=fractions))
        return cls(
            np.concatenate([one.forward for one in rounds]),
            np.concatenate([one.reverse for one in rounds]),
            np.concatenate([one.shares for one in rounds]),
            references,
            len(rounds),
        )

    @property
    def shares(self) -> np.ndarray:
        """The log of what each reverse run stands for."""
        return np.zeros(len(self.reverse)) if self.log_shares is None else self.log_shares

    @property
    def weighted_reverse(self) -> np.ndarray:
        """The log weights of reverse runs, each with what it stands for relative to the mean."""
        return self.reverse + self.shares - log_mean_exp(self.shares)

    @property
    def lost(self) -> float:
        """The work lost forward and in reverse together, nats; 0 only for reversible runs."""
        return -float(self.forward.mean() + self.reverse.mean())

    def sandwich(self, groups: int) -> Sandwich:
        """Return log Z from both directions."""
        return sandwich(self.forward, self.reverse, groups, self.shares)

    def hardly_seen(self, value: float, tolerance: float) -> float:
        """Return the share of the model's probability mass that too few forward chains reach.

        A reverse run that costs c nats more than log Z started from a region of mass p that forward
        chains reach with probability p e^(−c). If c < log(n · tolerance / 3), three of the n chains
        of a round would reach any such region whose mass is the tolerance. Where a reverse run
        costs more, forward chains find the mass only by chance. More rounds of the same chains are
        no reason to take this back.
        """
        weights = relative_weights(self.shares)
        return float(weights @ self._is_strange(self.reverse, value, tolerance) / weights.sum())

    def _is_strange(self, reverse: np.ndarray, value: float, tolerance: float) -> np.ndarray:
        """Return which reverse runs cost more than `hardly_seen` allows."""
        return -value - reverse > self._known(tolerance)

    def _known(self, tolerance: float) -> float:
        """Return the cost up to which forward chains reach any mass that matters, nats."""
        return float(np.log(len(self.forward) / self.rounds * tolerance / 3.0))

    def warnings(self, found: Sandwich, tolerance: float) -> list[str]:
        """Return the reasons not to rely on the narrow interval, whatever its width."""
        share = self.hardly_seen(found.value, tolerance)
        tests = {
            f"forward and reverse estimates differ by {found.gap:.2f} nats": (
                abs(found.gap) < tolerance
            ),
            f"too few chains reach {share:.0%} of the model's mass": share < tolerance / 3,
            f"only {found.ess:.1f} chains carry the weight": found.ess >= TRUSTED_ESS,
            f"{found.groups} independent groups are too few": found.groups >= FEWEST_GROUPS,
        }
        return [why for why, fine in tests.items() if not fine]

    def interval(self, found: Sandwich, tolerance: float) -> Ends:
        """Return the 95 % interval of estimates that agree.

        Mass that forward chains hardly reach makes the estimate too small, so what may be missing
        widens the upper side.
        """
        low, high = found.interval
        missing = [self.doubt(found.value, tolerance)]
        missing += [mass for mass, _ in self.unreached(found.value, tolerance)]
        return low, high + float(np.log1p(max(missing)))

    def doubt(self, value: float, tolerance: float) -> float:
        """Return by how much the mass that chains hardly reach may be larger, relative to Z.

        Its share s, by the weights of k chains, is known no better than the mean of a Poisson
        distribution from a count of k, whose upper end is U: s (U/k − 1) more.
        """
        share = self.hardly_seen(value, tolerance)
        count = max(1, int((self.forward - value > self._known(tolerance)).sum()))
        return share * (most_expected(count) / count - 1.0)

    def wide_interval(
        self, found: Sandwich, tolerance: float, against: Sequence[float] = ()
    ) -> Ends:
        """Return an interval for estimates that do not agree, or of which few chains decide.

        Its lower end is a bound: forward chains are independent and the mean of their weights is
        Z, so log Z lies below `lower_mean_bound` with a probability of 2.5 % at most, whatever
        their distribution. Its upper end is that bound for the reverse runs, by independent groups,
        as if they had started from exact draws; then more for the mass that chains hardly reach and
        for what reference states show. Both ends enclose the narrow interval and the one-sided
        estimates; the upper end is also above all ends that are `against` this estimate.
        """
        by_group = np.array(
            [log_mean_exp(part) for part in np.array_split(self.weighted_reverse, found.groups)]
        )
        lows = [lower_mean_bound(self.forward, TAIL), found.lower, found.upper]
        highs = [-lower_mean_bound(by_group, TAIL), found.lower, found.upper]
        if found.groups > 1:
            low, high = self.interval(found, tolerance)
            lows.append(low)
            highs.append(high)
        unknown = float(np.log1p(self.doubt(found.value, tolerance)))
        highest = max([max(highs) + unknown, *against])
        return float(min(lows)), float(highest)

    def unreached(self, value: float, tolerance: float) -> list[tuple[float, str]]:
        """Return the mass, relative to Z, that reference states show where chains hardly come.

        Where reverse runs of the chains' own states are strange as often, these stand for that
        mass already. Only more than that, and more than chance allows, is evidence. The fraction s
        of reference states is known as well as their count, whose upper end is taken. For rows, s
        is a share of all mass, of which the chains found 1 − s; for chains from another base, it
        is that of the mass which they found.

        Returns:
            For each source with such evidence, an upper bound and a sentence.
        """
        own = self._is_strange(self.reverse, value, tolerance)
        usual = self.hardly_seen(value, tolerance)
        rate = max(usual, float(own.mean()), 0.5 / len(own))
        evidence = []
        for runs in self.references:
            is_strange = self._is_strange(runs.reverse, value, tolerance)
            share = float(runs.fractions @ is_strange)
            counted = max(1.0, share * runs.effective)
            by_chance = tail_of_count(round(counted), rate * runs.effective)
            if share <= usual or by_chance > BY_CHANCE:
                continue
            most = min(1.0, share * most_expected(counted) / counted)
            if runs.log_z is None:
                mass = most / (1.0 - most) if most < 1.0 else np.inf
            else:
                mass = most * float(np.exp(min(runs.log_z - value, 700.0)))
            apart = float(np.median(-value - runs.reverse[is_strange]))
            # No region has more mass than its cost allows, if chains came nowhere near it.
            mass = min(mass, float(np.expm1(min(apart, 700.0))))
            why = (
                f"{share:.2g} of {runs.source} lie where hardly a chain came: their reverse runs"
                f" cost {apart:.1f} nats more"
            )
            evidence.append((mass, why))
        return evidence


def level_of_look(look: int) -> float:
    """Return the probability by which the interval of the first, second … look may miss.

    Runs go on until an answer converges, so several intervals have a chance to be the last. The
    levels of all looks add up to 5 %.
    """
    return FIRST_LOOK if look == 1 else (0.05 - FIRST_LOOK) * 0.5 ** (look - 1)


def tail_of_count(count: int, expected: float) -> float:
    """Return the probability that a Poisson variable of this mean is at least `count`."""
    term = np.exp(-expected)
    below = 0.0
    for k in range(count):
        below += term
        term *= expected / (k + 1)
    return float(max(0.0, 1.0 - below))


def contradictions(found: Sandwich, others: Sequence[np.ndarray]) -> list[tuple[str, float]]:
    """Return what other bases say where their lower bounds on log Z lie above the interval.

    Args:
        found: the estimate.
        others: log weights of forward runs from other bases.

    Returns:
        For each contradiction a sentence, and the highest log Z that it allows: the other base's
        estimate and log 40 = 3.7 nats more, by Markov's inequality.
    """
    against = []
    for forward in others:
        bound = lower_mean_bound(forward, CONTRADICTED)
        if bound > found.value + (found.half_width if found.groups > 1 else 0.0):
            why = f"from another base log Z is at least {bound:.2f}"
            against.append((why, float(log_mean_exp(forward)) + MARKOV))
    return against
