"""Tables of words, numbers and dates: columns with names, read from text, Parquet or data frames.

The meaning of a column is not decided here (see `columns.py`); a cell is read as a number or a date
where all cells of its column are one, and as a word otherwise.
"""

from __future__ import annotations

import csv
import gzip
import re
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, count_of, input_error

MISSING = (  # what stands for a missing cell, besides an empty one; upper and lower case alike
    *("?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"),
)
DAYS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%Y/%m/%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d %Y"),
    *("%b %d, %Y", "%b-%d-%Y", "%d %B %Y", "%B %d %Y", "%B %d, %Y", "%Y-%m", "%b %Y", "%B %Y"),
)
CLOCK = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f")
TIMES = (
    *(f"{day} {clock}" for day in DAYS[:6] for clock in CLOCK),
    *("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S.%f"),
)
DIGITS = "%Y%m%d"  # of whole numbers that are all dates between
FIRST_DAY, LAST_DAY = 18_000_101, 21_991_231
EARLIEST, LATEST = np.datetime64("1500-01-01"), np.datetime64("2200-01-01")  # of dates in words
SAMPLED = 100  # cells by which formats of dates are chosen, to be tried with all
DELIMITERS = ",;\t|"
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf|INF)(inity)?"
COMMA = r"[+-]?\d*,\d+([eE][+-]?\d+)?"
CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY"  # before or after all numbers of a column
AROUND = rf"(?P<before>(?:{CURRENCY})\s?)?[^\s%‰$€£¥₹A-Z]+(?P<after>\s?(?:[%‰]|{CURRENCY}))?"
THOUSANDS = r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?"
LOOKED_AT, RECORDS = 2**20, 200  # characters and records by which the delimiter is found


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as it was read.

    Attributes:
        name: its name.
        values: float64 with NaN where a cell is missing, datetime64 with NaT, or an object array of
            text with None; shape (rows,).
        form: how text stands for the numbers or dates: a format of `datetime.strftime`; for numbers
            "$#" or "# %" for signs around all of them, "#," or "," for a decimal comma; else "".
        note: what a person should know about how it was read, or "".
    """

    name: str
    values: np.ndarray
    form: str = ""
    note: str = ""

    @property
    def is_missing(self) -> np.ndarray:
        """Which cells are missing."""
        if self.values.dtype.kind == "O":
            return np.array([value is None for value in self.values], bool)
        return np.isnan(self.values) if self.values.dtype.kind == "f" else np.isnat(self.values)

    def taken(self, rows: np.ndarray) -> RawColumn:
        """Return the column of some rows."""
        return RawColumn(self.name, self.values[rows], self.form, self.note)


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of equal length, with different names.

    Attributes:
        columns: the columns, in order.
        has_names: whether the names are those of the source; else they are "column 1" and so on.
    """

    columns: tuple[RawColumn, ...]
    has_names: bool = True

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].values)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    def taken(self, rows: np.ndarray) -> Frame:
        """Return some rows."""
        return Frame(tuple(column.taken(rows) for column in self.columns), self.has_names)

    def numbers(self) -> np.ndarray | None:
        """Return the columns side by side, integers if all are whole; None unless all are complete.

        Infinite numbers count as numbers.
        """
        found = self.with_gaps()
        if found is None or np.isnan(found).any():
            return None
        is_whole = np.isfinite(found).all() and (found == np.rint(found)).all()
        return found.astype(np.int64) if is_whole and abs(found).max() < 2**53 else found

    def with_gaps(self) -> np.ndarray | None:
        """Return the columns side by side, NaN where missing; None unless they are numbers."""
        if any(column.values.dtype.kind != "f" for column in self.columns):
            return None
        return np.stack([column.values for column in self.columns], axis=1)


def frame_of_array(array: np.ndarray, names: tuple[str, ...]) -> Frame:
    """Return the columns of numbers as a frame."""
    given = names or tuple(f"column {i + 1}" for i in range(array.shape[1]))
    columns = (RawColumn(n, c.astype(float)) for n, c in zip(given, array.T, strict=True))
    return Frame(tuple(columns), bool(names))


