"""Models side by side: one compiled loop makes the updates of all of them."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._host import errors_as_raised
from .._numerics import from_numpy
from ..data import Dataset
from ..sharding import clock
from .arguments import Plan
from .chunks import DivergenceWarning, advance, growth_limit, largest, next_chunk
from .state import TrainState
from .update import Method, padded

MODEL_AXES = TrainState(0, 0, 0, None, None, None)  # pyright: ignore[reportArgumentType]


class Between(Protocol):
    """What happens between chunks of updates."""

    def next(self, updates: int) -> int:
        """Return the update after which it is to happen at the latest."""
        ...

    def __call__(
        self, state: TrainState, made: np.ndarray, per_second: float
    ) -> tuple[TrainState, bool]:
        """Return the states to go on from, and whether to stop.

        Args:
            state: `stacked` states.
            made: how many updates each model has made.
            per_second: updates per second in the last chunk.
        """
        ...


def stacked(states: list[TrainState]) -> TrainState:
    """Return the states of several models as one, with one count of updates: the largest."""
    furthest = max(states, key=lambda state: int(state.updates))
    stacked: Any = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    return stacked._replace(updates=furthest.updates)


def unstacked(state: TrainState, made: np.ndarray) -> list[TrainState]:
    """Return the states of the models by themselves.

    Args:
        state: `stacked` states.
        made: how many updates each model has made.
    """
    host: Any = jax.device_get(state._replace(updates=made.astype(np.int32)))
    # Views: slices of arrays on a device would be a program for each array of each model.
    each = [jax.tree.map(lambda leaf, i=i: leaf[i : i + 1], host) for i in range(len(made))]
    return [
        jax.tree.map(lambda leaf: from_numpy(leaf.reshape(leaf.shape[1:])), one) for one in each
    ]


@eqx.filter_jit
def _advanced(
    method: Method,
    dataset: Dataset,
    n: Array,
    state: TrainState,
    until: Array,
    keys: Array,
    weights: Array | None,
) -> tuple[TrainState, Array]:
    """Make updates of all models; return also each one's largest absolute parameter."""

    def one(state: TrainState, key: Array, weights: Array | None) -> TrainState:
        rows = dataset if weights is None else dataset.weighted(weights)
        return advance(method, rows, n, state, until, key=key)

    # All models share one count of updates: with different counts, every loop would be computed
    # to the longest, and the results selected.
    axes: Any = MODEL_AXES
    new = eqx.filter_vmap(one, in_axes=(axes, 0, 0), out_axes=axes)(state, keys, weights)
    return new, jax.vmap(largest)(new.rbm)


def trained(
    plan: Plan,
    state: TrainState,
    keys: Array,
    *,
    made: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    between: Between | None = None,
) -> tuple[TrainState, np.ndarray]:
    """Make all updates that are left; of a model that diverges the last finite state is kept.

    Args:
        plan: the fixed parts of the run.
        state: `stacked` states.
        keys: a random key for each model.
        made: how many updates each model has made, if not all the same: one that has made fewer
            than others has diverged, and stays as it is.
        weights: each model's own weights of the rows, shape (models, n), of mean 1.
        between: what happens between chunks.

    Returns:
        The states, and how many updates each model has made.
    """
    dataset, n = padded(plan.dataset)
    own = None
    if weights is not None:
        own = from_numpy(np.pad(weights, [(0, 0), (0, len(dataset) - weights.shape[1])]))
    limit = growth_limit(jax.vmap(largest)(state.rbm))
    updates, chunk, stops = int(state.updates), 1, False
    made = np.full(len(keys), updates) if made is None else made
    while updates < plan.total and not stops:
        furthest = plan.total if between is None else between.next(updates)
        target, started = min(updates + chunk, furthest), clock()
        until = jnp.asarray(target, jnp.int32)
        moving = state._replace(held_out=None, folds=None)  # which updates do not need
        with errors_as_raised():
            new, reached = _advanced(plan.method, dataset, n, moving, until, keys, own)
            jax.block_until_ready(new)
        goes_on = (made == updates) & (np.asarray(reached) < limit)
        made = np.where(goes_on, target, made)
        state = _replaced(state, new, goes_on)
        jax.block_until_ready(state)
        per_second = (target - updates) / max(clock() - started, 1e-9)
        chunk = next_chunk(chunk, per_second)
        updates = target
        if between is not None:
            state, stops = between(state, made, per_second)
    diverged = made < updates
    if diverged.any():
        numbers = [str(i) for i in np.flatnonzero(diverged)]
        which = ", ".join(numbers[:10]) + (", …" if len(numbers) > 10 else "")
        message = f"{len(numbers)} of {len(made)} models diverged (number {which});"
        advice = "the last finite state of each is kept. Lower the learning rate."
        warnings.warn(f"{message} {advice}", DivergenceWarning, stacklevel=4)
    return state, made


@eqx.filter_jit
def _replaced(old: TrainState, new: TrainState, which: np.ndarray) -> TrainState:
    """Replace the states of the chosen models by the new ones, except what updates do not need."""

    def each(a: Array, b: Array) -> Array:
        return jnp.where(which.reshape(-1, *[1] * (b.ndim - 1)), b, a)

    moved = ("rbm", "gradient", "optimizer")
    parts = {name: jax.tree.map(each, getattr(old, name), getattr(new, name)) for name in moved}
    return old._replace(**parts, updates=new.updates)
