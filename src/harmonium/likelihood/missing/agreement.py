"""Whether forward and reverse annealing runs of incomplete rows agree, for many rows at once.

It asks of each row what `partition_function.agreement` asks of log Z, on arrays whose last axis is
the row. Plain NumPy in float64.
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
)

TOLERANCE = 0.25  # nats, of a row: of its gap and of the half width of its interval
FEWEST_CHAINS = 10.0  # that carry the weight of a row
DEVIATIONS = 2.0  # on either side of a 95 % interval
TAIL = 0.005  # probability that a row that has not converged lies beyond one end of its interval
REVERSE_GROUPS = 8  # of reverse runs, neighbours of which may have one parent
HALVINGS = 50


class RowRuns(NamedTuple):
    """Log weights of the annealing runs of n rows, with the known part of log Z added.

    Attributes:
        forward: shape (chains, n); the mean of e^w is Z of the row, e^(−F(v_seen)).
        reverse: shape (reverse chains, n), from resampled final states; the mean of e^w is 1/Z.
        parents: the forward chain that each reverse chain came from, shape (reverse chains, n).
        others: those of reverse runs from starts that do not come from the forward chains.
    """

    forward: Float[np.ndarray, "chains n"]
    reverse: Float[np.ndarray, "reverse n"]
    parents: Integer[np.ndarray, "reverse n"]
    others: Float[np.ndarray, "others n"]


class RowEstimates(NamedTuple):
    """Estimates of log Z of rows, −F(v_seen), nats; each entry has the shape (n,).

    Attributes:
        value: Bennett's ratio of both directions.
        half_width: half the 95 % interval of a row that has converged.
        gap: the reverse minus the forward estimate.
        low: lower end of the interval; value − half_width where it has converged.
        high: its upper end.
        converged: whether the interval can be relied on to be narrow.
        ess: effective number of chains, the smaller of both directions.
        lost: the work lost forward and in reverse together.
    """

    value: Float[np.ndarray, " n"]
    half_width: Float[np.ndarray, " n"]
    gap: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    converged: Bool[np.ndarray, " n"]
    ess: Float[np.ndarray, " n"]
    lost: Float[np.ndarray, " n"]


def bennett_ratios(
    forward: Float[np.ndarray, "chains n"], reverse: Float[np.ndarray, "reverse n"]
) -> Float[np.ndarray, " n"]:
    """Return Bennett's acceptance ratio of each row, as `partition_function.bridge.bennett`.

    It is the r at which Σ_forward σ(w − r + m) = Σ_reverse σ(w + r − m); the left side falls and
    the right side rises with r, so the interval between bounds is halved.

    Source: Bennett 1976.
    """
    m = np.log(len(reverse) / len(forward))
    reach = 50.0 + np.maximum(np.ptp(forward, axis=0), np.ptp(reverse, axis=0))
    ends = np.stack([log_mean_exp(forward, axis=0), -log_mean_exp(reverse, axis=0)])
    low = ends.min(0) - reach
    high = ends.max(0) + reach
    for _ in range(HALVINGS):
        r = 0.5 * (low + high)
        excess = _log_total(forward - r + m) - _log_total(reverse + r - m)
        low = np.where(excess > 0, r, low)
        high = np.where(excess > 0, high, r)
    return 0.5 * (low + high)


def _log_total(x: Float[np.ndarray, "k n"]) -> Float[np.ndarray, " n"]:
    """Return log Σ σ(x) over the first axis; a sum of small numbers would be 0."""
    return np.logaddexp.reduce(-np.logaddexp(0.0, -x), axis=0)


def estimates(runs: RowRuns) -> RowEstimates:
    """Return an estimate for each row, with its interval and whether it has converged.

    A row has converged if both directions agree within `TOLERANCE` and its interval is not wider,
    enough chains carry its weight, forward chains reach nearly all that its reverse runs start
    from, and no start lies where no chain came: none of the others costs more than the resampled
    chains, and no reverse run so much that forward chains would not even reach the whole mass from
    there. Otherwise its interval is `_wide_interval`.
    """
    forward = runs.forward
    reverse = runs.reverse
    value = bennett_ratios(forward, reverse)
    lower = log_mean_exp(forward, axis=0)
    upper = -log_mean_exp(reverse, axis=0)
    half = DEVIATIONS * _stderr(runs, value)
    sizes = [effective_size(np.exp(w - w.max(0)).T) for w in (forward, reverse)]
    ess = np.minimum(*sizes)
    known = _known(len(forward))
    costs = -value - reverse
    hardly_seen = (costs > known).mean(0)
    usual = np.maximum(known, costs.max(0))
    others = -value - runs.others
    dearest = np.maximum(costs.max(0), others.max(0))
    beyond = (others.max(0) > usual) | (dearest > known + np.log(len(forward)))
    gap = upper - lower
    half = np.hypot(half, 0.5 * gap)
    converged = (
        (np.abs(gap) < TOLERANCE)
        & (half < TOLERANCE)
        & (hardly_seen < TOLERANCE / 3.0)
        & (ess >= FEWEST_CHAINS)
        & ~beyond
    )
    low = value - half
    high = value + half
    for row in np.flatnonzero(~converged):
        own = RowRuns(*(each[:, row] for each in runs))
        low[row], high[row] = _wide_interval(own, float(value[row]), float(half[row]))
    lost = -(forward.mean(0) + reverse.mean(0))
    return RowEstimates(value, half, gap, low, high, converged, ess, lost)


def _known(chains: int) -> float:
    """Return the cost up to which forward chains reach any mass that matters, nats."""
    return float(np.log(chains * TOLERANCE / 3.0))


def _stderr(runs: RowRuns, value: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return the standard error of Bennett's ratio of each row, by families of chains.

    A family is a forward chain and the reverse runs that started from its final state. Its
    influence on r is (f − Σ_children g) / Σ [f (1 − f) + g (1 − g)]. The result is not below what
    independent runs would have.
    """
    n = len(runs.forward)
    reverse = len(runs.reverse)
    m = np.log(reverse / n)
    f = sigmoid(runs.forward - value + m)
    g = sigmoid(runs.reverse + value - m)
    family = f.copy()
    rows = np.broadcast_to(np.arange(f.shape[1]), g.shape)
    np.subtract.at(family, (runs.parents, rows), g)
    slope = (f * (1.0 - f)).sum(0) + (g * (1.0 - g)).sum(0)
    by_family = np.sqrt((family**2).sum(0) * n / (n - 1.0)) / np.maximum(slope, 1e-300)
    alone = sum(w.var(0) / np.maximum(w.mean(0), 1e-300) ** 2 / (len(w) - 1.0) for w in (f, g))
    return np.maximum(by_family, np.sqrt(alone))


