"""Checks of the agreement of forward and reverse annealing runs, for many incomplete rows at once.

The checks are the same as those for log Z in `partition_function.agreement`, but for arrays whose
last axis runs over rows. They use NumPy with float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Integer

from ..._base.statistics import (
    effective_size,
    log_mean_exp,
    lower_mean_bound,
    most_expected,
    resampled,
    sigmoid,
    student_95,
)
from ..partition_function.agreement import reachable_cost
from ..partition_function.bridge import bennett

TOLERANCE = 0.25  # nats per row, for the gap and for the half-width of the interval
FEWEST_CHAINS = 10.0  # least effective number of chains per row
DEVIATIONS = 2.0  # standard errors on either side of a 95 % interval
TAIL = 0.005  # probability that F of an unconverged row is beyond one end of its interval
REVERSE_GROUPS = 8  # groups of reverse runs, since neighbouring runs may share a parent
LEAST_COMMON = 1e-6  # nats; positive, because `common` > 0 marks rows that were not annealed
SMALL_ERROR = 0.1  # nats: acceptable error of a mean over rows due to unconverged rows


class RowEnergies(NamedTuple):
    """Free energies F(v_seen) of rows and their 95 % intervals, in nats; fields of shape (n,).

    Attributes:
        value: the free energies; for annealed rows, from Bennett's ratio of both directions.
        half_width: the half-width of the interval if converged; 0 if the sum is exact.
        gap: the signed difference of the forward and reverse estimates.
        low: lower end of the interval; value − half_width if converged.
        high: upper end of the interval.
        converged: whether the interval value ± half_width is reliable.
        annealed: whether the value is an estimate that depends on annealing.
        common: for rows that could not be annealed in time, the error that their values have in
            common. The value of such a row is a bound minus the mean difference between bounds and
            values of annealed rows, and its `half_width` is twice the standard deviation of that
            difference. `common` is 0 for all other rows.
    """

    value: Float[np.ndarray, " n"]
    half_width: Float[np.ndarray, " n"]
    gap: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    converged: Bool[np.ndarray, " n"]
    annealed: Bool[np.ndarray, " n"]
    common: Float[np.ndarray, " n"]

    @classmethod
    def exact(cls, value: Float[np.ndarray, " n"]) -> RowEnergies:
        """Return the result for free energies that are known exactly."""
        n = len(value)
        return cls(
            value,
            half_width=np.zeros(n),
            gap=np.zeros(n),
            low=value.copy(),
            high=value.copy(),
            converged=np.ones(n, bool),
            annealed=np.zeros(n, bool),
            common=np.zeros(n),
        )

    def minus(self, others: RowEnergies) -> RowEnergies:
        """Return the differences of the free energies, with the errors of both."""
        return RowEnergies(
            self.value - others.value,
            half_width=np.hypot(self.half_width, others.half_width),
            gap=self.gap - others.gap,
            low=self.low - others.high,
            high=self.high - others.low,
            converged=self.converged & others.converged,
            annealed=self.annealed | others.annealed,
            common=self.common + others.common,
        )

    def put(self, rows: np.ndarray, energies: RowEnergies) -> None:
        """Replace the free energies and intervals of the given rows."""
        for array, values in zip(self, energies, strict=True):
            array[rows] = values

    def with_rest(
        self, is_annealed: Bool[np.ndarray, " n"], bounds: Float[np.ndarray, " n"]
    ) -> RowEnergies:
        """Return the result, in which rows that were not annealed have values from their bounds.

        The value of such a row is its bound minus the mean difference between bounds and values of
        the annealed rows, which must be a random sample of all rows. The error of this mean allows
        each annealed row that has not converged to be at the far end of its interval.

        Args:
            is_annealed: which rows have been annealed, at least two.
            bounds: an upper bound on F(v_seen) of each row.
        """
        known = RowEnergies(*(array[is_annealed] for array in self))
        difference = bounds[is_annealed] - known.value
        count = len(difference)
        deviation = float(difference.std(ddof=1))
        doubtful = np.maximum(known.high - known.value, known.value - known.low)
        doubtful = np.where(known.converged, 0.0, doubtful)
        common = student_95(count - 1) * deviation / np.sqrt(count) + doubtful.mean()
        common = max(common, LEAST_COMMON)
        value = bounds - difference.mean()
        half_width = DEVIATIONS * deviation
        rest = RowEnergies(
            value,
            half_width=np.full_like(value, half_width),
            gap=np.zeros_like(value),
            low=value - half_width - common,
            high=np.minimum(value + half_width + common, bounds),
            converged=np.zeros(len(value), bool),
            annealed=np.ones(len(value), bool),
            common=np.full_like(value, common),
        )
        return RowEnergies(
            *(np.where(is_annealed, own, other) for own, other in zip(self, rest, strict=True))
        )

    @property
    def is_from_bound(self) -> Bool[np.ndarray, " n"]:
        """Which rows have values computed from their bounds, not by annealing."""
        return self.common > 0

    def error_of_mean(self, fractions: Float[np.ndarray, " n"]) -> tuple[float, float]:
        """Return by how many nats the true mean of F may be below and above the estimated mean.

        Errors of converged rows are independent, except that half of the mean gap between forward
        and reverse estimates may be an error common to all of them. The error of an unconverged row
        may be as large as its interval allows, and may have the same sign for all such rows. Rows
        that were not annealed have independent errors and one common error.

        Args:
            fractions: the weights of the rows, which sum to 1.
        """
        sure = np.where(self.converged | self.is_from_bound, fractions, 0.0)
        doubtful = fractions - sure
        common = abs(float(sure @ self.gap)) / 2.0 + float(sure @ self.common)
        within = float(np.sqrt(np.sum((sure * self.half_width) ** 2))) + common
        below = self.value - self.low
        above = self.high - self.value
        return within + float(doubtful @ below), within + float(doubtful @ above)

    def is_mean_known(self, fractions: Float[np.ndarray, " n"]) -> bool:
        """Return whether all annealed rows have converged, or other rows hardly affect the mean."""
        is_sure = self.converged | self.is_from_bound
        if is_sure.all() and float(fractions @ self.common) < TOLERANCE:
            return True
        return max(self.error_of_mean(fractions)) < SMALL_ERROR


class RowRuns(NamedTuple):
    """Log weights of the annealing runs of n rows, including the known log Z of their start.

    Attributes:
        forward: log weights w of the forward runs, shape (chains, n); the mean of e^w estimates the
            row's Z = e^(−F(v_seen)).
        reverse: log weights w of the reverse runs from resampled final states, shape (reverse
            chains, n); the mean of e^w estimates 1/Z.
        parents: the forward chain that each reverse chain came from, shape (reverse chains, n).
        others: log weights of reverse runs whose starts are not from the forward chains.
    """

    forward: Float[np.ndarray, "chains n"]
    reverse: Float[np.ndarray, "reverse n"]
    parents: Integer[np.ndarray, "reverse n"]
    others: Float[np.ndarray, "others n"]

    @property
    def lost(self) -> Float[np.ndarray, " n"]:
        """The total dissipated work of the forward and reverse runs, in nats."""
        return -(self.forward.mean(0) + self.reverse.mean(0))


def energies_from(runs: RowRuns) -> RowEnergies:
    """Return an estimate for each row, with its interval and whether it has converged.

    A row has converged if the two directions agree within `TOLERANCE`, the half-width of its
    interval is at most `TOLERANCE`, its effective number of chains is sufficient, forward chains
    reach nearly all starts of its reverse runs, and no start is in a region that no chain reached.
    The last condition requires that no reverse run from a start of another origin costs more than
    the runs from resampled chains, and that no reverse run costs so much that forward chains would
    miss its start even if the region around this start contained the whole mass. The interval of a
    row that has not converged is computed by `_wide_interval`.
    """
    forward = runs.forward
    reverse = runs.reverse
    log_z = bennett(forward, reverse)
    gap = -log_mean_exp(reverse, axis=0) - log_mean_exp(forward, axis=0)
    half_width = np.hypot(DEVIATIONS * _stderr(runs, log_z), 0.5 * gap)
    sizes = [effective_size(np.exp(w - w.max(0)).T) for w in (forward, reverse)]
    reachable = reachable_cost(len(forward), TOLERANCE)
    costs = -log_z - reverse
    costs_of_others = -log_z - runs.others
    most_usual = np.maximum(reachable, costs.max(0))
    most = np.maximum(costs.max(0), costs_of_others.max(0))
    converged = (
        (np.abs(gap) < TOLERANCE)
        & (half_width < TOLERANCE)
        & ((costs > reachable).mean(0) < TOLERANCE / 3.0)
        & (np.minimum(*sizes) >= FEWEST_CHAINS)
        & (costs_of_others.max(0) <= most_usual)
        & (most <= reachable + np.log(len(forward)))
    )
    low = log_z - half_width
    high = log_z + half_width
    for row in np.flatnonzero(~converged):
        of_row = RowRuns(*(array[:, row] for array in runs))
        low[row], high[row] = _wide_interval(of_row, float(log_z[row]), float(half_width[row]))
    annealed = np.ones(len(log_z), bool)
    common = np.zeros(len(log_z))
    return RowEnergies(-log_z, half_width, gap, -high, -low, converged, annealed, common)


def _stderr(runs: RowRuns, log_z: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return the standard error of each row's Bennett ratio, from independent families of chains.

    A family is a forward chain and the reverse runs that started from its final state. With f and g
    as in `bennett_stderr`, the influence of a family on the ratio r is (f − Σ_children g) / Σ [f (1
    − f) + g (1 − g)]. The result is never smaller than the standard error for independent runs.
    """
    n = len(runs.forward)
    m = np.log(len(runs.reverse) / n)
    f = sigmoid(runs.forward - log_z + m)
    g = sigmoid(runs.reverse + log_z - m)
    family = f.copy()
    rows = np.broadcast_to(np.arange(f.shape[1]), g.shape)
    np.subtract.at(family, (runs.parents, rows), g)
    slope = (f * (1.0 - f)).sum(0) + (g * (1.0 - g)).sum(0)
    by_family = np.sqrt((family**2).sum(0) * n / (n - 1.0)) / np.maximum(slope, 1e-300)
    variance = sum(w.var(0) / np.maximum(w.mean(0), 1e-300) ** 2 / (len(w) - 1.0) for w in (f, g))
    return np.maximum(by_family, np.sqrt(variance))


