"""Lines of a text file that are no rows: comments, names again, notes behind the table, totals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from ..errors import InputError
from .separators import Record, Splitter, is_numbers

# Signs of comments in other languages, with what has to follow, as rows may begin with them too.
OTHER_COMMENTS = (r"//", r";\s(?!.*;)", r"--\s", r"!\s", r"\*\s", r"'\s", r"(?i:rem)\s")
LOOKED_AT = 200  # lines among which none may begin with such a sign
MOST_LINES_BEHIND = 5
TOTAL = (
    r"(?i)(grand |sub)?-?totals?|sums?|averages?|avg\.?|means?|medians?|summe|gesamt|insgesamt"
    r"|mittelwert|durchschnitt|somme|total général|moyenne|totale|suma|promedio|media|totaal"
)


def comments_before(lines: Sequence[str]) -> int:
    r"""Return how many of the first lines are comments by a sign that no other line begins with.

    Example:
        >>> comments_before(["// of the kitchen\n", "a,b\n", "1,2\n"])
        1
    """
    for sign in OTHER_COMMENTS:
        is_comment = re.compile(rf"\s*{sign}").match
        count = len(list(takewhile(is_comment, lines[:LOOKED_AT])))
        rest = lines[count : count + LOOKED_AT]
        if count and rest and not any(map(is_comment, rest)):
            return count
    return 0


def repeated_names(
    splitter: Splitter, lines: Sequence[str], names: Record, rows: Sequence[Record], last: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the cells of the names if they stand among the rows again, and a note on that.

    Args:
        splitter: how lines are divided.
        lines: all lines of the file.
        names: the record that names the columns.
        rows: the first rows.
        last: the number of the last line that may be a row.
    """
    wanted = bare(names.cells)
    # Numbers may be names and a row as well.
    if len(wanted) < 2 or is_numbers(wanted):
        return (), ()
    likely = [  # which are few, so that only these are divided
        line for line in lines[names.line : last] if all(name in line for name in wanted)
    ]
    try:
        count = sum(bare(record.cells) == wanted for record in splitter.records(likely, 1, ""))
    except InputError:  # part of a cell in quotes
        count = 0
    others = [row.cells for row in rows if bare(row.cells) != wanted]
    if not count:
        return (), ()
    # A row of answers that were all ticked repeats the names: other rows have these words too.
    is_row = all(
        any(place < len(cells) and cells[place].strip() == name.strip() for cells in others)
        for place, name in enumerate(names.cells)
    )
    if is_row:
        return (), ()
    times = "once more" if count == 1 else f"{count:,} times more"
    return wanted, (f"the names stand among the rows {times}: set aside",)


def bare(cells: Sequence[str]) -> tuple[str, ...]:
    """Return cells without blanks around them."""
    return tuple(cell.strip() for cell in cells)


def notes_behind(
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
    if not others:
        return last
    texts = {cells[0] for cells in others}
    is_usual = any(_is_first_alone(cells) and len(cells) == width for cells in others)
    if width == 1:
        return last  # in which an empty line is a missing cell
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
        if splitter.is_aside(record, width):
            break
        # A single word may be the beginning of a row that was cut off.
        if len(cells[0].split()) < 2 or is_numbers(cells):
            break
        end -= 1
        last = end
    return last


def note_on_totals(
    splitter: Splitter, lines: Sequence[str], last: int, rows: Sequence[Record]
) -> tuple[str, ...]:
    """Return a note if the last row seems to sum up the others."""
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    try:
        records = list(splitter.records(lines[last - 1 : last], last, ""))
    except InputError:
        return ()
    cells = records[0].cells if records else []
    names = [cell.strip() for cell in cells if re.fullmatch(TOTAL, cell.strip().rstrip(":"))]
    is_first = not rows or rows[0].line >= last
    if not names or is_first or any(names[0] in row.cells for row in rows if row.line < last):
        return ()
    return (f"line {last:,} is read as a row; delete it if {names[0]!r} sums up the others",)


def note_on_turning(rows: Sequence[Record], width: int) -> tuple[str, ...]:
    """Return a note if each of a few rows without names begins with what seems to be its name."""
    cells = [row.cells for row in rows]
    if not 2 <= len(cells) < width or any(len(row) != width for row in cells):
        return ()
    first = [row[0].strip() for row in cells]
    of_numbers = [is_numbers(row[1:]) for row in cells]
    are_names = len(set(first)) == len(first) and not any(is_numbers([name]) for name in first)
    if not are_names or not any(of_numbers):
        return ()
    return ("each row seems to be a variable, whose name is first: if so, transpose the table",)


def _is_first_alone(cells: Sequence[str]) -> bool:
    return bool(cells) and bool(cells[0].strip()) and not any(cell.strip() for cell in cells[1:])
