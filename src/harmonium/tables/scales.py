"""Whether a few numbers that repeat are those of a scale, or names of states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .discrete import FEW_NUMBERS

ROUNDED = 10  # whole numbers that are all multiples of this or more are measured, not counted
FEWEST = 5  # numbers of a scale: fewer are states, of which a normal density would make one hill
# The part of what states explain that a scale must explain. Where it was 0.86, cells of 173 rows
# were filled with less error as numbers, and where it was 0.68 as states.
ENOUGH = 0.8
MOST_OTHERS = 256  # columns and states of others by which a scale is told


class Gains(NamedTuple):
    """What a column explains of the others, in nats on new rows as Akaike's criterion expects them.

    Attributes:
        scale: as numbers, with one slope for each other column.
        states: as states, with a mean for each.
    """

    scale: float
    states: float

    @property
    def is_scale(self) -> bool:
        """Whether the numbers are those of a scale, as others rise or fall with them."""
        return self.scale > max(0.0, ENOUGH * self.states)


def is_sparse(values: np.ndarray) -> bool:
    """Return whether numbers lie so far apart that others between them are to be expected.

    Ratings, numbers of legs and ages in years are neighbours on a lattice of at most `FEW_NUMBERS`
    points; salaries in thousands are not, or have a step that nobody counts in.
    """
    seen = np.unique(values)
    if len(seen) < FEWEST:
        return False
    if (seen != np.rint(seen)).any() or np.abs(seen).max() >= 2.0**53:
        step = float(np.diff(seen).min())
        points = (seen[-1] - seen[0]) / step
        return bool(points >= FEW_NUMBERS)
    step = int(np.gcd.reduce(np.diff(seen).astype(np.int64)))
    return bool(step >= ROUNDED or (seen[-1] - seen[0]) / step >= FEW_NUMBERS)


def gains(values: np.ndarray, others: Sequence[np.ndarray]) -> Gains:
    """Return what a column explains of other columns, as a scale and as states.

    Args:
        values: the column, NaN where a cell is missing.
        others: codes of other columns, or whether they have a state, NaN where that is missing.
    """
    known = ~np.isnan(values)
    score = _standardized(values[known])
    states, place = np.unique(values[known], return_inverse=True)
    counts = np.bincount(place)
    rows, scale, by_state = int(known.sum()), 0.0, 0.0
    for other in others[:MOST_OTHERS]:
        target = _standardized(other[known])
        means = np.bincount(place, target) / counts
        scale += _nats(float(score @ target / rows) ** 2, rows) - 1.0
        by_state += _nats(float(counts @ means**2) / rows, rows) - (len(states) - 1.0)
    return Gains(scale, by_state)


def _standardized(values: np.ndarray) -> np.ndarray:
    """Return numbers of mean 0 and variance 1; a missing one is 0."""
    centred = values - np.nanmean(values) if np.isfinite(values).any() else np.zeros(len(values))
    spread = float(np.sqrt(np.nanmean(centred**2))) if len(values) else 0.0
    return np.nan_to_num(centred) / (spread or 1.0)


def _nats(explained: float, rows: int) -> float:
    """Return the nats that a share of a variance is worth."""
    return -0.5 * rows * float(np.log1p(-min(explained, 1.0 - 1e-9)))


def targets_of(codes: np.ndarray, states: int | None) -> list[np.ndarray]:
    """Return the codes of a column, or whether each of its states is there."""
    if states is None or states == 2:
        return [codes]
    missing = np.isnan(codes)
    return [np.where(missing, np.nan, codes == state) for state in range(states)]
