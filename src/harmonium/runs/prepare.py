"""Prepare a run from its options: check the options, read the rows, and create the model."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._base.files import memory_there
from .._base.processes import are_several, check_same
from .._base.sharding import HIDDEN, ROWS, size_of_axis
from .._base.threefry import key_of, split
from ..data import Dataset, Stream
from ..data.sources import named_units
from ..data.splits import USUAL_FRACTION
from ..errors import InputError
from ..gradients import AbstractGradient
from ..gradients.exact import LARGEST_LOG2_STATES
from ..layers import AbstractLayer
from ..layers.capabilities import are_unbounded
from ..rbm import RBM
from ..tables import Columns
from ..training import Huber, Recipe, TrainState, method_named
from ..training.arguments import Plan, first_state, plan_run
from ..training.chunks import stacked, unstacked
from ..training.cross_validation import unknown
from ..training.optimizers import averaged_model
from ..training.penalties import AbstractPenalty
from ..training.tracking import Tracker
from ..transforms.initialization import initialize
from ..transforms.precision import SHORT
from ..transforms.standardize import Standardization, standardization
from .checks import refuse_many_states
from .options import LARGEST_COUNT, ROWS_TO_START_FROM
from .rows import Rows, fingerprint, hashes, rows_of_run
from .train_options import USUAL, RunConfig

# Measured peak memory of an update, as numbers of arrays with the size of W and of the states.
COPIES_OF_WEIGHTS = 8
COPIES_OF_STATES = 6
BYTES_OF_A_NUMBER = 4

FEWEST_HIDDEN = 64
MOST_HIDDEN = 500
ROWS_PER_HIDDEN_UNIT = 100
T = TypeVar("T", Dataset, Stream)


class Prepared(NamedTuple):
    """Everything that training needs.

    Attributes:
        rows: the source's rows.
        change: the map from the source's rows to standardised rows, if columns can be rescaled.
        learned: the standardised training rows and, if rows are held out, validation rows.
        rbm: the model of `learned` before the first update.
        plan: the fixed parts of training: method, optimiser, batches.
        config: the options, with all defaults filled in.
        key: the run's JAX random key.
        others: the preparations of the other models of an ensemble, each with its own seed.
    """

    rows: Rows
    change: Standardization
    learned: dict[str, Dataset]
    rbm: RBM
    plan: Plan
    config: RunConfig
    key: Any
    others: tuple[Prepared, ...] = ()

    @property
    def models(self) -> tuple[Prepared, ...]:
        """The preparation of each model of an ensemble: `self`, then `others`."""
        return (self, *self.others)

    @property
    def start(self) -> TrainState:
        """The state before the first update; for an ensemble, the joint state of all models."""
        return self.start_with(set())

    def start_with(self, parts: set[str]) -> TrainState:
        """Return the start state, with placeholders in those fields that are named in `parts`."""
        return self.joined([model._start_with(parts) for model in self.models])

    def joined(self, states: list[TrainState]) -> TrainState:
        """Join the states of the models into the state of the run."""
        return stacked(states) if self.others else states[0]

    def separate(self, state: TrainState) -> list[TrainState]:
        """Split the state of the run into the states of the models."""
        updates = np.full(len(self.models), int(state.updates))
        return unstacked(state, updates) if self.others else [state]

    def _start_with(self, parts: set[str]) -> TrainState:
        state = first_state(self.rbm, self.plan, key=self.key)
        if "held_out" in parts:
            tracker = Tracker.of_run(self.rbm, self.plan.method, state, key=self.key)
            state = state._replace(held_out=tracker.begin())
        return state._replace(folds=unknown()) if "folds" in parts else state

    @property
    def train(self) -> Dataset:
        """The training rows."""
        return self.learned["train"]

    @property
    def validation(self) -> Dataset | None:
        """The held-out rows, or None if no rows are held out."""
        return self.learned.get("validation")

    def with_note(self, note: str) -> Prepared:
        """Return a copy of the preparation with a further note on the rows."""
        notes = (*self.rows.notes, f"{self.rows.name}: {note}.")
        return self._replace(rows=self.rows._replace(notes=notes))

    def model_of(self, state: TrainState) -> RBM:
        """Return the (first) model in a run's state, converted to the source's original units."""
        first = self.separate(state)[0]
        return self.restored(averaged_model(first.optimizer, first.rbm))

    def restored(self, rbm: RBM) -> RBM:
        """Convert a model of standardised rows to the source's units, for saving and scoring."""
        return rbm if self.change.is_identity else self.change.of_rows(rbm)

    @property
    def log_density(self) -> float:
        """The mean log p of held-out rows in the source's units minus that of standardised rows."""
        held_out = self.rows.parts.get("validation")
        mean = 0.0  # if the units model the columns directly
        if held_out is not None and held_out.log_density is not None:
            mean = float(held_out.log_density.mean())
        return mean - self.change.log_volume  # p(x) = p(y) / s for y = (x − m) / s

    @property
    def fingerprint(self) -> str:
        """A hash of the training rows, to ensure that a run is resumed only on the same rows."""
        return fingerprint(self.rows, standardised=not self.change.is_identity)

    @property
    def scored(self) -> tuple[str, Dataset]:
        """The name of the part of the rows used for the final score, and its rows."""
        return self.rows.scored, self.rows.parts[self.rows.scored]


