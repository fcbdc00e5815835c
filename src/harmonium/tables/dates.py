"""Dates and times: their forms in text, and the numbers and parts that they consist of.

A form is a format of `datetime.strftime`, with "%-d" for a day without a zero, "%e" with a space,
"%^b" for capitals, "%P" for "pm", "%3f" for three digits of a second, an offset from UTC as it
stands in the cells: "%H:%M:%S+02:00". A tag in braces behind a code names the language of a month,
or marks days such as 3rd: "%-d. %B{de} %Y", "%B %-d{th}, %Y". DuckDB and Python read the same
forms: `time_in` writes the SQL, `read_date` is its like in Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from .frames import CellKind, RawColumn, words_of
from .number_forms import quoted

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
ZONES = {  # hours from UTC, of names in e-mails and of Europe
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
# "1 de enero de 2023", and the words for year, month and day of East Asia
SEPARATORS = r" (?:de|of) |[-/., ']{1,3}|[年月日년월일] ?"
# Orders of the numbers of a date, by whether it has a year of four digits and a month's name.
ORDERS: dict[tuple[str, bool], dict[int, tuple[str, ...]]] = {
    ("Y", False): {2: ("md", "dm"), 1: ("m",)},
    ("Y", True): {1: ("d",), 0: ("",)},
    ("", False): {3: ("dmy", "mdy", "ymd")},
    ("", True): {2: ("dy",), 1: ("y",)},
}
YEAR_LAST: dict[int, tuple[str, ...]] = {2: ("dm", "md")}  # the day comes first if both orders fit
SHOWING = 20  # cells by which the zeros and capitals of a form are chosen
MOST_FORMS = 40  # that are tried; cells of more shapes are no column of dates
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(map(str, range(24)))
NAMES = {"month": MONTHS, "weekday": WEEKDAYS, "hour": HOURS}
YEARS = 1500, 2200  # of dates in words, and of numbers that are taken for years
FROM_MONDAY = 3  # days from a Monday to 1 January 1970
EXAMPLE = np.datetime64("2024-01-31")  # in messages
# Seconds:
HOUR = 3_600
DAY = 86_400


class _MonthNames:
    """The names of months of a language, long (code B) or short (b)."""

    def __init__(self, code: str, language: str) -> None:
        self.code = code
        self.names = CODES_WITH_TAG[code][language].split()
        english = [name if code == "B" else name[:3] for name in MONTHS]
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
    """Days such as 3rd, of the interface of `_MonthNames`."""

    def in_english(self, text: str) -> str:
        return re.sub(ORDINALS, r"\1", text)

    def sql(self, text: str) -> str:
        return f"regexp_replace({text}, '{ORDINALS}', '\\1')"

    def name(self, time: datetime) -> str:
        last = 0 if 10 < time.day < 14 else time.day % 10
        return f"{time.day:02}" + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")


# What stands in a cell for a code with a tag.
TAGGED: dict[tuple[str, str], _MonthNames | _Ordinals] = {
    (code, tag): _MonthNames(code, tag) for code, tags in CODES_WITH_TAG.items() for tag in tags
}
TAGGED["d", ORDINAL] = _Ordinals()


class _Translation(NamedTuple):
    """A cell in English, and the code of its form that has a tag."""

    text: str
    code: str
    tag: str

    def tagged(self, form: str) -> str:
        """Return a form of the English text with the tag behind its code."""
        return re.sub(rf"(%{self.code})(?![a-z{{])", rf"\1{{{self.tag}}}", form, count=1)


def _translations(cell: str) -> list[_Translation]:
    """Return a cell in English for each language that it may be of."""
    return [
        _Translation(english, code, tag)
        for (code, tag), names in TAGGED.items()
        if (english := names.in_english(cell)) != cell
    ]


def _names_of(form: str, tag: str) -> _MonthNames | _Ordinals | None:
    """Return the names of the code that has a tag in a form; None without one."""
    code = "B" if re.search(r"%[-^]?B", form) else "b"
    return TAGGED.get(("d" if tag == ORDINAL else code, tag))


class Parts(NamedTuple):
    """What a form consists of.

    Attributes:
        base: the other parts, as a format that DuckDB and Python both read.
        weekday: the signs after the day of the week, or "".
        digits: the digits of a fraction of a second.
        zone: the offset from UTC in all cells, or "".
        tag: a language of the names of months, or "th" for days such as 3rd, or "".
    """

    base: str
    weekday: str
    digits: int
    zone: str
    tag: str = ""


def parts_of_form(form: str) -> Parts:
    """Return the parts of a form."""
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
    return match[number] if match else ""


def hours_of(zone: str) -> float | None:
    """Return the hours from UTC of a zone as it stands in a cell; None if it is not known."""
    offset = re.search(r"([+-])(\d\d):?(\d\d)?", zone)
    if offset:
        hours = int(offset[2]) + int(offset[3] or 0) / 60
        return -hours if offset[1] == "-" else hours
    return ZONES.get(re.split(r"[ \[(]", zone)[0])


def time_in(cell: str, form: str) -> str:
    """Return the SQL for the time in a cell of a form; null where there is none.

    Times of another offset than the form's are turned into times of that.
    """
    parts = parts_of_form(form)
    if not KNOWN_CODES.fullmatch(parts.base):  # a form from a file; DuckDB refuses unknown codes
        return "cast(null as timestamp)"
    text = f"regexp_replace({cell}, '\\s+', ' ', 'g')"
    if parts.tag:
        names = _names_of(parts.base, parts.tag)
        text = names.sql(text) if names else text
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
    """Return the SQL for the difference of an offset from that of a zone."""
    sign = f"(case when contains({zone}, '-') then -1 else 1 end)"
    digits = f"regexp_extract({zone}, '[+-](\\d\\d):?(\\d\\d)?', ['h', 'm'])"
    offset = f"{sign} * (60 * cast({digits}.h as int) + coalesce(try_cast({digits}.m as int), 0))"
    names = " ".join(f"when '{name}' then {int(60 * h)}" for name, h in ZONES.items())
    minutes = f"case when {digits}.h <> '' then {offset} else case {zone} {names} end end"
    return f"to_minutes({int(60 * (hours or 0.0))} - ({minutes}))"


def read_date(text: str, form: str) -> datetime | None:
    """Return the time that a text of a form stands for; None if it has another form."""
    parts = parts_of_form(form)
    text = " ".join(text.split())
    names = _names_of(parts.base, parts.tag)
    if names is not None:
        text = names.in_english(text)
    text = re.sub(r"(?i)\bsept\b", "Sep", text)
    if parts.weekday:
        text = re.sub(rf"^{WEEKDAY_PATTERN}\.?,? ", "", text)
    hours = 0.0
    if parts.zone:
        zone = re.search(ZONE_OF_CELL, text)
        if zone is None or hours_of(zone[3]) is None:
            return None
        hours = (hours_of(parts.zone) or 0.0) - (hours_of(zone[3]) or 0.0)
        text = re.sub(ZONE_OF_CELL, r"\1\4", text)
    fraction = re.search(r":\d\d[.,](\d{1,9})", text) if parts.digits else None
    if fraction:
        text = re.sub(r"(:\d\d)[.,]\d{1,9}", r"\1", text)
    text = re.sub(r"(?i)\b([ap])\.m\b\.?", r"\1m", text)
    try:
        time = datetime.strptime(text, parts.base)
        time += timedelta(hours=hours)
    except (ValueError, OverflowError, re.error):
        return None
    micro = int(f"{fraction[1]:0<6}"[:6]) if fraction else 0
    return time.replace(microsecond=micro)


def write_date(time: datetime, form: str) -> str:
    """Return a time in a form."""

    def code(match: re.Match) -> str:
        flag = match[1]
        letter = match[2]
        if letter not in CODES:  # a form may come from a file
            return match[0]
        if letter == "f" and flag:
            return f"{time.microsecond:06}000"[: int(flag)]
        if letter == "e":
            return f"{time.day:2}"
        if letter == "P":
            return time.strftime("%p").lower()
        names = TAGGED.get((letter, match[3] or ""))
        text = names.name(time) if names else time.strftime(f"%{letter}")
        if flag == "-":
            return text.lstrip("0") or "0"
        return text.upper() if flag == "^" else text

    return re.sub(r"%([-^\d]?)([a-zA-Z%])(?:\{([a-z]{2})\})?", code, form)


def forms_of(cells: Iterable[str]) -> list[str]:
    """Return the forms that the first cells of a column may have, by their numbers and names."""
    forms: dict[str, None] = {}  # in the order of their first cells
    for cell in cells:
        text = " ".join(cell.split())
        forms |= dict.fromkeys(_forms_of_cell(text))
        for translation in _translations(text):
            forms |= dict.fromkeys(
                translation.tagged(form) for form in _forms_of_cell(translation.text)
            )
        if len(forms) > MOST_FORMS:
            break
    return list(forms)[:MOST_FORMS]


def _forms_of_cell(cell: str) -> list[str]:
    weekday = re.match(rf"({WEEKDAY_PATTERN})(\.?,? )", cell)
    rest = cell
    prefix = ""
    if weekday:
        code = "%a" if len(weekday[1]) == len("Mon") else "%A"
        prefix = code + weekday[2]
        rest = cell[weekday.end() :]
    digits = re.fullmatch(r"\d{8}([T ])(\d{4}|\d{6})(Z?)", rest)
    if digits:
        seconds = "%S" if len(digits[2]) == 6 else ""
        return [f"%Y%m%d{digits[1]}%H%M{seconds}{digits[3]}"]
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
    """Return the form of a time of day."""
    half = clock["half"] or ""
    form = "%I:%M" if half else "%H:%M"
    if clock["seconds"]:
        form += ":%S"
    if clock["fraction"]:
        form += f"{clock['fraction'][0]}%{len(clock['fraction']) - 1}f"
    if half:
        form += " %p" if half.startswith(" ") else "%p"
    return form + (clock["zone"] or "")


def _days(text: str) -> list[str]:
    """Return the forms of a date, in which "|" may stand for a time of day."""
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
    """Return the codes that the name of a month may have; "" without one."""
    if "name" not in kinds:
        return ("",)
    name = pieces[kinds.index("name")].lower().removesuffix(".")
    if name == "may":
        return ("%b", "%B")
    return ("%B",) if name in LOWER_MONTHS else ("%b",)


def _spelled(pieces: list[str], kinds: list[str], order: str, month: str) -> str:
    """Return a form from the pieces of a cell, whose numbers have an order such as "dm"."""
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


def as_written(form: str, cells: list[str]) -> str:
    """Return the form, of those that read the same, in which most cells come back as they stand."""
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
    # The shortest cells show whether days and hours have zeros before them.
    sample = sorted(cells, key=len)[:SHOWING]

    def returned(variant: str) -> int:
        times = [(cell, read_date(cell, variant)) for cell in sample]
        return sum(time is not None and write_date(time, variant) == cell for cell, time in times)

    return max(dict.fromkeys(variants), key=returned)


def other_order(form: str) -> str:
    """Return a form with day and month in the other order; "" if only one order is usual."""
    match = re.search(r"%-?[dm]([-/])%-?[dm]\1(?=%[Yy])", form)
    if match is None:
        return ""
    turned = match[0].translate(str.maketrans("dm", "md"))
    return form[: match.start()] + turned + form[match.end() :]


def has_times(form: str) -> bool:
    """Return whether dates of a form have a time of day."""
    return re.search("%-?[HI]", form) is not None


def is_date(form: str) -> bool:
    """Return whether a form is one of dates; "# %" is one of numbers."""
    return "%" in form and "#" not in form


def since_1970(raw: RawColumn, *, by_week: bool = False) -> RawColumn:
    """Return the days since 1970, or the seconds if there are times, or the weeks; else NaN."""
    unit = "s" if has_times(raw.form) and not by_week else "D"
    if raw.cell_kind is not CellKind.DATES:
        return RawColumn(raw.name, np.full(len(raw.values), np.nan), raw.form)
    whole = raw.values.astype(f"datetime64[{unit}]")
    numbers = whole.astype(np.int64)
    if by_week:
        numbers = (numbers + FROM_MONDAY) // 7
    return RawColumn(raw.name, np.where(np.isnat(whole), np.nan, numbers), raw.form)


def ends_of(raw: RawColumn) -> tuple[str, str]:
    """Return the first and the last date, the year first, whatever their form."""
    unit = "s" if has_times(raw.form) else "D"
    seen = raw.known.astype(f"datetime64[{unit}]")
    return str(seen.min()), str(seen.max())


def checked_dates(raw: RawColumn, label: str, form: str) -> RawColumn:
    """Return a column, if all of its cells that are not missing are dates.

    Raises:
        InputError: they are not; the first that is no date of this form is named.
    """
    if raw.cell_kind is CellKind.DATES or raw.is_missing.all():
        return raw
    words = words_of(raw)
    rows = np.flatnonzero(~raw.is_missing)
    row = next((row for row in rows if read_date(words[row], form) is None), rows[0])
    raise InputError(
        f"{label}: column {raw.name!r}: expected dates such as {shown_date(form, EXAMPLE)};"
        f" got {str(words[row])[:40]!r} in row {row + 1}; correct it."
    )


def parsed_date(name: str, form: str, text: str) -> RawColumn:
    """Return a column of one date that a user wrote, in the table's form or the year first.

    Raises:
        ValueError: it is no date.
    """
    for form_of_text in (form, "%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"):
        date = read_date(text, form_of_text)
        if date is not None:
            return RawColumn(name, np.array([date], "datetime64[us]"), form)
    raise ValueError(text)


def shown_date(form: str, cell: Any) -> str:
    """Return a date in its form."""
    return write_date(cell.astype("datetime64[us]").item(), form)


class DateParts(NamedTuple):
    """The parts of dates.

    Attributes:
        months: since 1970.
        days: since 1970.
        day: of the month, from 1.
        hour: of the day.
        moment: the second of the hour.
    """

    months: np.ndarray
    days: np.ndarray
    day: np.ndarray
    hour: np.ndarray
    moment: np.ndarray

    def part(self, name: str) -> np.ndarray:
        """Return the cells of a part by its name."""
        if name == "year":
            return (self.months // 12 + 1970).astype(float)
        if name == "week":
            mondays = self.days - self.place("weekday")
            return mondays.astype("datetime64[D]").astype("datetime64[us]")
        return np.array(NAMES[name], object)[self.place(name)]

    def place(self, name: str) -> np.ndarray:
        """Return the month, the day of the week or the hour, from 0."""
        if name == "weekday":
            return (self.days + FROM_MONDAY) % 7
        return self.months % 12 if name == "month" else self.hour


def date_parts(raw: RawColumn) -> DateParts:
    """Return the parts of dates; those of 1 January 1970 where one is missing."""
    values = np.zeros(len(raw.values), "datetime64[s]")
    if raw.cell_kind is CellKind.DATES:
        values = np.where(raw.is_missing, values, raw.values.astype("datetime64[s]"))
    days = values.astype("datetime64[D]")
    months = values.astype("datetime64[M]")
    seconds = values.astype(np.int64) % DAY
    return DateParts(
        months=months.astype(np.int64),
        days=days.astype(np.int64),
        day=(days - months.astype("datetime64[D]")).astype(np.int64) + 1,
        hour=seconds // HOUR,
        moment=seconds % HOUR,
    )


class DaysOfMonths(NamedTuple):
    """Days of months that fall on a day of the week, or all days.

    Attributes:
        first: the first such day of each month, since 1970.
        step: the days from such a day to the next.
        count: how many there are in each month.
    """

    first: np.ndarray
    step: int
    count: np.ndarray


def days_of_months(months: np.ndarray, weekday: np.ndarray | None) -> DaysOfMonths:
    """Return the days of months since 1970 that fall on a day of the week; all if that is None."""
    start = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    end = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    if weekday is None:
        return DaysOfMonths(start, 1, end - start)
    first = start + (place_of(weekday, WEEKDAYS) - start - FROM_MONDAY) % 7
    return DaysOfMonths(first, 7, (end - first + 6) // 7)


def place_of(words: np.ndarray, known: tuple[str, ...]) -> np.ndarray:
    """Return the place of each word among those known."""
    places = {word: i for i, word in enumerate(known)}
    return np.array([places[word] for word in words], np.int64)


def single_value(values: np.ndarray) -> int | None:
    """Return the only value, or None if there are several."""
    return int(values[0]) if len(set(values.tolist())) == 1 else None


def span_of(raw: RawColumn) -> float:
    """Return the days from the first to the last date."""
    days = raw.known.astype("datetime64[D]").astype(np.int64)
    return float(days.max() - days.min())
