"""Where the table of a text file begins, and which of its lines name the columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import count_of
from .frames import Frame
from .headers import is_further_line, log_odds
from .separators import COMMENTS, Record, Splitter, is_numbers

MOST_LINES_BEFORE = 50
MOST_FURTHER_LINES = 3
LOOKED_THROUGH = 10  # records among which names of a known table are looked for
DOUBT, DOUBT_OF_ROWS = 2.0, 1.9  # log odds below which it is said what else a line may be
UNNAMED = r"column \d+"


class Names(NamedTuple):
    """The names of columns, and the records around them.

    Attributes:
        names: the names; None if no line has them.
        width: the number of columns.
        counted: the record by which the columns are counted.
        rows: the records of rows among those looked at.
        notes: what a person should know about it.
        by_comment: whether a comment has the names.
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
    has_names: bool | None = None,
    is_quoted: Callable[[Record], bool] = lambda record: False,
) -> Names:
    """Decide where a table begins, and which line names its columns.

    Args:
        records: the first records of the file, without blank ones.
        width: how many cells most of them have.
        splitter: how they were divided.
        missing: words for missing cells, besides the usual ones.
        known: a table, of any number of rows, whose names are looked for.
        has_names: whether a line names the columns; None to decide it.
        is_quoted: whether the first cell of a record stands in quotes.
    """
    finder = _Finder(records, width, splitter, missing, is_quoted)
    start = finder.start()
    before, record, rows = finder.plain[:start], finder.plain[start], finder.plain[start + 1 :]
    notes = finder.notes_on(before, record)
    columns = len(finder.completed(record.cells))
    if has_names is False:
        return Names(None, columns, record, [record, *rows], notes)
    named = _known_names(finder.plain, known)
    if named is not None:
        record = named
        rows = finder.plain[finder.plain.index(named) + 1 :]
    further = finder.further(rows)
    if named is not None:
        is_short = len(named.cells) == width - 1
        return finder.named(named, rows, further, (), None if is_short else math.inf)
    odds = finder.odds(record, rows[further:])
    # Names that were given by the order of columns say that there were none.
    threshold = DOUBT if known is not None and _is_unnamed(known) else 0.0
    is_short = finder.is_short(start)
    if is_short or odds > threshold:
        return finder.named(record, rows, further, notes, None if is_short else odds)
    comment = finder.comment_before(record)
    if comment is not None:
        names, more = different(comment)
        note = f"a comment before the rows names the {count_of(width, 'column')}"
        return Names(names, width, record, [record, *rows], (note, *notes, *more), True)
    if odds > -DOUBT_OF_ROWS:
        line = "the first line" if not before else f"line {record.line:,}"
        notes = (f"{line} is read as a row; --header {record.line} reads it as names", *notes)
    return Names(None, columns, record, [record, *rows], notes)


