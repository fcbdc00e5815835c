"""Finding the beginning of the table in a text file, and the lines that contain column names.

For each record (the cells of a line), `log_odds` compares the probability of its cells as column
names with their probability as cells of the columns below. Evidence that a record contains names
is, for example, a word above numbers, numbers 0, 1, 2, … above others, an empty first cell, or a
word that does not occur in its column.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from ..errors import count_of
from .dates import YEARS
from .frames import Frame
from .numbers import is_number
from .readings import MISSING
from .separators import Record, Splitter, counts_from, is_numbers, line_in_words

MOST_CELLS = 40_000  # maximum number of cells to examine, but at least 20 rows
USUAL_NAMES = frozenset(
    (
        *("age", "class", "category", "city", "code", "color", "colour", "count", "country"),
        *("date", "day", "gender", "gene", "group", "id", "index", "item", "key", "label"),
        *("month", "name", "number", "price", "sex", "species", "target", "time", "title", "type"),
        *("unit", "user", "value", "weight", "year"),
    )
)
NAME_OF_RANGE = r"[<>≤≥]?=? ?\d+ ?\+?|\d.*[%‰<>]|\d+ ?[-–:] ?\d+"  # 2021, <18, 18-65, 65+, 5%
DAY = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?|\d{4}[-/]\d{1,2}"
# Probabilities of the contents of a line of names, unless the comment says otherwise.
NEW_WORD = 0.95  # a word that does not occur in its column
USUAL_NAME = 9.5  # such a word that is often a name: ten times as probable
SEEN_WORD = 0.05  # a word that occurs in its column
ONLY_WORD = 0.6  # the only word of its column
TWICE = 0.05  # a name that another column also has
EMPTY_FIRST = 0.3  # an empty first cell, as above an index
EMPTY = 0.05  # an empty cell elsewhere
GAP = 0.002  # a word such as NA
COUNTED = 0.006  # 0, 1 or 1, 2, with which many rows begin
COUNTED_ON = 0.2  # 0, 1, 2 or more
SPACED = 0.005  # equally spaced numbers
YEAR = 0.01  # years
DIFFERENT = 0.003  # other numbers, all different
DATES = 0.05  # dates, all of them together
DECIMAL = 1e-4  # each number that is none of these
UNLIKE_NAMES = 1e-6  # equal numbers, or numbers that the rows below continue
WORDS_ARE_NAMES = 3.0  # prior odds: most files of words have names
RARE_SECOND_LINE = 0.01  # of an additional line of names, or of units
MOST_LINES_BEFORE = 50
MOST_FURTHER_LINES = 3
LOOKED_THROUGH = 10  # records in which to look for the names of a known table
# Log odds below which a note says that a line of names may be a row, or that a row may be names.
DOUBT = 2.0
DOUBT_OF_ROWS = 1.9
UNNAMED = r"column \d+"


class TextKind(StrEnum):
    """The type of a cell in a text file; amounts and percentages have additional types."""

    MISSING = "missing"
    WHOLE = "whole"
    NUMBER = "number"
    DATE = "date"
    WORD = "word"


class _Column(NamedTuple):
    """Statistics of the cells below a name: counts of types and of texts."""

    count: int
    kinds: Counter[str]
    cells: Counter[str]
    words: Counter[str]
    shapes: Counter[str]
    decimals: Counter[int]
    smallest: float
    largest: float


def log_odds(
    record: Sequence[str], rows: Sequence[Sequence[str]], missing: Sequence[str] = ()
) -> float:
    """Return the log odds (base 10) that a record contains the column names for some rows.

    Args:
        record: the cells of the record.
        rows: records that are known to be rows.
        missing: words for missing cells, in addition to the usual ones.
    """
    blanks = {"", *MISSING, *(word.lower() for word in missing)}
    cells = [cell.strip() for cell in record]
    kinds = [_kind_of(cell, blanks) for cell in cells]
    numbers = [cell for cell, kind in zip(cells, kinds, strict=True) if _is_numeric(kind)]
    if not any(cells) or (numbers and not rows):
        return -math.inf
    numbers_as_names = _numbers_as_names(numbers)
    if numbers_as_names <= UNLIKE_NAMES and TextKind.WORD not in kinds:
        return -math.inf
    rows = rows[: max(20, MOST_CELLS // len(cells))]
    is_counted = _is_counted(numbers)
    if is_counted and _has_counted_rows(cells, rows):
        numbers_as_names = UNLIKE_NAMES  # rows below have such numbers too, so this is a row
        is_counted = False
    as_names = math.log10(numbers_as_names)
    if TextKind.WORD in kinds:
        as_names += math.log10(WORDS_ARE_NAMES)
    if TextKind.DATE in kinds:
        as_names += math.log10(DATES)
    as_row = 0.0
    earlier: set[str] = set()
    for place, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
        column = _column_of([row[place] for row in rows if place < len(row)], blanks)
        as_names += math.log10(_cell_as_name(cell, kind, column, earlier))
        earlier.add(cell)
        probability = _as_row(cell, kind, column)
        if is_counted and kind == TextKind.WHOLE:
            probability = min(probability, _value(cell, column))
        as_row += math.log10(probability)
    return as_names - as_row


def _cell_as_name(cell: str, kind: str, column: _Column, earlier: set[str]) -> float:
    """Return the probability of a word or an empty cell in a line of names, given earlier cells.

    The probability of a number or date is 1 here, since `log_odds` evaluates all of them together.
    """
    if kind == TextKind.WORD:
        probability = _word_as_name(cell, column)
        if cell in earlier:
            probability *= TWICE
        return probability
    if kind != TextKind.MISSING:
        return 1.0
    if cell:
        return GAP
    return EMPTY if earlier else EMPTY_FIRST


def is_further_line(
    record: Sequence[str], rows: Sequence[Sequence[str]], missing: Sequence[str] = ()
) -> bool:
    """Return whether a record below the names is a second line of names or units.

    Such a line has words but no numbers, and some of its words would be unusual in their columns. A
    record with only missing cells, such as the first in a series of differences, is a row.
    """
    blanks = {"", *MISSING, *(word.lower() for word in missing)}
    kinds = [_kind_of(cell.strip(), blanks) for cell in record]
    if len(rows) < 3 or len(record) < 2 or not set(kinds) <= {TextKind.WORD, TextKind.MISSING}:
        return False
    words = [place for place, kind in enumerate(kinds) if kind == TextKind.WORD]
    if not words:
        return False
    parts = [[row[place] for place in words if place < len(row)] for row in rows]
    of_words = log_odds([record[place] for place in words], parts, missing)
    # Remove the prior: most files of words have names, but few have a second line of names.
    is_strange = of_words - math.log10(WORDS_ARE_NAMES) >= 1.0
    return is_strange and log_odds(record, rows, missing) + math.log10(RARE_SECOND_LINE) > 0


def _kind_of(cell: str, blanks: set[str]) -> str:
    """Return the type of a cell: a `TextKind`, followed by an amount's symbols, as in "number%"."""
    if cell.lower() in blanks:
        return TextKind.MISSING
    if re.fullmatch(r"[+-]?\d+", cell):
        return TextKind.WHOLE
    if re.fullmatch(r"[+-]+", cell):
        return TextKind.NUMBER  # spins
    if re.fullmatch(DAY, cell):
        return TextKind.DATE
    if is_number(cell):
        return TextKind.NUMBER
    # Cells with digits but no letters are amounts or percentages.
    if re.fullmatch(r"[^A-Za-z]*\d[^A-Za-z]*", cell):
        # A hyphen between digits suggests a range or a telephone number.
        return TextKind.NUMBER + re.sub(r"[\d.,\s]|^[+-]", "", cell)
    return TextKind.WORD


