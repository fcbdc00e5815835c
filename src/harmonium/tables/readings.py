"""A way to read a column of text, and what is done with the cells that it does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .frames import RawColumn, with_gaps
from .gaps import Odd

NEARLY = 0.9  # of the cells have one of two forms, if that is said
MOST_WORDS = 50  # different cells of another kind that are looked at


class Reading(NamedTuple):
    """A column read as numbers, times of day or dates, before its cells are fetched.

    Attributes:
        value: the SQL for a cell's value, null where the cell is none.
        fits: how many cells have a value.
        plural, singular: what the values are, in messages.
        column: makes the column of the values; None if they are not plausible together.
    """

    value: str
    fits: int
    plural: str
    singular: str
    column: Callable[[np.ndarray], RawColumn | None]


def fetched(connection: Any, expression: str) -> np.ndarray:
    """Return the values of an SQL expression over the table `seen`."""
    values = connection.execute(f"select {expression} as it from seen").fetchnumpy()["it"]
    return with_gaps(np.ma.getdata(values), np.ma.getmaskarray(values))


def nothing(name: str, form: str, kind: str) -> Reading:
    """Return the column as numbers or dates of which none is there."""
    value = "cast(null as timestamp)" if kind == "M" else "cast(null as double)"
    return Reading(value, 0, "values", "value", lambda values: RawColumn(name, values, form))


def odd_cells(connection: Any, cell: str, reading: Reading, seen: int) -> Odd:
    """Return the cells of a column that a reading does not fit."""
    total = seen - reading.fits
    if not total:
        return Odd({}, 0, seen)
    words = connection.execute(
        f"select {cell}, count(*) as n from seen where {cell} is not null"
        f" and ({reading.value}) is null group by {cell} order by n desc, {cell} limit {MOST_WORDS}"
    ).fetchall()
    return Odd(dict(words), total, seen)


def with_notes(column: RawColumn, *notes: str) -> RawColumn:
    """Return a column with notes after its own."""
    joined = "; ".join(note for note in (column.note, *notes) if note)
    return replace(column, note=joined)


def best_of(
    connection: Any,
    cell: str,
    name: str,
    seen: int,
    readings: list[Reading],
    *,
    note: str = "",
    is_known: bool = False,
) -> RawColumn:
    """Return the column by the reading that fits most cells, or as words.

    The others are missing cells, if they are words for that or hardly any.

    Args:
        connection: to DuckDB, with the table `seen`.
        cell: the column of this table.
        name: of the column.
        seen: how many cells are not empty.
        readings: those that are tried.
        note: what is said of a column of words.
        is_known: whether the column was none of words before.
    """
    ordered = sorted(readings, key=lambda one: -one.fits)
    for reading in ordered:
        odd = odd_cells(connection, cell, reading, seen)
        if odd.are_gaps(is_known=is_known):
            column = reading.column(fetched(connection, reading.value))
            if column is not None:
                return with_notes(column, odd.note)
            note = note or f"read as words, as it is not sure that they are {reading.plural}"
        elif 2 * reading.fits > seen and not note:
            note = odd.reason(reading.plural, reading.singular)
    if not note and len(ordered) > 1 and sum(r.fits for r in ordered[:2]) >= NEARLY * seen:
        note = f"read as words: {ordered[0].plural} of two forms; write them in one"
    return RawColumn(name, fetched(connection, cell), note=note)