def prepare(config: RunConfig, columns: Columns | None = None) -> Prepared:
    """Read the source, hold out rows, and create the model and the plan of its training.

    Args:
        config: the options.
        columns: the column types of a table, for a run that has already begun.

    Raises:
        InputError: the options or the source cannot be used.
    """
    return prepared_with(config, rows_of_run(config, columns))


def prepared_with(config: RunConfig, rows: Rows) -> Prepared:
    """Create the model and the plan of its training, for rows that have already been read.

    Raises:
        InputError: the options cannot be used with these rows.
    """
    if are_several():
        check_same(
            config.source, hashes(rows), "the same rows in all processes", "copy the file again"
        )
    config = with_choices(config, rows)
    visible = rows.visible
    check_sizes(config, visible, len(rows.learned))
    _check_ensemble(config, rows)
    change = Standardization(np.zeros(visible.n_units), np.ones(visible.n_units))
    if rows.columns is None:  # tables are already standardised
        change = standardization(visible, rows.parts["train"].some(ROWS_TO_START_FROM))
    used = [name for name in ("train", "validation") if name in rows.parts]
    learned = {name: changed(rows.parts[name], change) for name in used}
    if not change.is_identity:
        note = f"{rows.name}: trained on standardised columns; saved in the data's units."
        rows = rows._replace(notes=(*rows.notes, note))
    first = _begun(config, rows, change, learned)
    others = [
        _begun(replace(first.config, seed=config.seed + i), rows, change, learned)
        for i in range(1, config.ensemble)
    ]
    return first._replace(others=tuple(others))


def _begun(
    config: RunConfig, rows: Rows, change: Standardization, learned: dict[str, Dataset]
) -> Prepared:
    """Create the model and the plan for one seed, once options and rows have been checked."""
    key_init, key_rows, key_run = split(key_of(config.seed), 3)
    visible = rows.visible
    start = learned["train"].some(ROWS_TO_START_FROM).rows(key=key_rows)
    rbm = initialize(visible, hidden_layer(config), start, key=key_init)
    gradient = gradient_of(config, rbm)
    rate = gradient.about.rate(rbm) if config.lr is None else config.lr
    precision = None if config.precision == "auto" else config.precision
    plan = plan_run(
        rbm,
        learned["train"] if rows.stream is None else changed(rows.stream, change),
        None,
        gradient,
        Recipe(rate=rate, penalties=penalties_of(config)),
        config.epochs,
        int(config.batch or USUAL["batch"]),
        precision,
    )
    if config.ensemble > 1:  # all models make the same number of updates
        plan = plan._replace(may_stop=False)
    # A diverging run restarts at a lower rate only if the user did not choose the rate.
    plan = plan._replace(may_slow=config.lr is None)
    config = replace(config, precision=SHORT if plan.method.rounds else "float32")
    return Prepared(rows, change, learned, rbm, plan, config, key_run)


def _check_ensemble(config: RunConfig, rows: Rows) -> None:
    """Raise InputError for an ensemble on several devices, or on streamed rows."""
    if config.ensemble > 1 and size_of_axis(ROWS) * size_of_axis(HIDDEN) > 1:
        raise InputError(
            "--ensemble: expected models on one device; got --mesh too; leave one of the two out."
        )
    if config.ensemble > 1 and rows.stream is not None:
        raise InputError(
            "--ensemble: expected rows in memory; got a stream of rows; train the models"
            " one after the other."
        )


def with_choices(config: RunConfig, rows: Rows) -> RunConfig:
    """Return the options with all defaults filled in, so that `resume` uses the same values.

    Raises:
        InputError: the best model is requested, but no rows are held out.
    """
    has_held_out = "validation" in rows.parts
    has_epochs = config.epochs is not None
    if config.keep == "best" and not has_held_out:
        raise InputError(
            "--keep best: expected rows that are held out; got none; leave --keep out, or hold"
            " out rows with --validation."
        )
    keep = config.keep or ("best" if has_held_out and not has_epochs else "last")
    penalty = config.penalty
    if penalty is None:
        penalty = 0.0 if has_epochs or rows.exhaustive else "auto"
    validation = config.validation
    if validation == "auto":
        validation = USUAL_FRACTION if has_held_out or rows.exhaustive else 0.0
        if rows.stream is not None:  # a stream holds out at most a fixed number of rows
            held = len(rows.parts.get("validation", ()))
            validation = held / (held + len(rows.stream))
    may_be_mixture = config.may_be_mixture
    if may_be_mixture is None:
        is_open = is_left_open(config) or bool(are_unbounded(rows.visible).any())
        may_be_mixture = config.classes is None and is_open
    return replace(
        config,
        may_be_mixture=may_be_mixture,
        keep=keep,
        penalty=penalty,
        validation=validation,
        hidden=hidden_count(config, rows),
        batch=config.batch or usual_batch(len(rows.learned)),
        chains=config.chains or shared_by_devices(USUAL["chains"], ROWS),
        window=0 if rows.stream is None else rows.stream.window,
    )


