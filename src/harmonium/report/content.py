"""The content of a page as JSON types: a model, rows, columns or sites, and results of a run."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np

from .._base.images import evenly_spaced, grey_scale
from .._base.numerics import from_numpy
from .._base.sharding import fetched
from .._base.threefry import key_of
from ..io.formats.native import described
from ..likelihood.scoring import free_energies
from ..rbm import RBM
from ..sequences import Sites
from ..tables import Columns
from ..tables.base import AbstractPart
from .encoding import encoded, halved

MOST_ROWS = 200  # as many as a reader looks at
MOST_NUMBERS = 400_000  # in all rows together, so that a page of wide rows stays small
MOST_ACROSS = 32  # units in a line, if rows are not pictures
LEAST_WIDTH = 4  # smallest width of a square picture
MOST_LABELS = 200
POINTS = 101  # of the scale that maps codes of a column to cells


class Rows(NamedTuple):
    """Rows of data and of samples to be shown, in the user's coding; missing cells are NaN.

    `doubt` explains why the samples are unreliable; it is empty if they are reliable.
    """

    data: np.ndarray
    samples: np.ndarray
    doubt: str = ""


def model_content(rbm: RBM, rows: np.ndarray) -> dict[str, Any]:
    """Return a model in JSON types, with weights rounded to 16 bits, and a note on the rounding.

    Args:
        rbm: the model.
        rows: rows in the user's coding, on which the change of log p is measured.
    """
    header, tensors = described(rbm, "the model")
    arrays = {
        name: encoded(array) for name, array in tensors.items() if not name.startswith("weights")
    }
    arrays["weights"], rounded = halved(rbm.dense_weights)
    rounding = "The page stores the weights in 16 bits"
    known = rows[~np.isnan(rows).any(1)][:MOST_ROWS]
    if len(known):
        in_page = eqx.tree_at(lambda m: m.weights, rbm, from_numpy(rounded))
        key = key_of(0)  # for a conditional model, whose sums may need annealing
        change = free_energies(in_page, known, key=key) - free_energies(rbm, known, key=key)
        largest = float(np.abs(change - change.mean()).max())
        if largest == 0:
            rounding += ": differences of log p between rows do not change"
        elif np.isfinite(largest):
            rounding += f": differences of log p between rows change by {largest:.1g} nats at most"
    layers = {name: header[name] for name in ("visible", "hidden")}
    return layers | {"arrays": arrays, "rounding": f"{rounding}."}


def rows_content(
    rbm: RBM, rows: Rows, image_shape: tuple[int, int] | None, *, most: int = MOST_ROWS
) -> dict[str, Any]:
    """Return rows of data and of samples, the height and width of a row, and the grey scale.

    Args:
        rbm: the model.
        rows: the rows.
        image_shape: height and width of a row; None for a square, or lines of at most 32 units.
        most: the largest number of rows of data, and of samples.
    """
    units = rbm.visible.n_units
    most = max(1, min(most, MOST_NUMBERS // units))
    data = evenly_spaced(np.asarray(rows.data), most)
    samples = evenly_spaced(np.asarray(rows.samples), most)
    low, high = grey_scale(data, samples)
    if high == low:
        high = low + 1.0
    return {
        "data": encoded(data),
        "samples": encoded(samples),
        "shape": list(image_shape or lines_of(units)),
        "low": low,
        "high": high,
    }


def column_content(part: AbstractPart, codes: np.ndarray) -> dict[str, Any]:
    """Return a table's column in JSON types: the labels of its codes, or a map of codes to cells.

    Args:
        part: the column, or a part of a column.
        codes: codes of the data, with NaN for missing cells.
    """
    rng = np.random.default_rng(0)
    if part.states is not None:
        shown = min(part.states, MOST_LABELS)
        cells = part.cells(np.arange(shown, dtype=float), rng)
        labels = [str(part.shown(cell)) for cell in cells] + ["…"] * (part.states - shown)
        return {"name": part.name, "states": part.states, "labels": labels}
    known = codes[np.isfinite(codes)]
    low = -1.0
    high = 1.0
    if len(known):
        low, high = np.quantile(known, (0.001, 0.999))
    if high == low:
        high = low + 1.0
    grid = np.linspace(low, high, POINTS)
    cells = np.asarray(part.cells(grid, rng))
    if cells.dtype.kind == "M":  # dates become years
        cells = cells.astype("datetime64[D]").astype(float) / 365.2425 + 1970.0
    # If a code represents several cells, one is drawn; the page needs a scale that never decreases.
    rising = np.maximum.accumulate(cells.astype(float))
    scale = {"codes": grid.tolist(), "cells": rising.tolist()}
    return {"name": part.name, "states": 0, "scale": scale}


def report_content(
    rbm: RBM,
    rows: Rows,
    *,
    title: str,
    image_shape: tuple[int, int] | None = None,
    columns: Columns | None = None,
    sites: Sites | None = None,
    **numbers: Any,
) -> dict[str, Any]:
    """Return the content of a report on a model.

    Args:
        rbm: the model.
        rows: rows of data and samples.
        title: the headline.
        image_shape: height and width of a row as a picture.
        columns: the column types, if the rows are codes of the rows of a table.
        sites: the sites, if the rows are sequences of an alignment.
        numbers: further parts of the content, from a run: summary, history, evaluation, baselines,
            command, about, config, versions.
    """
    data = np.asarray(rows.data, float)
    parts = [] if columns is None else columns.modelled
    spectrum = np.linalg.svd(fetched(rbm.dense_weights).astype(np.float64), compute_uv=False)
    return {
        "kind": "report",
        "title": title,
        "layers": str(rbm),
        "model": model_content(rbm, data),
        # The page draws the distribution of each column of a table from its rows.
        "rows": rows_content(rbm, rows, image_shape, most=1_000 if parts else MOST_ROWS),
        "columns": [column_content(part, data[:, i]) for i, part in enumerate(parts)] or None,
        "sites": sites
        and {
            "letters": sites.alphabet.letters,
            "numbers": [place + 1 for place in sites.columns],
        },
        "spectrum": [float(f"{value:.5g}") for value in spectrum],
        "history": [],
    } | numbers


def baseline(name: str, words: str, value: float) -> dict[str, Any]:
    """Return a baseline as JSON types; `words` is its name within a sentence."""
    return {"name": name, "words": words, "value": value}


def lines_of(units: int) -> tuple[int, int]:
    """Return the height and width at which to show units that do not form a known picture.

    A square number of units, at least 16, as in flattened pictures, is shown as a square, and other
    units in lines of at most 32 units, the last of which may be shorter.
    """
    width = math.isqrt(units)
    if width * width == units and width >= LEAST_WIDTH:
        return width, width
    across = min(MOST_ACROSS, units)
    return math.ceil(units / across), across
