"""The parts of a text file: lines before its table, names, further lines of names, rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from ..errors import InputError, count_of
from .frames import Frame
from .headers import different, names_in, without_hash
from .separators import (
    COMMENTS,
    MOSTLY,
    Record,
    Splitter,
    is_numbers,
    line_in_words,
    splitter_of,
    unclosed,
)
from .text_format import TextFormat

# Signs of comments in other languages, with what has to follow, as rows may begin with them too.
OTHER_COMMENTS = (r"//", r";\s(?!.*;)", r"--\s", r"!\s", r"\*\s", r"'\s", r"(?i:rem)\s")
COMMENTS_LOOKED_AT = 200  # lines among which none may begin with such a sign
MOST_LINES_BEHIND = 5
TOTAL = (
    r"(?i)(grand |sub)?-?totals?|sums?|averages?|avg\.?|means?|medians?|summe|gesamt|insgesamt"
    r"|mittelwert|durchschnitt|somme|total général|moyenne|totale|suma|promedio|media|totaal"
)
# Characters and records that decide.
LOOKED_AT = 2**20
RECORDS = 200
MOST_LINES_AFTER = 20
MOST_COLUMNS = 2**15  # each takes time and memory, however few its cells


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Where the parts of a text file are.

    Attributes:
        label: what error messages call the file.
        splitter: how lines are divided into cells.
        width: the number of columns.
        names: their names; None if no line has them.
        first: the number of the line from which on there are rows, counted from 1.
        last: the number of the last line that may be a row.
        counted: the line by which the columns are counted, in words.
        ends_with_mark: whether rows may end with a separator, behind which there is nothing.
        repeated: the names where they stand among the rows again, which are no row there.
        notes: what a person should know about it, as sentences without a full stop.
    """

    label: str
    splitter: Splitter
    width: int
    names: tuple[str, ...] | None
    first: int
    last: int
    counted: str = "the first line"
    ends_with_mark: bool = False
    repeated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def rows(self, lines: Sequence[str]) -> Iterator[list[str]]:
        """Return the cells of each row.

        Args:
            lines: all lines of the file.

        Raises:
            InputError: a row of another number of cells, or a quote that is not closed.
        """
        blank = 0
        body = lines[self.first - 1 : self.last]
        for record in self.splitter.records(body, self.first, self.label):
            if self.splitter.is_no_row(record, self.width):
                continue
            if self.repeated and _stripped(record.cells) == self.repeated:
                continue
            if not record.cells or (record.is_blank and len(record.cells) == 1):
                blank += 1
                continue
            if self.width == 1:
                # Within a column an empty line is a missing cell; at its end it is none.
                yield from ([""] for _ in range(blank))
            blank = 0
            cells = record.cells
            if len(cells) == self.width + 1 and self.ends_with_mark and not cells[-1].strip():
                cells = cells[:-1]
            if len(cells) != self.width:
                raise self._ragged(record)
            yield cells

    def first_line_of(self, rows: Sequence[Record]) -> int:
        """Return the number of the first line of rows, which is behind the last one without any."""
        return rows[0].line if rows else self.last + 1

    def is_comment(self, line: str) -> bool:
        """Return whether a line that begins with the sign of a comment is one."""
        records = self.splitter.records([line], 1, self.label, is_whole=False)
        record = next(records, None)
        return record is None or self.splitter.is_no_row(record, self.width)

    def _ragged(self, record: Record) -> InputError:
        if any("\n" in cell for cell in record.cells):
            before = next(k for k, cell in enumerate(record.cells) if "\n" in cell)
            lines = sum(cell.count("\n") for cell in record.cells[:before])
            return unclosed(self.label, record.line + lines)
        advice = "complete it, or name what separates the cells with --separator"
        if record.line <= self.first + 1:
            advice = "if the table begins later, drop the lines before it with --skip N, or name"
            advice += " its line of names with --header N; or give the --separator"
        return InputError(
            f"{self.label}: expected {count_of(self.width, 'column')} as in {self.counted};"
            f" got {len(record.cells)} in line {record.line:,}; {advice}."
        )


