"""Describe the contents of a run folder, a model file or a data source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from .._base.sharding import fetched
from ..analysis import hidden_in_words
from ..data.sources import open_source
from ..data.table import describe
from ..errors import HarmoniumError, count_of
from ..io.storage import holds_model, load
from ..rbm import RBM
from ..tables import Columns
from .checks import states_to_sum
from .display import nats
from .folder import CONFIG, RunFolder
from .summaries import Summary

UNITS_IN_WORDS = 12
UNFINISHED = "not finished"


def info(
    path: str,
    visible: str = "auto",
    scale: float | None = None,
    text: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return a description of the run folder, model or data source at a path.

    Args:
        path: a run folder, a model, or a data source.
        visible: the kind of visible units for which a data source is read.
        scale: the grey level in a data source that represents 1.
        text: how a text file is read, as fields of `TextFormat`.

    Raises:
        InputError: the path is not a run, a model or a data source.
    """
    if (Path(path) / CONFIG).is_file():
        return _describe_run(RunFolder(path))
    if holds_model(path):
        return {"kind": "model", "path": path} | describe_model(load(path))
    table = open_source(path, visible=visible, scale=scale, **(text or {}))
    return {"kind": "data", "source": path, "rows": describe(table), "notes": list(table.notes)}


def describe_model(rbm: RBM) -> dict[str, Any]:
    """Return a model's layers, its number of parameters, and statistics of its weights."""
    weights = fetched(rbm.dense_weights).astype(np.float64)
    return {
        "visible": str(rbm.visible),
        "hidden": str(rbm.hidden),
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(rbm)),
        "weights": f"mean {weights.mean():.3g}, standard deviation {weights.std():.3g},"
        f" largest {np.abs(weights).max():.3g}",
        "exact_sum": states_to_sum(rbm),
    }


def _describe_run(folder: RunFolder) -> dict[str, Any]:
    description: dict[str, Any] = {"kind": "run", "run": str(folder.path)}
    options = asdict(folder.config())
    description["options"] = [
        f"{name} = {value}" for name, value in options.items() if value is not None
    ]
    try:
        summary = folder.summary() or Summary(message=UNFINISHED)
    except HarmoniumError as error:
        summary = Summary(message=str(error))
    description["state"] = summary.message
    score = summary.log_likelihood
    if score is not None:
        interval = f"{nats(score.value, 3)} in [{nats(score.low, 3)}, {nats(score.high, 3)}]"
        unsure = "" if score.converged else ", NOT converged"
        description["score"] = f"{interval} nats per row, {score.rows} rows{unsure}"
    try:
        rbm = load(folder.path)
        description |= describe_model(rbm)
        columns = folder.columns()
        if columns is not None and rbm.hidden.size == rbm.hidden.n_units:
            description["hidden_units"] = _in_words(rbm, columns)
    except HarmoniumError as error:
        description["model"] = str(error)
    return description


def _in_words(rbm: RBM, columns: Columns) -> list[str]:
    """Return descriptions, in words, of the first few hidden units of a model of a table."""
    units = [unit for unit in hidden_in_words(rbm, columns) if unit.words]
    lines = [f"unit {unit.unit}: {', '.join(unit.words)}" for unit in units[:UNITS_IN_WORDS]]
    left = rbm.hidden.n_units - len(lines)
    return [*lines, f"and {count_of(left, 'other unit')}"] if left and lines else lines
