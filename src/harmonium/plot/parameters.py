"""Histograms of a model's parameters."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..layers import AbstractLayer
from ..rbm import RBM
from .base import BLUE, GREY, checked_parameter, label, new_figure, panels, signed

MOST_BINS = 60  # each at least six pixels wide


def weight_histogram(rbm: RBM) -> Figure:
    """Draw histograms of the weights and of each parameter array of the two layers.

    Args:
        rbm: the model.

    Raises:
        InputError: parameters are not finite.

    Example:
        >>> from harmonium import plot
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> figure = plot.weight_histogram(rbm)  # and the biases of both layers
        >>> len(figure.axes)
        3
    """
    parameters = {"weights": rbm.dense_weights}
    parameters |= dict(_arrays(rbm.visible, "visible"))
    parameters |= dict(_arrays(rbm.hidden, "hidden"))
    across = min(len(parameters), 3)
    down = math.ceil(len(parameters) / across)
    figure = new_figure(0.3 + 3.0 * across, 0.5 + 2.4 * down, "Parameters")
    drawn = panels(figure, len(parameters), across)
    for axes, (name, array) in zip(drawn, parameters.items(), strict=True):
        _histogram(axes, name, checked_parameter(array, f"rbm.{name}").ravel())
    return figure


def _arrays(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the path and the values of each real-valued array in a layer and its parts."""
    if isinstance(value, AbstractLayer):
        for field in dataclasses.fields(value):
            yield from _arrays(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, tuple | list):
        for number, item in enumerate(value):
            yield from _arrays(item, f"{name}.{number}")
    elif getattr(value, "ndim", 0) and np.asarray(value).dtype.kind == "f":
        yield name, value


def _histogram(axes: Axes, name: str, values: np.ndarray) -> None:
    """Draw a histogram, with mean and std in its title, and a line at zero if it is in range."""
    bins = max(5, min(MOST_BINS, math.ceil(2 * math.sqrt(len(values)))))
    axes.hist(values, bins=bins, color=BLUE)
    if values.min() <= 0.0 <= values.max():
        axes.axvline(0.0, color=GREY, linewidth=0.8)
    title = f"{name}\n{len(values):,} values, mean {values.mean():.3g}, std {values.std():.3g}"
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    label(axes, signed(title), "value", "count")
