"""Dates and times in text: their formats, and columns of dates.

A format (`form`) is written as for `datetime.strftime`, with these additions: "%-d" for a day
without a leading zero, "%e" with a leading space, "%^b" for capitals, "%P" for "pm", "%3f" for
milliseconds, and an offset from UTC written as in the cells: "%H:%M:%S+02:00". A tag in braces
after a code gives the language of a month's name, or marks days such as 3rd: "%-d. %B{de} %Y",
"%B %-d{th}, %Y". DuckDB reads all formats (`time_in`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from .database import opened_database
from .frames import CellKind, RawColumn, words_of
from .numbers import matches, quoted
from .readings import Reading, fetched, is_gap, row_of, with_notes

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
LOWER_MONTHS = tuple(month.lower() for month in MONTHS)
LONG_MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre"
    " diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre"
    " dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro"
    " dezembro",
}
SHORT_MONTHS = {
    "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "fr": "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
}
ORDINAL = "th"
ORDINALS = r"(?i)(\d)(?:st|nd|rd|th)\b"
TAG = re.compile(r"\{([a-z]{2})\}")
CODES_WITH_TAG = {"B": LONG_MONTHS, "b": SHORT_MONTHS}
ZONES = {  # hours from UTC, by the names used in e-mails and in Europe
    **{"Z": 0, "UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7},
    **{"MDT": -6, "PST": -8, "PDT": -7, "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "BST": 1},
    **{"EET": 2, "EEST": 3, "MSK": 3, "IST": 5.5, "JST": 9, "AEST": 10, "AEDT": 11},
}
OFFSET = r"[+-]\d\d(?::?\d\d)?"
ZONE = rf"(?:UTC|GMT)?{OFFSET}|{'|'.join(sorted(ZONES, key=len, reverse=True))}"
IN_BRACKETS = r"(?: ?\[[\w/+-]+\]| \([\w /+-]+\))?"  # the zone's name after its offset
CLOCK = (
    r"(?P<hour>\d{1,2}):\d\d(?P<seconds>:\d\d)?(?P<fraction>[.,]\d{1,9})?"
    rf"(?P<half> ?[AaPp]\.?[Mm]\b\.?)?(?P<zone> ?(?:{ZONE})(?![\w:]){IN_BRACKETS})?"
)
MONTH_PATTERN = r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
WEEKDAY_PATTERN = r"(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
AFTER_CLOCK = r"(T\d{4,6}|:\d\d(?:[.,]\d{1,9})?(?: ?[AaPp]\.?[Mm]\b\.?)?)"
ZONE_OF_CELL = rf"{AFTER_CLOCK}( ?)({ZONE}){IN_BRACKETS}( \d{{4}})?$"
ZONE_OF_FORM = re.compile(rf"(%[MSfpP]|:00)( ?)((?:{ZONE}){IN_BRACKETS})(?= |$)")
FRACTION_OF_FORM = re.compile(r"[.,]%(\d?)f")
WEEKDAY_OF_FORM = re.compile(r"%\^?[aA](\.?,? )")
KNOWN_CODES = re.compile(r"(?:[^%]|%[YymdbBHMSIp])*")
CODES = "YymdbBaAHMSIpPfe"
# As in "1 de enero de 2023", or with the words for year, month and day in East Asian languages.
SEPARATORS = r" (?:de|of) |[-/., ']{1,3}|[年月日년월일] ?"
# Possible orders of the numbers in a date, keyed by whether it has a four-digit year and a month's
# name.
ORDERS: dict[tuple[str, bool], dict[int, tuple[str, ...]]] = {
    ("Y", False): {2: ("md", "dm"), 1: ("m",)},
    ("Y", True): {1: ("d",), 0: ("",)},
    ("", False): {3: ("dmy", "mdy", "ymd")},
    ("", True): {2: ("dy",), 1: ("y",)},
}
YEAR_LAST: dict[int, tuple[str, ...]] = {2: ("dm", "md")}  # day first if both orders fit
SHOWING = 20  # cells used to determine the zeros and capitals of a form
MOST_FORMS = 40  # maximum number of forms to try; a column of dates has fewer
YEARS = 1500, 2200  # plausible years of dates in text, and of numbers interpreted as years
EXAMPLE = np.datetime64("2024-01-31")  # an example date in messages
DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # by their number of digits
# Integers outside this range are not dates such as 20240131.
FIRST_DAY = 18_000_101
LAST_DAY = 21_991_231
SAFE = np.datetime64("1970-01-01"), np.datetime64("2038-01-01")  # unambiguous two-digit years
CELLS_LOOKED_AT = 1_000  # cells to examine, including missing ones
SAMPLED = 100  # cells used to decide which forms are tried on all cells
MIDNIGHT = {
    **{"%H": "00", "%M": "00", "%S": "00", "%f": "000000", "%I": "12", "%p": "AM", "%P": "am"},
    **{"%-H": "0", "%-I": "12"},
}
CLOCK_PARTS = (
    r"^(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?:[.,](\d{1,9}))?(\s?)(?:([AaPp])\.?([Mm])\.?)?$",
    "['hour', 'minute', 'second', 'fraction', 'gap', 'half', 'm']",
)
NOON = 12
OF_DATES = ("dates", "date like the others")  # in messages


class _MonthNames:
    """The names of the months in a language, in full (code B) or abbreviated (code b)."""

    def __init__(self, code: str, language: str) -> None:
        self.code = code
        self.names = CODES_WITH_TAG[code][language].split()
        english = MONTHS
        if code == "b":
            english = [month[:3] for month in MONTHS]
        self.english = dict(zip((name.lower() for name in self.names), english, strict=True))
        longest_first = sorted(map(re.escape, self.names), key=len, reverse=True)
        self.pattern = "|".join(longest_first)
        self.search = re.compile(rf"(?i)(?<![^\W\d_])(?:{self.pattern})(?![^\W\d_])")

    def in_english(self, text: str) -> str:
        return self.search.sub(lambda name: self.english[name[0].lower()], text)

    def name(self, time: datetime) -> str:
        return self.names[time.month - 1]

    def sql(self, text: str) -> str:
        pattern = quoted(rf"(?i)(?:^|[^\pL])({self.pattern})(?:$|[^\pL])")
        name = f"regexp_extract({text}, '{pattern}', 1)"
        cases = " ".join(f"when '{own}' then '{name}'" for own, name in self.english.items())
        return (
            f"case when {name} <> '' then replace({text}, {name}, case lower({name}) {cases} end)"
            f" else {text} end"
        )


class _Ordinals:
    """Ordinal days such as 3rd, with the same interface as `_MonthNames`."""

    def in_english(self, text: str) -> str:
        return re.sub(ORDINALS, r"\1", text)

    def sql(self, text: str) -> str:
        return f"regexp_replace({text}, '{ORDINALS}', '\\1')"

    def name(self, time: datetime) -> str:
        if 10 < time.day < 14:
            return f"{time.day}th"
        return f"{time.day:02}" + {1: "st", 2: "nd", 3: "rd"}.get(time.day % 10, "th")


# The names that cells contain for a code with a tag.
TAGGED: dict[tuple[str, str], _MonthNames | _Ordinals] = {
    (code, tag): _MonthNames(code, tag) for code, tags in CODES_WITH_TAG.items() for tag in tags
}
TAGGED["d", ORDINAL] = _Ordinals()


def _names_of(form: str, tag: str) -> _MonthNames | _Ordinals | None:
    """Return the names used for the tagged code in a format, or None if the tag is unknown."""
    code = "b"
    if tag == ORDINAL:
        code = "d"
    elif re.search(r"%[-^]?B", form):
        code = "B"
    return TAGGED.get((code, tag))


class Parts(NamedTuple):
    """The parts of a date format.

    Attributes:
        base: the rest of the format, without the parts below; DuckDB and Python can read it.
        weekday: the characters after the day of the week, or "" if there is none.
        digits: the number of digits in a fraction of a second.
        zone: the offset from UTC in all cells, or "" if there is none.
        tag: the language of month names, "th" for days such as 3rd, or "".
    """

    base: str
    weekday: str
    digits: int
    zone: str
    tag: str = ""


def parts_of_form(form: str) -> Parts:
    """Divide a date format into its parts."""
    tag = TAG.search(form)
    form = TAG.sub("", form)
    zone = ZONE_OF_FORM.search(form)
    base = ZONE_OF_FORM.sub(r"\1", form)
    fraction = FRACTION_OF_FORM.search(base)
    weekday = WEEKDAY_OF_FORM.match(base)
    base = WEEKDAY_OF_FORM.sub("", FRACTION_OF_FORM.sub("", base), count=1)
    base = base.replace("%e", "%d").replace("%P", "%p")
    return Parts(
        base=re.sub(r"%[-^](?=[a-zA-Z])", "%", base),
        weekday=_group(weekday, 1),
        digits=int(_group(fraction, 1) or 6) if fraction else 0,
        zone=_group(zone, 3),
        tag=_group(tag, 1),
    )


def _group(match: re.Match | None, number: int) -> str:
    if match:
        return match[number]
    return ""


def hours_of(zone: str) -> float | None:
    """Return the UTC offset, in hours, of a time zone written in a cell, or None if unknown."""
    offset = re.search(r"([+-])(\d\d):?(\d\d)?", zone)
    if offset:
        hours = int(offset[2]) + int(offset[3] or 0) / 60
        if offset[1] == "-":
            return -hours
        return hours
    return ZONES.get(re.split(r"[ \[(]", zone)[0])


def time_in(cell: str, form: str) -> str:
    """Return an SQL expression for the time in a cell, or null if the format does not match.

    Times with another UTC offset are converted to the offset of the format.
    """
    parts = parts_of_form(form)
    if not KNOWN_CODES.fullmatch(parts.base):  # a form from a file; DuckDB rejects unknown codes
        return "cast(null as timestamp)"
    text = f"regexp_replace({cell}, '\\s+', ' ', 'g')"
    if parts.tag:
        names = _names_of(parts.base, parts.tag)
        if names is not None:
            text = names.sql(text)
    text = f"regexp_replace({text}, '(?i)\\bsept\\b', 'Sep')"
    shift = ""
    if parts.weekday:
        is_named = f"regexp_matches({text}, '^{WEEKDAY_PATTERN}\\.?,? ')"
        text = (
            f"case when {is_named} then regexp_replace({text}, '^{WEEKDAY_PATTERN}\\.?,? ', '') end"
        )
    if parts.zone:
        zone = f"regexp_extract({text}, '{ZONE_OF_CELL}', 3)"
        shift = f" + {_shift(zone, hours_of(parts.zone))}"
        if hours_of(parts.zone) is None:
            return "cast(null as timestamp)"
        text = f"case when {zone} <> '' then regexp_replace({text}, '{ZONE_OF_CELL}', '\\1\\4') end"
    if parts.digits:
        digits = f"regexp_extract({text}, ':\\d\\d[.,](\\d{{1,9}})', 1)"
        shift += f" + to_microseconds(cast(rpad(left({digits}, 6), 6, '0') as bigint))"
        text = f"regexp_replace({text}, '(:\\d\\d)[.,]\\d{{1,9}}', '\\1')"
    text = f"regexp_replace({text}, '(?i)\\b([ap])\\.m\\b\\.?', '\\1m')"
    return f"(try_strptime({text}, '{quoted(parts.base)}'){shift})"


def _shift(zone: str, hours: float | None) -> str:
    """Return an SQL expression for the interval by which `hours` exceeds a zone's UTC offset."""
    sign = f"(case when contains({zone}, '-') then -1 else 1 end)"
    digits = f"regexp_extract({zone}, '[+-](\\d\\d):?(\\d\\d)?', ['h', 'm'])"
    offset = f"{sign} * (60 * cast({digits}.h as int) + coalesce(try_cast({digits}.m as int), 0))"
    names = " ".join(f"when '{name}' then {int(60 * h)}" for name, h in ZONES.items())
    minutes = f"case when {digits}.h <> '' then {offset} else case {zone} {names} end end"
    return f"to_minutes({int(60 * (hours or 0.0))} - ({minutes}))"


