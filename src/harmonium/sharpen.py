"""The same model at a lower temperature: a sharper distribution over v, with the same modes."""

from __future__ import annotations

import jax.numpy as jnp

from .checks import positive_integer
from .errors import InputError
from .layers import Mixed
from .parameters import map_parameters
from .rbm import RBM, checked_rbm

__all__ = ["sharpened"]


def sharpened(rbm: RBM, times: int) -> RBM:
    """Return the model with `times` as much free energy: p(v) ∝ exp(−times · F(v)).

    Its visible layer has `times` the parameters, and there are that many copies of the hidden
    layer, each with the same weights, so it is an RBM too and is sampled as such. Cooling an RBM by
    dividing all its parameters by a temperature instead changes what the hidden units sum over, and
    so another distribution results.

    Args:
        rbm: a model of discrete visible units.
        times: a whole number of at least 1, the inverse temperature of v.

    Raises:
        InputError: visible units whose energy has terms without parameters.

    Source: Tubiana, Cocco & Monasson 2019 (copies of the hidden layer).
    """
    if checked_rbm(rbm).visible.n_states is None:
        raise InputError(
            f"rbm: expected discrete visible units, whose energy is its parameters' alone; got"
            f" {rbm.visible}."
        )
    times = positive_integer(times, "times")
    if times == 1:
        return rbm
    visible = map_parameters(lambda array: times * array, rbm.visible)
    hidden = Mixed(*[rbm.hidden] * times)
    return RBM(visible, hidden, jnp.concatenate([rbm.dense_weights] * times, axis=1))
