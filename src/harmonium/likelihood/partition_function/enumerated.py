"""Exact log Z by enumeration of the states of one layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..._base.numerics import scalar
from ..._base.programs import compiled
from ..._base.sharding import fetched
from ..._base.signals import Asked
from ..._base.statistics import log_mean_exp, resampled
from ...data.parts import ENTRIES_AT_ONCE
from ...errors import InputError, Interrupted
from ...layers import AbstractLayer
from ...layers.capabilities import joint_states
from ...rbm import RBM
from ...transforms.precision import in_float64
from .base import AbstractLogZ, LogZ, exact_result

CHUNKS_PER_DISPATCH = 64  # few, so that a long enumeration can be interrupted
LARGEST_LOG2_STATES = 28
MOST_IN_FLOAT64 = 2**22  # most states × columns of both layers in float64; takes milliseconds
DRAWS = 64  # states used to estimate the rounding error
FLOAT64 = 1e-13  # relative rounding error of a sum in float64


@dataclass(frozen=True)
class Enumerated(AbstractLogZ):
    """log Z = log Σ_x e^(−F(x)), summed in chunks over the states x of the smaller discrete layer.

    Few states are summed in float64. For many states, F is computed in float32, and the rounding
    error is corrected by adding log ⟨e^(F − F′)⟩, where F′ is the free energy in float64 and the
    mean is over states drawn in proportion to e^(−F). The 95 % interval of log Z is that of this
    correction.
    The sums of all chunks are added in float64 on the host, and memory use does not grow with the
    number of states.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> found = hm.log_z(rbm, method=hm.Enumerated())
        >>> round(found.value, 3), found.method, found.low == found.high
        (6.068, 'exact, 8 states', True)
    """

    def is_estimate(self, rbm: RBM) -> bool:
        return False

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z of a model with a discrete layer of at most 2^28 joint states.

        Raises:
            InputError: there are too many states, or neither layer is discrete.
            Interrupted: the enumeration was interrupted; the message states how much was done, and
                gives a lower bound on log Z from the states summed so far.
        """
        summed = enumerable(rbm)
        states = 0 if summed is None else summed.visible.n_states or 0
        if summed is None or states > 2**LARGEST_LOG2_STATES:
            raise InputError(
                f"Exact log Z of {rbm}: expected a discrete layer with at most"
                f" 2^{LARGEST_LOG2_STATES} joint states; got none;"
                " omit the method, or choose 'annealed'."
            )
        method = f"exact, {states:,} states"
        if states * (summed.visible.size + summed.hidden.size) <= MOST_IN_FLOAT64:
            # A sum that is not finite raises an error below.
            with in_float64(summed) as precise, np.errstate(invalid="ignore"):
                value = float(np.logaddexp.reduce(_log_sums_of_chunks(precise, progress)))
            return exact_result(value, method)
        log_sums = _log_sums_of_chunks(summed, progress)
        value = float(np.logaddexp.reduce(log_sums))
        if not np.isfinite(value):
            return exact_result(value, method)  # which raises an error
        change, error = _rounding(summed, log_sums, value)
        return exact_result(value + change, method, error)


def _log_sums_of_chunks(summed: RBM, progress: Callable[[float], Any]) -> np.ndarray:
    """Return log Σ e^(−F) of each chunk, in float64.

    Raises:
        Interrupted: the user interrupted the sum.
    """
    rows, chunks = chunk_plan(summed)
    log_sums: list[np.ndarray] = []
    with np.errstate(invalid="ignore"):  # a sum that is not finite raises an error later
        try:
            for first in range(0, chunks, CHUNKS_PER_DISPATCH):
                count = min(CHUNKS_PER_DISPATCH, chunks - first)
                parts = _log_sums(summed, rows, scalar(first, np.uint32), count)
                largest, rest = (fetched(part).astype(np.float64) for part in parts)
                log_sums.append(largest + rest)
                progress((first + count) / chunks)
        except KeyboardInterrupt:
            Asked.number = 0
            done = min(1.0, len(log_sums) * CHUNKS_PER_DISPATCH / chunks)
            bound = np.logaddexp.reduce(np.concatenate([*log_sums, [-np.inf]]))
            raise Interrupted(
                f"exact log Z: interrupted after {100 * done:.0f} % of"
                f" {summed.visible.n_states:,} states; from these alone, log Z is at least"
                f" {bound:.4f}"
            ) from None
        return np.concatenate(log_sums)


