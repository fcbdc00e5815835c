"""Columns of dates and of times of day in text."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .dates import (
    YEARS,
    ZONE_OF_CELL,
    ZONE_OF_FORM,
    as_written,
    date_parts,
    forms_of,
    other_order,
    parts_of_form,
    shown_date,
    time_in,
)
from .frames import CellKind, RawColumn
from .number_forms import matches
from .readings import Reading, fetched, is_gap, row_of, with_notes

DIGITS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}  # of whole numbers that are dates
# Whole numbers outside are no dates such as 20240131.
FIRST_DAY = 18_000_101
LAST_DAY = 21_991_231
SAFE = np.datetime64("1970-01-01"), np.datetime64("2038-01-01")  # with years of two digits
LOOKED_AT = 1_000  # cells, of which those that are no gaps
SAMPLED = 100  # decide at most so many which forms are tried with all
MIDNIGHT = {
    **{"%H": "00", "%M": "00", "%S": "00", "%f": "000000", "%I": "12", "%p": "AM", "%P": "am"},
    **{"%-H": "0", "%-I": "12"},
}
CLOCK = (
    r"^(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?:[.,](\d{1,9}))?(\s?)(?:([AaPp])\.?([Mm])\.?)?$",
    "['hour', 'minute', 'second', 'fraction', 'gap', 'half', 'm']",
)
NOON = 12
OF_DATES = ("dates", "date as the others")  # in messages


def sample_of(connection: Any) -> list[str]:
    """Return some cells of the table `seen`, without words for a missing cell."""
    rows = connection.execute(
        f"select cell from seen where cell is not null limit {LOOKED_AT}"
    ).fetchall()
    return [row[0] for row in rows if not is_gap(row[0])][:SAMPLED]


def dates_readings(connection: Any, name: str, sample: list[str]) -> list[Reading]:
    """Return the column of the table `seen` as dates, by each form that half of its cells have."""
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
    """Return the places of forms in the order in which they are tried.

    Of the orders of 24-08-22 that fit, the year is first if the years are then close to each other.
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
    """Return the SQL for a time, null where its year is not one of those that people write of."""
    first = f"timestamp '{YEARS[0]}-01-01'"
    last = f"timestamp '{YEARS[1]}-01-01'"
    return f"case when {time} >= {first} and {time} < {last} then {time} end"


def _column_of_dates(
    connection: Any, name: str, form: str, sample: list[str], values: np.ndarray
) -> RawColumn | None:
    """Return dates in the form in which they stand; None if they are something else."""
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
            note = f"times of different offsets ({' and '.join(zones[:2])}), read as those of UTC"
    if parts.digits:
        fraction = "regexp_extract(cell, ':\\d\\d[.,](\\d{1,9})', 1)"
        (longest,) = row_of(connection, f"max(length({fraction}))")
        form = re.sub(r"%\d?f", f"%{longest or 1}f", form)
    written = as_written(form, sample)
    return RawColumn(name, values, without_times(values, written), note)


def _zones(connection: Any) -> list[str]:
    """Return the offsets from UTC in the cells of times, at most three."""
    zone = f"regexp_extract(cell, '{ZONE_OF_CELL}', 3)"
    rows = connection.execute(
        f"select {zone} as z from seen where cell is not null group by z having z <> ''"
        " order by z limit 3"
    ).fetchall()
    return [row[0] for row in rows]


def _utc(zone: str) -> str:
    """Return UTC in the notation of an offset."""
    if re.fullmatch(r"[+-]\d\d(:?\d\d)?", zone):
        return "+" + re.sub(r"\d", "0", zone[1:])
    return "Z" if zone == "Z" else "UTC"


def dates_of_form(connection: Any, name: str, form: str) -> Reading:
    """Return the column of the table `seen` as dates of a form that is known."""
    value = time_in("cell", form)
    (fits,) = row_of(connection, f"count({value})")

    def column(values: np.ndarray) -> RawColumn:
        return RawColumn(name, values.astype("datetime64[us]"), form)

    return Reading(value, fits, *OF_DATES, column)


