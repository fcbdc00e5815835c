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
from ..layers.capabilities import takes_lengths
from ..likelihood import is_exact_cheap
from ..partition_function.finite import finite_z
from ..rbm import RBM
from .arguments import Plan
from .base import same_shapes
from .choice import Choice, chosen
from .cross_validation import cross_validate, is_for, unknown
from .held_out import EXACT_WORK, Tracker, judged
from .monitors import Monitors, adjusted_gap
from .optimizers import averaged_model
from .penalties import size_of_weights
from .state import TrainState
from .strength import next_strength, strength_of, with_strength
from .verdict import FEWEST_UPDATES, known_exactly, known_of_chains, reason_against

MOST_RECORDS, FEWEST_RECORDS = 100, 10
FIRST_RECORD = 10  # updates; from there records are at first a quarter of the time apart
WORK_OF_A_RECORD = 16  # rows trained on for each row measured: records take 5 % of the time


class Recorder:
    """Measures the averaged model at records, and decides by held-out rows."""

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
        self.start, self.method, self.keep = rbm, plan.method, keep
        self.prior, self.end = plan.prior, plan.total
        self.key = key
        self.monitors = Monitors(rbm, plan.rows, held_out)
        epochs, per_epoch = plan.total // plan.per_epoch, plan.per_epoch
        every = epochs_a_record(epochs, len(plan.rows), self.monitors.watching)
        recorded = recorded_epochs(epochs, every, math.ceil(FIRST_RECORD / per_epoch))
        self.updates = [per_epoch * epoch for epoch in recorded]
        self.follows_gap = held_out is not None
        # Where log Z differs from row to row there is no single one to follow.
        self.tracks = track and len(recorded) > 1 and not takes_lengths(plan.layer)
        self.plan, self.uses_folds = plan, held_out is None and is_for(plan)
        self.tracker: Tracker | None = None
        self.choices: dict[int, Choice] = {}

    def begun(self, state: TrainState) -> TrainState:
        """Return the state with what is known of the held-out rows, begun anew if it is missing."""
        state = self._with_folds(state)
        best = -1 if state.folds is None else int(state.folds.best)
        self.end = best if best > 0 and self.plan.may_stop else self.plan.total
        if not self.tracks:
            return state._replace(held_out=None)
        self.tracker = Tracker.of_run(self.start, self.method, state, key=self.key)
        if self.tracker.continues(state.held_out):
            return state
        return state._replace(held_out=self.tracker.begin())

    def _with_folds(self, state: TrainState) -> TrainState:
        """Return the state with what cross-validation says, which is asked before a run begins."""
        if not self.uses_folds:
            return state._replace(folds=None)
        if not same_shapes(state.folds, jax.eval_shape(unknown)):
            if int(state.updates) > 0:
                self.uses_folds = False
                return state._replace(folds=None)
            state = state._replace(folds=cross_validate(self.start, self.plan, key=self.key))
        strength = state.folds.strength_after(int(state.updates))
        return state._replace(optimizer=with_strength(state.optimizer, strength))

    def next(self, updates: int) -> int:
        """Return the update of the next record."""
        place = bisect.bisect_right(self.updates, updates)
        return self.updates[place] if place < len(self.updates) else self.end

    def is_due(self, updates: int) -> bool:
        """Return whether there is a record after this update."""
        return updates == self.end or self.next(updates - 1) == updates

    def record(
        self, state: TrainState, rbm: RBM, seconds: float
    ) -> tuple[TrainState, dict[str, float]]:
        """Return the state after a record, and the metrics that `Fit` describes.

        Args:
            state: the state at the record.
            rbm: its averaged model.
            seconds: time since the run began.
        """
        updates, found = int(state.updates), self.monitors.measured(rbm)
        last = updates == self.end
        metrics = self.monitors.described(rbm, found, seconds, last=last)
        if self.tracker is not None:
            chains = self.method.gradient.status(state.rbm, state.gradient).chains
            bounds = self.monitors.bounds(found)
            held_out = self.tracker.followed(state.held_out, rbm, updates, chains, bounds)
            held_out, likelihood = judged(held_out, found[-1].energy, updates, found[-1].reach)
            state, metrics = state._replace(held_out=held_out), metrics | likelihood
        strength = strength_of(state.optimizer)
        if strength is None:
            return state, metrics
        if state.folds is not None:
            strength = state.folds.strength_after(updates)
            state = state._replace(optimizer=with_strength(state.optimizer, strength))
        elif self.follows_gap:
            gap, size = adjusted_gap(*found), float(size_of_weights(rbm))
            strength = next_strength(strength, self.prior, *gap, size)
            state = state._replace(optimizer=with_strength(state.optimizer, strength))
        return state, metrics | {"penalty": strength}

    def kept(self, state: TrainState) -> tuple[RBM, str]:
        """Return the model to use, and what was chosen and why in words.

        It is asked twice at the end of a run, so the answer is kept.
        """
        last, updates = averaged_model(state.optimizer, state.rbm), int(state.updates)
        if self.keep == "last" or state.held_out is None or self.tracker is None:
            return last, ""
        if updates not in self.choices:
            self.choices[updates] = chosen(
                self.tracker,
                state.held_out,
                last,
                updates,
                self.monitors.measured_to_choose_by,
            )
        choice = self.choices[updates]
        return choice.rbm, f"; {choice.why}" if choice.why else ""

    def reason_against(self, state: TrainState, rbm: RBM) -> str:
        """Return why the model that a run ends with is worth little, by what the run knows of it.

        Args:
            state: the state at the end.
            rbm: the model that was `kept`.
        """
        # Where log Z differs from row to row, or does not exist, no model has one worth.
        if (
            int(state.updates) < FEWEST_UPDATES
            or takes_lengths(self.plan.layer)
            or not finite_z(rbm)
        ):
            return ""
        if is_exact_cheap(rbm, EXACT_WORK):
            return reason_against(rbm, self.monitors, known_exactly(rbm))
        found = state.held_out
        choice = self.choices.get(int(state.updates))
        if choice is not None and choice.update < int(state.updates):
            return ""  # an earlier model: neither chains nor log Z are its own
        log_z, error = None, 0.0
        # A run that a callback stopped between records does not know log Z of its last model.
        if found is not None and not found.found.doubt and self.is_due(int(state.updates)):
            log_z, error = found.found.value, found.found.reach
        chains = self.method.gradient.status(state.rbm, state.gradient).chains
        return reason_against(rbm, self.monitors, known_of_chains(chains, log_z, error))

    def notes(self, state: TrainState) -> tuple[str, ...]:
        """Return what the method and the run changed automatically, a sentence each."""
        notes = self.method.notes(state.rbm, state.gradient)
        held_out = state.held_out
        if held_out is not None and held_out.note:
            notes = (*notes, held_out.note)
        if self.keep == "best" and (held_out is None or not held_out.has_candidates):
            why = "the log-likelihood of the held-out rows could not be followed"
            notes = (*notes, f"the last model is kept, because {why}")
        strength = strength_of(state.optimizer)
        if strength is None:
            return notes
        why = "from the number of rows; with held-out rows it follows the free-energy gap"
        if state.folds is not None:
            notes = (*notes, state.folds.note)
        if self.follows_gap or state.folds is not None:
            times = strength / self.prior
            why = "from the number of rows; the free-energy gap calls for no more"
            if times > 1.01:
                why = f"{times:.2g} times that from the number of rows, by the free-energy gap"
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
    found = [min(first, every, epochs)]
    while found[-1] < epochs:
        found.append(min(epochs, found[-1] + min(every, max(1, found[-1] // 4))))
    return found
