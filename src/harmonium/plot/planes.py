"""Samples and data in the plane of the data's first two principal axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from .._base.images import evenly_spaced
from ..evaluation.moments import principal_axes
from .base import BLUE, GREY, MOST_ROWS, checked_variables, label, new_figure

FEWEST_FOR_CELLS = 400  # rows: fewer leave most cells empty
MOST_POSITIONS = 1_000  # more points would hide one another
# number of cells of the two-dimensional histogram along each axis
FEWEST_CELLS = 12
MOST_CELLS = 48
PALE = "#e3e3e3"
# colours of cells, from few rows to many
GREYS = ("#cccccc", "#111111")
BLUES = ("#a6cee9", BLUE, "#00243a")
BUBBLES = 2_000.0  # area of all points together, in square points
SMALLEST = 8.0  # smallest area of a point


class _Bubbles(NamedTuple):
    """Points whose areas grow with the number of rows that share a position."""

    positions: np.ndarray
    areas: np.ndarray


def pca_plane(samples: Any, data: Any, *, states: Any = None) -> Figure:
    """Draw data and samples, projected onto the data's first two principal axes, in two panels.

    Both panels have the same limits and the same scale. Many rows are drawn as a two-dimensional
    histogram, whose cells are darker the more rows they contain; few rows are drawn as points,
    whose areas are proportional to the number of rows at each position. In the panel of samples,
    positions with data but no samples are pale grey. At most 10,000 evenly spaced rows of each set
    are used. A mode of the data that the model misses is visible only if these two axes separate it
    from the other modes; the axis labels give the fraction of the variance along each axis.

    Args:
        samples: rows in the user's coding, shape (n, columns).
        data: rows in the user's coding, shape (m, columns).
        states: number of states of each column, or one number for all columns. A column with
            several states holds codes 0 to states − 1, each treated as a variable; with 1 or None,
            its numbers are used directly.

    Raises:
        InputError: rows and states do not match.

    Example:
        >>> from harmonium import plot
        >>> rows = hm.bars_and_stripes(2)
        >>> [axes.get_title(loc="left") for axes in plot.pca_plane(rows, rows).axes]
        ['data: 8 rows', 'samples: 8 rows']
    """
    samples, data, variables = checked_variables(samples, data, states)
    shown = [evenly_spaced(rows, MOST_ROWS) for rows in (data, samples)]
    values = [variables.of(rows) for rows in shown]
    centre = values[0].mean(axis=0)
    axes, variances = principal_axes(values[0], 2)
    missing = 2 - axes.shape[1]  # data without variance have fewer axes
    axes = np.pad(axes, ((0, 0), (0, missing)))
    points = [(rows - centre) @ axes for rows in values]
    total = float(values[0].var(axis=0).sum())
    fractions = np.pad(variances / (total or 1.0), (0, missing))
    figure = new_figure(8.8, 4.8, "Samples on the principal axes of the data")
    both = figure.subplots(1, 2, sharex=True, sharey=True)
    _draw(both, points)
    words = [f"axis {i + 1}: {part:.1%} of the data's variance" for i, part in enumerate(fractions)]
    for panel, name, rows, given in zip(
        both, ("data", "samples"), shown, (data, samples), strict=True
    ):
        count = f"{len(rows):,}"
        if len(rows) < len(given):
            count += f" of {len(given):,}"
        label(panel, f"{name}: {count} rows", *words)
    both[1].set_ylabel("")
    return figure


def _draw(panels: Sequence[Axes], points: list[np.ndarray]) -> None:
    """Draw points if there are few rows or positions, otherwise a two-dimensional histogram."""
    bubbles = [_bubbles(rows) for rows in points]
    are_few = min(map(len, points)) < FEWEST_FOR_CELLS
    if are_few or max(len(group.positions) for group in bubbles) <= MOST_POSITIONS:
        _draw_points(panels, _limits(points, 0.08), *bubbles)
    else:
        _draw_cells(panels, _limits(points, 0.03), points)


def _limits(points: list[np.ndarray], margin: float) -> np.ndarray:
    """Return the limits of both axes, with a margin around all points, shape (2, 2)."""
    both = np.concatenate(points)
    low = both.min(axis=0)
    high = both.max(axis=0)
    beyond = np.where(high > low, margin * (high - low), 1.0)
    return np.stack([low - beyond, high + beyond], axis=1)


def _bubbles(points: np.ndarray) -> _Bubbles:
    """Return positions and areas in descending order, so that small points are drawn on top."""
    scale = np.abs(points).max() or 1.0
    # Rows that are equal up to rounding share a position.
    _, first, counts = np.unique(
        np.round(points / scale, 9), axis=0, return_index=True, return_counts=True
    )
    order = np.argsort(-counts, kind="stable")
    areas = np.maximum(BUBBLES * counts / len(points), SMALLEST)
    return _Bubbles(points[first][order], areas[order])


def _draw_points(
    panels: Sequence[Axes], ends: np.ndarray, data: _Bubbles, samples: _Bubbles
) -> None:
    panels[0].set(xlim=ends[0], ylim=ends[1])
    for panel, bubbles, color, alpha in (
        (panels[0], data, GREY, 0.6),
        (panels[1], data, PALE, 1.0),
        (panels[1], samples, BLUE, 0.6),
    ):
        panel.scatter(*bubbles.positions.T, s=bubbles.areas, color=color, alpha=alpha, linewidths=0)


def _draw_cells(panels: Sequence[Axes], ends: np.ndarray, points: list[np.ndarray]) -> None:
    fewest = min(map(len, points))
    # There would be about three rows in each cell if rows were spread evenly.
    count = int(np.clip(np.sqrt(fewest) / 1.8, FEWEST_CELLS, MOST_CELLS))
    edges = [np.linspace(low, high, count + 1) for low, high in ends]
    fractions = [np.histogram2d(rows[:, 0], rows[:, 1], edges)[0].T / len(rows) for rows in points]
    filled = np.concatenate([cells[cells > 0.0] for cells in fractions])
    norm = PowerNorm(0.5, vmin=0.0, vmax=float(np.quantile(filled, 0.99)))
    panels[1].pcolormesh(
        *edges, np.where(fractions[0] > 0.0, 1.0, np.nan), cmap=_shades(PALE, PALE)
    )
    for panel, cells, colors in zip(panels, fractions, (GREYS, BLUES), strict=True):
        drawn = np.where(cells > 0.0, cells, np.nan)
        panel.pcolormesh(*edges, drawn, cmap=_shades(*colors), norm=norm)


def _shades(*colors: str) -> LinearSegmentedColormap:
    return LinearSegmentedColormap.from_list("shades", colors)
