"""Weighted means, standard errors and tests, for NumPy or JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

BISECTIONS = 60  # bisection steps; they narrow an interval to below the rounding error
Z_95 = 1.959964  # a standard normal |z| is below this with probability 95 %


class Estimate(NamedTuple):
    """A value and its standard error, estimated from independent groups of chains.

    Attributes:
        value: the estimate from all groups together.
        stderr: the standard error of the estimate; NaN if there are fewer than two groups.
        groups: the number of groups.
    """

    value: float
    stderr: float
    groups: int

    @property
    def half_width(self) -> float:
        """The half-width of the 95 % interval (Student's t with groups − 1 degrees of freedom)."""
        if self.groups < 2:
            return float("inf")
        return self.stderr * student_95(self.groups - 1)


def student_95(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t distribution with `freedom` degrees of freedom.

    Source: Abramowitz & Stegun 1964, finite sums 26.7.3 and 26.7.4, here solved by bisection.
    """
    odd = freedom % 2
    # P(|T| ≤ √ν tan θ) = sin θ Σ_i c_i cos^i θ for even ν, and 2/π (θ + this expression) for odd ν.
    powers = np.arange(odd, freedom - 1, 2)
    ratios = (powers[1:] - 1) / powers[1:]
    factors = np.append(1.0, np.cumprod(ratios))[: len(powers)]

    def is_low(angle: float) -> bool:
        within = np.sin(angle) * (factors * np.cos(angle) ** powers).sum()
        if odd:
            within = 2.0 / np.pi * (angle + within)
        return within < 0.95

    return float(np.sqrt(freedom) * np.tan(_bisected(is_low, 0.0, np.pi / 2)))


def _bisected(is_low: Callable[[float], Any], low: float, high: float) -> float:
    """Return, by bisection, the largest number in an interval for which `is_low` holds."""
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if is_low(middle):
            low = middle
        else:
            high = middle
    return low


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1/(1 + e^(−x)), accurate in both tails."""
    return np.exp(-np.logaddexp(0.0, -x))


def log_sum_exp(values: Any, axis: int | None = None) -> Any:
    """Return log Σ e^x without overflow."""
    xp = values.__array_namespace__()
    most = xp.max(values, axis=axis, keepdims=True)
    most = xp.where(xp.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):  # log 0 is −∞
        logs = xp.log(xp.sum(xp.exp(values - most), axis=axis))
    return logs + most.reshape(logs.shape)


def log_mean_exp(values: Any, axis: int | None = None) -> Any:
    """Return the log of the mean of e^x without overflow."""
    count = values.size if axis is None else values.shape[axis]
    return log_sum_exp(values, axis) - np.log(count)


def lower_mean_bound(log_values: np.ndarray, level: float) -> float:
    """Return b such that the true mean of e^x is below e^b with probability at most `level`.

    `log_values` contains n independent draws of x. The bound holds for any n and any distribution
    of e^x, however heavy its tail. If the mean is m, then Π (1 + λ (e^x / m − 1)) has mean 1 for
    each λ from 0 to 1, and so has the average over λ = 1, 1/4, 1/16 … 1/n. By Markov's inequality
    this average exceeds 1/level with probability at most `level`. Means m for which the average
    exceeds 1/level are ruled out, and the bound is the smallest mean that is not ruled out. For a
    single draw, b = x + log(level); for many draws of small variance, b is close to the bound for a
    normal distribution.

    Source: Waudby-Smith & Ramdas 2024 (betting); Ville 1939.
    """
    stakes = 0.25 ** np.arange(int(np.log2(len(log_values))) // 2 + 1)[:, None]
    with np.errstate(divide="ignore"):  # log 0 occurs for λ = 1
        reserves = np.log1p(-stakes)
    estimate = float(log_mean_exp(log_values))
    limit = -np.log(level)

    def is_ruled_out(log_mean: float) -> bool:
        wealth = np.logaddexp(reserves, np.log(stakes) + log_values - log_mean).sum(1)
        return log_mean_exp(wealth) > limit

    return _bisected(is_ruled_out, estimate - limit - np.log(len(stakes)) - 5.0, estimate)


def most_expected(count: float) -> float:
    """Return the upper end of the 95 % confidence interval for a Poisson mean, given a count.

    The approximation of Wilson & Hilferty 1931, which is accurate to 1 %, is used.
    """
    k = count + 1.0
    return k * (1.0 - 1.0 / (9.0 * k) + Z_95 / (3.0 * np.sqrt(k))) ** 3


def jackknife(estimator: Callable[..., float], *samples: np.ndarray, groups: int) -> Estimate:
    """Return an estimate and its jackknife standard error, leaving out one group at a time.

    Chains that have interacted, for example through resampling, belong to the same group; different
    groups must be independent. Entry i of a sample of n entries belongs to group ⌊i·groups/n⌋.

    Args:
        estimator: a function that computes a number from the samples.
        samples: arrays whose last axis is divided into groups.
        groups: the number of groups.

    Source: Quenouille 1949; Tukey 1958.
    """
    places = [np.arange(s.shape[-1]) * groups // s.shape[-1] for s in samples]
    whole = estimator(*samples)
    if groups < 2:
        return Estimate(whole, float("nan"), groups)
    pairs = list(zip(samples, places, strict=True))
    left = [estimator(*(s[..., place != g] for s, place in pairs)) for g in range(groups)]
    return from_left_out(whole, np.array(left))


def from_left_out(whole: float, left: np.ndarray) -> Estimate:
    """Return the estimate from all groups, with its jackknife standard error.

    Args:
        whole: the estimate from all groups.
        left: the estimates that leave out one group each, shape (groups,), at least two groups.
    """
    groups = len(left)
    variance = (groups - 1) / groups * ((left - left.mean()) ** 2).sum()
    return Estimate(whole, float(np.sqrt(variance)), groups)


def weights_of(n: int, weights: Any = None) -> np.ndarray:
    """Return the weights of n rows in float64; all weights are 1 if none are given."""
    if weights is None:
        return np.ones(n)
    return np.asarray(weights, np.float64)


def effective_size(weights: Any) -> Any:
    """Return the effective sample size (Σw)² / Σw² over the last axis.

    Source: Kish 1965.
    """
    return weights.sum(-1) ** 2 / (weights**2).sum(-1)


def relative_weights(log_weights: Any) -> Any:
    """Return weights e^x divided by the largest weight, without overflow."""
    xp = log_weights.__array_namespace__()
    return xp.exp(log_weights - log_weights.max())


def resampled(weights: Any, n: int, offset: Any) -> Any:
    """Return n indices by systematic resampling: index i occurs n w_i/Σw times, up to rounding.

    Args:
        weights: non-negative weights, shape (m,).
        n: number of indices to draw.
        offset: a uniform random number between 0 and 1.

    Source: Kitagawa 1996.
    """
    xp = weights.__array_namespace__()
    ends = xp.cumsum(weights)
    points = (xp.arange(n) + offset) / n * ends[-1]
    # The search is to the right, so that no index of weight 0 is drawn. If the last point rounds up
    # to the sum of the weights, the last index of positive weight is drawn.
    last = xp.searchsorted(ends, ends[-1], side="left")
    return xp.minimum(xp.searchsorted(ends, points, side="right"), last)


def same_distribution(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Test whether two sets of draws have the same distribution, by one test of each feature.

    Args:
        ours: features of the first set of draws, shape (features, n).
        theirs: features of the second set of draws, shape (features, m).

    Returns:
        The smallest p-value, multiplied by the number of features (Bonferroni); 1 if no feature
        varies.

    Source: Mann & Whitney 1947.
    """
    from scipy.stats import mannwhitneyu  # imported here because it takes a third of a second

    varies = np.ptp(np.concatenate([ours, theirs], axis=1), axis=1) > 0
    if not varies.any():
        return 1.0
    test = mannwhitneyu(ours[varies], theirs[varies], axis=1, method="asymptotic")
    return float(min(1.0, varies.sum() * test.pvalue.min()))
