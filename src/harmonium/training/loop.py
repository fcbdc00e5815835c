"""The training loop: compiled chunks of many updates, with measurements and callbacks between."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray

from .._base.checks import checked_key
from .._base.sharding import clock, use_mesh
from ..data import Dataset
from ..errors import InputError, warn_user
from ..gradients import AbstractGradient
from ..rbm import RBM
from .arguments import Plan, checked_callbacks, plan_run
from .chunks import DivergenceWarning, Models, growth_limit, next_chunk
from .optimizers import averaged_model
from .recorder import Judge, Recorder
from .schedules import rate_of, reschedule
from .selection import PoorModelWarning
from .start import continued, first_state
from .state import Fit, Report, TrainState

Callback = Callable[[Report], Any]
SLOWER = 4.0  # a run that diverges restarts at a quarter of its rate,
SLOWEST = 1024.0  # down to this fraction of the first: five times


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
    """Train a model.

    The default is centred PCD-1 with 500 chains and at least 10,000 updates, up to 40,000 for a
    small model of more than 2,000 rows. The learning rate is 0.1, up to 0.4 for more than 64
    visible 0/1 units, less if the units of both layers vary widely, and falls to zero over the
    second half of the run. If the run diverges at this rate, it is restarted at a quarter of it, up
    to five times. The result is an average of the parameters over the last part of the run.

    Where neither `epochs` nor `optimizer` is given, overfitting is limited in two ways. The recipe
    has a penalty on large weights (`hm.Huber`), whose strength comes from the number of rows and,
    if there are validation rows, follows the free-energy gap. And with validation rows, the model
    is that of the record at which their log-likelihood was highest.

    The run is a function of its arguments: the same random numbers are drawn, however often it is
    interrupted.

    Rows may have missing values, NaN where a unit is missing. The method is then wrapped in
    `Marginal`, so that the model learns from the seen units of each row, with the missing units
    summed out.

    Args:
        rbm: the model to start from, as `initialize` returns it.
        data: rows in the user's coding, shape (n, visible units), NaN where a unit is missing; a
            `Dataset`; or a `Stream`, for more rows than memory holds.
        key: a JAX random key. To resume a run, pass its key again.
        weights: sample weights, shape (n,).
        gradient: how to estimate the gradient: a method, or one of `METHOD_NAMES`, such as "auto"
            for an `Autopilot`, which adapts the sampling if the chains would fall behind. None is
            "pcd", which is `Persistent(Gibbs(1), chains=500)`.
        optimizer: an optax transformation, or a function from the number of updates to one, such as
            a `Recipe`. None is a `Recipe` with the default learning rate of the method and, if
            `epochs` is None too, with the penalty `hm.Huber()`.
        epochs: passes over the data after which the run ends, counted from its first update, also
            if it is resumed.
        batch_size: rows in an update, 200 if None; all rows if there are fewer.
        precision: "float32", or "bfloat16" for products with W rounded to bfloat16, which are exact
            for states of small whole numbers: chains and gradient are those of the model with
            rounded weights, steps and averages are float32. If None, bfloat16 is used if the
            layers, the rows and the method allow it, the model is not small, and bfloat16 is
            measured to be faster on this device (`precision_timing`). A key gives the same model
            only at the same precision.
        validation: held-out rows, to be compared with the training rows in the history, to set the
            strength of an automatic penalty, and to choose the model.
        keep: "best" for the model of the record at which the log-likelihood of the validation rows
            was highest, "last" for the model at the end. If None, "best" if there are validation
            rows and neither `epochs` nor `optimizer` is given.
        callbacks: functions that are called with a `Report` after each chunk of updates. The run
            stops if one returns True; if it has a `reason`, as `EarlyStopping` has, the message of
            the `Fit` includes it.
        state: a state to continue from. It keeps the learning rate that it was started with,
            whatever the rate of `optimizer`; the schedule is adjusted to the length of this run.
            In another process, pass the `precision` of its notes too, to continue as before.
        mesh: devices to spread the run over: sizes such as {"data": 4, "hidden": 2}, or a
            `jax.sharding.Mesh` with these axes. "data" shares rows and chains, "hidden" the columns
            of W. The same random numbers are drawn as on one device.

    Returns:
        A `Fit`: the averaged model, the history of measurements, the state to continue from, and a
        message. If the run diverges at a rate that was given, or again and again, the last finite
        model, with a `DivergenceWarning`. If the model is worth less than its units by themselves,
        or its means are far from those of the rows, the notes say so, with a `PoorModelWarning`.

    Raises:
        InputError: an invalid argument, or data outside the visible layer's domain.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> fit = hm.fit(rbm, rows, key=key, optimizer=hm.Recipe(rate=1.0), epochs=2_000)
        >>> bool(hm.log_likelihood(fit.rbm, rows).value > -1.9)  # before: −2.77; at best: −1.73
        True
    """
    with use_mesh(mesh):
        plan = plan_run(rbm, data, weights, gradient, optimizer, epochs, batch_size, precision)
        chooses = validation is not None and epochs is None and optimizer is None
        keep = ("best" if chooses else "last") if keep is None else keep
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
) -> Fit:
    """Train as `fit` does, with arguments that `plan_run` has checked.

    With `track` the log-likelihood is in the history without validation rows too: that of training
    rows.
    """
    held_out = None
    if validation is not None:
        held_out = Dataset.of(validation, name="validation").checked_for(rbm.visible, "validation")
    _check_keep(keep, held_out)
    callbacks = checked_callbacks(callbacks)
    key = checked_key(key)
    if state is None:
        state = first_state(rbm, plan, key=key)
    else:
        state = continued(state, rbm, plan, key=key)
    track = held_out is not None if track is None else track
    judge = Judge(rbm, plan.rows, held_out, plan.prior)
    recorder = Recorder(plan, judge, keep=keep, track=track, key=key)
    restart = None
    if plan.may_slow:
        # Of a stream these rows are taken now: later it is read by another thread.
        head = plan.rows if plan.rows.is_whole else plan.rows.head
        restart = functools.partial(first_state, rbm, plan._replace(rows=head), key=key)
    run = Run(plan, Models(plan, [key]), [recorder], callbacks, restart=restart, view=_of_the_model)
    return run.fits([state])[0]


def _of_the_model(report: Report) -> Report:
    """Return the report of a run of one model as its callbacks receive it."""
    return report._replace(rbm=report.rbm[0], state=report.state[0])


def _check_keep(keep: Any, held_out: Dataset | None) -> None:
    if keep not in ("best", "last"):
        raise InputError(f"keep: expected 'best', 'last' or None; got {keep!r}.")
    if keep == "best" and held_out is None:
        raise InputError(
            "keep: expected validation rows, to find the best model; got none. Pass validation=, or"
            " keep='last'."
        )


class Run:
    """A run of one model or of several: compiled chunks of updates, with records between them."""

    def __init__(
        self,
        plan: Plan,
        models: Models,
        recorders: Sequence[Recorder],
        callbacks: Sequence[Callback],
        *,
        restart: Callable[[], TrainState] | None = None,
        view: Callable[[Report], Report] = lambda report: report,
    ):
        """Fix what does not change during the run.

        Args:
            plan: the fixed parts of the run, the same for all models.
            models: how the models are advanced.
            recorders: what measures each model, at the same updates.
            callbacks: as in `fit`.
            restart: returns the first state of the only model, for a run that diverges; None if
                the learning rate was given, or models that share one pace are trained.
            view: makes what callbacks receive of a report whose models and states are lists.
        """
        self.plan = plan
        self.models = models
        self.recorders = recorders
        self.callbacks = callbacks
        self.restart = restart
        self.view = view
        self.histories: list[list[dict[str, float]]] = [[] for _ in recorders]
        self.stopper: Callback | None = None

    def fits(self, states: list[TrainState]) -> list[Fit]:
        """Make all updates that are left, and return the `Fit` of each model.

        Args:
            states: a state of each model. One that has made fewer updates than the others is that
                of a model that has diverged, and stays as it is.
        """
        pairs = zip(self.recorders, states, strict=True)
        states = [recorder.begin(state) for recorder, state in pairs]
        self.began = clock()
        self.state = self.models.join(states)
        self.updates = int(self.state.updates)
        self.updates_of = np.array([int(state.updates) for state in states])
        self.is_moving = self.updates_of == self.updates
        self.usual_rate = 0.0
        if self.restart is not None:
            self.usual_rate = rate_of(self.plan.optimizer.init(states[0].rbm)) or 0.0
        limit = growth_limit(self.models.largest(self.state))
        was_complete = self.updates >= self.end
        self.is_over = was_complete
        chunk = 1
        while not self.is_over:
            target = min(self.updates + chunk, self.recorders[0].next(self.updates), self.end)
            started = clock()
            before, state, sizes = self._advanced(target)
            per_second = (target - self.updates) / max(clock() - started, 1e-9)
            is_finite = sizes < limit
            if not is_finite.all():
                self._recover(is_finite)
                chunk = 1
                continue
            self.state = state
            self.updates = target
            self.updates_of[self.is_moving] = target
            self.is_over = target >= self.end
            self._look(before, per_second)
            chunk = next_chunk(chunk, per_second)
        return self._ended(was_complete)

    @property
    def end(self) -> int:
        """The number of updates at the end of the run."""
        return self.recorders[0].end

    def _advanced(self, target: int) -> tuple[TrainState, TrainState, np.ndarray]:
        """Return the states before the last update up to `target`, if that is measured, and after.

        The third is the largest absolute parameter of each model.

        The last update before a record is a call of its own, so that the compiled loop need not
        carry the parameters of the update before.
        """
        before = self.state
        if self.recorders[0].is_due(target) and target - 1 > self.updates:
            before, _ = self.models.advance(before, target - 1, self.is_moving)
        return before, *self.models.advance(before, target, self.is_moving)

    def _recover(self, is_finite: np.ndarray) -> None:
        """Choose how to go on after a chunk in which parameters grew without bound.

        A model whose rate was not given restarts at a lower one. Others are left as they were
        before the chunk; without measurements the rest of them go on, else the run ends.
        """
        if self.restart is not None:
            rate = (rate_of(self.state.optimizer) or 0.0) / SLOWER
            if rate >= self.usual_rate / SLOWEST > 0.0:
                first = self.restart()
                slower = reschedule(first.optimizer, self.plan.total, rate)
                self.state = self.recorders[0].begin(first._replace(optimizer=slower))
                self.updates = 0
                self.updates_of[:] = 0
                self.histories[0].clear()
                return
        self.is_moving &= is_finite
        # Means over some of the models would be no records of the run.
        self.is_over = self.recorders[0].judge is not None or not self.is_moving.any()

    def _look(self, before: TrainState, per_second: float) -> None:
        """Measure the models if that is due, and call the callbacks."""
        is_due = self.recorders[0].is_due(self.updates)
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
        report = Report(
            updates=self.updates,
            total=self.end,
            epoch=self._epochs(self.updates),
            epochs=self._epochs(self.end),
            seconds=seconds,
            samples_per_second=samples,
            updates_per_second=per_second,
            metrics=metrics,
            rbm=[self._model(i, state) for i, state in enumerate(states)],
            state=[r.with_records(s) for r, s in zip(self.recorders, states, strict=True)],
        )
        report = self.view(report)
        stoppers = [callback for callback in self.callbacks if callback(report) is True]
        if stoppers and not self.is_over:
            self.stopper = stoppers[0]
            self.is_over = True

    def _epochs(self, updates: int) -> float:
        return updates / self.plan.per_epoch

    def _model(self, i: int, state: TrainState) -> RBM:
        """Return the model to use after the updates made so far."""
        if self.updates < self.end:
            return averaged_model(state.optimizer, state.rbm)
        return self.recorders[i].choose(state).rbm

    def _ended(self, was_complete: bool) -> list[Fit]:
        """Return the fits, and warn of models that diverged."""
        states = self.models.split(self.state, self.updates_of)
        fits = [self._fit(i, state, was_complete) for i, state in enumerate(states)]
        diverged = [str(i) for i, fit in enumerate(fits) if fit.diverged]
        if diverged:
            warning = fits[0].message
            if len(fits) > 1:
                which = ", ".join(diverged[:10]) + (", …" if len(diverged) > 10 else "")
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
        together = ", one of an ensemble" if len(self.recorders) > 1 else ""
        done = f"after {updates:,} updates ({self._epochs(updates):g} epochs){together}"
        notes = recorder.notes(state) + self._notes(state)
        full = recorder.with_records(state)
        if not self.is_moving[i]:
            message = (
                f"diverged: {done}: parameters grew without bound; the last finite model is kept."
                " Lower the learning rate, and standardise continuous data."
            )
            rbm = averaged_model(state.optimizer, state.rbm)
            return Fit(rbm, self.histories[i], full, message, True, notes)
        choice = recorder.choose(state)
        done += f"; {choice.why}" if choice.why else ""
        if was_complete:
            message = f"nothing to do: the run was complete {done}; choose more epochs"
        elif self.stopper is not None:
            reason = getattr(self.stopper, "reason", "")
            message = f"stopped by a callback {done}" + (f": {reason}" if reason else "")
        else:
            message = f"finished {done}"
        warning = "" if was_complete else recorder.reason_against(state, choice.rbm)
        if warning:
            warn_user(warning, PoorModelWarning)
            notes = (*notes, warning)
        return Fit(choice.rbm, self.histories[i], full, message, False, notes)

    def _notes(self, state: TrainState) -> tuple[str, ...]:
        """Return a note on a rate that was lowered."""
        rate = rate_of(state.optimizer)
        usual = self.usual_rate
        if not rate or rate >= 0.99 * usual:
            return ()
        return (f"the rate is {rate:.2g}: the run diverged at higher ones, from {usual:.2g}",)


def _means(records: list[dict[str, float]]) -> dict[str, float]:
    """Return the mean over models of each metric that all of them have."""
    names = [name for name in records[0] if all(name in record for record in records)]
    return {name: fmean(record[name] for record in records) for name in names}
