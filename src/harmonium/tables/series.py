"""Series: tables in which the cells of earlier rows are added to each row as further columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..errors import InputError, count_of
from .frames import Frame, RawColumn


def lag_name(name: str, lag: int) -> str:
    """Return the name of the column for the cells of column `name` from `lag` rows earlier."""
    return f"{name}_lag{lag}" if lag else name


def with_lags(frame: Frame, names: Iterable[str], past: int, label: str) -> Frame:
    """Return the rows of a series from index `past` on, with the cells of `past` earlier rows each.

    The columns of earlier rows come first, beginning with the oldest row.

    Args:
        frame: the rows of the series, in the order of time.
        names: the columns whose earlier cells are added.
        past: the number of earlier rows.
        label: the name of the table in error messages.

    Raises:
        InputError: the series is too short, or has a column with the name of a lagged column.
    """
    rows = len(frame)
    if past >= rows:
        raise InputError(
            f"{label}: expected a series of more than {past:,} rows, since each row needs so many"
            f" earlier ones; got {count_of(rows, 'row')}; choose a smaller --past."
        )
    by_name = {column.name: column for column in frame.columns}
    lagged: list[RawColumn] = []
    for lag in range(past, 0, -1):
        for name in names:
            if name not in by_name:
                continue
            new = lag_name(name, lag)
            if new in by_name:
                raise InputError(
                    f"{label}: expected no column named {new!r}, which --past adds; rename it."
                )
            column = by_name[name].taken(np.arange(past - lag, rows - lag))
            lagged.append(replace(column, name=new))
    present = frame.taken(np.arange(past, rows)).columns
    return Frame((*lagged, *present), frame.has_names)
