"""Exact sums over the states of the smaller discrete layer, in chunks of bounded memory."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .errors import InputError
from .rbm import RBM

LARGEST_LOG2_STATES = 28
CHUNK_ELEMENTS = 2**21  # entries of the widest intermediate array: 8 MB in float32


def enumerable(rbm: RBM) -> RBM | None:
    """Give the machine turned so that its *visible* layer is the one to enumerate.

    The discrete layer with fewer joint states is chosen; None if neither layer is discrete.
    """
    sides = [side for side in (rbm, rbm.T) if side.visible.n_states is not None]
    return min(sides, key=lambda side: side.visible.n_states or 0, default=None)


def chunk_plan(side: RBM, elements: int = CHUNK_ELEMENTS) -> tuple[int, int]:
    """Give (rows in a chunk, number of chunks) for summing over `side.visible`."""
    count = side.visible.n_states
    if count is None:
        raise InputError(f"{side.visible}: its states are a continuum and cannot be enumerated.")
    widest = max(side.visible.size, side.hidden.size)
    rows = min(count, max(1, elements // widest))
    return rows, -(-count // rows)


def chunk_of_states(
    side: RBM, chunk: Array, rows: int
) -> tuple[Float[Array, "rows columns"], Float[Array, " rows"]]:
    """Give one chunk of states and their −F, which is −∞ past the last state."""
    indices = chunk.astype(jnp.uint32) * rows + jnp.arange(rows, dtype=jnp.uint32)
    states = side.visible.states(indices)
    inside = indices < (side.visible.n_states or 0)
    return states, jnp.where(inside, -side.free_energy(states), -jnp.inf)


def log_z(rbm: RBM) -> Float[Array, ""]:
    """Give log Z = log Σ_x e^(−F(x)) over the smaller discrete layer x. Traceable, one dispatch.

    Raises:
        InputError: neither layer is discrete, or there are more than 2^31 states.
    """
    side = enumerable(rbm)
    if side is None:
        raise InputError(f"{rbm}: log Z can be enumerated only if a layer is discrete.")
    rows, chunks = chunk_plan(side)
    return jax.nn.logsumexp(partial_log_z(side, rows, 0, chunks))


def partial_log_z(side: RBM, rows: int, first: int | Array, count: int) -> Float[Array, " count"]:
    """Give log Σ e^(−F) of each of `count` chunks from `first` on."""

    def log_sum(chunk: Array) -> Array:
        return jax.nn.logsumexp(chunk_of_states(side, chunk, rows)[1])

    return jax.lax.map(log_sum, first + jnp.arange(count, dtype=jnp.uint32))
