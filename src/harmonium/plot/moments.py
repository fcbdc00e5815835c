"""Scatter plots of unit means and pair covariances, samples against data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._base.images import evenly_spaced
from ..errors import InputError
from ..evaluation.moments import NUMERIC, Variables, groups, pearson
from .base import BLUE, GREY, MOST_ROWS, SMALL, checked_variables, label, new_figure, signed

MOST_PAIRS = 5_000  # more points would hide one another
BLOCK = 64  # variables or pairs at a time, since the values of all pairs would not fit in memory


class _Moments(NamedTuple):
    """Estimated moments, and their squared standard errors if rows are independent."""

    values: np.ndarray
    squared_errors: np.ndarray


def means(samples: Any, data: Any, *, states: Any = None, weights: Any = None) -> Figure:
    """Draw scatter plots of unit means and of pair covariances, samples against data.

    For a well-trained model all points lie near the line of equality. A note gives the rms
    difference, and the rms difference expected from sampling noise alone if both sets were
    independent rows from the same distribution. At most 10,000 evenly spaced rows of each set are
    used, and at most 5,000 random pairs of variables; two states of one unit do not form a pair.

    Args:
        samples: rows in the user's coding, shape (n, units).
        data: rows in the user's coding, shape (m, units).
        states: number of states of each column, or one number for all columns. A column with
            several states holds codes 0 to states − 1, each treated as a variable; with 1 or None,
            its numbers are used directly.
        weights: sample weights of the data, shape (m,).

    Raises:
        InputError: rows, states and weights do not match.

    Example:
        >>> from harmonium import plot
        >>> rows = hm.bars_and_stripes(2)
        >>> [axes.get_title(loc="left") for axes in plot.means(1 - rows, rows).axes]
        ['Means of units', 'Covariances of 6 pairs']
    """
    samples, data, variables = checked_variables(samples, data, states)
    weights = _checked_weights(weights, len(data))
    pairs = groups(variables, 2, MOST_PAIRS)
    figure = new_figure(8.4, 4.6, f"{len(samples):,} samples against {len(data):,} rows of data")
    left, right = figure.subplots(1, 2)
    title = "Means of units"
    if (variables.code != NUMERIC).any():
        title += ", frequencies of states"
    of_data = _moments(data, weights, variables, pairs)
    of_samples = _moments(samples, np.ones(len(samples)), variables, pairs)
    _scatter(left, title, of_data[0], of_samples[0])
    _scatter(right, f"Covariances of {len(pairs):,} pairs", of_data[1], of_samples[1])
    return figure


def _checked_weights(weights: Any, n: int) -> np.ndarray:
    if weights is None:
        return np.ones(n)
    array = np.asarray(weights, float)
    if array.shape != (n,) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise InputError(
            f"weights: expected {n} finite non-negative numbers, one for each row of data, not all"
            f" zero; got shape {array.shape}."
        )
    return array


def _moments(
    rows: np.ndarray, weights: np.ndarray, variables: Variables, pairs: np.ndarray
) -> tuple[_Moments, _Moments]:
    """Return the means of the variables, and the covariances of the pairs."""
    counting = evenly_spaced(np.flatnonzero(weights), MOST_ROWS)
    rows = rows[counting]
    weights = weights[counting] / weights[counting].sum()

    def deviations(which: np.ndarray) -> np.ndarray:
        values = variables.of(rows, which)
        return values - weights @ values

    count = len(variables.column)
    values = (variables.of(rows, slice(b, b + BLOCK)) for b in range(0, count, BLOCK))
    blocks = (pairs[b : b + BLOCK].T for b in range(0, len(pairs), BLOCK))
    products = (deviations(i) * deviations(j) for i, j in blocks)
    return _averages(values, weights), _averages(products, weights)


def _averages(blocks: Iterable[np.ndarray], weights: np.ndarray) -> _Moments:
    """Return weighted means of columns, given in blocks, and their squared standard errors."""
    values = [np.zeros(0)]
    errors = [np.zeros(0)]
    for block in blocks:
        mean = weights @ block
        variance = weights @ (block - mean) ** 2
        values.append(mean)
        errors.append(variance * (weights @ weights))  # Kish's effective sample size
    return _Moments(np.concatenate(values), np.concatenate(errors))


def _scatter(axes: Axes, title: str, data: _Moments, samples: _Moments) -> None:
    """Draw the points and the line of equality, and note how well data and samples agree."""
    label(axes, title, "data", "samples")
    x = data.values
    y = samples.values
    if not len(x):
        axes.text(0.5, 0.5, "no pairs", transform=axes.transAxes, ha="center", color=GREY)
        return
    both = np.concatenate([x, y])
    margin = 0.05 * (np.ptp(both) or 1.0)
    ends = (both.min() - margin, both.max() + margin)
    axes.plot(ends, ends, color=GREY, linewidth=0.8, zorder=1)
    alpha = float(np.clip(300 / len(x), 0.15, 0.8))  # many points overlap
    axes.scatter(x, y, s=10, color=BLUE, alpha=alpha, linewidths=0, zorder=2)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.locator_params(nbins=6)
    difference = np.sqrt(np.mean((y - x) ** 2))
    noise = np.sqrt(np.mean(data.squared_errors + samples.squared_errors))
    correlation = signed(f"{pearson(x, y):.3f}").replace("nan", "undefined")
    note = f"correlation {correlation}\nrms difference {difference:.2g} (noise alone: {noise:.2g})"
    axes.text(0.04, 0.96, note, transform=axes.transAxes, va="top", fontsize=SMALL)
