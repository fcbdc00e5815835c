"""Columns of numbers that occur again and again."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from .base import AbstractPart, check_numbers, step_of
from .frames import RawColumn

FEW_NUMBERS = 20  # so many different numbers are a state each
OWN_SHARE = 0.02  # of more numbers, one that this share of the rows has is a state
CELL_ROWS, CELL_SHARE = 20, 0.03  # the others are joined until a cell has as many of their rows


@dataclass(frozen=True, kw_only=True)
class Discrete(AbstractPart):
    """Numbers of which some occur again and again: each is a state, others share one.

    Numbers are whole multiples of a step. A cell is a range of them, and the numbers of a cell are
    as probable as often they were seen, as if each that was not seen shared one more observation.

    Attributes:
        step: the unit in which the numbers are whole.
        starts: the first multiple of each cell but the first, which has no lower end.
        points: multiples that are states of their own; they come after the cells.
        seen, counts: multiples that were seen, sorted, and how often.
    """

    kind = "discrete"
    step: float
    starts: tuple[int, ...]
    points: tuple[int, ...]
    seen: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, raw: RawColumn, name: str) -> Discrete:
        """Return the states of a column of numbers."""
        values = raw.values[~raw.is_missing]
        step = step_of(values)
        seen, counts = np.unique(np.rint(values / step).astype(np.int64), return_counts=True)
        total = counts.sum()
        if len(seen) <= FEW_NUMBERS:
            starts = [int(-(-(a + b) // 2)) for a, b in itertools.pairwise(seen)]
            points: np.ndarray = np.array([], int)
        else:
            is_point = counts >= max(OWN_SHARE * total, CELL_ROWS)
            points, rest = seen[is_point], counts * ~is_point
            full = max(CELL_ROWS, CELL_SHARE * rest.sum())
            starts, inside = [], 0
            for number, count in zip(seen, rest, strict=True):
                if inside >= full and rest[seen >= number].sum() >= full:
                    starts.append(int(number))
                    inside = 0
                inside += count
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
        """The number of cells and points."""
        return max(2, len(self.starts) + 1 + len(self.points))

    @property
    def summary(self) -> str:
        """The range, and how many states there are."""
        low, high = self.seen[0] * self.step, self.seen[-1] * self.step
        if len(self.seen) <= FEW_NUMBERS // 2:
            return ", ".join(self.shown(number * self.step) for number in self.seen)
        return f"{self.shown(low)} … {self.shown(high)}, {self.states} states"

    def _numbers(self, multiples: np.ndarray) -> np.ndarray:
        """Return multiples of the step as numbers, without the rounding error of the product."""
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
        """Return the cell or the point of each number."""
        check_numbers(raw, label)
        return np.where(raw.is_missing, np.nan, self._cell_of(self._multiples(raw)))

    def _shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return each seen number's cell and, for each state, its rows and its unseen numbers."""
        cell = self._cell_of(np.array(self.seen))
        rows = np.bincount(cell, self.counts, minlength=self.states)
        low, high = self.seen[0], self.seen[-1]
        ends = np.array([low, *self.starts, high + 1])
        width = np.zeros(self.states)
        width[: len(ends) - 1] = np.diff(ends)
        np.subtract.at(width, np.searchsorted(self.starts, self.points, side="right"), 1)
        return cell, rows, width

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log probability of each number given its cell, for each unit of the column.

        One observation more is shared by all numbers of a cell. One further observation of the
        first and the last cell is shared by the numbers beyond all that were seen, geometrically.
        """
        multiples, (_, rows, width) = self._multiples(raw), self._shares()
        cell, last = self._cell_of(multiples), len(self.starts)
        place = np.minimum(np.searchsorted(self.seen, multiples), len(self.seen) - 1)
        count = np.where(np.take(self.seen, place) == multiples, np.take(self.counts, place), 0)
        extra = (cell == 0).astype(float) + (cell == last)  # observations beyond the ends
        inside = np.log(count + 1.0 / np.maximum(width[cell], 1))
        low, high = self.seen[0], self.seen[-1]
        scale = max(1.0, (high - low) / 10.0)
        beyond = np.maximum(low - multiples, multiples - high)
        tail = np.log(-np.expm1(-1 / scale)) - (beyond - 1) / scale
        share = np.where(beyond > 0, tail, inside) - np.log(rows[cell] + 1.0 + extra)
        of_cell = np.where((beyond <= 0) & (cell > last), 0.0, share)
        return np.where(raw.is_missing, 0.0, of_cell - np.log(self.step))

    def state_names(self) -> list[str]:
        """Return each state's number, or the lowest and the highest that were seen."""
        cell, _, _ = self._shares()
        seen = np.array(self.seen) * self.step
        names = []
        for code in range(self.states):
            here = seen[cell == code]
            ends = sorted({float(x) for x in (here.min(), here.max())}) if len(here) else []
            names.append(" … ".join(map(self.shown, ends)) or "other")
        return names

    def best(self, means: np.ndarray) -> np.ndarray:
        """Return the mean, rounded to a multiple, or to a number that was seen if they are few."""
        cell, rows, _ = self._shares()
        each = np.bincount(cell, np.multiply(self.seen, self.counts), minlength=self.states)
        each = each / np.maximum(rows, 1)
        mean = means @ each
        if len(self.seen) > FEW_NUMBERS:
            return self._numbers(mean.round())
        seen = np.array(self.seen)
        return self._numbers(seen[np.searchsorted((seen[1:] + seen[:-1]) / 2, mean)])

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return a number for each code, as often as it was seen."""
        cell, _, _ = self._shares()
        found = np.empty(len(codes))
        for code in np.unique(codes):
            which, here = codes == code, cell == code
            seen, counts = np.array(self.seen)[here], np.array(self.counts)[here]
            if not len(seen):
                seen, counts = np.array(self.seen[-1:]), np.ones(1)
            found[which] = rng.choice(seen, int(which.sum()), p=counts / counts.sum())
        return self._numbers(found)