def _wide_interval(runs: RowRuns, log_z: float, half_width: float) -> tuple[float, float]:
    """Return an interval for a row whose estimates disagree or depend on few chains.

    The lower end of the interval is a bound that holds for any distribution of the weights
    (`lower_mean_bound`). The upper end is the same bound for the reverse runs, but at least the
    value that the costliest start allows: a start whose reverse run costs c nats more than expected
    is in a region whose mass is at most e^c times the probability that forward chains reach the
    region. This probability is estimated from the number of forward chains with exceptionally large
    weights.
    """
    chains = len(runs.forward)
    reachable = reachable_cost(chains, TOLERANCE)
    groups = np.array_split(runs.reverse, REVERSE_GROUPS)
    by_group = np.array([log_mean_exp(group) for group in groups])
    ends = [log_z - half_width, log_z + half_width]
    ends += [float(log_mean_exp(runs.forward)), -float(log_mean_exp(runs.reverse))]
    low = min([lower_mean_bound(runs.forward, TAIL), *ends])
    high = max([-lower_mean_bound(by_group, TAIL), *ends])
    dearest = -log_z - min(float(runs.reverse.min()), float(runs.others.min()))
    if dearest > reachable:
        reached = most_expected(int((runs.forward - log_z > reachable).sum())) / chains
        high = max(high, log_z + float(np.logaddexp(0.0, dearest + np.log(reached))))
    return low, high


def resampled_chains(
    log_weights: Float[np.ndarray, "chains n"], count: int, offsets: Float[np.ndarray, " n"]
) -> Integer[np.ndarray, "count n"]:
    """Return the indices of `count` chains for each row, drawn by systematic resampling.

    Args:
        log_weights: log weights of the chains of each row.
        count: number of chains to draw.
        offsets: a uniform random number between 0 and 1 for each row.

    Source: Kitagawa 1996.
    """
    by_row = zip(np.exp(log_weights - log_weights.max(0)).T, offsets, strict=True)
    return np.stack([resampled(weights, count, offset) for weights, offset in by_row], axis=1)
