"""Writing a table as text, each cell as it was read."""

from __future__ import annotations

import csv
import io
import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from .frames import Frame, RawColumn
from .text import Cells

SUFFIXES = (".csv", ".tsv")
# What makes a spreadsheet take a cell for a formula, also in the wide letters of East Asian text.
FORMULAS = tuple("=+-@\t\r\n＝＋－＠")


def text_of(frame: Frame, path: str | Path, guard: bool = False) -> str:
    """Return a frame as text: separated by tabs for .tsv, else by commas.

    Columns of whole numbers are written without a point, others with the fewest digits that read
    back as the same number, dates in the form in which they were read, and missing cells empty. A
    table without names is written without names. With `guard`, cells that a spreadsheet would run
    as formulas are written as `guarded`.
    """
    cells = zip(*map(_cells, frame.columns), strict=True)
    return _text(frame.names if frame.has_names else (), cells, path, ",", guard)


def text_with(
    frame: Frame, kept: Frame, source: Cells, path: str | Path, guard: bool = False
) -> str:
    """Return a filled frame as text in which all cells of the source stand as they stood there.

    Args:
        frame: the table to write: one or several copies of the source's rows, below each other,
            with columns of its own before those of the source.
        kept: the table as it was read; where a cell is missing, that of `frame` is written.
        source: the cells of the file.
        path: the file to write.
        guard: whether cells that a spreadsheet would run as formulas are written as `guarded`.
    """
    gaps = np.stack([column.is_missing for column in kept.columns], axis=1)
    more = len(frame.columns) - len(kept.columns)
    made = zip(*map(_cells, frame.columns), strict=True)
    rows = (
        [
            *new[:more],
            *(b or a if gap else a for a, b, gap in zip(old, new[more:], at, strict=True)),
        ]
        for new, old, at in zip(made, itertools.cycle(source.rows), itertools.cycle(gaps))
    )
    return _text(frame.names if frame.has_names else (), rows, path, source.delimiter, guard)


def guarded(cell: str) -> str:
    """Return a cell with ' before it if a spreadsheet would take it for a formula; numbers stay.

    Example:
        >>> from harmonium.tables.writing import guarded
        >>> [guarded(cell) for cell in ("=1+1", "@home", "-1.5", "x=1")]
        ["'=1+1", "'@home", '-1.5', 'x=1']
    """
    return f"'{cell}" if cell.startswith(FORMULAS) and not _is_number(cell) else cell


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, perhaps of money or percent, such as -$1,250.50."""
    core = "".join(letter for letter in cell if unicodedata.category(letter) != "Sc")
    try:
        float(core.removesuffix("%").replace(",", ""))
    except ValueError:
        return False
    return cell == cell.strip()  # float takes a tab before a number, and a spreadsheet acts on it


def _text(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    path: str | Path,
    separator: str,
    guard: bool,
) -> str:
    out = _Lines()
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else separator
    writer = csv.writer(out, delimiter=delimiter, lineterminator=_Lines.ENDING)
    lines = itertools.chain([names] if names else [], rows)
    writer.writerows(map(guarded, line) if guard else line for line in lines)
    return out.getvalue()


class _Lines(io.StringIO):
    """Lines that end in a line feed, for a writer that quotes what its own line ending contains."""

    ENDING = "\r\n"

    def write(self, text: str) -> int:
        return super().write(text.removesuffix(self.ENDING) + "\n")  # a whole line each time


def plain(column: RawColumn) -> list[Any]:
    """Return the cells as numbers and words, dates in their form, None where one is missing."""
    cells = column.values.tolist()
    if column.values.dtype.kind == "M":
        cells = _cells(column)
    return [None if gap else x for gap, x in zip(column.is_missing, cells, strict=True)]


def _cells(column: RawColumn) -> list[str]:
    missing, values = column.is_missing, column.values
    is_whole = values.dtype.kind == "f" and _are_whole(values[~missing])
    return [
        "" if gap else _cell(value, column.form, is_whole)
        for value, gap in zip(values, missing, strict=True)
    ]


def _are_whole(numbers: np.ndarray) -> bool:
    return bool((numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all())


def _cell(value: Any, form: str, is_whole: bool) -> str:
    if isinstance(value, np.datetime64):
        moment: datetime = value.astype("datetime64[us]").item()
        return moment.strftime(form or "%Y-%m-%d")
    if not isinstance(value, float | np.floating):
        return str(value)
    number = str(int(value)) if is_whole else repr(float(value))
    before, _, after = form.partition("#")
    if form == "," or after.startswith(","):
        number, after = number.replace(".", ","), after.removeprefix(",")
    if "#" not in form:
        return number
    return f"{'-' * number.startswith('-')}{before}{number.removeprefix('-')}{after}"
