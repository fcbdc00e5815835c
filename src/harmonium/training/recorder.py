"""The records of a run: when they are made, what they measure, and what they decide."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax

from ..layers.capabilities import takes_given, takes_lengths
from ..likelihood.scoring import is_exact_cheap
from ..rbm import RBM
from ..samplers.finite import finite_z
from .arguments import Plan
from .base import same_shapes
from .cross_validation import CrossValidated, cross_validate, is_for, unknown
from .judge import Judge
from .optimizers import averaged_model
from .penalties import strength_of, with_strength
from .selection import FEWEST_UPDATES, Choice, known_exactly, known_of_chains, reason_against
from .state import TrainState
from .tracking import EXACT_WORK, Tracker

# Numbers of records in a run, as `Fit` describes; records that would take too long are left out.
MOST_RECORDS = 100
FEWEST_RECORDS = 10
FIRST_RECORD = 10  # the update of the first record; early intervals are a quarter of the run so far
WORK_OF_A_RECORD = 16  # rows trained on for each row measured: records take 5 % of the time


@dataclasses.dataclass
class Timetable:
    """The updates at which a run, or an ensemble, makes records, and the update at which it ends.

    Attributes:
        records: the numbers of updates after which there is a record, ascending; the last record,
            at the end, need not be among them.
        end: the number of updates at the end of the run.
    """

    records: list[int]
    end: int

    @classmethod
    def of(cls, end: int, per_epoch: int, rows: int, measured: int) -> Timetable:
        """Return a timetable in which measurements take only a small part of the run's time.

        Args:
            end: the number of updates at the end of the run.
            per_epoch: updates in an epoch.
            rows: rows in an epoch.
            measured: rows that a record measures.
        """
        epochs = end // per_epoch
        first = math.ceil(FIRST_RECORD / per_epoch)
        interval = epochs_a_record(epochs, rows, measured)
        recorded = recorded_epochs(epochs, interval, first)
        return cls([per_epoch * epoch for epoch in recorded], end)

    def next(self, updates: int) -> int:
        """Return the number of updates at the next record, or at the end."""
        return next((record for record in self.records if record > updates), self.end)

    def is_due(self, updates: int) -> bool:
        """Return whether there is a record after this update."""
        if not self.records:
            return False
        return updates == self.end or self.next(updates - 1) == updates


class Recorder:
    """Measurements of a model at records, and decisions based on rows that it has not seen.

    Attributes:
        judge: measures models and makes decisions based on held-out rows; None without records.
        folds: the results of cross-validation; None if there was none.
        timetable: the updates at which records are made, and the end of the run.
    """

    def __init__(
        self,
        plan: Plan,
        judge: Judge | None = None,
        *,
        keep: str = "last",
        track: bool = False,
        history: bool = True,
        key: Any = None,
    ):
        """Choose the updates of the records; arguments after the first two are as in `run_plan`."""
        self.plan = plan
        self.method = plan.method
        self.judge = judge
        self.keep = keep
        self.key = key
        self.timetable = Timetable([], plan.total)
        self.uses_folds = judge is not None and not judge.has_held_out and is_for(plan)
        decides = judge is not None and (judge.has_held_out or self.uses_folds)
        if judge is not None and (history or decides):
            measured = judge.monitors.watching
            self.timetable = Timetable.of(plan.total, plan.per_epoch, len(plan.rows), measured)
        has_several = len(self.timetable.records) > 1
        # If log Z differs from row to row, there is no single log Z to track.
        self.tracks = track and has_several and not takes_lengths(plan.layer)
        self.folds: CrossValidated | None = None
        # Whether the log-likelihood of held-out rows decides which model is kept.
        self.follows = self.tracks and keep == "best"
        # Whether, at the last record, training rows had lost much of the likelihood gained before.
        self.has_fallen = False
        self.choices: dict[int, Choice] = {}  # choices by the number of updates at the end

    def begin(self, state: TrainState) -> TrainState:
        """Return the state without the parts that updates do not need; the recorder keeps them.

        Results that should be in the state but are not, as at the start of a run, are computed now.
        """
        if self.judge is not None and self.tracks:
            tracker = Tracker.of_run(self.judge.start, self.method, state, key=self.key)
            self.judge.begin(tracker, state.held_out)
        if self.uses_folds:
            self.folds = self._folds(state)
        if self.folds is not None:
            strength = self.folds.strength_after(int(state.updates))
            state = state._replace(optimizer=with_strength(state.optimizer, strength))
            if self.plan.may_stop and int(self.folds.best) > 0:
                self.timetable.end = int(self.folds.best)
        return state._replace(held_out=None, folds=None)

    def _folds(self, state: TrainState) -> CrossValidated | None:
        """Return the results of cross-validation, which is done before the first update."""
        if self.folds is not None:  # the run restarts
            return self.folds
        if same_shapes(state.folds, jax.eval_shape(unknown)):
            return state.folds
        if self.judge is None or int(state.updates) > 0:
            return None
        return cross_validate(self.judge.start, self.plan, key=self.key)

    def with_records(self, state: TrainState) -> TrainState:
        """Return the state with the results of the records added, from which a run can resume."""
        if self.judge is not None:
            state = state._replace(held_out=self.judge.held_out)
        return state._replace(folds=self.folds)

    def record(self, state: TrainState, seconds: float) -> tuple[TrainState, dict[str, float]]:
        """Return the state after a record, and the metrics that `Fit` describes.

        Args:
            state: the state at the record. Only the strength of its penalty may change.
            seconds: time since the run began.
        """
        if self.judge is None:
            return state, {}
        rbm = averaged_model(state.optimizer, state.rbm)
        updates = int(state.updates)
        chains = self.method.gradient.status(state.rbm, state.gradient).chains
        statistics, likelihood = self.judge.measure(rbm, updates, chains)
        self.has_fallen = self.follows and self.judge.has_fallen(statistics, likelihood)
        is_last = updates == self.timetable.end
        metrics = self.judge.monitors.described(rbm, statistics, seconds, last=is_last) | likelihood
        strength = strength_of(state.optimizer)
        if strength is not None:
            if self.folds is not None:
                strength = self.folds.strength_after(updates)
            else:
                strength = self.judge.next_strength(strength, rbm, statistics)
            metrics["penalty"] = strength
            state = state._replace(optimizer=with_strength(state.optimizer, strength))
        of_method = self.method.gradient.metrics(state.gradient)
        return state, metrics | {name: float(value) for name, value in of_method.items()}

    def choose(self, state: TrainState) -> Choice:
        """Return the model that a run ends with, if it ends with this state.

        This is the last model or, if `keep` is "best", the model with the highest log-likelihood of
        held-out rows. If cross-validation prefers the model without weights, that model is
        returned.
        """
        last = averaged_model(state.optimizer, state.rbm)
        updates = int(state.updates)
        folds = self.folds if self.plan.may_stop else None  # otherwise the user decides
        takes_units_alone = folds is not None and folds.prefers_units_alone
        if self.judge is None or not (takes_units_alone or self.keep == "best"):
            return Choice(last, updates)
        # This is called twice at the end of a run, for the last report and for the result.
        if updates not in self.choices:
            if takes_units_alone:
                base, _ = self.judge.base()
                why = "the model is the one without weights, by cross-validation"
                self.choices[updates] = Choice(base, 0, why)
            else:
                self.choices[updates] = self.judge.choose(last, updates)
        return self.choices[updates]

    def reason_against(self, state: TrainState, rbm: RBM) -> str:
        """Return why the model that a run ends with is poor, or "" if it does not seem poor.

        Args:
            state: the state at the end.
            rbm: the model that `choose` returned.
        """
        updates = int(state.updates)
        if self.judge is None or updates < FEWEST_UPDATES:
            return ""
        # If log Z differs from row to row, or does not exist, no model has a single likelihood.
        if takes_given(self.plan.layer) or not finite_z(rbm):
            return ""
        if is_exact_cheap(rbm, EXACT_WORK):
            return reason_against(rbm, self.judge.monitors, known_exactly(rbm))
        choice = self.choices.get(updates)
        if choice is not None and choice.update < updates:
            return ""  # the chains and log Z belong to the last model, not to this earlier one
        log_z = None
        error = 0.0
        # A run that a callback stopped between records does not know log Z of its last model.
        if self.judge.held_out is not None and self.timetable.is_due(updates):
            estimate = self.judge.held_out.estimate
            if not estimate.doubt:
                log_z = estimate.value
                error = estimate.half_width
        chains = self.method.gradient.status(state.rbm, state.gradient).chains
        known = known_of_chains(chains, log_z, error)
        return reason_against(rbm, self.judge.monitors, known)

    def notes(self, state: TrainState) -> tuple[str, ...]:
        """Return one sentence for each automatic change by the method or the run."""
        notes = list(self.method.notes(state.rbm, state.gradient))
        if self.judge is None:
            return tuple(notes)
        held_out = self.judge.held_out
        if held_out is not None and held_out.note:
            notes.append(held_out.note)
        if self.keep == "best" and (held_out is None or not held_out.has_candidates):
            notes.append(
                "the last model is kept, because the log-likelihood of the held-out rows could not"
                " be tracked"
            )
        strength = strength_of(state.optimizer)
        if strength is None:
            return tuple(notes)
        judge = "the free-energy gap"
        if self.folds is not None:
            notes.append(self.folds.note(self.plan))
            judge = "cross-validation"
        times = strength / self.judge.prior
        if not self.judge.has_held_out and self.folds is None:
            why = "set by the number of rows (with held-out rows, by the free-energy gap)"
        elif times > 1.01:
            why = f"{times:.2g} times what the number of rows calls for, set by {judge}"
        else:
            why = f"set by the number of rows; {judge} calls for no more"
        return (*notes, f"a penalty of {strength:.2g} on the weights, {why}")


def epochs_a_record(epochs: int, rows: int, watching: int) -> int:
    """Return the number of epochs between records.

    Args:
        epochs: all epochs.
        rows: rows in an epoch.
        watching: rows that a record measures.
    """
    affordable = math.ceil(WORK_OF_A_RECORD * watching / rows)
    fewest = math.ceil(epochs / MOST_RECORDS)
    return max(1, fewest, min(epochs // FEWEST_RECORDS, affordable))


def recorded_epochs(epochs: int, interval: int, first: int) -> list[int]:
    """Return the epochs that end with a record; early intervals are a quarter of the epochs so far.

    Args:
        epochs: all epochs.
        interval: epochs between later records.
        first: the first epoch with a record.
    """
    recorded = [min(first, interval, epochs)]
    while recorded[-1] < epochs:
        recorded.append(min(epochs, recorded[-1] + min(interval, max(1, recorded[-1] // 4))))
    return recorded