def layout_of(
    lines: Sequence[str], label: str, text_format: TextFormat, known: Frame | None = None
) -> Layout:
    """Decide where the parts of a text file are.

    Args:
        lines: its lines.
        label: what error messages call it.
        text_format: the options of a user.
        known: a table, of any number of rows, whose names are looked for.

    Raises:
        InputError: no rows, lines of different numbers of cells, or a format that does not fit.
    """
    skip, separator, notes = _skipped(lines, label, text_format)
    skip, notes = _without_comments(lines, skip, notes, text_format)
    beginning = _beginning(lines, skip)
    if not any(line.strip() and not line.lstrip().startswith(COMMENTS) for line in beginning):
        raise InputError(f"{label}: expected rows; got only blank lines.")
    splitter = splitter_of(beginning, separator, label)
    is_whole = skip + len(beginning) == len(lines)
    all_records = splitter.records(beginning, skip + 1, label, is_whole=is_whole)
    records = list(islice((record for record in all_records if not record.is_blank), RECORDS))
    if not records:
        # A quote that opens in the first line may hide all others; reading them raises the error.
        list(splitter.records(lines[skip:], skip + 1, label))
        raise InputError(f"{label}: expected rows; got only blank lines.")
    layout = Layout(
        label=label,
        splitter=splitter,
        width=1,
        names=None,
        first=skip + 1,
        last=len(lines),
        notes=notes,
    )
    layout = _without_end(_with_width(layout, records), lines)
    layout = _without_notes_behind(layout, lines, records)
    if layout.width > MOST_COLUMNS and not all(is_numbers(record.cells) for record in records[:2]):
        raise InputError(
            f"{label}: expected at most {MOST_COLUMNS:,} columns of words; got {layout.width:,};"
            " write numbers as an array, in .npy."
        )
    if isinstance(text_format.header, int):
        return _named_by_line(layout, records, text_format.header)
    has_names = None
    if text_format.header == "none":
        has_names = False
    names = names_in(
        records,
        layout.width,
        splitter,
        missing=text_format.missing,
        known=known,
        has_names=has_names,
        is_quoted=lambda record: lines[record.line - 1].lstrip().startswith('"'),
    )
    notes = [*layout.notes, *names.notes]
    notes.append(_note_on_comments(layout, lines, names.by_comment))
    repeated: tuple[str, ...] = ()
    if names.names is None:
        notes.append(_note_on_transposing(names.rows, names.width))
    elif not names.by_comment:
        repeated, note = _repeated_names(splitter, lines, names.counted, names.rows, layout.last)
        notes.append(note)
    notes.append(_note_on_totals(layout.splitter, lines, layout.last, names.rows))
    is_first = names.counted.line == records[0].line
    return replace(
        layout,
        repeated=repeated,
        names=names.names,
        width=names.width,
        first=layout.first_line_of(names.rows),
        counted=line_in_words(names.counted.line, is_first=is_first),
        notes=tuple(filter(None, notes)),
    )


def _note_on_comments(layout: Layout, lines: Sequence[str], has_names: bool) -> str:
    """Return a note on comments, besides one that names the columns."""
    body = lines[layout.first - 1 : layout.last]
    count = sum(layout.is_comment(line) for line in body if line.startswith(COMMENTS)) - has_names
    return f"set aside as comments: {count_of(count, 'line')}" if count else ""


def _skipped(
    lines: Sequence[str], label: str, text_format: TextFormat
) -> tuple[int, str | None, tuple[str, ...]]:
    """Return how many lines are dropped, the separator if it is known, and a note on that."""
    skip = text_format.skip
    separator = text_format.separator
    if not lines:
        raise InputError(f"{label}: expected rows; got only blank lines.")
    first = skip + 1
    if isinstance(text_format.header, int):
        first = max(first, text_format.header)
    if first > len(lines):
        option = "--header" if first > skip + 1 else "--skip"
        raise InputError(
            f"{label}: expected the line after those that {option} drops; got a file of"
            f" {count_of(len(lines), 'line')}; drop fewer."
        )
    # Excel reads such a first line, and writes it on request.
    declared = re.fullmatch(r'"?sep=([^\w"\'.+-])"?\s*', lines[skip], re.IGNORECASE)
    notes: tuple[str, ...] = ()
    if declared:
        notes = (f"line {skip + 1} says that {declared[1]!r} separates the cells",)
        separator = separator or declared[1]
        skip += 1
    return max(skip, first - 1), separator, notes


def _beginning(lines: Sequence[str], skip: int) -> list[str]:
    """Return the lines by which it is decided."""
    characters = 0
    beginning: list[str] = []
    for line in islice(lines, skip, None):
        characters += len(line)
        beginning.append(line)
        if characters > LOOKED_AT or len(beginning) >= 4 * RECORDS:
            break
    return beginning


