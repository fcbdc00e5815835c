"""Columns of dates, each divided into parts: week, year, month, day of the week, hour.

All dates of a table have a trend, but only some a season, or other habits of the calendar. So a
column of dates is divided only where its cells, or how they depend on other columns, show them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .base import AbstractColumn, AbstractPart
from .dates import (
    FROM_MONDAY,
    Dates,
    checked_dates,
    ends_of,
    has_times,
    shown_date,
    since_1970,
    told_date,
)
from .dependence import Information, classes_of, information
from .frames import RawColumn, with_gaps
from .left_out import LeftOut
from .words import Words

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{hour:02}" for hour in range(24))
NAMES = {"month": MONTHS, "weekday": WEEKDAYS, "hour": HOURS}
LONG, SHORT = 731, 56  # days: dates of at least so many are divided into years, or into weeks
SURE = 1e-3  # chance that a column without habits is divided
MINUTE, HOUR, DAY = 60, 3_600, 86_400  # seconds


@dataclass(frozen=True, kw_only=True)
class Calendar(AbstractColumn):
    """Dates, each divided into a year, a month, a day of the week and, with times, an hour.

    Or into a week, which stands for its Monday, a day of the week and an hour. Each date has its
    parts, but of the days that have the same parts all are equally probable, and so are all moments
    of an hour.

    Attributes:
        pieces: a column for each part; one that never changes is left out.
        rows: the number of dates that were seen.
        day: the day of the month, if it was always the same. Then there is no day of the week, and
            all other days of a month together are as probable as one further row.
        moment: the second of the hour, if it was always the same; others likewise.
        ends: the first and the last date that were seen.
    """

    kind = "calendar"
    pieces: tuple[AbstractColumn, ...]
    rows: int
    day: int | None = None
    moment: int | None = None
    ends: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        raw: RawColumn,
        name: str,
        numbers_of: Callable[[RawColumn, str], AbstractPart],
        parts: Sequence[str] | None = None,
    ) -> Calendar:
        """Return how a column of dates is divided.

        Args:
            raw: the dates.
            name: the column's name.
            numbers_of: returns the column of some numbers, by a name.
            parts: "year", "month" and maybe "weekday", or "week" and "weekday"; and maybe "hour".
                None for all that there are.
        """
        seen = raw.taken(np.flatnonzero(~raw.is_missing))
        found = _divided(seen)
        if parts is None:
            by_year = ("year", "month", "weekday") if _span(seen) >= LONG else ("week", "weekday")
            parts = by_year + ("hour",) * has_times(raw.form)
        day, moment = _only(found.day), _only(found.moment)
        pieces = []
        for part in parts:
            cells, named = found.part(part), f"{name} {part}"
            if part == "weekday" and day is not None and "year" in parts:
                continue
            if len(set(cells.tolist())) == 1 and part != "week":
                pieces.append(LeftOut(name=named, why=f"always {cells[0]}", value=cells[0]))
            elif part in NAMES:
                pieces.append(Words(name=named, words=NAMES[part]))
            elif part == "year":
                pieces.append(numbers_of(RawColumn(named, cells), named))
            else:
                weeks = RawColumn(named, cells, "%Y-%m-%d")
                inner = numbers_of(since_1970(weeks, by_week=True), named)
                pieces.append(Dates.of(weeks, named, inner, by_week=True))
        return cls(
            name=name,
            form=raw.form,
            pieces=tuple(pieces),
            rows=len(seen.values),
            day=day if "year" in parts else None,
            moment=moment if "hour" in parts else None,
            ends=ends_of(raw),
        )

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
        missing, found = raw.is_missing, _divided(checked_dates(raw, label))
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
            days = days + _place(given["weekday"], WEEKDAYS)
        else:
            year, month = np.rint(given["year"]).astype(np.int64), _place(given["month"], MONTHS)
            start, first, step, count = _fitting(12 * (year - 1970) + month, given.get("weekday"))
            days = start + first + step * rng.integers(count)
            if self.day is not None:
                days = start + np.minimum(self.day, count) - 1
        seconds = DAY * days
        if has_times(self.form):
            step = 1 if "%S" in self.form else MINUTE
            within = HOUR if "hour" in given else DAY
            moment = step * rng.integers(within // step, size=rows)
            if "hour" in given:
                seconds += HOUR * _place(given["hour"], HOURS)
            seconds += moment if self.moment is None else self.moment
        return seconds.astype("datetime64[s]").astype("datetime64[us]")

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log density for each day, or each second if there are times."""
        parts = zip(self.parts, self.split(raw, "rows"), strict=True)
        log_p = sum((part.log_density(each) for part, each in parts), np.zeros(len(raw.values)))
        found = _divided(raw)
        names = [self._suffix(piece) for piece in self.pieces]
        if "week" not in names:
            weekday = found.part("weekday") if "weekday" in names else None
            count = _fitting(found.months, weekday)[-1]
            log_p = log_p + self._log_share(found.day, self.day, count)
        if has_times(self.form):
            within = HOUR if "hour" in names else DAY
            log_p = log_p + self._log_share(found.moment, self.moment, within)
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
            found[self._suffix(piece)] = piece.merged(own, rows, np.random.default_rng(0))
        return found

    def _log_share(
        self, found: np.ndarray, usual: int | None, count: np.ndarray | int
    ) -> np.ndarray:
        """Return log p of one of so many days or seconds, all alike or one of them usual."""
        if usual is None:
            return -np.log(np.broadcast_to(count, found.shape))
        return np.log((self.rows * (found == usual) + 1.0 / count) / (self.rows + 1.0))


