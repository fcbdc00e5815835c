"""Columns of dates, modelled as a trend (`Dates`) or by parts such as the month (`Calendar`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .base import AbstractColumn, AbstractPart, ColumnKind, Guess
from .dates import MONTHS, checked_dates, has_times, parsed_date, shown_date
from .frames import CellKind, RawColumn, with_gaps

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(map(str, range(24)))
NAMES = {"month": MONTHS, "weekday": WEEKDAYS, "hour": HOURS}
FROM_MONDAY = 3  # days from a Monday to 1 January 1970
# Seconds:
MINUTE = 60
HOUR = 3_600
DAY = 86_400
CENTURY = 100  # assumed number of possible years if all dates have the same year
NO_DRAWS = np.random.default_rng(0)  # for calls that draw nothing


class DateParts(NamedTuple):
    """The parts of dates, as arrays with one entry per date.

    Attributes:
        months: the number of months since January 1970.
        days: the number of days since 1 January 1970.
        day: the day of the month, from 1.
        hour: the hour of the day.
        moment: the second of the hour.
    """

    months: np.ndarray
    days: np.ndarray
    day: np.ndarray
    hour: np.ndarray
    moment: np.ndarray

    def part(self, name: str) -> np.ndarray:
        """Return the cells of the part with this name, such as "weekday"."""
        if name == "year":
            return (self.months // 12 + 1970).astype(float)
        if name == "week":
            mondays = self.days - self.place("weekday")
            return mondays.astype("datetime64[D]").astype("datetime64[us]")
        return np.array(NAMES[name], object)[self.place(name)]

    def place(self, name: str) -> np.ndarray:
        """Return the month, day of the week or hour of each date as an index from 0."""
        if name == "weekday":
            return (self.days + FROM_MONDAY) % 7
        if name == "month":
            return self.months % 12
        return self.hour


def date_parts(raw: RawColumn) -> DateParts:
    """Divide dates into parts; missing dates are treated as 1 January 1970."""
    values = np.zeros(len(raw.values), "datetime64[s]")
    if raw.cell_kind is CellKind.DATES:
        values = np.where(raw.is_missing, values, raw.values.astype("datetime64[s]"))
    days = values.astype("datetime64[D]")
    months = values.astype("datetime64[M]")
    seconds = values.astype(np.int64) % DAY
    return DateParts(
        months=months.astype(np.int64),
        days=days.astype(np.int64),
        day=(days - months.astype("datetime64[D]")).astype(np.int64) + 1,
        hour=seconds // HOUR,
        moment=seconds % HOUR,
    )


class DaysOfMonths(NamedTuple):
    """The days in each of several months: all days, or those on one day of the week.

    Attributes:
        first: the first of these days in each month, in days since 1970.
        step: the number of days from one such day to the next, 7 or 1.
        count: the number of these days in each month.
    """

    first: np.ndarray
    step: int
    count: np.ndarray


def days_of_months(months: np.ndarray, weekday: np.ndarray | None) -> DaysOfMonths:
    """Return the days of each month (counted from 1970) on the day of the week given for it.

    If `weekday` is None, all days of the months are returned.
    """
    start = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    end = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    if weekday is None:
        return DaysOfMonths(start, 1, end - start)
    first = start + (place_of(weekday, WEEKDAYS) - start - FROM_MONDAY) % 7
    return DaysOfMonths(first, 7, (end - first + 6) // 7)


def place_of(words: np.ndarray, known: tuple[str, ...]) -> np.ndarray:
    """Return the index of each word in the tuple `known`."""
    places = {word: i for i, word in enumerate(known)}
    return np.array([places[word] for word in words], np.int64)


def unit_of(form: str) -> str:
    """Return the NumPy unit for dates in a format: "s" if it has a time of day, else "D"."""
    return "s" if has_times(form) else "D"


def since_1970(raw: RawColumn, *, by_week: bool = False) -> RawColumn:
    """Convert dates to weeks, days or (with times) seconds since 1970; missing dates become NaN."""
    unit = "D" if by_week else unit_of(raw.form)
    if raw.cell_kind is not CellKind.DATES:
        return RawColumn(raw.name, np.full(len(raw.values), np.nan), raw.form)
    whole = raw.values.astype(f"datetime64[{unit}]")
    numbers = whole.astype(np.int64)
    if by_week:
        numbers = (numbers + FROM_MONDAY) // 7
    return RawColumn(raw.name, np.where(np.isnat(whole), np.nan, numbers), raw.form)


def ends_of(raw: RawColumn) -> tuple[str, str]:
    """Return the first and the last date as text with the year first, regardless of format."""
    unit = unit_of(raw.form)
    seen = raw.known.astype(f"datetime64[{unit}]")
    return str(seen.min()), str(seen.max())


def single_value(values: np.ndarray) -> int | None:
    """Return the value if all values are equal, or None if they differ."""
    if len(set(values.tolist())) == 1:
        return int(values[0])
    return None


def span_of(raw: RawColumn) -> float:
    """Return the number of days from the first to the last date."""
    days = raw.known.astype("datetime64[D]").astype(np.int64)
    return float(days.max() - days.min())


@dataclass(frozen=True, kw_only=True)
class Dates(AbstractPart):
    """Dates, modelled as numbers of days since 1970, or of seconds if they have times of day.

    Attributes:
        inner: the column that models these numbers.
        by_week: whether all dates are Mondays and the numbers count weeks.
        ends: the first and the last date in the data.
    """

    kind = ColumnKind.DATE
    inner: AbstractPart
    by_week: bool = False
    ends: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: RawColumn, name: str, inner: AbstractPart, *, by_week: bool = False) -> Dates:
        """Create a column of dates; `inner` models the numbers that `since_1970` returns."""
        return cls(name=name, form=raw.form, inner=inner, by_week=by_week, ends=ends_of(raw))

    @property
    def states(self) -> int | None:
        return self.inner.states

    @property
    def summary(self) -> str:
        return " … ".join(self.ends) or f"dates such as {self.form}"

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        return self.inner.codes(self._numbers(checked_dates(raw, label, self.form)), label)

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log density of each date per day, per second or per week."""
        return self.inner.log_density(self._numbers(raw))

    def parsed(self, text: str) -> RawColumn:
        return parsed_date(self.name, self.form, text)

    def shown(self, cell: Any) -> str:
        return shown_date(self.form, cell)

    def best(
        self, means: np.ndarray, guess: Guess = Guess.MEAN, spread: np.ndarray | None = None
    ) -> np.ndarray:
        return self._dates(self.inner.best(means, guess, spread))

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self._dates(self.inner.cells(codes, rng))

    def _numbers(self, raw: RawColumn) -> RawColumn:
        """Convert dates to numbers in the unit of this column."""
        return since_1970(RawColumn(self.name, raw.values, self.form), by_week=self.by_week)

    def _dates(self, numbers: np.ndarray) -> np.ndarray:
        whole = np.rint(numbers).astype(np.int64)
        if self.by_week:
            whole = 7 * whole - FROM_MONDAY
        dates = whole.astype(f"datetime64[{unit_of(self.form)}]")
        return dates.astype("datetime64[us]")