def times_of(connection: Any, texts: Sequence[str], form: str) -> list[datetime | None]:
    """Parse texts as times in a format; texts that do not match become None."""
    time = time_in("text", form)
    rows = connection.execute(f"select {time} from (select unnest(?) as text)", [list(texts)])
    return [row[0] for row in rows.fetchall()]


def write_date(time: datetime, form: str) -> str:
    """Return a time as text in a given format."""

    def code(match: re.Match) -> str:
        flag = match[1]
        letter = match[2]
        if letter not in CODES:  # a form may come from a file
            return match[0]
        if letter == "f" and flag:
            # A form may have nine digits, but a time has only six.
            return f"{time.microsecond:06}000"[: int(flag)]
        if letter == "e":
            return f"{time.day:2}"
        if letter == "P":
            return time.strftime("%p").lower()
        names = TAGGED.get((letter, match[3] or ""))
        text = time.strftime(f"%{letter}")
        if names is not None:
            text = names.name(time)
        if flag == "-":
            return text.lstrip("0") or "0"
        if flag == "^":
            return text.upper()
        return text

    return re.sub(r"%([-^\d]?)([a-zA-Z%])(?:\{([a-z]{2})\})?", code, form)


def forms_of(cells: Iterable[str]) -> list[str]:
    """Return the formats that cells of a column may have, given their numbers and month names."""
    forms: dict[str, None] = {}  # in the order of their first cells
    for cell in cells:
        text = " ".join(cell.split())
        forms |= dict.fromkeys(_forms_of_cell(text))
        for (code, tag), names in TAGGED.items():
            english = names.in_english(text)
            if english != text:
                tagged = rf"\1{{{tag}}}"  # the tag follows the code
                pattern = rf"(%{code})(?![a-z{{])"
                translated = (re.sub(pattern, tagged, f, count=1) for f in _forms_of_cell(english))
                forms |= dict.fromkeys(translated)
        if len(forms) > MOST_FORMS:
            break
    return list(forms)[:MOST_FORMS]


