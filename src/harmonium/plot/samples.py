"""What the machine draws, beside what it learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from ..layers.base import positive_integer
from .base import (
    GAP,
    ImageShape,
    checked_pair,
    checked_shape,
    color_bar,
    evenly_spaced,
    label,
    new_figure,
    size_of_picture,
    tiled,
)


def samples_beside_data(
    samples: Any, data: Any, *, image_shape: ImageShape = None, count: int = 64
) -> Figure:
    """Draw rows of data and of samples in two panels, as many in one as in the other.

    With an image shape each row is an image; without, the rows are the lines of a matrix. Both
    panels share one scale of grey. The rows are evenly spaced among all that are given.

    Args:
        samples: rows in the user's coding, shape (n, units).
        data: rows in the user's coding, shape (m, units).
        image_shape: (rows, columns) of a row, "square" to have it guessed, or None.
        count: at most so many rows are drawn of each.

    Raises:
        InputError: rows that do not fit together, or that do not fit the image shape.
    """
    ours, theirs = checked_pair(samples, data)
    shape = checked_shape(image_shape, theirs.shape[1], "columns of data")
    count = min(positive_integer(count, "count"), len(ours), len(theirs))
    panels = {"data": evenly_spaced(theirs, count), "samples": evenly_spaced(ours, count)}
    low, high = _scale(np.concatenate(list(panels.values())))
    panels = {name: rows.astype(float) for name, rows in panels.items()}
    size = (9.6, 4.8)
    if shape is not None:
        panels = {name: tiled(rows.reshape(-1, *shape)) for name, rows in panels.items()}
        width, height = size_of_picture(panels["data"], 4.6)
        size = (2 * width - 0.6, height)
    figure = new_figure(*size)
    both = figure.subplots(1, 2, sharex=True, sharey=True)
    colors = colormaps["gray"].copy()
    colors.set_bad(GAP)
    for axes, (name, shown) in zip(both, panels.items(), strict=True):
        aspect = "auto" if shape is None else "equal"
        image = axes.imshow(shown, cmap=colors, vmin=low, vmax=high, aspect=aspect)
        label(axes, f"{name}: {count} rows", "column", "row", grid=False)
        if shape is not None:
            axes.set_axis_off()
    if shape is None:
        both[1].set_ylabel("")
    color_bar(figure, image, list(both), "value")
    return figure


def _scale(values: np.ndarray) -> tuple[float, float]:
    """Give the ends of the grey scale: 0 to 1 or −1 to 1 where the values lie within these."""
    low, high = float(values.min()), float(values.max())
    if -1.0 <= low and high <= 1.0:
        return (0.0 if low >= 0.0 else -1.0), 1.0
    return low, high
