"""Chunks of updates in one compiled loop, and when parameters have diverged."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._host import errors_as_raised
from ..data import Dataset
from ..data.shuffling import batches_in_order
from ..data.windows import AbstractWindows
from ..rbm import RBM
from .state import TrainState
from .update import Method, batch_of, make_update, run_keys

SECONDS_PER_CHUNK = 1.0
GROWTH_LIMIT = 1e6  # parameters that grew a million times as large have diverged


class DivergenceWarning(RuntimeWarning):
    """Parameters grew without bound in a run; the last model before that was kept.

    Example:
        >>> import warnings
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", hm.DivergenceWarning)  # then the run stops
        ...     fit = hm.fit(rbm, rows, key=key, epochs=2)
        >>> fit.diverged
        False
    """


@eqx.filter_jit
def advance(
    method: Method,
    dataset: Dataset,
    n: Array,
    state: TrainState,
    until: Array,
    *,
    key: PRNGKeyArray,
) -> TrainState:
    """Make updates on the first n rows until `until` of them are made: a pure function.

    It is compiled once for any number of updates, and for all n that share a `padded` dataset.
    Epoch e visits the rows in an order drawn from fold_in(key, e), and its updates draw from keys
    split off fold_in(key′, e), so the result does not depend on how a run is divided into chunks.
    All keys of an epoch are made at once: for a small model, one key takes a tenth of the time of
    an update.
    """
    _, key_order, key_updates = run_keys(key)
    room, size = len(dataset), method.batch_size
    most, per_epoch = -(-room // size), -(-n // size)

    def epoch(e: Array, state: TrainState) -> TrainState:
        rows_of = batches_in_order(room, n, size, key=jax.random.fold_in(key_order, e))
        keys = jax.random.split(jax.random.fold_in(key_updates, e), most)

        def update(t: Array, state: TrainState) -> TrainState:
            t = t - e * per_epoch
            present = t * size + jnp.arange(size) < n if method.short_last else None
            key_rows, key_gradient = dataset.keys(keys[t])
            batch, mass = batch_of(state.rbm.visible, dataset, rows_of(t), present, key=key_rows)
            return make_update(method, batch, mass, state, key=key_gradient)

        end = jnp.minimum(until, (e + 1) * per_epoch)
        return jax.lax.fori_loop(state.updates, end, update, state)

    return jax.lax.fori_loop(state.updates // per_epoch, -(-until // per_epoch), epoch, state)


def advance_through(
    method: Method,
    windows: AbstractWindows[Dataset],
    state: TrainState,
    target: int,
    *,
    key: PRNGKeyArray,
) -> TrainState:
    """Make updates until `target` of them are made, on one window of rows after the other."""
    updates = int(state.updates)
    while updates < target:
        window = windows.at(updates)
        # Windows count as epochs of their rows, so that each has an order and keys of its own.
        ahead = window.passes * -(-int(window.count) // method.batch_size) - window.begin
        made = min(target, window.end)
        moving = state._replace(updates=jnp.asarray(updates + ahead, jnp.int32))
        until = jnp.asarray(made + ahead, jnp.int32)
        with errors_as_raised():
            moved = advance(method, window.dataset, window.count, moving, until, key=key)
            moved = jax.block_until_ready(moved)
        updates, state = made, moved._replace(updates=jnp.asarray(made, jnp.int32))
    return state


@eqx.filter_jit
def largest(rbm: RBM) -> Array:
    """Return the largest absolute parameter, or NaN if any parameter is NaN."""
    return jnp.stack([abs(leaf).max() for leaf in jax.tree.leaves(rbm)]).max()


def growth_limit(before: Any) -> Any:
    """Return the bound above which parameters have diverged, from the largest one at the start."""
    return GROWTH_LIMIT * np.maximum(1.0, np.asarray(before, np.float64))


def next_chunk(chunk: int, per_second: float) -> int:
    """Return the number of updates for a chunk of about a second, at most 64 times the last one."""
    return max(1, min(64 * chunk, int(per_second * SECONDS_PER_CHUNK)))