def _forms_of_cell(cell: str) -> list[str]:
    weekday = re.match(rf"({WEEKDAY_PATTERN})(\.?,? )", cell)
    rest = cell
    prefix = ""
    if weekday:
        prefix = "%A" + weekday[2]
        if len(weekday[1]) == len("Mon"):
            prefix = "%a" + weekday[2]
        rest = cell[weekday.end() :]
    digits = re.fullmatch(r"\d{8}([T ])(\d{4}|\d{6})(Z?)", rest)
    if digits:
        time = "%H%M%S"[: len(digits[2])]  # each code is as long as its two digits
        return [f"%Y%m%d{digits[1]}{time}{digits[3]}"]
    if re.fullmatch(r"\d{4}M\d\d", rest):
        return ["%YM%m"]  # of Eurostat
    with_word = re.fullmatch(r"(.*\d:\d\d)( Uhr| h| hrs)", rest)
    if with_word:
        return [prefix + form + with_word[2] for form in _forms_of_cell(with_word[1])]
    clock = re.search(rf"(?P<gap>(?<=\d)[T_]|, | at | |:)?(?<!\d){CLOCK}(?=$| )", rest)
    if clock is None:
        return [prefix + day for day in _days(rest)]
    time = (clock["gap"] or "") + _clock_form(clock)
    days = _days(f"{rest[: clock.start()]}|{rest[clock.end() :]}")
    return [prefix + day.replace("|", time, 1) for day in days]


