"""Training: `fit` and `fit_ensemble`, and the loop that runs chunks of updates."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray

from .._base.checks import checked_key
from .._base.sharding import clock, use_mesh
from ..data import Dataset
from ..errors import InputError, warn_user
from ..gradients import AbstractGradient
from ..rbm import RBM, checked_rbm
from .arguments import (
    Plan,
    checked_callbacks,
    checked_optimizer,
    continued,
    first_state,
    plan_run,
    resumable,
)
from .chunks import DivergenceWarning, Models, growth_limit, next_chunk
from .judge import Judge
from .monitors import Monitors
from .optimizers import Recipe, averaged_model
from .recorder import Recorder, Timetable
from .schedules import rate_of, reschedule
from .selection import PoorModelWarning
from .state import Fit, Report, TrainState

Callback = Callable[[Report], Any]
SLOWER = 4.0  # the rate of a run that diverges is divided by this number for a restart
SLOWEST = 1024.0  # the lowest rate, after five restarts, is the usual rate divided by this number
# The usual rate is safe on all data sets that were tried, and is a quarter of the best rate for
# most of them. So a run that tracks held-out rows first tries this multiple of the usual rate.
FASTER = SLOWER
NO_TIME = -1.0  # given as the duration of a run so that no time is left for pseudo-likelihoods


def fit(
    rbm: RBM,
    data: Any,
    *,
    key: PRNGKeyArray,
    weights: Any = None,
    gradient: AbstractGradient | str | None = None,
    optimizer: Any = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    precision: str | None = None,
    validation: Any = None,
    keep: str | None = None,
    callbacks: Sequence[Callback] = (),
    state: TrainState | None = None,
    mesh: Any = None,
) -> Fit:
    """Train a model on rows of data.

    By default, the model is trained by centred PCD-1 with 500 chains. The run makes at least 10,000
    updates; a small model with more than 2,000 rows gets up to 40,000. The learning rate is 0.1 (up
    to 0.4 for more than 64 visible 0/1 units, less if the units of both layers have large
    variances), and falls to zero over the second half of the run. If the run diverges, it is
    restarted at a quarter of the rate, up to five times. If the model is chosen by validation rows,
    four times the usual rate is tried first. The run is then restarted at the usual rate if the
    log-likelihood of these rows cannot be tracked at a record, and at a quarter of its rate if the
    training rows lose a twentieth of the log-likelihood that they had gained. The result is an
    average of the parameters over the last part of the run.

    If neither `epochs` nor `optimizer` is given, overfitting is limited in two ways. The recipe has
    a penalty on large weights (`hm.Huber`), whose strength is set by the number of rows and then,
    if there are validation rows, by the free-energy gap. And if there are validation rows, `fit`
    returns the model of the record at which their log-likelihood was highest.

    The result depends only on the arguments, since the same random numbers are drawn however often
    a run is interrupted and resumed.

    Rows may have missing values, given as NaN. The gradient method is then wrapped in `Marginal`,
    so that the model learns from the observed units of each row, with the missing units summed out.

    Args:
        rbm: the model to start from, as `initialize` returns it.
        data: rows in the user's coding, shape (n, visible units), with NaN for missing units; a
            `Dataset`; or a `Stream`, for more rows than fit in memory.
        key: a JAX random key. To resume a run, pass its key again.
        weights: sample weights, shape (n,).
        gradient: how to estimate the gradient: a method, or one of `METHOD_NAMES`, such as "auto"
            for an `Autopilot`, which adapts the sampling if the chains would fall behind. None
            means "pcd", that is, `Persistent(Gibbs(1), chains=500)`.
        optimizer: an optax transformation, or a function that returns one for a number of updates,
            such as a `Recipe`. None means a `Recipe` with the default learning rate of the method
            and, if `epochs` is None too, with the penalty `hm.Huber()`.
        epochs: the number of passes over the data after which the run ends, counted from the first
            update even if the run is resumed.
        batch_size: rows in an update, 200 if None; all rows if there are fewer.
        precision: "float32", or "bfloat16" for products with W rounded to bfloat16, in which only
            W is rounded if the states are small whole numbers. The chains and the gradient then use
            the rounded weights; steps and averages are in float32. If None, bfloat16 is used if the
            layers, the rows and the method allow it, the model is not small, and bfloat16 is
            measured to be faster on this device (`precision_timing`). A key gives the same model
            only at the same precision.
        validation: held-out rows. They are compared with the training rows in the history, and
            determine the strength of an automatic penalty and the choice of the model.
        keep: "best" for the model of the record at which the log-likelihood of the validation rows
            was highest, "last" for the model at the end. None means "best" if there are validation
            rows and neither `epochs` nor `optimizer` is given, else "last".
        callbacks: functions that are called with a `Report` after each chunk of updates. The run
            stops if a callback returns True; if this callback has an attribute `reason`, as
            `EarlyStopping` has, the message of the `Fit` includes the reason.
        state: a state to continue from. The run keeps the learning rate with which it started,
            whatever the rate of `optimizer`; the schedule is adjusted to the length of this run. To
            continue in another process, also pass the `precision` given in the notes of the `Fit`.
        mesh: devices to spread the run over: sizes such as {"data": 4, "hidden": 2}, or a
            `jax.sharding.Mesh` with these axes. Rows and chains are divided along "data", the
            columns of W along "hidden". The same random numbers are drawn as on one device.

    Returns:
        A `Fit`: the averaged model, the history of measurements, the state to continue from, and a
        message. If the run diverges at a rate that was given, or after every restart, the model is
        the last finite one, and a `DivergenceWarning` is issued. If the model is worse than
        independent units, or its means are far from the means of the rows, the notes say so, and a
        `PoorModelWarning` is issued.

    Raises:
        InputError: an argument is invalid, or the data are outside the visible layer's domain.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> fit = hm.fit(rbm, rows, key=key, optimizer=hm.Recipe(rate=1.0), epochs=2_000)
        >>> bool(hm.log_likelihood(fit.rbm, rows).value > -1.9)  # before: −2.77; at best: −1.73
        True
    """
    with use_mesh(mesh):
        plan = plan_run(rbm, data, weights, gradient, optimizer, epochs, batch_size, precision)
        if keep is None:
            chooses = validation is not None and epochs is None and optimizer is None
            keep = "best" if chooses else "last"
        if state is not None:
            state = resumable(state, rbm, plan, key=key)
        return run_plan(
            rbm, plan, key=key, validation=validation, keep=keep, callbacks=callbacks, state=state
        )


def run_plan(
    rbm: RBM,
    plan: Plan,
    *,
    key: PRNGKeyArray,
    validation: Any = None,
    keep: str = "last",
    callbacks: Sequence[Callback] = (),
    state: TrainState | None = None,
    track: bool | None = None,
    history: bool = True,
) -> Fit:
    """Train as `fit` does, with arguments checked by `plan_run`, from a state that matches them.

    If `track` is True, the history includes the log-likelihood even if there are no validation
    rows; it is then the log-likelihood of the training rows. If `history` is False, only the
    records on which the run bases a decision are made.
    """
    held_out = None
    if validation is not None:
        held_out = Dataset.of(validation, name="validation").checked_for(rbm.visible, "validation")
    _check_keep(keep, held_out)
    callbacks = checked_callbacks(callbacks)
    key = checked_key(key)
    state = continued(state, rbm, plan, key=key)
    if track is None:
        track = held_out is not None
    judge = Judge(rbm, plan.rows, held_out, plan.auto_strength)
    recorder = Recorder(plan, judge, keep=keep, track=track, history=history, key=key)
    run = Run(plan, Models(plan, [key]), [recorder], callbacks, view=_report_of_one)
    return run.fits([state])[0]


def _report_of_one(report: Report) -> Report:
    """Return the report of a run of one model with this model and its state in place of lists."""
    return report._replace(rbm=report.rbm[0], state=report.state[0])


def _check_keep(keep: Any, held_out: Dataset | None) -> None:
    if keep not in ("best", "last"):
        raise InputError(f"keep: expected 'best', 'last' or None; got {keep!r}.")
    if keep == "best" and held_out is None:
        raise InputError(
            "keep: expected validation rows to find the best model; got none; pass validation=, or"
            " keep='last'."
        )


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
    """Train many models of the same shape on the same rows, all at the same time.

    Model i is trained as `fit(rbms[i], data, key=keys[i], ...)` would train it: the same random
    numbers are drawn, and results differ only by rounding (the order of sums). An update of a small
    model consists of a few dozen small operations, which take longer to launch than to compute;
    here each launch serves all models. So seeds, starting points and learning rates can be compared
    in a fraction of the time.

    `harmonium train --ensemble N` trains several seeds in this way, and also measures each model
    during training.

    Args:
        rbms: the models to start from, with the same layers and sizes.
        data: rows in the user's coding, as in `fit`.
        keys: a JAX random key for each model, as `jax.random.split` returns them.
        weights: sample weights, shape (n,).
        gradient: as in `fit`, for all models.
        optimizer: as in `fit`; or a list with a recipe for each model, which may differ only in
            their rates.
        epochs: as in `fit`.
        batch_size: as in `fit`.
        precision: as in `fit`.
        callbacks: as in `fit`; `rbm` and `state` of the `Report` are lists with one entry for each
            model, and its metrics are empty. A `ProgressBar` shows the progress of the run.
        states: the states to continue from, one for each model, from a `Report` or from the fits of
            an earlier call. The result is the same as from a single call, to the last bit. A state
            with fewer updates than the others belongs to a model that diverged, and stays
            unchanged.

    Returns:
        A `Fit` for each model, in order. Its history has one record, made at the end, without a
        pseudo-likelihood.

    Raises:
        InputError: an argument is invalid, or the data are outside the visible layer's domain.

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
        raise InputError(
            f"keys: expected one key for each model, {len(models)} in all, such as"
            f" jax.random.split(key, {len(models)}); got an array of shape {jnp.shape(keys)}."
        )
    keys = jnp.stack([checked_key(key) for key in keys])
    recipes = optimizer
    if not isinstance(recipes, list):
        recipes = [optimizer] * len(models)
    olds = states
    if olds is None:
        olds = [None] * len(models)
    for name, values in (("optimizer", recipes), ("states", olds)):
        if len(values) != len(models):
            raise InputError(
                f"{name}: expected a list with one entry for each model, {len(models)} in all; got"
                f" {len(values)}."
            )
    callbacks = checked_callbacks(callbacks)
    dataset = Dataset.of(data, weights).checked_for(models[0].visible)
    rest = (epochs, batch_size, precision)
    plan = plan_run(models[0], dataset, None, gradient, recipes[0], *rest)
    _check_alike(models)
    optimizers = _optimizers(plan, recipes, models[0])
    first = []
    for i, (state, rbm, own, key) in enumerate(zip(olds, models, optimizers, keys, strict=True)):
        plan_of_model = plan._replace(optimizer=own)
        if state is not None:
            resumable(state, rbm, plan_of_model, key=key, name=f"states, number {i}")
        first.append(continued(state, rbm, plan_of_model, key=key))
    fits = run_ensemble(plan, first, keys=keys, callbacks=callbacks)
    monitors = Monitors(models[0], plan.dataset, None)
    return [_with_record(fit, plan, monitors) for fit in fits]


