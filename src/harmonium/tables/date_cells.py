"""Columns of dates and of times of day in text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .dates import (
    YEARS,
    ZONE_OF_CELL,
    ZONE_OF_FORM,
    as_written,
    forms_of,
    other_order,
    parts_of_form,
    shown_date,
    time_in,
)
from .frames import RawColumn
from .readings import Reading, fetched, is_gap, with_notes

DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # of whole numbers that are dates
FIRST_DAY, LAST_DAY = 18_000_101, 21_991_231
SAFE = np.datetime64("1970-01-01"), np.datetime64("2038-01-01")  # with years of two digits
LOOKED_AT, SAMPLED = 1_000, 100  # cells by which formats of dates are chosen, to be tried with all
MIDNIGHT = {
    **{"%H": "00", "%M": "00", "%S": "00", "%f": "000000", "%I": "12", "%p": "AM", "%P": "am"},
    **{"%-H": "0", "%-I": "12"},
}
CLOCK = (
    r"^(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?:[.,](\d{1,9}))?(\s?)(?:([AaPp])\.?([Mm])\.?)?$",
    "['hour', 'minute', 'second', 'fraction', 'gap', 'half', 'm']",
)
NOON = 12


def sample_of(connection: Any, cell: str) -> list[str]:
    """Return some cells of the table `seen`, without words for a missing cell."""
    rows = connection.execute(
        f"select {cell} from seen where {cell} is not null limit {LOOKED_AT}"
    ).fetchall()
    return [row[0] for row in rows if not is_gap(row[0])][:SAMPLED]


def dates_readings(connection: Any, cell: str, name: str, sample: list[str]) -> list[Reading]:
    """Return the column of the table `seen` as dates, by each form that half of its cells have."""
    forms = forms_of(sample)
    if not forms:
        return []
    counted = ", ".join(f"count({time_in('cell', form)})" for form in forms)
    counts = connection.execute(
        f"select {counted} from (select unnest(?) as cell)", [sample]
    ).fetchone()
    likely = [form for form, n in zip(forms, counts, strict=True) if 2 * n >= len(sample)]
    if not likely:
        return []
    values = [_within_years(time_in(cell, form)) for form in likely]
    measured = ", ".join(f"count({t}), epoch(max({t})) - epoch(min({t}))" for t in values)
    measures = connection.execute(f"select {measured} from seen").fetchone()
    readings = [
        _dates(connection, cell, name, form, value, fits, sample)
        for form, value, fits in zip(likely, values, measures[::2], strict=True)
    ]
    return [readings[i] for i in _by_years(likely, measures[1::2])]


def _by_years(forms: list[str], spans: Sequence[float | None]) -> list[int]:
    """Return the places of forms in the order in which they are tried.

    Of the orders of 24-08-22 that fit, the year is first if the years are then close to each other.
    """
    places = list(range(len(forms)))
    first = [i for i in places if forms[i].startswith("%y")]
    last = [i for i in places if "%y" in forms[i] and i not in first]
    span_if_first = min((spans[i] or 0.0 for i in first), default=np.inf)
    span_if_last = min((spans[i] or 0.0 for i in last), default=0.0)
    if 2 * span_if_first < span_if_last:
        return first + [i for i in places if i not in first]
    return places


def _within_years(time: str) -> str:
    """Return the SQL for a time, null where its year is not one of those that people write of."""
    first, last = f"timestamp '{YEARS[0]}-01-01'", f"timestamp '{YEARS[1]}-01-01'"
    return f"case when {time} >= {first} and {time} < {last} then {time} end"


def _dates(
    connection: Any, cell: str, name: str, form: str, value: str, fits: int, sample: list[str]
) -> Reading:
    def column(values: np.ndarray) -> RawColumn | None:
        return _column_of_dates(connection, cell, name, form, values, sample)

    return Reading(value, fits, "dates", "date as the others", column)


def _column_of_dates(
    connection: Any, cell: str, name: str, form: str, values: np.ndarray, sample: list[str]
) -> RawColumn | None:
    """Return dates in the form in which they stand; None if they are something else."""
    values = values.astype("datetime64[us]")
    if not _is_plausible(connection, cell, form, values):
        return None
    parts = parts_of_form(form)
    note = ""
    if parts.zone:
        zones = _zones(connection, cell)
        if len(zones) > 1:
            form = ZONE_OF_FORM.sub(lambda match: match[1] + match[2] + _utc(match[3]), form)
            values = fetched(connection, time_in(cell, form)).astype("datetime64[us]")
            note = f"times of different offsets ({' and '.join(zones[:2])}), read as those of UTC"
    if parts.digits:
        fraction = f"regexp_extract({cell}, ':\\d\\d[.,](\\d{{1,9}})', 1)"
        longest = connection.execute(f"select max(length({fraction})) from seen").fetchone()[0]
        form = re.sub(r"%\d?f", f"%{longest or 1}f", form)
    written = as_written(form, sample)
    return RawColumn(name, values, without_times(values, written), note)


def _zones(connection: Any, cell: str) -> list[str]:
    """Return the offsets from UTC in the cells of times, at most three."""
    zone = f"regexp_extract({cell}, '{ZONE_OF_CELL}', 3)"
    rows = connection.execute(
        f"select {zone} as z from seen where {cell} is not null group by z having z <> ''"
        " order by z limit 3"
    ).fetchall()
    return [row[0] for row in rows]


def _utc(zone: str) -> str:
    """Return UTC in the notation of an offset."""
    if re.fullmatch(r"[+-]\d\d(:?\d\d)?", zone):
        return "+" + re.sub(r"\d", "0", zone[1:])
    return "Z" if zone == "Z" else "UTC"


def dates_of_form(connection: Any, cell: str, name: str, form: str) -> Reading:
    """Return the column of the table `seen` as dates of a form that is known."""
    value = time_in(cell, form)
    fits = connection.execute(f"select count({value}) from seen").fetchone()[0]

    def column(values: np.ndarray) -> RawColumn:
        return RawColumn(name, values.astype("datetime64[us]"), form)

    return Reading(value, fits, "dates", "date as the others", column)


def _is_plausible(connection: Any, cell: str, form: str, values: np.ndarray) -> bool:
    """Return whether cells of a form are dates, and not versions (1.2.10) or seasons (2003-04)."""
    known = values[~np.isnat(values)]
    if not len(known):
        return False
    if "%y" in form:
        padded = f"count_if(not regexp_full_match({cell}, '\\d\\d\\D.*|\\D.*'))"
        is_padded = connection.execute(f"select {padded} from seen").fetchone()[0] == 0
        months = known.astype("datetime64[M]").astype(np.int64) % 12 + 1
        # Versions count from 0 or 1: hardly any goes beyond 20.10.
        is_no_version = _days_of_month(known).max() > 20 and months.max() >= 10
        is_safe = SAFE[0] <= known.min() and known.max() < SAFE[1]
        return bool(is_safe and ("." not in form or is_padded or is_no_version))
    if form == "%Y-%m":
        months = known.astype("datetime64[M]").astype(np.int64)
        return bool(((months // 12 + 1971) % 100 != months % 12 + 1).any())
    return True


def dates_in_digits(connection: Any, cell: str, raw: RawColumn) -> RawColumn:
    """Return numbers such as 20240131 as dates, if they are all dates."""
    if raw.values.dtype.kind != "f" or raw.form:
        return raw
    known = raw.values[~raw.is_missing]
    if not len(known) or known.min() < FIRST_DAY or (known != np.floor(known)).any():
        return raw
    form = DIGITS.get(len(f"{known.min():.0f}"), "")
    days = known // 10 ** max(0, len(f"{known.min():.0f}") - 8)
    if not form or days.min() < FIRST_DAY or days.max() > LAST_DAY:
        return raw
    reading = dates_of_form(connection, cell, raw.name, form)
    if reading.fits < len(known):
        return raw
    values = fetched(connection, reading.value).astype("datetime64[us]")
    return RawColumn(raw.name, values, without_times(values, form), raw.note)


def without_times(values: np.ndarray, form: str) -> str:
    """Return the form of dates; if all are at midnight, with this time written out."""
    known = values[~np.isnat(values)]
    if not len(known) or (known != known.astype("datetime64[D]")).any():
        return form
    form = re.sub(r"%(\d)f", lambda code: "0" * int(code[1]), form)
    return re.sub("%-?[HMSfIpP]", lambda code: MIDNIGHT[code[0]], form)


def likely_clock(connection: Any, cell: str, name: str, sample: list[str]) -> list[Reading]:
    """Return the column of the table `seen` as times of day, if most of its cells are some."""
    likely = [text for text in sample if re.match(CLOCK[0], text)]
    return [clock_reading(connection, cell, name)] if 2 * len(likely) > len(sample) else []


def clock_reading(connection: Any, cell: str, name: str, known: str = "") -> Reading:
    """Return the column of the table `seen` as times of day, of a form if that is known."""
    parts = f"regexp_extract({cell}, '{CLOCK[0]}', {CLOCK[1]})"
    with_seconds, with_half, digits, is_short, gap, small, at_all = connection.execute(
        "select count_if(t.second <> ''), count_if(t.half <> ''), max(length(t.fraction)),"
        " count_if(length(t.hour) = 1), mode(t.gap) filter (t.half <> ''),"
        " count_if(t.half in ('a', 'p')), count_if(t.hour <> '')"
        f" from (select {parts} as t from seen)"
    ).fetchone()
    has_seconds = "%S" in known if known else 2 * with_seconds > at_all
    is_half = "%I" in known or "%-I" in known if known else with_half > 0
    hour = f"cast({parts}.hour as int)"
    halves = f"{hour} % {NOON} + case when lower({parts}.half) = 'p' then {NOON} else 0 end"
    minutes = f"60 * ({halves if is_half else hour}) + cast({parts}.minute as int)"
    second = f"cast({parts}.second || '.' || {parts}.fraction || '0' as double)"
    number = f"60.0 * ({minutes}) + {second}" if has_seconds else f"1.0 * ({minutes})"
    has_parts = f"{parts}.hour <> '' and ({parts}.second <> '') = {str(has_seconds).lower()}"
    if is_half:
        has_parts += f" and {parts}.half <> '' and {hour} between 1 and {NOON}"
    value = f"case when {has_parts} then {number} end"
    form = known or (
        ("%-" if is_short else "%")
        + ("I" if is_half else "H")
        + (":%M:%S" if has_seconds else ":%M")
        + (f".%{digits}f" if digits and has_seconds else "")
        + (f"{gap or ''}{'%P' if small else '%p'}" if is_half else "")
    )
    fits = connection.execute(f"select count({value}) from seen").fetchone()[0]
    unit = "seconds" if has_seconds else "minutes"

    def column(values: np.ndarray) -> RawColumn:
        return RawColumn(name, values, form, f"times, as numbers of {unit}")

    return Reading(value, fits, "times of day", "time of day as the others", column)


def in_one_order(columns: list[RawColumn], known: Collection[str]) -> list[RawColumn]:
    """Return the columns with day and month of all dates in one order, by those that show it.

    Args:
        columns: as they were read by themselves.
        known: names of columns whose form is not to be changed.
    """
    doubtful = {c.name for c in columns if _fits_both(c) and c.name not in known}
    orders = {
        _is_day_first(column.form): column.name
        for column in columns
        if column.values.dtype.kind == "M" and other_order(column.form)
        if column.name not in doubtful
    }
    decided = len(orders) == 1
    ordered = []
    for column in columns:
        if column.name not in doubtful:
            ordered.append(column)
        elif decided:
            [(day_first, name)] = orders.items()
            turned = column if day_first == _is_day_first(column.form) else _turned(column)
            ordered.append(with_notes(turned, f"day and month in the order of {name!r}"))
        else:
            ordered.append(with_notes(column, _note_on_order(column)))
    return ordered


def _is_day_first(form: str) -> bool:
    return form.find("d") < form.find("m")


def _fits_both(column: RawColumn) -> bool:
    """Return whether all dates of a column are dates as well if day and month change places."""
    if column.values.dtype.kind != "M" or not other_order(column.form):
        return False
    return bool((_days_of_month(column.values[~column.is_missing]) <= 12).all())


def _days_of_month(dates: np.ndarray) -> np.ndarray:
    months = dates.astype("datetime64[M]")
    return (dates.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64) + 1


def _turned(column: RawColumn) -> RawColumn:
    """Return a column of dates in which day and month have changed places."""
    missing = column.is_missing
    values = np.where(missing, np.datetime64("2000-01-01", "us"), column.values)
    months = values.astype("datetime64[M]")
    years = months.astype("datetime64[Y]")
    month = (months - years.astype("datetime64[M]")).astype(np.int64)
    clock = values - values.astype("datetime64[D]").astype("datetime64[us]")
    turned = (years.astype("datetime64[M]") + (_days_of_month(values) - 1)).astype("datetime64[D]")
    turned = (turned + month).astype("datetime64[us]") + clock
    turned = np.where(missing, np.datetime64("NaT", "us"), turned)
    return replace(column, values=turned, form=other_order(column.form))


def _note_on_order(column: RawColumn) -> str:
    """Return how a date was read that may mean two days; "" if all mean one."""
    dates = column.values[~column.is_missing]
    day = _days_of_month(dates)
    month = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    unclear = dates[day != month]
    if not len(unclear):
        return ""
    shown = shown_date(column.form, unclear[0])
    order = "the day first" if _is_day_first(column.form) else "the month first"
    return f"{shown} is read with {order}, as no cell decides; 2024-01-31 is always clear"
