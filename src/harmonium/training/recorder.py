"""The records of a run: what is measured at them, and what the run decides by it.

Held-out rows decide two things: how strong a penalty of strength "auto" is, and which record's
model is kept.
"""

from __future__ import annotations

import bisect
import math

import jax
from jaxtyping import PRNGKeyArray

from ..data import Dataset
from ..likelihood import is_exact_cheap
from ..partition_function.finite import finite_z
from ..rbm import RBM
from .arguments import Plan
from .base import same_shapes
from .choice import Choice, chosen
from .cross_validation import CrossValidated, cross_validate, is_for, unknown
from .held_out import EXACT_WORK, HeldOut, Tracker, judged
from .monitors import Monitors, RowStatistics, adjusted_gap
from .optimizers import averaged_model
from .penalties import size_of_weights
from .state import TrainState
from .strength import next_strength, strength_of, with_strength
from .verdict import FEWEST_UPDATES, known_exactly, known_of_chains, reason_against

MOST_RECORDS, FEWEST_RECORDS = 100, 10
FIRST_RECORD = 10  # updates; from there records are at first a quarter of the time apart
WORK_OF_A_RECORD = 16  # rows trained on for each row measured: records take 5 % of the time


class NoRecords:
    """The recorder of a run that is not measured, and what other recorders offer.

    Attributes:
        measures: whether there are records.
        end: the number of updates at the end of the run.
    """

    measures = False

    def __init__(self, plan: Plan):
        self.method = plan.method
        self.end = plan.total

    def begin(self, state: TrainState) -> TrainState:
        """Return the state to go on from, without what updates do not need."""
        return state._replace(held_out=None, folds=None)

    def with_records(self, state: TrainState) -> TrainState:
        """Return the state together with what the records know, to resume from."""
        return state

    def next(self, updates: int) -> int:
        """Return the update of the next record."""
        return self.end

    def is_due(self, updates: int) -> bool:
        """Return whether there is a record after this update."""
        return False

    def record(self, state: TrainState, seconds: float) -> tuple[TrainState, dict[str, float]]:
        """Return the state after a record, and the metrics that `Fit` describes.

        Args:
            state: the state at the record.
            seconds: time since the run began.
        """
        return state, {}

    def choose(self, state: TrainState) -> Choice:
        """Return the model that a run ends with, if it ends with this state."""
        return Choice(averaged_model(state.optimizer, state.rbm), int(state.updates))

    def notes(self, state: TrainState) -> tuple[str, ...]:
        """Return what the method and the run changed automatically, a sentence each."""
        return self.method.notes(state.rbm, state.gradient)

    def reason_against(self, state: TrainState, rbm: RBM) -> str:
        """Return why the model that a run ends with is worth little; empty if that is not known.

        Args:
            state: the state at the end.
            rbm: the model that `choose` returned.
        """
        return ""


