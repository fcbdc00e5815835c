"""Helpers shared by the layers, such as checked parameter arrays, weighted means and bisection."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Integer

from .._base.numerics import from_numpy, product
from ..errors import InputError

# The arrays that layers take and return. States and inputs have the same shape: one number per
# column.
Columns = Float[Array, "*batch columns"]
Units = Float[Array, "*batch units"]
# The same arrays, for a layer that itself has batch axes, such as a `Clamped` layer with different
# known units in each row.
AllColumns = Float[Array, "*all columns"]
AllUnits = Float[Array, "*all units"]
Rows = Float[Array, "rows columns"]
RowWeights = Float[Array, " rows"] | None
Proposals = tuple[Integer[np.ndarray, "proposals few"], Float[Array, "*batch proposals few"]]

HALVINGS = 40  # bisection steps; they narrow an interval beyond the resolution of float32


def places_in(blocks: Integer[np.ndarray, " members"]) -> Integer[np.ndarray, " members"]:
    """Return each member's position in its block, from 0; `blocks[i]` is the block of member i."""
    order = np.argsort(blocks, kind="stable")
    places = np.empty_like(order)
    in_order = blocks[order]
    places[order] = np.arange(len(order)) - np.searchsorted(in_order, in_order)
    return places


def parameter(value: Any, shape: Sequence[int], what: str, default: float = 0.0) -> Array:
    """Check `value` and return it as an array of this shape; None gives one full of `default`.

    NumPy is used where possible, because even a small JAX program must first be compiled.
    """
    dtype = jnp.result_type(float)
    if value is None:
        return from_numpy(np.full(tuple(shape), default, dtype))
    given: Any = jnp.asarray(value, dtype) if isinstance(value, Tracer) else np.array(value, dtype)
    if given.shape != tuple(shape):
        raise InputError(f"{what}: expected shape {tuple(shape)}; got {given.shape}.")
    if isinstance(value, Tracer):
        return given
    if not np.isfinite(given).all():
        raise InputError(f"{what}: expected finite numbers.")
    return from_numpy(given)


def weighted_mean(x: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the weighted mean of the rows of `x` and the effective number of rows.

    The effective number is Kish's effective sample size, (Σw)² / Σw², which equals the number of
    rows if all weights are equal.
    """
    if weights is None:
        return x.mean(0), jnp.asarray(x.shape[0], x.dtype)
    total = weights.sum()
    return product(weights, x) / total, total**2 / (weights @ weights)


def bisected(is_low: Callable[[Array], Array], low: Array, high: Array) -> tuple[Array, Array]:
    """Bisect the intervals in which `is_low` becomes False; return the ends of the final ones."""

    def halved(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = 0.5 * (low + high)
        lower = is_low(middle)
        return jnp.where(lower, middle, low), jnp.where(lower, high, middle)

    return jax.lax.fori_loop(0, HALVINGS, halved, (low, high))


def digits(indices: Array, base: int, count: int, dtype: Any) -> Array:
    """Return the digits of each index in `base`, least significant first: (...,) → (..., count)."""
    check_indexable(base**count)
    powers = np.array([base**i for i in range(count)], np.uint32)
    return ((indices[..., None].astype(jnp.uint32) // powers) % base).astype(dtype)


def check_indexable(n_states: int) -> None:
    """Raise InputError if there are more than 2³¹ joint states, the most that can be indexed."""
    if n_states > 2**31:
        raise InputError(
            "joint states: expected at most 2^31, the largest number that can be indexed; got"
            f" about 2^{math.log2(n_states):.0f}; enumerate a smaller layer."
        )


def derivatives_of_means(
    mean: Callable[[Array], Array],
    inputs: Array,
    blocks: np.ndarray,
    spread: Callable[[Array], Array],
) -> Array:
    """Return each column's variance: the derivative of its mean with respect to its own input.

    Blocks are independent, so one forward-mode pass gives the variances of one column per block.

    Args:
        mean: the means of all columns, as a function of the inputs.
        inputs: the inputs, shape (..., columns).
        blocks: the block of each unit.
        spread: a function that repeats each unit's entry over its columns.
    """

    def along(direction: np.ndarray) -> Array:
        tangent = jnp.broadcast_to(jnp.asarray(direction, inputs.dtype), inputs.shape)
        return jax.jvp(mean, (inputs,), (tangent,))[1] * tangent

    with jax.ensure_compile_time_eval():
        places = places_in(np.asarray(spread(jnp.asarray(blocks))))
    return sum((along(places == k) for k in range(places.max() + 1)), jnp.zeros_like(inputs))
