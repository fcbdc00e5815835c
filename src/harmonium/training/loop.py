"""The training loop: compiled chunks of many updates, with measurements and callbacks between."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..checks import checked_key
from ..data import Dataset
from ..errors import InputError, warn_user
from ..gradients import AbstractGradient
from ..rbm import RBM
from ..sharding import clock, use_mesh
from .arguments import Plan, checked_callbacks, plan_run
from .chunks import DivergenceWarning, advance_through, growth_limit, largest, next_chunk
from .optimizers import averaged_model
from .recorder import Recorder
from .schedules import rate_of, reschedule
from .start import continued, first_state
from .state import Fit, Report, TrainState
from .verdict import PoorModelWarning

Callback = Callable[[Report], Any]
SHARE_FOR_RATIOS = 0.005  # share of a run's time that update ratios may take
SLOWER, SLOWEST = 4.0, 1024.0  # a run that diverges begins anew at 1/4 of its rate, five times


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
    second half of the run. If the run diverges at this rate, it begins anew at a quarter of it, up
    to five times. The result is an average of the parameters over the last part of the run.

    Where neither `epochs` nor `optimizer` is given, overfitting is held off in two ways. The recipe
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
        begun = first_state(rbm, plan, key=key)
    else:
        begun = continued(state, rbm, plan, key=key)
    track = held_out is not None if track is None else track
    recorder = Recorder(rbm, plan, held_out, keep, track, key)
    run = _Run(plan, recorder, key)
    del plan  # the run has rows of its own
    return run.until_the_end(begun, callbacks)


def _check_keep(keep: Any, held_out: Dataset | None) -> None:
    if keep not in ("best", "last"):
        raise InputError(f"keep: expected 'best', 'last' or None; got {keep!r}.")
    if keep == "best" and held_out is None:
        raise InputError(
            "keep: expected validation rows, to find the best model; got none. Pass validation=, or"
            " keep='last'."
        )


@eqx.filter_jit
def _update_ratio(before: RBM, after: RBM) -> Array:
    """Return |ΔW| / |W| of an update."""
    start = before.dense_weights
    return jnp.linalg.norm(after.dense_weights - start) / jnp.linalg.norm(start)


class _Run:
    """The part of a run outside the compiled loop: chunks, measurements, callbacks."""

    def __init__(self, plan: Plan, recorder: Recorder, key: PRNGKeyArray):
        self.method, self.key, self.rows = plan.method, key, len(plan.rows)
        self.recorder = recorder
        self.windows = plan.rows.windows(plan.method.batch_size, key=key, end=plan.total)
        self.total, self.per_epoch = plan.total, plan.per_epoch
        # Rows in memory are padded once.
        head = self.windows.at(0).dataset if plan.rows.is_whole else plan.rows.head
        self.plan = plan._replace(rows=head)
        self.calling = 0.0  # extra time taken by calls for single updates

    def until_the_end(self, state: TrainState, callbacks: Sequence[Callback]) -> Fit:
        state, usual = self.recorder.begun(state), rate_of(self.plan.optimizer.init(state.rbm))
        limit, least = growth_limit(largest(state.rbm)), (usual or 0.0) / SLOWEST
        began, history, updates = clock(), [], int(state.updates)
        chunk, stoppers, made = 1, [], False
        end = self.recorder.end
        while updates < end and not stoppers:
            target = min(updates + chunk, self.recorder.next(updates), end)
            started = clock()
            before, new = self._advanced(state, updates, target, began)
            seconds = clock() - started
            if not float(largest(new.rbm)) < limit:
                rate = (rate_of(state.optimizer) or 0.0) / SLOWER
                if not (self.plan.may_slow and rate >= least > 0.0):
                    return self._diverged(state, history, updates, target)
                state = self._begun_anew(rate, state)
                history, updates, chunk = [], 0, 1
                continue
            per_second = (target - updates) / max(seconds, 1e-9)
            chunk = next_chunk(chunk, per_second)
            state, updates, made = new, target, True
            report = self._report(state, before, updates, began, per_second)
            state = report.state
            if report.metrics:
                history.append(report.metrics)
            stoppers = [callback for callback in callbacks if callback(report) is True]
        rbm, chosen = self.recorder.kept(state)
        done = f"after {updates:,} updates ({updates / self.per_epoch:g} epochs){chosen}"
        message = f"finished {done}"
        if stoppers and updates < end:
            reason = getattr(stoppers[0], "reason", "")
            message = f"stopped by a callback {done}" + (f": {reason}" if reason else "")
        if not made:
            message = f"nothing to do: the run was complete {done}; choose more epochs"
        notes = self._notes(state, usual)
        reason = self.recorder.reason_against(state, rbm) if made else ""
        if reason:
            warn_user(reason, PoorModelWarning)
            notes = (*notes, reason)
        return Fit(rbm, history, state, message, False, notes)

    def _begun_anew(self, rate: float, old: TrainState) -> TrainState:
        """Return the state before the first update, at a lower rate, after a run that diverged."""
        state = first_state(self.recorder.start, self.plan, key=self.key)
        slower = reschedule(state.optimizer, self.total, rate)
        return self.recorder.begun(state._replace(optimizer=slower, folds=old.folds))

    def _notes(self, state: TrainState, usual: float | None) -> tuple[str, ...]:
        """Return what was changed automatically, a sentence each; `usual` is the first rate."""
        notes, rate = self.recorder.notes(state), rate_of(state.optimizer)
        if not (self.plan.may_slow and rate and usual and rate < 0.99 * usual):
            return notes
        return (
            *notes,
            f"the rate is {rate:.2g}: the run diverged at higher ones, from {usual:.2g}",
        )

    def _advanced(
        self, state: TrainState, updates: int, target: int, began: float
    ) -> tuple[TrainState | None, TrainState]:
        """Make updates up to `target`; return the states before and after the last of them.

        The state before is None unless the update ratio is measured. For the ratio, the last update
        is made in a separate call, so that the compiled loop need not keep earlier parameters. For
        a small model such a call takes as long as many updates, so the ratio is left out of some
        records if they are frequent.
        """
        affordable = self.calling <= SHARE_FOR_RATIOS * (clock() - began)
        if not self.recorder.is_due(target) or (target < self.recorder.end and not affordable):
            return None, self._until(target, state)
        started = clock()
        before = self._until(target - 1, state) if target - 1 > updates else state
        called = clock()
        state, made = self._until(target, before), target - 1 - updates
        usual = (called - started) / made if made else 0.0
        self.calling += max(0.0, clock() - called - usual) if made else 0.0
        return before, state

    def _until(self, target: int, state: TrainState) -> TrainState:
        moving = state._replace(held_out=None, folds=None)  # which updates do not need
        moved = advance_through(self.method, self.windows, moving, target, key=self.key)
        return moved._replace(held_out=state.held_out, folds=state.folds)

    def _report(
        self,
        state: TrainState,
        before: TrainState | None,
        updates: int,
        began: float,
        per_second: float,
    ) -> Report:
        rbm = averaged_model(state.optimizer, state.rbm)
        seconds, epoch = clock() - began, updates / self.per_epoch
        samples = per_second * self.rows / self.per_epoch
        metrics: dict[str, float] = {}
        if self.recorder.is_due(updates):
            metrics = {"update": updates, "epoch": epoch, "seconds": round(seconds, 3)}
            metrics["samples_per_second"] = round(samples, 1)
            state, measured = self.recorder.record(state, rbm, seconds)
            metrics |= measured
            of_method = self.method.gradient.metrics(state.gradient)
            metrics |= {name: float(value) for name, value in of_method.items()}
            ratio = math.nan if before is None else float(_update_ratio(before.rbm, state.rbm))
            metrics |= {"update_ratio": ratio} if math.isfinite(ratio) else {}
        end = self.recorder.end
        rbm = rbm if updates < self.recorder.end else self.recorder.kept(state)[0]
        ends = (updates, end, epoch, end / self.per_epoch)
        return Report(*ends, seconds, samples, per_second, metrics, rbm, state)

    def _diverged(self, state: TrainState, history: list, updates: int, target: int) -> Fit:
        message = (
            f"diverged: parameters grew without bound between updates {updates:,} and {target:,};"
            f" the model at update {updates:,} is kept. Lower the learning rate, and standardise"
            " continuous data."
        )
        warnings.warn(message, DivergenceWarning, stacklevel=5)
        rbm = averaged_model(state.optimizer, state.rbm)
        return Fit(rbm, history, state, message, True, self.recorder.notes(state))
