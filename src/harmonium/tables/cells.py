"""What the cells of a column of text are: numbers, dates, or words.

A cell is read as a number or a date where all cells of its column are one, and else as a word: also
digits that are no number, such as postal codes with a leading zero.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from .frames import Frame, RawColumn, with_gaps
from .moments import YEARS

MISSING = (  # what stands for a missing cell, besides an empty one; upper and lower case alike
    *("?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"),
)
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|Inf|INF)(inity)?"
COMMA = r"[+-]?\d*,\d+([eE][+-]?\d+)?"
CONTINENTAL = r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?"  # 1.234,5
THREE = r"[+-]?[1-9]\d{0,2}\.\d{3}"  # 1.234, which may be 1234
ENGLISH = r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?"  # 1,234.5
SPACES = " \u00a0\u202f'’"  # between thousands: 1 234,5 or 1'234.5
SPACED = rf"[+-]?\d{{1,3}}([{SPACES}]\d{{3}})+"
WITH_COMMA = r".{0,5}?(\d{1,3}(\.\d{3})+|\d+),\d+.{0,5}?"
LABEL = r"[+-]?0\d+|[+-]?\d{16,}|\+\d{7,}"  # digits that are names: 00501, card and phone numbers
CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY"  # before or after all numbers of a column
AROUND = rf"[+-]?((?:{CURRENCY})\s?)?[^\s%‰$€£¥₹A-Z]+(\s?(?:[%‰]|{CURRENCY}))?"
DAYS = (
    *("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y"),  # years of two digits
    *("%d %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%b %d %Y", "%b %d, %Y", "%b-%d-%Y"),
    *("%d %B %Y", "%B %d %Y", "%B %d, %Y", "%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y"),
)
CLOCK = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%H:%M:%S+00:00")
TIMES = (
    *(f"{day} {clock}" for day in (*DAYS[:7], *DAYS[8:10], "%d %b %Y") for clock in CLOCK),
    *(f"%Y-%m-%dT{clock}{zone}" for clock in CLOCK[:3] for zone in ("", "Z", "+00:00")),
)
DIGITS = "%Y%m%d"  # of whole numbers that are all dates between
FIRST_DAY, LAST_DAY = 18_000_101, 21_991_231
SAFE = np.datetime64("1970-01-01"), np.datetime64("2038-01-01")  # with years of two digits
SAMPLED = 100  # cells by which formats of dates are chosen, to be tried with all
MOSTLY = 0.9  # of these cells: a column of which so many are dates is said to be nearly one
MIDNIGHT = {"%H": "00", "%M": "00", "%S": "00", "%f": "000000", "%I": "12", "%p": "AM"}


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
        decides = f"regexp_full_match({cell}, '{_quoted(self.some)}')" if self.some else "true"
        fits = f"regexp_full_match({cell}, '{_quoted(self.pattern)}')"
        return f"coalesce(count_if({fits}), 0), coalesce(count_if({decides}), 0)"

    def number(self, cell: str) -> str:
        """Return the SQL for the number in a cell."""
        bare = cell
        if self.removed:
            bare = f"regexp_replace({cell}, '[{_quoted(self.removed)}]', '', 'g')"
        return f"cast(replace({bare}, ',', '.') as double)"

    @property
    def form(self) -> str:
        """The sign that a decimal comma leaves in the form of a column."""
        return "," if self.is_comma else ""


PLAIN = Notation(NUMBER)
DOTTED = Notation(CONTINENTAL, ".", is_comma=True, some=r"[+-]?\d{1,3}(\.\d{3})+.*")
APART = (
    Notation(rf"{NUMBER}|{SPACED}(\.\d+)?", SPACES, some=rf"{SPACED}.*"),
    Notation(rf"{COMMA}|[+-]?\d+|{SPACED}(,\d+)?", SPACES, is_comma=True, some=rf"{SPACED}.*"),
)
BOTH = r".*\d,\d{3}\.\d.*"  # no decimal comma


def notations(delimiter: str) -> tuple[Notation, ...]:
    """Return the notations of numbers in a file, in the order in which they are tried."""
    english = Notation(f"{NUMBER}|{ENGLISH}", ",")
    if delimiter == ",":
        both = DOTTED._replace(some=r".*\d\.\d{3},\d.*")
        return (PLAIN, english, both, *APART)
    mixed = Notation(f"{NUMBER}|{COMMA}", is_comma=True)
    return (
        PLAIN,
        Notation(CONTINENTAL, ".", is_comma=True),
        mixed,
        english._replace(some=BOTH),
        *APART,
    )


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def columns_in(
    connection: Any,
    names: list[str],
    delimiter: str,
    known: Frame | None = None,
    missing: tuple[str, ...] = (),
) -> list[RawColumn]:
    """Return the columns of the table `cells` of texts, each as what all of its cells are.

    Args:
        connection: to DuckDB.
        names: of the columns c0, c1, …
        delimiter: between the cells in their file, which is no decimal comma.
        known: a table, of any number of rows, as whose columns those of the same name are read.
        missing: words for missing cells, besides `MISSING`; upper and lower case alike.
    """
    kept = {} if known is None else {column.name: column for column in known.columns}
    ways = notations(delimiter)
    commas = delimiter != "," and _has_decimal_commas(connection, len(names), missing)
    columns = []
    for i, name in enumerate(names):
        cell, before = f"c{i}", kept.get(name)
        _see(connection, cell, missing)
        seen, labels, plain = connection.execute(
            f"select count({cell}), count_if(regexp_full_match({cell}, '{LABEL}')),"
            f" count_if(regexp_full_match({cell}, '{NUMBER}')) from seen"
        ).fetchone()
        if before is not None and before.values.dtype.kind == "O":
            columns.append(RawColumn(name, fetched(connection, cell)))
        elif before is not None and before.values.dtype.kind == "M":
            dates = _dates_in(before.form, connection, cell, name, seen)
            columns.append(dates or _dates_or_words(connection, cell, name, seen))
        else:
            # A dot before three digits marks thousands where other columns have decimal commas.
            dots = commas if before is None else "," in before.form
            found = None
            if not labels and plain == seen and not dots:
                found = _plain_numbers(connection, cell, name, seen)
            elif not labels:
                found = _numbers(connection, cell, name, seen, ways, dots)
            found = found or _numbers_with_signs(connection, cell, name, seen, ways, dots)
            columns.append(found or _dates_or_words(connection, cell, name, seen))
    return columns


def _has_decimal_commas(connection: Any, count: int, missing: tuple[str, ...] = ()) -> bool:
    """Return whether a column, signs around its numbers aside, has decimal commas."""
    any_sign = rf".{{0,5}}?{CONTINENTAL}.{{0,5}}?"
    for i in range(count):
        _see(connection, f"c{i}", missing)
        found = connection.execute(
            f"select count(c{i}) = count_if(regexp_full_match(c{i}, '{any_sign}'))"
            f" and count_if(regexp_full_match(c{i}, '{WITH_COMMA}')) > 0 from seen"
        ).fetchone()[0]
        if found:
            return True
    return False


def _see(connection: Any, cell: str, missing: tuple[str, ...] = ()) -> None:
    """Make the table `seen` of one column of `cells`, without blanks around them.

    One at a time: DuckDB takes minutes, and gigabytes, for expressions of thousands of columns.
    """
    words = ("", *MISSING, *(word.lower() for word in missing))
    blank = ", ".join(f"'{_quoted(word)}'" for word in words)
    connection.execute(
        f"create or replace table seen as select case when lower(trim({cell})) in ({blank})"
        f" then null else trim({cell}) end as {cell} from cells"
    )


def _numbers(
    connection: Any,
    cell: str,
    name: str,
    seen: float,
    ways: tuple[Notation, ...],
    dots: bool,
    around: str = "#",
) -> RawColumn | None:
    """Return a column of numbers by the first notation that all of its cells have; None if none."""
    tried = (DOTTED, *ways) if dots else ways
    counts = connection.execute(
        f"select {', '.join(way.fits(cell) for way in tried)} from seen"
    ).fetchone()
    for way, fits, decides in zip(tried, counts[::2], counts[1::2], strict=True):
        if fits < seen or (way.some and not decides and seen):
            continue
        if way is PLAIN and around == "#":
            return _plain_numbers(connection, cell, name, seen)
        form = way.form if around == "#" else around.replace("#", f"#{way.form}")
        return RawColumn(name, fetched(connection, way.number(cell)), form)
    return None


def _plain_numbers(connection: Any, cell: str, name: str, seen: float) -> RawColumn:
    """Return a column of numbers without any other sign, which may be dates in digits."""
    raw = RawColumn(name, fetched(connection, PLAIN.number(cell)))
    known = raw.values[~raw.is_missing]
    if not len(known) or (known == np.floor(known)).all():
        return _dates_in_digits(connection, cell, raw)
    return RawColumn(name, raw.values, note=_note_on_dots(connection, cell, seen))


def _note_on_dots(connection: Any, cell: str, seen: float) -> str:
    """Return a warning if dots may mark thousands: three digits follow each, and some have none."""
    three, without, example = connection.execute(
        f"select count_if(regexp_full_match({cell}, '{THREE}')),"
        f" count_if(regexp_full_match({cell}, '[+-]?\\d+')),"
        f" any_value({cell}) filter (regexp_full_match({cell}, '{THREE}')) from seen"
    ).fetchone()
    if not three or not without or three + without < seen:
        return ""
    whole = example.replace(".", "")
    return f"{example} is read with a decimal point; if it means {whole}, remove the dots"


def _numbers_with_signs(
    connection: Any, cell: str, name: str, seen: float, ways: tuple[Notation, ...], dots: bool
) -> RawColumn | None:
    """Return a column of amounts or percentages, if all cells have the same sign around them."""
    first = connection.execute(f"select {cell} from seen where {cell} is not null").fetchone()
    signs = re.fullmatch(AROUND, first[0]) if first else None
    before, after = (signs[1] or "", signs[2] or "") if signs else ("", "")
    if not before + after:
        return None
    around = rf"^([+-]?){re.escape(before)}(.*){re.escape(after)}$"
    has_signs = f"count_if(regexp_matches({cell}, '{around}'))"
    if connection.execute(f"select {has_signs} from seen").fetchone()[0] < seen:
        return None
    bare = rf"regexp_replace({cell}, '{around}', '\1\2')"
    return _numbers(connection, bare, name, seen, ways, dots, f"{before}#{after}")


def _dates_in(form: str, connection: Any, cell: str, name: str, seen: float) -> RawColumn | None:
    """Return a column as dates of a form; None if a cell does not fit."""
    time = f"try_strptime({cell}, '{_quoted(form)}')"  # a form may come from a file
    if connection.execute(f"select count({time}) from seen").fetchone()[0] < seen:
        return None
    return RawColumn(name, fetched(connection, f"cast({time} as timestamp)"), form)


def _dates_or_words(connection: Any, cell: str, name: str, seen: float) -> RawColumn:
    """Return a column as dates if one format fits all of its cells, else as words."""
    some = f"(select {cell} from seen where {cell} is not null limit {SAMPLED})"
    first = connection.execute(f"select {cell} from {some}").fetchone()
    sampled, note = min(seen, SAMPLED), ""
    for form in (*DAYS, *TIMES) if first and re.search(r"\d\D+\d|\D\d{4}", first[0]) else ():
        time = f"try_strptime({cell}, '{form}')"
        fits = connection.execute(f"select count({time}) from {some}").fetchone()[0]
        if fits < max(1.0, MOSTLY * sampled):
            continue
        dates = _dates_in(form, connection, cell, name, seen)
        if dates is not None:
            if _is_plausible(connection, cell, form, dates.values, seen):
                return RawColumn(name, dates.values, without_times(dates.values, form))
        elif not note:
            odd = connection.execute(
                f"select {cell} from seen where {cell} is not null and {time} is null limit 1"
            ).fetchone()[0]
            note = f"read as words, since {odd[:40]!r} is no date as the others"
    numbers = f"count_if(regexp_full_match({cell}, '{NUMBER}|{CONTINENTAL}|{ENGLISH}'))"
    if connection.execute(f"select {numbers} from seen").fetchone()[0] > seen / 2:
        odd = connection.execute(
            f"select {cell} from seen where not regexp_full_match({cell},"
            f" '{NUMBER}|{CONTINENTAL}|{ENGLISH}') limit 1"
        ).fetchone()
        note = f"read as words, since {odd[0][:40]!r} is no number" if odd else note
    return RawColumn(name, fetched(connection, cell), note=note)


def _is_plausible(connection: Any, cell: str, form: str, values: np.ndarray, seen: float) -> bool:
    """Return whether cells of a form are dates, and not versions (1.2.10) or seasons (2003-04)."""
    first, last = np.nanmin(values), np.nanmax(values)
    if not (first >= np.datetime64(f"{YEARS[0]}") and last < np.datetime64(f"{YEARS[1]}")):
        return False
    if "%y" in form:
        padded = f"count_if(regexp_full_match({cell}, '\\d\\d\\D.*'))"
        is_padded = connection.execute(f"select {padded} from seen").fetchone()[0] == seen
        return SAFE[0] <= first and last < SAFE[1] and ("." not in form or is_padded)
    if form == "%Y-%m":
        months = values[~np.isnat(values)].astype("datetime64[M]").astype(np.int64)
        return bool(((months // 12 + 1971) % 100 != months % 12 + 1).any())
    return True


def _dates_in_digits(connection: Any, cell: str, raw: RawColumn) -> RawColumn:
    """Return numbers such as 20240131 as dates, if they are all dates."""
    known = raw.values[~raw.is_missing]
    if not len(known) or known.min() < FIRST_DAY or known.max() > LAST_DAY:
        return raw
    return _dates_in(DIGITS, connection, cell, raw.name, len(known)) or raw


def without_times(values: np.ndarray, form: str) -> str:
    """Return the form of dates; if all are at midnight, with this time written out."""
    known = values[~np.isnat(values)]
    if not len(known) or (known != known.astype("datetime64[D]")).any():
        return form
    return re.sub("%[HMSfIp]", lambda code: MIDNIGHT[code[0]], form)


def fetched(connection: Any, expression: str) -> np.ndarray:
    """Return the values of an SQL expression over the table `seen`."""
    values = connection.execute(f"select {expression} as it from seen").fetchnumpy()["it"]
    return with_gaps(np.ma.getdata(values), np.ma.getmaskarray(values))
