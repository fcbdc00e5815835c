"""Columns of dates and times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import AbstractPart
from .frames import RawColumn
from .moments import (
    FROM_MONDAY,
    checked_dates,
    ends_of,
    has_times,
    shown_date,
    since_1970,
    told_date,
)


@dataclass(frozen=True, kw_only=True)
class Dates(AbstractPart):
    """Dates and times, as the number of days since 1970 or, with times, of seconds.

    Attributes:
        inner: the column of these numbers.
        by_week: whether dates are Mondays, and numbers those of their weeks.
        ends: the first and the last date that were seen.
    """

    kind = "date"
    inner: AbstractPart
    by_week: bool = False
    ends: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: RawColumn, name: str, inner: AbstractPart, *, by_week: bool = False) -> Dates:
        """Return the column of dates whose numbers, `since_1970`, are those of another column."""
        return cls(name=name, form=raw.form, inner=inner, by_week=by_week, ends=ends_of(raw))

    @property
    def states(self) -> int | None:
        """Those of the numbers."""
        return self.inner.states

    @property
    def summary(self) -> str:
        """The first and the last date."""
        return " … ".join(self.ends) or f"dates such as {self.form}"

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        """Return the codes of the numbers."""
        return self.inner.codes(self._numbers(checked_dates(raw, label, self.form)), label)

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log density for each day, or each second or week."""
        return self.inner.log_density(self._numbers(raw))

    def told(self, text: str) -> RawColumn:
        """Return a column of one date in the column's form."""
        return told_date(self.name, self.form, text)

    def shown(self, cell: Any) -> str:
        """Return a date in its form."""
        return shown_date(self.form, cell)

    def best(self, means: np.ndarray) -> np.ndarray:
        """Return the dates of the best numbers."""
        return self._dates(self.inner.best(means))

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the dates of the numbers."""
        return self._dates(self.inner.cells(codes, rng))

    def _numbers(self, raw: RawColumn) -> RawColumn:
        """Return the numbers of dates, in days or seconds as this column has them."""
        return since_1970(RawColumn(self.name, raw.values, self.form), by_week=self.by_week)

    def _dates(self, numbers: np.ndarray) -> np.ndarray:
        whole = np.rint(numbers).astype(np.int64)
        if self.by_week:
            whole = 7 * whole - FROM_MONDAY
        dates = whole.astype("datetime64[s]" if has_times(self.form) else "datetime64[D]")
        return dates.astype("datetime64[us]")
