"""What each hidden unit looks for: its weights as an image."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from ..layers.base import positive_integer
from ..rbm import RBM
from .base import (
    GAP,
    ImageShape,
    checked_shape,
    color_bar,
    label,
    new_figure,
    size_of_picture,
    tiled,
    weights_of,
)

PERCENTILE = 99.5


def filters(rbm: RBM, *, image_shape: ImageShape = None, count: int = 100) -> Figure:
    """Draw each hidden unit's weights, the units of the largest weight norm first.

    With an image shape: one tile a hidden unit, read row by row. Without: the weight matrix as a
    heat map. All share one colour scale that ends at the 99.5th percentile of |w|. Where a visible
    unit has several weights, as a Potts site has one for each state, their Euclidean norm is drawn.

    Args:
        rbm: the machine.
        image_shape: (rows, columns) of a row of data, "square" to have it guessed, or None.
        count: at most so many hidden units are drawn.

    Raises:
        InputError: an image shape with another number of pixels than there are visible units.
    """
    count = positive_integer(count, "count")
    shape = checked_shape(image_shape, rbm.visible.n_units, "visible units of the machine")
    weights, signed = _one_for_each_unit(rbm)
    order = np.argsort(-np.linalg.norm(weights, axis=0), kind="stable")[:count]
    shown = weights[:, order] if shape is None else tiled(weights.T[order].reshape(-1, *shape))
    total = weights.shape[1]
    which = f"{len(order)} of {total}" if len(order) < total else f"All {total}"
    title = f"{which} hidden units by weight norm, largest first"
    figure = new_figure(*((7.2, 7.4) if shape is None else size_of_picture(shown)), title)
    axes = figure.add_subplot()
    largest = np.percentile(np.abs(weights), PERCENTILE) or 1.0
    colors = colormaps["RdBu_r" if signed else "cividis"].copy()
    colors.set_bad(GAP)
    image = axes.imshow(
        shown,
        cmap=colors,
        aspect="auto" if shape is None else "equal",
        vmin=-largest if signed else 0.0,
        vmax=largest,
    )
    if shape is None:
        label(axes, "", "hidden unit, by weight norm", "visible unit", grid=False)
    else:
        axes.set_axis_off()
    clipped = np.abs(weights).max() > largest
    extend = ("both" if signed else "max") if clipped else "neither"
    quantity = "weight (nats)" if signed else "norm of a unit's weights over its states (nats)"
    color_bar(figure, image, axes, quantity, extend)
    return figure


def _one_for_each_unit(rbm: RBM) -> tuple[np.ndarray, bool]:
    """Give a number for each visible unit and hidden column, and whether it is a weight itself."""
    weights = weights_of(rbm)
    if rbm.visible.n_units == rbm.visible.size:
        return weights, True
    return np.sqrt(np.asarray(rbm.visible.fold(weights.T**2), float)).T, False
