"""The strength of dependence between two columns, estimated from counts of their classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

QUANTILES = 6  # equally frequent classes of numbers, or of more than twice as many states


class Information(NamedTuple):
    """The mutual information of two columns, with degrees of freedom for a test of independence.

    Attributes:
        nats: the mutual information estimated from counts, in nats.
        freedom: the degrees of freedom of 2 · rows · nats, which has a χ² distribution for
            independent columns.
        rows: the number of rows in which both columns are known.
    """

    nats: float
    freedom: int
    rows: int

    def is_significant(self, level: float) -> bool:
        """Return whether a χ² test rejects independence of the columns at this level."""
        from scipy.special import chdtrc  # imported here: it takes a fifth of a second

        # By Wilks's theorem, 2 · rows · nats of independent columns has a χ² distribution.
        return bool(self.freedom and chdtrc(self.freedom, 2.0 * self.rows * self.nats) < level)

    @property
    def corrected(self) -> float:
        """The estimated information minus its expectation under independence, but at least 0."""
        return max(0.0, self.nats - self.freedom / (2.0 * max(1, self.rows)))


def classes_of(
    codes: np.ndarray, states: int | None, known: np.ndarray | None = None
) -> np.ndarray:
    """Assign codes to classes 0, 1, …, and missing codes to −1.

    Args:
        codes: the codes.
        states: the number of possible codes, or None for real numbers.
        known: the codes whose quantiles are the class limits; `codes` if None.
    """
    missing = np.isnan(codes)
    if states is None or states > 2 * QUANTILES:
        if known is None:
            known = codes
        edges = np.quantile(known[~np.isnan(known)], np.arange(1, QUANTILES) / QUANTILES)
        return np.where(missing, -1, np.searchsorted(np.unique(edges), codes, "right"))
    return np.where(missing, -1, codes).astype(int)


def information(first: np.ndarray, second: np.ndarray) -> Information:
    """Return the mutual information of two columns of classes, in which −1 means missing."""
    known = (first >= 0) & (second >= 0)
    rows = int(known.sum())
    if rows < 2:
        return Information(0.0, 0, rows)
    shape = first.max() + 1, second.max() + 1
    pairs = np.ravel_multi_index((first[known], second[known]), shape)
    p = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape) / rows
    p_first = p.sum(1, keepdims=True)
    p_second = p.sum(0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        nats = float(np.nansum(p * np.log(p / (p_first * p_second))))
    freedom = int(((p_first > 0).sum() - 1) * ((p_second > 0).sum() - 1))
    return Information(nats, freedom, rows)