def _is_numeric(kind: str) -> bool:
    return kind == TextKind.WHOLE or kind.startswith(TextKind.NUMBER)


def _column_of(cells: list[str], blanks: set[str]) -> _Column:
    bare = [cell.strip() for cell in cells]
    kinds = [_kind_of(cell, blanks) for cell in bare]
    words = [cell for cell, kind in zip(bare, kinds, strict=True) if kind == TextKind.WORD]
    numbers = [cell for cell, kind in zip(bare, kinds, strict=True) if _is_numeric(kind)]
    sizes = [abs(_number(cell)) for cell in numbers]
    return _Column(
        count=len(bare),
        kinds=Counter(kinds),
        cells=Counter(bare),
        words=Counter(words),
        shapes=Counter(map(_shape_of, words)),
        decimals=Counter(_decimals(cell) for cell in numbers),
        smallest=min(sizes, default=0.0),
        largest=max(sizes, default=math.inf),
    )


def _decimals(cell: str) -> int:
    """Return the number of digits after the decimal point."""
    return len(cell.partition(".")[2])


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:  # signs around it
        return 0.0


def _shape_of(word: str) -> str:
    """Return the shape of a word: the type of its first letter, and whether it has digits."""
    first = "-"
    if word[0].isupper():
        first = "A"
    elif word[0].islower():
        first = "a"
    if re.search(r"\d", word):
        return first + "1"
    return first


