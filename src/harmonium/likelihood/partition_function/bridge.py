"""Ratios of partition functions: Bennett's ratio between two models, and MBAR over a ladder.

Plain numerics on NumPy arrays in float64. The energies are passed in, so the states may be drawn by
annealing, by replica exchange or in any other way. A few lines replace SciPy functions, whose
import would take longer than all computations in this module.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ..._base.statistics import (
    Z_95,
    Estimate,
    effective_size,
    from_left_out,
    jackknife,
    log_mean_exp,
    log_sum_exp,
    relative_weights,
    sigmoid,
)
from ...errors import InputError

# The search for Bennett's root: the number of Newton steps, and the final relative change.
MOST_STEPS = 200
CLOSE = 1e-12


def bennett(forward: np.ndarray, reverse: np.ndarray, log_shares: np.ndarray | None = None) -> Any:
    """Return Bennett's acceptance ratio estimate of a log ratio of partition functions.

    For log weights w of annealing runs in both directions, the estimate is the r that solves
    Σ_forward σ(w − r + m) = Σ_reverse ω σ(w + r − m), with m = log(n_reverse / n_forward). For two
    models without annealing between them, `forward` holds F_0 − F_1 at states of the first model
    and `reverse` F_1 − F_0 at states of the second.

    Args:
        forward: log weights of forward runs, nats, shape (n_forward, ...).
        reverse: log weights of reverse runs, shape (n_reverse, ...).
        log_shares: log ω, with ω the share of the model that each reverse start represents, up to a
            common factor; None if all shares are equal.

    Returns:
        One ratio for each entry of the other axes; a number for runs of shape (n,).

    Source: Bennett 1976; Shirts, Bair, Hooker & Pande 2003 (for annealing runs).
    """
    m = np.log(len(reverse) / len(forward))
    log_shares = _normalised(log_shares, reverse)
    estimates = np.stack(
        [log_mean_exp(forward, axis=0), -log_mean_exp(reverse + log_shares, axis=0)]
    )
    margin = 50.0 + np.maximum(np.ptp(forward, axis=0), np.ptp(reverse, axis=0))
    low = estimates.min(0) - margin
    high = estimates.max(0) + margin
    r = estimates.sum(0) / 2
    # Newton's method between bounds, on the difference of the logarithms of both sums: its slope
    # does not vanish, however much the forward and reverse estimates differ.
    for _ in range(MOST_STEPS):
        log_forward, slope_down = _total(forward - r + m)
        log_reverse, slope_up = _total(reverse + r - m, log_shares)
        excess = log_forward - log_reverse  # decreases with r
        low = np.where(excess > 0, r, low)
        high = np.where(excess > 0, high, r)
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN is not between bounds
            newton = r + excess / (slope_down + slope_up)
        before = r
        r = np.where((low < newton) & (newton < high), newton, (low + high) / 2)
        if (np.abs(r - before) <= CLOSE * np.maximum(1.0, np.abs(r))).all():
            break
    return r[()]  # convert an array of shape () to a number


def _normalised(log_shares: np.ndarray | None, reverse: np.ndarray) -> np.ndarray:
    """Return the logs of the shares after scaling the shares to a mean of 1."""
    if log_shares is None:
        return np.zeros_like(reverse)
    return log_shares - log_mean_exp(log_shares)


def _total(x: np.ndarray, log_shares: np.ndarray | float = 0.0) -> tuple[Any, Any]:
    """Return log Σ ω σ(x), and its derivative with respect to a constant added to all x."""
    logs = -np.logaddexp(0.0, -x)
    total = log_sum_exp(logs + log_shares, axis=0)
    return total, (np.exp(logs + log_shares - total) * -np.expm1(logs)).sum(0)


def bennett_stderr(
    forward: np.ndarray, reverse: np.ndarray, log_shares: np.ndarray | None = None
) -> float:
    """Return the standard error of Bennett's ratio for independent annealing runs, to first order.

    With f = σ(w − r + m) for forward runs and g = σ(w + r − m) for reverse runs, and r and m as in
    `bennett`, the square of the standard error is

        (⟨f²⟩/⟨f⟩² − 1)/n_forward + Σ ω² (g − ⟨g⟩)² / (⟨g⟩ Σ ω)²,    where ⟨g⟩ = Σ ω g / Σ ω

    Source: Bennett 1976.
    """
    m = float(np.log(len(reverse) / len(forward)))
    r = bennett(forward, reverse, log_shares)
    f = sigmoid(forward - r + m)
    g = sigmoid(reverse + r - m)
    shares = np.exp(_normalised(log_shares, reverse)) / len(reverse)
    mean = shares @ g
    deviations = shares * (g - mean)
    variance = f.var() / f.mean() ** 2 / len(f) + deviations @ deviations / mean**2
    return float(np.sqrt(variance))


class Sandwich(NamedTuple):
    """log Z with its lower and upper estimates.

    Attributes:
        value: Bennett's acceptance ratio of both directions.
        half_width: the half-width of its 95 % interval.
        lower: log of the mean weight of the forward runs, on average below log Z.
        upper: the estimate of the reverse runs, on average above log Z if they start from exact
            draws.
        ess: Kish's effective number of chains, the minimum over the two directions.
        groups: number of independent groups from which the interval is computed.
    """

    value: float
    half_width: float
    lower: float
    upper: float
    ess: float
    groups: int

    @property
    def gap(self) -> float:
        """The upper estimate minus the lower estimate."""
        return self.upper - self.lower

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of log Z; infinite for fewer than two groups."""
        return self.value - self.half_width, self.value + self.half_width

    def at_level(self, level: float) -> Sandwich:
        """Return the result with an interval that misses log Z with probability `level`."""
        factor = NormalDist().inv_cdf(1.0 - level / 2.0) / Z_95
        return self._replace(half_width=factor * self.half_width)


