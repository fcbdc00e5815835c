"""Samples and data in the plane of the data's first two principal axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from .._base.checks import checked_pair
from ..evaluation.moments import check_codes, principal_axes, variables_of
from .base import BLUE, GREY, evenly_spaced, label, new_figure

MOST_ROWS = 10_000
FEWEST_FOR_CELLS = 400
MOST_PLACES = 1_000
# along each axis
FEWEST_CELLS = 12
MOST_CELLS = 48
PALE = "#e3e3e3"
# from few rows to many
GREYS = ("#cccccc", "#111111")
BLUES = ("#a6cee9", BLUE, "#00243a")
BUBBLES = 2_000.0  # area of all points together, in square points
SMALLEST = 8.0  # area of one

_Bubbles = tuple[np.ndarray, np.ndarray]  # positions and areas


def pca_plane(samples: Any, data: Any, *, states: Any = None) -> Figure:
    """Draw data and samples on the data's first two principal axes, in two panels.

    Both panels have the same limits and the same scale. Many rows are drawn as cells, darker for a
    larger share of the rows; few rows as points with areas in proportion to their shares. In the
    panel of samples, places that have data but no samples are pale grey. At most 10,000 rows of
    each are used, evenly spaced. If the model has lost a part of the data (a missing mode), this
    shows here only if that part is separate on these two axes; the labels give their shares of
    the variance.

    Args:
        samples: rows in the user's coding, shape (n, columns).
        data: rows in the user's coding, shape (m, columns).
        states: number of states of the columns, one number or one for each column. A column with
            states holds codes 0 to states − 1, each counted on its own; with 1 or None its numbers
            are used as they are.

    Raises:
        InputError: rows or states that do not match.

    Example:
        >>> from harmonium import plot
        >>> rows = hm.bars_and_stripes(2)
        >>> [axes.get_title(loc="left") for axes in plot.pca_plane(rows, rows).axes]
        ['data: 8 rows', 'samples: 8 rows']
    """
    pair = checked_pair(samples, data)
    ours, theirs = (evenly_spaced(rows, MOST_ROWS) for rows in pair)
    variables = variables_of(states, theirs.shape[1])
    check_codes(theirs, "data", variables)
    check_codes(ours, "samples", variables)
    values = variables.of(theirs)
    middle = values.mean(axis=0)
    whole = float(values.var(axis=0).sum())
    axes, variances = principal_axes(values, 2)
    projected = [(some - middle) @ axes for some in (values, variables.of(ours))]
    points = [np.pad(some, ((0, 0), (0, 2 - axes.shape[1]))) for some in projected]
    shares = [*(variances / whole), 0.0, 0.0][:2]
    figure = new_figure(8.8, 4.8, "Samples on the principal axes of the data")
    panels = list(figure.subplots(1, 2, sharex=True, sharey=True))
    _draw(panels, points)
    texts = [f"axis {i + 1}: {share:.1%} of the data's variance" for i, share in enumerate(shares)]
    for panel, name, some, given in zip(
        panels, ("data", "samples"), points, pair[::-1], strict=True
    ):
        total = "" if len(some) == len(given) else f" of {len(given):,}"
        label(panel, f"{name}: {len(some):,}{total} rows", *texts)
    panels[1].set_ylabel("")
    return figure


def _draw(panels: list[Axes], points: list[np.ndarray]) -> None:
    """Draw rows as points if there are few, otherwise as shares of rows in cells."""
    bubbles = [_bubbles(some) for some in points]
    few = min(map(len, points)) < FEWEST_FOR_CELLS
    if few or max(len(places) for places, _ in bubbles) <= MOST_PLACES:
        _points(panels, _limits(points, 0.08), *bubbles)
    else:
        _cells(panels, _limits(points, 0.03), points)


def _limits(points: list[np.ndarray], margin: float) -> np.ndarray:
    """Return the ends of both axes, shape (2, 2)."""
    both = np.concatenate(points)
    low = both.min(axis=0)
    high = both.max(axis=0)
    beyond = np.where(high > low, margin * (high - low), 1.0)
    return np.stack([low - beyond, high + beyond], axis=1)


def _points(panels: list[Axes], ends: np.ndarray, data: _Bubbles, samples: _Bubbles) -> None:
    """Draw rows as points; rows at the same position are one point with their total area."""
    panels[0].set(xlim=ends[0], ylim=ends[1])
    for panel, (places, areas), color, alpha in (
        (panels[0], data, GREY, 0.6),
        (panels[1], data, PALE, 1.0),
        (panels[1], samples, BLUE, 0.6),
    ):
        panel.scatter(*places.T, s=areas, color=color, alpha=alpha, linewidths=0)


def _bubbles(points: np.ndarray) -> _Bubbles:
    """Return positions and areas, the largest first, so that small points are drawn on top."""
    scale = np.abs(points).max() or 1.0
    _, first, counts = np.unique(
        np.round(points / scale, 9), axis=0, return_index=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    areas = np.maximum(BUBBLES * counts / len(points), SMALLEST)
    return points[first][order], areas[order]


def _cells(panels: list[Axes], ends: np.ndarray, points: list[np.ndarray]) -> None:
    """Draw the shares of rows in cells."""
    fewest = min(map(len, points))
    count = int(np.clip(np.sqrt(fewest) / 1.8, FEWEST_CELLS, MOST_CELLS))
    edges = [np.linspace(low, high, count + 1) for low, high in ends]
    data, samples = (np.histogram2d(p[:, 0], p[:, 1], edges)[0].T / len(p) for p in points)
    filled = np.concatenate([some[some > 0.0] for some in (data, samples)])
    norm = PowerNorm(0.5, vmin=0.0, vmax=float(np.quantile(filled, 0.99)))
    panels[1].pcolormesh(*edges, np.where(data > 0.0, 1.0, np.nan), cmap=_shades(PALE, PALE))
    for panel, some, colors in zip(panels, (data, samples), (GREYS, BLUES), strict=True):
        shown = np.where(some > 0.0, some, np.nan)
        panel.pcolormesh(*edges, shown, cmap=_shades(*colors), norm=norm)


def _shades(*colors: str) -> LinearSegmentedColormap:
    return LinearSegmentedColormap.from_list("shades", colors)
