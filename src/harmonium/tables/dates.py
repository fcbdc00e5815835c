"""Columns of dates and times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from ..errors import input_error
from .base import AbstractPart
from .frames import RawColumn

FROM_MONDAY = 3  # days from a Monday to 1 January 1970


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
        return self.inner.codes(since_1970(checked_dates(raw, label), by_week=self.by_week), label)

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log density for each day, or each second or week."""
        return self.inner.log_density(since_1970(raw, by_week=self.by_week))

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

    def _dates(self, numbers: np.ndarray) -> np.ndarray:
        whole = np.rint(numbers).astype(np.int64)
        if self.by_week:
            whole = 7 * whole - FROM_MONDAY
        dates = whole.astype("datetime64[s]" if has_times(self.form) else "datetime64[D]")
        return dates.astype("datetime64[us]")


def has_times(form: str) -> bool:
    """Return whether dates of a form have a time of day."""
    return "%H" in form


def since_1970(raw: RawColumn, *, by_week: bool = False) -> RawColumn:
    """Return the days since 1970, or the seconds if there are times, or the weeks; else NaN."""
    unit = "s" if has_times(raw.form) and not by_week else "D"
    if raw.values.dtype.kind != "M":
        return RawColumn(raw.name, np.full(len(raw.values), np.nan), raw.form)
    whole = raw.values.astype(f"datetime64[{unit}]")
    numbers = whole.astype(np.int64)
    if by_week:
        numbers = (numbers + FROM_MONDAY) // 7
    return RawColumn(raw.name, np.where(np.isnat(whole), np.nan, numbers), raw.form)


def ends_of(raw: RawColumn) -> tuple[str, str]:
    """Return the first and the last date, the year first, whatever their form."""
    seen = raw.values[~raw.is_missing].astype("datetime64[s]" if has_times(raw.form) else "M8[D]")
    return str(seen.min()), str(seen.max())


def checked_dates(raw: RawColumn, label: str) -> RawColumn:
    """Return a column, if all of its cells that are not missing are dates.

    Raises:
        InputError: they are not.
    """
    if raw.values.dtype.kind != "M" and not raw.is_missing.all():
        found, advice = f"{raw.values[~raw.is_missing][0]!r}", "write all dates alike"
        raise input_error(f"{label}: column {raw.name!r}", "dates", found, advice)
    return raw


def told_date(name: str, form: str, text: str) -> RawColumn:
    """Return a column of one date that a user wrote."""
    return RawColumn(name, np.array([datetime.strptime(text, form)], "datetime64[us]"), form)


def shown_date(form: str, cell: Any) -> str:
    """Return a date in its form."""
    return cell.astype("datetime64[us]").item().strftime(form)
