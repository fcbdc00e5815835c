"""Series: tables in which the cells of earlier rows are added to each row as further columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import InputError, count_of
from .frames import CellKind, Frame, RawColumn, with_gaps

DAY = 86_400  # seconds
UNEVEN = 0.15  # difference from the usual step beyond which steps are uneven; months differ by 0.1


def lag_name(name: str, lag: int) -> str:
    """Return the name of the column for the cells of column `name` from `lag` rows earlier."""
    return f"{name}_lag{lag}" if lag else name


def note_on_steps(frame: Frame) -> str:
    """Return a note if the dates of a series are not evenly spaced, else an empty text."""
    for column in _of_dates(frame):
        if len(frame) < 2 or column.is_missing.any() or _first_earlier(column) is not None:
            continue
        steps = np.diff(column.values.astype("datetime64[s]")).astype(float)
        usual = float(np.median(steps))
        others = int((abs(steps - usual) > UNEVEN * usual).sum())
        if others:
            words = f"{usual / DAY:g} days" if usual >= DAY else f"{usual:g} seconds"
            return (
                f"{others:,} of {count_of(len(steps), 'step')} between the dates in {column.name!r}"
                f" differ from the usual {words}; the past of a row is the rows before it, whatever"
                " their dates"
            )
    return ""


def with_lags(frame: Frame, names: Sequence[str], past: int, label: str) -> Frame:
    """Return the rows of a series from index `past` on, with the cells of `past` earlier rows each.

    The columns of earlier rows come first, beginning with the oldest row. Rows after a row with an
    empty cell are left out, since their past is not known.

    Args:
        frame: the rows of the series, in the order of time.
        names: the columns whose earlier cells are added.
        past: the number of earlier rows.
        label: the name of the table in error messages.

    Raises:
        InputError: the series is too short, lacks a column, has a column with the name of a lagged
            column, or has no row after `past` rows without empty cells.
    """
    rows = len(frame)
    if past >= rows:
        raise InputError(
            f"{label}: expected a series of more than {past:,} rows, since each row needs so many"
            f" earlier ones; got {count_of(rows, 'row')}; choose a smaller --past."
        )
    by_name = _named(frame, names, label)
    lagged: list[RawColumn] = []
    for lag in range(past, 0, -1):
        for name in names:
            new = lag_name(name, lag)
            if new in by_name:
                raise InputError(
                    f"{label}: expected no column named {new!r}, which --past adds; rename it."
                )
            column = by_name[name].taken(np.arange(past - lag, rows - lag))
            lagged.append(replace(column, name=new))
    present = frame.taken(np.arange(past, rows))
    windows = replace(present, columns=(*lagged, *present.columns))
    is_known = ~np.any([column.is_missing for column in lagged], axis=0)
    if not is_known.any():
        raise InputError(
            f"{label}: expected {count_of(past, 'row')} without empty cells before at least one"
            f" row; got none; fill the cells in, or choose a smaller --past."
        )
    return windows if is_known.all() else windows.taken(np.flatnonzero(is_known))


def next_row(frame: Frame, names: Sequence[str], past: int, label: str) -> Frame:
    """Return the row after the end of a series: the cells of `past` rows, and empty cells.

    Args:
        frame: the rows of the series, in the order of time.
        names: the columns whose earlier cells are added.
        past: the number of earlier rows.
        label: the name of the table in error messages.

    Raises:
        InputError: the series is too short, lacks a column, or has an empty cell in its last rows.
    """
    rows = len(frame)
    if past > rows:
        raise InputError(
            f"{label}: expected at least {count_of(past, 'row')}, from which the model predicts the"
            f" next one; got {count_of(rows, 'row')}; give a longer file."
        )
    by_name = _named(frame, names, label)
    for name in names:
        empty = np.flatnonzero(by_name[name].is_missing[rows - past :])
        if len(empty):
            raise InputError(
                f"{label}: expected the last {count_of(past, 'row')} without empty cells; got an"
                f" empty cell in column {name!r} of row {rows - past + empty[0] + 1}; fill it in."
            )
    last = frame.taken(np.array([*range(rows - past, rows), rows - 1]))
    is_next = np.arange(past + 1) == past
    columns = (replace(column, values=with_gaps(column.values, is_next)) for column in last.columns)
    return with_lags(replace(last, columns=tuple(columns)), names, past, label)


def _named(frame: Frame, names: Sequence[str], label: str) -> dict[str, RawColumn]:
    """Return the columns by name, after checks that none is absent, and that time runs forward.

    Raises:
        InputError: one of these names is absent, or every column of dates has a date before that of
            an earlier row.
    """
    dates = _of_dates(frame)
    earlier = [_first_earlier(column) for column in dates]
    # One column in order is enough: other dates, such as birthdays, need not be.
    if dates and None not in earlier:
        raise InputError(
            f"{label}: expected rows in the order of time; got an earlier date in column"
            f" {dates[0].name!r} of row {earlier[0]} than before; sort the rows by date, the oldest"
            " first, or remove the column if these dates are not those of the rows."
        )
    by_name = {column.name: column for column in frame.columns}
    absent = [name for name in names if name not in by_name]
    if absent:
        raise InputError(
            f"{label}: expected the columns of the series ({', '.join(names):.200}); got no column"
            f" {absent[0]!r}; add it."
        )
    return by_name


def _of_dates(frame: Frame) -> list[RawColumn]:
    """Return the columns of dates."""
    return [column for column in frame.columns if column.cell_kind is CellKind.DATES]


def _first_earlier(column: RawColumn) -> int | None:
    """Return the number of the first row with a date before that of the row above, or None."""
    known = np.flatnonzero(~column.is_missing)
    dates = column.values[known]
    earlier = np.flatnonzero(dates[1:] < dates[:-1])
    return int(known[earlier[0] + 1]) + 1 if len(earlier) else None