def sandwich(
    forward: np.ndarray, reverse: np.ndarray, groups: int, log_shares: np.ndarray | None = None
) -> Sandwich:
    """Estimate log Z from log weights of forward runs (mean weight Z) and reverse runs (1/Z).

    The interval comes from a jackknife over groups, but is never narrower than the interval for
    independent chains, since sixteen groups determine its width only to within about a fifth.

    Args:
        forward: log weights of forward runs, nats, group after group.
        reverse: log weights of reverse runs, in the same order.
        groups: number of independent groups.
        log_shares: the share of the model that each reverse run represents, as in `bennett`.
    """
    log_shares = _normalised(log_shares, reverse)
    middle = jackknife(bennett, forward, reverse, log_shares, groups=groups)
    half = max(middle.half_width, Z_95 * bennett_stderr(forward, reverse, log_shares))
    weighted = reverse + log_shares
    return Sandwich(
        value=middle.value,
        half_width=float(half),
        lower=float(log_mean_exp(forward)),
        upper=-float(log_mean_exp(weighted)),
        ess=smaller_effective_size(forward, weighted),
        groups=groups,
    )


def smaller_effective_size(forward: np.ndarray, reverse: np.ndarray) -> float:
    """Return Kish's effective number of chains, the minimum over the two directions."""
    return min(float(effective_size(relative_weights(w))) for w in (forward, reverse))


def mbar(energies: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return log Z of each model of a ladder minus log Z of the first, from states of all models.

    If u_k(x) is the free energy of state x under model k, and n_k states were drawn from model k,

        Z_k = Σ_x e^(−u_k(x)) / Σ_l n_l e^(−u_l(x)) / Z_l

    These equations are solved by minimising a convex function of the values log Z_k. Of all
    estimators that use these states, this one has the least asymptotic variance.

    Args:
        energies: u, shape (models, states), nats; the order of the states does not matter.
        counts: n, shape (models,), the number of states drawn from each model; some may be 0.

    Raises:
        InputError: the shapes do not match, or the counts do not add up.

    Source: Shirts & Chodera 2008.
    """
    u = np.asarray(energies, np.float64)
    n = np.asarray(counts, np.float64)
    if u.ndim != 2 or n.shape != u.shape[:1] or n.sum() != u.shape[1] or (n < 0).any():
        raise InputError(
            "energies: expected shape (models, states), with counts of shape (models,) that add up"
            f" to the number of states; got {u.shape}, with counts of shape {n.shape} and sum"
            f" {n.sum():g}."
        )
    from scipy.optimize import minimize  # imported here because it takes a third of a second

    has_states = n > 0
    sampled_u = u[has_states]
    sampled_n = n[has_states]
    log_n = np.log(sampled_n)

    def terms(log_z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log Σ_l n_l e^(−u_l)/Z_l for each state, and each model's share of the sum."""
        logs = log_n[:, None] - sampled_u - log_z[:, None]
        mixture = log_sum_exp(logs, axis=0)
        return mixture, np.exp(logs - mixture)

    def objective(free: np.ndarray) -> tuple[float, np.ndarray]:
        log_z = np.append(0.0, free)
        mixture, shares = terms(log_z)
        gradient = sampled_n - shares.sum(1)
        return float(mixture.sum() + sampled_n @ log_z), gradient[1:]

    def curvature(free: np.ndarray) -> np.ndarray:
        shares = terms(np.append(0.0, free))[1]
        return (np.diag(shares.sum(1)) - shares @ shares.T)[1:, 1:]

    start = (-sampled_u).mean(1)
    free = (start - start[0])[1:]  # log Z of all models except the first, which is set to 0
    if len(free):
        free = minimize(objective, free, jac=True, hess=curvature, method="trust-exact").x
    mixture, _ = terms(np.append(0.0, free))
    log_z = log_sum_exp(-u - mixture, axis=1)
    return log_z - log_z[0]


def ladder_log_z(up: np.ndarray, down: np.ndarray) -> Estimate:
    """Return log Z of the last model of a ladder minus log Z of the first, from its replicas.

    The estimate is the sum of Bennett's ratios between neighbours. The standard error comes from a
    jackknife that leaves out one column of replicas at a time; this accounts for all correlations
    within a column, in time and through swaps. Each ratio without a column is computed by one
    Newton step from the ratio r of all columns: with f = σ(w − r) for states of the lower model and
    g = σ(w + r) for states of the upper model,

        r without c = r − Σ_c (f − g) / Σ_others [f (1 − f) + g (1 − g)].

    Args:
        up: F_k − F_{k+1} at states of model k, shape (steps, pairs, columns), nats.
        down: F_{k+1} − F_k at states of model k + 1, of the same shape.

    Source: Bennett 1976; Quenouille 1949; Tukey 1958.
    """
    columns = up.shape[-1]
    whole = 0.0
    left_out = np.zeros(columns)
    for k in range(up.shape[1]):
        lower = np.asarray(up[:, k], np.float64)
        upper = np.asarray(down[:, k], np.float64)
        r = bennett(lower.ravel(), upper.ravel())
        f = sigmoid(lower - r)
        g = sigmoid(upper + r)
        excess = (f - g).sum(0)
        slope = (f * (1 - f) + g * (1 - g)).sum(0)
        whole += r
        left_out += r - excess / np.maximum(slope.sum() - slope, 1e-300)
    if columns < 2:
        return Estimate(whole, float("nan"), columns)
    return from_left_out(whole, left_out)