def read_text(path: Path, label: str) -> Frame:
    """Read a text file of any usual make: delimiter, quotes, header, encoding, gzip.

    Args:
        path: the file.
        label: what error messages call it.

    Raises:
        InputError: lines of different numbers of cells, names that occur twice, no rows, or an
            encoding that is not known.
    """
    import duckdb

    text = _decoded(path, label)
    start = _start(text, label)
    first, *others = start.records
    has_names = _is_header(first, others)
    names = (
        _checked_names(first, label)
        if has_names
        else [f"column {i + 1}" for i in range(len(first))]
    )
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        # A name without signs that the reader takes for patterns, and one encoding.
        plain = Path(folder, "rows.csv")
        plain.write_text(text, "utf-8", newline="")
        try:
            connection.execute(
                "create table cells as select * from read_csv(?, auto_detect = false,"
                " header = false, delim = ?, quote = '\"', escape = '\"', skip = ?, columns = ?)",
                [
                    str(plain),
                    start.delimiter,
                    start.skip + has_names,
                    {f"c{i}": "VARCHAR" for i in range(len(names))},
                ],
            )
        except duckdb.Error as error:
            raise _text_error(label, str(error)) from None
        columns = _columns(connection, names, start.delimiter)
    frame = Frame(tuple(columns), has_names)
    if not len(frame):
        raise input_error(label, "rows", "a header and no rows", "check how it was written")
    return frame


class _Start(NamedTuple):
    """The beginning of a text file: its delimiter, lines before the first row, some records."""

    delimiter: str
    skip: int
    records: list[list[str]]


