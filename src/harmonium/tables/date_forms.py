"""The forms of dates in text: found from cells, read by DuckDB and Python, and written again.

A form is a format of `datetime.strftime`, with "%-d" for a day without a zero, "%e" with a space,
"%^b" for capitals, "%P" for "pm", "%3f" for three digits of a second, an offset from UTC as it
stands in the cells: "%H:%M:%S+02:00", and the tags of `month_names`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from .month_names import in_english, sql_in_english, tagged, tags_of, translations, written
from .notations import quoted

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
MONTHS = r"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
WEEKDAYS = r"(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*"
AFTER_CLOCK = r"(T\d{4,6}|:\d\d(?:[.,]\d{1,9})?(?: ?[AaPp]\.?[Mm]\b\.?)?)"
ZONE_OF_CELL = rf"{AFTER_CLOCK}( ?)({ZONE}){IN_BRACKETS}( \d{{4}})?$"
ZONE_OF_FORM = re.compile(rf"(%[MSfpP]|:00)( ?)((?:{ZONE}){IN_BRACKETS})(?= |$)")
FRACTION_OF_FORM = re.compile(r"[.,]%(\d?)f")
WEEKDAY_OF_FORM = re.compile(r"%\^?[aA](\.?,? )")
KNOWN_CODES = re.compile(r"(?:[^%]|%[YymdbBHMSIp])*")
CODES = "YymdbBaAHMSIpPfe"
# "1 de enero de 2023", and the words for year, month and day of East Asia
SEPARATORS = r" (?:de|of) |[-/., ']{1,3}|[年月日년월일] ?"
ORDERS: dict[
    tuple[str, bool], dict[int, tuple[str, ...]]
] = {  # of the numbers of a date, by whether it has a year of four digits and a month's name
    ("Y", False): {2: ("md", "dm"), 1: ("m",)},
    ("Y", True): {1: ("d",), 0: ("",)},
    ("", False): {3: ("dmy", "mdy", "ymd")},
    ("", True): {2: ("dy",), 1: ("y",)},
}
YEAR_LAST: dict[int, tuple[str, ...]] = {2: ("dm", "md")}  # the day comes first if both orders fit
SHOWING = 20  # cells by which the zeros and capitals of a form are chosen
MOST_FORMS = 40  # that are tried; cells of more shapes are no column of dates


class Parts(NamedTuple):
    """What a form consists of.

    Attributes:
        base: a format that DuckDB and Python read alike, of what is left.
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
    form, tag = tags_of(form)
    zone = ZONE_OF_FORM.search(form)
    base = ZONE_OF_FORM.sub(r"\1", form)
    fraction = FRACTION_OF_FORM.search(base)
    weekday = WEEKDAY_OF_FORM.match(base)
    base = WEEKDAY_OF_FORM.sub("", FRACTION_OF_FORM.sub("", base), count=1)
    base = base.replace("%e", "%d").replace("%P", "%p")
    digits = int(fraction[1] or 6) if fraction else 0
    return Parts(
        re.sub(r"%[-^](?=[a-zA-Z])", "%", base),
        weekday[1] if weekday else "",
        digits,
        zone[3] if zone else "",
        tag,
    )


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
        text = sql_in_english(text, parts.base, parts.tag)
    text = f"regexp_replace({text}, '(?i)\\bsept\\b', 'Sep')"
    shift = ""
    if parts.weekday:
        is_named = f"regexp_matches({text}, '^{WEEKDAYS}\\.?,? ')"
        text = f"case when {is_named} then regexp_replace({text}, '^{WEEKDAYS}\\.?,? ', '') end"
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
    """Return the SQL for what a time of a zone lacks to that of an offset."""
    sign = f"(case when contains({zone}, '-') then -1 else 1 end)"
    digits = f"regexp_extract({zone}, '[+-](\\d\\d):?(\\d\\d)?', ['h', 'm'])"
    offset = f"{sign} * (60 * cast({digits}.h as int) + coalesce(try_cast({digits}.m as int), 0))"
    names = " ".join(f"when '{name}' then {int(60 * h)}" for name, h in ZONES.items())
    minutes = f"case when {digits}.h <> '' then {offset} else case {zone} {names} end end"
    return f"to_minutes({int(60 * (hours or 0.0))} - ({minutes}))"


