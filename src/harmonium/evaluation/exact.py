"""Exact log Z, log-likelihood and KL divergence by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..enumeration import LARGEST_LOG2_STATES, chunk_plan, enumerable, partial_log_z
from ..errors import InputError, Interrupted
from ..rbm import RBM
from .base import AbstractLogZ, LogZ, exact_result

CHUNKS_PER_DISPATCH = 64


@dataclass(frozen=True)
class Enumerated(AbstractLogZ):
    """log Z = log Σ_x e^(−F(x)) over the smaller discrete layer, in chunks.

    Each chunk is summed in the model's precision and the chunks in float64, on the host. Memory
    does not grow with the number of states.
    """

    def is_estimate(self, rbm: RBM) -> bool:
        """No."""
        return False

    def found(self, rbm: RBM, key: Any, told: Callable[[float], Any]) -> LogZ:
        """Return log Z of a model with a discrete layer of at most 2^28 joint states.

        Raises:
            InputError: too many states, or neither layer is discrete.
            Interrupted: a KeyboardInterrupt that says how far it got; the states summed by then
                bound log Z from below.
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
                sums.append(np.asarray(_log_sums(side, rows, start, count), np.float64))
                told((first + count) / chunks)
        except KeyboardInterrupt:
            done = min(1.0, len(sums) * CHUNKS_PER_DISPATCH / chunks)
            bound = np.logaddexp.reduce(np.concatenate(sums)) if sums else -np.inf
            raise Interrupted(
                f"exact log Z: interrupted after {100 * done:.0f} % of {side.visible.n_states:,}"
                f" states; those alone say that log Z is at least {bound:.4f}"
            ) from None
        with np.errstate(invalid="ignore"):  # what is not finite is refused below
            value = float(np.logaddexp.reduce(np.concatenate(sums)))
        return exact_result(value, f"exact, {side.visible.n_states:,} states")


@eqx.filter_jit
def _log_sums(side: RBM, rows: int, first: jax.Array, count: int) -> jax.Array:
    return partial_log_z(side, rows, first, count)


def exact_kl(rbm: RBM, rows: Any, weights: Any = None) -> float:
    """Give KL(q‖p) = Σ_v q(v) log q(v) − Σ_v q(v) log p(v), nats, q the distribution of the rows.

    Equal rows are one state of q. Minimising it is maximising the likelihood.

    Args:
        rbm: a machine that can be enumerated, with a discrete visible layer.
        rows: in the user's coding, shape (n, visible units).
        weights: the rows' probabilities, up to a factor; equal if None.

    Raises:
        InputError: the visible layer is a continuum, where KL from a finite set is infinite.
    """
    if rbm.visible.n_states is None:
        raise InputError(
            f"KL: {rbm.visible} is a continuum, from which a set of rows is infinitely far."
        )
    array = rbm.visible.validate(rows)
    w = np.ones(len(array)) if weights is None else np.asarray(weights, float)
    states, index = np.unique(array, axis=0, return_inverse=True)
    q = np.bincount(index.ravel(), weights=w / w.sum(), minlength=len(states))
    states, q = states[q > 0], q[q > 0]
    free_energies = np.asarray(rbm.free_energy(rbm.visible.encode(states)), float)
    return float(q @ np.log(q) + q @ free_energies + Enumerated().estimate(rbm).value)
