"""Ratios of partition functions from work: Bennett's ratio between two ends, MBAR over a ladder.

Plain numerics on NumPy arrays in float64: whoever draws the states, by annealing, replica exchange
or otherwise, brings the energies here. A few lines stand in for SciPy's, whose import would take
longer than all that is done here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .errors import InputError

__all__ = [
    "Estimate",
    "Sandwich",
    "bennett",
    "bennett_stderr",
    "effective_size",
    "jackknife",
    "ladder_log_z",
    "log_mean_exp",
    "mbar",
    "sandwich",
]

Z_95 = 1.959964
MOST_STEPS, CLOSE = 200, 1e-12  # of a search for a root
BISECTIONS = 60  # of an interval of angles, below rounding


class Estimate(NamedTuple):
    """A value and the standard error that independent groups of chains give it.

    Attributes:
        value: the estimate from all groups together.
        stderr: its standard error, NaN where there are fewer than two groups.
        groups: number of groups.
    """

    value: float
    stderr: float
    groups: int

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval, by Student's t of one degree less than groups."""
        if self.groups < 2:
            return float("inf")
        return self.stderr * student_95(self.groups - 1)


def student_95(freedom: int) -> float:
    """Give the t that Student's |T| of so many degrees of freedom exceeds with probability 5 %.

    Source: the finite sums of Abramowitz & Stegun 1964, 26.7.3 and 26.7.4, bisected.
    """
    odd = freedom % 2
    # P(|T| ≤ √ν tan θ) = sin θ Σ_i c_i cos^i θ, to which an odd ν adds θ, all times 2/π.
    powers = np.arange(odd, freedom - 1, 2)
    ratios = (powers[1:] - 1) / powers[1:]
    factors = np.append(1.0, np.cumprod(ratios)) if len(powers) else np.zeros(0)
    low, high = 0.0, np.pi / 2
    for _ in range(BISECTIONS):
        angle = (low + high) / 2
        within = np.sin(angle) * (factors * np.cos(angle) ** powers).sum()
        within = 2.0 / np.pi * (angle + within) if odd else within
        low, high = (angle, high) if within < 0.95 else (low, angle)
    return float(np.sqrt(freedom) * np.tan(low))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Give 1/(1 + e^(−x)), accurate in both tails."""
    return np.exp(-np.logaddexp(0.0, -x))


def log_sum_exp(values: np.ndarray, axis: int | None = None) -> Any:
    """Give log Σ e^x."""
    most = np.max(values, axis=axis, keepdims=True)
    most = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):  # the log of nothing is −∞
        found = np.log(np.sum(np.exp(values - most), axis=axis))
    return found + most.reshape(np.shape(found))


def log_mean_exp(values: np.ndarray) -> float:
    """Give log of the mean of e^x."""
    return float(log_sum_exp(values) - np.log(np.size(values)))


def bennett(forward: np.ndarray, reverse: np.ndarray) -> float:
    """Give Bennett's acceptance ratio estimate of a log ratio from log weights of both journeys.

    The r that solves Σ_forward σ(w − r + m) = Σ_reverse σ(w + r − m), with log weights w of each
    journey and m = log(n_reverse / n_forward). For two machines without a journey between them,
    forward holds F_0 − F_1 at states of the first and reverse F_1 − F_0 at states of the second.

    Source: Bennett 1976; Shirts, Bair, Hooker & Pande 2003 (for journeys).
    """
    m = float(np.log(len(reverse) / len(forward)))
    sides = (log_mean_exp(forward), -log_mean_exp(reverse))
    reach = 50.0 + max(float(np.ptp(forward)), float(np.ptp(reverse)))
    low, high = min(sides) - reach, max(sides) + reach
    r = sum(sides) / 2
    # Newton's method between bounds, on the difference of both sums' logarithms, which has a slope
    # however far the ends lie apart.
    for _ in range(MOST_STEPS):
        (f, down), (g, up) = (_total(side) for side in (forward - r + m, reverse + r - m))
        excess, slope = f - g, down + up
        low, high = (r, high) if excess > 0 else (low, r)
        before, r = r, r + excess / slope if slope > 0 else low
        r = r if low < r < high else (low + high) / 2
        if abs(r - before) <= CLOSE * max(1.0, abs(r)):
            break
    return r


def _total(x: np.ndarray) -> tuple[float, float]:
    """Give log Σ σ(x), and its derivative by a number that is added to all x."""
    logs = -np.logaddexp(0.0, -x)
    total = float(log_sum_exp(logs))
    return total, float(np.exp(logs - total) @ -np.expm1(logs))


def bennett_stderr(forward: np.ndarray, reverse: np.ndarray) -> float:
    """Give the standard error of Bennett's ratio for independent journeys, to first order.

    With f = σ(w − r + m) of forward and g = σ(w + r − m) of reverse journeys, its square is

        (⟨f²⟩/⟨f⟩² − 1)/n_forward + (⟨g²⟩/⟨g⟩² − 1)/n_reverse

    Source: Bennett 1976.
    """
    r, m = bennett(forward, reverse), float(np.log(len(reverse) / len(forward)))
    shares = sigmoid(forward - r + m), sigmoid(reverse + r - m)
    return float(np.sqrt(sum((f.var() / f.mean() ** 2) / len(f) for f in shares)))


def jackknife(estimator: Callable[..., float], *samples: np.ndarray, groups: int) -> Estimate:
    """Give an estimate and its standard error, from leaving out one group of chains at a time.

    Chains that have exchanged anything, such as a common resampling, belong to one group; different
    groups must be independent. Entry i of n of a sample belongs to group ⌊i·groups/n⌋.

    Args:
        estimator: from samples to a number.
        samples: arrays whose last axis is cut into groups.
        groups: how many.

    Source: Quenouille 1949; Tukey 1958.
    """
    places = [np.arange(s.shape[-1]) * groups // s.shape[-1] for s in samples]
    whole = estimator(*samples)
    if groups < 2:
        return Estimate(whole, float("nan"), groups)
    left = np.array(
        [
            estimator(*(s[..., place != g] for s, place in zip(samples, places, strict=True)))
            for g in range(groups)
        ]
    )
    variance = (groups - 1) / groups * ((left - left.mean()) ** 2).sum()
    return Estimate(whole, float(np.sqrt(variance)), groups)


class Sandwich(NamedTuple):
    """log Z between the estimates of two directions.

    Attributes:
        value: Bennett's acceptance ratio between both.
        half_width: half the width of its 95 % interval.
        below: log of the mean weight forward, on average below log Z.
        above: the same of the way back, on average above it if the starts are exact draws.
        ess: Kish's effective number of chains, the smaller of both directions.
        groups: number of independent groups behind the interval.
    """

    value: float
    half_width: float
    below: float
    above: float
    ess: float
    groups: int

    @property
    def gap(self) -> float:
        """The estimate from above less that from below."""
        return self.above - self.below


def sandwich(forward: np.ndarray, reverse: np.ndarray, groups: int) -> Sandwich:
    """Combine log weights of journeys there, whose mean is Z, and back, whose mean is 1/Z.

    The interval is that of the jackknife, but not narrower than independent chains would give:
    sixteen groups know their own spread to a fifth.
    """
    middle = jackknife(bennett, forward, reverse, groups=groups)
    half = max(middle.half_width, Z_95 * bennett_stderr(forward, reverse))
    ess = min(effective_size(w) for w in (forward, reverse))
    ends = log_mean_exp(forward), -log_mean_exp(reverse)
    return Sandwich(middle.value, half, *ends, ess, groups)


def effective_size(log_weights: np.ndarray) -> float:
    """Give Kish's (Σw)² / Σw²: the number of chains that count."""
    return float(np.exp(2 * log_sum_exp(log_weights) - log_sum_exp(2 * log_weights)))