def _word_as_name(word: str, column: _Column) -> float:
    if column.words[word]:
        # In columns of tick boxes, cells are empty or repeat the name.
        return ONLY_WORD if len(column.words) == 1 else SEEN_WORD
    if word.lower() in USUAL_NAMES:
        return USUAL_NAME
    return NEW_WORD


def _as_row(cell: str, kind: str, column: _Column) -> float:
    """Return the probability of a cell as a member of a column, rather than as its name."""
    # Smoothed, so that no type has probability 0, since the logarithm is taken.
    p_kind = (column.kinds[kind] + 0.2) / (column.count + 0.4)
    if _is_numeric(kind):
        # Numbers such as 2022 or 4711 above small ones, or above millions.
        size = abs(_number(cell))
        is_far = size > 3.0 * column.largest or 0.0 < 3.0 * size < column.smallest
        if is_far:
            return p_kind * 0.5 / (column.count + 1)
        if kind != TextKind.NUMBER:
            return p_kind
        return p_kind * (column.decimals[_decimals(cell)] + 0.5) / (column.count + 1)
    words = sum(column.words.values())
    if kind != TextKind.WORD or not words:
        return p_kind
    singles = sum(count == 1 for count in column.words.values())
    unseen = (singles + 0.5) / (words + 1.0)  # the Good–Turing estimate
    if column.words[cell]:
        return p_kind * max(1.0 - unseen, 0.5 / (words + 1.0))
    shape = (column.shapes[_shape_of(cell)] + 0.5) / (words + 1.0)
    return p_kind * unseen * shape


def _value(cell: str, column: _Column) -> float:
    """Return the probability that a cell of a column has exactly this text."""
    return (column.cells[cell] + 0.5) / (column.count + 1.0)


def _is_counted(numbers: list[str]) -> bool:
    """Return whether numbers are consecutive integers that start at 0 or 1."""
    return numbers[:1] in (["0"], ["1"]) and counts_from(numbers, int(numbers[0]))


def _numbers_as_names(numbers: list[str]) -> float:
    """Return the probability that a line of names has exactly these numbers; 1 if it has none."""
    if not numbers:
        return 1.0
    if _is_counted(numbers):
        return COUNTED_ON if len(numbers) > 2 else COUNTED
    if len(set(numbers)) < len(numbers):
        return UNLIKE_NAMES
    values = [_number(cell) for cell in numbers]
    # Rounded, since 0.3 − 0.2 and 0.2 − 0.1 differ in float64.
    steps = {round(b - a, 6) for a, b in pairwise(values)}
    # Doses and penalties are spaced by ratios: 0.001, 0.01, 0.1.
    ratios = {round(b / a, 6) for a, b in pairwise(values) if a}
    is_spaced = len(steps) == 1 or (all(values) and len(ratios) == 1)
    # Two numbers are always equally spaced, so at least three are needed.
    if len(values) > 2 and 0.0 not in steps and is_spaced:
        return SPACED
    if all(re.fullmatch(r"\d{4}", cell) and YEARS[0] <= int(cell) <= YEARS[1] for cell in numbers):
        return YEAR
    if all(re.fullmatch(NAME_OF_RANGE, cell) for cell in numbers):
        return DIFFERENT
    return max(DECIMAL ** len(numbers), 1e-300)  # 81 factors underflow to 0, whose log is −∞


