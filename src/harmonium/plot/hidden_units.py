"""The filters of the hidden units: the weights of each as an image."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from .._base.checks import positive_integer
from ..rbm import RBM
from .base import (
    TITLE,
    ImageShape,
    as_picture,
    checked_shape,
    color_bar,
    draw_matrix,
    finite_array,
    label,
    new_figure,
    size_of_picture,
)

PERCENTILE = 99.5


def filters(rbm: RBM, *, image_shape: ImageShape = None, count: int = 100) -> Figure:
    """Draw the weights of each hidden unit, those with the largest norm first.

    With an image shape, each hidden unit is a tile, in order row by row; without one, the weight
    matrix is drawn as a heat map. All units share one colour scale that ends at the 99.5th
    percentile of |w|. If a visible unit has several weights, as a Potts site has one for each
    state, their Euclidean norm is drawn.

    Args:
        rbm: the model.
        image_shape: (rows, columns) of a row of data, "square" to infer it, or None.
        count: the largest number of hidden units to draw.

    Raises:
        InputError: an image shape with another number of pixels than there are visible units, or
            weights that are not finite.

    Example:
        >>> from harmonium import plot
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> figure = plot.filters(rbm, image_shape=(2, 2))  # of 2 × 2 pixels
        >>> figure.get_suptitle()
        '3 of 3 hidden units by weight norm, largest first'
    """
    count = positive_integer(count, "count")
    shape = checked_shape(image_shape, rbm.visible.n_units, "visible units of the model")
    weights, signed = _one_for_each_unit(rbm)
    order = np.argsort(-np.linalg.norm(weights, axis=0), kind="stable")[:count]
    shown = weights[:, order] if shape is None else as_picture(weights.T[order], shape)
    figure = new_figure(*((7.2, 7.4) if shape is None else size_of_picture(shown)))
    axes = figure.add_subplot()
    colors, ends, extend = _scale(weights, signed)
    image = draw_matrix(axes, shown, colors, ends, tiles=shape is not None)
    noun = "unit" if rbm.hidden.n_units == rbm.hidden.size else "column"
    title = f"{len(order)} of {weights.shape[1]} hidden {noun}s by weight norm, largest first"
    figure.suptitle(title, fontsize=TITLE)
    label(axes, "", f"hidden {noun}, by weight norm", "visible unit", grid=False)
    quantity = "weight (nats)" if signed else "norm of a unit's weights over its states (nats)"
    color_bar(figure, image, axes, quantity, extend=extend)
    return figure


def _one_for_each_unit(rbm: RBM) -> tuple[np.ndarray, bool]:
    """Return a value for each visible unit and hidden column, and whether it is the weight."""
    weights = finite_array(rbm.dense_weights, "weights")
    if rbm.visible.n_units == rbm.visible.size:
        return weights, True
    squares = rbm.visible.fold(jnp.asarray(weights.T**2))
    return np.sqrt(np.asarray(squares, float)).T, False


def _scale(weights: np.ndarray, signed: bool) -> tuple[str, tuple[float, float], str]:
    """Return the colour map, the values at its ends, and the ends beyond which some weights lie."""
    sizes = np.abs(weights)
    largest = float(np.percentile(sizes, PERCENTILE) or sizes.max() or 1.0)
    clipped = sizes.max() > largest
    if signed:
        return "RdBu_r", (-largest, largest), "both" if clipped else "neither"
    return "cividis", (0.0, largest), "max" if clipped else "neither"
