"""Deep Boltzmann machines as RBMs, each side of which joins every other layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.checks import check_positive, checked_key, positive_integer
from .._base.numerics import product
from ..errors import InputError
from ..layers import AbstractLayer, Mixed
from ..layers.capabilities import takes_given
from ..rbm import RBM, checked_rbm
from ..samplers.finite import check_finite_z
from ..weights import BlockWeights
from ..weights.blocks import with_part
from .initialization import SCALE, initialize

__all__ = ["deep", "deepen"]


def deep(
    layers: Sequence[AbstractLayer],
    data: Any = None,
    *,
    key: PRNGKeyArray,
    weights: Any = None,
    scale: float = SCALE,
) -> RBM:
    r"""Return a deep Boltzmann machine (DBM) with small random weights, as an `RBM`.

        E(x¹, x², x³, …) = Σ_k U_k(xᵏ) − Σ_k (xᵏ)ᵀ W_k xᵏ⁺¹          energy, nats

    Here U_k is the energy of the units of layer k, and W_k the weights between layers k and k + 1.
    Only neighbouring layers are connected. Therefore, given all even layers, the units of all odd
    layers are independent, and vice versa: the odd layers x¹, x³, … are the visible side of an RBM,
    the even layers x², x⁴, … are the hidden side, and W has a block for each pair of neighbours.
    The layers x³, x⁵, … are latent parts of the visible side: they are missing in every row and
    are summed out. All functions that accept missing values therefore apply: `fit`, `sample`,
    `log_likelihood`, `impute`. `rbm.parts` lists the layers in the order x¹, x², ….

    Args:
        layers: x¹ (of the data), x², …, from the data upwards; at least two.
        data: rows for x¹, as for `initialize`.
        key: a JAX random key.
        weights: sample weights of the rows, shape (n,).
        scale: standard deviation of the weights.

    Raises:
        InputError: fewer than two layers, or `data` are not in the domain of the first layer.

    Example:
        >>> rows = hm.bars_and_stripes(2)
        >>> layers = [hm.Bernoulli(4), hm.Bernoulli(3), hm.Bernoulli(2)]
        >>> rbm = hm.deep(layers, rows, key=jax.random.key(0))
        >>> print(rbm)
        RBM(Mixed(Bernoulli(4), Bernoulli(2), latent=1) – Bernoulli(3))
        >>> [str(layer) for layer in rbm.parts]
        ['Bernoulli(4)', 'Bernoulli(3)', 'Bernoulli(2)']
        >>> hm.log_likelihood(rbm, rows).method  # exact, since the missing units can be summed
        'exact, 8 states'

    Source: Salakhutdinov & Hinton 2009. Centring: Montavon & Müller 2012.
    """
    stack = checked_layers(layers, "two or more layers")
    visible = _side(stack[::2])
    hidden = _side(stack[1::2])
    pattern = None
    if len(stack) > 2:
        pattern = _blocks_of_neighbours([layer.size for layer in stack])
    return initialize(visible, hidden, data, key=key, weights=weights, scale=scale, pattern=pattern)


def deepen(rbm: RBM, layer: AbstractLayer, *, key: PRNGKeyArray, scale: float = SCALE) -> RBM:
    r"""Return the model with one more hidden layer on top, connected by small random weights.

    The new weights W between the highest layer h and the new layer x are drawn from N(0, scale²),
    and h receives −W⟨x⟩ in addition, so that its inputs from x are 0 on average. The model thus
    starts with the likelihood of `rbm`, up to terms of order scale²: training of a deep model can
    continue where that of a shallow one ended.

    Args:
        rbm: a trained model, shallow or deep.
        layer: the new layer.
        key: a JAX random key.
        scale: standard deviation of the new weights.

    Raises:
        InputError: `rbm` is not a single model or takes values as given, or `layer` is not a layer,
            has latent units of its own, or takes values as given.
        NotFiniteError: Z of the deeper model may be infinite, as with a Poisson layer on a Gaussian
            one.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> rbm = hm.fit(rbm, rows, key=key, epochs=500).rbm
        >>> deep = hm.deepen(rbm, hm.Bernoulli(2), key=key)
        >>> [str(part) for part in deep.parts]
        ['Bernoulli(4)', 'Bernoulli(3)', 'Bernoulli(2)']
        >>> abs(hm.log_likelihood(deep, rows).value - hm.log_likelihood(rbm, rows).value) < 0.001
        True
    """
    checked_rbm(rbm)
    check_positive(scale=scale)
    if not isinstance(layer, AbstractLayer):
        raise InputError(f"layer: expected a layer such as hm.Bernoulli(100); got {layer!r}.")
    for part in (rbm.visible, layer):
        if takes_given(part):
            raise InputError(f"deepen: expected layers that take no values as given; got {part}.")
    if layer.n_latent:
        raise InputError(
            f"layer: expected a layer without latent units; got {layer}; add one layer at a time."
        )
    below = rbm.parts
    weights = scale * jax.random.normal(checked_key(key), (layer.size, below[-1].size), layer.dtype)
    is_hidden = len(below) % 2 == 1  # the side of the new layer, beside every second layer
    deeper = _with_part(rbm.T if is_hidden else rbm, layer, weights)
    if is_hidden:
        deeper = deeper.T
    check_finite_z(deeper)
    return deeper


def _with_part(rbm: RBM, layer: AbstractLayer, weights: Array) -> RBM:
    """Return the model with another visible part, connected to the last part of the hidden side.

    Args:
        rbm: the model.
        layer: the new part.
        weights: the weights between the new part and the last hidden part, shape (new, hidden).
    """
    visible = rbm.visible.by_depth
    hidden = rbm.hidden.by_depth
    rows = tuple(part.size for part in visible)
    columns = tuple(part.size for part in hidden)
    joined = with_part(rbm.weights, rows, columns, weights)
    inputs = product(layer.mean(layer.zero_inputs), weights)
    shift = jnp.zeros(rbm.hidden.size, inputs.dtype).at[-len(inputs) :].set(-inputs)
    return RBM(_side([*visible, layer]), rbm.hidden.shift(shift), joined)


def checked_depth(depth: Any, most: int) -> int:
    """Return the number of a hidden layer, the top one for None; raise InputError if it has none.

    Args:
        depth: the number of a layer, where 0 is the data, or None.
        most: the number of the top layer.
    """
    if depth is None:
        return most
    return positive_integer(depth, "depth", most)


def checked_layers(layers: Any, expected: str) -> list[AbstractLayer]:
    """Return the layers of a deep model; raise InputError unless they are two or more layers.

    Args:
        layers: the layers.
        expected: what is expected, for the error message.
    """
    stack = list(layers) if isinstance(layers, Sequence) else [layers]
    wrong = [layer for layer in stack if not isinstance(layer, AbstractLayer)]
    if len(stack) < 2 or wrong:
        raise InputError(
            f"layers: expected {expected}, such as [hm.Bernoulli(784), hm.Bernoulli(500),"
            f" hm.Bernoulli(1000)]; got {layers!r}."
        )
    return stack


def _side(layers: Sequence[AbstractLayer]) -> AbstractLayer:
    """Join the layers of one side of the RBM; all but the first are latent."""
    first, *others = layers
    if not others:
        return first
    return Mixed(*first.side_by_side, *others, latent=len(others))


def _blocks_of_neighbours(sizes: Sequence[int]) -> BlockWeights:
    """Return zero weights with a block for each pair of neighbouring layers."""
    even = sizes[::2]
    odd = sizes[1::2]
    blocks = [
        [np.zeros((size, width)) if j in (i - 1, i) else None for j, width in enumerate(odd)]
        for i, size in enumerate(even)
    ]
    return BlockWeights(blocks, even, odd)