def _clock_form(clock: re.Match) -> str:
    """Return the format of a time of day that `CLOCK` matches."""
    half = clock["half"] or ""
    form = "%I:%M" if half else "%H:%M"
    if clock["seconds"]:
        form += ":%S"
    if clock["fraction"]:
        form += f"{clock['fraction'][0]}%{len(clock['fraction']) - 1}f"
    if half:
        form += " " * half.startswith(" ") + "%p"
    return form + (clock["zone"] or "")


def _days(text: str) -> list[str]:
    """Return the possible formats of a date; "|" marks the position of a time of day, if any."""
    pieces = re.findall(rf"\d+|{MONTH_PATTERN}\.?|\||{SEPARATORS}|.", text)
    kinds = [_kind(piece) for piece in pieces]
    numbers = kinds.count("number")
    names = kinds.count("name")
    years = kinds.count("Y")
    if "other" in kinds or names > 1 or years > 1:
        return []
    orders = ORDERS["Y" if years else "", names == 1].get(numbers, ())
    if years and not names and kinds[0] != "Y":
        orders = YEAR_LAST.get(numbers, orders)
    if orders == ("y",) and not re.fullmatch(rf"{MONTH_PATTERN}\.?[-'/ ]*[-'/]\d\d", text):
        return []  # "May 5" has no year
    codes = _codes_of_month(pieces, kinds)
    return [_spelled(pieces, kinds, order, code) for order in orders for code in codes]


