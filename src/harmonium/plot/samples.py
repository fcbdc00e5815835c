"""Samples from the model beside rows of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .._base.checks import checked_pair, positive_integer
from .base import (
    ImageShape,
    as_picture,
    checked_shape,
    color_bar,
    draw_matrix,
    evenly_spaced,
    label,
    new_figure,
    size_of_picture,
)


def samples_beside_data(
    samples: Any, data: Any, *, image_shape: ImageShape = None, count: int = 64
) -> Figure:
    """Draw the same number of rows of data and of samples in two panels.

    With an image shape each row is drawn as an image; without one, the rows are drawn as a matrix.
    Both panels share one grey scale. The rows are evenly spaced among all rows passed.

    Args:
        samples: rows in the user's coding, shape (n, units).
        data: rows in the user's coding, shape (m, units).
        image_shape: (rows, columns) of a row, "square" to infer it, or None.
        count: the largest number of rows to draw of each.

    Raises:
        InputError: rows that do not match each other or the image shape.

    Example:
        >>> from harmonium import plot
        >>> rows = hm.bars_and_stripes(2)
        >>> figure = plot.samples_beside_data(1 - rows, rows, image_shape=(2, 2))
        >>> [axes.get_title(loc="left") for axes in figure.axes[:2]]
        ['data: 8 of 8 rows', 'samples: 8 of 8 rows']
    """
    ours, theirs = checked_pair(samples, data)
    shape = checked_shape(image_shape, theirs.shape[1], "columns of data")
    count = min(positive_integer(count, "count"), len(ours), len(theirs))
    totals = {"data": len(theirs), "samples": len(ours)}
    rows = {"data": evenly_spaced(theirs, count), "samples": evenly_spaced(ours, count)}
    panels = {name: as_picture(chosen.astype(float), shape) for name, chosen in rows.items()}
    figure = new_figure(*_size(panels["data"], shape))
    both = figure.subplots(1, 2, sharex=True, sharey=True)
    ends, whole = _scale(np.concatenate(list(rows.values())))
    for axes, (name, panel) in zip(both, panels.items(), strict=True):
        image = draw_matrix(axes, panel, "gray", ends, tiles=shape is not None)
        label(axes, f"{name}: {count:,} of {totals[name]:,} rows", "column", "row", grid=False)
    both[1].set_ylabel("")
    color_bar(figure, image, list(both), "value", whole=whole)
    return figure


def _size(panel: np.ndarray, shape: tuple[int, int] | None) -> tuple[float, float]:
    """Return the figure's size in inches."""
    if shape is None:
        return 9.6, 4.8
    width, height = size_of_picture(panel, 4.6)
    return 2 * width - 0.6, height


def _scale(values: np.ndarray) -> tuple[tuple[float, float], bool]:
    """Return the ends of the grey scale, and whether all values are whole numbers.

    The ends are 0 and 1, or −1 and 1, where the values lie between these.
    """
    low = float(values.min())
    high = float(values.max())
    if low >= -1.0 and high <= 1.0:
        low = 0.0 if low >= 0.0 else -1.0
        high = 1.0
    return (low, high), bool((values == np.floor(values)).all())
