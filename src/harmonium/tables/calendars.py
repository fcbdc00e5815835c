"""Columns of dates of which each part has a unit: week, year, month, day of the week, hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import AbstractColumn, AbstractPart
from .frames import RawColumn, with_gaps
from .moments import (
    DAY,
    HOUR,
    HOURS,
    MONTHS,
    NAMES,
    WEEKDAYS,
    checked_dates,
    divided,
    fitting,
    has_times,
    place_of,
    shown_date,
    told_date,
)

MINUTE = 60  # seconds
CENTURY = 100  # years that are possible where all dates are of one
NO_DRAWS = np.random.default_rng(0)  # where nothing is drawn


@dataclass(frozen=True, kw_only=True)
class Calendar(AbstractColumn):
    """Dates, each divided into a year, a month, a day of the week and, with times, an hour.

    Or into a week, which stands for its Monday, a day of the week and an hour. Each date has its
    parts, but of the days that have the same parts all are equally probable, and so are all moments
    of an hour.

    Attributes:
        pieces: a column for each part; one that never changes is left out.
        rows: the number of dates that were seen. All values of what was always the same, but for
            this value, are together as probable as one further row.
        day: the day of the month, if it was always the same, or the last where a month has fewer.
            Then there is no day of the week.
        moment: the second of the hour, if it was always the same.
        ends: the first and the last date that were seen.
    """

    kind = "calendar"
    pieces: tuple[AbstractColumn, ...]
    rows: int
    day: int | None = None
    moment: int | None = None
    ends: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[AbstractPart, ...]:
        """The pieces that change."""
        return tuple(part for piece in self.pieces for part in piece.parts)

    @property
    def summary(self) -> str:
        """The first and the last date, and the parts."""
        names = ", ".join(self._suffix(part) for part in self.parts)
        return f"{' … '.join(self.ends)}: {names}"

    def split(self, raw: RawColumn, label: str) -> tuple[RawColumn, ...]:
        """Return the year, the month and so on of each date."""
        missing, found = raw.is_missing, divided(checked_dates(raw, label, self.form))
        return tuple(
            RawColumn(part.name, with_gaps(found.part(self._suffix(part)), missing), part.form)
            for part in self.parts
        )

    def merged(
        self, cells: Sequence[np.ndarray], rows: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return a date for each row of parts, drawn from those that have them."""
        given = self._all_parts(cells, rows)
        if "week" in given:
            days = given["week"].astype("datetime64[D]").astype(np.int64)
            days = days + place_of(given["weekday"], WEEKDAYS)
        else:
            year, month = (
                np.rint(given["year"].astype(float)).astype(np.int64),
                place_of(given["month"], MONTHS),
            )
            start, first, step, count = fitting(12 * (year - 1970) + month, given.get("weekday"))
            days = start + first + step * rng.integers(count)
            if self.day is not None:
                days = start + np.minimum(self.day, count) - 1
        seconds = DAY * days
        if has_times(self.form):
            step = 1 if "%S" in self.form else MINUTE
            within = HOUR if "hour" in given else DAY
            moment = step * rng.integers(within // step, size=rows)
            if "hour" in given:
                seconds += HOUR * place_of(given["hour"], HOURS)
            seconds += moment if self.moment is None else self.moment
        return seconds.astype("datetime64[s]").astype("datetime64[us]")

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log density for each day, or each second if there are times."""
        parts = zip(self.parts, self.split(raw, "rows"), strict=True)
        log_p = sum((part.log_density(each) for part, each in parts), np.zeros(len(raw.values)))
        found = divided(raw)
        names = [self._suffix(piece) for piece in self.pieces]
        for name, piece in zip(names, self.pieces, strict=True):
            if not piece.parts:  # always the same
                usual = np.asarray(found.part(name) == piece.merged((), 1, NO_DRAWS)[0])
                log_p = log_p + self._log_share(usual, len(NAMES.get(name, range(CENTURY))))
        if "week" not in names:
            weekday = found.part("weekday") if "weekday" in names else None
            count = fitting(found.months, weekday)[-1]
            usual = None if self.day is None else found.day == np.minimum(self.day, count)
            log_p = log_p + self._log_share(usual, count)
        if has_times(self.form):
            usual = None if self.moment is None else found.moment == self.moment
            log_p = log_p + self._log_share(usual, HOUR if "hour" in names else DAY)
        return np.where(raw.is_missing, 0.0, log_p)

    def told(self, text: str) -> RawColumn:
        """Return a column of one date in the column's form."""
        return told_date(self.name, self.form, text)

    def shown(self, cell: Any) -> str:
        """Return a date in its form."""
        return shown_date(self.form, cell)

    def _suffix(self, piece: AbstractColumn) -> str:
        return piece.name[len(self.name) + 1 :]

    def _all_parts(self, cells: Sequence[np.ndarray], rows: int) -> dict[str, np.ndarray]:
        """Return the cells of all pieces, also of those that never change."""
        given, found = iter(cells), {}
        for piece in self.pieces:
            own = [next(given) for _ in piece.parts]
            found[self._suffix(piece)] = piece.merged(own, rows, NO_DRAWS)
        return found

    def _log_share(self, usual: np.ndarray | None, count: np.ndarray | int) -> np.ndarray:
        """Return log p of one of so many values; `usual`: whether it is the usual one, or None."""
        if usual is None:
            return -np.log(np.asarray(count, float))
        return np.log((self.rows * usual + 1.0 / count) / (self.rows + 1.0))
