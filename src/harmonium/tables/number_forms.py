"""How numbers and times of day stand in text: signs around them, thousands, decimal commas, clocks.

A form is "#" for the number, with what stands around it: "$#", "# kg". After "#" come ",##0" or
".##0" for the sign between thousands and "," for a decimal comma; after ";" how negative numbers
are marked, if not by a hyphen: "$#;(#)". The form of a time of day is that of dates: "%H:%M".

A `Notation` is the same subject before the form is known: a pattern that all cells of a column may
fit, as SQL that counts and reads them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

HYPHEN = "-#"
FORM = re.compile(r"(?P<before>[^#]*)#(?:(?P<group>.)##0)?(?P<comma>,?)(?P<after>.*)", re.DOTALL)
# Hours and minutes, seconds with a fraction, and a or p for the halves of a day.
CLOCK = re.compile(r"(\d{1,3})(?::([0-5]?\d))?(?::([0-5]?\d(?:[.,]\d+)?))?\s?([ap])?\.?m?\.?")
MINUTES = 60  # of an hour, and seconds of a minute
HALF_DAY = 12  # hours
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?((?i:inf(inity)?)|∞)"
ADDRESS = r"(1?\d?\d|2[0-4]\d|25[0-5])(\.(1?\d?\d|2[0-4]\d|25[0-5])){3}"  # 192.168.100.101
COMMA = r"[+-]?\d*,\d+([eE][+-]?\d+)?"
CONTINENTAL = r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?"  # 1.234,5
THREE = r"[+-]?[1-9]\d{0,2}\.\d{3}"  # 1.234, which may be 1234
ENGLISH = r"[+-]?\d{1,3}(,\d{2,3})*,\d{3}(\.\d+)?"  # 1,234.5, or 1,23,456 in India
SPACES = " \u00a0\u202f\u2009'’_"  # between thousands: 1 234,5 or 1'234.5
SPACED = rf"[+-]?\d{{1,3}}([{SPACES}]\d{{3}})+"
# A comma that marks no thousands: three digits may follow one that does.
WITH_COMMA = r"([^\d,.]{0,5})??(\d{1,3}(\.\d{3})+,\d+|\d+,(\d\d?|\d{4,})|0,\d+)(\D.{0,4})??"
WITH_POINT = r"[+-]?(\d{1,3}(,\d{3})+\.\d+|\d+\.(\d\d?|\d{4,})|0\.\d+)"  # no thousands either
LABEL = r"[+-]?0\d+|[+-]?\d{16,}|\+\d{7,}"  # digits that are names: 00501, card and phone numbers

# Full-width signs, and the minus signs that word processors make of a hyphen, one for one.
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
# kg/m2, US $, years of age; inches and minutes alone, as 4" pipe is a word; of 100 points
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


class NumberForm(NamedTuple):
    """How the numbers of a column stand in text.

    Attributes:
        before, after: signs around all of them.
        group: the sign between thousands, or "".
        has_comma: whether the decimal sign is a comma.
        negative: what marks a negative number, "#" being all else: "-#", "(#)", "−#", "#-".
    """

    before: str = ""
    after: str = ""
    group: str = ""
    has_comma: bool = False
    negative: str = HYPHEN

    @classmethod
    def of(cls, form: str) -> NumberForm:
        """Return the parts of a form."""
        positive, _, negative = form.partition(";")
        parts = FORM.fullmatch(positive)
        negative = negative if "#" in negative else HYPHEN
        if parts is None:
            return cls(has_comma=positive == ",", negative=negative)
        group = parts["group"] or ""
        return cls(parts["before"], parts["after"], group, bool(parts["comma"]), negative)

    @property
    def text(self) -> str:
        """The form; a decimal comma alone is ",", and nothing at all ""."""
        group = f"{self.group}##0" if self.group else ""
        comma = "," if self.has_comma else ""
        negative = f";{self.negative}" if self.negative != HYPHEN else ""
        positive = f"{self.before}#{group}{comma}{self.after}"
        if not (self.before or self.after or group or negative):
            return comma
        return positive + negative

    def dressed(self, number: str) -> str:
        """Return a number such as "-1234.5" as it stands in the column."""
        digits = number.removeprefix("-")
        whole, point, decimals = digits.partition(".")
        if self.group and whole.isdecimal():
            whole = f"{int(whole):,}".replace(",", self.group)
        mark = "," if self.has_comma else "."
        positive = f"{self.before}{whole}{point.replace('.', mark)}{decimals}{self.after}"
        return self.negative.replace("#", positive, 1) if number.startswith("-") else positive

    def number(self, text: str) -> float:
        """Return the number that a text of this form, or a plain number, stands for.

        Raises:
            ValueError: it is none.
        """
        opening, _, closing = self.negative.partition("#")
        is_marked = text.startswith(opening) and text.endswith(closing)
        is_negative = self.negative != HYPHEN and is_marked
        if is_negative:
            text = text[len(opening) : len(text) - len(closing)]
        minus = "-" if text.startswith(("-", "−")) else ""
        bare = text[len(minus) :].strip()
        bare = bare.removeprefix(self.before.strip()).removesuffix(self.after.strip()).strip()
        if self.group and self.group in bare:
            bare = bare.replace(self.group, "").replace(" ", "")
        if self.has_comma:
            bare = bare.replace(",", ".")
        value = float(minus + bare)
        return -value if is_negative else value


def is_clock(form: str) -> bool:
    """Return whether the form of a column of numbers is that of a time of day."""
    return "#" not in form and ("%H" in form or "%I" in form or "%-" in form)


def dressed(number: str, form: str) -> str:
    """Return a number such as "-1234.5" in the form of its column."""
    if is_clock(form):
        return _clock_text(float(number), form)
    return NumberForm.of(form).dressed(number)


def is_number(text: str) -> bool:
    """Return whether a text is a number as Python and most files write it: 12, -1.5, 1e-3, inf."""
    return re.fullmatch(NUMBER, text) is not None


def number_in(text: str, form: str) -> float:
    """Return the number that a text stands for in a column of a form.

    Raises:
        ValueError: it is none.
    """
    if is_clock(form):
        return _clock_number(text, form)
    return NumberForm.of(form).number(text)


def _clock_text(number: float, form: str) -> str:
    """Return minutes, or seconds where the form has them, as a time; hours may exceed a day."""
    digits = re.search(r"%(\d)f", form)
    places = int(digits[1]) if digits else 0
    seconds = round(number if "%S" in form else number * MINUTES, places)
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
    """How numbers may be written.

    Attributes:
        pattern: of all cells of a column.
        removed: signs between thousands.
        is_comma: whether the decimal sign is a comma.
        decisive: of at least one cell, so that it is this notation and no other; "" for none.
    """

    pattern: str
    removed: str = ""
    is_comma: bool = False
    decisive: str = ""

    def fits(self, cell: str) -> str:
        """Return the SQL that counts the cells which fit, and those that decide."""
        return f"{count_matches(cell, self.pattern)}, {count_matches(cell, self.decisive)}"

    def number(self, cell: str) -> str:
        """Return the SQL for the number in a cell; null where the cell does not fit."""
        bare = f"replace({cell}, '∞', 'inf')"
        if self.removed:
            bare = f"regexp_replace({bare}, '[{quoted(self.removed)}]', '', 'g')"
        bare = f"regexp_replace({bare}, '[dD]([+-])', 'e\\1')"
        number = f"try_cast(replace({bare}, ',', '.') as double)"
        return f"case when {matches(cell, self.pattern)} then {number} end"

    def group(self, cell: str) -> str:
        """Return the SQL for the sign between thousands in a cell, "" where it has none."""
        return f"regexp_extract({cell}, '\\d([{quoted(self.removed)}])\\d', 1)"


PLAIN = Notation(NUMBER)
DOTTED = Notation(CONTINENTAL, ".", is_comma=True, decisive=r"[+-]?\d{1,3}(\.\d{3})+.*")
APART = (
    Notation(rf"{NUMBER}|{SPACED}(\.\d+)?", SPACES, decisive=rf"{SPACED}.*"),
    Notation(rf"{COMMA}|[+-]?\d+|{SPACED}(,\d+)?", SPACES, is_comma=True, decisive=rf"{SPACED}.*"),
)
FORTRAN = Notation(
    rf"{NUMBER}|[+-]?(\d+\.?\d*|\.\d+)({EXPONENT})", decisive=r".*\d\.?[dD][+-]\d{2,3}"
)
BOTH = r".*\d,\d{3}\.\d.*|.*\d,\d\d\d?,\d{3}.*"  # no decimal comma
# Whole numbers below 1,000 beside others with three digits after a comma: these are thousands.
GROUPED = Notation(r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d{1,3})", ",", decisive=r"[+-]?\d{1,3}")


def notations(delimiter: str, mark: str) -> tuple[Notation, ...]:
    """Return the notations of numbers in a file, in the order in which they are tried.

    Args:
        delimiter: between cells, which is no decimal comma.
        mark: the decimal mark that numbers of the file show, or "" if none does.
    """
    english = Notation(f"{NUMBER}|{ENGLISH}", ",")
    if delimiter == ",":
        both = DOTTED._replace(decisive=r".*\d\.\d{3},\d.*|.*\d\.\d{3}\.\d{3}.*")
        # "1,3" between quotes may be two answers; "0,3" is none.
        quoted_comma = Notation(
            f"{NUMBER}|{COMMA}", is_comma=True, decisive=r"[+-]?0,\d+|.*,\d{4,}|.*,\d+[eE].*"
        )
        return (PLAIN, english, both, quoted_comma, *APART, FORTRAN)
    mixed = Notation(f"{NUMBER}|{COMMA}", is_comma=True)
    # Commas mark thousands where numbers show a decimal point, and perhaps where they show nothing.
    with_commas = ()
    if not mark:
        with_commas = (GROUPED,)
    elif mark == ".":
        with_commas = (english,)
    return (
        PLAIN,
        *with_commas,
        Notation(CONTINENTAL, ".", is_comma=True),
        mixed,
        english._replace(decisive=BOTH),
        *APART,
        FORTRAN,
    )


def fitting_form(candidates: tuple[Notation, ...], form: NumberForm) -> tuple[Notation, ...]:
    """Return those notations in which a comma means what it meant in the cells of a form."""
    if form.has_comma:
        mixed = Notation(f"{NUMBER}|{COMMA}", is_comma=True)
        return (DOTTED, PLAIN, *(notation for notation in candidates if notation.is_comma), mixed)
    if form.group:
        others = (
            notation for notation in candidates if not notation.is_comma and notation is not GROUPED
        )
        return (*others, Notation(f"{NUMBER}|{ENGLISH}", ","))
    return candidates


def matches(cell: str, pattern: str) -> str:
    """Return the SQL for whether a whole cell has a pattern."""
    return f"regexp_full_match({cell}, '{quoted(pattern)}')"


def count_matches(cell: str, pattern: str) -> str:
    """Return the SQL for the number of cells that have a pattern; 0 without rows."""
    return f"coalesce(count_if({matches(cell, pattern)}), 0)"


def quoted(text: str) -> str:
    """Return a text as it stands between the quotes of SQL."""
    return text.replace("'", "''")


def with_plain_signs(cell: str) -> str:
    """Return the SQL for a cell in which digits, points and minus signs are those of ASCII."""
    return f"translate({cell}, '{OTHER_SIGNS}', '{PLAIN_SIGNS}')"


def parts_of_number(cell: str) -> str:
    """Return the SQL for the `PARTS` of a number with signs around it; empty if it is none."""
    names = ", ".join(f"'{name}'" for name in PARTS)
    return f"regexp_extract({with_plain_signs(cell)}, '{quoted(SIGNED)}', [{names}])"


def number_of_parts(parts: str) -> str:
    """Return the SQL for the number among its parts, with its sign; null if there is none."""
    is_negative = f"'-' in ({parts}.minus, {parts}.sign, {parts}.tail) or {parts}.closing = ')'"
    opened = f"({parts}.opening = '(') <> ({parts}.sign = '(')"
    # 47.- is a price in francs, and not negative.
    is_price = f"{parts}.tail = '-' and ends_with({parts}.digits, '.')"
    is_whole = f"{parts}.digits <> '' and ({parts}.closing = ')') = ({opened}) and not ({is_price})"
    # A plus stays: +491512839167 is a number to call.
    sign = f"case when {is_negative} then '-' else replace({parts}.minus, '-', '') end"
    signed = f"{sign} || {parts}.digits"
    return f"case when {is_whole} then {signed} end"