def _decoded(path: Path, label: str) -> str:
    """Return the text of a file: from UTF-8, UTF-16 with its mark, or else Windows-1252."""
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            found, advice = f"a truncated or damaged one ({error})", "copy or write the file again"
            raise input_error(label, "a gzip file", found, advice) from None
    mark = content[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ("utf-16",) if mark else ("utf-8-sig", "cp1252"):
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not re.search(r"[\x00-\x08\x0e-\x1f]", text):
            return text
    advice = "save it as UTF-8 text, or rename it after its format"
    raise input_error(label, "text with one row a line", "binary content", advice)


def _start(text: str, label: str) -> _Start:
    """Find the delimiter: the one by which most of the first records have as many cells."""
    beginning = text[:LOOKED_AT]
    lines = beginning.splitlines(keepends=True)
    skip = 0
    while skip < len(lines) and (not lines[skip].strip() or lines[skip].startswith("#")):
        skip += 1
    if skip == len(lines):
        raise input_error(label, "rows", "only blank lines", "check how it was written")
    found = {}
    for delimiter in DELIMITERS:
        try:
            records = list(csv.reader(lines[skip:], delimiter=delimiter))[:RECORDS]
        except csv.Error:  # a cell of more than 131,072 characters
            continue
        records = [record for record in records if record]
        widths = [len(record) for record in records]
        common = max(set(widths), key=widths.count)
        alike = widths.count(common) / len(widths) if common > 1 else 0.0
        found[delimiter] = (alike, common, records)
    if not found:
        expected, advice = "cells of at most 131,072 characters", "drop the column of long text"
        raise input_error(label, expected, "a longer one", advice)
    delimiter = max(found, key=lambda mark: found[mark][:2])
    return _Start(delimiter, skip, found[delimiter][2])


def _is_header(first: list[str], others: list[list[str]]) -> bool:
    """Return whether the first record names the columns: no cell of its column, and no number.

    Unless its numbers count, as years do: Country, 1990, 1991, 1992.
    """
    cells = [cell.strip() for cell in first]
    numbers = [cell for cell in cells if re.fullmatch(NUMBER, cell)]
    count = [int(cell) for cell in numbers if cell.isdigit()]
    counts = 2 <= len(count) == len(numbers) < len(cells) and set(np.diff(count)) == {1}
    if not any(cells) or (numbers and not counts):
        return False
    return not any(
        cell and cell == other.strip()
        for record in others
        for cell, other in zip(cells, record, strict=False)
    )


def _checked_names(cells: list[str], label: str) -> list[str]:
    names = [cell.strip() or f"column {i + 1}" for i, cell in enumerate(cells)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        found = f"{twice[0]!r} {names.count(twice[0])} times"
        raise input_error(label, "a different name for each column", found, "rename one of them")
    return names


def _text_error(label: str, message: str) -> InputError:
    """Return the error for text that DuckDB could not divide into cells."""
    line = re.search(r"Line: (\d+)", message)
    where = f" in line {line[1]}" if line else ""
    widths = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if widths:
        expected = f"{count_of(int(widths[1]), 'column')} as in the first line"
        return input_error(label, expected, f"{widths[2]}{where}", "complete it")
    first = " ".join(message.splitlines()[2:3]) or message
    return input_error(label, "a table of cells", f"{first.rstrip('.')}{where}", "mend it")


def _columns(connection: Any, names: list[str], delimiter: str) -> list[RawColumn]:
    """Return the columns of the table `cells`, each as what all of its cells are."""
    blank = ", ".join(f"'{word}'" for word in ("", *MISSING))
    trimmed = ", ".join(
        f"case when lower(trim(c{i})) in ({blank}) then null else trim(c{i}) end as c{i}"
        for i in range(len(names))
    )
    connection.execute(f"create table seen as select {trimmed} from cells")
    grouped = THOUSANDS if delimiter == "," else COMMA
    counts = ", ".join(
        f"count(c{i}), count_if(regexp_full_match(c{i}, '{NUMBER}')),"
        f" count_if(regexp_full_match(c{i}, '{NUMBER}|{grouped}'))"
        for i in range(len(names))
    )
    found = np.array(connection.execute(f"select {counts} from seen").fetchone(), float)
    columns = []
    for i, (name, (seen, plain, other)) in enumerate(zip(names, found.reshape(-1, 3), strict=True)):
        if plain == seen:
            numbers = fetched(connection, f"cast(c{i} as double)")
            columns.append(_dates_in_digits(connection, f"c{i}", RawColumn(name, numbers)))
        elif other == seen:
            changed = f"replace(c{i}, ',', '{'.' if grouped is COMMA else ''}')"
            form = "," if grouped is COMMA else ""
            columns.append(RawColumn(name, fetched(connection, f"cast({changed} as double)"), form))
        else:
            signed = _numbers_with_signs(connection, f"c{i}", name, seen, grouped)
            columns.append(signed or _dates_or_words(connection, f"c{i}", name, seen, plain))
    return columns


def _numbers_with_signs(
    connection: Any, cell: str, name: str, seen: float, grouped: str
) -> RawColumn | None:
    """Return a column of amounts or percentages, if all cells have the same sign around them."""
    first = connection.execute(f"select {cell} from seen where {cell} is not null").fetchone()
    signs = re.fullmatch(AROUND, first[0]) if first else None
    before, after = (signs[1] or "", signs[2] or "") if signs else ("", "")
    if not before + after:
        return None
    bare = f"substr({cell}, {len(before) + 1}, length({cell}) - {len(before) + len(after)})"
    has_signs = f"starts_with({cell}, '{before}') and ends_with({cell}, '{after}')"
    for pattern, is_comma in ((NUMBER, False), (f"{NUMBER}|{grouped}", grouped is COMMA)):
        fits = f"{has_signs} and regexp_full_match({bare}, '{pattern}')"
        if connection.execute(f"select count_if({fits}) from seen").fetchone()[0] == seen:
            changed = f"replace({bare}, ',', '{'.' if is_comma else ''}')"
            form = f"{before}#{',' if is_comma else ''}{after}"
            return RawColumn(name, fetched(connection, f"cast({changed} as double)"), form)
    return None


def _dates_or_words(
    connection: Any, cell: str, name: str, seen: float, numbers: float
) -> RawColumn:
    """Return a column as dates if one format fits all of its cells, else as words."""
    some = f"(select {cell} from seen where {cell} is not null limit {SAMPLED})"
    first = connection.execute(f"select {cell} from {some}").fetchone()
    for form in (*DAYS, *TIMES) if first and re.search(r"\d\D+\d|\D\d{4}", first[0]) else ():
        time = f"try_strptime({cell}, '{form}')"
        for table, count in ((some, min(seen, SAMPLED)), ("seen", seen)):
            if connection.execute(f"select count({time}) from {table}").fetchone()[0] < count:
                break
        else:
            values = fetched(connection, f"cast({time} as timestamp)")
            if np.nanmin(values) >= EARLIEST and np.nanmax(values) < LATEST:
                return RawColumn(name, values, form)
    note = ""
    if numbers > seen / 2:
        odd = connection.execute(
            f"select {cell} from seen where not regexp_full_match({cell}, '{NUMBER}') limit 1"
        ).fetchone()[0]
        note = f"read as words, since {odd[:40]!r} is no number"
    return RawColumn(name, fetched(connection, cell), note=note)


def _dates_in_digits(connection: Any, cell: str, raw: RawColumn) -> RawColumn:
    """Return numbers such as 20240131 as dates, if they are all dates."""
    known = raw.values[~raw.is_missing]
    if not len(known) or known.min() < FIRST_DAY or known.max() > LAST_DAY:
        return raw
    time = f"try_strptime({cell}, '{DIGITS}')"
    found = connection.execute(f"select count({time}) from seen").fetchone()[0]
    if found < len(known):
        return raw
    return RawColumn(raw.name, fetched(connection, f"cast({time} as timestamp)"), DIGITS)


def fetched(connection: Any, expression: str) -> np.ndarray:
    """Return the values of an SQL expression over the table `seen`."""
    values = connection.execute(f"select {expression} as it from seen").fetchnumpy()["it"]
    return with_gaps(np.ma.getdata(values), np.ma.getmaskarray(values))


def with_gaps(values: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return a copy of cells, of words, dates or numbers, with some of them missing."""
    found = values.copy()
    found[missing] = {"O": None, "M": np.datetime64("NaT")}.get(values.dtype.kind, np.nan)
    return found
