"""What JAX has as well, in the forms that are accurate in float32, tails included, or quick."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

LOG_2PI = 1.8378770664093453


def from_numpy(array: np.ndarray) -> Array:
    """Give NumPy's array as JAX's, in the precision at work; they may share their memory.

    With its type named, since without it JAX (0.10.1) compiles a program for each new shape, which
    takes a hundred times as long.
    """
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    with np.errstate(over="ignore"):  # as JAX does: checks are elsewhere
        return jnp.asarray(array.astype(dtype, copy=False), dtype)


def product(x: Any, y: Any) -> Any:
    """Give x @ y with float32 multiplied as such, on every device.

    A GPU or a TPU would by itself round the factors to ten bits, or to seven.
    """
    with jax.default_matmul_precision("highest"):
        return x @ y


@jax.custom_jvp
def softplus(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Give log(1 + e^x), whose derivative is the logistic function.

    The derivative is stated because JAX would compute it from the value: an exponential and a
    logarithm more in every gradient, which needs only the logistic function.
    """
    return jax.nn.softplus(x)


@softplus.defjvp
def _softplus_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return softplus(x), jax.nn.sigmoid(x) * dx


@jax.custom_jvp
def log_2cosh(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Give log(2 cosh x) = |x| + log(1 + e^(−2|x|)), whose derivative is tanh x."""
    size = jnp.abs(x)
    return size + jnp.log1p(jnp.exp(-2.0 * size))


@log_2cosh.defjvp
def _log_2cosh_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return log_2cosh(x), jnp.tanh(x) * dx


def normals(shape: tuple[int, ...], dtype: Any, *, key: PRNGKeyArray) -> Float[Array, "*shape"]:
    """Draw standard normal numbers: those of `jax.random.normal`, quickly for few columns too.

    XLA's CPU computes several at once along the last axis alone, which for three columns means a
    fourth of the speed; so they are drawn in one row, which a barrier keeps whole.
    """
    row = jax.random.normal(key, (math.prod(shape),), dtype)
    return lax.optimization_barrier(row).reshape(shape)


def below_sigmoid(inputs: Float[Array, "*shape"], *, key: PRNGKeyArray) -> Float[Array, "*shape"]:
    """Draw 1 with probability σ(inputs), else 0, one uniform each.

    u < 1/(1 + e^(−x)) is tested as u·(1 + e^(−x)) < 1, which needs no division. The uniforms lie on
    a grid of 2^(−23) (float32), so a probability is met to within 1.2e−7.
    """
    uniforms = jax.random.uniform(key, inputs.shape, inputs.dtype)
    drawn = (uniforms * (1.0 + jnp.exp(-inputs)) < 1.0).astype(inputs.dtype)
    # Of 0 and 1, the root changes nothing; but XLA's CPU takes a root once, where it would repeat
    # all that is made of sums and shifts, Threefry too, in each of the places that use the draw.
    return jnp.sqrt(drawn)