@dataclass(frozen=True, kw_only=True)
class Calendar(AbstractColumn):
    """Dates, each divided into year, month and day of the week, and hour if there are times of day.

    Alternatively, dates are divided into the week (represented by its Monday), the day of the week
    and the hour. All days with the same parts are equally probable, and so are all moments within
    an hour.

    Attributes:
        pieces: a column for each part; parts that never change have columns without a unit.
        rows: the number of dates in the data. For a part that never changes, one pseudo-row is
            divided equally among all possible values.
        day: the day of the month if it never changes (in shorter months, the last day); then there
            is no part for the day of the week. None if the day of the month changes.
        moment: the second of the hour if it never changes, else None.
        ends: the first and the last date in the data.
    """

    kind = ColumnKind.CALENDAR
    pieces: tuple[AbstractColumn, ...]
    rows: int
    day: int | None = None
    moment: int | None = None
    ends: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[AbstractPart, ...]:
        return tuple(part for piece in self.pieces for part in piece.parts)

    @property
    def summary(self) -> str:
        names = ", ".join(self._suffix(part) for part in self.parts)
        return f"{' … '.join(self.ends)}: {names}"

    def split(self, raw: RawColumn, label: str) -> tuple[RawColumn, ...]:
        """Split dates into columns of years, months and so on."""
        dates = date_parts(checked_dates(raw, label, self.form))
        columns = []
        for part in self.parts:
            cells = with_gaps(dates.part(self._suffix(part)), raw.is_missing)
            columns.append(RawColumn(part.name, cells, part.form))
        return tuple(columns)

    def merged(
        self, cells: Sequence[np.ndarray], rows: int, rng: np.random.Generator
    ) -> np.ndarray:
        given = self._all_parts(cells, rows)
        if "week" in given:
            mondays = given["week"].astype("datetime64[D]").astype(np.int64)
            days = mondays + place_of(given["weekday"], WEEKDAYS)
        else:
            year = np.rint(given["year"].astype(float)).astype(np.int64)
            month = place_of(given["month"], MONTHS)
            fitting = days_of_months(12 * (year - 1970) + month, given.get("weekday"))
            # Draw even if `day` is fixed, so that later draws do not depend on `day`.
            days = fitting.first + fitting.step * rng.integers(fitting.count)
            if self.day is not None:
                days = fitting.first + np.minimum(self.day, fitting.count) - 1
        seconds = DAY * days
        if has_times(self.form):
            step = MINUTE
            if "%S" in self.form:
                step = 1
            within = DAY
            if "hour" in given:
                within = HOUR
                seconds += HOUR * place_of(given["hour"], HOURS)
            # Draw even if `moment` is fixed, so that later draws do not depend on `moment`.
            moment = step * rng.integers(within // step, size=rows)
            if self.moment is not None:
                moment = self.moment
            seconds += moment
        return seconds.astype("datetime64[s]").astype("datetime64[us]")

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log density of each date per day, or per second if there are times of day."""
        log_p = np.zeros(len(raw.values))
        for part, cells in zip(self.parts, self.split(raw, "rows"), strict=True):
            log_p = log_p + part.log_density(cells)
        dates = date_parts(raw)
        names = [self._suffix(piece) for piece in self.pieces]
        for name, piece in zip(names, self.pieces, strict=True):
            if piece.parts:
                continue
            constant = piece.merged((), 1, NO_DRAWS)[0]
            is_usual = np.asarray(dates.part(name) == constant)
            log_p = log_p + self._log_p_usual(is_usual, len(NAMES.get(name, range(CENTURY))))
        if "week" not in names:
            weekday = None
            if "weekday" in names:
                weekday = dates.part("weekday")
            count = days_of_months(dates.months, weekday).count
            if self.day is None:
                log_p = log_p - np.log(np.asarray(count, float))
            else:
                log_p = log_p + self._log_p_usual(dates.day == np.minimum(self.day, count), count)
        if has_times(self.form):
            seconds = HOUR if "hour" in names else DAY
            if self.moment is None:
                log_p = log_p - np.log(float(seconds))
            else:
                log_p = log_p + self._log_p_usual(dates.moment == self.moment, seconds)
        return np.where(raw.is_missing, 0.0, log_p)

    def parsed(self, text: str) -> RawColumn:
        return parsed_date(self.name, self.form, text)

    def shown(self, cell: Any) -> str:
        return shown_date(self.form, cell)

    def _suffix(self, piece: AbstractColumn) -> str:
        return piece.name[len(self.name) + 1 :]

    def _all_parts(self, cells: Sequence[np.ndarray], rows: int) -> dict[str, np.ndarray]:
        """Return the cells of all parts, including parts that never change."""
        given = iter(cells)
        by_name = {}
        for piece in self.pieces:
            own = [next(given) for _ in piece.parts]
            by_name[self._suffix(piece)] = piece.merged(own, rows, NO_DRAWS)
        return by_name

    def _log_p_usual(self, is_usual: np.ndarray, count: np.ndarray | int) -> np.ndarray:
        """Return log p of the values of a part that never changed, with `count` possible values."""
        # All values share one pseudo-observation, so that unobserved values are possible.
        return np.log((self.rows * is_usual + 1.0 / count) / (self.rows + 1.0))
