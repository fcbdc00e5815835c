"""Many small models at once: one compiled loop updates all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from .._base.checks import checked_key
from ..data import Dataset
from ..errors import InputError
from ..gradients import AbstractGradient
from ..rbm import RBM, checked_rbm
from .arguments import Plan, checked_callbacks, checked_optimizer, plan_run
from .chunks import Models
from .loop import Callback, Run
from .monitors import Monitors
from .optimizers import Recipe
from .recorder import Recorder
from .start import continued, first_state
from .state import Fit, TrainState

NO_TIME = -1.0  # seconds of the run so far, of which pseudo-likelihoods may take a small part


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
    callbacks: Sequence[Callback] = (),
    states: Sequence[TrainState] | None = None,
) -> list[Fit]:
    """Train many models of the same shape on the same rows, all at once.

    Model i is trained as by `fit(rbms[i], data, key=keys[i], ...)`: the same random numbers are
    drawn, and results differ only by the order of sums. An update of a small model is a few dozen
    small programs whose calls take longer than their computations; here each call serves all
    models. So seeds, starts and learning rates can be compared in a fraction of the time.

    `harmonium train --ensemble N` trains seeds in this way, and measures each model on the way.

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
        callbacks: as in `fit`; `rbm` and `state` of the `Report` are lists with one entry for each
            model, and its metrics are empty. A `ProgressBar` shows how far the run is.
        states: the states to continue from, one for each model: those of a `Report`, or of the fits
            of an earlier call. The result is that of one call, to the last bit. A state of fewer
            updates than the others is that of a model that diverged, and stays as it is.

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
        >>> states = [fit.state for fit in fits]
        >>> longer = hm.fit_ensemble(starts, rows, keys=keys, states=states, epochs=4)
        >>> [int(fit.state.updates) for fit in longer]
        [4, 4]
    """
    models = [checked_rbm(rbm, f"rbms, number {i}") for i, rbm in enumerate(rbms)]
    if not models:
        raise InputError("rbms: expected at least one model; got none.")
    if jnp.shape(keys)[:1] != (len(models),):
        expected = f"one for each of {len(models)} models, as jax.random.split returns them"
        raise InputError(f"keys: expected {expected}; got shape {jnp.shape(keys)}.")
    keys = jnp.stack([checked_key(key) for key in keys])
    recipes = list(optimizer) if isinstance(optimizer, list) else [optimizer] * len(models)
    for name, given in (("optimizer", recipes), ("states", states)):
        if given is not None and len(given) != len(models):
            expected = f"{len(models)} of them, one for each model"
            raise InputError(f"{name}: expected {expected}; got {len(given)}.")
    callbacks = checked_callbacks(callbacks)
    dataset = Dataset.of(data, weights).checked_for(models[0].visible)
    rest = (epochs, batch_size, precision)
    plan = plan_run(models[0], dataset, None, gradient, recipes[0], *rest)
    _check_alike(models)
    optimizers = _optimizers(plan, recipes, models[0])
    first = []
    for i, (rbm, own, key) in enumerate(zip(models, optimizers, keys, strict=True)):
        if states is None:
            first.append(first_state(rbm, plan._replace(optimizer=own), key=key))
        else:
            first.append(continued(states[i], rbm, plan, key=key, name=f"states, number {i}"))
    fits = run_ensemble(plan, first, keys=keys, callbacks=callbacks)
    monitors = Monitors(models[0], plan.dataset, None)
    return [_with_record(fit, plan, monitors) for fit in fits]


def _check_alike(models: list[RBM]) -> None:
    """Raise InputError unless all models have the layers and sizes of the first, checked one."""
    for i, rbm in enumerate(models):
        if jax.tree.structure(rbm) != jax.tree.structure(models[0]):
            raise InputError(f"rbms: expected models like {models[0]}; number {i} is {rbm}.")


def _optimizers(plan: Plan, recipes: list[Any], rbm: RBM) -> list[Any]:
    """Return each model's optimiser; raise InputError unless one compiled loop serves all."""
    usual = Recipe(rate=plan.method.gradient.about.rate(rbm))
    known = {id(recipes[0]): plan.optimizer}  # a function would return a new one at each call
    for recipe in recipes:
        if id(recipe) not in known:
            known[id(recipe)] = checked_optimizer(recipe, usual, plan.total)
    optimizers = [known[id(recipe)] for recipe in recipes]
    for i, optimizer in enumerate(optimizers):
        if optimizer.update is not plan.method.update:
            raise InputError(
                f"optimizer: expected recipes that differ in their rates alone; number {i} differs"
                " from the first in more."
            )
    return optimizers


def run_ensemble(
    plan: Plan,
    states: list[TrainState],
    *,
    keys: Array,
    callbacks: Sequence[Callback] = (),
    recorders: Sequence[Recorder] = (),
) -> list[Fit]:
    """Train models side by side, as `fit_ensemble` does, with arguments that are checked.

    Args:
        plan: the fixed parts of the run.
        states: the states to begin from.
        keys: a random key for each model.
        callbacks: as in `fit_ensemble`.
        recorders: what measures each model on the way, as in `fit`, and decides by it. The run then
            ends where a model diverges, with the states before that.
    """
    recorders = recorders or [Recorder(plan)] * len(states)
    return Run(plan, Models(plan, list(keys)), recorders, callbacks).fits(states)


def _with_record(fit: Fit, plan: Plan, monitors: Monitors) -> Fit:
    """Return a `Fit` with a record of its end; that of a model that diverged has no measurements.

    There are no pseudo-likelihoods: for a hundred models they take as long as all the rest.
    """
    updates = int(fit.state.updates)
    record = {"update": updates, "epoch": updates / plan.per_epoch}
    if not fit.diverged:
        record |= monitors(fit.rbm, NO_TIME, last=False)
    return fit._replace(history=[record])