class _Divided(NamedTuple):
    """The parts of dates.

    Attributes:
        months: since 1970.
        days: since 1970.
        day: of the month, from 1.
        hour: of the day.
        moment: the second of the hour.
    """

    months: np.ndarray
    days: np.ndarray
    day: np.ndarray
    hour: np.ndarray
    moment: np.ndarray

    def part(self, name: str) -> np.ndarray:
        """Return the cells of a part by its name."""
        if name == "year":
            return (self.months // 12 + 1970).astype(float)
        if name == "week":
            mondays = self.days - self.place("weekday")
            return mondays.astype("datetime64[D]").astype("datetime64[us]")
        return np.array(NAMES[name], object)[self.place(name)]

    def place(self, name: str) -> np.ndarray:
        """Return the month, the day of the week or the hour, from 0."""
        if name == "weekday":
            return (self.days + FROM_MONDAY) % 7
        return self.months % 12 if name == "month" else self.hour


def _divided(raw: RawColumn) -> _Divided:
    """Return the parts of dates; those of 1 January 1970 where one is missing."""
    values = np.zeros(len(raw.values), "datetime64[s]")
    if raw.values.dtype.kind == "M":
        values = np.where(raw.is_missing, values, raw.values.astype("datetime64[s]"))
    days, months = values.astype("datetime64[D]"), values.astype("datetime64[M]")
    seconds = values.astype(np.int64) % DAY
    return _Divided(
        months.astype(np.int64),
        days.astype(np.int64),
        (days - months.astype("datetime64[D]")).astype(np.int64) + 1,
        seconds // HOUR,
        seconds % HOUR,
    )


def _fitting(
    months: np.ndarray, weekday: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Return which days of a month fall on a day of the week; all days if that is None.

    That is the first day of the month since 1970, the days from there to the first that fits, the
    days from that to the next, and how many there are.
    """
    start = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    end = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    if weekday is None:
        return start, np.zeros_like(start), 1, end - start
    first = (_place(weekday, WEEKDAYS) - start - FROM_MONDAY) % 7
    return start, first, 7, (end - start - first + 6) // 7


def _place(words: np.ndarray, known: tuple[str, ...]) -> np.ndarray:
    places = {word: i for i, word in enumerate(known)}
    return np.array([places[word] for word in words], np.int64)


def _only(values: np.ndarray) -> int | None:
    """Return the only value, or None if there are several."""
    return int(values[0]) if len(set(values.tolist())) == 1 else None


def parts_of(raw: RawColumn, others: Sequence[np.ndarray]) -> tuple[str, ...]:
    """Return the parts into which a column of dates is best divided; none for its trend alone.

    A month, a day of the week or an hour is a part if dates are more frequent in some of them than
    by chance, or if another column depends on it; a month only if it says more about dates and
    other columns than the trend does, which the years then show coarsely.

    Args:
        raw: the dates.
        others: the classes of each other column, −1 where a cell is missing.
    """
    if _span(raw) < SHORT:
        return ()
    missing, found, tests = raw.is_missing, _divided(raw), 3 * (len(others) + 1)
    trend = classes_of(np.where(missing, np.nan, found.days), None)
    days = found.days[~missing]
    every = _divided(RawColumn("", np.arange(days.min(), days.max() + 1).astype("datetime64[D]")))

    def gain(part: str) -> float:
        """Return the nats per row that a part explains; 0 if that may be chance."""
        classes = np.where(missing, -1, found.place(part))
        of_days = np.bincount(every.place(part), minlength=len(NAMES[part]))
        evenly = _uneven(classes, np.ones(len(HOURS)) if part == "hour" else of_days)
        each = [evenly, *(information(classes, other) for other in others)]
        is_sure = any(found.is_sure(SURE / tests) for found in each)
        return sum(found.corrected for found in each) if is_sure else 0.0

    hour = ("hour",) if has_times(raw.form) and gain("hour") else ()
    weekday = ("weekday",) if gain("weekday") else ()
    if _span(raw) >= LONG and gain("month") > sum(information(trend, x).corrected for x in others):
        return ("year", "month", *weekday, *hour)
    return ("week", "weekday", *hour) if weekday or hour else ()


def _uneven(classes: np.ndarray, expected: np.ndarray) -> Information:
    """Return how far the shares of classes are from those expected, as nats per row."""
    counts = np.bincount(classes[classes >= 0], minlength=len(expected))
    rows, shares = counts.sum(), expected / expected.sum()
    seen = counts > 0
    nats = float((counts[seen] / rows * np.log(counts[seen] / rows / shares[seen])).sum())
    return Information(nats, int((expected > 0).sum()) - 1, int(rows))


def _span(raw: RawColumn) -> float:
    """Return the days from the first to the last date."""
    days = raw.values[~raw.is_missing].astype("datetime64[D]").astype(np.int64)
    return float(days.max() - days.min())
