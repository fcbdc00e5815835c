"""Cells that are Python objects, read as words, numbers or dates, and given back as objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from .frames import RawColumn

ISO = {False: "%Y-%m-%d", True: "%Y-%m-%d %H:%M:%S"}


def is_gap(cell: Any) -> bool:
    """Return whether an object stands for a missing cell: None, NaN, NaT, NA of pandas."""
    try:
        return cell is None or bool(cell != cell)
    except TypeError:  # NA of pandas is neither equal to itself nor different
        return True
    except ValueError:  # an array is no missing cell
        return False


def word_of(cell: Any) -> str:
    """Return the word for an object; whole numbers have no point, whatever their type."""
    if isinstance(cell, Real) and not isinstance(cell, Integral | bool) and cell == int_of(cell):
        return str(int_of(cell))
    return str(cell)


def int_of(number: Any) -> int | None:
    """Return the nearest whole number; None for infinity."""
    return round(number) if abs(number) < float("inf") else None


def decimal_of(number: float) -> Decimal:
    """Return the decimal number with the digits that a number shows."""
    return Decimal(repr(float(number)))


def _as_duration(seconds: float) -> timedelta:
    return timedelta(seconds=float(seconds))


def _as_time(seconds: float) -> time:
    return (datetime.min + timedelta(seconds=float(seconds) % 86_400)).time()


def _seconds(cell: timedelta) -> float:
    return cell.total_seconds()


def _seconds_of_day(cell: time) -> float:
    midnight = datetime.combine(date.min, time())
    return (datetime.combine(date.min, cell.replace(tzinfo=None)) - midnight).total_seconds()


def _itself(cell: Any) -> Any:
    return cell


# Objects that are numbers, as floats, and back; more special types come first.
NUMBERS: tuple[tuple[type, Callable[[Any], float], Callable[[float], Any]], ...] = (
    (Integral, float, int_of),
    (Decimal, float, decimal_of),
    (Real, float, float),
    (timedelta, _seconds, _as_duration),
    (time, _seconds_of_day, _as_time),
)


@dataclass(frozen=True)
class Objects:
    """The objects of a column, by what they are read as.

    Attributes:
        words: the object that each word stands for; others stand for themselves.
        number: returns the object of a number.
        moment: returns the object of a date and time.
    """

    words: Mapping[str, Any] = field(default_factory=dict)
    number: Callable[[float], Any] = float
    moment: Callable[[datetime], Any] = _itself

    @classmethod
    def of(cls, cells: Sequence[Any]) -> Objects:
        """Return what the objects of a column are."""
        known = [cell for cell in cells if not is_gap(cell)]
        for kind, _, back in NUMBERS:
            if _are(known, kind):
                return cls(number=back)
        return cls.of_words(known, moment=datetime.date if _are_days(known) else _itself)

    @classmethod
    def of_words(cls, cells: Sequence[Any], moment: Any = _itself) -> Objects:
        """Return what objects are that are read as words."""
        return cls({word_of(cell): cell for cell in cells}, moment=moment)

    def cells(self, raw: RawColumn) -> list[Any]:
        """Return the objects of a column, None where a cell is missing."""
        kind = raw.values.dtype.kind
        back = {"O": self._of_word, "f": self.number, "M": self.moment}[kind]
        values = raw.values.astype("datetime64[us]") if kind == "M" else raw.values
        pairs = zip(values.tolist(), raw.is_missing, strict=True)
        return [None if gap else back(value) for value, gap in pairs]

    def _of_word(self, word: Any) -> Any:
        return self.words.get(word, word)


def column_of(name: str, cells: Sequence[Any], *, is_category: bool = False) -> RawColumn:
    """Return a column of objects: numbers or dates if all are, else words.

    Args:
        name: its name.
        cells: the objects.
        is_category: whether they were declared as categories, which are words, be they numbers.
    """
    gaps = [is_gap(cell) for cell in cells]
    known = [cell for cell, gap in zip(cells, gaps, strict=True) if not gap]
    for kind, number, _ in () if is_category else NUMBERS:
        if _are(known, kind):
            pairs = zip(cells, gaps, strict=True)
            return RawColumn(name, np.array([np.nan if gap else number(x) for x, gap in pairs]))
    if not is_category and (_are_days(known) or _are_moments(known)):
        pairs = zip(cells, gaps, strict=True)
        values = np.array([None if gap else x for x, gap in pairs], "datetime64[us]")
        return RawColumn(name, values, form_of(values))
    values = np.empty(len(cells), object)
    values[:] = [None if gap else word_of(x) for x, gap in zip(cells, gaps, strict=True)]
    return RawColumn(name, values, is_category=is_category)


def form_of(dates: np.ndarray) -> str:
    """Return the form of dates, the year first; without times if all are at midnight."""
    days = dates[~np.isnat(dates)]
    return ISO[bool((days != days.astype("datetime64[D]")).any())]


def _are(cells: Sequence[Any], kind: type) -> bool:
    # Booleans are whole numbers to Python, but words in a table.
    return bool(cells) and all(isinstance(x, kind) and not isinstance(x, bool) for x in cells)


def _are_days(cells: Sequence[Any]) -> bool:
    return _are(cells, date) and not any(isinstance(cell, datetime) for cell in cells)


def _are_moments(cells: Sequence[Any]) -> bool:
    return _are(cells, datetime) and all(cell.tzinfo is None for cell in cells)
