"""Text files as tables: `layout_of` decides where their parts are, and DuckDB reads their cells.

The separator and the header are decided here, since DuckDB's own detection reads a ragged file as
one column. Python's csv divides a text into records, so that comments, short headers and open
quotes are known by their line; DuckDB reads one normal form of it. A matrix of numbers is parsed by
NumPy, which is loaded anyway.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._base.files import bytes_of, unzipped
from ..errors import InputError
from .cells import columns_in
from .database import database
from .encodings import decoded
from .frames import CellKind, Frame
from .layout import Layout, layout_of
from .number_cells import with_digits
from .number_forms import is_number
from .separators import COMMENTS, WIDE_BLANKS
from .text_format import TextFormat

WORDS_OF_A_LINE = 4
# Bits and spins, written without blanks or with.
NUMBERS_OF_SIGNS = ({"0": 0, "1": 1}, {"-": -1, "+": 1})
TAG = r"<[!?/a-zA-Z][^<>]*>"


class OtherFormat(NamedTuple):
    """A format of text that is no table: its name, how it begins, and what to do."""

    name: str
    beginning: str
    advice: str = "export the table as CSV"


OTHER_FORMATS = (
    # A name may be in tags as well: <b>x</b>,<i>y</i>
    OtherFormat(
        "a page of HTML or XML",
        rf"(?i)\s*(<[!?]|</?(html|head|body|table|div|p|svg|rss)\b"
        rf"|({TAG}[^,;\t|\r\n<>]*)+[\r\n]\s*<)",
    ),
    OtherFormat("JSON", r'\s*(\{\s*"[^"]*"\s*:|\[\s*[\[{]\s*["\d{-])'),
    OtherFormat("a document in RTF", r"\{\\rtf"),
    OtherFormat(
        "a pointer of Git LFS to the file",
        r"version https://git-lfs\.",
        "fetch it: git lfs pull",
    ),
    OtherFormat(
        "a matrix in the format of Matrix Market",
        r"%%MatrixMarket",
        "save it as an array, in .npy: numpy.asarray(scipy.io.mmread(FILE).todense())",
    ),
)
MOST_EVEN = 0.9  # fraction of strings that have one length, if another is an error
MANY_LEVELS = 64  # columns, of which the levels of pictures have at least so many
LARGEST_LEVEL = 255
FEWEST_BITS = 4  # in a string that begins with no 0 in any row: 10 and 11 are numbers


class Cells(NamedTuple):
    """The cells of a text file as they stand there, without its names, and what separates them."""

    delimiter: str
    rows: list[list[str]]


@dataclass(frozen=True, eq=False)
class TextTable:
    """A text file, decoded once, and where the parts of its table are.

    Attributes:
        label: what error messages call it.
        lines: its lines, with their ends.
        layout: where its names and rows are.
        missing: words for missing cells, besides the usual ones.
        notes: what a person should know about how it is read, sentences without a full stop.
    """

    label: str
    lines: list[str]
    layout: Layout
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def delimiter(self) -> str:
        """What separates cells; a blank for any number of them."""
        mark = self.layout.splitter.mark
        return "\t" if mark == WIDE_BLANKS else mark

    def cells(self) -> Cells:
        """Return the cells of the rows as they stand there."""
        return Cells(self.delimiter, list(self.layout.rows(self.lines)))

    def numbers(self) -> np.ndarray | None:
        """Return rows of complete numbers without names as a matrix; None for any other table."""
        if self.layout.names is not None:
            return None
        return self._matrix()

    def levels(self) -> np.ndarray | None:
        """Return rows of many grey levels with names as a matrix; None for any other table.

        Such a file needs no look at each column, which takes a hundredth of a second. Its first or
        last column may be of other numbers, as labels are.
        """
        if self.layout.names is None or self.layout.width < MANY_LEVELS:
            return None
        values = self._matrix()
        if values is None or values.dtype.kind != "i":
            return None
        inner = values[:, 1:-1]
        return values if inner.min() >= 0 and inner.max() <= LARGEST_LEVEL else None

    def _matrix(self) -> np.ndarray | None:
        """Return rows of complete numbers, whole ones as integers; None for any other table."""
        # NumPy would read a number that means a missing cell.
        if any(map(is_number, self.missing)):
            return None
        body = self.lines[self.layout.first - 1 : self.layout.last]
        lines = [
            line
            for line in body
            if line.strip() and not (line.startswith(COMMENTS) and self.layout.is_comment(line))
        ]
        if not lines:
            return None
        splitter = self.layout.splitter
        mark = None if splitter.is_blank else splitter.mark
        try:
            values = np.loadtxt(
                lines, delimiter=mark, ndmin=2, comments=None, quotechar=splitter.quote
            )
        except ValueError:
            return None
        if not values.size or values.shape[1] != self.layout.width:
            return None
        text = "".join(lines)
        has_points = any(sign in text for sign in ".eEnN")  # nan and inf have an n
        if has_points or not np.isfinite(values).all() or np.abs(values).max() >= 2**53:
            return values
        return values.astype(np.int64) if (values == np.rint(values)).all() else values

    @cached_property
    def signs(self) -> np.ndarray | None:
        """Rows of bits (0, 1) or spins (-, +) as numbers; None for any other table.

        A single column may hold strings of them, all of one length.
        """
        layout = self.layout
        if self.missing or (layout.names is not None and layout.width > 1):
            return None
        usual = "[01]+|[+-]+" if layout.width == 1 else "[+-]+"
        rows: list[str] = []
        for row in layout.rows(self.lines):
            rows.append("".join(row).strip())
            if len(rows[-1]) < 2 or not re.fullmatch(usual, rows[-1]):
                return None
        if not rows:
            return None
        width = len(rows[0])
        if any(len(row) != width for row in rows):
            self._refuse_uneven(rows)
            return None
        numbers = next((n for n in NUMBERS_OF_SIGNS if set("".join(rows)) <= set(n)), None)
        if numbers is None or (layout.width > 1 and width != layout.width):
            return None
        if "0" in numbers and not _are_bits(rows):
            return None
        return np.array([[numbers[sign] for sign in row] for row in rows])

    def _refuse_uneven(self, rows: list[str]) -> None:
        """Raise InputError if nearly all strings of signs have one length, and some another."""
        (length, count), *_ = Counter(map(len, rows)).most_common(1)
        if length < FEWEST_BITS or count < MOST_EVEN * len(rows):
            return
        row = next(place for place, signs in enumerate(rows) if len(signs) != length)
        raise InputError(
            f"{self.label}: expected strings of bits or spins of one length, {length:,}; got"
            f" {len(rows[row]):,} signs in row {row + 1:,}, {rows[row][:40]!r}; correct it, or drop"
            " the row."
        )

    def frame(self, known: Frame | None = None) -> Frame:
        """Return the columns of the table.

        Args:
            known: a table, of any number of rows, as whose columns those of the same name are read.

        Raises:
            InputError: lines of different numbers of cells, or no rows.
        """
        layout = self.layout
        names = layout.names or tuple(f"column {i + 1}" for i in range(layout.width))
        size = sum(map(len, self.lines))
        with database(self.label, "a table of cells", size) as (connection, folder):
            plain = folder / "rows.csv"  # of one form, whatever that of the file is
            with plain.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
                writer.writerows(layout.rows(self.lines))
            connection.execute(
                "create table cells as select * from read_csv(?, auto_detect = false,"
                " header = false, delim = ',', quote = '\"', escape = '\"', columns = ?)",
                [str(plain), {f"c{i}": "VARCHAR" for i in range(len(names))}],
            )
            columns = columns_in(connection, list(names), self.delimiter, known, self.missing)
            columns = with_digits(connection, columns)
        frame = Frame(tuple(columns), layout.names is not None)
        if _is_prose(frame):
            raise InputError(
                f"{self.label}: expected a table of cells; got lines of text; separate cells by"
                " commas, semicolons or tabs."
            )
        if not len(frame):
            raise InputError(f"{self.label}: expected rows; got a header and no rows.")
        return frame


def open_text(
    path: Path, label: str, text_format: TextFormat | None = None, known: Frame | None = None
) -> TextTable:
    """Open a text file, whatever its separator, quotes, names, encoding, and with gzip or without.

    Args:
        path: the file.
        label: what error messages call it.
        text_format: the options of a user.
        known: a table, of any number of rows, whose names are looked for.

    Raises:
        InputError: an encoding that is not known, no rows, or lines that are no table.
    """
    text_format = text_format or TextFormat()
    text, encoding, stray = decoded(unzipped(bytes_of(path, label), label), label)
    _refuse_other_formats(text, label)
    # Lines end as in files; str.splitlines would also divide them at signs within cells.
    lines = list(io.StringIO(text, newline=""))
    layout = layout_of(lines, label, text_format, known)
    notes = []
    if encoding:
        notes.append(f"the text is {encoding}, not UTF-8")
    if stray:
        notes.append(f"left out of the text: {stray}")
    return TextTable(label, lines, layout, text_format.missing, (*notes, *layout.notes))


def read_text(
    path: Path, label: str, known: Frame | None = None, text_format: TextFormat | None = None
) -> Frame:
    """Return the columns of a text file: see `open_text` and `TextTable.frame`."""
    return open_text(path, label, text_format, known).frame(known)


def _refuse_other_formats(text: str, label: str) -> None:
    for other in OTHER_FORMATS:
        if re.match(other.beginning, text):
            raise InputError(
                f"{label}: expected text with one row a line; got {other.name}; {other.advice}."
            )


def _are_bits(rows: list[str]) -> bool:
    """Return whether strings of 0 and 1 are no numbers: some begin with 0, or they are long."""
    return len(rows[0]) >= FEWEST_BITS or any(row[0] == "0" for row in rows)


def _is_prose(frame: Frame) -> bool:
    """Return whether a table is a single column of different texts, of four words each or more."""
    column = frame.columns[0]
    if len(frame.columns) > 1 or column.cell_kind is not CellKind.WORDS:
        return False
    cells = column.known.tolist()
    words = sum(len(cell.split()) for cell in cells)
    return bool(cells) and len(set(cells)) == len(cells) and words >= WORDS_OF_A_LINE * len(cells)
