"""Column types: inferred from the cells, or chosen by a user."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from .base import AbstractColumn, AbstractPart, ColumnKind, check_numbers, step_of
from .calendars import (
    HOURS,
    NAMES,
    Calendar,
    Dates,
    date_parts,
    ends_of,
    since_1970,
    single_value,
    span_of,
)
from .columns import KINDS, Columns, column_from, entries_of
from .continuous import Continuous
from .dates import YEARS, has_times
from .dependence import Information, classes_of, information
from .discrete import Discrete
from .frames import CellKind, Frame, RawColumn, words_of
from .numbers import FEW_NUMBERS
from .unmodelled import Key, LeftOut
from .words import MOST_WORDS, Words

TIED = 0.1  # a number with this fraction of the rows has a separate probability,
STANDS_OUT = 10.0  # provided that it is this many times as frequent as the median number
LARGEST = 2.0**53  # columns of larger multiples of their step are continuous
MOST_DIFFERENT = 10_000  # words are not categories if there are more different words
IS_TEXT = 0.5  # words are not categories if more than this fraction of them are unique
IDENTIFIER = r"(?i:(^|[ _.-])(id|ids|identifier|uid|uuid|guid|idx|rownames)$)|[a-z]I[Dd]$"
COUNTER = (  # names of columns that count the rows, from any number and in any position
    r"(?i:(.*[ _.-])?(id|ids|idx|index|identifier)|unnamed.*|level_0|column 1|#|n[or]\.?|num|number"
    r"|(row|line|record|case|obs|observation|serial|seq|sequence|sample)s?[ _.-]*(id|n[or]\.?|num"
    r"|number|index|names?)?|s\.? ?no\.?|rownames?)|.*[a-z]I[Dd]"
)
FEWEST_ROWS = 10  # in a column with so few cells, all may be whole or different by chance
LOOKED_AT = 1_000  # cells of a text column considered in a note on its format
MOST_SHOWN = 30  # characters of a cell

# Days: dates that span at least this time are divided into years, or into weeks.
LONG = 731  # two years, one of them a leap year
SHORT = 14  # two weeks
QUARTER = 89  # 1 February to 1 May; monthly dates over this time are divided into year and month
SIGNIFICANCE = 1e-3  # probability of dividing a column without calendar effects

ROUNDED = 10  # integers with a step of this or more are measurements, not counts
FEWEST = 5  # minimum count of different numbers on a scale; fewer numbers are states
BEYOND_CHANCE = 3.0  # minimum gain of a scale in nats, which 0.5 % of columns of noise exceed
# A scale must explain at least this fraction of what states explain. In 173 rows, cells were filled
# with smaller error as numbers at a fraction of 0.86, and as states at 0.68.
ENOUGH = 0.8
MOST_OTHERS = 256  # maximum number of other columns, or of their states, used to decide on a scale
# Number of random rows used to decide on scales and orders: fitting a power for each column takes
# 3 s for a million rows, and every column is compared with all others.
ENOUGH_ROWS = 5_000


def columns_of(
    frame: Frame,
    kinds: dict[str, str] | None = None,
    label: str = "table",
    *,
    keep_counters: bool = False,
) -> Columns:
    """Infer the type of each column of a table.

    Args:
        frame: the table.
        kinds: kinds from `KINDS` by column name, for columns whose kind is not to be inferred.
        label: the name of the table in error messages.
        keep_counters: whether numbers that count the rows are modelled like other numbers.

    Raises:
        InputError: `kinds` contains an unknown column or kind, a column cannot have the given kind,
            or no column can be modelled.
    """
    kinds = kinds or {}
    for name, kind in kinds.items():
        if name not in frame.names:
            advice = f"choose among {', '.join(frame.names)}"[:200]
            raise InputError(
                f"column {name!r}: expected a column of {label}; got none of this name; {advice}."
            )
        if kind not in KINDS:
            raise InputError(
                f"column {name!r}: expected a kind among {', '.join(KINDS)}; got {kind!r}."
            )
    columns = tuple(
        _column_of(raw, kinds.get(raw.name), label, keep_counters, is_first=place == 0)
        for place, raw in enumerate(frame.columns)
    )
    columns = _with_scales(frame, columns, kinds)
    inferred = Columns(_with_calendars(frame, columns, kinds))
    names = Counter(part.name for part in inferred.parts)
    repeated = [name for name, count in names.items() if count > 1]
    if repeated:
        raise InputError(
            f"{label}: expected no column with the name of a part of a date; got {repeated[0]!r};"
            " rename it, or use the kind date for the column of dates."
        )
    if not inferred.modelled:
        reasons = []
        for column, raw in zip(columns[:5], frame.columns[:5], strict=True):
            reasons.append(f"{column.name}: {column.summary}")
            if raw.note:
                reasons[-1] += f" ({raw.note})"
        raise InputError(
            f"{label}: expected a column that can be modelled; got {'; '.join(reasons)};"
            " check how the columns were read."
        )
    return inferred


def columns_from(record: Any, frame: Frame, label: str) -> Columns:
    """Return the columns described by a record from `Columns.record`.

    A column whose entry contains only a name and a kind is fitted to the table.

    Raises:
        InputError: the record is damaged, or is incompatible with the table.
    """
    entries = entries_of(record, label)
    kinds = {entry["name"]: entry["kind"] for entry in entries if len(entry) == 2}
    given = {entry["name"]: column_from(entry, label) for entry in entries if len(entry) > 2}
    for name in given:
        if name not in frame.names:
            raise InputError(
                f"{label}: expected columns of the table; got {name!r}; correct the name."
            )
    fitted = columns_of(frame, kinds, label).columns
    return Columns(tuple(given.get(column.name, column) for column in fitted))


def _column_of(
    raw: RawColumn, kind: str | None, label: str, keep_counters: bool, *, is_first: bool
) -> AbstractColumn:
    if kind is not None:
        return _column_of_kind(raw, ColumnKind(kind), label)
    values = raw.known
    if not len(values):
        return LeftOut(name=raw.name, form=raw.form, why="no cell has a value")
    different = len(set(values.tolist()))
    if different == 1:
        return LeftOut.constant(raw)
    if raw.is_category:
        return Words.of(raw, raw.name)
    if raw.cell_kind is CellKind.WORDS:
        hardly_repeats = different > max(MOST_WORDS, IS_TEXT * len(values))
        is_distinct = different == len(values) > FEWEST_ROWS
        if hardly_repeats or is_distinct or different > MOST_DIFFERENT:
            why = f"text: {different:,} different values{_likeness(values)}"
            left_out = LeftOut(name=raw.name, form=raw.form, why=why)
            if raw.note:  # a column that is nearly numbers or dates is no identifier
                return left_out
            return Key.of_text(raw) or left_out
        return Words.of(raw, raw.name)
    if raw.cell_kind is CellKind.DATES:
        return Dates.of(raw, raw.name, _numbers_of(since_1970(raw), raw.name))
    check_numbers(raw, label)
    reason = _identifier(raw.name, values, is_first=is_first)
    if reason and not keep_counters:
        return Key.of_numbers(raw, f"an identifier: {reason}")
    return _numbers_of(raw, raw.name)


def _likeness(cells: np.ndarray) -> str:
    """Return a clause with a cell in the most common format; "" if it is rare or has no digits."""
    cells = cells[:LOOKED_AT]
    shapes = Counter(_shape_of(cell) for cell in cells)
    usual, count = shapes.most_common(1)[0]
    if "0" not in usual or 2 * count < len(cells):
        return ""
    example = next(cell for cell in cells if _shape_of(cell) == usual)
    quantity = "all" if count == len(cells) else "most"
    return f", {quantity} of them such as {example[:MOST_SHOWN]!r}"


def _shape_of(cell: str) -> str:
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", cell))


def _numbers_of(raw: RawColumn, name: str) -> AbstractPart:
    values = raw.known
    different = len(np.unique(values))
    are_few = different <= FEW_NUMBERS and len(values) >= 10 * different
    is_countable = abs(values).max() < LARGEST * step_of(values)
    if is_countable and (are_few or different == 2 or _is_tied(values)):
        return Discrete.of(raw, name)
    return Continuous.of(raw, name)


def _is_tied(values: np.ndarray) -> bool:
    """Return whether any number is so frequent that it needs a separate probability."""
    _, counts = np.unique(values, return_counts=True)
    return bool(counts.max() >= max(TIED * len(values), STANDS_OUT * np.median(counts)))


def _with_scales(
    frame: Frame, columns: tuple[AbstractColumn, ...], kinds: dict[str, str]
) -> tuple[AbstractColumn, ...]:
    """Make discrete columns continuous or ordered if they then predict other columns better.

    For example, salaries in thousands are continuous, however few different ones there are, and
    exam marks from 1 to 10 are ordered states. Codes, such as region codes, are unordered states,
    since other columns do not increase or decrease with a code.
    """
    decided = list(columns)
    sample = frame.taken(np.sort(np.random.default_rng(0).permutation(len(frame))[:ENOUGH_ROWS]))
    targets: list[list[np.ndarray]] = []
    numbers: list[list[np.ndarray]] = []
    for place, (raw, column) in enumerate(zip(frame.columns, columns, strict=True)):
        if not isinstance(column, Discrete) or column.states == 2:
            continue
        sampled = sample.columns[place]
        if len(np.unique(sampled.known)) < 2:  # the column is known in few of many rows
            continue
        values = Continuous.of(sampled, raw.name).codes(sampled, "table")
        is_open = column.name not in kinds and not _is_tied(raw.known) and is_sparse(raw.known)
        if is_open:
            targets = targets or _of_each_part(sample, columns, targets_of)
            if gains(values, _others(targets, place)).is_scale:
                decided[place] = Continuous.of(raw, raw.name)
                continue
        # Compare with the numbers of other columns rather than with indicators of their states: a
        # mark may be monotonic in another mark, but whether it is 3 is not.
        numbers = numbers or _of_each_part(sample, columns, numbers_of)
        if gains(values, _others(numbers, place)).is_order:
            decided[place] = replace(column, ordered=True)
    return tuple(decided)


def _with_calendars(
    frame: Frame, columns: tuple[AbstractColumn, ...], kinds: dict[str, str]
) -> tuple[AbstractColumn, ...]:
    """Divide dates into parts if this predicts the dates or other columns better."""
    decided = list(columns)
    classes: list[list[np.ndarray]] = []
    for place, (raw, column) in enumerate(zip(frame.columns, columns, strict=True)):
        is_open = column.kind is ColumnKind.DATE and column.name not in kinds
        if not is_open or column.parts[0].states is not None:
            continue
        classes = classes or _of_each_part(
            frame, columns, lambda part, codes: [classes_of(codes, part.states)]
        )
        names = calendar_parts(raw, _others(classes, place))
        if names:
            calendar = _calendar_of(raw, names)
            if not any(part.name in frame.names for part in calendar.parts):
                decided[place] = calendar
    return tuple(decided)


def _of_each_part(
    frame: Frame,
    columns: Sequence[AbstractColumn],
    arrays_of: Callable[[AbstractPart, np.ndarray], list[np.ndarray]],
) -> list[list[np.ndarray]]:
    """Return, for each column, the results of `arrays_of` for its parts and their codes."""
    arrays = []
    for raw, column in zip(frame.columns, columns, strict=True):
        parts = zip(column.parts, column.split(raw, "table"), strict=True)
        codes = [(part, part.codes(cells, "table")) for part, cells in parts]
        arrays.append([array for pair in codes for array in arrays_of(*pair)])
    return arrays


def _others(arrays: Sequence[Sequence[np.ndarray]], place: int) -> list[np.ndarray]:
    """Return the arrays of all columns except the one at `place`."""
    return [array for i, own in enumerate(arrays) if i != place for array in own]


def _calendar_of(raw: RawColumn, parts: Sequence[str] = ()) -> Calendar:
    """Return a column of dates divided into the given parts, or into all parts if none is given."""
    known = raw.taken(np.flatnonzero(~raw.is_missing))
    dates = date_parts(known)
    if not parts:
        parts = ("week", "weekday")
        if span_of(known) >= LONG:
            parts = ("year", "month", "weekday")
        if has_times(raw.form):
            parts = (*parts, "hour")
    day = None
    if "year" in parts:
        day = single_value(dates.day)
    # If the day of the month never changes, it determines the day of the week.
    names = [part for part in parts if part != "weekday" or day is None]
    return Calendar(
        name=raw.name,
        form=raw.form,
        pieces=tuple(_piece_of(f"{raw.name} {part}", part, dates.part(part)) for part in names),
        rows=len(known.values),
        day=day,
        moment=single_value(dates.moment) if "hour" in parts else None,
        ends=ends_of(raw),
    )


def _piece_of(name: str, part: str, cells: np.ndarray) -> AbstractColumn:
    """Return the column for one part of dates."""
    if part == "week":
        weeks = RawColumn(name, cells, "%Y-%m-%d")
        numbers = _numbers_of(since_1970(weeks, by_week=True), name)
        return Dates.of(weeks, name, numbers, by_week=True)
    if len(set(cells.tolist())) == 1:
        return LeftOut(name=name, why=f"always {cells[0]}", value=cells[0])
    if part in NAMES:
        return Words(name=name, words=NAMES[part])
    return _numbers_of(RawColumn(name, cells), name)


# The cell type required for a kind chosen by the user; a category may have any cells.
NEEDED_CELLS = {
    ColumnKind.DISCRETE: CellKind.NUMBERS,
    ColumnKind.CONTINUOUS: CellKind.NUMBERS,
    ColumnKind.DATE: CellKind.DATES,
    ColumnKind.CALENDAR: CellKind.DATES,
}


def _column_of_kind(raw: RawColumn, kind: ColumnKind, label: str) -> AbstractColumn:
    """Return a column of the kind chosen by the user.

    Raises:
        InputError: the cells are incompatible with the kind.
    """
    if kind is ColumnKind.LEFT_OUT:
        return LeftOut(name=raw.name, form=raw.form)
    if raw.is_missing.all():
        raise InputError(
            f"{label}: column {raw.name!r}: expected cells with values; got none; omit the column."
        )
    if kind is ColumnKind.KEY:
        return _key(raw, label)
    needed = NEEDED_CELLS.get(kind, raw.cell_kind)
    if raw.cell_kind is not needed:
        example = words_of(raw)[~raw.is_missing][0]
        raise InputError(
            f"{label}: column {raw.name!r}: expected {needed}; got {raw.cell_kind} such as"
            f" {example[:40]!r}; choose the kind category."
        )
    if kind is ColumnKind.DATE:
        return Dates.of(raw, raw.name, _numbers_of(since_1970(raw), raw.name))
    if kind is ColumnKind.CALENDAR:
        return _calendar_of(raw)
    return KINDS[kind].of(raw, raw.name)


def counts_rows(name: str, values: np.ndarray, *, is_first: bool) -> bool:
    """Return whether a column counts the rows, so that its numbers increase by one per row.

    The column must also be the first of the table and start at 0 or 1, or have the name of a
    counter. A column of years is not a counter, but a trend.

    Example:
        >>> counts_rows("index", np.arange(20), is_first=False)
        True
    """
    if len(values) <= FEWEST_ROWS:
        return False
    are_years = "year" in name.lower() or YEARS[0] <= values.min() <= values.max() <= YEARS[1]
    # Sorted ages or days also increase by one, so a counter must have its usual position or name.
    is_counter = (is_first and values[0] in (0, 1)) or re.fullmatch(COUNTER, name) is not None
    return bool((np.diff(values) == 1).all()) and is_counter and not are_years


def _key(raw: RawColumn, label: str) -> Key:
    """Return the column as a key that identifies the rows, since the user chose this kind.

    Raises:
        InputError: the cells are neither different integers nor different texts of one form.
    """
    values = raw.known
    if raw.cell_kind is CellKind.NUMBERS and (values == np.rint(values)).all():
        return Key.of_numbers(raw, "an identifier as requested")
    key = None
    if raw.cell_kind is CellKind.WORDS:
        key = Key.of_text(raw)
    if key is None:
        raise InputError(
            f"{label}: column {raw.name!r}: expected whole numbers, or different texts of one form;"
            " got other cells; leave the column out."
        )
    return key


def _identifier(name: str, values: np.ndarray, *, is_first: bool) -> str:
    """Return the reason why numbers seem to identify rows, or "" if they do not.

    Numbers identify rows if they count the rows, or if they are distinct integers in a column
    named like an identifier.
    """
    if len(values) <= FEWEST_ROWS:
        return ""
    if counts_rows(name, values, is_first=is_first):
        return "it counts the rows"
    is_whole = (values == np.rint(values)).all()
    is_unique = len(np.unique(values)) == len(values)
    if is_whole and is_unique and re.search(IDENTIFIER, name):
        return "all different"
    return ""


class Gains(NamedTuple):
    """How well a column predicts others: estimated gains in log-likelihood on new rows, in nats.

    Attributes:
        scale: the gain if the column is treated as numbers, with a slope for each other column.
        states: the gain if it is treated as states, with a mean of each other column per state.
    """

    scale: float
    states: float

    @property
    def is_scale(self) -> bool:
        """Whether the numbers form a scale, with which other columns increase or decrease."""
        return self.scale > max(BEYOND_CHANCE, ENOUGH * self.states)

    @property
    def is_order(self) -> bool:
        """Whether states are ordered, so that slopes explain almost as much as a mean per state."""
        # If states overfit, their gain is negative, and a fraction of the gain exceeds it.
        return self.scale >= min(self.states, ENOUGH * self.states)


def is_sparse(values: np.ndarray) -> bool:
    """Return whether numbers are so far apart that numbers between them are to be expected.

    Ratings and numbers of legs are not far apart: their range has at most `FEW_NUMBERS` steps.
    Salaries in thousands have more steps, or a larger step than is usual for counts.
    """
    seen = np.unique(values)
    if len(seen) < FEWEST:
        return False
    # Above 2⁵³, float64 represents only some integers, so their common divisor is meaningless.
    if (seen != np.rint(seen)).any() or np.abs(seen).max() >= 2.0**53:
        step = float(np.diff(seen).min())
        points = (seen[-1] - seen[0]) / step
        return bool(points >= FEW_NUMBERS)
    step = int(np.gcd.reduce(np.diff(seen).astype(np.int64)))
    return bool(step >= ROUNDED or (seen[-1] - seen[0]) / step >= FEW_NUMBERS)


def gains(values: np.ndarray, others: Sequence[np.ndarray]) -> Gains:
    """Return how well a column predicts other columns, as a scale and as states.

    Args:
        values: the column, with NaN for missing cells.
        others: codes of other columns, or indicators of their states, with NaN if missing.
    """
    known = ~np.isnan(values)
    score = _standardized(values[known])
    states, place = np.unique(values[known], return_inverse=True)
    counts = np.bincount(place)
    rows = int(known.sum())
    by_scale = 0.0
    by_state = 0.0
    for other in others[:MOST_OTHERS]:
        target = _standardized(other[known])
        means = np.bincount(place, target) / counts
        # Akaike's criterion subtracts one nat per parameter: a slope, or all means but one.
        by_scale += _nats(float(score @ target / rows) ** 2, rows) - 1.0
        by_state += _nats(float(counts @ means**2) / rows, rows) - (len(states) - 1.0)
    return Gains(by_scale, by_state)


def _standardized(values: np.ndarray) -> np.ndarray:
    """Standardise numbers to mean 0 and variance 1; missing numbers become 0."""
    if not np.isfinite(values).any():
        return np.zeros(len(values))
    centred = values - np.nanmean(values)
    deviation = float(np.sqrt(np.nanmean(centred**2)))
    return np.nan_to_num(centred) / (deviation or 1.0)


def _nats(explained: float, rows: int) -> float:
    """Return the gain in log-likelihood, in nats, from explaining this fraction of the variance."""
    # A column that determines another explains all of it, and log 0 is infinite.
    return -0.5 * rows * float(np.log1p(-min(explained, 1.0 - 1e-9)))


def targets_of(part: AbstractPart, codes: np.ndarray) -> list[np.ndarray]:
    """Return the codes of a column, or one indicator per state if it has more than two states."""
    if part.states is None or part.states == 2:  # one of two states determines the other
        return [codes]
    missing = np.isnan(codes)
    return [np.where(missing, np.nan, codes == state) for state in range(part.states)]


def numbers_of(part: AbstractPart, codes: np.ndarray) -> list[np.ndarray]:
    """Return the numbers of a discrete column, or the result of `targets_of` for other columns."""
    if not isinstance(part, Discrete):
        return targets_of(part, codes)
    numbers = part.best(np.eye(part.states))
    missing = np.isnan(codes)
    return [np.where(missing, np.nan, numbers[np.where(missing, 0, codes).astype(int)])]


def calendar_parts(raw: RawColumn, others: Sequence[np.ndarray]) -> tuple[str, ...]:
    """Return the parts into which to divide a column of dates, or () if a trend is sufficient.

    The month, day of the week or hour is a part if some of its values are more frequent than
    expected by chance, or if another column depends on it. The month must also predict dates and
    other columns better than the trend, since with months, the trend is resolved only by year.

    Args:
        raw: the dates.
        others: the classes of each other column, with −1 for missing cells.
    """
    span = span_of(raw)
    if span < SHORT:
        return ()
    missing = raw.is_missing
    dates = date_parts(raw)
    if single_value(dates.day[~missing]) is not None and span >= QUARTER:
        return ("year", "month")
    days = dates.days[~missing]
    counts = np.bincount(days - days.min())  # for each day, including days without a row
    calendar = date_parts(
        RawColumn("", np.arange(days.min(), days.max() + 1).astype("datetime64[D]"))
    )
    # Bonferroni: each of three parts is tested alone and with every other column.
    level = SIGNIFICANCE / (3 * (len(others) + 1))

    def gain(part: str) -> float:
        """Return the nats per row that a part explains, or 0 if this is not significant."""
        classes = np.where(missing, -1, dates.place(part))
        if part == "hour":
            expected = np.ones(len(HOURS))
            groups = calendar.place("weekday")
        else:
            expected = np.bincount(calendar.place(part), minlength=len(NAMES[part]))
            groups = calendar.place(part)
        effective_rows = int(len(days) / _dispersion(counts, groups))
        pieces = [
            _divergence(classes, expected),
            *(information(classes, other) for other in others),
        ]
        pieces = [piece._replace(rows=min(piece.rows, effective_rows)) for piece in pieces]
        if not any(piece.is_significant(level) for piece in pieces):
            return 0.0
        return sum(piece.corrected for piece in pieces)

    by_weekday = gain("weekday") > 0
    times = has_times(raw.form)
    varies = times and single_value(dates.hour[~missing]) is None
    by_hour = varies and gain("hour") > 0
    weekday = ()
    if by_weekday:
        weekday = ("weekday",)
    hour = ()
    if times and (by_hour or not varies):
        hour = ("hour",)
    trend = classes_of(np.where(missing, np.nan, dates.days), None)
    by_trend = sum(information(trend, other).corrected for other in others)
    if span >= LONG and gain("month") > by_trend:
        return ("year", "month", *weekday, *hour)
    if by_weekday or by_hour:
        return ("week", "weekday", *hour)
    return ()


def _dispersion(counts: np.ndarray, classes: np.ndarray) -> float:
    """Return the overdispersion of daily counts within classes (χ² per degree of freedom, ≥ 1).

    In significance tests, as many rows as this number count as one, since rows may be dependent:
    for example, all rows of a monthly report have the same date.
    """
    sizes = np.maximum(np.bincount(classes), 1)
    mean = (np.bincount(classes, counts) / sizes)[classes]
    seen = mean > 0
    freedom = seen.sum() - len(np.unique(classes[seen]))
    chi_squared = ((counts - mean)[seen] ** 2 / mean[seen]).sum()
    return max(1.0, float(chi_squared) / max(1, int(freedom)))


def _divergence(classes: np.ndarray, expected: np.ndarray) -> Information:
    """Return the Kullback–Leibler divergence of observed from expected class frequencies."""
    counts = np.bincount(classes[classes >= 0], minlength=len(expected))
    seen = counts > 0
    p = counts[seen] / counts.sum()
    q = expected[seen] / expected.sum()
    nats = float((p * np.log(p / q)).sum())
    return Information(nats, int((expected > 0).sum()) - 1, int(counts.sum()))
