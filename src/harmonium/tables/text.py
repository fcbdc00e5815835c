"""Text files as tables: the locations of the parts of a file, and the types of its cells.

The separator and the header are detected here, since DuckDB's own detection reads a ragged file as
one column. Python's csv module splits a text into records once, so that comments, short headers and
unclosed quotes can be located by line, and DuckDB reads the cells from memory. A matrix of numbers
is parsed by NumPy: as text, its cells would take twenty times the memory of the numbers.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base.files import bytes_of, unzipped
from ..errors import InputError, count_of
from .cells import columns_in
from .database import Database
from .encodings import decoded
from .frames import CellKind, Frame, as_whole_numbers, numbered_names
from .headers import different, names_in, without_hash
from .numbers import is_number, with_digits
from .separators import (
    COMMENTS,
    MOSTLY,
    WIDE_BLANKS,
    Record,
    Splitter,
    is_numbers,
    line_in_words,
    splitter_of,
    unclosed,
)
from .text_format import TextFormat

WORDS_OF_A_LINE = 4  # minimum average number of words per line in prose
# Bits and spins, written with or without blanks between them.
NUMBERS_OF_SIGNS = ({"0": 0, "1": 1}, {"-": -1, "+": 1})
TAG = r"<[!?/a-zA-Z][^<>]*>"


class OtherFormat(NamedTuple):
    """A text format that is not a table: its name, a pattern of its beginning, and advice."""

    name: str
    beginning: str
    advice: str = "export the table as CSV"


OTHER_FORMATS = (
    # A table may also begin with a tag, around a column name: <b>x</b>,<i>y</i>
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
MOST_EVEN = 0.9  # if this fraction of strings has one length, another length is an error
MANY_LEVELS = 64  # minimum number of columns in a table of grey levels
LARGEST_LEVEL = 255  # the largest grey level of a byte
FEWEST_BITS = 4  # minimum length if no string begins with 0, since 10 and 11 are numbers
CELLS_AT_ONCE = 2**20  # maximum number of cells passed to DuckDB at once
# Comment signs of other languages, with the text that must follow: rows may begin with these signs.
OTHER_COMMENTS = (r"//", r";\s(?!.*;)", r"--\s", r"!\s", r"\*\s", r"'\s", r"(?i:rem)\s")
COMMENTS_LOOKED_AT = 200  # lines after the comments, none of which may begin with such a sign
MOST_LINES_BEHIND = 5
TOTAL = (
    r"(?i)(grand |sub)?-?totals?|sums?|averages?|avg\.?|means?|medians?|summe|gesamt|insgesamt"
    r"|mittelwert|durchschnitt|somme|total général|moyenne|totale|suma|promedio|media|totaal"
)
# Numbers of characters and of records examined to detect the format.
LOOKED_AT = 2**20
RECORDS = 200
MOST_LINES_AFTER = 20
MOST_COLUMNS = 2**15  # each takes time and memory, even with few cells


class Cells(NamedTuple):
    """The original cells of the rows of a text file, and the separator between them."""

    delimiter: str
    rows: list[list[str]]


@dataclass(frozen=True, eq=False, kw_only=True)
class TextTable:
    """A decoded text file and the locations of the parts of its table.

    Attributes:
        label: the name of the file in error messages.
        lines: the lines, including their line endings.
        first: the number of the first line that may be a row, counted from 1.
        last: the number of the last line that may be a row.
        splitter: the rules for splitting lines into cells.
        width: the number of columns.
        names: the names of the columns, or None if no line contains names.
        counted: the line used to count the columns, in words.
        ends_with_mark: whether rows may end with an additional separator.
        repeated: the names if lines among the rows repeat them; such lines are not rows.
        missing: words for missing cells, in addition to the usual words.
        notes: notes for the user on how the file is read, without a full stop.
    """

    label: str
    lines: list[str]
    first: int
    last: int
    splitter: Splitter
    width: int = 1
    names: tuple[str, ...] | None = None
    counted: str = "the first line"
    ends_with_mark: bool = False
    repeated: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def delimiter(self) -> str:
        """The separator between cells; a single blank means any number of blanks."""
        mark = self.splitter.mark
        return "\t" if mark == WIDE_BLANKS else mark

    @property
    def body(self) -> list[str]:
        """The lines that may be rows."""
        return self.lines[self.first - 1 : self.last]

    def records(self, first: int, last: int) -> Iterator[Record]:
        """Split the lines from `first` to `last`, inclusive, into records.

        Raises:
            InputError: a quote is not closed.
        """
        return self.splitter.records(self.lines[first - 1 : last], first, self.label)

    def rows(self) -> Iterator[list[str]]:
        """Yield the cells of each row.

        Raises:
            InputError: a row has a different number of cells, or a quote is not closed.
        """
        blank = 0
        for record in self.records(self.first, self.last):
            cells = record.cells
            if self.splitter.is_no_row(record, self.width):
                continue
            if self.repeated and record.bare == self.repeated:
                continue
            if not cells or (len(cells) == 1 and record.is_blank):
                blank += 1
                continue
            if self.width == 1:
                # In a single column, an empty line is a missing cell, except at the end.
                yield from ([""] for _ in range(blank))
            blank = 0
            if self.ends_with_mark and record.is_longer_than(self.width):
                cells = cells[:-1]
            if len(cells) != self.width:
                raise self._ragged(record)
            yield cells

    def cells(self) -> Cells:
        """Return the original cells of the rows."""
        return Cells(self.delimiter, list(self.rows()))

    def is_comment(self, line: str) -> bool:
        """Return whether a line begins with a comment character and is not a row."""
        if not line.startswith(COMMENTS):
            return False
        records = self.splitter.records([line], 1, self.label, is_whole=False)
        record = next(records, None)
        return record is None or self.splitter.is_no_row(record, self.width)

    def numbers(self, known: Frame | None = None) -> np.ndarray | None:
        """Return a matrix of numbers (integers if possible), or None if any cell is not a number.

        Also return None for a table with names, unless it has many columns of grey levels. The
        first or last column of such a table may contain other numbers, such as labels. Its columns
        are not inspected one by one, which would take a hundredth of a second for each.

        Args:
            known: a table, perhaps empty, whose names were searched for.
        """
        has_names = self.names is not None
        # NumPy would read numbers that the user declared as missing cells.
        is_ruled_out = has_names and (known is not None or self.width < MANY_LEVELS)
        if is_ruled_out or any(map(is_number, self.missing)):
            return None
        lines = [line for line in self.body if line.strip() and not self.is_comment(line)]
        if not lines:
            return None
        mark = None if self.splitter.is_blank else self.splitter.mark
        try:
            values = np.loadtxt(
                lines, delimiter=mark, ndmin=2, comments=None, quotechar=self.splitter.quote
            )
        except ValueError:
            return None
        if not values.size or values.shape[1] != self.width:
            return None
        text = "".join(lines)
        if not any(sign in text for sign in ".eEnN"):  # nan and inf have an n
            values = as_whole_numbers(values)
        if not has_names:
            return values
        inner = values[:, 1:-1]
        if values.dtype.kind == "i" and 0 <= inner.min() <= inner.max() <= LARGEST_LEVEL:
            return values
        return None

    @cached_property
    def signs(self) -> np.ndarray | None:
        """Return rows of bits (0, 1) or spins (-, +) as numbers, or None for any other table.

        In a table with a single column, each cell may be a string of bits or spins, all of the same
        length.
        """
        if self.missing or (self.names is not None and self.width > 1):
            return None
        usual = "[01]+|[+-]+" if self.width == 1 else "[+-]+"
        rows: list[str] = []
        for row in self.rows():
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
        if numbers is None or (self.width > 1 and width != self.width):
            return None
        # Strings of 0 and 1 are bits if some begin with 0, or if they are long; otherwise numbers.
        are_bits = width >= FEWEST_BITS or any(row[0] == "0" for row in rows)
        if "0" in numbers and not are_bits:
            return None
        return np.array([[numbers[sign] for sign in row] for row in rows])

    def _refuse_uneven(self, rows: list[str]) -> None:
        """Raise InputError if nearly all strings, but not all, have the same length."""
        (length, count), *_ = Counter(map(len, rows)).most_common(1)
        if length < FEWEST_BITS or count < MOST_EVEN * len(rows):
            return
        row = next(place for place, signs in enumerate(rows) if len(signs) != length)
        raise InputError(
            f"{self.label}: expected strings of {length:,} bits or spins, like the others; got"
            f" {len(rows[row]):,} signs in row {row + 1:,}, {rows[row][:40]!r}; correct or drop"
            " this row."
        )

    def frame(self, known: Frame | None = None) -> Frame:
        """Read the columns of the table.

        Args:
            known: a table, perhaps empty, whose types are used for columns of the same name.

        Raises:
            InputError: lines have different numbers of cells, or there are no rows.
        """
        names = self.names or numbered_names(self.width)
        size = sum(map(len, self.lines))
        with (
            closing(Database()) as database,
            database.reading(self.label, "a table of cells", size) as connection,
        ):
            self._fill(connection)
            columns = columns_in(connection, list(names), self.delimiter, known, self.missing)
            columns = with_digits(connection, columns)
        frame = Frame(tuple(columns), self.names is not None)
        if _is_prose(frame):
            raise InputError(
                f"{self.label}: expected a table of cells; got lines of text; separate cells by"
                " commas, semicolons or tabs."
            )
        if not len(frame):
            raise InputError(f"{self.label}: expected rows; got a header and no rows.")
        return frame

    def _fill(self, connection: Any) -> None:
        """Create the database table `cells`, with texts in columns c0, c1 and so on."""
        names = [f"c{i}" for i in range(self.width)]
        columns = ", ".join(f"{name} varchar" for name in names)
        connection.execute(f"create table cells ({columns})")
        rows = self.rows()
        while part := list(islice(rows, max(1, CELLS_AT_ONCE // self.width))):
            cells = (np.array(column, object) for column in zip(*part, strict=True))
            connection.register("part", dict(zip(names, cells, strict=True)))
            connection.execute("insert into cells select * from part")
            connection.unregister("part")

    def with_note(self, note: str, **changes: Any) -> TextTable:
        """Return the table with changed attributes, and with `note` appended unless it is empty."""
        notes = self.notes
        if note:
            notes = (*self.notes, note)
        return replace(self, notes=notes, **changes)

    def cut_behind(self, last: int, text: str) -> TextTable:
        """Return the table without the lines after `last`, and with a note that quotes `text`."""
        note = f"text after line {last:,} is set aside: {text.strip()[:40]!r}"
        return self.with_note(note, last=last)

    def first_line_of(self, rows: Sequence[Record]) -> int:
        """Return the line number of the first row; without rows, of the line after the table."""
        if rows:
            return rows[0].line
        return self.last + 1

    def _ragged(self, record: Record) -> InputError:
        if any("\n" in cell for cell in record.cells):
            before = next(k for k, cell in enumerate(record.cells) if "\n" in cell)
            lines = sum(cell.count("\n") for cell in record.cells[:before])
            return unclosed(self.label, record.line + lines)
        advice = "correct it, or give the separator between cells with --separator"
        if record.line <= self.first + 1:
            advice = "if the table begins later, drop the lines before it with --skip N, or give"
            advice += " the line of names with --header N; or give the separator with --separator"
        return InputError(
            f"{self.label}: expected {count_of(self.width, 'column')} as in {self.counted};"
            f" got {len(record.cells)} in line {record.line:,}; {advice}."
        )


def open_text(
    path: Path, label: str, text_format: TextFormat | None = None, known: Frame | None = None
) -> TextTable:
    """Open a text file, detecting its separator, quotes, names, encoding and compression.

    Args:
        path: the file.
        label: the name of the file in error messages.
        text_format: the user's options.
        known: a table, perhaps empty, whose names are searched for.

    Raises:
        InputError: the encoding is unknown, there are no rows, lines have different numbers of
            cells, or options are incompatible with the file.
    """
    text_format = text_format or TextFormat()
    text, encoding, stray = decoded(unzipped(bytes_of(path, label), label), label)
    for other in OTHER_FORMATS:
        if re.match(other.beginning, text):
            raise InputError(
                f"{label}: expected text with one row per line; got {other.name}; {other.advice}."
            )
    # str.splitlines would also split at rare characters within cells.
    lines = list(io.StringIO(text, newline=""))
    skip, separator, notes = _skipped(lines, label, text_format)
    if stray:
        notes.insert(0, f"left out of the text: {stray}")
    if encoding:
        notes.insert(0, f"the text is {encoding}, not UTF-8")
    beginning = _beginning(lines, skip)
    if not any(line.strip() and not line.lstrip().startswith(COMMENTS) for line in beginning):
        raise _no_rows(label)
    splitter = splitter_of(beginning, separator, label)
    is_whole = skip + len(beginning) == len(lines)
    all_records = splitter.records(beginning, skip + 1, label, is_whole=is_whole)
    records = list(islice((record for record in all_records if not record.is_blank), RECORDS))
    if not records:
        # An unclosed quote in the first line may hide all others; reading the rows raises an error.
        list(splitter.records(lines[skip:], skip + 1, label))
        raise _no_rows(label)
    table = TextTable(
        label=label,
        lines=lines,
        splitter=splitter,
        first=skip + 1,
        last=len(lines),
        missing=text_format.missing,
        notes=tuple(notes),
    )
    # Texts at the end follow the last blank line, so the end itself must not be blank.
    table = _without_texts_at_end(_without_blank_end(_with_width(table, records)))
    table = _without_notes_behind(table, records)
    if table.width > MOST_COLUMNS and not all(is_numbers(record.cells) for record in records[:2]):
        raise InputError(
            f"{label}: expected at most {MOST_COLUMNS:,} columns of words; got {table.width:,};"
            " save numbers as an array, in .npy format."
        )
    if isinstance(text_format.header, int):
        return _named_by_line(table, records, text_format.header)
    return _with_names(table, records, text_format, known)


def _no_rows(label: str) -> InputError:
    return InputError(f"{label}: expected rows; got only blank lines or comments.")


def _is_prose(frame: Frame) -> bool:
    """Return whether a table is one column of different texts, of four or more words on average."""
    column = frame.columns[0]
    if len(frame.columns) > 1 or column.cell_kind is not CellKind.WORDS:
        return False
    cells = column.known.tolist()
    words = sum(len(cell.split()) for cell in cells)
    return bool(cells) and len(set(cells)) == len(cells) and words >= WORDS_OF_A_LINE * len(cells)


# --- Locating the parts of a file --------------------------------------------------------------


def _skipped(
    lines: Sequence[str], label: str, text_format: TextFormat
) -> tuple[int, str | None, list[str]]:
    """Return the number of lines before the table, the separator (None if unknown), and notes."""
    if not lines:
        raise _no_rows(label)
    skip = text_format.skip
    separator = text_format.separator
    header = 0
    if isinstance(text_format.header, int):
        header = text_format.header
    if max(skip + 1, header) > len(lines):
        option = "--header" if header > skip + 1 else "--skip"
        raise InputError(
            f"{label}: expected a line after those skipped by {option}; got a file of"
            f" {count_of(len(lines), 'line')}; give {option} a smaller number."
        )
    notes = []
    # Excel accepts and can write a first line that declares the separator.
    declared = re.fullmatch(r'"?sep=([^\w"\'.+-])"?\s*', lines[skip], re.IGNORECASE)
    if declared:
        notes.append(f"line {skip + 1} says that {declared[1]!r} separates the cells")
        separator = separator or declared[1]
        skip += 1
    if header:
        return max(skip, header - 1), separator, notes
    comments = _comments_before(lines[skip:])
    if comments:
        notes.append(f"set aside as comments: {count_of(comments, 'line')}")
    return skip + comments, separator, notes


def _comments_before(lines: Sequence[str]) -> int:
    """Return the number of comment lines before the table; no other line may begin like them.

    For the lines "// of the kitchen", "a,b" and "1,2", the result is 1.
    """
    for sign in OTHER_COMMENTS:
        is_comment = re.compile(rf"\s*{sign}").match
        count = len(list(takewhile(is_comment, lines[:COMMENTS_LOOKED_AT])))
        rest = lines[count : count + COMMENTS_LOOKED_AT]
        if count and rest and not any(map(is_comment, rest)):
            return count
    return 0


def _beginning(lines: Sequence[str], skip: int) -> list[str]:
    """Return the first lines of the table, which are used to detect its format."""
    characters = 0
    beginning: list[str] = []
    for line in islice(lines, skip, None):
        characters += len(line)
        beginning.append(line)
        if characters > LOOKED_AT or len(beginning) >= 4 * RECORDS:
            break
    return beginning


def _with_width(table: TextTable, records: list[Record]) -> TextTable:
    """Return the table with its width set to the number of cells in most records.

    If the last cell of all lines is empty, it is not counted, since lines end with a separator.
    """
    plain = [
        record
        for record in records
        if not record.has_sign and not table.splitter.is_rule(record.cells)
    ] or records
    widths = Counter(len(record.cells) for record in plain)
    width = max(widths, key=lambda width: widths[width])
    if widths[width] < MOSTLY * len(plain):
        width = len(plain[0].cells)
    of_width = [record.cells for record in plain if len(record.cells) == width]
    if width > 1 and len(of_width) > 1 and not any(cells[-1].strip() for cells in of_width):
        return replace(table, width=width - 1, ends_with_mark=True)
    return replace(table, width=width, ends_with_mark=plain[0].is_longer_than(width))


def _is_blank(line: str) -> bool:
    return not line.strip(' \t,;|"\r\n')


def _without_blank_end(table: TextTable) -> TextTable:
    """Return the table without final rows of nothing but separators, as written by spreadsheets."""
    end = table.last
    while end > table.first and _is_blank(table.lines[end - 1]):
        end -= 1
    if table.width == 1 or end == table.first:
        return table
    count = sum(bool(line.strip()) for line in table.lines[end : table.last])
    note = f"{count_of(count, 'row')} without any cell at the end of the file set aside"
    return table.with_note(note * (count > 0), last=end)


def _without_texts_at_end(table: TextTable) -> TextTable:
    """Return the table without a few lines of text that follow a blank line at its end."""
    end = table.last
    start = end
    while start > table.first and not _is_blank(table.lines[start - 1]):
        start -= 1
        if end - start > MOST_LINES_AFTER:
            return table
    if table.width == 1 or start <= table.first + 1 or start == end:
        return table
    try:
        texts = [list(filter(str.strip, r.cells)) for r in table.records(start + 1, end)]
    except InputError:  # an unclosed quote; reading the rows raises an error
        return table
    if any(len(cells) != 1 or is_numbers(cells) for cells in texts):
        return table
    return table.cut_behind(start, texts[0][0])


def _without_notes_behind(table: TextTable, rows: list[Record]) -> TextTable:
    """Return the table without texts directly after the last row, such as the name of a source.

    The lines are examined from the last line upwards. In a line of such a text, only the first cell
    is filled; the cell has several words, and does not occur in the rows above. Possible comments
    are kept here, and removed when rows are read.
    """
    others = [row.cells for row in rows[1:] if row.line <= table.last - MOST_LINES_BEHIND]
    # In a single column, a text is a cell and an empty line is a missing cell.
    if not others or table.width == 1:
        return table
    texts = {cells[0] for cells in others}
    # A text may be padded with empty cells, but if rows look the same, it is a row.
    may_be_padded = table.width > 2 and not any(
        _is_first_alone(cells) and len(cells) == table.width for cells in others
    )
    last = table.last
    end = last
    for _ in range(MOST_LINES_BEHIND):
        while end > 1 and not table.lines[end - 1].strip():
            end -= 1
        try:
            (record,) = table.records(end, end)
        except (InputError, ValueError):  # part of a cell in quotes
            break
        cells = record.cells
        is_note = len(cells) == 1 or (len(cells) >= table.width and may_be_padded)
        is_whole = table.lines[end - 1].count(table.splitter.quote) % 2 == 0
        if not (is_note and is_whole and _is_first_alone(cells)) or cells[0] in texts:
            break
        # A single word may be the beginning of a truncated row.
        is_text = len(cells[0].split()) > 1 and not is_numbers(cells)
        is_comment = table.splitter.is_no_row(record, table.width)
        if not is_text or is_comment:
            break
        end -= 1
        last = end
    if last == table.last or last <= table.first + 1:
        return table
    return table.cut_behind(last, table.lines[last])


def _is_first_alone(cells: Sequence[str]) -> bool:
    return bool(cells) and bool(cells[0].strip()) and not any(cell.strip() for cell in cells[1:])


# --- Names, and notes for the user -------------------------------------------------------------


def _named_by_line(table: TextTable, records: list[Record], line: int) -> TextTable:
    """Return the table with its column names taken from the line with this number."""
    record, *others = records
    if record.line != line:
        raise InputError(
            f"{table.label}: expected names in line {line:,}; got a blank line; the next line with"
            f" cells is line {record.line:,}."
        )
    cells = record.cells
    if record.has_sign and len(without_hash(cells)) == table.width:
        cells = without_hash(cells)
    if record.is_longer_than(table.width):
        cells = cells[:-1]
    if len(cells) == table.width - 1:
        cells = ["", *cells]
    names, notes = different(cells)
    rows = [other for other in others if not table.splitter.is_no_row(other, len(cells))]
    return replace(
        table,
        names=names,
        width=len(names),
        first=table.first_line_of(rows),
        counted=line_in_words(line, is_first=line == 1),
        notes=(*table.notes, *notes),
    )


def _with_names(
    table: TextTable, records: list[Record], text_format: TextFormat, known: Frame | None
) -> TextTable:
    """Return the table, with column names if one of its first lines contains them."""
    names = names_in(
        records,
        table.width,
        table.splitter,
        missing=text_format.missing,
        known=known,
        is_headless=text_format.header == "none",
        is_quoted=lambda record: table.lines[record.line - 1].lstrip().startswith('"'),
    )
    comments = sum(map(table.is_comment, table.body)) - names.by_comment
    notes = [*names.notes]
    if comments:
        notes.append(f"set aside as comments: {count_of(comments, 'line')}")
    repeated: tuple[str, ...] = ()
    if names.names is None:
        notes.append(_note_on_transposing(names.rows, names.width))
    elif not names.by_comment:
        repeated, note = _repeated_names(table, names.counted, names.rows)
        notes.append(note)
    notes.append(_note_on_totals(table, names.rows))
    is_first = names.counted.line == records[0].line
    return replace(
        table,
        repeated=repeated,
        names=names.names,
        width=names.width,
        first=table.first_line_of(names.rows),
        counted=line_in_words(names.counted.line, is_first=is_first),
        notes=(*table.notes, *filter(None, notes)),
    )


def _repeated_names(
    table: TextTable, names: Record, rows: Sequence[Record]
) -> tuple[tuple[str, ...], str]:
    """Return the names if lines among the rows repeat them, else (), and a note for the user."""
    wanted = names.bare
    # Numbers may be both names and a row.
    if len(wanted) < 2 or is_numbers(wanted):
        return (), ""
    # Few lines contain all names, so only a few lines are split.
    body = table.lines[names.line : table.last]
    likely = [line for line in body if all(name in line for name in wanted)]
    try:
        count = sum(record.bare == wanted for record in table.splitter.records(likely, 1, ""))
    except InputError:  # part of a cell in quotes
        return (), ""
    # A row in which all options are ticked repeats the names, but then other rows also contain
    # these words.
    others = [row.bare for row in rows if row.bare != wanted]
    is_row = all(
        any(place < len(cells) and cells[place] == name for cells in others)
        for place, name in enumerate(wanted)
    )
    if not count or is_row:
        return (), ""
    times = "once" if count == 1 else f"{count:,} times"
    return wanted, f"the names are repeated {times} among the rows: set aside"


def _note_on_totals(table: TextTable, rows: Sequence[Record]) -> str:
    """Return a note if the last row seems to contain totals of the other rows, else ""."""
    last = table.last
    while last > 1 and not table.lines[last - 1].strip():
        last -= 1
    try:
        cells = [cell for record in table.records(last, last) for cell in record.bare]
    except InputError:
        return ""
    name = next((cell for cell in cells if re.fullmatch(TOTAL, cell.rstrip(":"))), None)
    is_first = not rows or rows[0].line >= last
    if name is None or is_first or any(name in row.cells for row in rows if row.line < last):
        return ""
    return f"line {last:,} is read as a row; delete it if {name!r} sums up the other rows"


def _note_on_transposing(rows: Sequence[Record], width: int) -> str:
    """Return a note if each of a few rows seems to be a variable preceded by its name, else ""."""
    cells = [row.cells for row in rows]
    if not 2 <= len(cells) < width or any(len(row) != width for row in cells):
        return ""
    names = [row[0].strip() for row in cells]
    are_names = len(set(names)) == len(names) and not any(is_numbers([name]) for name in names)
    if not are_names or not any(is_numbers(row[1:]) for row in cells):
        return ""
    return "each row seems to be a variable, whose name is first: if so, transpose the table"
