"""Sharpening: a model whose p(v) is a power of the original p(v), with the same modes."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base.checks import positive_integer
from .._base.parameters import map_parameters
from .._base.threefry import key_of
from ..errors import InputError
from ..layers import AbstractLayer, Mixed
from ..layers.capabilities import alternatives, blocks_of, proposals_from
from ..rbm import RBM, checked_rbm

__all__ = ["sharpened"]

PROBES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)  # values of real units, of either sign
LARGEST_REST = 1e-4  # in nats; anything smaller is rounding error


def sharpened(rbm: RBM, times: int) -> RBM:
    """Return the model with the free energy multiplied by `times`: p(v) ∝ exp(−times · F(v)).

    The parameters of the visible layer are multiplied by `times`, and the hidden layer is replaced
    by `times` copies of itself with the same weights. The result is again an RBM, to which all
    samplers and scores apply. Dividing all parameters by a temperature would instead cool v and h
    jointly, which gives a different distribution of v. The sampler `Tempered` draws from the
    density proportional to p(v)^β for any β > 0, by accepting or rejecting proposals.

    Args:
        rbm: the model.
        times: a whole number of at least 1, the inverse temperature of v.

    Raises:
        InputError: the energy of the visible units has parameter-free terms.

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
    if _largest_rest(rbm.visible) > LARGEST_REST:
        raise InputError(
            "rbm: expected visible units whose energy is linear in their parameters; got"
            f" {rbm.visible}, whose energy has parameter-free terms, such as log x! of counts."
        )
    hidden = Mixed(*[rbm.hidden] * times)
    return RBM(visible, hidden, jnp.concatenate([rbm.dense_weights] * times, axis=1))


def _largest_rest(layer: AbstractLayer) -> float:
    """Return the largest |U| of a block of units with all parameters 0, in nats.

    Since the energy is affine in the parameters, this is its parameter-free part.
    """
    without = map_parameters(jnp.zeros_like, layer)
    energies = np.asarray(without.unit_energies(_probing_states(layer)))
    by_block = np.zeros((len(energies), int(blocks_of(layer).max()) + 1))
    np.add.at(by_block.T, blocks_of(layer), energies.T)
    return float(np.abs(by_block).max())


def _probing_states(layer: AbstractLayer) -> Float[Array, "states columns"]:
    """Return states in which each discrete unit takes all its values, and each real unit several.

    Draws from the layer would not suffice, since most counts may be 0 or 1, for which log x! is 0.
    """
    start = layer.sample_without_inputs((), key=key_of(0))
    columns, _ = proposals_from(layer, start)
    is_discrete = np.isin(np.arange(layer.size), columns)
    low, high = layer.coding.support
    probes = np.array([*PROBES, *(-probe for probe in PROBES)])[:, None]
    numbers = jnp.asarray(np.clip(probes, low, high), layer.dtype)
    return jnp.concatenate([alternatives(layer, start), jnp.where(is_discrete, start, numbers)])
