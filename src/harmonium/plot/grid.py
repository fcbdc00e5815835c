"""Rows as a single grid of images."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from .._base.checks import checked_rows
from .._base.images import ImageShape, checked_shape
from .base import as_picture, draw_matrix, new_figure

TALLEST = 12.0  # inches


def image_grid(rows: Any, *, image_shape: ImageShape = None) -> Figure:
    """Draw all rows, each as an image, in a near-square grid without labels.

    Args:
        rows: rows in the user's coding, shape (n, units).
        image_shape: the shape (rows, columns) of the image of a row, or "square" to infer it; if
            None, the rows are drawn as one matrix.

    Raises:
        InputError: rows are not a matrix of numbers, or do not match the image shape.

    Example:
        >>> from harmonium import plot
        >>> figure = plot.image_grid(hm.bars_and_stripes(2), image_shape=(2, 2))
        >>> len(figure.axes)  # one, with all tiles
        1
    """
    values = checked_rows(rows, "rows").astype(float)
    shape = checked_shape(image_shape, values.shape[1], "columns of rows")
    picture = as_picture(values, shape)
    height = 6.0 * picture.shape[0] / picture.shape[1]
    figure = new_figure(6.0, min(max(height, 1.0), TALLEST))
    axes = figure.subplots()
    ends = float(values.min()), float(values.max())
    draw_matrix(axes, picture, "gray", ends, tiles=True)
    if shape is None:
        axes.set_aspect("auto")
    return figure