def _kind(piece: str) -> str:
    if piece.isdigit():
        return {1: "number", 2: "number", 4: "Y"}.get(len(piece), "other")
    if piece == "|":
        return "time"
    if re.fullmatch(rf"{MONTH_PATTERN}\.?", piece):
        return "name" if _is_month(piece) else "other"
    return "between" if re.fullmatch(SEPARATORS, piece) else "other"


def _is_month(piece: str) -> bool:
    word = piece.lower().removesuffix(".")
    return word in ("sept", *LOWER_MONTHS) or word in {month[:3] for month in LOWER_MONTHS}


def _codes_of_month(pieces: list[str], kinds: list[str]) -> tuple[str, ...]:
    """Return the possible codes for the name of a month, or ("",) if there is no name."""
    if "name" not in kinds:
        return ("",)
    name = pieces[kinds.index("name")].lower().removesuffix(".")
    if name == "may":
        return ("%b", "%B")
    if name in LOWER_MONTHS:
        return ("%B",)
    return ("%b",)


def _spelled(pieces: list[str], kinds: list[str], order: str, month: str) -> str:
    """Build a format from the pieces of a cell, given the order of its numbers, such as "dm"."""
    codes = iter(order)
    form = ""
    for piece, kind in zip(pieces, kinds, strict=True):
        if kind == "number":
            form += f"%{next(codes)}"
        elif kind == "Y":
            form += "%Y"
        elif kind == "name":
            form += month + "." * piece.endswith(".")
        else:
            form += piece
    return form


def as_written(connection: Any, form: str, cells: list[str]) -> str:
    """Return the format with the leading zeros and capitals that reproduce the most cells."""
    variants = [
        form,
        re.sub(r"%([HI])", r"%-\1", form),
        re.sub(r"%([dm])", r"%-\1", form),
        re.sub(r"%d", r"%-d", form),
        re.sub(r"%([dmHI])", r"%-\1", form),
        re.sub(r"%d", r"%e", form),
    ]
    variants += [variant.replace("%p", "%P") for variant in variants]
    variants += [re.sub(r"%([aAbB])", r"%^\1", variant) for variant in variants]
    # The shortest cells show whether days and hours have leading zeros.
    sample = sorted(cells, key=len)[:SHOWING]
    times = times_of(connection, sample, form)
    pairs = [(c, time) for c, time in zip(sample, times, strict=True) if time is not None]

    def returned(variant: str) -> int:
        return sum(write_date(time, variant) == cell for cell, time in pairs)

    return max(dict.fromkeys(variants), key=returned)


def other_order(form: str) -> str:
    """Return the format with day and month exchanged, or "" if only one order is common."""
    match = re.search(r"%-?[dm]([-/])%-?[dm]\1(?=%[Yy])", form)
    if match is None:
        return ""
    turned = match[0].translate(str.maketrans("dm", "md"))
    return form[: match.start()] + turned + form[match.end() :]


def has_times(form: str) -> bool:
    """Return whether a date format includes a time of day."""
    return re.search("%-?[HI]", form) is not None


def is_date(form: str) -> bool:
    """Return whether a format is for dates, unlike "# %", which is for numbers."""
    return "%" in form and "#" not in form


def checked_dates(raw: RawColumn, label: str, form: str) -> RawColumn:
    """Return a column after checking that all of its cells that are not missing are dates.

    Raises:
        InputError: a cell is not a date; the message gives the first such cell.
    """
    if raw.cell_kind is CellKind.DATES or raw.is_missing.all():
        return raw
    words = words_of(raw)
    rows = np.flatnonzero(~raw.is_missing)
    with closing(opened_database()) as connection:
        times = times_of(connection, words[rows].tolist(), form)
    pairs = zip(rows, times, strict=True)
    row = next((row for row, time in pairs if time is None), rows[0])
    raise InputError(
        f"{label}: column {raw.name!r}: expected dates such as {shown_date(form, EXAMPLE)};"
        f" got {str(words[row])[:40]!r} in row {row + 1}; correct it."
    )


