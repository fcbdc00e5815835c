"""Weights rounded to bfloat16, for which products are about twice as fast on some devices.

The product of a state and a weight is exact if bfloat16 represents both exactly, as it represents
zeros, ones, small whole numbers and rounded weights. Results can therefore differ from the float32
results for the model with the rounded weights only through the order of summation in float32.
"""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .._base.device import is_cpu
from .._base.numerics import product
from .base import AbstractWeights

SHORT = jnp.bfloat16
AS_THEY_ARE = lax.Precision.DEFAULT  # for bfloat16 factors, which no device rounds further
EXPONENT_BITS = 8  # number of exponent bits of bfloat16, as in float32
MANTISSA_BITS = 7
BELOW_BFLOAT16 = np.uint32(0xFFFF)  # the bits of float32 that bfloat16 lacks
GOLDEN = np.uint32(40503)  # 2¹⁶ times the golden section, 0.618…
SILVER = np.uint32(27146)  # 2¹⁶ (√2 − 1): columns must not all be rounded up in the same rows
MOST_IN_A_BLOCK = 16  # rows of a gradient summed in one product, see `_outer`


# This is a weight class instead of a precision preset such as `BF16_BF16_F32` because XLA's CPU
# backend accepts the preset (jaxlib 0.10.1) but computes in float32. With the preset, products of
# 512 × 784 × 500 differed from products with unrounded weights by only 3·10⁻⁵, as float32 products
# do, and were no faster; the products below took half to a fifth of the time. The preset would
# thus declare a different model from the one that is sampled. On devices where the preset does
# round, it also rounds the means in a gradient. The resulting error does not average out if a unit
# is always on; see `_backward`.
class Rounded(AbstractWeights):
    """Weights that are rounded to bfloat16 in products with states.

    The float32 weights are kept and updated with the gradient at the rounded weights, so that steps
    smaller than the rounding error are not lost.

    Attributes:
        weights: W, in float32, or in bfloat16 if no gradient is needed.
        turned: whether the object represents the transpose Wᵀ.

    Example:
        >>> weights = hm.weights.Rounded(jnp.array([[1.001, 1.01]]))
        >>> (jnp.ones(1) @ weights).tolist()  # bfloat16 has 1 and 1 + 1/128, nothing in between
        [1.0, 1.0078125]
        >>> round(float(weights.weights[0, 0]), 3)
        1.001
    """

    weights: Array
    turned: bool = eqx.field(static=True, default=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array `weights`, or of its transpose if `turned`."""
        return self.weights.shape[::-1] if self.turned else self.weights.shape

    @property
    def T(self) -> Rounded:  # noqa: N802
        return Rounded(self.weights, not self.turned)

    def __rmatmul__(self, states: Array) -> Array:
        """Return states @ W, with W rounded; the states are assumed to be exact in bfloat16."""
        return _product(self.turned, states, self.weights)

    def over_rows(self, factors: Float[Array, " visible"]) -> Rounded:
        """Return weights with scaled rows; in products with states, scaled weights are rounded."""
        by_row = factors[None, :] if self.turned else factors[:, None]
        return Rounded(by_row * self.weights, self.turned)

    @property
    def dense(self) -> Float[Array, "visible hidden"]:
        """The rounded weights; derivatives ignore the rounding (straight-through estimator)."""
        change = short(self.weights).astype(jnp.float32) - self.weights
        exact = self.weights + lax.stop_gradient(change)
        if self.turned:
            return exact.T
        return exact


def short(x: Array) -> Array:
    """Round to the nearest bfloat16 number.

    XLA may remove a conversion to bfloat16 and back, but never `reduce_precision`.
    """
    if x.dtype == SHORT:
        return x
    return lax.reduce_precision(x, EXPONENT_BITS, MANTISSA_BITS).astype(SHORT)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _product(
    turned: bool, states: Float[Array, "*batch n"], weights: Float[Array, "rows columns"]
) -> Float[Array, "*batch m"]:
    # The operand is not transposed, since XLA's CPU backend would then compute in float32.
    over = (((states.ndim - 1,), (int(turned),)), ((), ()))
    states = states.astype(SHORT)
    weights = short(weights)
    return lax.dot_general(states, weights, over, AS_THEY_ARE, preferred_element_type=jnp.float32)


def _forward(turned: bool, states: Array, weights: Array) -> tuple[Array, tuple[Array, Array]]:
    return _product(turned, states, weights), (states, weights)


def _backward(turned: bool, saved: tuple[Array, Array], grads: Array) -> tuple[Array, Array]:
    """Return the gradients with respect to the states and to the weights.

    The latter is Σ x gᵀ over the rows, where x is a state and g the gradient with respect to its
    product, dithered to bfloat16. If g were rounded to nearest, a unit with the same mean in all
    rows, such as a unit that is always on, would have the same rounding error in all rows, but a
    different error in each phase of the gradient. This error would not average out.
    """
    states, weights = saved
    x = states.reshape(-1, states.shape[-1]).astype(SHORT)
    g = _dithered(grads.reshape(-1, grads.shape[-1]))
    exact = short(weights).astype(weights.dtype)
    if turned:  # XLA's CPU backend does not support a transposed product in bfloat16
        return product(grads, exact), _outer(g, x)
    return product(grads, exact.T), _outer(x, g)


_product.defvjp(_forward, _backward)


def _dithered(g: Float[Array, "rows columns"]) -> Array:
    """Round `g` to bfloat16, up or down, so that means over the rows are almost preserved.

    A number is rounded away from 0 if the part that bfloat16 lacks exceeds a threshold. In each
    column, the thresholds are multiples of the golden ratio modulo 1, which are almost evenly
    spaced for any number of rows.
    """
    row = lax.broadcasted_iota(jnp.uint32, g.shape, 0)
    column = lax.broadcasted_iota(jnp.uint32, g.shape, 1)
    threshold = (row * GOLDEN + column * SILVER) & BELOW_BFLOAT16
    bits = lax.bitcast_convert_type(g, jnp.uint32) + threshold
    return short(lax.bitcast_convert_type(bits & ~BELOW_BFLOAT16, g.dtype))


def _outer(x: Array, y: Array) -> Array:
    """Return Σ_rows x yᵀ in float32.

    XLA's CPU backend computes a product that sums over the first axis of both operands in float32,
    whatever their type, but a product that sums over two axes in bfloat16. On a CPU, rows are
    therefore summed in blocks.
    """
    if not is_cpu():
        over_rows = (((0,), (0,)), ((), ()))
        return lax.dot_general(x, y, over_rows, AS_THEY_ARE, preferred_element_type=jnp.float32)
    rows = x.shape[0]
    size = next(s for s in (MOST_IN_A_BLOCK, 8, 4, 2) if rows % s == 0 or s == 2)
    if rows % size:
        x = jnp.pad(x, ((0, 1), (0, 0)))
        y = jnp.pad(y, ((0, 1), (0, 0)))
    first = x.reshape(-1, size, x.shape[-1])
    second = y.reshape(-1, size, y.shape[-1])
    over = (((0, 1), (0, 1)), ((), ()))
    return lax.dot_general(first, second, over, AS_THEY_ARE, preferred_element_type=jnp.float32)
