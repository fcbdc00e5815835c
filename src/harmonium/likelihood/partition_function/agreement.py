"""Checks of the agreement of forward and reverse annealing runs, and the resulting interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._base.statistics import log_mean_exp, lower_mean_bound, most_expected, relative_weights
from .base import TRUSTED_ESS, broken
from .bridge import Sandwich, sandwich

FEWEST_GROUPS = 4  # fewest groups of chains whose spread a jackknife can estimate
TAIL = 0.025  # probability that log Z is beyond one end of an interval
CONTRADICTED = 1e-3  # probability that a lower bound from another base is wrong
MARKOV = -float(np.log(TAIL))  # P(log Ẑ > log Z + b) ≤ e^(−b), whatever the weights
MET = "The forward and reverse estimates agree."
UNCHECKED = (
    "Unchecked: no rows were given as starts, and chains started elsewhere do not reach the same"
    " states, so a missed part of the model would have gone unnoticed."
)
MOST_LOST = 2.0  # nats dissipated in both directions together, up to which more chains suffice
LARGEST_EXPONENT = 700.0  # largest x for which e^x is finite in float64
BY_CHANCE = 0.05  # p-value above which costly reference states are attributed to chance
FIRST_LOOK = 0.045  # probability that the first interval misses; later looks share the rest of 5 %

Ends = tuple[float, float]


class ReferenceRuns(NamedTuple):
    """Reverse runs from reference states.

    Attributes:
        source: the origin of the states, as text.
        reverse: log weights, shape (n,).
        fractions: the fraction of the reference states' mass that each start represents.
        log_z: the log of the mass of these states; None if they represent the whole model.
        effective: the effective number of these reference states.
    """

    source: str
    reverse: np.ndarray
    fractions: np.ndarray
    log_z: float | None
    effective: float

    def possible_mass(self, fraction: float, value: float) -> float:
        """Return an upper bound on the mass, relative to Z, of a fraction of these states."""
        if self.log_z is not None:
            return fraction * float(np.exp(min(self.log_z - value, LARGEST_EXPONENT)))
        if fraction == 1.0:
            return np.inf
        return fraction / (1.0 - fraction)


class AnnealingRuns(NamedTuple):
    """Log weights of annealing runs in both directions along one schedule.

    Attributes:
        forward: log weights w of the forward runs, shape (n,); the mean of e^w estimates Z.
        reverse: log weights w of the reverse runs, shape (n,); the mean of e^w estimates 1/Z.
        log_shares: the log of the mass that each reverse start represents; None if all are equal.
        references: reverse runs from states of another origin.
        rounds: number of independent rounds with equally many chains.
    """

    forward: np.ndarray
    reverse: np.ndarray
    log_shares: np.ndarray | None = None
    references: Sequence[ReferenceRuns] = ()
    rounds: int = 1

    @classmethod
    def joined(cls, rounds: Sequence[AnnealingRuns]) -> AnnealingRuns:
        """Return the runs of several rounds, joined."""
        references = []
        for of_source in zip(*(runs.references for runs in rounds), strict=True):
            reverse = np.concatenate([runs.reverse for runs in of_source])
            fractions = np.concatenate([runs.fractions for runs in of_source]) / len(rounds)
            references.append(of_source[0]._replace(reverse=reverse, fractions=fractions))
        return cls(
            np.concatenate([runs.forward for runs in rounds]),
            np.concatenate([runs.reverse for runs in rounds]),
            np.concatenate([runs.shares for runs in rounds]),
            references,
            len(rounds),
        )

    @property
    def shares(self) -> np.ndarray:
        """The log of the mass that the start of each reverse run represents."""
        if self.log_shares is None:
            return np.zeros(len(self.reverse))
        return self.log_shares

    @property
    def weighted_reverse(self) -> np.ndarray:
        """The log weights of reverse runs, corrected for unequal shares of their starts."""
        return self.reverse + self.shares - log_mean_exp(self.shares)

    @property
    def lost(self) -> float:
        """The total work dissipated in both directions, in nats; 0 only for reversible runs."""
        return -float(self.forward.mean() + self.reverse.mean())

    def sandwich(self, groups: int) -> Sandwich:
        """Return the estimates of log Z from the runs in both directions."""
        return sandwich(self.forward, self.reverse, groups, self.shares)

    def undersampled_fraction(self, value: float, tolerance: float) -> float:
        """Return the fraction of the model's mass that too few forward chains reach.

        A reverse run that costs more than `reachable_cost` started in a region that forward chains
        reach only by chance. That cost is computed from the number of chains in one round, so it is
        the same for all rounds.
        """
        weights = relative_weights(self.shares)
        is_costly = self._is_costly(self.reverse, value, tolerance)
        return float(weights @ is_costly / weights.sum())

    def _is_costly(self, reverse: np.ndarray, value: float, tolerance: float) -> np.ndarray:
        """Return which reverse runs started in regions that too few forward chains reach."""
        return -value - reverse > self._reachable_cost(tolerance)

    def _reachable_cost(self, tolerance: float) -> float:
        return reachable_cost(len(self.forward) / self.rounds, tolerance)

    def warnings(self, estimate: Sandwich, tolerance: float) -> list[str]:
        """Return the reasons, apart from its width, not to rely on the narrow interval."""
        fraction = self.undersampled_fraction(estimate.value, tolerance)
        return broken(
            (
                abs(estimate.gap) < tolerance,
                f"forward and reverse estimates differ by {estimate.gap:.2f} nats",
            ),
            (fraction < tolerance / 3, f"too few chains reach {fraction:.0%} of the model's mass"),
            (estimate.ess >= TRUSTED_ESS, f"only {estimate.ess:.1f} chains carry the weight"),
            (estimate.groups >= FEWEST_GROUPS, f"too few independent groups ({estimate.groups})"),
        )

    def interval(self, estimate: Sandwich, tolerance: float) -> Ends:
        """Return the 95 % interval for estimates that agree.

        Mass that forward chains hardly reach makes the estimate too small, so the mass that may be
        missing raises the upper end.
        """
        low, high = estimate.interval
        missing = [self.possible_excess(estimate.value, tolerance)]
        missing += [mass for mass, _ in self.unreached(estimate.value, tolerance)]
        return low, high + float(np.log1p(max(missing)))

    def possible_excess(self, value: float, tolerance: float) -> float:
        """Return how far the mass that chains hardly reach may exceed its estimate, relative to Z.

        This mass is a fraction s of Z. It is estimated from the weights of k chains, so it is known
        no more precisely than the mean of a Poisson distribution of which a count of k was
        observed. With U the upper confidence limit of this mean, the mass may be larger by s (U/k −
        1).
        """
        fraction = self.undersampled_fraction(value, tolerance)
        count = max(1, int((self.forward - value > self._reachable_cost(tolerance)).sum()))
        return fraction * (most_expected(count) / count - 1.0)

    def wide_interval(
        self, estimate: Sandwich, tolerance: float, against: Sequence[float] = ()
    ) -> Ends:
        """Return an interval for estimates that disagree or depend on few chains.

        The lower end is a bound: forward chains are independent and the expectation of their
        weights is Z, so log Z is below `lower_mean_bound` with a probability of at most 2.5 %,
        whatever the distribution of the weights. The upper end is the same bound for independent
        groups of reverse runs, as if these had started from exact draws; it is raised for mass that
        chains hardly reach and for mass that reference states reveal. The interval encloses the
        narrow interval and the one-sided estimates; its upper end is also at least the highest
        value in `against`.
        """
        groups = np.array_split(self.weighted_reverse, estimate.groups)
        by_group = np.array([log_mean_exp(group) for group in groups])
        lows = [lower_mean_bound(self.forward, TAIL), estimate.lower, estimate.upper]
        highs = [-lower_mean_bound(by_group, TAIL), estimate.lower, estimate.upper]
        if estimate.groups > 1:
            low, high = self.interval(estimate, tolerance)
            lows.append(low)
            highs.append(high)
        excess = float(np.log1p(self.possible_excess(estimate.value, tolerance)))
        return float(min(lows)), float(max([max(highs) + excess, *against]))

    def unreached(self, value: float, tolerance: float) -> list[tuple[float, str]]:
        """Return the mass, relative to Z, that chains do not reach according to reference states.

        If reverse runs from the chains' own final states are as costly just as often, the chains
        already represent this mass. Only an excess beyond chance is evidence. The fraction s of
        costly reference states is as uncertain as their number, so its upper confidence limit is
        used. For rows, s is a fraction of the whole mass, of which the chains found 1 − s; for
        chains from another base, s is a fraction of the mass that those chains found.

        Returns:
            An upper bound on the mass, and a sentence, for each source of states with such
            evidence.
        """
        usual = self.undersampled_fraction(value, tolerance)
        usual_rate = float(self._is_costly(self.reverse, value, tolerance).mean())
        rate = max(usual, usual_rate, 0.5 / len(self.reverse))
        evidence = []
        for runs in self.references:
            is_costly = self._is_costly(runs.reverse, value, tolerance)
            fraction = float(runs.fractions @ is_costly)
            count = max(1.0, fraction * runs.effective)
            p_by_chance = tail_of_count(round(count), rate * runs.effective)
            if fraction <= usual or p_by_chance > BY_CHANCE:
                continue
            cost = float(np.median(-value - runs.reverse[is_costly]))
            mass = runs.possible_mass(min(1.0, fraction * most_expected(count) / count), value)
            # The cost of an unreached region limits its mass.
            mass = min(mass, float(np.expm1(min(cost, LARGEST_EXPONENT))))
            reason = (
                f"a fraction {fraction:.2g} of {runs.source} is in regions that hardly any chain"
                f" reached: reverse runs from these regions cost {cost:.1f} nats more than expected"
            )
            evidence.append((mass, reason))
        return evidence


def reachable_cost(chains: float | int, tolerance: float) -> float:
    """Return the cost, in nats, up to which forward chains reliably reach a reverse run's start.

    The cost of a reverse run with log weight w is c = −log Z − w. If the run started in a region of
    mass p, forward chains reach this region with probability p e^(−c). If c < log(n · tolerance /
    3), at least three of n chains are expected in such a region whose mass is the tolerance.
    """
    return float(np.log(chains * tolerance / 3.0))


def level_of_look(look: int) -> float:
    """Return the probability that the interval at this look (the first, second, …) misses log Z.

    Runs continue until a result converges, so any of several intervals may be the reported one. The
    probabilities of all looks add up to 5 %.
    """
    if look == 1:
        return FIRST_LOOK
    return (0.05 - FIRST_LOOK) * 0.5 ** (look - 1)


def tail_of_count(count: int, expected: float) -> float:
    """Return the probability that a Poisson variable with this mean is at least `count`."""
    term = np.exp(-expected)
    below = 0.0
    for k in range(count):
        below += term
        term *= expected / (k + 1)
    return float(max(0.0, 1.0 - below))


def contradictions(estimate: Sandwich, others: Sequence[np.ndarray]) -> list[tuple[str, float]]:
    """Return contradictions: lower bounds on log Z, from other bases, that are above the interval.

    Args:
        estimate: the estimate.
        others: log weights of forward runs from other bases.

    Returns:
        For each contradiction, a sentence and the highest log Z that it allows: the other base's
        estimate plus log 40 = 3.7 nats, by Markov's inequality.
    """
    high = estimate.value
    if estimate.groups > 1:  # otherwise the half-width is infinite
        high += estimate.half_width
    against = []
    for forward in others:
        bound = lower_mean_bound(forward, CONTRADICTED)
        if bound > high:
            reason = f"from another base log Z is at least {bound:.2f}"
            against.append((reason, float(log_mean_exp(forward)) + MARKOV))
    return against
