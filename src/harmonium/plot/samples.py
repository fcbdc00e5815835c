"""Samples from the model beside rows of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .._base.checks import checked_pair, positive_integer
from .._base.images import ImageShape, checked_shape, evenly_spaced, grey_scale
from .base import as_picture, color_bar, draw_matrix, label, new_figure, size_of_picture


def samples_beside_data(
    samples: Any, data: Any, *, image_shape: ImageShape = None, count: int = 64
) -> Figure:
    """Draw the same number of rows of data and of samples in two panels.

    If an image shape is given, each row is drawn as an image; otherwise, all rows are drawn as a
    matrix. Both panels share one grey scale. The rows to draw are evenly spaced among all rows.

    Args:
        samples: rows in the user's coding, shape (n, units).
        data: rows in the user's coding, shape (m, units).
        image_shape: the shape (rows, columns) of the image of a row, or "square" to infer it; if
            None, the rows are drawn as matrices.
        count: the largest number of rows of data, and of samples, to draw.

    Raises:
        InputError: samples and data do not match each other or the image shape.

    Example:
        >>> from harmonium import plot
        >>> rows = hm.bars_and_stripes(2)
        >>> figure = plot.samples_beside_data(1 - rows, rows, image_shape=(2, 2))
        >>> [axes.get_title(loc="left") for axes in figure.axes[:2]]
        ['data: 8 of 8 rows', 'samples: 8 of 8 rows']
    """
    samples, data = checked_pair(samples, data)
    shape = checked_shape(image_shape, data.shape[1], "columns of data")
    count = min(positive_integer(count, "count"), len(samples), len(data))
    shown = {"data": evenly_spaced(data, count), "samples": evenly_spaced(samples, count)}
    pictures = {name: as_picture(rows.astype(float), shape) for name, rows in shown.items()}
    size = (9.6, 4.8)
    if shape is not None:
        width, height = size_of_picture(pictures["data"], 4.6)
        size = (2 * width - 0.6, height)
    figure = new_figure(*size)
    both = figure.subplots(1, 2, sharex=True, sharey=True)
    ends = grey_scale(*shown.values())
    for axes, total, (name, picture) in zip(
        both, (len(data), len(samples)), pictures.items(), strict=True
    ):
        image = draw_matrix(axes, picture, "gray", ends, tiles=shape is not None)
        label(axes, f"{name}: {count:,} of {total:,} rows", "column", "row", grid=False)
    both[1].set_ylabel("")
    is_whole = all((rows == np.floor(rows)).all() for rows in shown.values())
    color_bar(figure, image, list(both), "value", whole=is_whole)
    return figure
