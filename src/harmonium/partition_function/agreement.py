"""Whether annealing runs in both directions agree, and the interval that follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..statistics import log_mean_exp, lower_mean_bound, most_expected
from .base import TRUSTED_ESS
from .bridge import Sandwich, bennett

FEWEST_GROUPS = 4
TAIL = 0.025  # probability that log Z lies beyond one end of an interval
CONTRADICTED = 1e-3  # of a lower bound from another base
MARKOV = -float(np.log(TAIL))  # P(log Ẑ > log Z + b) ≤ e^(−b), whatever the weights
MET = "The forward and reverse estimates agree."
MOST_LOST = 2.0  # nats forward and in reverse together, for which more chains are enough
MOST_STRANGE = 0.05  # share of the given starts that may lie anywhere

Ends = tuple[float, float]


class AnnealingRuns(NamedTuple):
    """Log weights of annealing runs in both directions along one schedule.

    Attributes:
        forward: shape (n,); the mean of e^w estimates Z.
        reverse: those of the reverse runs, shape (n,); the mean of e^w estimates 1/Z.
        other: those of the reverse runs from the starts that the user gave; empty if none.
    """

    forward: np.ndarray
    reverse: np.ndarray
    other: np.ndarray

    @property
    def lost(self) -> float:
        """The work lost forward and in reverse together, nats; 0 only for reversible runs."""
        return -float(self.forward.mean() + self.reverse.mean())

    def hardly_seen(self, tolerance: float) -> float:
        """Return the share of the model's probability mass that too few forward chains reach.

        A reverse run that costs c nats more than log Z started from a region of mass p that forward
        chains reach with probability p e^(−c). If c < log(n · tolerance / 3), three of n chains
        would reach any such region whose mass is the tolerance. Where a reverse run costs more,
        forward chains find the mass only by chance.
        """
        costs = -bennett(self.forward, self.reverse) - self.reverse
        return float((costs > self._known(tolerance)).mean())

    def _known(self, tolerance: float) -> float:
        """Return the cost up to which forward chains reach any mass that matters, nats."""
        return float(np.log(len(self.forward) * tolerance / 3.0))

    def warnings(self, found: Sandwich, tolerance: float) -> list[str]:
        """Return the reasons not to rely on the narrow interval."""
        share = self.hardly_seen(tolerance)
        tests = {
            f"forward and reverse estimates differ by {found.gap:.2f} nats": (
                abs(found.gap) < tolerance
            ),
            f"the interval is ± {found.half_width:.2f} nats": found.half_width < tolerance,
            f"too few chains reach {share:.0%} of the model's mass": share < tolerance / 3,
            f"only {found.ess:.1f} chains carry the weight": found.ess >= TRUSTED_ESS,
            f"{found.groups} independent groups are too few": found.groups >= FEWEST_GROUPS,
        }
        return [why for why, fine in tests.items() if not fine]

    def wide_interval(
        self, found: Sandwich, tolerance: float, against: Sequence[float] = ()
    ) -> Ends:
        """Return an interval for estimates that do not agree, or of which few chains decide.

        Its lower end is a bound: forward chains are independent and the mean of their weights is
        Z, so log Z lies below `lower_mean_bound` with a probability of 2.5 % at most, whatever
        their distribution. Its upper end is that bound for the reverse runs, by independent groups,
        as if they had started from exact draws; then more for the mass that k forward chains hardly
        reach. Its share s is known no better than the mean of a Poisson distribution from a count
        of k, whose upper end is U: log(1 + s (U/k − 1)) more. Both ends enclose the narrow
        interval and the one-sided estimates; the upper end is also above all ends that are
        `against` this estimate.
        """
        count = max(1, int((self.forward - found.value > self._known(tolerance)).sum()))
        share = self.hardly_seen(tolerance)
        unknown = float(np.log1p(share * (most_expected(count) / count - 1.0)))
        by_group = np.array(
            [log_mean_exp(part) for part in np.array_split(self.reverse, found.groups)]
        )
        lows = [lower_mean_bound(self.forward, TAIL), found.lower, found.upper]
        highs = [-lower_mean_bound(by_group, TAIL), found.lower, found.upper]
        if found.groups > 1:
            lows, highs = [*lows, found.interval[0]], [*highs, found.interval[1]]
        highest = max([max(highs) + unknown, *against])
        return float(min(lows)), float(highest)

    def unreached_starts(self, found: Sandwich, tolerance: float) -> list[tuple[str, float]]:
        """Return a warning if some of the given starts may lie where no forward chain came.

        Where `hardly_seen` would count no mass, a mass that matters would have been found. Beyond
        that, at most one start in twenty may cost more than the reverse run of any resampled
        forward chain.

        If the starts are draws of the model, the share s of them is the share of its mass that no
        chain found, so log Z is −log(1 − s) higher; s is known as well as their count, whose upper
        end is taken. Their median cost c is the other limit: such a
        run's estimate of 1/Z is the region's 1/Z times the probability at which forward chains
        reach it, so its part of Z is at most e^c times what was found.

        Returns:
            A sentence and the highest log Z that this allows, or nothing.
        """
        costs, usual = (-found.value - w for w in (self.other, self.reverse))
        strange = costs[costs > max(self._known(tolerance), usual.max())]
        share = len(strange) / max(1, len(costs))
        if share <= MOST_STRANGE:
            return []
        apart = float(np.median(strange))
        why = (
            f"{share:.0%} of the starts (for a likelihood, the rows) lie where no chain came:"
            f" their reverse runs cost {apart:.1f} nats more"
        )
        share = most_expected(len(strange)) / len(costs)
        missing = -float(np.log1p(-share)) if share < 1.0 else np.inf
        return [(why, found.value + min(apart, missing))]


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
