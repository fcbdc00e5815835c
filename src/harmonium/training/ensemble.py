"""Many small models at once: one compiled loop updates all of them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..checks import checked_key
from ..data import Dataset
from ..errors import InputError
from ..gradients import AbstractGradient
from ..rbm import RBM, checked_rbm
from ..sharding import clock
from .arguments import Plan, checked_callbacks, checked_optimizer, plan_run
from .monitors import Monitors
from .optimizers import Recipe, averaged_model
from .recorder import Recorder
from .side_by_side import stacked, trained, unstacked
from .start import continued, first_state
from .state import Fit, Report, TrainState

Callback = Callable[[Report], Any]
NO_TIME = -1.0  # no pseudo-likelihoods: for a hundred models they take as long as all the rest


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
    every = jnp.stack([checked_key(key) for key in keys])
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
    begun = [
        first_state(rbm, plan._replace(optimizer=each), key=key)
        if states is None
        else continued(states[i], rbm, plan, key=key, name=f"states, number {i}")
        for i, (rbm, each, key) in enumerate(zip(models, optimizers, every, strict=True))
    ]
    return run_ensemble(plan, begun, keys=every, callbacks=callbacks)


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
    states = (
        [each._replace(held_out=None, folds=None) for each in states]
        if not recorders
        else [recorder.begun(each) for recorder, each in zip(recorders, states, strict=True)]
    )
    begun, made = stacked(states), np.array([int(each.updates) for each in states])
    between = _Between(plan, begun, callbacks, recorders)
    state, made = trained(plan, begun, keys, made=made, between=between)
    diverged = made < between.updates
    states = unstacked(state, np.minimum(made, int(state.updates)))
    fits = between.fits(states, diverged)
    if recorders:
        return fits
    monitors = Monitors(states[0].rbm, plan.dataset, None)
    return [each if each.diverged else _measured(each, monitors) for each in fits]


def _measured(fit: Fit, monitors: Monitors) -> Fit:
    """Return a `Fit` whose only record has measurements too."""
    return fit._replace(history=[fit.history[0] | monitors(fit.rbm, NO_TIME, last=False)])


class _Between:
    """What happens between chunks of an ensemble's updates: records and callbacks."""

    def __init__(
        self,
        plan: Plan,
        begun: TrainState,
        callbacks: Sequence[Callback],
        recorders: Sequence[Recorder],
    ):
        self.plan, self.callbacks, self.recorders = plan, callbacks, recorders
        self.histories: list[list[dict[str, float]]] = [[] for _ in recorders]
        self.last, self.began, self.updates = begun, clock(), int(begun.updates)
        self.stoppers: list[Callback] = []
        self.is_complete = self.updates >= plan.total

    def next(self, updates: int) -> int:
        """Return the update of the next record, or of the end."""
        return self.recorders[0].next(updates) if self.recorders else self.plan.total

    def __call__(
        self, state: TrainState, made: np.ndarray, per_second: float
    ) -> tuple[TrainState, bool]:
        """Measure the models if that is due, and call the callbacks."""
        updates = self.updates = int(state.updates)
        if self.recorders and (made < updates).any():
            return self.last, True
        is_due = bool(self.recorders) and self.recorders[0].is_due(updates)
        if not is_due and not self.callbacks:
            return state, False
        states, seconds, plan = unstacked(state, made), clock() - self.began, self.plan
        samples = per_second * len(plan.dataset) / plan.per_epoch
        metrics: dict[str, float] = {}
        if is_due:
            metrics = {"update": updates, "epoch": updates / plan.per_epoch}
            metrics |= {"seconds": round(seconds, 3), "samples_per_second": round(samples, 1)}
            states, found = self._recorded(states, seconds)
            for history, each in zip(self.histories, found, strict=True):
                history.append(metrics | each)
            common = [name for name in found[0] if all(name in each for each in found)]
            metrics |= {name: fmean(each[name] for each in found) for name in common}
            state = stacked(states)
        self.last = state
        models: Any = [self._model(i, each) for i, each in enumerate(states)]
        ends = (updates, plan.total, updates / plan.per_epoch, plan.total / plan.per_epoch)
        whole: Any = states
        report = Report(*ends, seconds, samples, per_second, metrics, models, whole)
        self.stoppers = [callback for callback in self.callbacks if callback(report) is True]
        return state, bool(self.stoppers)

    def _recorded(
        self, states: list[TrainState], seconds: float
    ) -> tuple[list[TrainState], list[dict[str, float]]]:
        """Return the states after a record, and the metrics of each model."""
        after, found = [], []
        for recorder, state in zip(self.recorders, states, strict=True):
            rbm = averaged_model(state.optimizer, state.rbm)
            state, metrics = recorder.record(state, rbm, seconds)
            of_method = recorder.method.gradient.metrics(state.gradient)
            after.append(state)
            found.append(metrics | {name: float(value) for name, value in of_method.items()})
        return after, found

    def _model(self, i: int, state: TrainState) -> RBM:
        """Return the model to use."""
        if self.recorders and self.updates >= self.plan.total:
            return self.recorders[i].kept(state)[0]
        return averaged_model(state.optimizer, state.rbm)

    def fits(self, states: list[TrainState], diverged: np.ndarray) -> list[Fit]:
        """Return the `Fit` of each model."""
        return [
            self._fit(i, state, is_lost)
            for i, (state, is_lost) in enumerate(zip(states, diverged.tolist(), strict=True))
        ]

    def _fit(self, i: int, state: TrainState, diverged: bool) -> Fit:
        """Return the `Fit` of model i."""
        updates, epochs = int(state.updates), int(state.updates) / self.plan.per_epoch
        done = f"after {updates:,} updates ({epochs:g} epochs), one of an ensemble"
        message = f"finished {done}"
        if self.stoppers and updates < self.plan.total:
            reason = getattr(self.stoppers[0], "reason", "")
            message = f"stopped by a callback {done}" + (f": {reason}" if reason else "")
        if self.is_complete:
            message = f"nothing to do: the run was complete {done}; choose more epochs"
        if diverged:
            message = f"diverged: {done}; the last finite model is kept"
        notes = self.plan.method.notes(state.rbm, state.gradient)
        history: list[Any] = [{"update": updates, "epoch": epochs}]
        if self.recorders:
            notes, history = self.recorders[i].notes(state), self.histories[i]
        rbm = self._model(i, state)
        reason = (
            "" if diverged or not self.recorders else self.recorders[i].reason_against(state, rbm)
        )
        notes = (*notes, reason) if reason else notes
        return Fit(rbm, history, state, message, diverged, notes)
