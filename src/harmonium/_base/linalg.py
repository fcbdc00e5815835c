"""Factorisations of small matrices in compiled programs, used throughout the package.

Up to JAX 0.10, a LAPACK call for several matrices divides the work among the threads of the pool
that runs the call, and waits for these threads. If as many calls wait as the pool has threads, no
thread is left to do the work, and the program never ends. A call for a single matrix does not wait,
and neither does the elimination in this module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import sequential_vmap
from jaxtyping import Array, Float

# At or above this size, the elimination treats one matrix after another. A 64 × 64 matrix and the
# identity beside it fill 32 KB, the size of the fastest cache of a core; if many matrices were
# treated at once, every step would read and write all of them in main memory.
ONE_AT_A_TIME = 64


@jax.custom_jvp
def inverse_factor(matrices: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
    """Return L⁻¹ for symmetric, positive definite matrices A = LLᵀ, and NaN for other matrices.

    Gaussian elimination without pivoting turns A and an identity matrix beside it into (DLᵀ, DL⁻¹),
    where D is the diagonal of L. The elimination needs n steps of 2n² multiplications each, but no
    LAPACK call, and for a single matrix it is as fast as LAPACK.
    """
    size = matrices.shape[-1]
    if size >= ONE_AT_A_TIME and matrices.ndim > 2:
        flat = jax.lax.map(_eliminated, matrices.reshape(-1, size, size))
        return flat.reshape(matrices.shape)
    return _eliminated(matrices)


@inverse_factor.defjvp
def _inverse_factor_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """Return L⁻¹ and d(L⁻¹) = −φ(L⁻¹ dA L⁻ᵀ) L⁻¹; φ takes the lower triangle, with halved diagonal.

    The derivative is defined explicitly, since automatic differentiation would store the matrices
    of every step of the elimination for the backward pass.

    Source: Murray 2016, Differentiation of the Cholesky decomposition.
    """
    factor = inverse_factor(*primals)
    times = functools.partial(jnp.matmul, precision="highest")
    inner = times(times(factor, tangents[0]), jnp.swapaxes(factor, -1, -2))
    lower = jnp.tril(inner) - 0.5 * inner * jnp.eye(inner.shape[-1], dtype=inner.dtype)
    return factor, -times(lower, factor)


def _eliminated(matrices: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
    size = matrices.shape[-1]
    identity = jnp.broadcast_to(jnp.eye(size, dtype=matrices.dtype), matrices.shape)
    below = jnp.arange(size)[:, None]

    def step(pivot: Array, table: Array) -> Array:
        row = jax.lax.dynamic_index_in_dim(table, pivot, -2)
        column = jax.lax.dynamic_index_in_dim(table, pivot, -1)
        ratios = column / jax.lax.dynamic_index_in_dim(row, pivot, -1)
        return table - jnp.where(below > pivot, ratios, 0.0) * row

    table = jnp.concatenate([matrices, identity], axis=-1)
    table = jax.lax.fori_loop(0, size, step, table)
    pivots = jnp.diagonal(table, axis1=-2, axis2=-1)
    # If a pivot is not positive, the whole matrix is set to NaN, so that it is not mistaken for a
    # factor.
    is_definite = (pivots > 0).all(-1)[..., None, None]
    factor = jnp.tril(table[..., size:]) * jax.lax.rsqrt(pivots)[..., None]
    return jnp.where(is_definite, factor, jnp.nan)


def singly(decomposition: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """Return a version of a matrix decomposition that decomposes a batch one matrix at a time.

    The version also does so under `jax.vmap`. It has no derivative.
    """
    of_one = sequential_vmap(decomposition)

    @functools.wraps(decomposition)
    def of_all(matrices: Array) -> Any:
        if matrices.ndim == 2:
            return of_one(matrices)
        batch = matrices.shape[:-2]
        results = jax.lax.map(of_one, matrices.reshape(-1, *matrices.shape[-2:]))
        return jax.tree.map(lambda leaf: leaf.reshape(*batch, *leaf.shape[1:]), results)

    return of_all


@singly
def eigh(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Return the eigenvalues and eigenvectors of a symmetric matrix."""
    values, vectors = jnp.linalg.eigh(matrix)
    return values, vectors


@singly
def inverse(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the inverse of a matrix."""
    return jnp.linalg.inv(matrix)


@singly
def orthogonal_basis(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the orthogonal factor Q of the QR decomposition of a matrix."""
    return jnp.linalg.qr(matrix)[0]


@functools.cache
def find_lapack() -> None:
    """Initialise JAX's LAPACK bindings, as JAX does when it lowers a program that calls LAPACK.

    Without this call, a program lowered by another process would call a null pointer.
    """
    jax.jit(jnp.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), jnp.float32))
