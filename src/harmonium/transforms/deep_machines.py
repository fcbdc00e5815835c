"""Deep Boltzmann machines as RBMs, each side of which joins every other layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from ..errors import InputError
from ..layers import AbstractLayer, Mixed
from ..rbm import RBM
from ..weights import BlockWeights
from .initialization import SCALE, initialize

__all__ = ["deep"]


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