def _has_counted_rows(cells: list[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether any row has consecutive integers, or the integers of `cells` in any order.

    Such rows occur in tables of windows of a series, of ranks, and in hand-typed matrices.
    """
    places = [place for place, cell in enumerate(cells) if re.fullmatch(r"\d+", cell)]
    if len(places) < 3:
        return False
    wanted = sorted(cells[place] for place in places)
    for row in rows:
        others = [row[place].strip() for place in places if place < len(row)]
        are_whole = all(re.fullmatch(r"\d{1,15}", cell) for cell in others)
        counts_on = are_whole and {int(b) - int(a) for a, b in pairwise(others)} == {1}
        if counts_on or sorted(others) == wanted:
            return True
    return False


class Names(NamedTuple):
    """The names of the columns of a text file, and the records that are rows.

    Attributes:
        names: the names, or None if no line contains names.
        width: the number of columns.
        counted: the record used to count the columns.
        rows: the examined records that are rows.
        notes: notes for the user on how names were found.
        by_comment: whether the names are in a comment.
    """

    names: tuple[str, ...] | None
    width: int
    counted: Record
    rows: list[Record]
    notes: tuple[str, ...]
    by_comment: bool = False


def names_in(
    records: Sequence[Record],
    width: int,
    splitter: Splitter,
    *,
    missing: Sequence[str] = (),
    known: Frame | None = None,
    is_headless: bool = False,
    is_quoted: Callable[[Record], bool] = lambda record: False,
) -> Names:
    """Decide where a table begins, and which line contains its column names.

    Args:
        records: the first records of the file, without blank records.
        width: the number of cells in most records.
        splitter: the splitter that produced the records.
        missing: words for missing cells, in addition to the usual words.
        known: a table, perhaps empty, whose names are searched for.
        is_headless: whether the file is known to have no column names.
        is_quoted: a function that returns whether the first cell of a record is in quotes.
    """
    finder = _Finder(records, width, splitter, missing, is_quoted)
    start = finder.start()
    before = finder.plain[:start]
    record, *rows = finder.plain[start:]
    notes: tuple[str, ...] = ()
    if before:
        text = " ".join(filter(None, before[0].bare))
        notes = (f"text before line {record.line:,} is set aside: {text[:40]!r}",)
    nameless = Names(None, len(finder.completed(record)), record, [record, *rows], notes)
    if is_headless:
        return nameless
    is_unnamed = known is not None and all(re.fullmatch(UNNAMED, name) for name in known.names)
    if known is not None and not is_unnamed:
        header = _known_names(finder.plain, set(known.names))
        if header is not None:
            rows = finder.plain[finder.plain.index(header) + 1 :]
            is_short = len(header.cells) == width - 1
            return finder.named(header, rows, (), math.inf, is_short=is_short)
    odds = finder.odds(record, rows[finder.further(rows) :])
    is_short = finder.is_short(record, rows)
    # If the known names are "column 1" and so on, they were generated, as the file had none.
    if is_short or odds > DOUBT * is_unnamed:
        return finder.named(record, rows, notes, odds, is_short=is_short)
    comment = finder.comment_before(record)
    if comment is not None:
        names, repeated = different(comment)
        note = f"a comment before the rows names the {count_of(width, 'column')}"
        notes = (note, *notes, *repeated)
        return nameless._replace(names=names, width=width, notes=notes, by_comment=True)
    if odds > -DOUBT_OF_ROWS:
        line = line_in_words(record.line, is_first=not before)
        note = f"{line} is read as a row; --header {record.line} reads it as names"
        return nameless._replace(notes=(note, *notes))
    return nameless


class _Finder:
    """A search for the beginning and the column names of a table in the first records of a file."""

    def __init__(
        self,
        records: Sequence[Record],
        width: int,
        splitter: Splitter,
        missing: Sequence[str],
        is_quoted: Callable[[Record], bool],
    ) -> None:
        self.records = records
        self.width = width
        self.mark = splitter.mark
        self.missing = missing
        self.is_quoted = is_quoted
        plain = [record for record in records if not splitter.is_no_row(record, width)]
        self.plain = plain or [*records]

    def odds(self, record: Record, rows: Sequence[Record]) -> float:
        """Return the log odds (base 10) that a record contains the column names for these rows."""
        cells = [row.cells for row in rows if len(row.cells) >= self.width]
        return log_odds(record.cells[: self.width], cells, self.missing)

    def start(self) -> int:
        """Return the index of the first record of the table, or 0 if it is unclear."""
        for place, record in enumerate(self.plain[:MOST_LINES_BEFORE]):
            if self._begins(record, self.plain[place + 1 :]):
                if all(self._may_stand_before(other, place) for other in range(place)):
                    return place
                break
        return 0

    def _begins(self, record: Record, rows: list[Record]) -> bool:
        """Return whether the table begins with `record`, which is followed by `rows`."""
        if len(record.cells) == self.width - 1:
            return self.is_short(record, rows)
        if len(record.cells) < self.width:
            return False
        # Spreadsheets pad a title with as many separators as the table has.
        is_padded = len(record.filled) == 1 and bool(record.bare[0]) and self.width > 1
        is_title = is_padded or self._is_sentence(record, rows)
        is_apart = bool(rows) and rows[0].line - record.line > 1 + record.cells[-1].count("\n")
        if (is_title or is_apart) and not is_numbers(record.filled):
            return not any(
                all(row.bare) and self.odds(row, rows[k + 1 :]) > 0
                for k, row in enumerate(rows[:3])
                if len(row.cells) == self.width and rows[k + 1 :]
            )
        return len(record.cells) == self.width or not record.bare[self.width]

    def _is_sentence(self, record: Record, rows: Sequence[Record]) -> bool:
        """Return whether every comma is followed by a blank in a record, but not in any row.

        At least one cell must also have two words, which excludes a list of names above units.
        """

        def has_blanks(row: Record) -> bool:
            return len(row.cells) > 1 and all(cell[:1] == " " for cell in row.cells[1:])

        has_words = any(len(cell.split()) > 1 for cell in record.cells)
        is_list = self.mark == "," and has_blanks(record)
        return is_list and has_words and not any(map(has_blanks, rows))

    def _may_stand_before(self, place: int, start: int) -> bool:
        """Return whether a record may be text before the table, rather than a short row."""
        record, *rows = self.plain[place:]
        first, *others = self.plain[start:]
        if is_numbers(record.filled):
            return False
        is_apart = first.line - self.plain[start - 1].line > 1
        if is_apart or self._is_sentence(record, rows):
            return True
        if len(record.filled) != 1:
            return False
        is_title = len(record.filled[0].split()) > 1 or len(record.cells) >= self.width
        return is_title or self.odds(first, others) > 0 or self.is_short(first, others)

    def is_short(self, record: Record, rows: Sequence[Record]) -> bool:
        """Return whether a record names all columns but the first, as in files written by R."""
        is_shorter = len(record.cells) == self.width - 1 and bool(rows)
        if not is_shorter or is_numbers(record.cells) or len(rows[0].cells) != self.width:
            return False
        if self.odds(rows[0], rows[1:]) > 0 and len(rows) > 1:
            return False  # the names follow, and this is text
        first = [row.bare[0] for row in rows if row.cells]
        if self.width == 2:
            return self.is_quoted(rows[0]) or (counts_from(first, 1) and len(first) > 1)
        return len(set(first)) == len(first)

    def further(self, rows: Sequence[Record]) -> int:
        """Return how many records directly below the names contain further names or units."""
        count = 0
        while count < MOST_FURTHER_LINES and count < len(rows):
            below = [row.cells for row in rows[count + 1 :] if len(row.cells) == self.width]
            # There may be several lines of names, so only rows are used to judge the last one.
            if len(below) > 3 and is_further_line(below[0], below[1:]):
                below = below[1:]
            cells = rows[count].cells
            if len(cells) != self.width or not is_further_line(cells, below, self.missing):
                break
            count += 1
        return count

    def named(
        self,
        record: Record,
        rows: list[Record],
        notes: tuple[str, ...],
        odds: float,
        *,
        is_short: bool,
    ) -> Names:
        """Return the names in a record, combined with those in the next record if both are needed.

        Args:
            record: the record that contains the names.
            rows: the records below.
            notes: notes on the text before the record.
            odds: the log odds that the record contains the names.
            is_short: whether the record lacks a name for the first column, as written by R for
                tables with row names; then it cannot be a row.
        """
        bare = without_hash(record.cells)
        is_sign = record.has_sign and len(bare) == len(record.cells)
        header = record
        if is_sign and not any(row.has_sign for row in rows):  # a # only before the names
            header = record._replace(cells=bare)
        cells = self.completed(header)
        if is_short:
            cells = ["", *header.cells]
        further = self.further(rows)
        below = rows[:further]
        joined = _joined(cells, below)
        names, repeated = different(joined or cells)
        line = line_in_words(record.line, is_first=record.line == self.records[0].line)
        columns = f"the {count_of(len(names), 'column')}"
        if is_short:
            columns = f"all of {columns} but the first"
        note = f"{line} names {columns}"
        if joined:
            note = f"{line} and line {below[0].line:,} name {columns}"
            below = below[1:]
        if not is_short and odds < DOUBT:
            note += "; --header none reads it as a row"
        notes_below = (
            f"line {other.line:,} is set aside as names or units; --header {record.line} reads it"
            " as a row"
            for other in below
        )
        notes = (note, *notes_below, *notes, *repeated)
        return Names(names, len(names), record, rows[further:], notes)

    def completed(self, record: Record) -> list[str]:
        """Return the cells of a record, without an empty last cell that belongs to no column."""
        if record.is_longer_than(self.width):
            return record.cells[:-1]
        return record.cells

    def comment_before(self, record: Record) -> list[str] | None:
        """Return the names in the last comment with one cell per column; None if there is none."""
        comments = [
            other for other in self.records if other.line < record.line and other not in self.plain
        ]
        for comment in reversed(comments):
            # NumPy writes a # before the names; # may also be the name of a counter.
            for cells in (without_hash(comment.cells), comment.cells):
                if len(cells) == self.width and not is_numbers(cells):
                    return cells
        return None


def _known_names(records: Sequence[Record], names: set[str]) -> Record | None:
    """Return the first record that contains most of these names, or None if none does."""
    for record in records[:LOOKED_THROUGH]:
        if 2 * len(names.intersection(record.bare)) > len(names):
            return record
    return None


def _joined(cells: Sequence[str], below: Sequence[Record]) -> list[str] | None:
    """Combine names from two lines if the first line has repeated or empty names, else return None.

    A name in the first line may apply to several columns, either repeated above each of them or
    written only above the first.
    """
    if not below or len(below[0].cells) != len(cells):
        return None
    lower = [cell.strip() for cell in below[0].cells]
    upper = [cells[0].strip()]
    for cell, name in zip(cells[1:], lower[1:], strict=True):
        if not cell.strip() and not name:
            return None
        upper.append(cell.strip() or upper[-1])
    if len(set(upper)) == len(cells):
        return None
    joined = [" ".join(filter(None, pair)) for pair in zip(upper, lower, strict=True)]
    if len(set(joined)) < len(cells):
        return None
    return joined


def without_hash(cells: Sequence[str]) -> list[str]:
    """Return the cells of a comment without the comment character."""
    first = cells[0].lstrip(" #%")
    if first:
        return [first, *cells[1:]]
    return [*cells[1:]]


def different(cells: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Make column names distinct, and return them with notes on names that were numbered."""
    bare = [re.sub(r"\s*[\r\n]+\s*", " ", cell.strip()) for cell in cells]
    given = [cell or f"column {place + 1}" for place, cell in enumerate(bare)]
    used = set(given)
    names: list[str] = []
    seen: set[str] = set()
    numbered: dict[str, list[str]] = {}
    for name in given:
        fresh = name
        number = 0
        while fresh in seen or (number and fresh in used):
            number += 1
            fresh = f"{name}.{number}"
        seen.add(fresh)
        names.append(fresh)
        if number:
            numbered.setdefault(name, [name]).append(fresh)
    notes = [
        f"{len(new)} columns have the name {name!r}: read as {', '.join(new)}"[:200]
        for name, new in numbered.items()
    ]
    if len(notes) > 3:
        notes = [*notes[:2], f"{len(notes) - 2} other names occur several times, and are numbered"]
    return tuple(names), tuple(notes)
