"""From options to the parts of a run: rows, machine, method. All checks come before any writing."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.dtypes import canonicalize_dtype

from .._threefry import key_of
from ..data import Dataset, Table
from ..data.base import count_of, describe, input_error
from ..gauge import Standardization, standardization
from ..gradients import AbstractGradient
from ..gradients.exact import LARGEST_LOG2_STATES
from ..initial import initialize
from ..layers import AbstractLayer
from ..rbm import RBM
from ..sources import choose_rows, named_units, open_source
from ..training import Recipe, method_named
from .checks import refuse_many_states
from .config import RunConfig
from .memory import refuse_beyond_memory
from .options import LARGEST_COUNT, WITHOUT_CHAINS

FEWEST_ROWS_TO_HOLD_OUT = 50
ROWS_TO_START_FROM = 10_000
COPIES_IN_FLIGHT = 6  # arrays the size of the states that an update holds at once, measured
COPIES_OF_WEIGHTS = 8  # the machine, its average, gradients, updates
BYTES = 4


class Rows(NamedTuple):
    """The rows of a run's source.

    The source's own arrays are not kept beside the datasets made of them, which are smaller.

    Attributes:
        name: the source's.
        about: what it is, in a line.
        visible: the layer that takes such rows.
        image_shape: height and width of a row as a picture, or None.
        parts: the rows to learn from, and those held out and to test on where there are any.
        notes: sentences that say what was done to the data.
    """

    name: str
    about: str
    visible: AbstractLayer
    image_shape: tuple[int, int] | None
    parts: dict[str, Dataset]
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        table: Table,
        parts: dict[str, Dataset],
        notes: tuple[str, ...],
        visible: str = "auto",
    ) -> Rows:
        """Return the rows of a table that are stored in these parts, for units of this name."""
        about, layer = describe(table, len(parts["train"])), visible_layer(table, visible)
        return cls(table.name, about, layer, table.image_shape, parts, notes)


class Prepared(NamedTuple):
    """All that training needs.

    Attributes:
        rows: the source's rows.
        change: from standardised rows to the source's, where columns can be rescaled.
        learned: what the run learns from and holds out: the source's rows, standardised.
        rbm: the machine of `learned` before the first update.
        gradient: the method.
        recipe: what happens to a gradient.
        key: the run's key.
    """

    rows: Rows
    change: Standardization
    learned: dict[str, Dataset]
    rbm: RBM
    gradient: AbstractGradient
    recipe: Recipe
    key: Any

    @property
    def train(self) -> Dataset:
        """Rows to learn from."""
        return self.learned["train"]

    @property
    def validation(self) -> Dataset | None:
        """Rows held out, or None."""
        return self.learned.get("validation")

    def restored(self, rbm: RBM) -> RBM:
        """Give the machine of the source's rows: the one to keep, score and draw from."""
        return rbm if self.change.is_identity else self.change.of_rows(rbm)

    @property
    def fingerprint(self) -> str:
        """A hash of the rows to learn from, so that a run is only ever resumed on its own."""
        train = self.rows.parts["train"]
        arrays = [np.asarray(array) for array in jax.tree.leaves(train.stored)]
        kinds = " ".join(f"{array.dtype} {array.shape}" for array in arrays)
        kind = f"{kinds} {train.scale:g} {train.stochastic}"
        kind += "" if self.change.is_identity else " standardised"
        found = hashlib.sha256(kind.encode())
        for array in arrays:
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()

    @property
    def scored(self) -> tuple[str, Dataset]:
        """The name of the rows that the final score is of, and the rows."""
        parts = self.rows.parts
        name = next(name for name in ("test", "validation", "train") if name in parts)
        return name, parts[name]


def prepare(config: RunConfig) -> Prepared:
    """Read the source, hold rows out, and make the machine and the method.

    Raises:
        InputError: anything in the options or the source that cannot be used.
    """
    rows = read_rows(config)
    visible = rows.visible
    check_sizes(config, visible, len(rows.parts["train"]))
    key_init, key_rows, key_run = jax.random.split(key_of(config.seed), 3)
    change = standardization(visible, rows.parts["train"].some(ROWS_TO_START_FROM))
    used = [name for name in ("train", "validation") if name in rows.parts]
    learned = {name: _standardised(rows.parts[name], change) for name in used}
    if not change.is_identity:
        note = f"{rows.name}: learned in standardised columns, and kept in its own units."
        rows = rows._replace(notes=(*rows.notes, note))
    start = learned["train"].some(ROWS_TO_START_FROM).rows(key=key_rows)
    rbm = initialize(visible, hidden_layer(config), start, key=key_init)
    gradient = gradient_of(config, rbm)
    recipe = Recipe(rate=gradient.about.rate(rbm) if config.lr is None else config.lr)
    return Prepared(rows, change, learned, rbm, gradient, recipe, key_run)


