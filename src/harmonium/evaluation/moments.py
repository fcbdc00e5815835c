"""Moments and distances of rows, for numeric columns and one-hot codes."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from .._base.checks import positive_integer
from ..errors import InputError
from ..layers import AbstractLayer

NUMERIC = -1  # the code of a numeric column
MOST_LISTED = 150_000  # groups of variables; if there are more, a random subset is used
BLOCK = 128  # groups whose products are in memory at once
ROUNDING = 1e-13  # relative to the largest product of values
NO_VARIANCE = 1e-12  # relative to the largest variance; smaller variances are rounding errors


class Variables(NamedTuple):
    """Variables of a row: the entry in `column` or, for `code` ≥ 0, whether it equals `code`."""

    column: np.ndarray
    code: np.ndarray

    def of(self, rows: np.ndarray, which: Any = slice(None)) -> np.ndarray:
        """Return the values of the selected variables, shape (rows, which)."""
        entries = rows[:, self.column[which]]
        codes = self.code[which]
        return np.where(codes == NUMERIC, entries, entries == codes).astype(float)

    @property
    def metric(self) -> np.ndarray:
        """The weight of each variable in squared distances; different codes are at distance 1."""
        return np.where(self.code == NUMERIC, 1.0, 0.5)


def variables_of(states: Any, columns: int) -> Variables:
    """Return a variable for each numeric column and for each state of each column of codes.

    Args:
        states: number of states of each column, or one number for all columns; 1 or None for
            numeric columns.
        columns: number of columns.

    Raises:
        InputError: `states` are not whole numbers, or their number differs from `columns`.
    """
    if states is None:
        states = 1
    counts = [states] * columns if np.ndim(states) == 0 else list(states)
    if len(counts) != columns:
        raise InputError(
            f"states: expected one number, or one for each of the {columns} columns; got"
            f" {len(counts)} numbers; pass the number of states of each column."
        )
    counts = [positive_integer(count, "states") for count in counts]
    codes = [np.arange(count) if count > 1 else [NUMERIC] for count in counts]
    return Variables(np.repeat(np.arange(columns), counts), np.concatenate(codes))


def states_of(layer: AbstractLayer) -> list[int]:
    """Return the number of columns of each unit: its number of states if one-hot, otherwise 1."""
    owners = layer.spread(np.arange(layer.n_units))
    return np.bincount(np.asarray(owners)).tolist()


def check_codes(rows: np.ndarray, name: str, variables: Variables) -> None:
    """Raise InputError unless every column of codes contains whole numbers in its range."""
    last = np.zeros(rows.shape[1], int)
    last[variables.column] = variables.code  # codes ascend, so the largest code of a column remains
    coded = last != NUMERIC
    entries = rows[:, coded]
    wrong = (entries < 0) | (entries > last[coded]) | (entries != np.floor(entries))
    if wrong.any():
        row, place = (int(i) for i in np.argwhere(wrong)[0])
        column = int(np.flatnonzero(coded)[place])
        raise InputError(
            f"{name}: expected codes from 0 to {last[column]}; got {rows[row, column]} in row"
            f" {row}, column {column}; check `states`."
        )


def groups(variables: Variables, order: int, most: int) -> np.ndarray:
    """Return groups of `order` variables from different columns, shape (n, order).

    If there are more than `most` groups, a random subset is returned, the same in every call.
    """
    n = len(variables.column)
    rng = np.random.default_rng(0)
    if math.comb(n, order) <= MOST_LISTED:
        candidates = np.array(list(itertools.combinations(range(n), order)), int)
        candidates = candidates.reshape(-1, order)
    else:
        candidates = np.unique(np.sort(rng.integers(n, size=(4 * most, order)), axis=1), axis=0)
    columns = variables.column[candidates]  # ascending, like the groups
    are_different = (np.diff(columns, axis=1) > 0).all(axis=1)
    return rng.permutation(candidates[are_different])[:most]


def principal_axes(values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading principal axes of rows and the variances along them, largest first.

    The sign of an axis is chosen so that its entry of largest absolute value is positive.

    Args:
        values: numbers of shape (n, columns).
        count: the largest number of axes; axes without variance are left out.

    Returns:
        The axes, shape (columns, axes), of unit length, and the variances, shape (axes,).

    Source: Pearson 1901; Hotelling 1933.
    """
    from scipy.linalg import eigh  # imported here: it takes a tenth of a second

    centred = values - values.mean(axis=0)
    n, columns = centred.shape
    is_wide = columns > n
    product = centred @ centred.T if is_wide else centred.T @ centred  # the smaller of the two
    size = len(product)
    eigenvalues, axes = eigh(product, subset_by_index=[max(0, size - count), size - 1])
    eigenvalues = eigenvalues[::-1]
    axes = axes[:, ::-1]
    has_variance = eigenvalues > NO_VARIANCE * max(float(eigenvalues[0]), np.finfo(float).tiny)
    eigenvalues = eigenvalues[has_variance]
    axes = axes[:, has_variance]
    if is_wide:
        axes = centred.T @ axes / np.sqrt(eigenvalues)
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(len(eigenvalues))]
    return axes * np.sign(largest), eigenvalues / n


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Return Pearson's correlation coefficient, or NaN if x or y does not vary."""
    scale = float(x.std() * y.std())
    if len(x) < 2 or scale == 0.0:
        return math.nan
    return float(((x - x.mean()) * (y - y.mean())).mean()) / scale


