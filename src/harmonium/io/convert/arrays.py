"""Models as plain NumPy arrays."""

from typing import Any

import numpy as np

from ...rbm import RBM
from .base import Parameters, model_of, parameters_of


def to_arrays(rbm: RBM) -> Parameters:
    """Return the parameters as `(weights, visible_bias, hidden_bias)`.

        E(v, h) = −a·v − b·h − vᵀ W h

    Returns:
        W of shape (visible, hidden), a of (visible,) and b of (hidden,); for Potts visible units
        W of (sites, states, hidden) and a of (sites, states).

    Raises:
        InputError: layers other than Bernoulli or Potts visible and Bernoulli hidden units, since
            the arrays alone do not determine the types of layers.
    """
    return parameters_of(rbm, "to_arrays")


def from_arrays(weights: Any, visible_bias: Any, hidden_bias: Any) -> RBM:
    """Make a model from arrays in the form that `to_arrays` returns.

    The visible units are Bernoulli units, or Potts sites if W has three axes.

    Args:
        weights: W, shape (visible, hidden) or (sites, states, hidden).
        visible_bias: a, shape (visible,) or (sites, states).
        hidden_bias: b, shape (hidden,).

    Raises:
        InputError: any entry is not a finite number, or the shapes do not match.
    """
    parameters = Parameters(np.asarray(weights), np.asarray(visible_bias), np.asarray(hidden_bias))
    return model_of(parameters, "from_arrays", Parameters._fields)