def _is_plausible(connection: Any, form: str, values: np.ndarray) -> bool:
    """Return whether cells of a form are dates, and not versions (1.2.10) or seasons (2003-04)."""
    known = values[~np.isnat(values)]
    if not len(known):
        return False
    if "%y" in form:
        padded = matches("cell", r"\d\d\D.*|\D.*")
        (is_padded,) = row_of(connection, f"bool_and({padded})")
        months = known.astype("datetime64[M]").astype(np.int64) % 12 + 1
        # Versions count from 0 or 1: hardly any goes beyond 20.10.
        is_no_version = _days_of_month(known).max() > 20 and months.max() >= 10
        is_safe = SAFE[0] <= known.min() and known.max() < SAFE[1]
        return bool(is_safe and ("." not in form or is_padded or is_no_version))
    if form == "%Y-%m":
        months = known.astype("datetime64[M]").astype(np.int64)
        return bool(((months // 12 + 1971) % 100 != months % 12 + 1).any())
    return True


def dates_in_digits(connection: Any, raw: RawColumn) -> RawColumn:
    """Return numbers such as 20240131 as dates, if they are all dates."""
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
    """Return the form of dates; if all are at midnight, with this time written out."""
    known = values[~np.isnat(values)]
    if not len(known) or (known != known.astype("datetime64[D]")).any():
        return form
    form = re.sub(r"%(\d)f", lambda code: "0" * int(code[1]), form)
    return re.sub("%-?[HMSfIpP]", lambda code: MIDNIGHT[code[0]], form)


def likely_clock(connection: Any, name: str, sample: list[str]) -> list[Reading]:
    """Return the column of the table `seen` as times of day, if most of its cells are some."""
    likely = [text for text in sample if re.match(CLOCK[0], text)]
    return [clock_reading(connection, name)] if 2 * len(likely) > len(sample) else []


def clock_reading(connection: Any, name: str, known: str = "") -> Reading:
    """Return the column of the table `seen` as times of day, of a form if that is known."""
    parts = f"regexp_extract(cell, '{CLOCK[0]}', {CLOCK[1]})"
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
    number = f"60.0 * ({minutes}) + {second}" if has_seconds else f"1.0 * ({minutes})"
    has_parts = f"{parts}.hour <> '' and ({parts}.second <> '') = {str(has_seconds).lower()}"
    if is_half:
        has_parts += f" and {parts}.half <> '' and {hour} between 1 and {NOON}"
    value = f"case when {has_parts} then {number} end"
    form = known
    if not known:
        form = ("%-" if is_short else "%") + ("I:%M" if is_half else "H:%M")
        if has_seconds:
            form += ":%S"
        if has_seconds and digits:
            form += f".%{digits}f"
        if is_half:
            form += (gap or "") + ("%P" if small else "%p")
    (fits,) = row_of(connection, f"count({value})")
    unit = "seconds" if has_seconds else "minutes"
    column = partial(RawColumn, name, form=form, note=f"times, as numbers of {unit}")
    return Reading(value, fits, "times of day", "time of day as the others", column)


def in_one_order(columns: list[RawColumn], known: Collection[str]) -> list[RawColumn]:
    """Return the columns with day and month of all dates in one order, by those that show it.

    Args:
        columns: as they were read, each without regard to the others.
        known: names of columns whose form is not to be changed.
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
    """Return whether all dates of a column are dates as well if day and month change places."""
    if column.cell_kind is not CellKind.DATES or not other_order(column.form):
        return False
    return bool((_days_of_month(column.known) <= 12).all())


def _days_of_month(dates: np.ndarray) -> np.ndarray:
    months = dates.astype("datetime64[M]")
    return (dates.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64) + 1


def _turned(column: RawColumn) -> RawColumn:
    """Return a column of dates in which day and month have changed places."""
    parts = date_parts(column)
    months = 12 * (parts.months // 12) + parts.day - 1
    days = months.astype("datetime64[M]").astype("datetime64[D]") + parts.place("month")
    time_of_day = column.values - column.values.astype("datetime64[D]")  # NaT where missing
    turned = days.astype("datetime64[us]") + time_of_day
    return replace(column, values=turned, form=other_order(column.form))


def _note_on_order(column: RawColumn) -> str:
    """Return how a date was read that may mean two days; "" if all mean one."""
    dates = column.known
    day = _days_of_month(dates)
    month = dates.astype("datetime64[M]").astype(np.int64) % 12 + 1
    unclear = dates[day != month]
    if not len(unclear):
        return ""
    shown = shown_date(column.form, unclear[0])
    order = "the day first" if _is_day_first(column.form) else "the month first"
    return f"{shown} is read with {order}, as no cell decides; 2024-01-31 is always clear"
