"""Models as plain NumPy arrays."""

from typing import Any

import numpy as np

from ...rbm import RBM
from .base import Parameters, model_of, parameters_of


def to_arrays(rbm: RBM) -> Parameters:
    """Return the parameters W, a and b as NumPy arrays `(weights, visible_bias, hidden_bias)`.

        E(v, h) = −a·v − b·h − vᵀ W h

    Returns:
        W of shape (visible, hidden), a of shape (visible,) and b of shape (hidden,); for Potts
        visible units, W has shape (sites, states, hidden) and a has shape (sites, states).

    Raises:
        InputError: the visible units are neither Bernoulli nor Potts, or the hidden units are not
            Bernoulli; the three arrays alone do not determine layers of other types.
    """
    return parameters_of(rbm, "to_arrays")


def from_arrays(weights: Any, visible_bias: Any, hidden_bias: Any) -> RBM:
    """Create a model from arrays in the form that `to_arrays` returns.

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