def _wide_interval(runs: RowRuns, value: float, half: float) -> tuple[float, float]:
    """Return an interval for a row whose estimates do not agree, or of which few chains decide.

    Its lower end is a bound for weights of any distribution (`lower_mean_bound`). Its upper end is
    that bound for the reverse runs, and no less than what the dearest of all starts allows: one
    that costs c nats more lies in a region whose mass is at most e^c times the probability at which
    forward chains reach it. That is known from the number of those whose weight is as large.
    """
    chains = len(runs.forward)
    known = _known(len(runs.forward))
    groups = np.array_split(runs.reverse, REVERSE_GROUPS)
    by_group = np.array([log_mean_exp(part) for part in groups])
    ends = [value - half, value + half]
    ends += [float(log_mean_exp(runs.forward)), -float(log_mean_exp(runs.reverse))]
    low = min([lower_mean_bound(runs.forward, TAIL), *ends])
    high = max([-lower_mean_bound(by_group, TAIL), *ends])
    dearest = -value - min(float(runs.reverse.min()), float(runs.others.min()))
    if dearest > known:
        reached = most_expected(int((runs.forward - value > known).sum())) / chains
        high = max(high, value + float(np.logaddexp(0.0, dearest + np.log(reached))))
    return low, high


def resampled_chains(
    log_weights: Float[np.ndarray, "chains n"], count: int, offsets: Float[np.ndarray, " n"]
) -> Integer[np.ndarray, "count n"]:
    """Return for each row the indices of `count` chains, by systematic resampling in the row.

    Args:
        log_weights: of each chain of each row.
        count: how many to draw.
        offsets: a uniform random number between 0 and 1 for each row.

    Source: Kitagawa 1996.
    """
    of_rows = zip(np.exp(log_weights - log_weights.max(0)).T, offsets, strict=True)
    return np.stack([resampled(weights, count, offset) for weights, offset in of_rows], axis=1)
