"""How people write numbers, as SQL that finds and reads them: thousands, commas, signs around."""

from __future__ import annotations

from typing import NamedTuple

from .number_forms import NumberForm

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


class Notation(NamedTuple):
    """A way to write numbers.

    Attributes:
        pattern: of all cells of a column.
        removed: signs between thousands.
        is_comma: whether the decimal sign is a comma.
        some: of at least one cell, so that it is this notation and no other; "" for none.
    """

    pattern: str
    removed: str = ""
    is_comma: bool = False
    some: str = ""

    def fits(self, cell: str) -> str:
        """Return the SQL that counts the cells which fit, and those that decide."""
        decides = f"regexp_full_match({cell}, '{quoted(self.some)}')" if self.some else "true"
        fits = f"regexp_full_match({cell}, '{quoted(self.pattern)}')"
        return f"coalesce(count_if({fits}), 0), coalesce(count_if({decides}), 0)"

    def number(self, cell: str) -> str:
        """Return the SQL for the number in a cell; null where the cell does not fit."""
        bare = f"replace({cell}, '∞', 'inf')"
        if self.removed:
            bare = f"regexp_replace({bare}, '[{quoted(self.removed)}]', '', 'g')"
        bare = f"regexp_replace({bare}, '[dD]([+-])', 'e\\1')"
        number = f"try_cast(replace({bare}, ',', '.') as double)"
        return f"case when regexp_full_match({cell}, '{quoted(self.pattern)}') then {number} end"

    def group(self, cell: str) -> str:
        """Return the SQL for the sign between thousands in a cell, "" where it has none."""
        return f"regexp_extract({cell}, '\\d([{quoted(self.removed)}])\\d', 1)"


PLAIN = Notation(NUMBER)
DOTTED = Notation(CONTINENTAL, ".", is_comma=True, some=r"[+-]?\d{1,3}(\.\d{3})+.*")
APART = (
    Notation(rf"{NUMBER}|{SPACED}(\.\d+)?", SPACES, some=rf"{SPACED}.*"),
    Notation(rf"{COMMA}|[+-]?\d+|{SPACED}(,\d+)?", SPACES, is_comma=True, some=rf"{SPACED}.*"),
)
FORTRAN = Notation(rf"{NUMBER}|[+-]?(\d+\.?\d*|\.\d+)({EXPONENT})", some=r".*\d\.?[dD][+-]\d{2,3}")
BOTH = r".*\d,\d{3}\.\d.*|.*\d,\d\d\d?,\d{3}.*"  # no decimal comma
# Whole numbers below 1,000 beside others with three digits after a comma: these are thousands.
GROUPED = Notation(r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d{1,3})", ",", some=r"[+-]?\d{1,3}")


def notations(delimiter: str, mark: str) -> tuple[Notation, ...]:
    """Return the notations of numbers in a file, in the order in which they are tried.

    Args:
        delimiter: between cells, which is no decimal comma.
        mark: the decimal mark that numbers of the file show, or "" if none does.
    """
    english = Notation(f"{NUMBER}|{ENGLISH}", ",")
    if delimiter == ",":
        both = DOTTED._replace(some=r".*\d\.\d{3},\d.*|.*\d\.\d{3}\.\d{3}.*")
        # "1,3" between quotes may be two answers; "0,3" is none.
        quoted_comma = Notation(
            f"{NUMBER}|{COMMA}", is_comma=True, some=r"[+-]?0,\d+|.*,\d{4,}|.*,\d+[eE].*"
        )
        return (PLAIN, english, both, quoted_comma, *APART, FORTRAN)
    mixed = Notation(f"{NUMBER}|{COMMA}", is_comma=True)
    return (
        PLAIN,
        *{"": (GROUPED,), ".": (english,)}.get(mark, ()),
        Notation(CONTINENTAL, ".", is_comma=True),
        mixed,
        english._replace(some=BOTH),
        *APART,
        FORTRAN,
    )


def as_before(ways: tuple[Notation, ...], form: NumberForm) -> tuple[Notation, ...]:
    """Return those notations in which a comma means what it meant in the cells of a form."""
    if form.has_comma:
        mixed = Notation(f"{NUMBER}|{COMMA}", is_comma=True)
        return (DOTTED, PLAIN, *(way for way in ways if way.is_comma), mixed)
    if form.group:
        others = (way for way in ways if not way.is_comma and way is not GROUPED)
        return (*others, Notation(f"{NUMBER}|{ENGLISH}", ","))
    return ways


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