def _standardised(rows: Dataset, change: Standardization) -> Dataset:
    if change.is_identity:
        return rows
    found, done = np.empty((len(rows), rows.columns), canonicalize_dtype(float)), 0
    for part in rows.parts(ROWS_TO_START_FROM):
        found[done : done + len(part)] = change.standardised(part)
        done += len(part)
    return Dataset(found, rows.weights)


def read_rows(config: RunConfig) -> Rows:
    """Read a run's source and hold rows out, always the same ones.

    Raises:
        InputError: the source cannot be used as given.
    """
    table = open_source(
        config.source,
        visible=config.visible,
        scale=config.scale,
        states=config.states,
        seed=config.seed,
    )
    enough = len(table.train) >= FEWEST_ROWS_TO_HOLD_OUT or table.validation is not None
    few = ()
    if config.validation and not enough and not table.exhaustive:
        few = (f"{table.name}: {count_of(len(table.train), 'row')}, too few to hold any out.",)
    split = choose_rows(table, config.validation if enough else 0.0, seed=config.seed)
    given = {
        "train": (table.train, split.kept),
        "validation": (split.source, split.held),
        "test": (table.test, None),
    }
    parts, note = {}, ()
    for name, (rows, which) in given.items():
        if rows is not None:
            parts[name], note = as_dataset(rows, table, config.binarize, which)
    notes = (*table.notes, *split.notes, *few, *note)
    return Rows.of(table, parts, notes, config.visible)


def as_dataset(
    rows: np.ndarray, table: Table, binarize: str, which: np.ndarray | None = None
) -> tuple[Dataset, tuple[str, ...]]:
    """Store rows, of these indices, grey levels as they are to be used; say what was done."""
    if table.kind != "grey":
        return Dataset(rows, which=which), ()
    if binarize == "threshold":
        note = f"{table.name}: grey levels of at least one half count as 1, others as 0."
        return Dataset(rows >= 0.5 * table.scale, which=which), (note,)
    if binarize == "stochastic":
        note = f"{table.name}: pixels are drawn as 0 or 1 from their grey level at each visit."
        return Dataset(rows, scale=table.scale, stochastic=True, which=which), (note,)
    note = f"{table.name}: grey levels are used as they are; no score of theirs is a probability."
    return Dataset(rows, scale=table.scale, which=which), (note,)


def visible_layer(table: Table, name: str = "auto") -> AbstractLayer:
    """Return the layer of this name, or the one that takes a table's kind of rows."""
    usual = {"codes": "potts", "spins": "ising", "real": "gaussian"}.get(table.kind, "bernoulli")
    row = named_units("--visible", usual if name == "auto" else name, "auto")
    return row.make(table.train.shape[1], table.states)


def hidden_layer(config: RunConfig) -> AbstractLayer:
    """Return the hidden layer that the options name."""
    row = named_units("--hidden-units", config.hidden_units)
    if row.rows == "codes" and config.hidden_states is None:
        advice = "give it with --hidden-states"
        expected = f"the number of states of {row.name} units"
        raise input_error("--hidden-units", expected, "none", advice)
    if row.rows != "codes" and config.hidden_states is not None:
        found = f"--hidden-states {config.hidden_states}"
        expected = f"no number of states for {row.name} units"
        raise input_error("--hidden-units", expected, found, "leave it out")
    return row.make(config.hidden, config.hidden_states)


def gradient_of(config: RunConfig, rbm: RBM) -> AbstractGradient:
    """Give the method that the options name.

    Raises:
        InputError: exact learning of a machine with too many states.
    """
    if config.method == "exact":
        advice = "choose --method pcd, or a smaller --hidden"
        refuse_many_states(rbm, LARGEST_LOG2_STATES, advice)
    return method_named(config.method, config.k, config.chains)


def check_sizes(config: RunConfig, visible: AbstractLayer, rows: int) -> None:
    """Refuse sizes that this machine cannot hold, before anything is written.

    Raises:
        InputError: saying how much is needed and what to lower.
    """
    batch, units = min(config.batch, rows), visible.size + config.hidden
    chains = 0 if config.method in WITHOUT_CHAINS else config.chains
    numbers = COPIES_OF_WEIGHTS * visible.size * config.hidden
    numbers += COPIES_IN_FLIGHT * (batch + chains) * units
    numbers += 3 * min(rows, ROWS_TO_START_FROM) * visible.size
    sizes = {config.source: visible.size / 1_000, "--hidden": config.hidden / RunConfig.hidden}
    sizes |= {"--batch": batch / RunConfig.batch, "--chains": chains / RunConfig.chains}
    refuse_beyond_memory(BYTES * numbers, sizes)
    updates = config.updates_an_epoch(rows)
    if (config.epochs or 1) * updates > LARGEST_COUNT:
        expected = f"at most {LARGEST_COUNT:,} updates in all"
        found = f"{config.epochs:,} epochs of {updates:,} updates"
        raise input_error("--epochs", expected, found, "lower --epochs")


def introduce(rows: Rows) -> list[str]:
    """Describe the rows in lines."""
    return [rows.about, *(f"  {note}" for note in rows.notes)]
