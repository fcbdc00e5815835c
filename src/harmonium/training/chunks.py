"""Chunks of updates in one compiled loop, for one or several models, and tests for divergence."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.host import errors_as_raised
from .._base.loops import TURNS, loop
from .._base.numerics import from_numpy, scalar, whole_number
from .._base.programs import compiled
from .._base.sharding import fetched
from ..data import Dataset
from ..data.shuffling import batches_in_order
from ..rbm import RBM
from .arguments import Plan
from .state import TrainState
from .update import Method, batch_of, make_update, run_keys

SECONDS_PER_CHUNK = 1.0  # between checks of the parameters, and between calls of callbacks
GROWTH_LIMIT = 1e6  # growth of the largest parameter by this factor counts as divergence


class DivergenceWarning(RuntimeWarning):
    """Parameters grew without bound in a run; the last model before this divergence is kept.

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


def advanced(
    method: Method,
    dataset: Dataset,
    n: Array,
    state: TrainState,
    until: Array,
    *,
    key: PRNGKeyArray,
) -> TrainState:
    """Make updates on the first n rows until `until` updates have been made; a pure function.

    One program serves any number of updates, and all n whose `padded` datasets have the same size.
    Epoch e draws the order of the rows from fold_in(key_order, e), and the keys of its updates are
    split from fold_in(key_updates, e), so the result does not depend on how a run is divided into
    chunks.
    """
    _, key_order, key_updates = run_keys(key)
    room = len(dataset)
    size = method.batch_size
    most = math.ceil(room / size)
    per_epoch = -(-n // size)  # n / size, rounded up

    # The bounds of both loops are traced, so that one program serves all chunks of any length.
    def epoch(e: Array, state: TrainState) -> TrainState:
        rows_of = batches_in_order(room, n, size, key=jax.random.fold_in(key_order, e))
        # All keys of an epoch are split at once: for a small model, one split takes a tenth of an
        # update.
        keys = jax.random.split(jax.random.fold_in(key_updates, e), most)

        def update(t: Array, state: TrainState) -> TrainState:
            t = t - e * per_epoch
            rows_in_batch = None
            if method.short_last:
                rows_in_batch = jnp.minimum(n - t * size, size)
            key_rows, key_gradient = dataset.keys(keys[t])
            batch, mass = batch_of(
                state.rbm.visible, dataset, rows_of(t), rows_in_batch, key=key_rows
            )
            return make_update(method, batch, mass, state, key=key_gradient)

        end = jnp.minimum(until, (e + 1) * per_epoch)
        return loop(state.updates, end, update, state, most=most)

    # A block holds several epochs if they have few updates.
    epochs = max(1, TURNS // most)
    return loop(state.updates // per_epoch, -(-until // per_epoch), epoch, state, turns=epochs)


advance = compiled(advanced)


@compiled
def _advance_one(*parts: Any, key: PRNGKeyArray) -> tuple[TrainState, Array]:
    """Make the updates of one model as `advanced` does; also return its largest absolute parameter.

    A separate program for that parameter would take longer to call than to run.
    """
    state = advanced(*parts, key=key)
    return state, largest(state.rbm)


@compiled
def _advance_all(
    method: Method,
    dataset: Dataset,
    n: Array,
    state: TrainState,
    until: Array,
    keys: Array,
    weights: Array | None,
) -> tuple[TrainState, Array]:
    """Make the updates of all models as `advanced` does, with arrays stacked along the first axis.

    Also return the largest absolute parameter of each model.
    """

    def advanced_one(
        rbm: RBM, gradient: Any, optimizer: Any, key: Array, weights: Array | None
    ) -> tuple[RBM, Any, Any]:
        # All models share one count of updates: with different counts, every loop would run as long
        # as the longest, and the results would have to be selected.
        model = TrainState(rbm, gradient, optimizer, state.updates)
        rows = dataset
        if weights is not None:
            rows = dataset.weighted(weights)
        model = advanced(method, rows, n, model, until, key=key)
        return model.rbm, model.gradient, model.optimizer

    parts = (state.rbm, state.gradient, state.optimizer)
    rbm, gradient, optimizer = eqx.filter_vmap(advanced_one)(*parts, keys, weights)
    return TrainState(rbm, gradient, optimizer, until), jax.vmap(largest)(rbm)


class Models:
    """The models of a run, whose states are stacked in one pytree and advanced together.

    A single model has a program of its own. Several models are stacked along the first axis of
    their arrays, so that one program serves them all: for a small model, calling a program takes
    longer than computing its matrix products.

    Args:
        plan: the fixed parts of the run.
        keys: a random key for each model.
        weights: each model's own weights of the rows, shape (models, n), of mean 1.
    """

    def __init__(self, plan: Plan, keys: Sequence[PRNGKeyArray], weights: np.ndarray | None = None):
        self.count = len(keys)
        self.method = plan.method
        self.key = keys[0]
        rows = plan.rows
        if self.count > 1:  # stacking the key of one model would only compile another program
            self.key = jnp.stack(list(keys))
            rows = plan.dataset
        self.windows = rows.windows(plan.method.batch_size, key=keys[0], end=plan.total)
        self.weights = None
        if weights is not None:
            padding = len(self.windows.at(0).dataset) - weights.shape[1]
            self.weights = from_numpy(np.pad(weights, [(0, 0), (0, padding)]))

    def join(self, states: list[TrainState]) -> TrainState:
        """Return the states of the models stacked into one, with the largest count of updates."""
        if self.count == 1:
            return states[0]
        return stacked(states)

    def split(self, state: TrainState, updates: np.ndarray) -> list[TrainState]:
        """Return the states of the models, each with its own number of updates."""
        if self.count == 1:
            return [state]
        return unstacked(state, updates)

    def advance(
        self, state: TrainState, target: int, is_moving: np.ndarray | None = None
    ) -> tuple[TrainState, np.ndarray]:
        """Return the state after `target` updates, and each model's largest absolute parameter.

        Args:
            state: the state of all models, from `join`.
            target: the number of updates, counted from the start of the run.
            is_moving: whether each model is updated; all are updated if None. A model that is not
                updated has diverged, and stays unchanged.
        """
        old = state
        sizes = None
        updates = int(state.updates)
        while updates < target:
            window = self.windows.at(updates)
            # Each window counts as an epoch, so that it has an order and keys of its own.
            per_pass = math.ceil(int(window.count) / self.method.batch_size)
            ahead = window.passes * per_pass - window.begin
            end = min(target, window.end)
            if ahead:
                state = state._replace(updates=whole_number(updates + ahead))
            parts = (self.method, window.dataset, window.count, state, whole_number(end + ahead))
            with errors_as_raised():
                if self.count == 1:
                    state, sizes = _advance_one(*parts, key=self.key)
                else:
                    state, sizes = _advance_all(*parts, self.key, self.weights)
                jax.block_until_ready(state)
            if ahead:
                state = state._replace(updates=scalar(end, np.int32))
            updates = end
        if is_moving is not None and not is_moving.all():
            state = _frozen(old, state, from_numpy(is_moving))
            sizes = None
        if sizes is None:
            sizes = self.largest(state)
        return state, np.atleast_1d(np.asarray(sizes))

    def largest(self, state: TrainState) -> np.ndarray:
        """Return the largest absolute parameter of each model, or NaN if any is NaN."""
        return largest_on_host(state.rbm, self.count)

    def update_ratios(self, before: TrainState, after: TrainState) -> list[float]:
        """Return each model's |ΔW| / |W|, where ΔW is the change between two states."""
        return np.atleast_1d(np.asarray(self._each(_update_ratio)(before.rbm, after.rbm))).tolist()

    def _each(self, function: Callable) -> Callable:
        """Turn a function of one model into a function of all models."""
        return function if self.count == 1 else eqx.filter_vmap(function)


def stacked(states: list[TrainState]) -> TrainState:
    """Return the states of several models stacked into one, with the largest count of updates."""
    furthest = max(states, key=lambda state: int(state.updates))
    joined: Any = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    return joined._replace(updates=furthest.updates)


def unstacked(state: TrainState, updates: np.ndarray) -> list[TrainState]:
    """Split `stacked` states into the state of each model.

    Args:
        state: `stacked` states.
        updates: the number of updates that each model has made.
    """
    host: Any = jax.device_get(state._replace(updates=updates.astype(np.int32)))

    def model(i: int) -> Any:
        # Views, since slicing on a device would need a program for each array of each model.
        views = jax.tree.map(lambda leaf: leaf[i : i + 1], host)
        return jax.tree.map(lambda leaf: from_numpy(leaf.reshape(leaf.shape[1:])), views)

    return [model(i) for i in range(len(updates))]


@compiled
def _frozen(old: TrainState, new: TrainState, is_moving: Array) -> TrainState:
    """Return new states for models with `is_moving` True, and old states for the other models."""

    def selected(a: Array, b: Array) -> Array:
        return jnp.where(is_moving.reshape(-1, *[1] * (b.ndim - 1)), b, a)

    parts = [(state.rbm, state.gradient, state.optimizer) for state in (old, new)]
    rbm, gradient, optimizer = jax.tree.map(selected, *parts)
    return TrainState(rbm, gradient, optimizer, new.updates)


def largest(rbm: RBM) -> Array:
    """Return the largest absolute parameter, or NaN if any parameter is NaN."""
    return jnp.stack([abs(leaf).max() for leaf in jax.tree.leaves(rbm)]).max()


def largest_on_host(rbm: RBM, count: int = 1) -> np.ndarray:
    """Return each model's largest absolute parameter, without compiling a program."""
    arrays = [np.abs(fetched(leaf)) for leaf in jax.tree.leaves(rbm)]
    return np.max([array.reshape(count, -1).max(1) for array in arrays], axis=0)


@compiled
def _update_ratio(before: RBM, after: RBM) -> Array:
    start = before.dense_weights
    return jnp.linalg.norm(after.dense_weights - start) / jnp.linalg.norm(start)


def growth_limit(before: Any) -> Any:
    """Return the size at which parameters count as diverged, given their largest size before."""
    return GROWTH_LIMIT * np.maximum(1.0, np.asarray(before, np.float64))


def next_chunk(chunk: int, per_second: float) -> int:
    """Return how many updates take about a second, at most 64 times as many as the last chunk."""
    return max(1, min(64 * chunk, int(per_second * SECONDS_PER_CHUNK)))
