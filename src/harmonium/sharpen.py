"""The same model at a lower temperature: a sharper distribution over v, with the same modes."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ._threefry import key_of
from .checks import positive_integer
from .errors import InputError
from .layers import Mixed
from .parameters import map_parameters
from .rbm import RBM, checked_rbm

__all__ = ["sharpened"]

DRAWS = 16  # states at which energies are compared


def sharpened(rbm: RBM, times: int) -> RBM:
    """Return the model with `times` as much free energy: p(v) ∝ exp(−times · F(v)).

    Its visible layer has `times` the parameters, and there are that many copies of the hidden
    layer, each with the same weights, so it is an RBM too and is sampled as such. Cooling an RBM by
    dividing all its parameters by a temperature instead changes what the hidden units sum over, and
    so another distribution results. The sampler `Tempered` draws from the same p(v) at any inverse
    temperature, by proposals that it accepts or rejects.

    Args:
        rbm: the model.
        times: a whole number of at least 1, the inverse temperature of v.

    Raises:
        InputError: visible units whose energy has terms without parameters.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> rows = [[1, 1, 1, 0], [0, 0, 0, 0]]
        >>> print(hm.free_energies(rbm, rows).round(3))
        [-4.159 -2.079]
        >>> print(hm.free_energies(hm.sharpened(rbm, 2), rows).round(3))
        [-8.318 -4.159]

    Source: Tubiana, Cocco & Monasson 2019 (copies of the hidden layer).
    """
    times = positive_integer(times, "times")
    if times == 1:
        return checked_rbm(rbm)
    visible = map_parameters(lambda array: times * array, checked_rbm(rbm).visible)
    some = rbm.visible.sample_without_inputs((DRAWS,), key=key_of(0))
    if not np.allclose(
        visible.energy(some), times * rbm.visible.energy(some), rtol=1e-3, atol=1e-3
    ):
        raise InputError(
            f"rbm: expected visible units whose energy is that of their parameters alone; got"
            f" {rbm.visible}, whose energy has other terms, such as log x! of counts."
        )
    hidden = Mixed(*[rbm.hidden] * times)
    return RBM(visible, hidden, jnp.concatenate([rbm.dense_weights] * times, axis=1))
