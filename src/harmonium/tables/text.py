"""Text files as tables: delimiter, header and encoding are found here; DuckDB parses the rest."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._files import bytes_of, unzipped
from ..errors import InputError, count_of, input_error
from .cells import NUMBER, columns_in
from .database import database
from .digits import with_digits
from .frames import Frame
from .moments import YEARS

DELIMITERS = ",;\t|"
WORDS_OF_A_LINE = 4
MOST_COLUMNS = 2**15  # each takes time and memory, however few its cells
LOOKED_AT, RECORDS = 2**20, 200  # characters and records by which the delimiter is found


def read_text(path: Path, label: str, known: Frame | None = None) -> Frame:
    """Read a text file of any usual make: delimiter, quotes, header, encoding, gzip.

    Args:
        path: the file.
        label: what error messages call it.
        known: a table, of any number of rows, as whose columns those of the same name are read.

    Raises:
        InputError: lines of different numbers of cells, names that occur twice, no rows, or an
            encoding that is not known.
    """
    import duckdb

    text = _decoded(path, label)
    start = _start(text, label)
    first, *others = start.records
    if len(first) > MOST_COLUMNS:
        expected, found = f"at most {MOST_COLUMNS:,} columns of words", f"{len(first):,}"
        raise input_error(label, expected, found, "write numbers as an array, in .npy")
    has_names = _is_header(first, others)
    names = (
        _checked_names(first, label)
        if has_names
        else [f"column {i + 1}" for i in range(len(first))]
    )
    with database(label, "a table of cells", len(text)) as (connection, folder):
        # A name without signs that the reader takes for patterns, and one encoding.
        plain = folder / "rows.csv"
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
        except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
            raise _text_error(label, str(error)) from None
        columns = columns_in(connection, names, start.delimiter, known)
        columns = with_digits(connection, columns)
    frame = Frame(tuple(columns), has_names)
    if _is_prose(frame):
        advice = "separate cells by commas, semicolons or tabs"
        raise input_error(label, "a table of cells", "lines of text", advice)
    if not len(frame):
        raise input_error(label, "rows", "a header and no rows", "check how it was written")
    return frame


def _is_prose(frame: Frame) -> bool:
    """Return whether a table is a single column of different texts, of four words each or more."""
    values = frame.columns[0].values
    if len(frame.columns) > 1 or values.dtype.kind != "O":
        return False
    cells = [cell for cell in values if cell is not None]
    words = sum(len(cell.split()) for cell in cells)
    return bool(cells) and len(set(cells)) == len(cells) and words >= WORDS_OF_A_LINE * len(cells)


class Cells(NamedTuple):
    """The cells of a text file as they stand there, without its names, and what separates them."""

    delimiter: str
    rows: list[list[str]]


def read_cells(path: Path, label: str) -> Cells | None:
    """Read the cells of a text file that `read_text` can read; None if one is too long for that."""
    text = _decoded(path, label)
    start = _start(text, label)
    first, *others = start.records
    lines = text.splitlines(keepends=True)[start.skip :]
    try:
        rows = [row for row in csv.reader(lines, delimiter=start.delimiter) if row]
    except csv.Error:  # a cell of more than 131,072 characters
        return None
    return Cells(start.delimiter, rows[_is_header(first, others) :])


class _Start(NamedTuple):
    """The beginning of a text file: its delimiter, lines before the first row, some records."""

    delimiter: str
    skip: int
    records: list[list[str]]


def _decoded(path: Path, label: str) -> str:
    """Return the text of a file: from UTF-8, UTF-16 with its mark, or else Windows-1252."""
    content = unzipped(bytes_of(path, label), label)
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

    Unless its numbers are years at equal distances, and those below are not years.
    """
    cells = [cell.strip() for cell in first]
    if not any(cells):
        return False
    numbers = [i for i, cell in enumerate(cells) if re.fullmatch(NUMBER, cell)]
    if numbers:
        years = [int(cells[i]) if cells[i].isdigit() else 0 for i in numbers]
        below = [record[i].strip() for record in others for i in numbers if i < len(record)]
        if len(years) < 2 or len(set(np.diff(years))) > 1 or len(set(years)) == 1:
            return False
        if not all(map(_is_year, map(str, years))) or all(map(_is_year, filter(None, below))):
            return False
    return not any(
        cell and cell == other.strip()
        for record in others
        for cell, other in zip(cells, record, strict=False)
    )


def _is_year(cell: str) -> bool:
    return cell.isdigit() and YEARS[0] <= int(cell) <= YEARS[1]


def _checked_names(cells: list[str], label: str) -> list[str]:
    names = [cell.strip() or f"column {i + 1}" for i, cell in enumerate(cells)]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
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
        advice = "complete it, if this is a table"
        return input_error(label, expected, f"{widths[2]}{where}", advice)
    first = " ".join(message.splitlines()[2:3]) or message
    return input_error(label, "a table of cells", f"{first.rstrip('.')}{where}", "mend it")