class Recorder(NoRecords):
    """Measures the averaged model at records, and decides by held-out rows.

    What it knows of rows that the model has not seen is in `held_out` and `folds`.
    """

    measures = True

    def __init__(
        self,
        rbm: RBM,
        plan: Plan,
        held_out: Dataset | None,
        keep: str,
        track: bool,
        key: PRNGKeyArray,
    ):
        """Fix the settings; the arguments are those of `run_plan`."""
        super().__init__(plan)
        self.plan = plan
        self.start = rbm
        self.keep = keep
        self.key = key
        self.prior = plan.prior
        self.monitors = Monitors(rbm, plan.rows, held_out)
        epochs = plan.total // plan.per_epoch
        first = math.ceil(FIRST_RECORD / plan.per_epoch)
        every = epochs_a_record(epochs, len(plan.rows), self.monitors.watching)
        recorded = recorded_epochs(epochs, every, first)
        self.updates = [plan.per_epoch * epoch for epoch in recorded]
        self.follows_gap = held_out is not None
        # Where log Z differs from row to row there is no single one to follow.
        self.tracks = track and len(recorded) > 1 and not plan.layer.n_totals
        self.uses_folds = held_out is None and is_for(plan)
        self.tracker: Tracker | None = None
        self.held_out: HeldOut | None = None
        self.folds: CrossValidated | None = None
        self.choices: dict[int, Choice] = {}  # by the number of updates at the end

    def begin(self, state: TrainState) -> TrainState:
        """Take what is known from a state that is resumed, and find the rest before the run."""
        strength = None
        if self.uses_folds:
            self.folds = self._folds(state)
        if self.folds is not None:
            strength = self.folds.strength_after(int(state.updates))
            if self.plan.may_stop and int(self.folds.best) > 0:
                self.end = int(self.folds.best)
        if self.tracks:
            self.tracker = Tracker.of_run(self.start, self.method, state, key=self.key)
            self.held_out = state.held_out
            # What was known is begun anew where it does not fit, as with other held-out rows.
            if not self.tracker.continues(self.held_out):
                self.held_out = self.tracker.begin()
        if strength is not None:
            state = state._replace(optimizer=with_strength(state.optimizer, strength))
        return super().begin(state)

    def _folds(self, state: TrainState) -> CrossValidated | None:
        """Return what cross-validation says, which is done before the first update."""
        if self.folds is not None:  # the run restarts
            return self.folds
        if same_shapes(state.folds, jax.eval_shape(unknown)):
            return state.folds
        if int(state.updates) > 0:
            return None
        return cross_validate(self.start, self.plan, key=self.key)

    def with_records(self, state: TrainState) -> TrainState:
        """Return the state together with what the records know, to resume from."""
        return state._replace(held_out=self.held_out, folds=self.folds)

    def next(self, updates: int) -> int:
        """Return the update of the next record."""
        place = bisect.bisect_right(self.updates, updates)
        return self.updates[place] if place < len(self.updates) else self.end

    def is_due(self, updates: int) -> bool:
        """Return whether there is a record after this update."""
        return updates == self.end or self.next(updates - 1) == updates

    def record(self, state: TrainState, seconds: float) -> tuple[TrainState, dict[str, float]]:
        """Return the state, with the strength of the penalty that is set now, and the metrics."""
        rbm = averaged_model(state.optimizer, state.rbm)
        updates = int(state.updates)
        statistics = self.monitors.measured(rbm)
        metrics = self.monitors.described(rbm, statistics, seconds, last=updates == self.end)
        if self.tracker is not None and self.held_out is not None:
            chains = self.method.gradient.status(state.rbm, state.gradient).chains
            bounds = self.monitors.bounds(statistics)
            held_out = self.tracker.followed(self.held_out, rbm, updates, chains, bounds)
            energy = statistics[-1].energy
            self.held_out, likelihood = judged(held_out, energy, updates, statistics[-1].reach)
            metrics |= likelihood
        strength = strength_of(state.optimizer)
        if strength is not None:
            strength = self._next_strength(strength, rbm, updates, statistics)
            metrics["penalty"] = strength
            state = state._replace(optimizer=with_strength(state.optimizer, strength))
        of_method = self.method.gradient.metrics(state.gradient)
        return state, metrics | {name: float(value) for name, value in of_method.items()}

    def _next_strength(
        self, strength: float, rbm: RBM, updates: int, statistics: list[RowStatistics]
    ) -> float:
        """Return the strength of the penalty from this record on."""
        if self.folds is not None:
            return self.folds.strength_after(updates)
        if not self.follows_gap:
            return strength
        gap, stderr = adjusted_gap(*statistics)
        size = float(size_of_weights(rbm))
        return next_strength(strength, self.prior, gap, stderr, size)

    def choose(self, state: TrainState) -> Choice:
        """Return the last model, or that with the highest log-likelihood of held-out rows."""
        last = super().choose(state)
        if self.keep == "last" or self.held_out is None or self.tracker is None:
            return last
        # It is asked twice at the end of a run, for the last report and for the result.
        if last.update not in self.choices:
            measured = self.monitors.measured_to_choose_by
            choice = chosen(self.tracker, self.held_out, last.rbm, last.update, measured)
            self.choices[last.update] = choice
        return self.choices[last.update]

    def reason_against(self, state: TrainState, rbm: RBM) -> str:
        """Return why the model that a run ends with is a poor one, by what the run knows of it."""
        updates = int(state.updates)
        # Where log Z differs from row to row, or does not exist, no model has one likelihood.
        if updates < FEWEST_UPDATES or self.plan.layer.n_totals or not finite_z(rbm):
            return ""
        if is_exact_cheap(rbm, EXACT_WORK):
            return reason_against(rbm, self.monitors, known_exactly(rbm))
        choice = self.choices.get(updates)
        if choice is not None and choice.update < updates:
            return ""  # an earlier model: neither chains nor log Z are its own
        log_z = None
        error = 0.0
        # A run that a callback stopped between records does not know log Z of its last model.
        if self.held_out is not None and self.is_due(updates):
            estimate = self.held_out.found
            if not estimate.doubt:
                log_z = estimate.value
                error = estimate.reach
        chains = self.method.gradient.status(state.rbm, state.gradient).chains
        return reason_against(rbm, self.monitors, known_of_chains(chains, log_z, error))

    def notes(self, state: TrainState) -> tuple[str, ...]:
        """Return what the method and the run changed automatically, a sentence each."""
        notes = list(super().notes(state))
        held_out = self.held_out
        if held_out is not None and held_out.note:
            notes.append(held_out.note)
        if self.keep == "best" and (held_out is None or not held_out.has_candidates):
            why = "the log-likelihood of the held-out rows could not be followed"
            notes.append(f"the last model is kept, because {why}")
        strength = strength_of(state.optimizer)
        if strength is None:
            return tuple(notes)
        if self.folds is not None:
            notes.append(self.folds.note)
        times = strength / self.prior
        if not self.follows_gap and self.folds is None:
            why = "from the number of rows; with held-out rows it follows the free-energy gap"
        elif times > 1.01:
            why = f"{times:.2g} times that from the number of rows, by the free-energy gap"
        else:
            why = "from the number of rows; the free-energy gap calls for no more"
        return (*notes, f"a penalty of {strength:.2g} on the weights, {why}")


def epochs_a_record(epochs: int, rows: int, watching: int) -> int:
    """Return the epochs between records of the history, from the rows trained on and measured."""
    affordable = math.ceil(WORK_OF_A_RECORD * watching / rows)
    fewest = math.ceil(epochs / MOST_RECORDS)
    return max(1, fewest, min(epochs // FEWEST_RECORDS, affordable))


def recorded_epochs(epochs: int, every: int, first: int) -> list[int]:
    """Return the epochs at whose ends there is a record: at first a quarter of the time apart.

    Args:
        epochs: all epochs.
        every: epochs between later records.
        first: the first of them.
    """
    recorded = [min(first, every, epochs)]
    while recorded[-1] < epochs:
        recorded.append(min(epochs, recorded[-1] + min(every, max(1, recorded[-1] // 4))))
    return recorded
