"""How long chains remember: relaxation times from autocorrelations."""

import numpy as np

DOUBTS = 4.0  # standard errors that a lower bound keeps away from its estimate


def relaxation_of(tau: float) -> float:
    """Return −2 / log λ of the mode whose integrated autocorrelation time is τ."""
    return 2.0 / float(np.log((tau + 1.0) / (tau - 1.0))) if tau > 1.0 else 0.0


def certain_memory(x: np.ndarray) -> float:
    """Return a lower bound of the relaxation time, in draws, from (chains, draws) of an observable.

    The means of a chain over two successive blocks of m draws covary. Of a mode that forgets at the
    rate r, the slope of the second on the first is c(mr) ≤ (1 − e^(−y))² / (2 (y − 1 + e^(−y))),
    y = mr, and e^(−mr) where the chains began apart; that of an observable is an average over its
    modes, so the slowest has at least the slope measured. Chains being independent, its error is
    known whatever their memory: four standard errors are taken off, and the best m is used.
    """
    y = np.geomspace(1e-3, 20.0, 400)
    slopes = np.expm1(-y) ** 2 / (2.0 * (y + np.expm1(-y)))  # falls from 1 to 0
    best, m = 0.0, x.shape[1] // 2
    while m:
        blocks = x[:, : x.shape[1] // m * m].reshape(len(x), -1, m).mean(-1)
        blocks = blocks - blocks.mean(0)
        first, second = blocks[:, :-1], blocks[:, 1:]
        ours, both = (first**2).sum(1), (first * second).sum(1)
        if ours.sum() > 0:
            slope = both.sum() / ours.sum()
            error = np.sqrt(((both - slope * ours) ** 2).sum()) / ours.sum()
            y_most = np.interp(slope - DOUBTS * error, slopes[::-1], y[::-1], right=y[0])
            if slope - DOUBTS * error > slopes[-1]:
                best = max(best, 2.0 * m / float(y_most))
        m //= 2
    return best
