"""Functions shared by the transformations of a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from ..layers import AbstractLayer
from ..weights.base import dense


def transformation(init: Callable, update: Callable) -> optax.GradientTransformationExtraArgs:
    """Make an optax transformation; optax's types do not know that a model is a tree of arrays."""
    return optax.GradientTransformationExtraArgs(init, update)


def same_shapes(first: Any, second: Any) -> bool:
    """Return whether two trees have the same structure, shapes and dtypes."""
    if jax.tree.structure(first) != jax.tree.structure(second):
        return False
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    return all((a.shape, a.dtype) == (b.shape, b.dtype) for a, b in pairs)


def running_fraction(rate: float, count: Array, mass: Any) -> Array:
    """Return the weight of a new batch in a running mean: max(rate, 1/(t + 1)) times its mass.

    So it starts as a plain mean and continues as an exponential moving average.
    """
    return jnp.minimum(jnp.maximum(rate, 1.0 / (count + 1)) * mass, 1.0)


def shift_gradient(layer: AbstractLayer, grads: AbstractLayer) -> Array:
    """Return the derivative along a constant input: Jᵀ g, with J the derivative of `shift`."""
    return jax.vjp(layer.shift, layer.zero_inputs)[1](grads)[0]


def add_shift(layer: AbstractLayer, updates: AbstractLayer, delta: Array) -> AbstractLayer:
    """Add to a layer's update the change made by shifting it by `delta`: J δ."""
    tangent = jax.jvp(layer.shift, (layer.zero_inputs,), (delta,))[1]
    return jax.tree.map(jnp.add, updates, tangent)


def add_gradient(weights: Any, grads: Any, of_dense: Array) -> Any:
    """Return the gradient of the weights' parameters plus Jᵀ G, for a gradient G of the array W."""
    return jax.tree.map(jnp.add, grads, jax.vjp(dense, weights)[1](of_dense)[0])


def change_of(weights: Any, updates: Any) -> Array:
    """Return the change of W, as an array, that an update of its parameters makes."""
    return jax.jvp(dense, (weights,), (updates,))[1]
