"""Windows of a series: each row together with the rows before it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.checks import as_array, positive_integer
from ..errors import InputError, count_of

__all__ = ["windows"]


def windows(series: Any, past: int, name: str = "series") -> np.ndarray:
    """Return each row of a series joined to the `past` rows before it, as a single longer row.

    A model of such rows in which the columns of earlier rows are given is a model of the next row.

    Args:
        series: the rows in the order of time, shape (rows, columns).
        past: number of earlier rows to join to each row.
        name: the name of the series in error messages.

    Returns:
        Rows of shape (rows − past, (past + 1) · columns); the oldest row comes first.

    Raises:
        InputError: the series has no more than `past` rows.

    Example:
        >>> hm.data.windows([[0], [1], [2], [3]], past=2).tolist()
        [[0, 1, 2], [1, 2, 3]]
        >>> layer = hm.Conditional(hm.Bernoulli(3), given=range(2))  # the next row given two
    """
    rows = as_array(series, name)
    if rows.ndim != 2:
        raise InputError(f"{name}: expected rows of a series; got shape {rows.shape}.")
    past = positive_integer(past, "past")
    if past >= len(rows):
        raise InputError(
            f"{name}: expected a series with more than {past:,} rows, since so many precede"
            f" each row; got {count_of(len(rows), 'row')}; choose a smaller `past`."
        )
    last = len(rows) - past
    return np.concatenate([rows[lag : lag + last] for lag in range(past + 1)], axis=1)
