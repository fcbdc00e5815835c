"""Writing a table as text, in the style of its source file and with known cells unchanged."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .dates import shown_date
from .frames import CellKind, Frame, RawColumn
from .numbers import dressed, is_clock, is_number
from .text import Cells

BEGINNING = 2**18  # bytes used to determine the style
# The characters that begin a formula in a spreadsheet, including their full-width forms.
FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
# Byte order marks.
UTF8 = b"\xef\xbb\xbf"
UTF16 = b"\xff\xfe", b"\xfe\xff"
SUFFIXES = (".csv", ".tsv")


class TextStyle(NamedTuple):
    """The style of a text file: line endings, quotes and escapes.

    Attributes:
        mark: the byte order mark.
        line_end: the line ending.
        names_are_quoted: whether the column names are in quotes.
        quoted: the indices of columns whose cells are in quotes.
        is_guarded: whether cells that a spreadsheet would run as formulas are escaped, as by
            `guarded`.
    """

    mark: str = ""
    line_end: str = "\n"
    names_are_quoted: bool = False
    quoted: frozenset[int] = frozenset()
    is_guarded: bool = False

    @classmethod
    def of(cls, content: bytes, delimiter: str, width: int) -> TextStyle:
        """Detect the style of a file.

        Args:
            content: the uncompressed contents of the file.
            delimiter: the separator between cells.
            width: the number of columns.
        """
        beginning = content[:BEGINNING]
        # Latin-1 can decode all bytes, and the characters of a style are ASCII.
        encoding = "utf-16" if beginning[:2] in UTF16 else "latin-1"
        text = beginning.decode(encoding, "ignore")
        ends = re.search(r"\r?\n|\r", text)
        mark = re.escape(delimiter)
        cell = rf'(?:^|{mark})("(?:[^"]|"")*"|[^{mark}"]*)'
        lines = (re.findall(cell, line) for line in re.split(r"\r?\n|\r", text))
        first, *others = [line for line in lines if len(line) == width] or [[]]
        by_column = zip(*others, strict=True)
        quoted = {place for place, cells in enumerate(by_column) if _are_quoted(cells)}
        return cls(
            mark="\ufeff" if content.startswith(UTF8) else "",
            line_end=ends[0] if ends else "\n",
            names_are_quoted=bool(first) and all(cell.startswith('"') for cell in first),
            quoted=frozenset(quoted),
        )

    def line(self, cells: Sequence[str], delimiter: str, *, are_names: bool, added: int) -> str:
        """Return cells as a line of text.

        Args:
            cells: the cells.
            delimiter: the separator between cells.
            are_names: whether the cells are column names.
            added: the number of new cells before the cells of the source file.
        """
        special = re.compile(rf'["\r\n{re.escape(delimiter)}]')
        parts = []
        shown = cells
        if self.is_guarded:
            shown = map(guarded, cells)
        for place, cell in enumerate(shown, -added):
            is_quoted = place in self.quoted
            if are_names:
                is_quoted = self.names_are_quoted
            # A missing cell is not quoted, since some programs would read "" as an empty word.
            if special.search(cell) or (is_quoted and cell):
                cell = f'"{cell.replace(chr(34), chr(34) * 2)}"'
            parts.append(cell)
        line = delimiter.join(parts)
        # A row of one empty cell is written as "", since a final blank line would not be a row.
        return f"{line or chr(34) * 2}{self.line_end}"


def guarded(cell: str) -> str:
    """Prefix a cell with ' if a spreadsheet would run it as a formula, unless it is a number.

    Example:
        >>> from harmonium.tables.writing import guarded
        >>> [guarded(cell) for cell in ("=1+1", "@home", "-1.5", "x=1")]
        ["'=1+1", "'@home", '-1.5', 'x=1']
    """
    if cell.startswith(FORMULAS) and not _is_amount(cell):
        return f"'{cell}"
    return cell


def _is_amount(cell: str) -> bool:
    """Return whether a cell is a number, possibly an amount of money or a percentage."""
    bare = "".join(letter for letter in cell if unicodedata.category(letter) != "Sc")
    if not is_number(bare.removesuffix("%").replace(",", "").strip()):
        return False
    return cell == cell.strip()  # a spreadsheet acts on a tab before a number


def _are_quoted(cells: Iterable[str]) -> bool:
    """Return whether all cells are in quotes, except empty cells and NA, as R writes them."""
    known = [cell for cell in cells if cell not in ("", "NA")]
    return bool(known) and all(cell.startswith('"') for cell in known)


PLAIN = TextStyle()


def text_of(frame: Frame, path: str | Path, guard: bool = False) -> str:
    """Return a table as text, with cells separated by tabs for a .tsv file, else by commas.

    If all numbers of a column had the same number of decimals when read, they are written with as
    many. Otherwise, a column of integers has no decimal points, and other numbers have the fewest
    digits that read back as the same number. Dates have the format in which they were read, and
    missing cells are empty. A table without column names is written without a line of names. With
    `guard`, cells that a spreadsheet would run as formulas are escaped.
    """
    rows = zip(*map(_cells, frame.columns), strict=True)
    return _text(frame.own_names, rows, path, ",", PLAIN._replace(is_guarded=guard))


def text_with(
    frame: Frame, original: Frame, source: Cells, path: str | Path, style: TextStyle | None = None
) -> str:
    """Return a filled table as text, with all known cells exactly as in the source file.

    Args:
        frame: the table to write: one or several concatenated copies of the source's rows, perhaps
            with additional columns first.
        original: the table as read; its missing cells are taken from `frame`.
        source: the original cells of the file.
        path: the file to write.
        style: the style of the source file.
    """
    gaps = np.stack([column.is_missing for column in original.columns], axis=1)
    added = len(frame.columns) - len(original.columns)
    filled_rows = zip(*map(_cells, frame.columns), strict=True)
    sources = zip(filled_rows, itertools.cycle(source.rows), itertools.cycle(gaps))
    rows = (
        [*filled[:added], *_filled(cells, filled[added:], is_gap)]
        for filled, cells, is_gap in sources
    )
    return _text(frame.own_names, rows, path, source.delimiter, style or PLAIN, added)


def _filled(cells: Sequence[str], others: Sequence[str], is_gap: np.ndarray) -> list[str]:
    """Return a row with its missing cells filled from the non-empty cells of another row."""
    return [
        other if gap and other else cell
        for cell, other, gap in zip(cells, others, is_gap, strict=True)
    ]


def _text(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    path: str | Path,
    separator: str,
    style: TextStyle = PLAIN,
    added: int = 0,
) -> str:
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else separator
    lines = [style.line(row, delimiter, are_names=False, added=added) for row in rows]
    if names:
        lines.insert(0, style.line(names, delimiter, are_names=True, added=added))
    return style.mark + "".join(lines)


def plain(column: RawColumn) -> list[Any]:
    """Return the cells as numbers and words, with dates as text and None for missing cells."""
    cells = column.values.tolist()
    if column.cell_kind is CellKind.DATES or is_clock(column.form):
        cells = _cells(column)
    pairs = zip(column.is_missing, cells, strict=True)
    return [None if is_gap else cell for is_gap, cell in pairs]


def _cells(column: RawColumn) -> list[str]:
    is_whole = column.cell_kind is CellKind.NUMBERS and _are_whole(column.known)
    return [
        "" if is_gap else _cell(value, column.form, is_whole, column.digits)
        for value, is_gap in zip(column.values, column.is_missing, strict=True)
    ]


def _are_whole(numbers: np.ndarray) -> bool:
    return bool((numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all())


def _cell(value: Any, form: str, is_whole: bool, digits: int | None) -> str:
    """Format a cell as text; numbers have the digits of their column, or as few as possible."""
    if isinstance(value, np.datetime64):
        return shown_date(form or "%Y-%m-%d", value)
    if not isinstance(value, float | np.floating):
        return str(value)
    number = repr(float(value))
    if digits is not None:
        number = f"{value:.{digits}f}"
    elif is_whole:
        number = str(int(value))
    return dressed(number, form)