def _with_width(layout: Layout, records: list[Record]) -> Layout:
    """Return the layout with the number of cells that most records have."""
    plain = [
        record.cells
        for record in records
        if not record.cells[0].lstrip().startswith(COMMENTS)
        and not layout.splitter.is_rule(record.cells)
    ] or [record.cells for record in records]
    widths = Counter(map(len, plain))
    width = max(widths, key=lambda width: widths[width])
    if widths[width] < MOSTLY * len(plain):
        width = len(plain[0])
    of_width = [cells for cells in plain if len(cells) == width]
    if width > 1 and len(of_width) > 1 and not any(cells[-1].strip() for cells in of_width):
        return replace(layout, width=width - 1, ends_with_mark=True)
    is_longer = len(plain[0]) == width + 1 and not plain[0][-1].strip()
    return replace(layout, width=width, ends_with_mark=is_longer)


def _without_end(layout: Layout, lines: Sequence[str]) -> Layout:
    """Return the layout without lines behind the table: a few texts behind a blank line."""

    def is_blank(line: str) -> bool:
        return not line.strip(' \t,;|"\r\n')

    end = len(lines)
    while end > layout.first and is_blank(lines[end - 1]):
        end -= 1
    if layout.width > 1 and end > layout.first:
        layout = _without_empty_rows(layout, lines, end)
    start = end
    while start > layout.first and not is_blank(lines[start - 1]):
        start -= 1
        if end - start > MOST_LINES_AFTER:
            return layout
    if layout.width == 1 or start <= layout.first + 1:
        return layout
    try:
        after = list(layout.splitter.records(lines[start:end], start + 1, layout.label))
    except InputError:  # a quote; reading the rows reports where it opens
        return layout
    texts = [[cell for cell in record.cells if cell.strip()] for record in after]
    if any(len(cells) != 1 or is_numbers(cells) for cells in texts):
        return layout
    note = f"what stands behind line {start:,} is set aside: {texts[0][0].strip()[:40]!r}"
    return replace(layout, last=start, notes=(*layout.notes, note))


def _without_notes_behind(layout: Layout, lines: Sequence[str], rows: list[Record]) -> Layout:
    """Return the layout without texts that follow the last row at once."""
    last = _notes_behind(layout.splitter, lines, layout.last, layout.width, rows)
    if last == layout.last or last <= layout.first + 1:
        return layout
    note = f"what stands behind line {last:,} is set aside: {lines[last].strip()[:40]!r}"
    return replace(layout, last=last, notes=(*layout.notes, note))


def _without_comments(
    lines: Sequence[str], skip: int, notes: tuple[str, ...], text_format: TextFormat
) -> tuple[int, tuple[str, ...]]:
    """Return how many lines are dropped with comments of other signs before the table."""
    count = 0 if isinstance(text_format.header, int) else _comments_before(lines[skip:])
    if not count:
        return skip, notes
    return skip + count, (*notes, f"set aside as comments: {count_of(count, 'line')}")


def _without_empty_rows(layout: Layout, lines: Sequence[str], end: int) -> Layout:
    """Return the layout without rows of separators alone, with which spreadsheets end a table."""
    count = sum(bool(line.strip()) for line in lines[end : layout.last])
    note = f"{count_of(count, 'row')} without any cell at the end of the file set aside"
    notes = (*layout.notes, note) if count else layout.notes
    return replace(layout, last=end, notes=notes)


def _named_by_line(layout: Layout, records: list[Record], line: int) -> Layout:
    """Return the layout of a table whose line of names is given."""
    record, *others = records
    if record.line != line:
        raise InputError(
            f"{layout.label}: expected names in line {line:,}; got a blank line; line"
            f" {record.line:,} is the next that has cells."
        )
    cells = record.cells
    if cells[0].lstrip().startswith(COMMENTS) and len(without_hash(cells)) == layout.width:
        cells = without_hash(cells)
    if len(cells) == layout.width + 1 and not cells[-1].strip():
        cells = cells[:-1]
    if len(cells) == layout.width - 1:
        cells = ["", *cells]
    names, notes = different(cells)
    rows = [other for other in others if not layout.splitter.is_no_row(other, len(cells))]
    return replace(
        layout,
        names=names,
        width=len(names),
        first=layout.first_line_of(rows),
        counted=line_in_words(line, is_first=line == 1),
        notes=(*layout.notes, *notes),
    )


def _comments_before(lines: Sequence[str]) -> int:
    """Return how many of the first lines are comments by a sign that no other line begins with.

    With "// of the kitchen" before "a,b" and "1,2" that is 1.
    """
    for sign in OTHER_COMMENTS:
        is_comment = re.compile(rf"\s*{sign}").match
        count = len(list(takewhile(is_comment, lines[:COMMENTS_LOOKED_AT])))
        rest = lines[count : count + COMMENTS_LOOKED_AT]
        if count and rest and not any(map(is_comment, rest)):
            return count
    return 0


