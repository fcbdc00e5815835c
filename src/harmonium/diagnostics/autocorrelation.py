"""Relaxation times of chains from autocorrelations."""

from typing import Any

import numpy as np

from .base import Observable

MARGIN = 4.0  # standard errors between an estimate and its lower bound


def relaxation_of(tau: float) -> float:
    """Return the relaxation time 2 / log[(τ + 1)/(τ − 1)] for the autocorrelation time τ."""
    if tau <= 1.0:
        return 0.0
    return 2.0 / float(np.log((tau + 1.0) / (tau - 1.0)))


def relaxation_bound(x: np.ndarray) -> float:
    """Return a lower bound on the relaxation time of an observable x, in draws.

    x has shape (chains, draws). Its means over two successive blocks of m draws of a chain are
    correlated. For a mode that decays at rate r, the regression slope of the second mean on the
    first is at most (1 − e^(−y))² / (2 (y − 1 + e^(−y))) with y = mr; if the chains started far
    apart, the slope is e^(−y). The slope of x is a weighted average of the slopes of its modes, so
    the slope of the slowest mode is at least as large as the slope of x. Chains are independent, so
    the standard error of the slope can be estimated whatever the autocorrelation within chains. For
    each m, four standard errors are subtracted from the slope, and the result is converted to a
    bound on the relaxation time. The largest of these bounds is returned.
    """
    y = np.geomspace(1e-3, 20.0, 400)
    slopes = np.expm1(-y) ** 2 / (2.0 * (y + np.expm1(-y)))  # falls from 1 to 0
    bound = 0.0
    m = x.shape[1] // 2  # first the two longest possible blocks; then m is halved again and again
    while m:
        blocks = x[:, : x.shape[1] // m * m].reshape(len(x), -1, m).mean(-1)
        blocks = blocks - blocks.mean(0)
        first = blocks[:, :-1]
        second = blocks[:, 1:]
        squares = (first**2).sum(1)
        products = (first * second).sum(1)
        if squares.sum() > 0:
            slope = products.sum() / squares.sum()
            error = np.sqrt(((products - slope * squares) ** 2).sum()) / squares.sum()
            least_slope = slope - MARGIN * error
            if least_slope > slopes[-1]:
                largest_y = np.interp(least_slope, slopes[::-1], y[::-1], right=y[0])
                bound = max(bound, 2.0 * m / float(largest_y))
        m //= 2
    return bound


def estimates(x: np.ndarray, every: int) -> Observable:
    """Estimate τ, the effective sample size, R̂ and the autocorrelation of one observable.

    The observable x has shape (chains, draws). Replacing values by ranks reduces the effect of
    heavy tails, but hides how far a rare mode is from the other modes. The effective sample size
    and R̂ are therefore computed with and without ranks, and the worse value of each is returned.
    """
    # Imported here because it takes half a second.
    from arviz_stats.base import array_stats  # pyright: ignore[reportPrivateImportUsage]

    axes: Any = {"chain_axis": 0, "draw_axis": 1}
    with np.errstate(all="ignore"):  # chains that do not move have no variance within chains
        sizes = [np.asarray(array_stats.ess(x, method=m, **axes)) for m in ("bulk", "mean")]
        rhats = [np.asarray(array_stats.rhat(x, method=m, **axes)) for m in ("rank", "split")]
    ess = float(min(sizes))
    rhat = float(max(rhats))
    if not np.isfinite(rhat):
        rhat = np.inf
    covariance = array_stats.autocov(x, axis=1).mean(0)
    within = covariance[0] * x.shape[1] / (x.shape[1] - 1)
    total = covariance[0] + x.mean(1).var(ddof=1)
    return Observable(every * x.size / ess, ess, rhat, 1.0 - (within - covariance) / total)