def _rounding(summed: RBM, log_sums: np.ndarray, value: float) -> tuple[float, float]:
    """Return the float32 correction of log Z, log ⟨e^(F − F′)⟩ over DRAWS states, and its error.

    The states are drawn in proportion to their terms in the float32 sum: first a chunk, then a
    state in it. The error is two standard errors of the mean, but at least the rounding error of
    float64.
    """
    rows, _ = chunk_plan(summed)
    rng = np.random.default_rng(0)
    chunks = resampled(np.exp(log_sums - value), DRAWS, rng.uniform())
    states = []
    rounded = []
    for chunk, count in zip(*np.unique(chunks, return_counts=True), strict=True):
        states_of_chunk, log_weights = _chunk(summed, scalar(chunk, np.uint32), rows)
        log_weights = fetched(log_weights).astype(np.float64)
        places = resampled(np.exp(log_weights - log_weights.max()), int(count), rng.uniform())
        states.append(fetched(states_of_chunk[jnp.asarray(places)]))
        rounded.append(-log_weights[places])
    with in_float64(summed) as model:
        precise = fetched(_free_energy(model, jnp.asarray(np.concatenate(states), np.float64)))
    change = np.concatenate(rounded) - precise
    error = 2.0 * change.std() / np.sqrt(DRAWS) + FLOAT64 * abs(value)
    return float(log_mean_exp(change)), float(error)


@compiled
def _log_sums(summed: RBM, rows: int, first: jax.Array, count: int) -> tuple[Array, Array]:
    """Return each chunk's largest −F, and the log of its sum of e^(−F) relative to that term.

    Adding the two in float32 would limit log Z to seven digits, an error of 5e-4 in 5,000.
    """

    def parts(chunk: Array) -> tuple[Array, Array]:
        terms = chunk_of_states(summed, chunk, rows)[1]
        largest = terms.max()
        return largest, jnp.log(jnp.exp(terms - largest).sum())

    return jax.lax.map(parts, first + jnp.arange(count, dtype=jnp.uint32))


def enumerable(rbm: RBM) -> RBM | None:
    """Return the model, transposed if needed, so that its *visible* layer is the one to enumerate.

    This is the discrete layer with fewer joint states; None if neither layer is discrete.
    """
    layers = layers_to_enumerate(rbm)
    if layers is None:
        return None
    return rbm if layers[0] is rbm.visible else _transposed(rbm)


@compiled
def _transposed(rbm: RBM) -> RBM:
    return rbm.T


def layers_to_enumerate(rbm: RBM) -> tuple[AbstractLayer, AbstractLayer] | None:
    """Return (layer with fewer joint states, other layer), or None if neither layer is discrete."""
    orders = [(rbm.visible, rbm.hidden), (rbm.hidden, rbm.visible)]
    discrete = [layers for layers in orders if layers[0].n_states is not None]
    return min(discrete, key=lambda layers: layers[0].n_states or 0, default=None)


def chunk_plan(summed: RBM, entries: int = ENTRIES_AT_ONCE) -> tuple[int, int]:
    """Return (rows per chunk, number of chunks) for a sum over `summed.visible`."""
    count = summed.visible.n_states
    if count is None:
        raise InputError(f"Enumeration: expected a discrete layer; got {summed.visible}.")
    rows = min(count, max(1, entries // summed.widest))
    return rows, math.ceil(count / rows)


def chunk_of_states(
    summed: RBM, chunk: Array, rows: int
) -> tuple[Float[Array, "rows columns"], Float[Array, " rows"]]:
    """Return one chunk of states and their −F, which is −∞ past the last state."""
    indices = chunk.astype(jnp.uint32) * rows + jnp.arange(rows, dtype=jnp.uint32)
    states = joint_states(summed.visible, indices)
    is_state = indices < (summed.visible.n_states or 0)
    return states, jnp.where(is_state, -summed.free_energy(states), -jnp.inf)


_chunk = compiled(chunk_of_states)
_free_energy = compiled(RBM.free_energy)


def log_z(rbm: RBM) -> Float[Array, ""]:
    """Return log Z = log Σ_x e^(−F(x)) over the smaller discrete layer x. JAX can trace this.

    Raises:
        InputError: neither layer is discrete, or there are more than 2^31 states.
    """
    summed = enumerable(rbm)
    if summed is None:
        raise InputError(f"Exact log Z: expected an RBM with a discrete layer; got {rbm}.")
    rows, chunks = chunk_plan(summed)
    return jax.nn.logsumexp(partial_log_z(summed, rows, 0, chunks))


def partial_log_z(summed: RBM, rows: int, first: int | Array, count: int) -> Float[Array, " count"]:
    """Return log Σ e^(−F) of each of `count` chunks, starting at `first`."""

    def log_sum(chunk: Array) -> Array:
        return jax.nn.logsumexp(chunk_of_states(summed, chunk, rows)[1])

    return jax.lax.map(log_sum, first + jnp.arange(count, dtype=jnp.uint32))
