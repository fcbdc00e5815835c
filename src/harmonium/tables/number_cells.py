"""Columns of numbers in text: thousands, decimal commas, currencies, units, marks of footnotes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import count_of
from .base import MOST_DIGITS
from .dates import is_date
from .discrete import FEW_NUMBERS
from .frames import CellKind, RawColumn
from .number_forms import (
    ADDRESS,
    DOTTED,
    GROUPED,
    LABEL,
    PLAIN,
    THREE,
    TRUE_MINUS,
    Notation,
    NumberForm,
    count_matches,
    matches,
    number_of_parts,
    parts_of_number,
)
from .readings import Reading, fetched, note_on_sentinels, row_of

MOST_SIGNS = 40  # pairs of signs before and after numbers that are looked at
FLAGS_AS_MARKS = "update seen set p = struct_update(p, mark := trim(p.unit), unit := '')"
BOUND = "p.bound <> '' or p.tail <> ''"  # <5, 90+, and 5- with its minus behind
WITH_EXPONENT = r"\d[eE][+-]?\d"


class Signs(NamedTuple):
    """The signs around the numbers of a column.

    Attributes:
        before, after: how often each stands before and after a number.
        numbers: how many cells are numbers.
        bare: how many of these have no sign before or after them.
        in_parentheses, with_tail, with_bound, with_mark: how many of these are written (5), 5-,
            <5 or 90+, and 5*.
        minus: a minus sign that is no hyphen, or "".
    """

    before: Counter[str]
    after: Counter[str]
    numbers: int
    bare: int
    in_parentheses: int
    with_tail: int
    with_bound: int
    with_mark: int
    minus: str

    @classmethod
    def of(cls, connection: Any) -> Signs:
        """Return the signs of the table `seen`, after `_divide`."""
        rows = connection.execute(
            "select p.before, p.unit, count(*) as n, count_if(p.closing = ')'),"
            " count_if(p.tail = '-'), count_if(p.bound <> '' or p.tail = '+'),"
            f" count_if(p.mark <> ''), max(regexp_extract(cell, '{TRUE_MINUS}'))"
            " from seen where bare is not null group by 1, 2 order by n desc, 1, 2"
            f" limit {MOST_SIGNS}"
        ).fetchall()
        if not rows:
            return cls(Counter(), Counter(), 0, 0, 0, 0, 0, 0, "")
        signs, units, counts, in_parentheses, with_tail, with_bound, with_mark, minus = zip(
            *rows, strict=True
        )
        before: Counter[str] = Counter()
        after: Counter[str] = Counter()
        bare = 0
        for sign, unit, count in zip(signs, units, counts, strict=True):
            before[sign] += count
            after[unit] += count
            if not (sign + unit).strip():
                bare += count
        return cls(
            before=before,
            after=after,
            numbers=sum(counts),
            bare=bare,
            in_parentheses=sum(in_parentheses),
            with_tail=sum(with_tail),
            with_bound=sum(with_bound),
            with_mark=sum(with_mark),
            minus=max(minus),
        )

    @property
    def several(self) -> list[str]:
        """The units, if there are several: numbers of different units cannot be compared."""
        for signs in (self.before, self.after):
            different = {_unit(sign): sign.strip() for sign in signs if sign.strip()}
            if len(different) > 1:
                return list(different.values())
        return []

    @property
    def are_flags(self) -> bool:
        """Whether what stands after some numbers are Eurostat's flags, as p for provisional.

        Two or more, all single letters after a blank; seconds and days have no p, b or e.
        """
        units = {sign for sign in self.after if sign.strip()}
        letters = {unit.strip() for unit in units}
        is_spaced = all(re.fullmatch(r"\s[bcdefinprsuz]{1,2}", unit) for unit in units)
        return self.bare > 0 and len(letters) > 1 and is_spaced and bool(letters & {"p", "b", "e"})

    @property
    def usual(self) -> tuple[str, str]:
        """The signs before and after most numbers."""
        return _usual(self.before), _usual(self.after)


def _unit(sign: str) -> str:
    """Return a unit in a form in which "day" and "days" are the same."""
    bare = sign.strip().removesuffix(".")
    return bare.removesuffix("s") if len(bare) > 2 else bare


def _usual(signs: Counter[str]) -> str:
    return signs.most_common(1)[0][0] if signs else ""


def numbers_readings(
    connection: Any,
    name: str,
    notations: tuple[Notation, ...],
    *,
    has_dots: bool,
    is_known: bool,
) -> tuple[list[Reading], str]:
    """Return the column of the table `seen` as numbers, if it is one, or why it is none.

    Args:
        connection: to DuckDB.
        name: of the column.
        notations: those that are tried.
        has_dots: whether a dot before three digits marks thousands.
        is_known: whether the column is known to be one of numbers.
    """
    _divide(connection)
    signs = Signs.of(connection)
    if not signs.numbers:
        return [], ""
    if signs.are_flags:
        connection.execute(FLAGS_AS_MARKS)
        signs = Signs.of(connection)
    if signs.several and 2 * signs.bare <= signs.numbers:
        units = " and ".join(map(repr, signs.several[:2]))
        return [], f"read as words: numbers beside different signs, such as {units}"
    doubts = _doubts(connection, signs, is_known)
    if doubts:
        where = " or ".join(f"({doubt})" for doubt in doubts)
        connection.execute(f"update seen set bare = null where {where}")
        signs = Signs.of(connection)
    numbers, labels, addresses = row_of(
        connection, f"count(bare), {count_matches('bare', LABEL)}, {count_matches('bare', ADDRESS)}"
    )
    if labels or not numbers or addresses == numbers:
        return [], ""
    if has_dots:
        notations = (DOTTED, *notations)
    notation, fits = _best_notation(connection, notations, numbers)
    if notation is None:
        return [], ""
    form = _form(connection, signs, notation)
    value = notation.number("bare")

    def column(values: np.ndarray) -> RawColumn:
        notes = _notes(connection, signs, form)
        notes.append(note_on_marks(connection, "bare", fits, notation))
        notes.append(note_on_sentinels(values))
        return RawColumn(name, values, form.text, "; ".join(filter(None, notes)))

    return [Reading(value, fits, "numbers", "number", column)], ""


def _divide(connection: Any) -> None:
    """Add to the table `seen` the parts p of each number, and the bare number."""
    connection.execute(
        f"create or replace table seen as select cell, p, {number_of_parts('p')} as bare"
        f" from (select cell, {parts_of_number('cell')} as p from seen)"
    )


def _doubts(connection: Any, signs: Signs, is_known: bool) -> list[str]:
    """Return the conditions under which cells are no numbers, though they look like some."""
    doubts = []
    if signs.several:  # numbers without a sign, but for some
        doubts.append("trim(p.before) <> '' or trim(p.unit) <> ''")
    if signs.in_parentheses == signs.numbers:
        doubts.append("p.closing = ')'")  # (1), (2): a list, and no negative numbers
    if signs.with_tail == signs.numbers:
        doubts.append("p.tail = '-'")
    if 2 * signs.with_mark > signs.numbers:
        doubts.append("regexp_matches(p.mark, '[¹²³⁴-⁹]')")  # 10³ is a power
    different = row_of(connection, "count(distinct bare)")[0]
    # Few numbers and "3+" are categories, and nothing is lost if they stay so.
    if different <= FEW_NUMBERS and not is_known:
        doubts.append(BOUND)
    with_letters = sum(n for unit, n in signs.after.items() if unit.strip()[:1].isalpha())
    is_apart = all(unit[:1].isspace() for unit in signs.after if unit.strip()[:1].isalpha())
    # 12 and 12b are numbers of houses, where most have no letter.
    if with_letters and not is_apart and 2 * with_letters < signs.numbers:
        doubts.append("regexp_matches(p.unit, '^\\pL')")
    return doubts


def _best_notation(
    connection: Any, notations: tuple[Notation, ...], numbers: int
) -> tuple[Notation | None, int]:
    """Return the first notation that all numbers fit, or that which most fit, and their count."""
    counts = row_of(connection, ", ".join(notation.fits("bare") for notation in notations))
    best = None
    most = 0
    for notation, fits, decides in zip(notations, counts[::2], counts[1::2], strict=True):
        if fits > most and (decides or not notation.decisive):
            best = notation
            most = fits
        if most == numbers:
            break
    return best, most


def _form(connection: Any, signs: Signs, notation: Notation) -> NumberForm:
    """Return how most numbers stand."""
    before, after = signs.usual
    group = ""
    if notation.removed:
        marks = f"select {notation.group('bare')} as g from seen where bare is not null"
        row = connection.execute(
            f"select g from ({marks}) where g <> '' group by g order by count(*) desc, g limit 1"
        ).fetchone()
        group = row[0] if row else ""
    negative = "-#"
    if signs.in_parentheses:
        negative = "(#)"
    elif signs.with_tail:
        negative = "#-"
    elif signs.minus:
        negative = f"{signs.minus}#"
    has_comma = notation.is_comma
    if has_comma and not notation.removed:  # a notation with points too
        commas, points = row_of(
            connection, "count_if(contains(bare, ',')), count_if(contains(bare, '.'))"
        )
        has_comma = commas >= points
    return NumberForm(before, after, group, has_comma, negative)


def _notes(connection: Any, signs: Signs, form: NumberForm) -> list[str]:
    """Return notes on signs that are lost, or that only some cells have."""
    lost = (
        (signs.with_bound, "p.bound <> '' or p.tail = '+'", "read as the number itself"),
        (signs.with_mark, "p.mark <> ''", "read without the mark"),
    )
    notes = []
    for count, condition, text in lost:
        if not count:
            continue
        example = connection.execute(
            f"select cell from seen where bare is not null and ({condition}) limit 1"
        ).fetchone()
        if example:
            notes.append(f"{example[0]!r} and such ({count_of(count, 'cell')}) {text}")
    for around in (signs.before, signs.after):
        signed = sum(n for sign, n in around.items() if sign.strip())
        if signed and signed < signs.numbers:
            sign = next(sign.strip() for sign in around if sign.strip())
            notes.append(f"{sign!r} in {signed:,} of {signs.numbers:,} cells makes no difference")
    return notes


def plain_numbers(connection: Any, name: str, seen: int) -> RawColumn:
    """Return a column of numbers without any other sign."""
    values = fetched(connection, PLAIN.number("cell"))
    known = values[np.isfinite(values)]
    note = ""
    if (known != np.floor(known)).any():
        note = note_on_marks(connection, "cell", seen, PLAIN)
    return RawColumn(name, values, note=note or note_on_sentinels(values))


def note_on_marks(connection: Any, cell: str, seen: int, notation: Notation) -> str:
    """Return a warning if a point or comma before three digits may as well mean something else.

    So it is if three digits follow each, and some numbers have none, or all have a comma.
    """
    mark = "," if notation.is_comma or notation is GROUPED else "."
    three = THREE.replace(r"\.", rf"\{mark}")
    whole = r"[+-]?\d+"
    with_three, without, example = row_of(
        connection,
        f"{count_matches(cell, three)}, {count_matches(cell, whole)},"
        f" any_value({cell}) filter ({matches(cell, three)})",
    )
    if not with_three or with_three + without < seen or not (without or mark == ","):
        return ""
    whole = example.replace(mark, "")
    if notation is GROUPED:
        return f"{example} is read as {whole}, as numbers without a comma are below 1000"
    if mark == ".":
        return f"{example} is read with a decimal point; if it means {whole}, remove the dots"
    if notation.removed == ".":
        return f"{example} is read with a decimal comma; if it means {whole}, remove the commas"
    return ""


def with_digits(connection: Any, columns: Sequence[RawColumn]) -> list[RawColumn]:
    """Return the columns of the table `cells` of texts with the digits that their numbers have.

    Args:
        connection: to DuckDB.
        columns: what the columns c0, c1, … of the table were read as.
    """
    digits = (_digits_in(connection, f"c{i}", raw) for i, raw in enumerate(columns))
    return [replace(raw, digits=count) for raw, count in zip(columns, digits, strict=True)]


def _digits_in(connection: Any, cell: str, raw: RawColumn) -> int | None:
    """Return the digits after the point that all numbers of a column have; None if they differ."""
    # The numbers of a form such as "%H:%M" are times of day.
    if raw.cell_kind is not CellKind.NUMBERS or is_date(raw.form) or raw.is_missing.all():
        return None
    mark = "," if "," in raw.form else "."
    fewest, most, exponents = connection.execute(
        f"select min(length(digits)), max(length(digits)), count_if(is_exponent) from ("
        f"select regexp_extract({cell}, '[{mark}](\\d+)\\D*$', 1) as digits,"
        f" regexp_matches({cell}, '{WITH_EXPONENT}') as is_exponent"
        f" from cells where regexp_matches({cell}, '\\d'))"
    ).fetchone()
    if fewest is None or fewest != most or exponents or most > MOST_DIGITS:
        return None
    known = raw.known
    # A number with a note after it would otherwise count the digits of the note.
    is_rounded = np.allclose(known, np.round(known, most), rtol=1e-12, atol=10.0 ** -(most + 3))
    return int(most) if is_rounded else None
