"""Dates and times as numbers, and the parts of which they consist."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from ..errors import input_error
from .date_forms import read_date, write_date
from .frames import RawColumn, words_of

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(map(str, range(24)))
NAMES = {"month": MONTHS, "weekday": WEEKDAYS, "hour": HOURS}
YEARS = 1500, 2200  # of dates in words, and of numbers that are taken for years
FROM_MONDAY = 3  # days from a Monday to 1 January 1970
EXAMPLE = np.datetime64("2024-01-31")  # in messages
HOUR, DAY = 3_600, 86_400  # seconds


def has_times(form: str) -> bool:
    """Return whether dates of a form have a time of day."""
    return re.search("%-?[HI]", form) is not None


def is_date(form: str) -> bool:
    """Return whether a form is one of dates; "# %" is one of numbers."""
    return "%" in form and "#" not in form


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


def checked_dates(raw: RawColumn, label: str, form: str) -> RawColumn:
    """Return a column, if all of its cells that are not missing are dates.

    Raises:
        InputError: they are not; the first that is no date of this form is named.
    """
    if raw.values.dtype.kind == "M" or raw.is_missing.all():
        return raw
    words = words_of(raw)
    known = np.flatnonzero(~raw.is_missing)
    row = next((row for row in known if _read(words[row], (form,)) is None), known[0])
    found = f"{str(words[row])[:40]!r} in row {row + 1}"
    expected = f"dates such as {shown_date(form, EXAMPLE)}"
    raise input_error(f"{label}: column {raw.name!r}", expected, found, "correct it")


def _read(text: str, forms: tuple[str, ...]) -> datetime | None:
    """Return a date in one of some forms; None if it has none of them."""
    return next(filter(None, (read_date(text, form) for form in forms)), None)


def told_date(name: str, form: str, text: str) -> RawColumn:
    """Return a column of one date that a user wrote, in the table's form or the year first.

    Raises:
        ValueError: it is no date.
    """
    found = _read(text, (form, "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"))
    if found is None:
        raise ValueError(text)
    return RawColumn(name, np.array([found], "datetime64[us]"), form)


def shown_date(form: str, cell: Any) -> str:
    """Return a date in its form."""
    return write_date(cell.astype("datetime64[us]").item(), form)


class Divided(NamedTuple):
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


def divided(raw: RawColumn) -> Divided:
    """Return the parts of dates; those of 1 January 1970 where one is missing."""
    values = np.zeros(len(raw.values), "datetime64[s]")
    if raw.values.dtype.kind == "M":
        values = np.where(raw.is_missing, values, raw.values.astype("datetime64[s]"))
    days, months = values.astype("datetime64[D]"), values.astype("datetime64[M]")
    seconds = values.astype(np.int64) % DAY
    return Divided(
        months.astype(np.int64),
        days.astype(np.int64),
        (days - months.astype("datetime64[D]")).astype(np.int64) + 1,
        seconds // HOUR,
        seconds % HOUR,
    )


def fitting(
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
    first = (place_of(weekday, WEEKDAYS) - start - FROM_MONDAY) % 7
    return start, first, 7, (end - start - first + 6) // 7


def place_of(words: np.ndarray, known: tuple[str, ...]) -> np.ndarray:
    """Return the place of each word among those known."""
    places = {word: i for i, word in enumerate(known)}
    return np.array([places[word] for word in words], np.int64)


def only(values: np.ndarray) -> int | None:
    """Return the only value, or None if there are several."""
    return int(values[0]) if len(set(values.tolist())) == 1 else None


def span_of(raw: RawColumn) -> float:
    """Return the days from the first to the last date."""
    days = raw.values[~raw.is_missing].astype("datetime64[D]").astype(np.int64)
    return float(days.max() - days.min())