def is_left_open(config: RunConfig) -> bool:
    """Return whether the user chose neither the hidden units nor how to train them."""
    names = ("hidden", "hidden_units", "hidden_states", "method", "k", "chains", "batch", "lr")
    return all(getattr(config, name) == getattr(RunConfig, name) for name in names)


def hidden_count(config: RunConfig, rows: Rows) -> int:
    """Return the number of hidden units that the options give; for "auto", the default."""
    if config.hidden != "auto":
        return config.hidden
    train = rows.learned
    usual = usual_hidden(0 if rows.exhaustive else len(train), train.columns)
    return shared_by_devices(usual, HIDDEN)


def usual_batch(rows: int) -> int:
    """Return the default batch size for this many rows, a multiple of the number of devices."""
    devices = size_of_axis(ROWS)
    usual = shared_by_devices(USUAL["batch"], ROWS)
    if devices <= 1 or rows < devices:
        return usual
    # If there are few rows, an update uses all rows that the devices can share equally.
    return min(usual, rows - rows % devices)


def shared_by_devices(count: int, axis: str) -> int:
    """Round a count up to a multiple of the number of devices on a mesh axis."""
    devices = size_of_axis(axis)
    return devices * math.ceil(count / devices)


def usual_hidden(rows: int, columns: int) -> int:
    """Return the default number of hidden units for this many training rows and columns.

    More rows support more parameters: with 15,671 rows of 69 columns (plants), 138 hidden units
    gain 0.1 nats over 64 units; with 4,500 rows of 123 columns (adult), 200 units gain nothing
    (docs/defaults.md).
    """
    by_rows = rows // ROWS_PER_HIDDEN_UNIT
    return max(FEWEST_HIDDEN, min(by_rows, 2 * columns, MOST_HIDDEN))


def penalties_of(config: RunConfig) -> tuple[AbstractPenalty, ...]:
    """Return the penalties on the weights that the options specify."""
    # Not L1: at W = 0 the gradient of the likelihood vanishes, so L1 would keep weights at 0.
    return (Huber(config.penalty),) if config.penalty else ()


def changed(rows: T, change: Standardization) -> T:
    """Return a copy of the rows, standardised."""
    return rows if change.is_identity else rows.changed(change.standardised)


def hidden_layer(config: RunConfig) -> AbstractLayer:
    """Return the hidden layer that the options specify."""
    row = named_units("--hidden-units", config.hidden_units)
    if row.rows == "codes" and config.hidden_states is None:
        raise InputError(
            f"--hidden-units: expected the number of states of {row.name} units; got none; give it"
            " with --hidden-states."
        )
    if row.rows != "codes" and config.hidden_states is not None:
        raise InputError(
            f"--hidden-units: expected no number of states for {row.name} units; got"
            f" --hidden-states {config.hidden_states}; leave --hidden-states out."
        )
    return row.make(int(config.hidden), config.hidden_states)


def gradient_of(config: RunConfig, rbm: RBM) -> AbstractGradient:
    """Return the gradient method that the options specify.

    Raises:
        InputError: exact training is requested, but the model has too many states.
    """
    if config.method == "exact":
        advice = "choose --method pcd, or a smaller --hidden"
        refuse_many_states(rbm, LARGEST_LOG2_STATES, advice)
    return method_named(config.method, config.k, config.chains or USUAL["chains"])


def check_sizes(config: RunConfig, visible: AbstractLayer, rows: int) -> None:
    """Raise InputError for sizes that exceed memory, or more updates than the loop can count.

    Linux grants more memory than it has and later kills the process without a message, and 2³¹
    models take days to start. So sizes that a typing error may make huge are compared with the
    available memory before anything is written; on other systems, the allocation itself fails.

    Raises:
        InputError: there are too many updates, or a size is too large. For a size, the message
            names the available memory and the option that exceeds its default by the largest
            factor.
    """
    hidden = int(config.hidden)
    chains = config.chains or USUAL["chains"]
    states = (min(config.batch or USUAL["batch"], rows) + chains) * (visible.size + hidden)
    numbers = COPIES_OF_WEIGHTS * visible.size * hidden + COPIES_OF_STATES * states
    needed = BYTES_OF_A_NUMBER * numbers * config.ensemble
    available = memory_there()
    if available is not None and needed > available:
        ratios = {
            "--hidden": hidden / FEWEST_HIDDEN,
            "--chains": chains / USUAL["chains"],
            "--ensemble": config.ensemble,
        }
        option = max(ratios, key=lambda name: ratios[name])
        raise InputError(
            f"{option}: expected sizes that fit into {available / 2**30:,.1f} GiB of memory;"
            f" got a run that needs about {needed / 2**30:,.1f} GiB; lower {option}."
        )
    updates = config.updates_an_epoch(rows)
    if (config.epochs or 1) * updates > LARGEST_COUNT:
        raise InputError(
            f"--epochs: expected at most {LARGEST_COUNT:,} updates in all; got {config.epochs:,}"
            f" epochs of {updates:,} updates; lower --epochs."
        )
