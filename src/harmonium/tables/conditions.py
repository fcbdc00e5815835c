"""Conditions on a row, given by a user: known cells, and ranges of numbers and dates.

Conditions are written as "sex=female,age=30..40"; names and values may be quoted: "a, b"=yes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from .base import AbstractColumn
from .frames import Frame, RawColumn

# Text in double or single quotes, which are doubled within the text, at the end of a name or value.
QUOTED = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*')(?=\s*(?:[=,|]|\.\.|$))""")
SIGNS = "=,|"


class Range(NamedTuple):
    """A closed range of a column's cells; `low` or `high` is None if there is no such limit."""

    name: str
    low: Any
    high: Any


class Conditions(NamedTuple):
    """Conditions on a row: known cells, and ranges for other cells.

    Attributes:
        cells: a table of one row with the known cells; it has no columns if no cell is known.
        ranges: the ranges of other cells.
    """

    cells: Frame
    ranges: tuple[Range, ...]

    def hold_for(self, frame: Frame) -> np.ndarray:
        """Return a mask of the rows of a table that lie within all ranges."""
        values = {column.name: column.values for column in frame.columns}
        is_inside = np.ones(len(frame), bool)
        for name, low, high in self.ranges:
            if low is not None:
                is_inside &= values[name] >= low
            if high is not None:
                is_inside &= values[name] <= high
        return is_inside


def parsed_conditions(text: str, known: dict[str, AbstractColumn], label: str) -> Conditions:
    """Parse conditions such as "sex=female,age=30..40".

    Args:
        text: NAME=VALUE or NAME=LOW..HIGH, separated by commas; one end of a range may be omitted.
            Names and values may be in quotes.
        known: the columns by name.
        label: the name of the text in error messages.

    Raises:
        InputError: a part is invalid, a name is unknown, or a value is invalid for its column.
    """
    cells: list[RawColumn] = []
    ranges: list[Range] = []
    for part in _parts_of(text):
        first, *others = split_outside(part, "=")
        name = unquoted(first)
        value = "=".join(others).strip()
        if not others or name not in known:
            expected = f"NAME=VALUE with a name among {', '.join(known)}"[:300]
            advice = meant_in_quotes(name, known, meant(name, known, "name a column"))
            if re.search(r"[<>]", part):
                advice = "write a range as age=40.. or age=..40"
            raise InputError(f"{label}: expected {expected}; got {part!r}; {advice}.")
        column = known[name]
        try:
            cells.append(column.parsed(unquoted(value)))
        except ValueError:
            ends = [unquoted(end) for end in split_outside(value, "..")]
            # A value in quotes is a cell, whatever it contains.
            if len(ends) != 2 or not any(ends) or is_quoted(value):
                raise _misfit(value, column, label) from None
            low, high = (_end_of(end, column, value, label) for end in ends)
            ranges.append(Range(name, low, high))
    if not cells and not ranges:
        raise InputError(f"{label}: expected conditions such as sex=female; got none.")
    return Conditions(Frame(tuple(cells)), tuple(ranges))


def _parts_of(text: str) -> list[str]:
    """Split conditions at commas; a piece without "=" belongs to the previous condition."""
    parts: list[str] = []
    for piece in filter(str.strip, split_outside(text, ",")):
        if len(split_outside(piece, "=")) > 1 or not parts:
            parts.append(piece.strip())
        else:
            parts[-1] += f",{piece.rstrip()}"
    return parts


def _end_of(text: str, column: AbstractColumn, value: str, label: str) -> Any:
    """Parse one end of a range, or return None if the range is unbounded at this end."""
    if not text:
        return None
    try:
        end = column.parsed(text).values[0]
    except ValueError:
        raise _misfit(value, column, label) from None
    if isinstance(end, str):
        raise InputError(
            f"{label}: expected a range of numbers or dates; got {value!r} for {column.name!r};"
            " give a single value."
        )
    return end


def _misfit(value: str, column: AbstractColumn, label: str) -> InputError:
    cells = column.known_cells
    if not cells:
        return InputError(
            f"{label}: expected a value written as in the table, or a range such as 30..40;"
            f" got {value!r} for {column.name!r}."
        )
    advice = "correct it"
    if "=" in value or re.search(r"\band\b", value, re.IGNORECASE):
        advice = "separate conditions by commas"
    expected = f"one of: {', '.join(cells)}"[:200]
    return InputError(
        f"{label}: expected {expected}; got {value!r} for {column.name!r};"
        f" {meant(value, cells, advice)}."
    )


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return advice that suggests a known name similar to `name`, or `otherwise` if none is."""
    close = difflib.get_close_matches(name, list(known), n=1)
    if close:
        return f"perhaps you mean {close[0]}"
    return otherwise


def meant_in_quotes(piece: str, names: Iterable[str], otherwise: str) -> str:
    """Return advice to quote a name that begins with `piece`, or `otherwise` if none does."""
    for name in names:
        if re.search(r"[=,|]", name) and name.startswith(piece.strip("\"' ")):
            return f"""write it in quotes: '"{name[:80]}"'"""
    return otherwise


def split_outside(text: str, mark: str) -> list[str]:
    """Split a text at each occurrence of a separator outside quotes.

    Quotes are recognised only at the beginning of a name or a value, so that apostrophes and inch
    marks are preserved.
    """
    pieces: list[str] = []
    begin = 0
    place = 0
    is_beginning = True
    while place < len(text):
        quoted = None
        if is_beginning:
            quoted = QUOTED.match(text, place)
        if quoted is not None:
            place = quoted.end()
            is_beginning = False
        elif text.startswith(mark, place):
            pieces.append(text[begin:place])
            place += len(mark)
            begin = place
            is_beginning = True
        else:
            sign = text[place]
            is_beginning = sign in SIGNS or (is_beginning and sign.isspace())
            place += 1
    return [*pieces, text[begin:]]


def is_quoted(text: str) -> bool:
    """Return whether a text is a quoted name or value."""
    return QUOTED.fullmatch(text.strip()) is not None


def unquoted(text: str) -> str:
    """Return a name or value without surrounding blanks and quotes."""
    bare = text.strip()
    if not is_quoted(bare):
        return bare
    quote = bare[0]
    return bare[1:-1].replace(2 * quote, quote)
