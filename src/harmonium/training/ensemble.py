"""Many small models at once: one compiled loop updates all of them together."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from .._host import errors_as_raised
from .._numerics import from_numpy
from ..checks import checked_key
from ..data import Dataset
from ..errors import InputError
from ..gradients import AbstractGradient
from ..rbm import RBM, checked_rbm
from ..sharding import clock
from .arguments import Plan, checked_optimizer, plan_run
from .chunks import DivergenceWarning, advance, growth_limit, largest, next_chunk
from .monitors import Monitors
from .optimizers import Recipe, averaged_model
from .start import first_state
from .state import Fit, TrainState
from .update import Method, padded

NO_TIME = -1.0  # no pseudo-likelihoods: for a hundred models they take as long as all the rest
MODEL_AXES = TrainState(0, 0, 0, None, None, None)  # pyright: ignore[reportArgumentType]


def fit_ensemble(
    rbms: Sequence[RBM],
    data: Any,
    *,
    keys: Key[Array, " models"],
    weights: Any = None,
    gradient: AbstractGradient | str | None = None,
    optimizer: Any = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    precision: str | None = None,
    progress: Callable[[float], Any] | None = None,
) -> list[Fit]:
    """Train many models of the same shape on the same rows, all at once.

    Model i is trained as by `fit(rbms[i], data, key=keys[i], ...)`: the same random numbers are
    drawn, and results differ only by the order of sums. An update of a small model is a few dozen
    small programs whose calls take longer than their computations; here each call serves all
    models. So seeds, starts and learning rates can be compared in a fraction of the time.

    Args:
        rbms: the models to start from, with the same layers and sizes.
        data: rows in the user's coding, as in `fit`.
        keys: a JAX random key for each model, as `jax.random.split` returns them.
        weights: sample weights, shape (n,).
        gradient: as in `fit`, for all models.
        optimizer: as in `fit`; or a list, one for each model, of recipes that differ only in their
            rates.
        epochs: as in `fit`.
        batch_size: as in `fit`.
        precision: as in `fit`.
        progress: called from time to time with the part done, from 0 to 1.

    Returns:
        A `Fit` for each model, in order. Its history has one record, made at the end, without a
        pseudo-likelihood.

    Raises:
        InputError: an invalid argument, or data outside the visible layer's domain.

    Example:
        >>> rows, keys = hm.bars_and_stripes(2), jax.random.split(jax.random.key(0), 2)
        >>> starts = [hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=k) for k in keys]
        >>> rates = [hm.Recipe(rate=rate) for rate in (0.1, 0.3)]
        >>> fits = hm.fit_ensemble(starts, rows, keys=keys, optimizer=rates, epochs=2)
        >>> len(fits), fits[1].message
        (2, 'finished after 2 updates (2 epochs), one of an ensemble')
    """
    models = [checked_rbm(rbm, f"rbms, number {i}") for i, rbm in enumerate(rbms)]
    if not models:
        raise InputError("rbms: expected at least one model; got none.")
    if jnp.shape(keys)[:1] != (len(models),):
        expected = f"one for each of {len(models)} models, as jax.random.split returns them"
        raise InputError(f"keys: expected {expected}; got shape {jnp.shape(keys)}.")
    every = jnp.stack([checked_key(key) for key in keys])
    recipes = list(optimizer) if isinstance(optimizer, list) else [optimizer] * len(models)
    if len(recipes) != len(models):
        expected = f"{len(models)} of them, one for each model"
        raise InputError(f"optimizer: expected {expected}; got {len(recipes)}.")
    dataset = Dataset.of(data, weights).checked_for(models[0].visible)
    rest = (epochs, batch_size, precision)
    plan = plan_run(models[0], dataset, None, gradient, recipes[0], *rest)
    _check_alike(models)
    optimizers = _optimizers(plan, recipes, models[0])
    states = [
        first_state(rbm, plan._replace(optimizer=each), key=key)
        for rbm, each, key in zip(models, optimizers, every, strict=True)
    ]
    state, made = trained(plan, stacked(states), every, progress)
    monitors = Monitors(models[0], dataset, None)
    return [_fit(plan, state, i, int(updates), monitors) for i, updates in enumerate(made)]


def _check_alike(models: list[RBM]) -> None:
    """Raise InputError unless all models have the layers and sizes of the first, checked one."""
    for i, rbm in enumerate(models):
        if jax.tree.structure(rbm) != jax.tree.structure(models[0]):
            raise InputError(f"rbms: expected models like {models[0]}; number {i} is {rbm}.")


def _optimizers(plan: Plan, recipes: list[Any], rbm: RBM) -> list[Any]:
    """Return each model's optimiser; raise InputError unless one compiled loop serves all."""
    usual = Recipe(rate=plan.method.gradient.about.rate(rbm))
    made = {id(recipes[0]): plan.optimizer}  # a function would return a new one at each call
    for recipe in recipes:
        if id(recipe) not in made:
            made[id(recipe)] = checked_optimizer(recipe, usual, plan.total)
    found = [made[id(recipe)] for recipe in recipes]
    for i, optimizer in enumerate(found):
        if optimizer.update is not plan.method.update:
            raise InputError(
                f"optimizer: expected recipes that differ in their rates alone; number {i} differs"
                " from the first in more."
            )
    return found


