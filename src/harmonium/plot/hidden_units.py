"""The filters of the hidden units: the weights of each unit as an image."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from .._base.checks import positive_integer
from .._base.images import ImageShape, checked_shape
from ..rbm import RBM
from ..weights.base import shared_filters
from .base import (
    as_picture,
    checked_parameter,
    color_bar,
    draw_matrix,
    label,
    new_figure,
    size_of_picture,
)

PERCENTILE = 99.5  # of |w|, at the end of the colour scale: larger weights would pale the others


def filters(rbm: RBM, *, image_shape: ImageShape = None, count: int = 100) -> Figure:
    """Draw the weights of each hidden unit, in descending order of the norm of the weights.

    If an image shape is given, the weights of each hidden unit are drawn as an image, and the
    images are arranged row by row in this order; otherwise, the weight matrix is drawn as a heat
    map. All units share one colour scale, which ends at the 99.5th percentile of |w|. If a visible
    unit has several weights to each hidden unit (a Potts unit has one for each of its states), the
    Euclidean norm of these weights is drawn. The filters of convolutional weights are drawn instead
    of the hidden units that share them; filters with a window of two axes are drawn as images.

    Args:
        rbm: the model.
        image_shape: the shape (rows, columns) of the image of a row of data, or "square" to infer
            it; if None, the weight matrix is drawn.
        count: the largest number of hidden units to draw.

    Raises:
        InputError: the number of pixels of the image shape differs from the number of visible
            units, or weights are not finite.

    Example:
        >>> from harmonium import plot
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> figure = plot.filters(rbm, image_shape=(2, 2))  # of 2 × 2 pixels
        >>> figure.get_suptitle()
        '3 of 3 hidden units by weight norm, largest first'
    """
    count = positive_integer(count, "count")
    shape = checked_shape(image_shape, rbm.visible.n_units, "visible units of the model")
    noun = "hidden unit" if rbm.hidden.n_units == rbm.hidden.size else "hidden column"
    pixel = "visible unit"
    has_norms = rbm.visible.n_units != rbm.visible.size
    shared = shared_filters(rbm.weights)
    if shared is not None:
        filters = checked_parameter(shared, "rbm.weights")
        noun = "filter"
        pixel = "place in the window"
        window = filters.shape[1:-1]
        shape = window if len(window) == 2 else None
        has_norms = filters.shape[-1] > 1
        squares = (filters**2).sum(-1)
        weights = (np.sqrt(squares) if has_norms else filters[..., 0]).reshape(len(filters), -1).T
    else:
        weights = checked_parameter(rbm.dense_weights, "rbm.weights")
        if has_norms:
            squares = rbm.visible.fold(jnp.asarray(weights.T**2))
            weights = np.sqrt(np.asarray(squares, float)).T
    colors = "RdBu_r"
    quantity = "weight (nats)"
    if has_norms:
        colors = "cividis"
        quantity = "norm of a unit's weights over its states (nats)"
    sizes = np.abs(weights)
    largest = float(np.percentile(sizes, PERCENTILE) or sizes.max() or 1.0)
    extend = "neither"
    if sizes.max() > largest:
        extend = "max" if has_norms else "both"
    lowest = 0.0 if has_norms else -largest
    order = np.argsort(-np.linalg.norm(weights, axis=0), kind="stable")[:count]
    title = f"{len(order)} of {weights.shape[1]} {noun}s by weight norm, largest first"
    picture = weights[:, order]
    size = (7.2, 7.4)
    if shape is not None:
        picture = as_picture(picture.T, shape)
        size = size_of_picture(picture)
    figure = new_figure(*size, title)
    axes = figure.add_subplot()
    image = draw_matrix(axes, picture, colors, (lowest, largest), tiles=shape is not None)
    label(axes, "", f"{noun}, by weight norm", pixel, grid=False)
    color_bar(figure, image, axes, quantity, extend=extend)
    return figure
