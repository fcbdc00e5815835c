"""A way to read a column of text, and what is done with the cells that it does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import count_of
from .frames import RawColumn, with_gaps

MISSING = (  # what stands for a missing cell, besides an empty one; upper and lower case alike
    *("?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", r"\n"),
)
AMONG_VALUES = (  # these too among numbers and dates; in columns of words they are categories
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
IN_ERROR = 0.01  # share of cells that may be errors of writing; more of them mean something
WORDS_SHOWN = 3
NINES = re.compile(r"-?9{2,}(\.9+)?|-9")  # -999 and its like
MOST_SENTINELS = 3  # different ones: unknown, refused, does not apply
SHOWN = 40  # characters of a cell in a message
NEARLY = 0.9  # of the cells have one of two forms, if that is said
MOST_WORDS = 50  # different cells of another kind that are looked at


class Odd(NamedTuple):
    """The cells of a column that are not of the kind of the others.

    Attributes:
        words: the most frequent ones, and how often each occurs.
        total: the number of such cells.
        seen: the number of all cells that are not empty.
    """

    words: dict[str, int]
    total: int
    seen: int

    @property
    def note(self) -> str:
        """What is to be said if they are read as missing."""
        if not self.total:
            return ""
        shown = list(self.words.items())[:WORDS_SHOWN]
        named = ", ".join(f"{word[:SHOWN]!r} ({count_of(n, 'cell')})" for word, n in shown)
        more = self.total - sum(n for _, n in shown)
        others = f" and {count_of(more, 'other cell')}" if more else ""
        return f"read as missing: {named}{others}"

    def are_gaps(self, *, is_known: bool) -> bool:
        """Return whether they stand for missing cells: by their words, or because they are few.

        Words for a missing cell may be up to half of the cells, or all if the kind of the column
        is known; of others, one in a hundred is taken for an error of writing. A column of a
        hundred cells loses at most one in this way.
        """
        unknown = self.total - sum(n for word, n in self.words.items() if is_gap(word))
        is_minority = 2 * self.total < max(1, self.seen)
        return (is_known or is_minority) and unknown <= IN_ERROR * self.seen

    def reason(self, plural: str, singular: str) -> str:
        """Return why a column of cells that are nearly all of a kind is read as words."""
        if not self.words:
            return ""
        example = next((word for word in self.words if not is_gap(word)), next(iter(self.words)))
        if self.total == 1:
            return f"read as words, since {example[:SHOWN]!r} is no {singular}"
        cells = f"{self.total:,} cells such as {example[:SHOWN]!r}"
        return f"read as words: {plural}, but for {cells}"


def is_gap(word: str) -> bool:
    """Return whether a word among numbers or dates stands for a missing cell."""
    return word == "x" or GAP.fullmatch(word.lower()) is not None  # X is a chromosome


def note_on_sentinels(values: np.ndarray) -> str:
    """Return a warning if up to three numbers, one all nines, are repeated far from all others."""
    seen, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    for size in range(min(MOST_SENTINELS, len(seen) - 2), 0, -1):
        for ends, rest in ((slice(size), seen[size:]), (slice(-size, None), seen[:-size])):
            apart = seen[ends]
            distance = max(rest[0] - apart[-1], apart[0] - rest[-1])
            has_nines = any(NINES.fullmatch(f"{number:.15g}") for number in apart)
            # Numbers farther from the others than these are from each other are no part of them.
            if has_nines and counts[ends].min() > 1 and distance > rest[-1] - rest[0]:
                shown = " and ".join(f"{number:.15g}" for number in apart)
                cells = count_of(int(counts[ends].sum()), "cell")
                words = " ".join(f"{number:.15g}" for number in apart)
                advice = f"give --missing {words} if that means missing"
                return f"{shown} in {cells}, far from all others: {advice}"
    return ""


class Reading(NamedTuple):
    """A column read as numbers, times of day or dates, before its cells are fetched.

    Attributes:
        value: the SQL for a cell's value, null where the cell is none.
        fits: how many cells have a value.
        plural, singular: what the values are, in messages.
        column: makes the column of the values; None if they are not plausible together.
    """

    value: str
    fits: int
    plural: str
    singular: str
    column: Callable[[np.ndarray], RawColumn | None]


def fetched(connection: Any, expression: str) -> np.ndarray:
    """Return the values of an SQL expression over the table `seen`."""
    values = connection.execute(f"select {expression} as it from seen").fetchnumpy()["it"]
    return with_gaps(np.ma.getdata(values), np.ma.getmaskarray(values))


def nothing(name: str, form: str, kind: str) -> Reading:
    """Return the column as numbers or dates of which none is there."""
    value = "cast(null as timestamp)" if kind == "M" else "cast(null as double)"
    return Reading(value, 0, "values", "value", lambda values: RawColumn(name, values, form))


def odd_cells(connection: Any, cell: str, reading: Reading, seen: int) -> Odd:
    """Return the cells of a column that a reading does not fit."""
    total = seen - reading.fits
    if not total:
        return Odd({}, 0, seen)
    words = connection.execute(
        f"select {cell}, count(*) as n from seen where {cell} is not null"
        f" and ({reading.value}) is null group by {cell} order by n desc, {cell} limit {MOST_WORDS}"
    ).fetchall()
    return Odd(dict(words), total, seen)


def with_notes(column: RawColumn, *notes: str) -> RawColumn:
    """Return a column with notes after its own."""
    joined = "; ".join(note for note in (column.note, *notes) if note)
    return replace(column, note=joined)


def best_of(
    connection: Any,
    cell: str,
    name: str,
    seen: int,
    readings: list[Reading],
    *,
    note: str = "",
    is_known: bool = False,
) -> RawColumn:
    """Return the column by the reading that fits most cells, or as words.

    The others are missing cells, if they are words for that or hardly any.

    Args:
        connection: to DuckDB, with the table `seen`.
        cell: the column of this table.
        name: of the column.
        seen: how many cells are not empty.
        readings: those that are tried.
        note: what is said of a column of words.
        is_known: whether the column was none of words before.
    """
    ordered = sorted(readings, key=lambda one: -one.fits)
    for reading in ordered:
        odd = odd_cells(connection, cell, reading, seen)
        if odd.are_gaps(is_known=is_known):
            column = reading.column(fetched(connection, reading.value))
            if column is not None:
                return with_notes(column, odd.note)
            note = note or f"read as words, as it is not sure that they are {reading.plural}"
        elif 2 * reading.fits > seen and not note:
            note = odd.reason(reading.plural, reading.singular)
    if not note and len(ordered) > 1 and sum(r.fits for r in ordered[:2]) >= NEARLY * seen:
        note = f"read as words: {ordered[0].plural} of two forms; write them in one"
    return RawColumn(name, fetched(connection, cell), note=note)