def squared_distances(values: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """Return Σ_q metric_q (x_q − y_q)² for all pairs of rows x and y, shape (rows, rows).

    If all values are whole numbers, the distances and their ties are exact.
    """
    scaled = values * metric
    squares = (scaled * values).sum(axis=1)
    distances = squares[:, None] + squares - 2.0 * scaled @ values.T
    np.fill_diagonal(distances, 0.0)
    return np.maximum(distances, 0.0)


def cumulants(values: np.ndarray, weights: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Return joint cumulants: means, covariances or three-point connected correlations.

    The cumulants are ⟨x⟩, ⟨δx δy⟩ or ⟨δx δy δz⟩ with δx = x − ⟨x⟩, where ⟨·⟩ is a weighted mean
    over rows. Results that do not exceed the rounding error in magnitude are set to 0.

    Args:
        values: values of the variables, shape (rows, variables).
        weights: weightings of the rows, each summing to 1, shape (weightings, rows).
        which: groups of one, two or three variables, shape (groups, order).

    Returns:
        Shape (weightings, groups).
    """
    used, places = np.unique(which, return_inverse=True)
    columns = np.ascontiguousarray(values.T[used])
    means = weights @ columns.T
    places = places.reshape(which.shape)
    blocks = (places[b : b + BLOCK].T for b in range(0, len(which), BLOCK))
    parts = [_of_block(columns, weights, means, members) for members in blocks]
    values = np.concatenate([means[:, :0], *parts], axis=1)  # there may be no group
    rounding = ROUNDING * np.abs(columns).max(axis=1)[places].prod(axis=1)
    return np.where(np.abs(values) > rounding, values, 0.0)


def _of_block(
    columns: np.ndarray, weights: np.ndarray, means: np.ndarray, members: np.ndarray
) -> np.ndarray:
    def mean(*which: np.ndarray) -> np.ndarray:
        return weights @ np.multiply.reduce([columns[w] for w in which]).T

    first = [means[:, which] for which in members]
    if len(members) == 1:
        return first[0]
    if len(members) == 2:
        return mean(*members) - first[0] * first[1]
    i, j, k = members
    third = mean(i, j, k) + 2.0 * first[0] * first[1] * first[2]
    return third - first[0] * mean(j, k) - first[1] * mean(i, k) - first[2] * mean(i, j)
