"""What the layers' files share: arrays of parameters, weighted means, digits, places."""

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Integer

from .._numerics import from_numpy, product
from ..errors import InputError


def places_in(blocks: Integer[np.ndarray, " members"]) -> Integer[np.ndarray, " members"]:
    """Return the place of each member among those with the same block: 0, 1, …, in order."""
    order = np.argsort(blocks, kind="stable")
    places = np.empty_like(order)
    in_order = blocks[order]
    places[order] = np.arange(len(order)) - np.searchsorted(in_order, in_order)
    return places


def parameter(value: Any, shape: Sequence[int], what: str, default: float = 0.0) -> Array:
    """Return a parameter array of this shape: `value` checked, or filled with the default.

    NumPy is used where possible: compiling even a small JAX program would take longer.
    """
    dtype = jnp.result_type(float)
    if value is None:
        return from_numpy(np.full(tuple(shape), default, dtype))
    traced = isinstance(value, Tracer)
    array = jnp.asarray(value, dtype) if traced else from_numpy(np.array(value, dtype))
    if array.shape != tuple(shape):
        raise InputError(f"{what}: expected shape {tuple(shape)}; got {array.shape}.")
    if not traced and not np.isfinite(array).all():
        raise InputError(f"{what}: expected finite numbers.")
    return array


def weighted_mean(x: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the weighted mean of the rows of `x` and the effective number of rows.

    That number is Kish's effective size (Σw)² / Σw², the row count when weights are equal.
    """
    if weights is None:
        return x.mean(0), jnp.asarray(x.shape[0], x.dtype)
    total = weights.sum()
    return product(weights, x) / total, total**2 / (weights @ weights)


def digits(indices: Array, base: int, count: int, dtype: Any) -> Array:
    """Write indices in the given base: (...,) → (..., count), the lowest digit first."""
    if base**count > 2**31:
        raise InputError(
            f"{base}^{count} = 2^{math.log2(base) * count:.0f} joint states cannot be indexed"
            " (2^31 at most): enumerate a smaller layer."
        )
    powers = np.array([base**i for i in range(count)], np.uint32)
    return ((indices[..., None].astype(jnp.uint32) // powers) % base).astype(dtype)
