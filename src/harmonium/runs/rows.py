"""Read the rows of a source for a run, as datasets with a visible layer for these rows."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import numpy as np

from ..data import Dataset, Stream, Table
from ..data.builtin import BUILTIN
from ..data.coding import AUTO
from ..data.dependences import dependence_tree
from ..data.groups import column_groups
from ..data.kinds import Kind
from ..data.readers import is_text
from ..data.sources import named_units, open_source
from ..data.splits import USUAL_FRACTION, dataset_of, datasets_of, note_on_levels
from ..data.table import describe
from ..errors import InputError
from ..layers import AbstractLayer, Conditional, Exclusive, Mixture, Tree
from ..layers.capabilities import has_inputs_at
from ..layers.registry import row_of
from ..rbm import RBM
from ..sequences import Sites
from ..tables import Columns
from ..tables.columns import entries_of
from ..tables.text_format import TextFormat
from ..training.cross_validation import can_cross_validate
from .agreement import check_hidden, check_units
from .checks import refuse_misfit
from .folder import CONFIG, MODEL, RunFolder
from .jsonable import read_json
from .leftovers import is_run
from .options import TextOptions
from .origin import check_hashes, config_of
from .streamed import is_streamed, opened, parts_of_stream
from .summaries import RowsSummary
from .train_options import RunConfig

TREE = "tree"  # a value of --visible: a tree of units, chosen from the training rows
_UNITS_OF_TREE = "bernoulli"  # rows for a tree are read as values of these units


class Rows(NamedTuple):
    """The rows of a source, in parts, with their visible layer, descriptions and notes.

    The source's own arrays are not kept, since the datasets made from these arrays are smaller.

    Attributes:
        name: name of the source.
        about: the source, described in one line.
        visible: the layer for such rows.
        image_shape: height and width of a row as a picture, or None if a row is not a picture.
        parts: training rows, and validation and test rows if there are any.
        notes: sentences that describe how the data were processed.
        exhaustive: whether the rows are a whole distribution rather than a sample.
        binary: whether the rows contain only 0 and 1.
        columns: the column types of a table; None for rows of plain numbers.
        sites: the sites of an alignment; None for other rows.
        stream: the rows to learn from, if they are read during training (the part "train" is then a
            sample of them); None if the rows are in memory.
    """

    name: str
    about: str
    visible: AbstractLayer
    image_shape: tuple[int, int] | None
    parts: dict[str, Dataset]
    notes: tuple[str, ...]
    exhaustive: bool = False
    binary: bool = False
    columns: Columns | None = None
    sites: Sites | None = None
    stream: Stream | None = None

    @property
    def learned(self) -> Dataset | Stream:
        """The rows to learn from."""
        return self.parts["train"] if self.stream is None else self.stream

    @property
    def scored(self) -> str:
        """The name of the part used for a final score: test, else validation, else train."""
        return next(name for name in ("test", "validation", "train") if name in self.parts)

    @property
    def introduction(self) -> list[str]:
        """Lines of text that describe the rows and how they were processed."""
        return [self.about, *(f"  {note}" for note in self.notes)]


def rows_of_run(config: RunConfig, columns: Columns | None = None) -> Rows:
    """Read a run's source and hold out rows; the same options always hold out the same rows.

    Args:
        config: the options.
        columns: the column types of a table, if known; else they are inferred.

    Raises:
        InputError: the source cannot be used as given.
    """
    units = _UNITS_OF_TREE if config.visible == TREE else config.visible
    if units != AUTO:
        named_units("--visible", units, AUTO, TREE)  # checked here, since "tree" is also valid
    if is_streamed(config):
        table, stream = opened(replace(config, visible=units))
        parts, stream, notes = parts_of_stream(config, table, stream)
        visible = visible_layer(table, units)
        if config.visible == TREE:
            visible = _tree(parts["train"])
        rows = _rows(table, _in_classes(visible, config), parts, notes, len(stream))
        return rows._replace(stream=stream.checked_for(rows.visible))
    table = open_source(
        config.origin,
        visible=units,
        scale=config.scale,
        states=config.states,
        seed=config.seed_of_rows,
        columns=told_columns(config) if columns is None else columns,
        alphabet=config.alphabet,
        identity=config.identity,
        **asdict(config.text_format),
        **roles_of(config),
    )
    visible = visible_layer(table, units)
    parts, notes = datasets_of(
        table,
        validation=_fraction(config, visible),
        binarize=config.binarize,
        seed=config.seed_of_rows,
    )
    # Bernoulli units can learn that columns exclude one another only by strong couplings, which
    # the penalty suppresses: on the dna data this cost 9 nats.
    may_group = config.visible == AUTO and config.groups and not table.exhaustive
    if may_group and table.kind == Kind.BINARY:
        groups = column_groups(parts["train"])
        if groups.all:
            visible = Exclusive(parts["train"].columns, groups.all)
            notes = (*notes, *(f"{table.name}: {note}" for note in groups.notes))
    if config.visible == TREE:
        visible = _tree(parts["train"])
    visible = _with_given(_in_classes(visible, config), table)
    return _rows(table, visible, parts, notes)


def _in_classes(visible: AbstractLayer, config: RunConfig) -> AbstractLayer:
    """Return the visible layer, as a mixture of classes if several classes are requested.

    Raises:
        InputError: the units cannot have classes.
    """
    if config.classes is None or config.classes == 1:
        return visible
    if not has_inputs_at(visible):
        raise InputError(
            f"--classes: expected visible units of a kind that can have classes; got {visible};"
            " leave --classes out."
        )
    return Mixture([visible] * config.classes)


def _tree(train: Dataset) -> Tree:
    """Return a layer of 0/1 units whose dependences form the Chow-Liu tree of training rows.

    Held-out rows are not used, since the model is later scored on those rows.
    """
    return Tree(train.columns, dependence_tree(train))


def roles_of(config: RunConfig) -> dict[str, Any]:
    """Return the options that give columns special roles, as arguments of `open_source`."""
    return {
        "label": config.label,
        "weight": config.weight,
        "given": config.given,
        "past": config.past,
    }


def _fraction(config: RunConfig, visible: AbstractLayer) -> float | Literal["auto"]:
    """Return the fraction of rows to hold out, or "auto" if the run may cross-validate instead."""
    may_cross_validate = (
        can_cross_validate(visible)
        and not config.past  # blocks of a series are held out, not single rows
        and config.epochs is None
        and config.penalty in (None, "auto")
        and config.keep != "best"
    )
    if config.validation == "auto" and not may_cross_validate:
        return USUAL_FRACTION
    return config.validation


def told_columns(config: RunConfig) -> dict[str, Any] | None:
    """Return the user's choices of column types as a record, or None if there are none.

    Raises:
        InputError: the file of columns cannot be read.
    """
    entries: list[dict[str, Any]] = []
    if config.columns is not None:
        entries = entries_of(read_json(Path(config.columns)), config.columns)
    entries += [{"name": name, "kind": kind} for name, kind in config.kinds.items()]
    last = {str(entry.get("name")): entry for entry in entries}
    return {"columns": list(last.values())} if last else None


def rows_for_model(
    data: str,
    rbm: RBM,
    binarize: str,
    scale: float | None,
    columns: Columns | None = None,
    sites: Sites | None = None,
    text_format: TextFormat | None = None,
    config: RunConfig | None = None,
) -> Rows:
    """Read the rows of a source in the form that a model's visible units need.

    Args:
        data: the source.
        rbm: the model.
        binarize: how grey levels are binarised.
        scale: the grey level that represents 1.
        columns: the column types, for a model of a table.
        sites: the sites, for a model of an alignment.
        text_format: how a text file is read; None to infer the format.
        config: the options of the model's run, or None.

    Raises:
        InputError: the source cannot be read, or is incompatible with the model.
    """
    settings = asdict(text_format or TextFormat())
    if config is not None and sites is None and data not in BUILTIN:
        settings |= roles_of(config) | {"new_rows": True}
    if columns is not None:
        table = open_source(data, columns=columns, **settings)
        part = dataset_of(
            table,
            table.train,
            binarize,
            weights=table.weights,
            log_density=table.log_density,
        )
        return _rows(table, rbm.visible, {"train": part}, ())
    if sites is not None:
        table = open_source(data, sites=sites, **settings)
        return _rows(table, rbm.visible, {"train": dataset_of(table, table.train, binarize)}, ())
    visible = rbm.visible
    row = row_of(visible)
    states = visible.size // visible.n_units if row and row.rows == "codes" else None
    low, high = visible.coding.support
    other = "bernoulli" if (low >= 0).all() and (high <= 1).all() else "gaussian"
    named = row.name if row else other  # `refuse_misfit` checks the values of each column
    dropped = None if config is None else told_columns(replace(config, columns=None))
    if dropped is not None and data not in BUILTIN:
        settings["columns"] = dropped
    table = open_source(data, visible=named, scale=scale, states=states, **settings)
    arrays = {"train": table.train, "validation": table.validation, "test": table.test}
    parts: dict[str, Dataset] = {}
    for name, array in arrays.items():
        if array is not None:
            fitting = array if table.scale == 1.0 else array[:1] / table.scale
            refuse_misfit(fitting, rbm, data, "use rows like those that the model was trained on")
            weights = table.weights if array is table.train else None
            parts[name] = dataset_of(table, array, binarize, weights=weights)
    return _rows(table, visible, parts, note_on_levels(table, binarize))


def visible_layer(table: Table, name: str = AUTO) -> AbstractLayer:
    """Return a visible layer of the named kind; for "auto", the default for the table's values."""
    if table.columns is not None:
        return table.columns.layer
    if name == AUTO:
        name = table.kind.layer
    row = named_units("--visible", name, AUTO)
    return row.make(table.train.shape[1], table.states)


