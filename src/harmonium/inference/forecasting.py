"""Forecasts of a series by a model of each row given the rows before it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Integer, PRNGKeyArray

from .._base.checks import as_array, checked_key, positive_integer
from .._base.threefry import fold_in
from ..errors import InputError, NotConvergedWarning, warn_user
from ..layers.capabilities import given_units
from ..rbm import RBM, checked_rbm
from .sampling import drawn_rows

__all__ = ["forecast"]


class Futures(NamedTuple):
    """Drawn continuations of a series.

    Attributes:
        rows: rows in the user's coding, each after the rows of its past, shape (draws, steps,
            units).
        converged: whether the draws of every step are reliable.
        message: why the draws are reliable, or why they are not.
    """

    rows: Float[np.ndarray, "draws steps units"]
    converged: bool
    message: str


def forecast(
    rbm: RBM, series: Any, steps: int, *, key: PRNGKeyArray, draws: int = 100
) -> Float[np.ndarray, "draws steps columns"]:
    """Draw continuations of a series, row by row.

    The model predicts a row from the rows before it. It is a model of the windows that
    `hm.data.windows` returns, in which each earlier row has columns of its own; all these columns
    are given units. Each drawn row becomes part of the past of the next row, so the draws differ as
    much as the possible futures of the series do. Quantiles over the draws are prediction
    intervals.

    Args:
        rbm: a conditional model of windows of a series.
        series: the last rows of the series, in chronological order, at least as many as the model
            uses as the past.
        steps: number of rows to draw.
        key: a JAX random key.
        draws: number of continuations.

    Returns:
        Rows in the user's coding, shape (draws, steps, columns of the series).

    Raises:
        InputError: the given units of the model are not the past of a series, or the series is too
            short or does not match the model.

    Example:
        >>> rows = hm.data.windows([[0], [1], [1]] * 20, past=2)
        >>> layer = hm.Conditional(hm.Bernoulli(3), given=[0, 1], weights=[[-9.0], [-9.0]])
        >>> rbm = hm.RBM(layer, hm.Bernoulli(1), np.zeros((3, 1)))
        >>> hm.forecast(rbm, [[0], [1], [1]], steps=4, key=jax.random.key(0), draws=2).shape
        (2, 4, 1)
    """
    units = checked_rbm(rbm).visible.n_observed
    is_given = given_units(rbm.visible)[:units]
    before = int(is_given.sum())
    columns = units - before
    if not before or before % columns or is_given[before:].any():
        raise InputError(
            f"rbm: expected a model whose first units are the given past of a series, as in"
            f" hm.Conditional(hm.Bernoulli(6), given=range(4)) for two columns; got {rbm.visible}."
        )
    rows = as_array(series, "series")
    past = before // columns
    if rows.ndim != 2 or rows.shape[1] != columns or len(rows) < past:
        raise InputError(
            f"series: expected at least {past} rows of {columns} columns, from which the model"
            f" predicts the next row; got shape {rows.shape}."
        )
    start = np.concatenate([rows[len(rows) - past :].ravel(), np.full(columns, np.nan)])
    later = np.arange(before) + columns
    futures = drawn_futures(rbm, start, np.arange(before), later, steps, draws, key=key)
    if not futures.converged:
        warn_user(f"forecast: {futures.message}", NotConvergedWarning)
    return futures.rows[:, :, before:]


def drawn_futures(
    rbm: RBM,
    start: Float[np.ndarray, " units"],
    given: Integer[np.ndarray, " given"],
    later: Integer[np.ndarray, " given"],
    steps: int,
    draws: int,
    *,
    key: PRNGKeyArray,
) -> Futures:
    """Draw continuations of a series, with rows in the user's coding.

    Args:
        rbm: the conditional model.
        start: the first row, with NaN for its targets.
        given: the indices of the given units.
        later: for each given unit, the index of the unit whose value it takes in the next step.
        steps: number of rows to draw.
        draws: number of continuations.
        key: a JAX random key.
    """
    steps = positive_integer(steps, "steps")
    draws = positive_integer(draws, "draws")
    key = checked_key(key)
    latest = drawn_rows(rbm, draws, key=key, given=start[None])
    rows = [latest.rows]
    doubts = [] if latest.converged else [latest.message]
    for step in range(1, steps):
        following = np.full(rows[-1].shape, np.nan)
        following[:, given] = rows[-1][:, later]
        latest = drawn_rows(rbm, 1, key=fold_in(key, step), given=following)
        rows.append(latest.rows)
        if not latest.converged:
            doubts.append(latest.message)
    return Futures(np.stack(rows, axis=1), not doubts, (doubts or [latest.message])[0])