def stacked(states: list[TrainState]) -> TrainState:
    """Return the states of several models as one, with one count of updates."""
    updates = states[0].updates
    stacked: Any = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    return stacked._replace(updates=updates)


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
    progress: Callable[[float], Any] | None = None,
    weights: np.ndarray | None = None,
) -> tuple[TrainState, np.ndarray]:
    """Make all updates that are left; of a model that diverges the last finite state is kept.

    Args:
        plan: the fixed parts of the run.
        state: `stacked` states.
        keys: a random key for each model.
        progress: called with the part done.
        weights: each model's own weights of the rows, shape (models, n), of mean 1.

    Returns:
        The states, and how many updates each model has made.
    """
    dataset, n = padded(plan.dataset)
    own = None
    if weights is not None:
        own = from_numpy(np.pad(weights, [(0, 0), (0, len(dataset) - weights.shape[1])]))
    limit = growth_limit(jax.vmap(largest)(state.rbm))
    updates, chunk = int(state.updates), 1
    kept, made = state, np.full(len(keys), updates)
    while updates < plan.total:
        target, started = min(updates + chunk, plan.total), clock()
        until = jnp.asarray(target, jnp.int32)
        with errors_as_raised():
            state, reached = _advanced(plan.method, dataset, n, state, until, keys, own)
            jax.block_until_ready(state)
        goes_on = (made == updates) & (np.asarray(reached) < limit)
        made = np.where(goes_on, target, made)
        kept = _replaced(kept, state, goes_on)
        jax.block_until_ready(kept)
        per_second = (target - updates) / max(clock() - started, 1e-9)
        chunk = next_chunk(chunk, per_second)
        updates = target
        if progress is not None:
            progress(updates / plan.total)
    diverged = made < plan.total
    if diverged.any():
        numbers = [str(i) for i in np.flatnonzero(diverged)]
        which = ", ".join(numbers[:10]) + (", …" if len(numbers) > 10 else "")
        message = f"{len(numbers)} of {len(made)} models diverged (number {which});"
        advice = "the last finite state of each is kept. Lower the learning rate."
        warnings.warn(f"{message} {advice}", DivergenceWarning, stacklevel=3)
    return kept, made


@eqx.filter_jit
def _replaced(old: TrainState, new: TrainState, which: np.ndarray) -> TrainState:
    """Replace the states of the chosen models by the new ones."""

    def each(a: Array, b: Array) -> Array:
        return jnp.where(which.reshape(-1, *[1] * (b.ndim - 1)), b, a)

    replaced: Any = jax.tree.map(each, old._replace(updates=()), new._replace(updates=()))
    return replaced._replace(updates=new.updates)


def _fit(plan: Plan, states: TrainState, i: int, updates: int, monitors: Monitors) -> Fit:
    """Return the `Fit` of model i, which has made `updates` updates."""
    state: Any = jax.tree.map(lambda leaf: leaf[i], states._replace(updates=()))
    state = state._replace(updates=jnp.asarray(updates, jnp.int32))
    rbm, diverged = averaged_model(state.optimizer, state.rbm), updates < plan.total
    done = f"after {updates:,} updates ({updates / plan.per_epoch:g} epochs), one of an ensemble"
    kept = f"diverged: {done}; the last finite model is kept"
    message = kept if diverged else f"finished {done}"
    record = {"update": updates, "epoch": updates / plan.per_epoch}
    if not diverged:
        record |= monitors(rbm, NO_TIME, last=False)
    return Fit(
        rbm, [record], state, message, diverged, plan.method.notes(state.rbm, state.gradient)
    )
