"""Possible readings of a text column, and the cells that match none, as missing or as errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import count_of
from .frames import CellKind, RawColumn, with_gaps

MISSING = (  # words for a missing cell, in addition to an empty one, ignoring case
    *("?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", r"\n"),
)
AMONG_VALUES = (  # more such words among numbers and dates, but categories in columns of words
    *("unknown", "unk", "missing", "not available", "not applicable", "not known", "not reported"),
    *("not recorded", "not measured", "not stated", "not given", "not specified", "no data"),
    *("unspecified", "undefined", "undetermined", "unavailable", "blank", "empty", "nil"),
    *("n.a.", "n.a", "n. a.", "n/d", "n.d.", "nd", "s/d", "k.a.", "k. a.", "tbd", "tba", "(null)"),
    *("(blank)", "(empty)", "(missing)", "(unknown)", "not a number", "missing value", "nat"),
    *("#n/a n/a", "-nan", "1.#qnan", "-1.#qnan", "1.#ind", "-1.#ind", "nan(ind)", "-nan(ind)"),
)
NO_SIGN = r"[^\w\s]+"  # a cell without a letter or a digit is no value: .. -- *** —
SPREADSHEET = r"#(?:div/0!|n/?a!?|value!|ref!|num!|name\?|null!|spill!|calc!|field!|error!)"
OF_PROGRAM = r"\.[a-z_]|:(?: [a-z]{1,3})?"  # SAS and Stata write .a, Eurostat : and a flag
IN_BRACKETS = r"[\[(<{]{1,2}[^\W\d][^\d\[\](){}<>]*[\])>}]{1,2}"  # [REDACTED], <no value>
NO_DAY = r"(?:0000|9999|0001)[-/.]\d\d?[-/.]\d\d?.*|\d\d?[-/.]\d\d?[-/.](?:0000|9999|0001).*"
NAMED = "|".join(map(re.escape, (*MISSING, *AMONG_VALUES)))
GAP = re.compile(f"{NO_SIGN}|{SPREADSHEET}|{NO_DAY}|{OF_PROGRAM}|{IN_BRACKETS}|{NAMED}")
IN_ERROR = 0.01  # maximum fraction of cells that are treated as typing errors
WORDS_SHOWN = 3
NINES = re.compile(r"-?9{2,}(\.9+)?|-9")  # -999 and its like
MOST_SENTINELS = 3  # different ones: unknown, refused, does not apply
SHOWN = 40  # characters of a cell in a message
NEARLY = 0.9  # fraction of cells with one of two forms that triggers a note
MOST_WORDS = 50  # maximum number of different cells of another type to examine


class Misfits(NamedTuple):
    """The cells of a column that do not have the type of most cells.

    Attributes:
        words: the most frequent of these cells, and how often each occurs.
        total: the number of these cells.
        seen: the number of non-empty cells in the column.
    """

    words: dict[str, int]
    total: int
    seen: int

    @property
    def note(self) -> str:
        """The note for the user if these cells are read as missing."""
        if not self.total:
            return ""
        shown = list(self.words.items())[:WORDS_SHOWN]
        named = ", ".join(f"{word[:SHOWN]!r} ({count_of(n, 'cell')})" for word, n in shown)
        others = self.total - sum(n for _, n in shown)
        if others:
            named += f" and {count_of(others, 'other cell')}"
        return f"read as missing: {named}"

    def are_gaps(self, *, is_known: bool) -> bool:
        """Return whether these cells count as missing, because of their words or their rarity.

        They must be fewer than half of the column's cells, unless the column's type is known. At
        most one cell in a hundred may have a word that does not denote a missing cell; such words
        are considered typing errors.
        """
        unknown = self.total - sum(n for word, n in self.words.items() if is_gap(word))
        is_minority = 2 * self.total < max(1, self.seen)
        return (is_known or is_minority) and unknown <= IN_ERROR * self.seen

    def reason(self, plural: str, singular: str) -> str:
        """Return the reason why a column is read as words although most cells have another type."""
        if not self.words:
            return ""
        first = next(iter(self.words))
        example = next((word for word in self.words if not is_gap(word)), first)
        if self.total == 1:
            return f"read as words, since {example[:SHOWN]!r} is not a {singular}"
        cells = f"{self.total:,} cells such as {example[:SHOWN]!r}"
        return f"read as words, since {cells} are not {plural} like the others"


def is_gap(word: str) -> bool:
    """Return whether a word in a column of numbers or dates denotes a missing cell."""
    return word == "x" or GAP.fullmatch(word.lower()) is not None  # X is a chromosome


def note_on_sentinels(values: np.ndarray) -> str:
    """Return a warning if up to three repeated numbers, such as -999, are far from all others."""
    seen, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    # At least two numbers must remain, whose distance is the measure of "far".
    for size in range(min(MOST_SENTINELS, len(seen) - 2), 0, -1):
        for sentinels, others in (
            (slice(size), slice(size, None)),
            (slice(-size, None), slice(-size)),
        ):
            apart = seen[sentinels]
            rest = seen[others]
            distance = max(rest[0] - apart[-1], apart[0] - rest[-1])
            texts = [f"{number:.15g}" for number in apart]
            has_nines = any(map(NINES.fullmatch, texts))
            # Sentinels must be farther from the other numbers than the range of these numbers.
            if has_nines and counts[sentinels].min() > 1 and distance > rest[-1] - rest[0]:
                cells = count_of(int(counts[sentinels].sum()), "cell")
                return (
                    f"{' and '.join(texts)} in {cells}, far from all others:"
                    f" give --missing {' '.join(texts)} if that means missing"
                )
    return ""


class Reading(NamedTuple):
    """A possible reading of a column as numbers, times of day or dates, before cells are fetched.

    Attributes:
        value: the SQL expression for the value of a cell, which is null if the cell does not match.
        fits: the number of cells that match.
        plural, singular: the words for the values in messages.
        column: a function that converts the values to a column, or returns None if the values
            together are implausible.
    """

    value: str
    fits: int
    plural: str
    singular: str
    column: Callable[[np.ndarray], RawColumn | None]


def row_of(connection: Any, expressions: str) -> tuple[Any, ...]:
    """Evaluate SQL expressions over the table `seen`, and return the first row of the result."""
    return connection.execute(f"select {expressions} from seen").fetchone()


def fetched(connection: Any, expression: str) -> np.ndarray:
    """Return the values of an SQL expression for all rows of the table `seen`."""
    values = connection.execute(f"select {expression} as it from seen").fetchnumpy()["it"]
    return with_gaps(np.ma.getdata(values), np.ma.getmaskarray(values))


def no_values(name: str, form: str, kind: CellKind) -> Reading:
    """Return a reading of a column of numbers or dates in which no cell has a value."""
    sql_type = "timestamp" if kind is CellKind.DATES else "double"
    column = partial(RawColumn, name, form=form)
    return Reading(f"cast(null as {sql_type})", 0, "values", "value", column)


def _misfits(connection: Any, reading: Reading, seen: int) -> Misfits:
    """Return the cells of a column that do not match a reading."""
    total = seen - reading.fits
    if not total:
        return Misfits({}, 0, seen)
    words = connection.execute(
        "select cell, count(*) as n from seen where cell is not null"
        f" and ({reading.value}) is null group by cell order by n desc, cell limit {MOST_WORDS}"
    ).fetchall()
    return Misfits(dict(words), total, seen)


def with_notes(column: RawColumn, *notes: str) -> RawColumn:
    """Return a column with notes appended to its own note."""
    joined = "; ".join(note for note in (column.note, *notes) if note)
    return replace(column, note=joined)


def best_of(
    connection: Any,
    name: str,
    seen: int,
    readings: list[Reading],
    *,
    note: str = "",
    is_known: bool = False,
) -> RawColumn:
    """Read a column with the reading that most cells match, or as words.

    Cells that do not match become missing if they are words for missing cells, or if there are very
    few of them.

    Args:
        connection: the connection to DuckDB, with the cells in column `cell` of the table `seen`.
        name: the name of the column.
        seen: the number of non-empty cells.
        readings: the readings to try.
        note: the note on the column if it is read as words.
        is_known: whether the column is known not to consist of words.
    """
    ordered = sorted(readings, key=lambda reading: -reading.fits)
    for reading in ordered:
        misfits = _misfits(connection, reading, seen)
        if misfits.are_gaps(is_known=is_known):
            column = reading.column(fetched(connection, reading.value))
            if column is not None:
                return with_notes(column, misfits.note)
            note = note or f"read as words, as it is unclear whether the cells are {reading.plural}"
        elif 2 * reading.fits > seen and not note:
            note = misfits.reason(reading.plural, reading.singular)
    if not note and len(ordered) > 1:
        first, second = ordered[:2]
        if first.fits + second.fits >= NEARLY * seen:
            note = f"read as words, since {first.plural} have two forms; write all in one"
    return RawColumn(name, fetched(connection, "cell"), note=note)