def _repeated_names(
    splitter: Splitter, lines: Sequence[str], names: Record, rows: Sequence[Record], last: int
) -> tuple[tuple[str, ...], str]:
    """Return the cells of the names if they stand among the rows again, and a note on that.

    Args:
        splitter: how lines are divided.
        lines: all lines of the file.
        names: the record that names the columns.
        rows: the first rows.
        last: the number of the last line that may be a row.
    """
    wanted = _stripped(names.cells)
    # Numbers may be names and a row as well.
    if len(wanted) < 2 or is_numbers(wanted):
        return (), ""
    # These are few, so that only few lines are divided.
    likely = [line for line in lines[names.line : last] if all(name in line for name in wanted)]
    try:
        count = sum(_stripped(record.cells) == wanted for record in splitter.records(likely, 1, ""))
    except InputError:  # part of a cell in quotes
        return (), ""
    others = [row.cells for row in rows if _stripped(row.cells) != wanted]
    # A row of answers that were all ticked repeats the names: other rows have these words too.
    is_row = all(
        any(place < len(cells) and cells[place].strip() == name.strip() for cells in others)
        for place, name in enumerate(names.cells)
    )
    if not count or is_row:
        return (), ""
    times = "once more" if count == 1 else f"{count:,} times more"
    return wanted, f"the names stand among the rows {times}: set aside"


def _stripped(cells: Sequence[str]) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in cells)


def _notes_behind(
    splitter: Splitter, lines: Sequence[str], last: int, width: int, rows: Sequence[Record]
) -> int:
    """Return the number of the last line that is no text behind the rows, such as a source.

    Args:
        splitter: how lines are divided.
        lines: all lines of the file.
        last: the number of the last line that may be a row.
        width: the number of columns.
        rows: the first records.
    """
    others = [row.cells for row in rows[1:] if row.line <= last - MOST_LINES_BEHIND]
    # In a single column a text is a cell, and an empty line a missing one.
    if not others or width == 1:
        return last
    texts = {cells[0] for cells in others}
    is_usual = any(_is_first_alone(cells) and len(cells) == width for cells in others)
    end = last
    for _ in range(MOST_LINES_BEHIND):
        while end > 1 and not lines[end - 1].strip():
            end -= 1
        if end < 2:
            break
        try:
            (record,) = splitter.records(lines[end - 1 : end], end, "")
        except (InputError, ValueError):  # part of a cell in quotes
            break
        cells = record.cells
        # A row with its first cell alone may be one; in two columns it often is.
        is_note = len(cells) == 1 < width or (len(cells) >= width > 2 and not is_usual)
        is_whole = lines[end - 1].count(splitter.quote) % 2 == 0
        if not (is_note and is_whole and _is_first_alone(cells)) or cells[0] in texts:
            break
        if splitter.is_no_row(record, width):
            break
        # A single word may be the beginning of a row that was cut off.
        if len(cells[0].split()) < 2 or is_numbers(cells):
            break
        end -= 1
        last = end
    return last


def _note_on_totals(
    splitter: Splitter, lines: Sequence[str], last: int, rows: Sequence[Record]
) -> str:
    """Return a note if the last row seems to sum up the others."""
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    try:
        records = list(splitter.records(lines[last - 1 : last], last, ""))
    except InputError:
        return ""
    cells = records[0].cells if records else []
    names = [cell.strip() for cell in cells if re.fullmatch(TOTAL, cell.strip().rstrip(":"))]
    is_first = not rows or rows[0].line >= last
    if not names or is_first or any(names[0] in row.cells for row in rows if row.line < last):
        return ""
    return f"line {last:,} is read as a row; delete it if {names[0]!r} sums up the others"


def _note_on_transposing(rows: Sequence[Record], width: int) -> str:
    """Return a note if each of a few rows without names begins with what seems to be its name."""
    cells = [row.cells for row in rows]
    if not 2 <= len(cells) < width or any(len(row) != width for row in cells):
        return ""
    names = [row[0].strip() for row in cells]
    are_names = len(set(names)) == len(names) and not any(is_numbers([name]) for name in names)
    if not are_names or not any(is_numbers(row[1:]) for row in cells):
        return ""
    return "each row seems to be a variable, whose name is first: if so, transpose the table"


def _is_first_alone(cells: Sequence[str]) -> bool:
    return bool(cells) and bool(cells[0].strip()) and not any(cell.strip() for cell in cells[1:])
