"""Numbers and times of day in text: their formats, and columns of numbers.

A format (`form`) is "#" for the number, with the text around it: "$#", "# kg". After the "#", the
thousands separator is given by ",##0" or ".##0", and a decimal comma by ",". The notation of
negative numbers, if they have no hyphen, follows a ";": "$#;(#)". Times of day have the same
formats as dates: "%H:%M".

A `Notation` describes numbers before their format is known: a pattern that all cells of a column
may match, with SQL expressions that count and read the cells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import count_of
from .frames import CellKind, RawColumn
from .readings import Reading, fetched, note_on_sentinels, row_of

HYPHEN = "-#"
FORM = re.compile(r"(?P<before>[^#]*)#(?:(?P<group>.)##0)?(?P<comma>,?)(?P<after>.*)", re.DOTALL)
# Hours and minutes, seconds with a fraction, and a or p for the halves of a day.
CLOCK = re.compile(r"(\d{1,3})(?::([0-5]?\d))?(?::([0-5]?\d(?:[.,]\d+)?))?\s?([ap])?\.?m?\.?")
MINUTES = 60  # per hour, and seconds per minute
HALF_DAY = 12  # hours
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?((?i:inf(inity)?)|∞)"
ADDRESS = r"(1?\d?\d|2[0-4]\d|25[0-5])(\.(1?\d?\d|2[0-4]\d|25[0-5])){3}"  # 192.168.100.101
COMMA = r"[+-]?\d*,\d+([eE][+-]?\d+)?"
CONTINENTAL = r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?"  # 1.234,5
THREE = r"[+-]?[1-9]\d{0,2}\.\d{3}"  # 1.234, which may be 1234
ENGLISH = r"[+-]?\d{1,3}(,\d{2,3})*,\d{3}(\.\d+)?"  # 1,234.5, or 1,23,456 in India
SPACES = " \u00a0\u202f\u2009'’_"  # thousands separators: 1 234,5 or 1'234.5
SPACED = rf"[+-]?\d{{1,3}}([{SPACES}]\d{{3}})+"
# A comma that is not a thousands separator; three digits may follow one that is.
WITH_COMMA = r"([^\d,.]{0,5})??(\d{1,3}(\.\d{3})+,\d+|\d+,(\d\d?|\d{4,})|0,\d+)(\D.{0,4})??"
WITH_POINT = r"[+-]?(\d{1,3}(,\d{3})+\.\d+|\d+\.(\d\d?|\d{4,})|0\.\d+)"  # the same for a point
LABEL = r"[+-]?0\d+|[+-]?\d{16,}|\+\d{7,}"  # digits that are names: 00501, card and phone numbers

# Full-width signs and the minus signs of word processors, and the plain signs in the same order.
OTHER_SIGNS = "０１２３４５６７８９．，％＋−–‐‑﹣－"
PLAIN_SIGNS = "0123456789.,%+------"
TRUE_MINUS = "[−–‐‑﹣－]"
CODES = (
    *("USD", "EUR", "GBP", "CHF", "JPY", "CNY", "RMB", "INR", "AUD", "CAD", "NZD", "SEK", "NOK"),
    *("DKK", "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "KRW", "SGD", "HKD", "TRY", "RUB", "ILS"),
    *(r"Rs\.?", r"kr\.?", "R", "Fr\\.?"),
)
CURRENCY = rf"[A-Za-z]{{0,3}}\p{{Sc}}|{'|'.join(CODES)}"
BLANK = "[ \t\u00a0\u202f\u2009]"
WORD = r"[\p{L}\p{Sc}%‰°µ][\p{L}\p{Sc}%‰°µ']*[23²³]?"  # kg, m2, %, °C
# kg/m2, US $, years of age, /100; inches and minutes with nothing after them: 4" pipe is a word.
UNIT = rf"""{BLANK}?(?:{WORD}\.?(?:[ /·]{WORD}\.?){{0,3}}|['"′″]{{1,2}}|/ ?(?:5|[1-9]0|1000?))"""
MARK = rf"{BLANK}?(?:\*{{1,4}}|[†‡§¶]+|[¹²³⁴-⁹]|\[[^\]]{{1,8}}\]|\([a-z]\))"  # of a footnote
EXPONENT = r"[eE][+-]?\d+|[dD][+-]\d{2,3}"  # Fortran writes D for double precision
DIGITS = rf"(?i:inf(?:inity)?)|∞|\d(?:[\d.,{SPACES}]*[\d.])?(?:{EXPONENT})?|[.,]\d+(?:{EXPONENT})?"
PARTS = (
    *("opening", "bound", "minus", "before", "sign", "digits", "unit", "mark", "closing", "tail"),
)
SIGNED = (
    rf"^([(]?)((?:[<>≤≥~≈]=?{BLANK}?|(?i:ca|circa|approx|about)\.?{BLANK})?)([+-]?){BLANK}?((?:(?:{CURRENCY}){BLANK}?|')?)([+(-]?)"
    rf"({DIGITS})((?:{UNIT})?)((?:{MARK})?)([)]?)([+-]?)$"
)
MOST_SIGNS = 40  # pairs of signs before and after numbers to examine
FLAGS_AS_MARKS = "update seen set p = struct_update(p, mark := trim(p.unit), unit := '')"
BOUND = "p.bound <> '' or p.tail <> ''"  # cells such as <5, 90+ and 5-
WITH_EXPONENT = r"\d[eE][+-]?\d"
FEW_NUMBERS = 20  # up to this many different numbers, each is a separate state
MOST_DIGITS = 15  # digits after the point that float64 can represent below 1


class NumberForm(NamedTuple):
    """The format in which the numbers of a column are written.

    Attributes:
        before, after: the symbols before and after all numbers, such as a currency or a unit.
        group: the thousands separator, or "" if there is none.
        has_comma: whether the decimal mark is a comma.
        negative: the notation of negative numbers: "-#", "(#)", "−#" or "#-", with "#" for the
            positive number.
    """

    before: str = ""
    after: str = ""
    group: str = ""
    has_comma: bool = False
    negative: str = HYPHEN

    @classmethod
    def of(cls, form: str) -> NumberForm:
        """Parse a format that is given as text."""
        positive, _, negative = form.partition(";")
        parts = FORM.fullmatch(positive)
        negative = negative if "#" in negative else HYPHEN
        if parts is None:
            return cls(has_comma=positive == ",", negative=negative)
        group = parts["group"] or ""
        return cls(parts["before"], parts["after"], group, bool(parts["comma"]), negative)

    @property
    def text(self) -> str:
        """The format as text: "" for plain numbers, or "," for those with a decimal comma."""
        group = f"{self.group}##0" * bool(self.group)
        comma = "," * self.has_comma
        negative = f";{self.negative}" * (self.negative != HYPHEN)
        positive = f"{self.before}#{group}{comma}{self.after}"
        if not (self.before or self.after or group or negative):
            return comma
        return positive + negative

    def dressed(self, number: str) -> str:
        """Return a number such as "-1234.5" in this format."""
        digits = number.removeprefix("-")
        whole, point, decimals = digits.partition(".")
        if self.group and whole.isdecimal():
            whole = f"{int(whole):,}".replace(",", self.group)
        if self.has_comma:
            point = point.replace(".", ",")
        positive = f"{self.before}{whole}{point}{decimals}{self.after}"
        if number.startswith("-"):
            return self.negative.replace("#", positive, 1)
        return positive

    def number(self, text: str) -> float:
        """Parse a number written in this format or as a plain number.

        Raises:
            ValueError: the text is not a number.
        """
        opening, _, closing = self.negative.partition("#")
        is_marked = text.startswith(opening) and text.endswith(closing)
        is_negative = self.negative != HYPHEN and is_marked
        if is_negative:
            text = text[len(opening) : len(text) - len(closing)]
        minus = "-" * text.startswith(("-", "−"))
        bare = text[len(minus) :].strip()
        bare = bare.removeprefix(self.before.strip()).removesuffix(self.after.strip()).strip()
        if self.group and self.group in bare:
            bare = bare.replace(self.group, "").replace(" ", "")
        if self.has_comma:
            bare = bare.replace(",", ".")
        value = float(minus + bare)
        if is_negative:
            return -value
        return value


def is_clock(form: str) -> bool:
    """Return whether the format of a column of numbers is for times of day."""
    return "#" not in form and ("%H" in form or "%I" in form or "%-" in form)


def dressed(number: str, form: str) -> str:
    """Return a number such as "-1234.5" in the format of its column."""
    if is_clock(form):
        return _clock_text(float(number), form)
    return NumberForm.of(form).dressed(number)


def is_number(text: str) -> bool:
    """Return whether a text is a number in the usual notation: 12, -1.5, 1e-3, inf."""
    return re.fullmatch(NUMBER, text) is not None


def number_in(text: str, form: str) -> float:
    """Parse a number or time of day written in a given format.

    Raises:
        ValueError: the text is not a number.
    """
    if is_clock(form):
        return _clock_number(text, form)
    return NumberForm.of(form).number(text)


def _clock_text(number: float, form: str) -> str:
    """Return a number of minutes, or of seconds if the format has them, as a time of day.

    The hours may exceed 24.
    """
    digits = re.search(r"%(\d)f", form)
    places = 0
    if digits:
        places = int(digits[1])
    if "%S" not in form:
        number *= MINUTES
    seconds = round(number, places)
    minutes, second = divmod(abs(seconds), MINUTES)
    hour, minute = divmod(int(minutes), MINUTES)
    twelve = (hour - 1) % HALF_DAY + 1
    half = "PM" if hour // HALF_DAY % 2 else "AM"
    fraction = f"{second % 1:.{places}f}"[2:]
    codes = {
        **{"%H": f"{hour:02}", "%-H": str(hour), "%I": f"{twelve:02}", "%-I": str(twelve)},
        **{"%M": f"{minute:02}", "%S": f"{int(second):02}", "%p": half, "%P": half.lower()},
    }
    text = re.sub(r"%\df", fraction, form)
    text = re.sub(r"%-?[HIMSpP]", lambda code: codes.get(code[0], code[0]), text)
    return "-" * (seconds < 0) + text


def _clock_number(text: str, form: str) -> float:
    parts = CLOCK.fullmatch(text.strip().lower())
    if parts is None:
        raise ValueError(text)
    hour = int(parts[1])
    if parts[4]:
        hour = hour % HALF_DAY + HALF_DAY * (parts[4] == "p")
    minutes = hour * MINUTES + int(parts[2] or 0)
    seconds = float((parts[3] or "0").replace(",", "."))
    if "%S" in form:
        return minutes * MINUTES + seconds
    return minutes + seconds / MINUTES


class Notation(NamedTuple):
    """A notation for numbers, such as a decimal comma with dots as thousands separators.

    Attributes:
        pattern: a regular expression that must match all cells of a column.
        removed: the thousands separators, which are removed before parsing.
        is_comma: whether the decimal mark is a comma.
        decisive: a regular expression that must match at least one cell, to exclude other
            notations; "" if not needed.
    """

    pattern: str
    removed: str = ""
    is_comma: bool = False
    decisive: str = ""

    def fits(self, cell: str) -> str:
        """Return SQL expressions that count the cells that match `pattern` and `decisive`."""
        return f"{count_matches(cell, self.pattern)}, {count_matches(cell, self.decisive)}"

    def number(self, cell: str) -> str:
        """Return an SQL expression for the number in a cell, or null if the cell does not match."""
        bare = f"replace({cell}, '∞', 'inf')"
        if self.removed:
            bare = f"regexp_replace({bare}, '[{quoted(self.removed)}]', '', 'g')"
        bare = f"regexp_replace({bare}, '[dD]([+-])', 'e\\1')"
        number = f"try_cast(replace({bare}, ',', '.') as double)"
        return f"case when {matches(cell, self.pattern)} then {number} end"

    def group(self, cell: str) -> str:
        """Return an SQL expression for the thousands separator in a cell, or "" if it has none."""
        return f"regexp_extract({cell}, '\\d([{quoted(self.removed)}])\\d', 1)"


PLAIN = Notation(NUMBER)
WITH_COMMAS = Notation(f"{NUMBER}|{ENGLISH}", ",")  # between thousands
MIXED = Notation(f"{NUMBER}|{COMMA}", is_comma=True)
DOTTED = Notation(CONTINENTAL, ".", is_comma=True, decisive=r"[+-]?\d{1,3}(\.\d{3})+.*")
APART = (
    Notation(rf"{NUMBER}|{SPACED}(\.\d+)?", SPACES, decisive=rf"{SPACED}.*"),
    Notation(rf"{COMMA}|[+-]?\d+|{SPACED}(,\d+)?", SPACES, is_comma=True, decisive=rf"{SPACED}.*"),
)
FORTRAN = Notation(
    rf"{NUMBER}|[+-]?(\d+\.?\d*|\.\d+)({EXPONENT})", decisive=r".*\d\.?[dD][+-]\d{2,3}"
)
BOTH = r".*\d,\d{3}\.\d.*|.*\d,\d\d\d?,\d{3}.*"  # no decimal comma
# Integers below 1,000 next to others with three digits after a comma, which marks thousands.
GROUPED = Notation(r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d{1,3})", ",", decisive=r"[+-]?\d{1,3}")


def notations(delimiter: str, mark: str) -> tuple[Notation, ...]:
    """Return the possible notations of numbers in a file, in the order in which to try them.

    Args:
        delimiter: the separator between cells, which limits what a comma may mean.
        mark: the decimal mark of the numbers in the file, or "" if it is unclear.
    """
    if delimiter == ",":
        both = DOTTED._replace(decisive=r".*\d\.\d{3},\d.*|.*\d\.\d{3}\.\d{3}.*")
        # "1,3" in quotes may be two answers; "0,3" cannot be.
        quoted_comma = Notation(
            f"{NUMBER}|{COMMA}", is_comma=True, decisive=r"[+-]?0,\d+|.*,\d{4,}|.*,\d+[eE].*"
        )
        return (PLAIN, WITH_COMMAS, both, quoted_comma, *APART, FORTRAN)
    # Commas separate thousands if numbers have a decimal point, and perhaps if they are integers.
    with_commas = ()
    if not mark:
        with_commas = (GROUPED,)
    elif mark == ".":
        with_commas = (WITH_COMMAS,)
    return (
        PLAIN,
        *with_commas,
        Notation(CONTINENTAL, ".", is_comma=True),
        MIXED,
        WITH_COMMAS._replace(decisive=BOTH),
        *APART,
        FORTRAN,
    )


def fitting_form(candidates: tuple[Notation, ...], form: NumberForm) -> tuple[Notation, ...]:
    """Return the notations in which a comma has the same meaning as in a format."""
    if form.has_comma:
        return (DOTTED, PLAIN, *(notation for notation in candidates if notation.is_comma), MIXED)
    if form.group:
        others = (own for own in candidates if not own.is_comma and own is not GROUPED)
        return (*others, WITH_COMMAS)
    return candidates


def matches(cell: str, pattern: str) -> str:
    """Return an SQL expression for whether a whole cell matches a pattern."""
    return f"regexp_full_match({cell}, '{quoted(pattern)}')"


def count_matches(cell: str, pattern: str) -> str:
    """Return an SQL expression for the number of cells that match a pattern, or 0 without rows."""
    return f"coalesce(count_if({matches(cell, pattern)}), 0)"


def quoted(text: str) -> str:
    """Escape a text for use within a quoted SQL string."""
    return text.replace("'", "''")


def parts_of_number(cell: str) -> str:
    """Return an SQL expression that splits a number and the symbols around it into `PARTS`.

    The parts of other cells are empty.
    """
    names = ", ".join(f"'{name}'" for name in PARTS)
    plain = f"translate({cell}, '{OTHER_SIGNS}', '{PLAIN_SIGNS}')"
    return f"regexp_extract({plain}, '{quoted(SIGNED)}', [{names}])"


def number_of_parts(parts: str) -> str:
    """Return an SQL expression for the signed number that the parts form; null if they do not."""
    is_negative = f"'-' in ({parts}.minus, {parts}.sign, {parts}.tail) or {parts}.closing = ')'"
    opened = f"({parts}.opening = '(') <> ({parts}.sign = '(')"
    # 47.- is a price in francs, and not negative.
    is_price = f"{parts}.tail = '-' and ends_with({parts}.digits, '.')"
    is_whole = f"{parts}.digits <> '' and ({parts}.closing = ')') = ({opened}) and not ({is_price})"
    # A plus is kept, so that +491512839167 is recognised as a telephone number.
    sign = f"case when {is_negative} then '-' else replace({parts}.minus, '-', '') end"
    signed = f"{sign} || {parts}.digits"
    return f"case when {is_whole} then {signed} end"


# --- Columns of numbers in text: currencies, units, marks of footnotes ------------------------


class Signs(NamedTuple):
    """Statistics of the symbols around the numbers of a column.

    Attributes:
        before, after: how often each symbol occurs before and after a number.
        numbers: the number of cells that are numbers.
        bare: the number of numbers without a symbol before or after them.
        in_parentheses, with_tail, with_bound, with_mark: the number of numbers written as (5), 5-,
            <5 or 90+, and 5*.
        minus: a minus sign that is not a hyphen, or "".
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
        """Count the symbols in the table `seen`, after `_divide` has split its cells."""
        rows = connection.execute(
            "select p.before, p.unit, count(*) as n, count_if(p.closing = ')'),"
            " count_if(p.tail = '-'), count_if(p.bound <> '' or p.tail = '+'),"
            f" count_if(p.mark <> ''), max(regexp_extract(cell, '{TRUE_MINUS}'))"
            " from seen where bare is not null group by 1, 2 order by n desc, 1, 2"
            f" limit {MOST_SIGNS}"
        ).fetchall()
        before: Counter[str] = Counter()
        after: Counter[str] = Counter()
        for sign, unit, count, *_ in rows:
            before[sign] += count
            after[unit] += count
        bare = sum(count for sign, unit, count, *_ in rows if not (sign + unit).strip())
        numbers, parentheses, tail, bound, mark = (
            sum(row[place] for row in rows) for place in range(2, 7)
        )
        minus = max((row[7] for row in rows), default="")
        return cls(before, after, numbers, bare, parentheses, tail, bound, mark, minus)

    @property
    def several(self) -> list[str]:
        """The different units of the numbers if there are several, else an empty list."""
        for signs in (self.before, self.after):
            different = {_unit(sign): sign.strip() for sign in signs if sign.strip()}
            if len(different) > 1:
                return list(different.values())
        return []

    @property
    def are_flags(self) -> bool:
        """Whether the texts after some numbers are Eurostat's flags, such as p for provisional.

        There must be at least two different flags of one or two letters, preceded by a space. At
        least one flag must be p, b or e, which are not units, unlike s and d.
        """
        units = {sign for sign in self.after if sign.strip()}
        letters = {unit.strip() for unit in units}
        is_spaced = all(re.fullmatch(r"\s[bcdefinprsuz]{1,2}", unit) for unit in units)
        return self.bare > 0 and len(letters) > 1 and is_spaced and bool(letters & {"p", "b", "e"})

    @property
    def usual(self) -> tuple[str, str]:
        """The most common symbols before and after a number."""
        return _usual(self.before), _usual(self.after)


def _unit(sign: str) -> str:
    """Normalise a unit, so that "day" and "days" are equal."""
    bare = sign.strip().removesuffix(".")
    if len(bare) > 2:
        return bare.removesuffix("s")
    return bare


def _usual(signs: Counter[str]) -> str:
    if signs:
        return signs.most_common(1)[0][0]
    return ""


def numbers_readings(
    connection: Any,
    name: str,
    notations: tuple[Notation, ...],
    *,
    has_dots: bool,
    is_known: bool,
) -> tuple[list[Reading], str]:
    """Return readings of the table `seen` as numbers, and a note if it has different units.

    Args:
        connection: the connection to DuckDB.
        name: the name of the column.
        notations: the notations to try.
        has_dots: whether a dot before three digits is a thousands separator.
        is_known: whether the column is known to be numeric.
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
        return [], f"read as words: numbers with different units, such as {units}"
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
        notes = _notes(connection, signs)
        notes.append(note_on_marks(connection, "bare", fits, notation))
        notes.append(note_on_sentinels(values))
        return RawColumn(name, values, form.text, "; ".join(filter(None, notes)))

    return [Reading(value, fits, "numbers", "number", column)], ""


def _divide(connection: Any) -> None:
    """Add columns to `seen`: `p`, the parts of numbers, and `bare`, numbers without symbols."""
    connection.execute(
        f"create or replace table seen as select cell, p, {number_of_parts('p')} as bare"
        f" from (select cell, {parts_of_number('cell')} as p from seen)"
    )


def _doubts(connection: Any, signs: Signs, is_known: bool) -> list[str]:
    """Return SQL conditions for cells that look like numbers but are not."""
    doubts = []
    if signs.several:  # numbers without a sign, with a few exceptions
        doubts.append("trim(p.before) <> '' or trim(p.unit) <> ''")
    if signs.in_parentheses == signs.numbers:
        doubts.append("p.closing = ')'")  # (1), (2): a list, not negative numbers
    if signs.with_tail == signs.numbers:
        doubts.append("p.tail = '-'")
    if 2 * signs.with_mark > signs.numbers:
        doubts.append("regexp_matches(p.mark, '[¹²³⁴-⁹]')")  # 10³ is a power
    different = row_of(connection, "count(distinct bare)")[0]
    # A few different numbers and "3+" are categories; nothing is lost if they are read as words.
    if different <= FEW_NUMBERS and not is_known:
        doubts.append(BOUND)
    with_letters = sum(n for unit, n in signs.after.items() if unit.strip()[:1].isalpha())
    is_apart = all(unit[:1].isspace() for unit in signs.after if unit.strip()[:1].isalpha())
    # 12 and 12b are house numbers if most have no letter.
    if with_letters and not is_apart and 2 * with_letters < signs.numbers:
        doubts.append("regexp_matches(p.unit, '^\\pL')")
    return doubts


def _best_notation(
    connection: Any, notations: tuple[Notation, ...], numbers: int
) -> tuple[Notation | None, int]:
    """Return the first notation that matches the most numbers, and how many numbers it matches."""
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
    """Return the format in which most numbers of the column are written."""
    before, after = signs.usual
    group = ""
    if notation.removed:
        marks = f"select {notation.group('bare')} as g from seen where bare is not null"
        row = connection.execute(
            f"select g from ({marks}) where g <> '' group by g order by count(*) desc, g limit 1"
        ).fetchone()
        group = ""
        if row:
            group = row[0]
    negative = "-#"
    if signs.in_parentheses:
        negative = "(#)"
    elif signs.with_tail:
        negative = "#-"
    elif signs.minus:
        negative = f"{signs.minus}#"
    has_comma = notation.is_comma
    if has_comma and not notation.removed:  # a notation that also allows points
        commas, points = row_of(
            connection, "count_if(contains(bare, ',')), count_if(contains(bare, '.'))"
        )
        has_comma = commas >= points
    return NumberForm(before, after, group, has_comma, negative)


def _notes(connection: Any, signs: Signs) -> list[str]:
    """Return notes on symbols that are dropped, or that only some cells have."""
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
            notes.append(f"{example[0]!r} and the like ({count_of(count, 'cell')}) {text}")
    for around in (signs.before, signs.after):
        signed = sum(n for sign, n in around.items() if sign.strip())
        if signed and signed < signs.numbers:
            sign = next(sign.strip() for sign in around if sign.strip())
            notes.append(f"{sign!r} in {signed:,} of {signs.numbers:,} cells is ignored")
    return notes


def plain_numbers(connection: Any, name: str, seen: int) -> RawColumn:
    """Read a column of plain numbers, without symbols around them."""
    values = fetched(connection, PLAIN.number("cell"))
    known = values[np.isfinite(values)]
    note = ""
    if (known != np.floor(known)).any():
        note = note_on_marks(connection, "cell", seen, PLAIN)
    return RawColumn(name, values, note=note or note_on_sentinels(values))


def note_on_marks(connection: Any, cell: str, seen: int, notation: Notation) -> str:
    """Return a warning if a point or comma before three digits is ambiguous.

    It is ambiguous if three digits follow it in all numbers that have one, and if it is a comma or
    some numbers have neither.
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
    """Return the columns with `digits` set: the number of digits after the decimal point in text.

    Args:
        connection: the connection to DuckDB, with the table `cells` of texts.
        columns: the columns read from c0, c1, … of this table.
    """
    digits = (_digits_in(connection, f"c{i}", raw) for i, raw in enumerate(columns))
    return [replace(raw, digits=count) for raw, count in zip(columns, digits, strict=True)]


def _digits_in(connection: Any, cell: str, raw: RawColumn) -> int | None:
    """Return the number of digits after the decimal point, or None if it differs or is unknown."""
    if raw.cell_kind is not CellKind.NUMBERS or is_clock(raw.form) or raw.is_missing.all():
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
    # Otherwise the digits of a note after a number would be counted.
    is_rounded = np.allclose(known, np.round(known, most), rtol=1e-12, atol=10.0 ** -(most + 3))
    if is_rounded:
        return int(most)
    return None
