"""What the columns of a table are: decided by their cells, or as told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import input_error
from .base import AbstractColumn, AbstractPart, check_numbers, step_of
from .calendars import Calendar, Dates
from .columns import Columns
from .continuous import Continuous
from .dates import HOURS, NAMES, YEARS, divided, ends_of, has_times, only, since_1970, span_of
from .dependence import Information, classes_of, information
from .discrete import FEW_NUMBERS, Discrete
from .frames import Frame, RawColumn, words_of
from .records import KINDS, column_from, entries_of
from .unmodelled import Key, LeftOut
from .words import MOST_WORDS, Words

LONG, SHORT = 731, 14  # days: dates of at least so many are divided into years, or into weeks
QUARTER = 89  # days
SURE = 1e-3  # chance that a column without habits is divided
ROUNDED = 10  # whole numbers that are all multiples of this or more are measured, not counted
FEWEST = 5  # numbers of a scale: fewer are states, of which a normal density would make one hill
# The part of what states explain that a scale must explain. Where it was 0.86, cells of 173 rows
# were filled with less error as numbers, and where it was 0.68 as states.
ENOUGH = 0.8
MOST_OTHERS = 256  # columns and states of others by which a scale is told
TIED = 0.1  # a number that this share of the rows has needs a probability of its own,
STANDS_OUT = 10.0  # if it occurs so many times as often as the median one: not by a coarse scale
LARGEST = 2.0**53  # tied numbers above this, in units of their last digit, are not counted
MOST_DIFFERENT = 10_000  # words of which there are more are no categories
IDENTIFIER = r"(?i:(^|[ _.-])(id|ids|identifier|uid|uuid|guid|idx|rownames)$)|[a-z]I[Dd]$"
COUNTER = (  # names of columns that count the rows, wherever they begin and stand
    r"(?i:(.*[ _.-])?(id|ids|idx|index|identifier)|unnamed.*|level_0|column 1|#|n[or]\.?|num|number"
    r"|(row|line|record|case|obs|observation|serial|seq|sequence|sample)s?[ _.-]*(id|n[or]\.?|num"
    r"|number|index|names?)?|s\.? ?no\.?|rownames?)|.*[a-z]I[Dd]"
)
LOOKED_AT = 1_000  # cells of a text by which it is said how they are written
MOST_SHOWN = 30  # characters of a cell
IS_TEXT = 0.5  # share of cells that are all different, above which words are no categories


def parts_of(raw: RawColumn, others: Sequence[np.ndarray]) -> tuple[str, ...]:
    """Return the parts into which a column of dates is best divided; none for its trend alone.

    A month, a day of the week or an hour is a part if dates are more frequent in some of them than
    by chance, or if another column depends on it; a month only if it says more about dates and
    other columns than the trend does, which the years then show coarsely.

    Args:
        raw: the dates.
        others: the classes of each other column, −1 where a cell is missing.
    """
    if span_of(raw) < SHORT:
        return ()
    missing, found, tests = raw.is_missing, divided(raw), 3 * (len(others) + 1)
    trend = classes_of(np.where(missing, np.nan, found.days), None)
    days = found.days[~missing]
    counts = np.bincount(days - days.min())  # of each day, also of those without a row
    every = divided(RawColumn("", np.arange(days.min(), days.max() + 1).astype("datetime64[D]")))
    is_monthly = only(found.day[~missing]) is not None

    def gain(part: str) -> float:
        """Return the nats per row that a part explains; 0 if that may be chance."""
        classes = np.where(missing, -1, found.place(part))
        of_days = np.bincount(every.place(part), minlength=len(NAMES[part]))
        evenly = _uneven(classes, np.ones(len(HOURS)) if part == "hour" else of_days)
        worth = len(days) / _dispersion(counts, every.place(part if part != "hour" else "weekday"))
        each = [evenly, *(information(classes, other) for other in others)]
        each = [one._replace(rows=min(one.rows, int(worth))) for one in each]
        is_sure = any(one.is_sure(SURE / tests) for one in each)
        return sum(one.corrected for one in each) if is_sure else 0.0

    if is_monthly and span_of(raw) >= QUARTER:
        return ("year", "month")
    weekday = ("weekday",) if gain("weekday") else ()
    varies = has_times(raw.form) and only(found.hour[~missing]) is None
    by_hour = varies and gain("hour") > 0
    hour = ("hour",) if has_times(raw.form) and (by_hour or not varies) else ()
    of_trend = sum(information(trend, other).corrected for other in others)
    if span_of(raw) >= LONG and gain("month") > of_trend:
        return ("year", "month", *weekday, *hour)
    return ("week", "weekday", *hour) if weekday or by_hour else ()


def _dispersion(counts: np.ndarray, classes: np.ndarray) -> float:
    """Return how many times as much the counts of days vary within classes as by chance, or 1.

    So many rows are worth one: those of a monthly report all have the same date.
    """
    sizes = np.maximum(np.bincount(classes), 1)
    mean = (np.bincount(classes, counts) / sizes)[classes]
    seen = mean > 0
    freedom = seen.sum() - len(np.unique(classes[seen]))
    apart = ((counts - mean)[seen] ** 2 / mean[seen]).sum()
    return max(1.0, float(apart) / max(1, int(freedom)))


def _uneven(classes: np.ndarray, expected: np.ndarray) -> Information:
    """Return how far the shares of classes are from those expected, as nats per row."""
    counts = np.bincount(classes[classes >= 0], minlength=len(expected))
    rows, shares = counts.sum(), expected / expected.sum()
    seen = counts > 0
    nats = float((counts[seen] / rows * np.log(counts[seen] / rows / shares[seen])).sum())
    return Information(nats, int((expected > 0).sum()) - 1, int(rows))


class Gains(NamedTuple):
    """What a column explains of the others, in nats on new rows as Akaike's criterion expects them.

    Attributes:
        scale: as numbers, with one slope for each other column.
        states: as states, with a mean for each.
    """

    scale: float
    states: float

    @property
    def is_scale(self) -> bool:
        """Whether the numbers are those of a scale, as others rise or fall with them."""
        return self.scale > max(0.0, ENOUGH * self.states)


def is_sparse(values: np.ndarray) -> bool:
    """Return whether numbers lie so far apart that others between them are to be expected.

    Ratings, numbers of legs and ages in years are neighbours on a lattice of at most `FEW_NUMBERS`
    points; salaries in thousands are not, or have a step that nobody counts in.
    """
    seen = np.unique(values)
    if len(seen) < FEWEST:
        return False
    if (seen != np.rint(seen)).any() or np.abs(seen).max() >= 2.0**53:
        step = float(np.diff(seen).min())
        points = (seen[-1] - seen[0]) / step
        return bool(points >= FEW_NUMBERS)
    step = int(np.gcd.reduce(np.diff(seen).astype(np.int64)))
    return bool(step >= ROUNDED or (seen[-1] - seen[0]) / step >= FEW_NUMBERS)


def gains(values: np.ndarray, others: Sequence[np.ndarray]) -> Gains:
    """Return what a column explains of other columns, as a scale and as states.

    Args:
        values: the column, NaN where a cell is missing.
        others: codes of other columns, or whether they have a state, NaN where that is missing.
    """
    known = ~np.isnan(values)
    score = _standardized(values[known])
    states, place = np.unique(values[known], return_inverse=True)
    counts = np.bincount(place)
    rows, scale, by_state = int(known.sum()), 0.0, 0.0
    for other in others[:MOST_OTHERS]:
        target = _standardized(other[known])
        means = np.bincount(place, target) / counts
        scale += _nats(float(score @ target / rows) ** 2, rows) - 1.0
        by_state += _nats(float(counts @ means**2) / rows, rows) - (len(states) - 1.0)
    return Gains(scale, by_state)


def _standardized(values: np.ndarray) -> np.ndarray:
    """Return numbers of mean 0 and variance 1; a missing one is 0."""
    centred = values - np.nanmean(values) if np.isfinite(values).any() else np.zeros(len(values))
    spread = float(np.sqrt(np.nanmean(centred**2))) if len(values) else 0.0
    return np.nan_to_num(centred) / (spread or 1.0)


def _nats(explained: float, rows: int) -> float:
    """Return the nats that a share of a variance is worth."""
    return -0.5 * rows * float(np.log1p(-min(explained, 1.0 - 1e-9)))


def targets_of(codes: np.ndarray, states: int | None) -> list[np.ndarray]:
    """Return the codes of a column, or whether each of its states is there."""
    if states is None or states == 2:
        return [codes]
    missing = np.isnan(codes)
    return [np.where(missing, np.nan, codes == state) for state in range(states)]


def columns_of(
    frame: Frame,
    told: dict[str, str] | None = None,
    label: str = "table",
    *,
    keep_counters: bool = False,
) -> Columns:
    """Decide what each column of a table is.

    Args:
        frame: the table.
        told: kinds by name of column, which are not decided: names of `KINDS`.
        label: what error messages call the table.
        keep_counters: whether numbers that count the rows are modelled like others.

    Raises:
        InputError: `told` names a column or a kind that does not exist, a column cannot be of the
            kind that it should be, or no column can be modelled.
    """
    told = told or {}
    for name, kind in told.items():
        if name not in frame.names:
            expected = f"a column of {label}"
            raise input_error(
                f"column {name!r}", expected, "none", f"choose among {', '.join(frame.names)}"[:200]
            )
        if kind not in KINDS:
            raise input_error(
                f"column {name!r}", f"a kind among {', '.join(KINDS)}", repr(kind), "choose one"
            )
    columns = tuple(
        _column_of(raw, told.get(raw.name), label, keep_counters, is_first=place == 0)
        for place, raw in enumerate(frame.columns)
    )
    columns = _with_scales(frame, columns, told)
    found = Columns(_with_calendars(frame, columns, told))
    names = [part.name for part in found.parts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        expected = "no column with the name of a part of a date"
        raise input_error(label, expected, repr(twice), "rename it, or read the date as date")
    if not found.modelled:
        reasons = "; ".join(
            f"{c.name}: {c.summary}{f' ({raw.note})' if raw.note else ''}"
            for c, raw in zip(columns[:5], frame.columns[:5], strict=True)
        )
        raise input_error(label, "a column that can be modelled", reasons, "check how it was read")
    return found


def columns_from(record: Any, frame: Frame, label: str) -> Columns:
    """Return the columns that `Columns.record` described; a kind without details is fitted anew.

    Raises:
        InputError: the record is damaged, or does not fit the table.
    """
    entries = entries_of(record, label)
    told = {entry["name"]: entry["kind"] for entry in entries if len(entry) == 2}
    given = {e["name"]: column_from(e, label) for e in entries if len(e) > 2}
    for name in given:
        if name not in frame.names:
            raise input_error(label, "columns of the table", f"{name!r}", "correct the name")
    fitted = columns_of(frame, told, label).columns
    return Columns(tuple(given.get(column.name, column) for column in fitted))


def _column_of(
    raw: RawColumn, kind: str | None, label: str, keep_counters: bool, *, is_first: bool
) -> AbstractColumn:
    if kind is not None:
        return _told(raw, kind, label)
    values = raw.values[~raw.is_missing]
    if not len(values):
        return LeftOut(name=raw.name, form=raw.form, why="no cell has a value")
    different = len(set(values.tolist()))
    if different == 1:
        return LeftOut.constant(raw)
    if raw.is_category:
        return Words.of(raw, raw.name)
    if values.dtype.kind == "O":
        hardly_repeats = different > max(MOST_WORDS, IS_TEXT * len(values))
        if hardly_repeats or different == len(values) > 10 or different > MOST_DIFFERENT:
            why = f"text: {different:,} different values{_likeness(values)}"
            # What nearly is numbers or dates names no rows, though all of it is different.
            key = None if raw.note else Key.of_text(raw)
            return key or LeftOut(name=raw.name, form=raw.form, why=why)
        return Words.of(raw, raw.name)
    if values.dtype.kind == "M":
        return Dates.of(raw, raw.name, _numbers_of(since_1970(raw), raw.name))
    check_numbers(raw, label)
    why = "" if keep_counters else _identifier(raw.name, values, is_first=is_first)
    if why:
        return Key.of_numbers(raw, f"an identifier: {why}")
    return _numbers_of(raw, raw.name)


def _likeness(cells: np.ndarray) -> str:
    """Return which cell shows how most of them are written, if they have digits."""
    cells = cells[:LOOKED_AT]
    shapes = Counter(_shape_of(cell) for cell in cells)
    usual, count = shapes.most_common(1)[0]
    if "0" not in usual or 2 * count < len(cells):
        return ""
    example = next(cell for cell in cells if _shape_of(cell) == usual)
    share = "all" if count == len(cells) else "most"
    return f", {share} of them such as {example[:MOST_SHOWN]!r}"


def _shape_of(cell: str) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", cell))


def _numbers_of(raw: RawColumn, name: str) -> AbstractPart:
    values = raw.values[~raw.is_missing]
    seen = np.unique(values)
    few = len(seen) <= FEW_NUMBERS and len(values) >= 10 * len(seen)
    if abs(values).max() >= LARGEST * step_of(values):
        return Continuous.of(raw, name)
    return (Discrete if few or _is_tied(values) or len(seen) == 2 else Continuous).of(raw, name)


def _is_tied(values: np.ndarray) -> bool:
    """Return whether a number needs a probability of its own."""
    _, counts = np.unique(values, return_counts=True)
    return bool(counts.max() >= max(TIED * len(values), STANDS_OUT * np.median(counts)))


def _with_scales(
    frame: Frame, columns: tuple[AbstractColumn, ...], told: dict[str, str]
) -> tuple[AbstractColumn, ...]:
    """Return the columns, few numbers of a scale as numbers where that says more of others.

    Salaries in thousands are numbers, however few; but codes such as 20, 30 and 190 are states, as
    other columns do not rise or fall with them.
    """
    doubtful = [
        place
        for place, (raw, column) in enumerate(zip(frame.columns, columns, strict=True))
        if column.kind == Discrete.kind
        and column.name not in told
        and not _is_tied(raw.values[~raw.is_missing])
        and is_sparse(raw.values[~raw.is_missing])
    ]
    if not doubtful:
        return columns
    targets = [
        [
            target
            for part, cells in zip(column.parts, column.split(raw, "table"), strict=True)
            for target in targets_of(part.codes(cells, "table"), part.states)
        ]
        for raw, column in zip(frame.columns, columns, strict=True)
    ]
    found = list(columns)
    for place in doubtful:
        raw = frame.columns[place]
        others = [target for parts in targets[:place] + targets[place + 1 :] for target in parts]
        scale = Continuous.of(raw, raw.name)
        if gains(scale.codes(raw, "table"), others).is_scale:
            found[place] = scale
    return tuple(found)


def _with_calendars(
    frame: Frame, columns: tuple[AbstractColumn, ...], told: dict[str, str]
) -> tuple[AbstractColumn, ...]:
    """Return the columns, dates divided where that says more of them or of other columns."""
    trends = [
        place
        for place, column in enumerate(columns)
        if column.kind == Dates.kind and column.parts[0].states is None and column.name not in told
    ]
    if not trends:
        return columns
    classes = [
        [classes_of(part.codes(raw, "table"), part.states) for part in column.parts]
        for raw, column in zip(frame.columns, columns, strict=True)
    ]
    found = list(columns)
    for place in trends:
        raw, others = frame.columns[place], classes[:place] + classes[place + 1 :]
        names = parts_of(raw, [each for parts in others for each in parts])
        divided = _calendar_of(raw, names) if names else None
        if divided and not any(part.name in frame.names for part in divided.parts):
            found[place] = divided
    return tuple(found)


def _calendar_of(raw: RawColumn, parts: Sequence[str] = ()) -> Calendar:
    """Return dates in parts: those of `parts_of`, or all that there are."""
    seen = raw.taken(np.flatnonzero(~raw.is_missing))
    found = divided(seen)
    if not parts:
        by_year = span_of(seen) >= LONG
        parts = ("year", "month", "weekday") if by_year else ("week", "weekday")
        parts = (*parts, "hour") if has_times(raw.form) else parts
    day = only(found.day) if "year" in parts else None
    kept = [part for part in parts if part != "weekday" or day is None]
    return Calendar(
        name=raw.name,
        form=raw.form,
        pieces=tuple(_piece_of(f"{raw.name} {part}", part, found.part(part)) for part in kept),
        rows=len(seen.values),
        day=day,
        moment=only(found.moment) if "hour" in parts else None,
        ends=ends_of(raw),
    )


def _piece_of(name: str, part: str, cells: np.ndarray) -> AbstractColumn:
    """Return the column of a part of dates."""
    if part == "week":
        weeks = RawColumn(name, cells, "%Y-%m-%d")
        return Dates.of(
            weeks, name, _numbers_of(since_1970(weeks, by_week=True), name), by_week=True
        )
    if len(set(cells.tolist())) == 1:
        return LeftOut(name=name, why=f"always {cells[0]}", value=cells[0])
    if part in NAMES:
        return Words(name=name, words=NAMES[part])
    return _numbers_of(RawColumn(name, cells), name)


def _told(raw: RawColumn, kind: str, label: str) -> AbstractColumn:
    if kind == LeftOut.kind:
        return LeftOut(name=raw.name, form=raw.form)
    if raw.is_missing.all():
        raise input_error(
            f"{label}: column {raw.name!r}", "cells with values", "none", "leave it out"
        )
    if kind == Key.kind:
        return _key(raw, label)
    if kind != Words.kind:
        wanted = "M" if kind in (Dates.kind, Calendar.kind) else "f"
        if raw.values.dtype.kind != wanted:
            kinds = {"M": "dates", "f": "numbers", "O": "words"}
            odd = words_of(raw)[~raw.is_missing][0]
            found = f"{kinds[raw.values.dtype.kind]} such as {odd[:40]!r}"
            where = f"{label}: column {raw.name!r}"
            raise input_error(where, kinds[wanted], found, "read it as category")
    if kind == Dates.kind:
        return Dates.of(raw, raw.name, _numbers_of(since_1970(raw), raw.name))
    if kind == Calendar.kind:
        return _calendar_of(raw)
    return KINDS[kind].of(raw, raw.name)


def counts_rows(name: str, values: np.ndarray, *, is_first: bool) -> bool:
    """Return whether numbers rise by one from row to row, and are no years, which are a trend.

    They begin at 0 or 1 in the first column, or are named so.

    Example:
        >>> counts_rows("index", np.arange(20), is_first=False)
        True
    """
    if len(values) <= 10:
        return False
    years = "year" in name.lower() or YEARS[0] <= values.min() <= values.max() <= YEARS[1]
    # Ages or days in order rise by one as well; a counter is known by its place or its name.
    is_counter = (is_first and values[0] in (0, 1)) or re.fullmatch(COUNTER, name) is not None
    return bool((np.diff(values) == 1).all()) and is_counter and not years


def _key(raw: RawColumn, label: str) -> Key:
    """Return a column that was told to name the rows.

    Raises:
        InputError: its cells are neither different whole numbers nor texts of one form.
    """
    values = raw.values[~raw.is_missing]
    if values.dtype.kind == "f" and (values == np.rint(values)).all():
        return Key.of_numbers(raw, "an identifier as told")
    key = Key.of_text(raw) if values.dtype.kind == "O" else None
    if key is None:
        expected = "whole numbers, or different texts of one form"
        raise input_error(f"{label}: column {raw.name!r}", expected, "others", "leave it out")
    return key


def _identifier(name: str, values: np.ndarray, *, is_first: bool) -> str:
    """Return why numbers identify rows, or "" if they do not seem to.

    They count the rows, or they are whole, all different, and named so.
    """
    if len(values) <= 10:
        return ""
    if counts_rows(name, values, is_first=is_first):
        return "it counts the rows"
    is_whole = (values == np.rint(values)).all() and len(np.unique(values)) == len(values)
    return "all different" if is_whole and re.search(IDENTIFIER, name) else ""
