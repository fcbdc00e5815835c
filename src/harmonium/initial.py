"""A machine to start learning from."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .errors import InputError
from .layers import AbstractLayer
from .rbm import RBM

__all__ = ["initialize"]


def initialize(
    visible: AbstractLayer,
    hidden: AbstractLayer,
    data: Any = None,
    *,
    key: PRNGKeyArray,
    weights: Any = None,
    scale: float = 0.01,
) -> RBM:
    """Make a machine with small random weights, W_ij ~ N(0, scale²).

    With data, the visible layer is fitted to the data's moments, so that the machine starts near
    the independent model of the data (Hinton 2010, section 8), and the biases take up what the
    weights add at the means of the other layer: it starts centred (Melchior, Fischer & Wiskott
    2016), so that data with zeros and ones exchanged give the exchanged machine.

    Args:
        visible: the visible layer.
        hidden: the hidden layer.
        data: rows in the user's coding, shape (n, visible.n_units).
        key: a JAX random key.
        weights: sample weights of the rows, shape (n,).
        scale: standard deviation of the weights.

    Raises:
        InputError: data outside the visible layer's domain, or a scale that is not positive.
    """
    if not scale > 0:
        raise InputError(f"scale: expected a positive number; got {scale}.")
    if data is not None:
        rows = visible.encode(visible.validate(data))
        visible = visible.fit_moments(rows, None if weights is None else jnp.asarray(weights))
    couplings = scale * jax.random.normal(key, (visible.size, hidden.size), visible.dtype)
    if data is not None:
        means = visible.mean(visible.resting), hidden.mean(hidden.resting)
        visible, hidden = visible.shift(-couplings @ means[1]), hidden.shift(-means[0] @ couplings)
    return RBM(visible, hidden, couplings)
