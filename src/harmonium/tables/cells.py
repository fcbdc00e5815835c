"""What the cells of a column of text are: numbers, times of day, dates, or words.

A cell is read as a number or a date where all cells of its column are one, but for words that stand
for a missing cell, and else as a word: also digits that are no number, such as postal codes with a
leading zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .date_cells import (
    clock_reading,
    dates_in_digits,
    dates_of_form,
    dates_readings,
    in_one_order,
    likely_clock,
    sample_of,
)
from .frames import Frame, RawColumn
from .number_cells import numbers_readings, plain_numbers
from .number_forms import (
    CONTINENTAL,
    ENGLISH,
    LABEL,
    NUMBER,
    WITH_COMMA,
    WITH_POINT,
    Notation,
    NumberForm,
    as_before,
    is_clock,
    notations,
    quoted,
)
from .readings import MISSING, best_of, fetched, nothing

BLANKS = "\t\r\n\u00a0\u202f\u2009\ufeff"  # around cells, in text of the web and of spreadsheets


def columns_in(
    connection: Any,
    names: list[str],
    delimiter: str,
    known: Frame | None = None,
    missing: tuple[str, ...] = (),
) -> list[RawColumn]:
    """Return the columns of the table `cells` of texts, each as what all of its cells are.

    Args:
        connection: to DuckDB.
        names: of the columns c0, c1, …
        delimiter: between the cells in their file, which is no decimal comma.
        known: a table, of any number of rows, as whose columns those of the same name are read.
        missing: words for missing cells, besides `MISSING`; upper and lower case alike.
    """
    kept = {} if known is None else {column.name: column for column in known.columns}
    mark = "" if delimiter == "," else _decimal_mark(connection, len(names), missing)
    ways = notations(delimiter, mark)
    columns = []
    for i, name in enumerate(names):
        _see(connection, f"c{i}", missing)
        columns.append(_column(connection, f"c{i}", name, ways, mark == ",", kept.get(name)))
    return in_one_order(columns, kept)


def _decimal_mark(connection: Any, count: int, missing: tuple[str, ...]) -> str:
    """Return the decimal mark that a column shows, signs around its numbers aside; "" if none."""
    any_sign = rf"([^\d,.]{{0,5}})??{CONTINENTAL}([^\d,.].{{0,4}})??"
    mark = ""
    for i in range(count):
        _see(connection, f"c{i}", missing)
        commas, points = connection.execute(
            f"select count(c{i}) = count_if(regexp_full_match(c{i}, '{any_sign}'))"
            f" and count_if(regexp_full_match(c{i}, '{WITH_COMMA}')) > 0,"
            f" count(c{i}) = count_if(regexp_full_match(c{i}, '{NUMBER}|{ENGLISH}'))"
            f" and count_if(regexp_full_match(c{i}, '{WITH_POINT}')) > 0 from seen"
        ).fetchone()
        if commas:
            return ","
        mark = "." if points else mark
    return mark


def _see(connection: Any, cell: str, missing: tuple[str, ...] = ()) -> None:
    """Make the table `seen` of one column of `cells`, without blanks around them.

    One at a time: DuckDB takes minutes, and gigabytes, for expressions of thousands of columns.
    """
    words = ("", *MISSING, *(word.lower() for word in missing))
    blank = ", ".join(f"'{quoted(word)}'" for word in words)
    odd = " or ".join(f"contains({cell}, '{sign}')" for sign in BLANKS)
    has_odd = connection.execute(f"select count_if({odd}) > 0 from cells").fetchone()[0]
    # To trim other signs than blanks takes ten times as long.
    trimmed = f"trim({cell}, ' {BLANKS}')" if has_odd else f"trim({cell})"
    connection.execute(
        f"create or replace table seen as select case when lower({trimmed}) in ({blank})"
        f" then null else {trimmed} end as {cell} from cells"
    )


def _signs(connection: Any, cell: str) -> np.ndarray | None:
    """Return a column of "+" and "-", of which "-" is no missing cell; None if it is none."""
    are_plus = connection.execute(
        f"select count({cell}) > 0 and count({cell}) = count_if({cell} in ('+', '++', '+++', '--'))"
        " from seen"
    ).fetchone()[0]
    if not are_plus:
        return None
    connection.execute(
        f"create or replace table seen as select nullif(trim({cell}), '') as {cell} from cells"
    )
    return fetched(connection, cell)


def _column(
    connection: Any,
    cell: str,
    name: str,
    ways: tuple[Notation, ...],
    commas: bool,
    before: RawColumn | None,
) -> RawColumn:
    """Return the column of the table `seen`, as what its cells are or were `before`."""
    kind = "" if before is None else before.values.dtype.kind
    signs = _signs(connection, cell)
    if signs is not None:
        return RawColumn(name, signs)
    if kind == "O":
        return RawColumn(name, fetched(connection, cell))
    counts = connection.execute(
        f"select count({cell}), count_if(regexp_full_match({cell}, '{LABEL}')),"
        f" count_if(regexp_full_match({cell}, '{NUMBER}')),"
        f" count_if(regexp_matches({cell}, '[0-9０-９]')) from seen"
    ).fetchone()
    seen, labels, plain, with_digits = (count or 0 for count in counts)  # null without rows
    # A dot before three digits marks thousands where other columns have decimal commas.
    form = "" if before is None else before.form
    dots = commas
    if kind == "f":
        dots = NumberForm.of(form).has_comma
        ways = as_before(ways, NumberForm.of(form))
    is_time = kind == "f" and is_clock(form)
    if plain == seen and not labels and not (dots and seen) and kind != "M" and not is_time:
        return dates_in_digits(connection, cell, plain_numbers(connection, cell, name, seen))
    readings, note = [], ""
    if kind == "M":
        readings = [dates_of_form(connection, cell, name, form)]
    elif is_time:
        readings = [clock_reading(connection, cell, name, form)]
    elif kind == "f" or 2 * with_digits > seen:
        readings, note = numbers_readings(connection, cell, name, ways, dots, kind == "f")
    # Words without a digit in most cells are none of these, and most columns of words are such.
    if 2 * with_digits > seen and not (kind and readings and readings[0].fits == seen):
        sample = sample_of(connection, cell)
        readings += likely_clock(connection, cell, name, sample)
        readings += dates_readings(connection, cell, name, sample)
    if kind:
        readings.append(nothing(name, form, kind))
    known = bool(kind)
    column = best_of(connection, cell, name, seen, readings, note=note, is_known=known)
    return dates_in_digits(connection, cell, column)