def read_date(text: str, form: str) -> datetime | None:
    """Return the time that a text of a form stands for; None if it has another form."""
    parts = parts_of_form(form)
    text = in_english(" ".join(text.split()), parts.base, parts.tag)
    text = re.sub(r"(?i)\bsept\b", "Sep", text)
    if parts.weekday:
        text = re.sub(rf"^{WEEKDAYS}\.?,? ", "", text)
    hours = difference = 0.0
    if parts.zone:
        zone = re.search(ZONE_OF_CELL, text)
        if zone is None or hours_of(zone[3]) is None:
            return None
        hours, difference = hours_of(parts.zone) or 0.0, hours_of(zone[3]) or 0.0
        text = re.sub(ZONE_OF_CELL, r"\1\4", text)
    fraction = re.search(r":\d\d[.,](\d{1,9})", text) if parts.digits else None
    if fraction:
        text = re.sub(r"(:\d\d)[.,]\d{1,9}", r"\1", text)
    text = re.sub(r"(?i)\b([ap])\.m\b\.?", r"\1m", text)
    try:
        time = datetime.strptime(text, parts.base)
        time += timedelta(hours=hours - difference)
    except (ValueError, OverflowError, re.error):
        return None
    micro = int(f"{fraction[1]:0<6}"[:6]) if fraction else 0
    return time.replace(microsecond=micro)


def write_date(time: datetime, form: str) -> str:
    """Return a time in a form."""

    def code(match: re.Match) -> str:
        flag, letter, tag = match[1], match[2], match[3] or ""
        if letter not in CODES:  # a form may come from a file
            return match[0]
        if letter == "f" and flag:
            return f"{time.microsecond:06}000"[: int(flag)]
        if letter == "e":
            return f"{time.day:2}"
        if letter == "P":
            return time.strftime("%p").lower()
        text = written(time, letter, tag) or time.strftime(f"%{letter}")
        if flag == "-":
            return text.lstrip("0") or "0"
        return text.upper() if flag == "^" else text

    return re.sub(r"%([-^\d]?)([a-zA-Z%])(?:\{([a-z]{2})\})?", code, form)


def forms_of(cells: Iterable[str]) -> list[str]:
    """Return the forms that the first cells of a column may have, by their numbers and names."""
    found: dict[str, None] = {}
    for cell in cells:
        text = " ".join(cell.split())
        found |= dict.fromkeys(_forms_of_cell(text))
        for english, code, tag in translations(text):
            found |= dict.fromkeys(tagged(form, code, tag) for form in _forms_of_cell(english))
        if len(found) > MOST_FORMS:
            break
    return list(found)[:MOST_FORMS]


def _forms_of_cell(cell: str) -> list[str]:
    weekday = re.match(rf"({WEEKDAYS})(\.?,? )", cell)
    rest, prefix = cell, ""
    if weekday:
        prefix = ("%a" if len(weekday[1]) == len("Mon") else "%A") + weekday[2]
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
    gap, time = clock["gap"] or "", _clock_form(clock)
    before, after = rest[: clock.start()], rest[clock.end() :]
    return [f"{prefix}{day.replace('|', f'{gap}{time}', 1)}" for day in _days(f"{before}|{after}")]


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
    pieces = re.findall(rf"\d+|{MONTHS}\.?|\||{SEPARATORS}|.", text)
    kinds = [_kind(piece) for piece in pieces]
    numbers = kinds.count("number")
    names = kinds.count("name")
    years = kinds.count("Y")
    if "other" in kinds or names > 1 or years > 1:
        return []
    orders = ORDERS["Y" if years else "", names == 1].get(numbers, ())
    if years and not names and kinds[0] != "Y":
        orders = YEAR_LAST.get(numbers, orders)
    if orders == ("y",) and not re.fullmatch(rf"{MONTHS}\.?[-'/ ]*[-'/]\d\d", text):
        return []  # "May 5" has no year
    codes = _codes_of_month(pieces, kinds)
    return [_spelled(pieces, kinds, order, code) for order in orders for code in codes]


def _kind(piece: str) -> str:
    if piece.isdigit():
        return {1: "number", 2: "number", 4: "Y"}.get(len(piece), "other")
    if piece == "|":
        return "time"
    if re.fullmatch(rf"{MONTHS}\.?", piece):
        return "name" if _is_month(piece) else "other"
    return "between" if re.fullmatch(SEPARATORS, piece) else "other"


def _is_month(piece: str) -> bool:
    word = piece.lower().removesuffix(".")
    return word in ("sept", *MONTH_NAMES) or word in {month[:3] for month in MONTH_NAMES}


def _codes_of_month(pieces: list[str], kinds: list[str]) -> tuple[str, ...]:
    """Return the codes that the name of a month may have; "" without one."""
    if "name" not in kinds:
        return ("",)
    name = pieces[kinds.index("name")].lower().removesuffix(".")
    if name == "may":
        return ("%b", "%B")
    return ("%B",) if name in MONTH_NAMES else ("%b",)


def _spelled(pieces: list[str], kinds: list[str], order: str, month: str) -> str:
    """Return a form from the pieces of a cell, whose numbers have an order such as "dm"."""
    codes, form = iter(order), ""
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