def _check_alike(models: list[RBM]) -> None:
    """Raise InputError unless all models have the layers and sizes of the first one."""
    for i, rbm in enumerate(models):
        if jax.tree.structure(rbm) != jax.tree.structure(models[0]):
            raise InputError(
                f"rbms: expected models with the layers and sizes of the first, {models[0]}; got"
                f" {rbm} as number {i}."
            )


def _optimizers(plan: Plan, recipes: list[Any], rbm: RBM) -> list[Any]:
    """Return the models' optimisers; raise InputError unless one compiled loop can serve all."""
    known = {id(recipes[0]): plan.optimizer}  # a function would return a new one at each call
    for recipe in recipes:
        if id(recipe) not in known:
            own = recipe
            if own is None:  # computing the rate calls a program, so only if needed
                own = Recipe(rate=plan.method.gradient.about.rate(rbm))
            known[id(recipe)] = checked_optimizer(own, plan.total)
    optimizers = [known[id(recipe)] for recipe in recipes]
    for i, optimizer in enumerate(optimizers):
        if optimizer.update is not plan.method.update:
            raise InputError(
                "optimizer: expected recipes that differ only in their rates; got recipe number"
                f" {i}, which differs from the first in other settings too."
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
    """Train models side by side, as `fit_ensemble` does, with checked arguments.

    Args:
        plan: the fixed parts of the run.
        states: the states to start from.
        keys: a random key for each model.
        callbacks: as in `fit_ensemble`.
        recorders: the recorders, which measure each model during the run and make decisions, as in
            `fit`. If these make records, the run ends when a model diverges, with the states from
            before the divergence.
    """
    recorders = recorders or [Recorder(plan)] * len(states)
    return Run(plan, Models(plan, list(keys)), recorders, callbacks).fits(states)


def _with_record(fit: Fit, plan: Plan, monitors: Monitors) -> Fit:
    """Return a `Fit` with one record, made at the end; it has no measurements after a divergence.

    The record has no pseudo-log-likelihood, since this would take as long as all else for a hundred
    models.
    """
    updates = int(fit.state.updates)
    record = {"update": updates, "epoch": updates / plan.per_epoch}
    if not fit.diverged:
        record |= monitors.described(fit.rbm, monitors.measured(fit.rbm), NO_TIME, last=False)
    return fit._replace(history=[record])


@dataclasses.dataclass
class Run:
    """A run of one model or of several: compiled chunks of updates, with records between them.

    Attributes:
        plan: the fixed parts of the run, the same for all models.
        models: the models, and how they are advanced.
        recorders: the recorders, which measure all models at the same updates.
        callbacks: as in `fit`.
        view: converts a report whose models and states are lists to the report that callbacks
            receive; None to pass it on unchanged.
        timetable: the updates at which records are made, and the end; the same for all models.
        state: the states of all models, as `models` joins them.
        updates: the number of updates made so far.
        updates_of: the number of updates that each model has made; smaller if it has diverged.
        is_moving: whether each model is still trained: False for one that has diverged.
        is_over: whether the run has reached its end, or was stopped.
        stopper: the callback that has stopped the run; None if none has.
        histories: the records of each model.
        began: the time at which the run began, in seconds.
        first: a function that returns the states before the first update, to restart from; None if
            the learning rate was given.
        rate: the learning rate of all models; 0 if it was given.
        usual_rate: the default rate.
    """

    plan: Plan
    models: Models
    recorders: Sequence[Recorder]
    callbacks: Sequence[Callback]
    view: Callable[[Report], Report] | None = None
    timetable: Timetable = dataclasses.field(init=False)
    state: TrainState = dataclasses.field(init=False)
    updates: int = dataclasses.field(init=False)
    updates_of: np.ndarray = dataclasses.field(init=False)
    is_moving: np.ndarray = dataclasses.field(init=False)
    is_over: bool = False
    stopper: Callback | None = None
    histories: list[list[dict[str, float]]] = dataclasses.field(init=False)
    began: float = dataclasses.field(init=False)
    first: Callable[[], list[TrainState]] | None = dataclasses.field(init=False)
    rate: float = 0.0
    usual_rate: float = 0.0

    def fits(self, states: list[TrainState]) -> list[Fit]:
        """Make all remaining updates, and return the `Fit` of each model.

        Args:
            states: a state of each model. A state with fewer updates than the others belongs to a
                model that has diverged, and stays unchanged.
        """
        self.first = _first_states(self.plan, self.recorders)
        pairs = zip(self.recorders, states, strict=True)
        states = [recorder.begin(state) for recorder, state in pairs]
        self.timetable = self.recorders[0].timetable
        self.histories = [[] for _ in self.recorders]
        self.began = clock()
        if self.first is not None:
            self.usual_rate = rate_of(self.plan.optimizer.init(states[0].rbm)) or 0.0
            self.rate = rate_of(states[0].optimizer) or 0.0
            if int(states[0].updates) == 0 and self.recorders[0].follows:
                self.rate = FASTER * self.usual_rate
                states = [self._at_rate(state) for state in states]
        self.state = self.models.join(states)
        self.updates = int(self.state.updates)
        self.updates_of = np.array([int(state.updates) for state in states])
        self.is_moving = self.updates_of == self.updates
        limit = growth_limit(self.models.largest(self.state))
        end = self.timetable.end
        was_complete = self.updates >= end
        self.is_over = was_complete
        chunk = 1
        while not self.is_over:
            target = min(self.updates + chunk, self.timetable.next(self.updates), end)
            started = clock()
            before, state, largest = self._advanced(target)
            per_second = (target - self.updates) / max(clock() - started, 1e-9)
            is_finite = largest < limit
            if not is_finite.all():
                self._recover(is_finite)
                chunk = 1
                continue
            self.state = state
            self.updates = target
            self.updates_of[self.is_moving] = target
            self.is_over = target >= end
            self._record_and_report(before, per_second)
            chunk = next_chunk(chunk, per_second) if self.updates else 1
        return self._all_fits(was_complete)

    def _advanced(self, target: int) -> tuple[TrainState, TrainState, np.ndarray]:
        """Return the state before update `target`, if needed for a record, and the state after it.

        The third value is the largest absolute parameter of each model.

        The last update before a record is a separate call, so that the compiled loop need not carry
        the previous parameters.
        """
        before = self.state
        if self.timetable.is_due(target) and target - 1 > self.updates:
            before, _ = self.models.advance(before, target - 1, self.is_moving)
        return before, *self.models.advance(before, target, self.is_moving)

    def _recover(self, is_finite: np.ndarray) -> None:
        """Choose how to continue after a chunk in which parameters grew without bound.

        A run whose learning rate was not given restarts at a lower rate. Otherwise the models that
        diverged keep their states from before the chunk; the run then ends if it makes records,
        and otherwise goes on with the other models.
        """
        if self._begins_again():
            return
        self.is_moving &= is_finite
        # Means over some of the models would not be records of the run.
        self.is_over = bool(self.timetable.records) or not self.is_moving.any()

    def _begins_again(self) -> bool:
        """Restart at a lower rate if possible, and return whether the run was restarted."""
        slower = self.rate / SLOWER
        if self.first is None or not slower >= self.usual_rate / SLOWEST > 0.0:
            return False
        self.rate = slower
        pairs = zip(self.recorders, self.first(), strict=True)
        states = [self._at_rate(recorder.begin(state)) for recorder, state in pairs]
        self.state = self.models.join(states)
        self.updates = 0
        self.updates_of[:] = 0
        for history in self.histories:
            history.clear()
        self.is_over = False
        return True

    @property
    def _is_fast(self) -> bool:
        """Whether the run tracks held-out rows and still has the high rate that it tried first."""
        fast = FASTER * self.usual_rate
        return self.recorders[0].follows and math.isclose(self.rate, fast, rel_tol=1e-3)

    def _at_rate(self, state: TrainState) -> TrainState:
        return state._replace(optimizer=reschedule(state.optimizer, self.plan.total, self.rate))

    def _record_and_report(self, before: TrainState, per_second: float) -> None:
        """Measure the models if a record is due, and call the callbacks."""
        is_due = self.timetable.is_due(self.updates)
        if not is_due and not self.callbacks:
            return
        seconds = clock() - self.began
        samples = per_second * len(self.plan.rows) / self.plan.per_epoch
        metrics: dict[str, float] = {}
        states = self.models.split(self.state, self.updates_of)
        if is_due:
            metrics = {"update": self.updates, "epoch": self._epochs(self.updates)}
            metrics |= {"seconds": round(seconds, 3), "samples_per_second": round(samples, 1)}
            ratios = self.models.update_ratios(before, self.state)
            measured = []
            for i, recorder in enumerate(self.recorders):
                states[i], record = recorder.record(states[i], seconds)
                if math.isfinite(ratios[i]):
                    record["update_ratio"] = ratios[i]
                self.histories[i].append(metrics | record)
                measured.append(record)
            metrics |= _means(measured)
            self.state = self.models.join(states)
            # At a rate that is too high, chains fall behind the model, and log Z is lost.
            is_lost = self._is_fast and "log_likelihood" not in metrics
            has_fallen = any(recorder.has_fallen for recorder in self.recorders)
            if (is_lost or has_fallen) and self._begins_again():
                return
        report = Report(
            updates=self.updates,
            total=self.timetable.end,
            epoch=self._epochs(self.updates),
            epochs=self._epochs(self.timetable.end),
            seconds=seconds,
            samples_per_second=samples,
            updates_per_second=per_second,
            metrics=metrics,
            rbm=[self._model(i, state) for i, state in enumerate(states)],
            state=[r.with_records(s) for r, s in zip(self.recorders, states, strict=True)],
        )
        if self.view is not None:
            report = self.view(report)
        stoppers = [callback for callback in self.callbacks if callback(report) is True]
        if stoppers and not self.is_over:
            self.stopper = stoppers[0]
            self.is_over = True

    def _epochs(self, updates: int) -> float:
        return updates / self.plan.per_epoch

    def _model(self, i: int, state: TrainState) -> RBM:
        """Return the model to use after the updates made so far."""
        if self.updates < self.timetable.end:
            return averaged_model(state.optimizer, state.rbm)
        return self.recorders[i].choose(state).rbm

    def _all_fits(self, was_complete: bool) -> list[Fit]:
        """Return the fits, and warn if any models diverged."""
        states = self.models.split(self.state, self.updates_of)
        fits = [self._fit(i, state, was_complete) for i, state in enumerate(states)]
        diverged = [str(i) for i, fit in enumerate(fits) if fit.diverged]
        if diverged:
            warning = fits[0].message
            if len(fits) > 1:
                which = ", ".join(diverged[:10])
                if len(diverged) > 10:
                    which += ", …"
                warning = (
                    f"{len(diverged)} of {len(fits)} models diverged (number {which}); the last"
                    " finite state of each is kept. Lower the learning rate."
                )
            warn_user(warning, DivergenceWarning)
        return fits

    def _fit(self, i: int, state: TrainState, was_complete: bool) -> Fit:
        """Return the `Fit` of a model."""
        recorder = self.recorders[i]
        updates = int(self.updates_of[i])
        done = f"after {updates:,} updates ({self._epochs(updates):g} epochs)"
        if len(self.recorders) > 1:
            done += ", one of an ensemble"
        notes = recorder.notes(state) + self._notes()
        full = recorder.with_records(state)
        if not self.is_moving[i]:
            message = (
                f"diverged: {done}: parameters grew without bound; the last finite model is kept."
                " Lower the learning rate, and standardise continuous data."
            )
            rbm = averaged_model(state.optimizer, state.rbm)
            return Fit(rbm, self.histories[i], full, message, True, notes)
        choice = recorder.choose(state)
        if choice.why:
            done += f"; {choice.why}"
        if was_complete:
            message = f"nothing to do: the run was complete {done}; choose more epochs"
        elif self.stopper is not None:
            reason = getattr(self.stopper, "reason", "")
            message = f"stopped by a callback {done}: {reason}".removesuffix(": ")
        else:
            message = f"finished {done}"
        if not was_complete and (warning := recorder.reason_against(state, choice.rbm)):
            warn_user(warning, PoorModelWarning)
            notes = (*notes, warning)
        return Fit(choice.rbm, self.histories[i], full, message, False, notes)

    def _notes(self) -> tuple[str, ...]:
        """Return a note on the learning rate, if it was chosen during the run."""
        if not self.usual_rate:
            return ()
        if self._is_fast:
            why = (
                f"{FASTER:g} times the usual one, at which the log-likelihood of held-out rows"
                " could be tracked"
            )
        elif self.recorders[0].follows:
            why = (
                f"at higher rates, the first of which was {FASTER * self.usual_rate:.2g}, the run"
                " diverged, or the log-likelihood of held-out rows could not be tracked, or that of"
                " training rows fell"
            )
        elif self.rate < 0.99 * self.usual_rate:
            why = f"the run diverged at higher rates, the first of which was {self.usual_rate:.2g}"
        else:
            return ()
        return (f"the rate is {self.rate:.2g}: {why}",)


def _first_states(
    plan: Plan, recorders: Sequence[Recorder]
) -> Callable[[], list[TrainState]] | None:
    """Return a function that makes the states for a restart; None if no restart is possible."""
    starts = [(recorder.judge.start, recorder.key) for recorder in recorders if recorder.judge]
    if not plan.may_slow or not starts:
        return None
    head = plan.rows
    if not head.is_whole:  # take rows of a stream now: another thread reads it later
        head = head.head
    plan = plan._replace(rows=head)
    return lambda: [first_state(rbm, plan, key=key) for rbm, key in starts]


def _means(records: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean over models of each metric that all models have."""
    names = [name for name in records[0] if all(name in record for record in records)]
    return {name: fmean(record[name] for record in records) for name in names}