class _Finder:
    """The records of a file, and what is asked of them."""

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
        self.plain = [r for r in records if not splitter.is_aside(r, width)] or [*records]

    def odds(self, record: Record, rows: Sequence[Record]) -> float:
        """Return the log odds that a record names the columns of others."""
        cells = [row.cells for row in rows if len(row.cells) >= self.width]
        return log_odds(record.cells[: self.width], cells, self.missing)

    def start(self) -> int:
        """Return the place of the first record of the table; 0 if it is not clear."""
        for place in range(min(len(self.plain), MOST_LINES_BEFORE)):
            if self._begins(place):
                return place if all(self._may_stand_before(k, place) for k in range(place)) else 0
        return 0

    def _begins(self, place: int) -> bool:
        record, rows = self.plain[place], self.plain[place + 1 :]
        if len(record.cells) == self.width - 1:
            return self.is_short(place)
        if len(record.cells) < self.width:
            return False
        filled = [cell for cell in record.cells if cell.strip()]
        # Spreadsheets write a title with as many separators as the table has.
        is_title = len(filled) == 1 and bool(record.cells[0].strip()) and self.width > 1
        is_apart = bool(rows) and rows[0].line - record.line > 1 + record.cells[-1].count("\n")
        is_title = is_title or self._is_sentence(record, rows)
        if (is_title or is_apart) and not is_numbers(filled):
            return not any(
                all(cell.strip() for cell in row.cells) and self.odds(row, rows[k + 1 :]) > 0
                for k, row in enumerate(rows[:3])
                if len(row.cells) == self.width and rows[k + 1 :]
            )
        return len(record.cells) == self.width or not record.cells[self.width].strip()

    def _is_sentence(self, record: Record, rows: Sequence[Record]) -> bool:
        """Return whether blanks follow the commas of a record, and those of no row.

        A part of it has two words, so that it is no list of names above their units.
        """

        def has_blanks(cells: Sequence[str]) -> bool:
            return all(cell[:1] == " " for cell in cells[1:])

        are_rows_plain = not any(has_blanks(row.cells) for row in rows if len(row.cells) > 1)
        return (
            self.mark == ","
            and len(record.cells) > 1
            and has_blanks(record.cells)
            and any(len(cell.split()) > 1 for cell in record.cells)
            and are_rows_plain
        )

    def _may_stand_before(self, place: int, start: int) -> bool:
        """Return whether a record may be a text before the table, and no row that is too short."""
        record = self.plain[place]
        filled = [cell for cell in record.cells if cell.strip()]
        if is_numbers(filled):
            return False
        last = self.plain[start - 1]
        is_apart = self.plain[start].line - last.line > 1
        is_title = len(filled) == 1 and len(filled[0].split()) > 1
        is_title = is_title or self._is_sentence(record, self.plain[place + 1 :])
        is_padded = len(record.cells) >= self.width and len(filled) == 1
        names = self.odds(self.plain[start], self.plain[start + 1 :]) > 0 or self.is_short(start)
        return is_apart or is_title or is_padded or (names and len(filled) == 1)

    def is_short(self, place: int) -> bool:
        """Return whether a record names all columns but the first, as R writes it."""
        record, rows = self.plain[place], self.plain[place + 1 :]
        is_shorter = len(record.cells) == self.width - 1 and bool(rows)
        if not is_shorter or is_numbers(record.cells) or len(rows[0].cells) != self.width:
            return False
        if self.odds(rows[0], rows[1:]) > 0 and len(rows) > 1:
            return False  # the names follow, and this is a text
        first = [row.cells[0].strip() for row in rows if row.cells]
        if self.width == 2:
            counted = [str(place + 1) for place in range(len(first))]
            return self.is_quoted(rows[0]) or (first == counted and len(first) > 1)
        return len(set(first)) == len(first)

    def further(self, rows: Sequence[Record]) -> int:
        """Return how many records below the names are names or units too."""
        count = 0
        while count < MOST_FURTHER_LINES and count < len(rows):
            below = [row.cells for row in rows[count + 1 :] if len(row.cells) == self.width]
            # Several lines of names stand above each other, so that the last is told by the rows.
            deeper = below[1:] if len(below) > 3 and is_further_line(below[0], below[1:]) else below
            if len(rows[count].cells) != self.width:
                break
            if not is_further_line(rows[count].cells, deeper, self.missing):
                break
            count += 1
        return count

    def named(
        self,
        record: Record,
        rows: list[Record],
        further: int,
        notes: tuple[str, ...],
        odds: float | None,
    ) -> Names:
        """Return the names of a record, and of one below it where both are needed."""
        cells = self.completed(self._without_sign(record, rows), is_short=odds is None)
        below = rows[:further]
        joined = _joined(cells, below)
        names, more = different(joined or cells)
        line = "the first line" if record is self.records[0] else f"line {record.line:,}"
        named = f"the {count_of(len(names), 'column')}"
        if odds is None:  # as R writes it, whose row names have no name
            named = f"all of {named} but the first"
        said = f"{line} names {named}"
        if joined:
            said = f"{line} and line {below[0].line:,} name {named}"
        if odds is not None and odds < DOUBT:
            said += "; --header none reads it as a row"
        option = f"--header {record.line} reads it as a row"
        asides = tuple(
            f"line {other.line:,} is set aside as names or units; {option}"
            for other in below[bool(joined) :]
        )
        return Names(names, len(names), record, rows[further:], (said, *asides, *notes, *more))

    def _without_sign(self, record: Record, rows: Sequence[Record]) -> list[str]:
        """Return names without the # that begins their line and no row."""
        bare = without_hash(record.cells)
        is_sign = record.cells[0].lstrip().startswith(COMMENTS) and len(bare) == len(record.cells)
        if is_sign and not any(row.cells[0].lstrip().startswith(COMMENTS) for row in rows):
            return bare
        return record.cells

    def completed(self, cells: Sequence[str], *, is_short: bool = False) -> list[str]:
        """Return cells without an empty last one, and with the first one that R leaves out."""
        if is_short:
            return ["", *cells]
        is_longer = len(cells) == self.width + 1 and not cells[-1].strip()
        return [*cells[:-1]] if is_longer else [*cells]

    def comment_before(self, record: Record) -> list[str] | None:
        """Return the names in the last comment before the table that has one for each column."""
        comments = [c for c in self.records if c.line < record.line and c not in self.plain]
        for comment in reversed(comments):
            # NumPy writes its sign before the names; it may also be the name of a counter.
            for cells in (without_hash(comment.cells), comment.cells):
                if len(cells) == self.width and not is_numbers(cells):
                    return cells
        return None

    def notes_on(self, before: Sequence[Record], start: Record) -> tuple[str, ...]:
        """Return a note on what stands before the table."""
        if not before:
            return ()
        text = " ".join(filter(None, map(str.strip, before[0].cells)))
        return (f"what stands before line {start.line:,} is set aside: {text[:40]!r}",)


def _known_names(records: Sequence[Record], known: Frame | None) -> Record | None:
    """Return the record that has the names of a known table, or most of them."""
    if known is None or _is_unnamed(known):
        return None
    wanted = set(known.names)
    for record in records[:LOOKED_THROUGH]:
        cells = {cell.strip() for cell in record.cells}
        if 2 * len(wanted & cells) > len(wanted):
            return record
    return None


def _is_unnamed(known: Frame) -> bool:
    return all(re.fullmatch(UNNAMED, name) for name in known.names)


def _joined(cells: Sequence[str], below: Sequence[Record]) -> list[str] | None:
    """Return names of two lines together, where the first does not tell all columns apart.

    Its names may stand for several columns each: repeated, or above the first of them alone.
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
    return joined if len(set(joined)) == len(cells) else None


def without_hash(cells: Sequence[str]) -> list[str]:
    """Return the cells of a comment without its sign."""
    first = cells[0].lstrip(" #%")
    return [first, *cells[1:]] if first else [*cells[1:]]


def different(cells: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names for columns, all different, and notes on those that were numbered."""
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
