"""Reading the cells of a text column as numbers, times of day, dates, or words.

A column is read as numbers or dates if nearly all of its cells, apart from words for missing cells,
are numbers or dates, and otherwise as words. Digits that do not represent numbers, such as postal
codes with a leading zero, are also read as words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .dates import (
    clock_reading,
    dates_in_digits,
    dates_of_form,
    dates_readings,
    in_one_order,
    likely_clock,
    sample_of,
)
from .frames import CellKind, Frame, RawColumn
from .numbers import (
    CONTINENTAL,
    ENGLISH,
    LABEL,
    NUMBER,
    WITH_COMMA,
    WITH_POINT,
    Notation,
    NumberForm,
    count_matches,
    fitting_form,
    is_clock,
    notations,
    numbers_readings,
    plain_numbers,
    quoted,
)
from .readings import MISSING, best_of, fetched, no_values, row_of

BLANKS = "\t\r\n\u00a0\u202f\u2009\ufeff"  # around cells in text from the web and spreadsheets


def columns_in(
    connection: Any,
    names: list[str],
    delimiter: str,
    known: Frame | None = None,
    missing: tuple[str, ...] = (),
) -> list[RawColumn]:
    """Read the columns of the database table `cells`, each with the type of its cells.

    Args:
        connection: the connection to DuckDB.
        names: the names of the columns c0, c1, …
        delimiter: the separator between cells in the file, which limits what a comma may mean.
        known: a table, perhaps empty, whose types are used for columns of the same name.
        missing: words for missing cells in addition to `MISSING`, ignoring case.
    """
    earlier = {}
    if known is not None:
        earlier = {column.name: column for column in known.columns}
    mark = ""
    if delimiter != ",":
        mark = _decimal_mark(connection, len(names), missing)
    candidates = notations(delimiter, mark)
    columns = []
    for i, name in enumerate(names):
        _see(connection, f"c{i}", missing)
        # A dot before three digits marks thousands if other columns have decimal commas.
        known_column = earlier.get(name)
        columns.append(_column(connection, name, candidates, known_column, has_dots=mark == ","))
    return in_one_order(columns, earlier)


def _decimal_mark(connection: Any, count: int, missing: tuple[str, ...]) -> str:
    """Return the decimal mark of a file's numbers, ignoring symbols around them; "" if unclear."""
    any_sign = rf"([^\d,.]{{0,5}})??{CONTINENTAL}([^\d,.].{{0,4}})??"
    mark = ""
    for i in range(count):
        _see(connection, f"c{i}", missing)
        number = f"{NUMBER}|{ENGLISH}"
        seen, around, commas, numbers, points = row_of(
            connection,
            f"count(cell), {count_matches('cell', any_sign)}, {count_matches('cell', WITH_COMMA)},"
            f" {count_matches('cell', number)}, {count_matches('cell', WITH_POINT)}",
        )
        if commas and around == seen:
            return ","
        if points and numbers == seen:
            mark = "."
    return mark


def _see(connection: Any, column: str, missing: tuple[str, ...] = ()) -> None:
    """Create the table `seen`, in which `cell` is a column of `cells` without surrounding blanks.

    Columns are processed one at a time, since DuckDB takes minutes and gigabytes for expressions
    with thousands of columns.
    """
    words = ("", *MISSING, *(word.lower() for word in missing))
    blank = ", ".join(f"'{quoted(word)}'" for word in words)
    odd = " or ".join(f"contains({column}, '{sign}')" for sign in BLANKS)
    has_odd = connection.execute(f"select count_if({odd}) > 0 from cells").fetchone()[0]
    trimmed = f"trim({column})"
    if has_odd:  # trimming characters other than blanks takes ten times as long
        trimmed = f"trim({column}, ' {BLANKS}')"
    connection.execute(
        f"create or replace table seen as select {trimmed} as bare_cell,"
        f" case when lower(bare_cell) in ({blank}) then null else bare_cell end as cell from cells"
    )


def _plus_and_minus(connection: Any) -> np.ndarray | None:
    """Return the cells of a column of plus and minus signs, or None for other columns.

    In such a column, "-" is a value rather than a missing cell.
    """
    seen, signs = row_of(connection, "count(cell), count_if(cell in ('+', '++', '+++', '--'))")
    if not seen or signs != seen:
        return None
    return fetched(connection, "nullif(bare_cell, '')")


def _column(
    connection: Any,
    name: str,
    candidates: tuple[Notation, ...],
    known: RawColumn | None,
    *,
    has_dots: bool,
) -> RawColumn:
    """Read the table `seen` as a column of the type of `known`, or infer it if `known` is None."""
    kind = None
    form = ""
    if known is not None:
        kind = known.cell_kind
        form = known.form
    signs = _plus_and_minus(connection)
    if signs is not None:
        return RawColumn(name, signs)
    if kind is CellKind.WORDS:
        return RawColumn(name, fetched(connection, "cell"))
    seen, labels, plain, with_digits = row_of(
        connection,
        f"count(cell), {count_matches('cell', LABEL)}, {count_matches('cell', NUMBER)},"
        " count(cell) filter (regexp_matches(cell, '[0-9０-９]'))",
    )
    is_numeric = kind is CellKind.NUMBERS
    if is_numeric:
        has_dots = NumberForm.of(form).has_comma
        candidates = fitting_form(candidates, NumberForm.of(form))
    is_time = is_numeric and is_clock(form)
    is_plain = plain == seen and not labels and not (has_dots and seen)
    if is_plain and kind is not CellKind.DATES and not is_time:
        return dates_in_digits(connection, plain_numbers(connection, name, seen))
    readings = []
    note = ""
    if kind is CellKind.DATES:
        readings = [dates_of_form(connection, name, form)]
    elif is_time:
        readings = [clock_reading(connection, name, form)]
    elif is_numeric or 2 * with_digits > seen:
        readings, note = numbers_readings(
            connection, name, candidates, has_dots=has_dots, is_known=is_numeric
        )
    # In most columns of words, most cells have no digit, so they are neither numbers nor dates.
    is_settled = kind is not None and bool(readings) and readings[0].fits == seen
    if 2 * with_digits > seen and not is_settled:
        sample = sample_of(connection)
        readings += likely_clock(connection, name, sample)
        readings += dates_readings(connection, name, sample)
    if kind is not None:
        readings.append(no_values(name, form, kind))
    column = best_of(connection, name, seen, readings, note=note, is_known=kind is not None)
    return dates_in_digits(connection, column)