def parsed_date(name: str, form: str, text: str) -> RawColumn:
    """Parse a date entered by the user, in the column's format or with the year first.

    The date is returned as a column with one cell.

    Raises:
        ValueError: the text is not a date.
    """
    with closing(opened_database()) as connection:
        own = (form, WEEKDAY_OF_FORM.sub("", form, count=1))  # the weekday may be omitted
        for form_of_text in (*own, "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"):
            (date,) = times_of(connection, [text], form_of_text)
            if date is not None:
                return RawColumn(name, np.array([date], "datetime64[us]"), form)
    raise ValueError(text)


def shown_date(form: str, cell: Any) -> str:
    """Return a date as text in a given format."""
    return write_date(cell.astype("datetime64[us]").item(), form)


# --- Columns of dates and of times of day in text ------------------------------------------------


def sample_of(connection: Any) -> list[str]:
    """Return a sample of the cells in the table `seen`, without words for missing cells."""
    rows = connection.execute(
        f"select cell from seen where cell is not null limit {CELLS_LOOKED_AT}"
    ).fetchall()
    return [row[0] for row in rows if not is_gap(row[0])][:SAMPLED]


def dates_readings(connection: Any, name: str, sample: list[str]) -> list[Reading]:
    """Return a reading of `seen` as dates for each format that half of a sample or more has."""
    forms = forms_of(sample)
    if not forms:
        return []
    times = ", ".join(f"count({time_in('text', form)})" for form in forms)
    counts = connection.execute(
        f"select {times} from (select unnest(?) as text)", [sample]
    ).fetchone()
    likely = [form for form, n in zip(forms, counts, strict=True) if 2 * n >= len(sample)]
    if not likely:
        return []
    values = [_within_years(time_in("cell", form)) for form in likely]
    measured = ", ".join(f"count({t}), epoch(max({t})) - epoch(min({t}))" for t in values)
    measures = row_of(connection, measured)
    readings = []
    for i in _by_years(likely, measures[1::2]):
        column = partial(_column_of_dates, connection, name, likely[i], sample)
        readings.append(Reading(values[i], measures[2 * i], *OF_DATES, column))
    return readings


def _by_years(forms: list[str], spans: Sequence[float | None]) -> list[int]:
    """Return the indices of formats in the order in which they should be tried.

    For dates such as 24-08-22, a format with the year first is tried first if it yields dates
    that are much closer together.
    """
    places = list(range(len(forms)))
    year_first = [i for i in places if forms[i].startswith("%y")]
    year_last = [i for i in places if "%y" in forms[i] and i not in year_first]
    span_if_first = min((spans[i] or 0.0 for i in year_first), default=np.inf)
    span_if_last = min((spans[i] or 0.0 for i in year_last), default=0.0)
    if 2 * span_if_first < span_if_last:
        return year_first + [i for i in places if i not in year_first]
    return places


def _within_years(time: str) -> str:
    """Return an SQL expression for a time, which is null if the year is implausible."""
    first = f"timestamp '{YEARS[0]}-01-01'"
    last = f"timestamp '{YEARS[1]}-01-01'"
    return f"case when {time} >= {first} and {time} < {last} then {time} end"


def _column_of_dates(
    connection: Any, name: str, form: str, sample: list[str], values: np.ndarray
) -> RawColumn | None:
    """Return a column of dates with their format, or None if they are implausible as dates."""
    values = values.astype("datetime64[us]")
    if not _is_plausible(connection, form, values):
        return None
    parts = parts_of_form(form)
    note = ""
    if parts.zone:
        zones = _zones(connection)
        if len(zones) > 1:
            form = ZONE_OF_FORM.sub(lambda match: match[1] + match[2] + _utc(match[3]), form)
            values = fetched(connection, time_in("cell", form)).astype("datetime64[us]")
            note = f"times of different offsets ({' and '.join(zones[:2])}), converted to UTC"
    if parts.digits:
        fraction = "regexp_extract(cell, ':\\d\\d[.,](\\d{1,9})', 1)"
        (longest,) = row_of(connection, f"max(length({fraction}))")
        form = re.sub(r"%\d?f", f"%{longest or 1}f", form)
    written = as_written(connection, form, sample)
    return RawColumn(name, values, without_times(values, written), note)


