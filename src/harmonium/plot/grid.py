"""Rows as a single grid of images."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from .base import ImageShape, checked_rows, checked_shape, draw_matrix, new_figure, tiled


def image_grid(rows: Any, *, image_shape: ImageShape = None) -> Figure:
    """Draw all rows, each as an image, in a near-square grid without any lettering.

    Args:
        rows: rows in the user's coding, shape (n, units).
        image_shape: (rows, columns) of a row, or "square"; without one, rows are lines of a matrix.

    Raises:
        InputError: rows that are no matrix of numbers, or that do not fit the image shape.
    """
    values = checked_rows(rows, "rows").astype(float)
    shape = checked_shape(image_shape, values.shape[1], "columns of rows")
    picture = values if shape is None else tiled(values.reshape(-1, *shape))
    figure = new_figure(6.0, 6.0 * picture.shape[0] / picture.shape[1])
    axes = figure.subplots()
    ends = float(values.min()), float(values.max())
    draw_matrix(axes, picture, "gray", ends, tiles=True)
    return figure
