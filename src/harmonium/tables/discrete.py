"""Discrete columns: numbers, of which some are repeated."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .base import AbstractPart, ColumnKind, Guess, check_numbers, step_of
from .frames import RawColumn
from .numbers import FEW_NUMBERS

OWN_FRACTION = 0.02  # if there are many numbers, those with this fraction of the rows are states
# The other numbers are grouped into cells, each with at least this many of their rows:
CELL_ROWS = 20
CELL_FRACTION = 0.03


@dataclass(frozen=True, kw_only=True)
class Discrete(AbstractPart):
    """Numbers of which some are repeated; the states are frequent numbers, and ranges of the rest.

    Numbers are integer multiples of a step. Here, a cell is a range of numbers that form one state.
    Within a cell, the probability of each number is proportional to its count plus an equal share
    of one pseudo-observation.

    Attributes:
        step: the unit in which the numbers are integers.
        starts: the first multiple of each cell except the first cell, which has no lower end.
        points: multiples that are separate states, which come after the states of the cells.
        seen, counts: the sorted multiples that occur in the data, and how often each occurs.
        ordered: whether the weights of the unit are expected to be monotonic in the numbers, unlike
            the weights for numbers that are codes.
    """

    kind = ColumnKind.DISCRETE
    step: float
    starts: tuple[int, ...]
    points: tuple[int, ...]
    seen: tuple[int, ...]
    counts: tuple[int, ...]
    ordered: bool = False

    @classmethod
    def of(cls, raw: RawColumn, name: str) -> Discrete:
        """Determine the states that model a column of numbers."""
        step = step_of(raw.known)
        multiples = np.rint(raw.known / step).astype(np.int64)
        seen, counts = np.unique(multiples, return_counts=True)
        if len(seen) <= FEW_NUMBERS:
            # Each number has a separate cell, which ends halfway to the next number, rounded up.
            starts = [int(-(-(low + high) // 2)) for low, high in itertools.pairwise(seen)]
            points: np.ndarray = np.array([], int)
        else:
            is_point = counts >= max(OWN_FRACTION * counts.sum(), CELL_ROWS)
            points = seen[is_point]
            starts = _starts_of_cells(seen, counts * ~is_point)
        return cls(
            name=name,
            form=raw.form,
            digits=raw.digits,
            step=step,
            starts=tuple(starts),
            points=tuple(points.tolist()),
            seen=tuple(seen.tolist()),
            counts=tuple(counts.tolist()),
        )

    @property
    def states(self) -> int:
        return max(2, len(self.starts) + 1 + len(self.points))  # a unit has at least 2

    @property
    def order(self) -> tuple[int, ...]:
        """The states sorted by their mean number; a state that never occurs comes last."""
        if not self.ordered:
            return ()
        return tuple(np.argsort(self._means, kind="stable").tolist())

    @property
    def summary(self) -> str:
        if len(self.seen) <= FEW_NUMBERS // 2:
            return ", ".join(self.shown(number * self.step) for number in self.seen)
        low = self.shown(self.seen[0] * self.step)
        high = self.shown(self.seen[-1] * self.step)
        return f"{low} … {high}, {self.states} states"

    def _numbers(self, multiples: np.ndarray) -> np.ndarray:
        """Convert multiples of the step to numbers, without the rounding error of the product."""
        digits = max(0, round(-np.log10(self.step)))
        return np.round(np.asarray(multiples, float) * self.step, digits)

    def _multiples(self, raw: RawColumn) -> np.ndarray:
        return np.rint(np.nan_to_num(raw.values) / self.step).astype(np.int64)

    def _cell_of(self, multiples: np.ndarray) -> np.ndarray:
        cells = np.searchsorted(self.starts, multiples, side="right")
        points = np.array(self.points, np.int64)
        place = np.searchsorted(points, multiples)
        is_point = np.isin(multiples, points)
        return np.where(is_point, len(self.starts) + 1 + place, cells)

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        check_numbers(raw, label)
        return np.where(raw.is_missing, np.nan, self._cell_of(self._multiples(raw)))

    @property
    def _cells_of_seen(self) -> np.ndarray:
        return self._cell_of(np.array(self.seen))

    @property
    def _rows(self) -> np.ndarray:
        """The number of rows in each state."""
        return np.bincount(self._cells_of_seen, self.counts, minlength=self.states)

    @property
    def _means(self) -> np.ndarray:
        """The mean of the observed multiples in each state; ∞ for a state that never occurs."""
        sums = np.bincount(self._cells_of_seen, np.multiply(self.seen, self.counts), self.states)
        return np.where(self._rows > 0, sums / np.maximum(self._rows, 1), np.inf)

    @property
    def _widths(self) -> np.ndarray:
        """The number of multiples in each cell, within the observed range and excluding points."""
        limits = np.array([self.seen[0], *self.starts, self.seen[-1] + 1])
        widths = np.zeros(self.states)
        widths[: len(limits) - 1] = np.diff(limits)
        np.subtract.at(widths, np.searchsorted(self.starts, self.points, side="right"), 1)
        return widths

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log density of each number given its state, per unit of the column.

        One pseudo-observation is divided equally among the numbers of a cell. In the first and the
        last cell, another pseudo-observation is distributed geometrically over the numbers outside
        the observed range.
        """
        multiples = self._multiples(raw)
        cell = self._cell_of(multiples)
        last = len(self.starts)
        place = np.minimum(np.searchsorted(self.seen, multiples), len(self.seen) - 1)
        is_seen = np.take(self.seen, place) == multiples
        count = np.where(is_seen, np.take(self.counts, place), 0)
        inside = np.log(count + 1.0 / np.maximum(self._widths[cell], 1))
        low = self.seen[0]
        high = self.seen[-1]
        scale = max(1.0, (high - low) / 10.0)
        beyond = np.maximum(low - multiples, multiples - high)
        tail = np.log(-np.expm1(-1 / scale)) - (beyond - 1) / scale
        observations_beyond = (cell == 0).astype(float) + (cell == last)  # 2 for a single cell
        log_total = np.log(self._rows[cell] + 1.0 + observations_beyond)
        log_p = np.where(beyond > 0, tail, inside) - log_total
        # A point is the only number of its state.
        log_p = np.where((beyond <= 0) & (cell > last), 0.0, log_p)
        return np.where(raw.is_missing, 0.0, log_p - np.log(self.step))

    def state_names(self) -> list[str]:
        """Return the observed number of each state, or its lowest and highest numbers, as text."""
        numbers = np.array(self.seen) * self.step
        cell = self._cells_of_seen
        names = []
        for code in range(self.states):
            inside = numbers[cell == code]
            ends = sorted(set(inside[[0, -1]].tolist())) if len(inside) else []
            names.append(" … ".join(map(self.shown, ends)) or "other")
        return names

    def best(
        self, means: np.ndarray, guess: Guess = Guess.MEAN, spread: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the point estimate of each number: the mean, exact mean, median or mode.

        The mean is rounded to a multiple, or to an observed number if few numbers were observed.
        The exact mean is not rounded. The median and the most probable number are always observed
        numbers.
        """
        if guess in (Guess.MEDIAN, Guess.MODE):
            # Within a state, numbers have their observed frequencies.
            frequency = np.array(self.counts) / np.maximum(self._rows, 1)[self._cells_of_seen]
            p = means[:, self._cells_of_seen] * frequency
            if guess is Guess.MODE:
                places = p.argmax(1)
            else:
                ordered = np.argsort(self.seen)
                below = np.cumsum(p[:, ordered], axis=1)
                places = ordered[(below < 0.5 * below[:, -1:]).sum(1)]
            return self._numbers(np.array(self.seen)[places].astype(float))
        # A state that never occurs has the mean ∞, and 0 · ∞ is not a number.
        mean = means @ np.where(self._rows > 0, self._means, 0.0)
        if guess is Guess.EXACT:
            return mean * self.step
        if len(self.seen) > FEW_NUMBERS:
            return self._numbers(mean.round())
        seen = np.array(self.seen)
        return self._numbers(seen[np.searchsorted((seen[1:] + seen[:-1]) / 2, mean)])

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Decode each code into one of its numbers, drawn by their observed frequencies."""
        cell = self._cells_of_seen
        multiples = np.empty(len(codes))
        for code in np.unique(codes):
            seen = np.array(self.seen)[cell == code]
            counts = np.array(self.counts)[cell == code]
            # If there is only one number, a second state never occurs, and represents it as well.
            if not len(seen):
                seen = np.array(self.seen[-1:])
                counts = np.ones(1)
            is_code = codes == code
            multiples[is_code] = rng.choice(seen, int(is_code.sum()), p=counts / counts.sum())
        return self._numbers(multiples)


def _starts_of_cells(seen: np.ndarray, counts: np.ndarray) -> list[int]:
    """Group numbers into cells with enough rows; return the starts of all but the first."""
    full = max(CELL_ROWS, CELL_FRACTION * counts.sum())
    starts = []
    inside = 0
    for number, count in zip(seen, counts, strict=True):
        # The remaining numbers must also fill a cell, so that the last cell is not too small.
        if inside >= full and counts[seen >= number].sum() >= full:
            starts.append(int(number))
            inside = 0
        inside += count
    return starts
