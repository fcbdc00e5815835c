"""Exact log Z by enumeration of the states of one layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..data.parts import ENTRIES_AT_ONCE
from ..errors import InputError, Interrupted
from ..rbm import RBM
from ..sharding import fetched
from ..signals import Asked
from .base import AbstractLogZ, LogZ, exact_result

CHUNKS_PER_DISPATCH = 64
LARGEST_LOG2_STATES = 28


@dataclass(frozen=True)
class Enumerated(AbstractLogZ):
    """log Z = log Σ_x e^(−F(x)) over the smaller discrete layer, in chunks.

    Each chunk is summed in the model's precision, and the sums of the chunks are added in float64
    on the host. Memory does not grow with the number of states.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> found = hm.log_z(rbm, method=hm.Enumerated())
        >>> round(found.value, 3), found.method, found.low == found.high
        (6.068, 'exact, 8 states', True)
    """

    def is_estimate(self, rbm: RBM) -> bool:
        """Return False: enumeration is exact."""
        return False

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z of a model with a discrete layer of at most 2^28 joint states.

        Raises:
            InputError: too many states, or neither layer is discrete.
            Interrupted: a KeyboardInterrupt; the message says how far the enumeration got, and
                gives the lower bound of log Z from the states summed by then.
        """
        side = enumerable(rbm)
        if side is None or (side.visible.n_states or 0) > 2**LARGEST_LOG2_STATES:
            raise InputError(
                f"Exact log Z of {rbm}: expected a discrete layer with at most"
                f" 2^{LARGEST_LOG2_STATES} joint states."
                " Leave the method out, or choose 'annealed'."
            )
        rows, chunks = chunk_plan(side)
        sums: list[np.ndarray] = []
        try:
            for first in range(0, chunks, CHUNKS_PER_DISPATCH):
                count = min(CHUNKS_PER_DISPATCH, chunks - first)
                start = jnp.asarray(first, jnp.uint32)
                sums.append(fetched(_log_sums(side, rows, start, count)).astype(np.float64))
                progress((first + count) / chunks)
        except KeyboardInterrupt:
            Asked.number = 0
            done = min(1.0, len(sums) * CHUNKS_PER_DISPATCH / chunks)
            bound = np.logaddexp.reduce(np.concatenate(sums)) if sums else -np.inf
            raise Interrupted(
                f"exact log Z: interrupted after {100 * done:.0f} % of {side.visible.n_states:,}"
                f" states; from these alone, log Z is at least {bound:.4f}"
            ) from None
        with np.errstate(invalid="ignore"):  # a sum that is not finite raises an error below
            value = float(np.logaddexp.reduce(np.concatenate(sums)))
        return exact_result(value, f"exact, {side.visible.n_states:,} states")


@eqx.filter_jit
def _log_sums(side: RBM, rows: int, first: jax.Array, count: int) -> jax.Array:
    return partial_log_z(side, rows, first, count)


def enumerable(rbm: RBM) -> RBM | None:
    """Return the model, transposed if needed, so that its *visible* layer is the one to enumerate.

    This is the discrete layer with fewer joint states; None if neither layer is discrete.
    """
    sides = [side for side in (rbm, rbm.T) if side.visible.n_states is not None]
    return min(sides, key=lambda side: side.visible.n_states or 0, default=None)


def chunk_plan(side: RBM, entries: int = ENTRIES_AT_ONCE) -> tuple[int, int]:
    """Return (rows per chunk, number of chunks) for a sum over `side.visible`."""
    count = side.visible.n_states
    if count is None:
        raise InputError(f"{side.visible}: its states are continuous and cannot be enumerated.")
    rows = min(count, max(1, entries // side.widest))
    return rows, -(-count // rows)


def chunk_of_states(
    side: RBM, chunk: Array, rows: int
) -> tuple[Float[Array, "rows columns"], Float[Array, " rows"]]:
    """Return one chunk of states and their −F, which is −∞ past the last state."""
    indices = chunk.astype(jnp.uint32) * rows + jnp.arange(rows, dtype=jnp.uint32)
    states = side.visible.states(indices)
    inside = indices < (side.visible.n_states or 0)
    return states, jnp.where(inside, -side.free_energy(states), -jnp.inf)


def log_z(rbm: RBM) -> Float[Array, ""]:
    """Return log Z = log Σ_x e^(−F(x)) over the smaller discrete layer x. Traceable, one dispatch.

    Raises:
        InputError: neither layer is discrete, or there are more than 2^31 states.
    """
    side = enumerable(rbm)
    if side is None:
        raise InputError(f"{rbm}: log Z can be enumerated only if a layer is discrete.")
    rows, chunks = chunk_plan(side)
    return jax.nn.logsumexp(partial_log_z(side, rows, 0, chunks))


def partial_log_z(side: RBM, rows: int, first: int | Array, count: int) -> Float[Array, " count"]:
    """Return log Σ e^(−F) of each of `count` chunks from `first` on."""

    def log_sum(chunk: Array) -> Array:
        return jax.nn.logsumexp(chunk_of_states(side, chunk, rows)[1])

    return jax.lax.map(log_sum, first + jnp.arange(count, dtype=jnp.uint32))