def mbar(energies: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Give log Z of every machine of a ladder less that of the first, from states of all of them.

    With u_k(x) the free energy of state x under machine k and n_k states drawn from machine k,

        Z_k = Σ_x e^(−u_k(x)) / Σ_l n_l e^(−u_l(x)) / Z_l

    which is the minimum of a convex function of the log Z. Of all estimators that use these states,
    it has the least asymptotic variance.

    Args:
        energies: u, shape (machines, states), nats; the order of the states is of no matter.
        counts: n, shape (machines,), states drawn from each machine; some may be 0.

    Raises:
        InputError: shapes that do not fit, or counts that do not add up.

    Source: Shirts & Chodera 2008.
    """
    u, n = np.asarray(energies, np.float64), np.asarray(counts, np.float64)
    if u.ndim != 2 or n.shape != u.shape[:1] or n.sum() != u.shape[1] or (n < 0).any():
        raise InputError(
            f"energies: expected shape (machines, states), and as counts one number of states for"
            f" each machine, all states together; got {u.shape} and {n.shape}, {n.sum():g} states."
        )
    from scipy.optimize import minimize  # a third of a second, for those who ask

    some = n > 0
    log_n = np.log(n[some])

    def terms(log_z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give log Σ_l n_l e^(−u_l)/Z_l of each state, and each machine's share in it."""
        logs = log_n[:, None] - u[some] - log_z[:, None]
        mixture = log_sum_exp(logs, axis=0)
        return mixture, np.exp(logs - mixture)

    def objective(free: np.ndarray) -> tuple[float, np.ndarray]:
        log_z = np.append(0.0, free)
        mixture, shares = terms(log_z)
        gradient = n[some] - shares.sum(1)
        return float(mixture.sum() + n[some] @ log_z), gradient[1:]

    def curvature(free: np.ndarray) -> np.ndarray:
        shares = terms(np.append(0.0, free))[1]
        return (np.diag(shares.sum(1)) - shares @ shares.T)[1:, 1:]

    start = (-u[some]).mean(1)
    free = (start - start[0])[1:]
    if len(free):
        found = minimize(objective, free, jac=True, hess=curvature, method="trust-exact")
        free = found.x
    mixture, _ = terms(np.append(0.0, free))
    log_z = log_sum_exp(-u - mixture, axis=1)
    return log_z - log_z[0]


def ladder_log_z(up: np.ndarray, down: np.ndarray) -> Estimate:
    """Give log Z of the last machine of a ladder less that of the first, from its replicas.

    The sum of Bennett's ratios between neighbours. The standard error is that of leaving out one
    column of replicas at a time, which keeps all that a column's replicas share, in time and by
    their swaps. Each ratio without a column is found by one step of Newton's method from that of
    all: with f = σ(w − r) of states below and g = σ(w + r) of states above,

        r without c = r − Σ_c (f − g) / Σ_others [f (1 − f) + g (1 − g)].

    Args:
        up: F_k − F_{k+1} at states of machine k, shape (steps, pairs, columns), nats.
        down: F_{k+1} − F_k at states of machine k + 1, likewise.

    Source: Bennett 1976; Quenouille 1949; Tukey 1958.
    """
    columns = up.shape[-1]
    whole, left = 0.0, np.zeros(columns)
    for k in range(up.shape[1]):
        lower, upper = np.asarray(up[:, k], np.float64), np.asarray(down[:, k], np.float64)
        r = bennett(lower.ravel(), upper.ravel())
        f, g = sigmoid(lower - r), sigmoid(upper + r)
        pull, hold = (f - g).sum(0), (f * (1 - f) + g * (1 - g)).sum(0)
        whole += r
        left += r - pull / np.maximum(hold.sum() - hold, 1e-300)
    if columns < 2:
        return Estimate(whole, float("nan"), columns)
    variance = (columns - 1) / columns * ((left - left.mean()) ** 2).sum()
    return Estimate(whole, float(np.sqrt(variance)), columns)