def _with_given(visible: AbstractLayer, table: Table) -> AbstractLayer:
    """Return the visible layer of rows of plain numbers, with their given columns."""
    return Conditional(visible, given=table.given) if table.given else visible


def _rows(
    table: Table,
    visible: AbstractLayer,
    parts: dict[str, Dataset],
    notes: tuple[str, ...],
    count: int | None = None,
) -> Rows:
    about = describe(table, len(parts["train"]) if count is None else count)
    checked = {name: part.checked_for(visible, table.name) for name, part in parts.items()}
    return Rows(
        name=table.name,
        about=about,
        visible=visible,
        image_shape=table.image_shape,
        parts=checked,
        notes=(*table.notes, *notes),
        exhaustive=table.exhaustive,
        binary=table.kind == Kind.BINARY,
        columns=table.columns,
        sites=table.sites,
    )


def fingerprint(rows: Rows, *, standardised: bool, part: str = "train") -> str:
    """Return a hash of the training rows, or another part, by which a run recognises its rows.

    Args:
        rows: the rows; for a stream, the hash covers only a sample and the number of rows.
        standardised: whether the run standardises the rows.
        part: the name of the part to hash.
    """
    train = rows.parts[part]
    arrays = [np.asarray(array) for array in jax.tree.leaves(train.stored)]
    kinds = " ".join(f"{array.dtype} {array.shape}" for array in arrays)
    kind = f"{kinds} {train.scale:g} {train.stochastic}"
    if standardised:
        kind += " standardised"
    if rows.stream is not None:
        kind += f" of {len(rows.stream)}"
    digest = hashlib.sha256(kind.encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def hashes(rows: Rows) -> dict[str, str]:
    """Return a hash of each part of the rows, by name, so that later commands recognise them."""
    return {part: fingerprint(rows, standardised=False, part=part) for part in rows.parts}


def remember(folder: RunFolder, rows: Rows) -> None:
    """Write a summary of the rows into the folder of a run, for later commands."""
    counts = {name: len(part) for name, part in rows.parts.items()}
    folder.write_rows(RowsSummary(**hashes(rows), counts=counts, image_shape=rows.image_shape))


def own_rows(folder: RunFolder, source: str | None = None) -> Rows:
    """Read the rows of a run's source, from any working folder.

    Args:
        folder: the folder of the run.
        source: a file of rows named by the user in this command; None for the run's own.

    Raises:
        InputError: the source cannot be read, the run began with different rows, or its folder has
            no record of these rows.
    """
    config = config_of(folder, source)
    rows = rows_of_run(config, folder.columns())
    known = folder.checkpoints.fingerprint_of_rows
    # Without this check, another file of the same name would be scored silently. A checkpoint does
    # not record whether the run standardised its rows.
    fingerprints = [fingerprint(rows, standardised=flag) for flag in (False, True)]
    if known is not None and known not in fingerprints:
        raise InputError(
            f"{config.origin}: expected the rows that {folder.path} began with; got other rows;"
            " restore the source, or name the file of these rows with --source."
        )
    if source is None:
        check_hashes(folder, config, hashes(rows), rows.columns is not None)
    options = folder.file(CONFIG)
    model = folder.path / MODEL
    check_units(rows.visible, options, model)
    check_hidden(config.hidden, options, model)
    return rows


def text_format_for(file: str, run: str, options: TextOptions) -> TextFormat:
    """Return the text format with which a command reads a file, given a run and options.

    Args:
        file: the file; a run's text format does not apply to files of another format.
        run: a run folder, or a model file, which has no text format.
        options: the options of the command, which override the run's text format.
    """
    text_format = TextFormat()
    if is_run(run) and is_text(file):
        text_format = RunFolder(run).config().text_format
    return replace(text_format, **options.given)