def _zones(connection: Any) -> list[str]:
    """Return at most three different offsets from UTC that occur in the cells."""
    zone = f"regexp_extract(cell, '{ZONE_OF_CELL}', 3)"
    rows = connection.execute(
        f"select {zone} as z from seen where cell is not null group by z having z <> ''"
        " order by z limit 3"
    ).fetchall()
    return [row[0] for row in rows]


def _utc(zone: str) -> str:
    """Return UTC in the notation of `zone`: an offset such as "+00:00", or "Z", or "UTC"."""
    if re.fullmatch(r"[+-]\d\d(:?\d\d)?", zone):
        return "+" + re.sub(r"\d", "0", zone[1:])
    return "Z" if zone == "Z" else "UTC"


def dates_of_form(connection: Any, name: str, form: str) -> Reading:
    """Return a reading of the table `seen` as dates in a known format."""
    value = time_in("cell", form)
    (fits,) = row_of(connection, f"count({value})")

    def column(values: np.ndarray) -> RawColumn:
        return RawColumn(name, values.astype("datetime64[us]"), form)

    return Reading(value, fits, *OF_DATES, column)


def _is_plausible(connection: Any, form: str, values: np.ndarray) -> bool:
    """Return whether cells are dates rather than version numbers (1.2.10) or seasons (2003-04)."""
    known = values[~np.isnat(values)]
    if not len(known):
        return False
    if "%y" in form:
        padded = matches("cell", r"\d\d\D.*|\D.*")
        (is_padded,) = row_of(connection, f"bool_and({padded})")
        months = known.astype("datetime64[M]").astype(np.int64) % 12 + 1
        # Version numbers start at 0 or 1 and rarely exceed 20.10.
        is_no_version = _days_of_month(known).max() > 20 and months.max() >= 10
        is_safe = SAFE[0] <= known.min() and known.max() < SAFE[1]
        return bool(is_safe and ("." not in form or is_padded or is_no_version))
    if form == "%Y-%m":
        months = known.astype("datetime64[M]").astype(np.int64)
        # The second number of a season is the year after the first.
        return bool(((months // 12 + 1971) % 100 != months % 12 + 1).any())
    return True


def dates_in_digits(connection: Any, raw: RawColumn) -> RawColumn:
    """Convert a column of numbers such as 20240131 to dates if all of its numbers are dates."""
    if raw.cell_kind is not CellKind.NUMBERS or raw.form:
        return raw
    known = raw.known
    if not len(known) or known.min() < FIRST_DAY or (known != np.floor(known)).any():
        return raw
    digits = len(f"{known.min():.0f}")
    form = DIGITS.get(digits, "")
    days = known // 10 ** max(0, digits - 8)
    if not form or days.min() < FIRST_DAY or days.max() > LAST_DAY:
        return raw
    reading = dates_of_form(connection, raw.name, form)
    if reading.fits < len(known):
        return raw
    values = fetched(connection, reading.value).astype("datetime64[us]")
    return RawColumn(raw.name, values, without_times(values, form), raw.note)


def without_times(values: np.ndarray, form: str) -> str:
    """Return the date format, with the time of day as fixed text if all times are midnight."""
    known = values[~np.isnat(values)]
    if not len(known) or (known != known.astype("datetime64[D]")).any():
        return form
    form = re.sub(r"%(\d)f", lambda code: "0" * int(code[1]), form)
    return re.sub("%-?[HMSfIpP]", lambda code: MIDNIGHT[code[0]], form)


def likely_clock(connection: Any, name: str, sample: list[str]) -> list[Reading]:
    """Return a list of one reading of `seen` as times of day, or [] if most cells are not times."""
    likely = [text for text in sample if re.match(CLOCK_PARTS[0], text)]
    if 2 * len(likely) > len(sample):
        return [clock_reading(connection, name)]
    return []


def clock_reading(connection: Any, name: str, known: str = "") -> Reading:
    """Return a reading of the table `seen` as times of day, in the format `known` if given."""
    parts = f"regexp_extract(cell, '{CLOCK_PARTS[0]}', {CLOCK_PARTS[1]})"
    with_seconds, with_half, digits, is_short, gap, small, times = row_of(
        connection,
        f"count_if({parts}.second <> ''), count_if({parts}.half <> ''),"
        f" max(length({parts}.fraction)), count_if(length({parts}.hour) = 1),"
        f" mode({parts}.gap) filter ({parts}.half <> ''),"
        f" count_if({parts}.half in ('a', 'p')), count_if({parts}.hour <> '')",
    )
    has_seconds = 2 * with_seconds > times
    is_half = with_half > 0
    if known:
        has_seconds = "%S" in known
        is_half = "%I" in known or "%-I" in known
    hour = f"cast({parts}.hour as int)"
    hour_of_day = hour
    if is_half:
        hour_of_day += f" % {NOON} + case when lower({parts}.half) = 'p' then {NOON} else 0 end"
    minutes = f"60 * ({hour_of_day}) + cast({parts}.minute as int)"
    second = f"cast({parts}.second || '.' || {parts}.fraction || '0' as double)"
    number = f"1.0 * ({minutes})"  # a double, like columns of numbers
    if has_seconds:
        number = f"60.0 * ({minutes}) + {second}"
    has_parts = f"{parts}.hour <> '' and ({parts}.second <> '') = {str(has_seconds).lower()}"
    if is_half:
        has_parts += f" and {parts}.half <> '' and {hour} between 1 and {NOON}"
    value = f"case when {has_parts} then {number} end"
    form = known
    if not known:
        form = "%H:%M" + ":%S" * has_seconds
        if has_seconds and digits:
            form += f".%{digits}f"
        if is_half:
            form = form.replace("H", "I") + (gap or "") + "%p"
        if is_short:
            form = form.replace("%", "%-", 1)
        if small:
            form = form.replace("%p", "%P")
    (fits,) = row_of(connection, f"count({value})")
    unit = "seconds" if has_seconds else "minutes"
    column = partial(RawColumn, name, form=form, note=f"times, as numbers of {unit}")
    return Reading(value, fits, "times of day", "time of day like the others", column)


def in_one_order(columns: list[RawColumn], known: Collection[str]) -> list[RawColumn]:
    """Return the columns, with ambiguous orders of day and month resolved by the other columns.

    Args:
        columns: the columns, each read independently of the others.
        known: the names of columns whose format must not change.
    """
    doubtful = {c.name for c in columns if _fits_both_orders(c) and c.name not in known}
    names_by_order = {
        _is_day_first(column.form): column.name
        for column in columns
        if column.cell_kind is CellKind.DATES and other_order(column.form)
        if column.name not in doubtful
    }
    ordered = []
    for column in columns:
        if column.name not in doubtful:
            ordered.append(column)
        elif len(names_by_order) == 1:
            [(day_first, name)] = names_by_order.items()
            if day_first != _is_day_first(column.form):
                column = _turned(column)
            ordered.append(with_notes(column, f"day and month in the order of {name!r}"))
        else:
            ordered.append(with_notes(column, _note_on_order(column)))
    return ordered


def _is_day_first(form: str) -> bool:
    return form.find("d") < form.find("m")


def _fits_both_orders(column: RawColumn) -> bool:
    """Return whether all dates of a column remain valid if day and month are exchanged."""
    if column.cell_kind is not CellKind.DATES or not other_order(column.form):
        return False
    return bool((_days_of_month(column.known) <= 12).all())


def _days_of_month(dates: np.ndarray) -> np.ndarray:
    months = dates.astype("datetime64[M]")
    return (dates.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64) + 1


def _turned(column: RawColumn) -> RawColumn:
    """Return a column of dates with the day and month of each date exchanged."""
    values = column.values
    years = values.astype("datetime64[Y]").astype("datetime64[M]")
    months = values.astype("datetime64[M]")
    days = values.astype("datetime64[D]")
    day_of_month = (days - months.astype("datetime64[D]")).astype(np.int64)  # from 0
    new_months = years + day_of_month
    new_days = new_months.astype("datetime64[D]") + (months - years).astype(np.int64)
    turned = new_days.astype("datetime64[us]") + (values - days)
    return replace(column, values=turned, form=other_order(column.form))


def _note_on_order(column: RawColumn) -> str:
    """Return a note on how ambiguous dates were read, or "" if no date is ambiguous."""
    dates = column.known
    day = _days_of_month(dates)
    month = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    unclear = dates[day != month]
    if not len(unclear):
        return ""
    shown = shown_date(column.form, unclear[0])
    order = "the day first" if _is_day_first(column.form) else "the month first"
    return f"{shown} is read with {order}, as no cell decides; the form 2024-01-31 is clear"
