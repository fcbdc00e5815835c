"""Moments of samples against those of data: means of units, covariances of pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._base.checks import checked_pair
from ..errors import InputError
from ..evaluation.moments import NUMERIC, Variables, check_codes, groups, pearson, variables_of
from .base import BLUE, GREY, SMALL, evenly_spaced, label, new_figure

MOST_PAIRS = 5_000
MOST_ROWS = 10_000
BLOCK = 64


class _Cloud(NamedTuple):
    """Rows and their weights, which sum to 1."""

    rows: np.ndarray
    weights: np.ndarray


class _Estimate(NamedTuple):
    """Estimates and the squares of their standard errors, for independent rows."""

    values: np.ndarray
    squared_errors: np.ndarray


def means(samples: Any, data: Any, *, states: Any = None, weights: Any = None) -> Figure:
    """Draw the means of units and the covariances of pairs, of samples against those of data.

    For a well-trained model all points lie near the line of equality. A note states the rms
    difference, and the one that noise alone would leave if both sets were independent rows of one
    distribution. At most 10,000 rows of each are used, evenly spaced, and at most 5,000 pairs,
    drawn at random; two states of the same unit do not count as a pair.

    Args:
        samples: rows in the user's coding, shape (n, units).
        data: rows in the user's coding, shape (m, units).
        states: number of states of the columns, one number or one for each column. A column with
            states holds codes 0 to states − 1, each counted on its own; with 1 or None its numbers
            are used as they are.
        weights: sample weights of the data, shape (m,).

    Raises:
        InputError: rows, states or weights that do not match.

    Example:
        >>> from harmonium import plot
        >>> rows = hm.bars_and_stripes(2)
        >>> [axes.get_title(loc="left") for axes in plot.means(1 - rows, rows).axes]
        ['Means of units', 'Covariances of 6 pairs']
    """
    ours, theirs = checked_pair(samples, data)
    worth = _checked_weights(weights, len(theirs))
    variables = variables_of(states, theirs.shape[1])
    check_codes(theirs, "data", variables)
    check_codes(ours, "samples", variables)
    pairs = groups(variables, 2, MOST_PAIRS)
    clouds = [_cloud(theirs, worth), _cloud(ours, np.ones(len(ours)))]
    figure = new_figure(8.4, 4.6, f"{len(ours):,} samples against {len(theirs):,} rows of data")
    left, right = figure.subplots(1, 2)
    counted = bool((variables.code != NUMERIC).any())
    what = "Means of units" + (", frequencies of states" if counted else "")
    _scatter(left, what, *(_means(cloud, variables) for cloud in clouds))
    drawn = f"Covariances of {len(pairs):,} pairs"
    _scatter(right, drawn, *(_covariances(cloud, variables, pairs) for cloud in clouds))
    return figure


def _cloud(rows: np.ndarray, weights: np.ndarray) -> _Cloud:
    counting = evenly_spaced(np.flatnonzero(weights), MOST_ROWS)
    return _Cloud(rows[counting], weights[counting] / weights[counting].sum())


def _checked_weights(weights: Any, n: int) -> np.ndarray:
    array = np.ones(n) if weights is None else np.asarray(weights, float)
    if array.shape != (n,) or not np.isfinite(array).all() or (array < 0).any() or not array.any():
        raise InputError(
            f"weights: expected {n} finite non-negative numbers, one for each row of data, not all"
            f" zero; found shape {array.shape}. Pass None for equal weights."
        )
    return array


def _means(cloud: _Cloud, variables: Variables) -> _Estimate:
    """Estimate the first moments."""
    count = len(variables.column)
    blocks = (variables.of(cloud.rows, slice(b, b + BLOCK)) for b in range(0, count, BLOCK))
    return _estimate(cloud, blocks)


def _covariances(cloud: _Cloud, variables: Variables, pairs: np.ndarray) -> _Estimate:
    """Estimate the covariances of the pairs."""

    def deviations(which: np.ndarray) -> np.ndarray:
        values = variables.of(cloud.rows, which)
        return values - cloud.weights @ values

    blocks = (pairs[b : b + BLOCK].T for b in range(0, len(pairs), BLOCK))
    return _estimate(cloud, (deviations(i) * deviations(j) for i, j in blocks))


def _estimate(cloud: _Cloud, blocks: Iterable[np.ndarray]) -> _Estimate:
    """Estimate the means of columns that come in blocks, with errors for independent rows."""
    values = [np.zeros(0)]
    errors = [np.zeros(0)]
    for block in blocks:
        mean = cloud.weights @ block
        variance = cloud.weights @ (block - mean) ** 2
        values.append(mean)
        errors.append(variance * (cloud.weights @ cloud.weights))  # Kish's effective sample size
    return _Estimate(np.concatenate(values), np.concatenate(errors))


def _scatter(axes: Axes, title: str, data: _Estimate, samples: _Estimate) -> None:
    """Draw the points and the line of equality, and note how well the two sides agree."""
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
    alpha = float(np.clip(300 / len(x), 0.15, 0.8))
    axes.scatter(x, y, s=10, color=BLUE, alpha=alpha, linewidths=0, zorder=2)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.locator_params(nbins=6)
    difference = np.sqrt(np.mean((y - x) ** 2))
    noise = np.sqrt(np.mean(data.squared_errors + samples.squared_errors))
    note = f"correlation {_correlation(x, y)}\n"
    note += f"rms difference {difference:.2g} (noise alone: {noise:.2g})"
    axes.text(0.04, 0.96, note, transform=axes.transAxes, va="top", fontsize=SMALL)


def _correlation(x: np.ndarray, y: np.ndarray) -> str:
    """Return Pearson's coefficient as text, "undefined" if one side does not vary."""
    found = pearson(x, y)
    return "undefined" if math.isnan(found) else f"{found:.3f}".replace("-", "−")
