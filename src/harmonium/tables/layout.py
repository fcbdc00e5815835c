"""The parts of a text file: lines before its table, names, further lines of names, rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ..errors import InputError, count_of, input_error
from .asides import (
    bare,
    comments_before,
    note_on_totals,
    note_on_turning,
    notes_behind,
    repeated_names,
)
from .frames import Frame
from .names import different, names_in, without_hash
from .separators import COMMENTS, MOSTLY, Record, Splitter, is_numbers, splitter_of, unclosed
from .text_format import TextFormat

LOOKED_AT, RECORDS = 2**20, 200  # characters and records by which it is decided
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
            if self.splitter.is_aside(record, self.width):
                continue
            if self.repeated and bare(record.cells) == self.repeated:
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

    def is_comment(self, line: str) -> bool:
        """Return whether a line that begins with the sign of a comment is one."""
        records = self.splitter.records([line], 1, self.label, is_whole=False)
        record = next(records, None)
        return record is None or self.splitter.is_aside(record, self.width)

    def _ragged(self, record: Record) -> InputError:
        if any("\n" in cell for cell in record.cells):
            before = next(k for k, cell in enumerate(record.cells) if "\n" in cell)
            lines = sum(cell.count("\n") for cell in record.cells[:before])
            return unclosed(self.label, record.line + lines)
        expected = f"{count_of(self.width, 'column')} as in {self.counted}"
        advice = "complete it, or name what separates the cells with --separator"
        if record.line <= self.first + 1:
            advice = "if the table begins later, drop the lines before it with --skip N, or name"
            advice += " its line of names with --header N; or give the --separator"
        found = f"{len(record.cells)} in line {record.line:,}"
        return input_error(self.label, expected, found, advice)


def layout_of(
    lines: Sequence[str], label: str, text_format: TextFormat, known: Frame | None = None
) -> Layout:
    """Find the parts of a text file.

    Args:
        lines: its lines.
        label: what error messages call it.
        text_format: what a user says of it.
        known: a table, of any number of rows, whose names are looked for.

    Raises:
        InputError: no rows, lines of different numbers of cells, or a format that does not fit.
    """
    skip, separator, notes = _skipped(lines, label, text_format)
    skip, notes = _without_comments(lines, skip, notes, text_format)
    beginning = _beginning(lines, skip)
    if not any(line.strip() and not line.lstrip().startswith(COMMENTS) for line in beginning):
        raise input_error(label, "rows", "only blank lines", "check how it was written")
    splitter = splitter_of(beginning, separator, label)
    is_whole = skip + len(beginning) == len(lines)
    every = splitter.records(beginning, skip + 1, label, is_whole=is_whole)
    records = list(islice((record for record in every if not record.is_blank), RECORDS))
    if not records:
        # A quote that opens in the first line may hide all others; reading them says so.
        list(splitter.records(lines[skip:], skip + 1, label))
        raise input_error(label, "rows", "only blank lines", "check how it was written")
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
        expected, found = f"at most {MOST_COLUMNS:,} columns of words", f"{layout.width:,}"
        raise input_error(label, expected, found, "write numbers as an array, in .npy")
    if isinstance(text_format.header, int):
        return _named_by_line(layout, records, text_format.header)
    found = names_in(
        records,
        layout.width,
        splitter,
        missing=text_format.missing,
        known=known,
        has_names=False if text_format.header == "none" else None,
        is_quoted=lambda record: lines[record.line - 1].lstrip().startswith('"'),
    )
    counted = found.counted.line
    is_first = counted == records[0].line
    notes = (*layout.notes, *found.notes, *_note_on_comments(layout, lines, found.by_comment))
    repeated: tuple[str, ...] = ()
    if found.names is not None and not found.by_comment:
        repeated, note = repeated_names(splitter, lines, found.counted, found.rows, layout.last)
        notes = (*notes, *note)
    if found.names is None:
        notes = (*notes, *note_on_turning(found.rows, found.width))
    notes = (*notes, *note_on_totals(layout.splitter, lines, layout.last, found.rows))
    return replace(
        layout,
        repeated=repeated,
        names=found.names,
        width=found.width,
        first=found.rows[0].line if found.rows else layout.last + 1,
        counted="the first line" if is_first else f"line {counted:,}",
        notes=notes,
    )


def _note_on_comments(layout: Layout, lines: Sequence[str], named: bool) -> tuple[str, ...]:
    """Return a note on comments, besides one that names the columns."""
    body = lines[layout.first - 1 : layout.last]
    count = sum(layout.is_comment(line) for line in body if line.startswith(COMMENTS)) - named
    return (f"set aside as comments: {count_of(count, 'line')}",) if count else ()


def _skipped(
    lines: Sequence[str], label: str, text_format: TextFormat
) -> tuple[int, str | None, tuple[str, ...]]:
    """Return how many lines are dropped, the separator if it is known, and a note on that."""
    skip, separator = text_format.skip, text_format.separator
    if not lines:
        raise input_error(label, "rows", "only blank lines", "check how it was written")
    wanted = max(skip + 1, text_format.header if isinstance(text_format.header, int) else 0)
    if wanted > len(lines):
        option = "--header" if wanted > skip + 1 else "--skip"
        found = f"a file of {count_of(len(lines), 'line')}"
        raise input_error(label, f"the line after those that {option} drops", found, "drop fewer")
    # Excel reads such a first line, and writes it on request.
    declared = re.fullmatch(r'"?sep=([^\w"\'.+-])"?\s*', lines[skip], re.IGNORECASE)
    notes: tuple[str, ...] = ()
    if declared:
        notes = (f"line {skip + 1} says that {declared[1]!r} separates the cells",)
        separator = separator or declared[1]
        skip += 1
    return max(skip, wanted - 1), separator, notes


def _beginning(lines: Sequence[str], skip: int) -> list[str]:
    """Return the lines by which it is decided."""
    size = 0
    taken: list[str] = []
    for line in islice(lines, skip, None):
        size += len(line)
        taken.append(line)
        if size > LOOKED_AT or len(taken) >= 4 * RECORDS:
            break
    return taken


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
    except InputError:  # a quote: reading the rows says where it opens
        return layout
    texts = [[cell for cell in record.cells if cell.strip()] for record in after]
    if any(len(cells) != 1 or is_numbers(cells) for cells in texts):
        return layout
    note = f"what stands behind line {start:,} is set aside: {texts[0][0].strip()[:40]!r}"
    return replace(layout, last=start, notes=(*layout.notes, note))


def _without_notes_behind(layout: Layout, lines: Sequence[str], rows: list[Record]) -> Layout:
    """Return the layout without texts that follow the last row at once."""
    last = notes_behind(layout.splitter, lines, layout.last, layout.width, rows)
    if last == layout.last or last <= layout.first + 1:
        return layout
    note = f"what stands behind line {last:,} is set aside: {lines[last].strip()[:40]!r}"
    return replace(layout, last=last, notes=(*layout.notes, note))


def _without_comments(
    lines: Sequence[str], skip: int, notes: tuple[str, ...], text_format: TextFormat
) -> tuple[int, tuple[str, ...]]:
    """Return how many lines are dropped with comments of other signs before the table."""
    count = 0 if isinstance(text_format.header, int) else comments_before(lines[skip:])
    if not count:
        return skip, notes
    return skip + count, (*notes, f"set aside as comments: {count_of(count, 'line')}")


def _without_empty_rows(layout: Layout, lines: Sequence[str], end: int) -> Layout:
    """Return the layout without rows of separators alone, with which spreadsheets end a table."""
    count = sum(bool(line.strip()) for line in lines[end : layout.last])
    note = f"{count_of(count, 'row')} without any cell at the end of the file set aside"
    return replace(layout, last=end, notes=(*layout.notes, note) if count else layout.notes)


def _named_by_line(layout: Layout, records: list[Record], line: int) -> Layout:
    """Return the layout of a table whose line of names is told."""
    record, *others = records
    if record.line != line:
        found = f"a blank line; line {record.line:,} is the next that has cells"
        raise input_error(layout.label, f"names in line {line:,}", found, "correct --header")
    cells = record.cells
    if cells[0].lstrip().startswith(COMMENTS) and len(without_hash(cells)) == layout.width:
        cells = without_hash(cells)
    if len(cells) == layout.width + 1 and not cells[-1].strip():
        cells = cells[:-1]
    if len(cells) == layout.width - 1:
        cells = ["", *cells]
    names, notes = different(cells)
    rows = [other for other in others if not layout.splitter.is_aside(other, len(cells))]
    return replace(
        layout,
        names=names,
        width=len(names),
        first=rows[0].line if rows else layout.last + 1,
        counted=f"line {line:,}" if line > 1 else "the first line",
        notes=(*layout.notes, *notes),
    )
