"""Plots of a table's columns: distributions and pairwise dependence in data and samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..tables import Columns
from ..tables.dependence import Information, classes_of, information
from .base import BLUE, GREY, SMALL, TEXT, color_bar, label, new_figure, panels

MOST_PANELS = 30  # a page of five by six
MOST_BARS = 8
BINS = 24
MOST_COLUMNS = 60  # with more, names are too small to read
NOTABLE = 0.05  # smallest fraction of missing cells that is shown in a title


def columns_beside_data(columns: Columns, samples: Any, data: Any, *, seed: int = 0) -> Figure:
    """Draw the distribution of each column of a table, data in grey and samples in blue.

    Categories (at most the eight most frequent in the data) and numbers with at most eight distinct
    values are drawn as bars; other numbers are drawn as histograms with common bins. Missing cells
    of the data are not drawn; if there are many, the title gives their fraction, because samples
    have no missing cells, so the distributions may differ even if the model is accurate.

    Args:
        columns: the columns of the table, with their types.
        samples: rows of codes drawn from a model, as `Columns.encode` returns them.
        data: rows of codes of the data, with NaN for missing cells.
        seed: seed for drawing a cell from the values that a code represents.

    Returns:
        A figure with one panel for each of the first 30 columns.

    Example:
        >>> from harmonium import plot
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> words = {"pet": ["cat", "dog", "dog"], "fur": ["long", "short", "short"]}
        >>> frame = Frame(tuple(RawColumn(k, np.array(x, object)) for k, x in words.items()))
        >>> columns = columns_of(frame)  # as hm.open_source("pets.csv").columns
        >>> codes = columns.encode(frame, "rows")
        >>> len(plot.columns_beside_data(columns, samples=codes, data=codes).axes)  # panels
        2
    """
    parts = columns.parts[:MOST_PANELS]
    cells: dict[str, list[np.ndarray]] = {part.name: [] for part in parts}  # of data, of samples
    for rows in (data, samples):
        table = columns.split(columns.decode(np.asarray(rows, float), seed=seed))
        for raw in table.columns:
            if raw.name in cells:
                cells[raw.name].append(raw.values[~raw.is_missing])
    across = min(5, len(parts))
    down = math.ceil(len(parts) / across)
    title = f"{len(samples):,} samples (blue) beside {len(data):,} rows of data (grey)"
    figure = new_figure(2.3 * across, 1.9 * down + 0.5, title)
    for axes, (name, both) in zip(panels(figure, len(parts), across), cells.items(), strict=True):
        _panel(axes, *both)
        title = name[:28]
        missing = 1.0 - len(both[0]) / len(data)
        if missing >= NOTABLE:
            title += f", {missing:.0%} missing"
        label(axes, title, grid=False)
    return figure


def _panel(axes: Axes, data: np.ndarray, samples: np.ndarray) -> None:
    """Draw a column's known cells, as bars for categories or few values, else as histograms."""
    is_words = data.dtype.kind == "O"
    data = _comparable(data)
    samples = _comparable(samples)
    values, counts = np.unique(data, return_counts=True)
    if is_words:
        values = values[np.argsort(-counts, kind="stable")[:MOST_BARS]]
        _bars(axes, values, [value[:14] for value in values], data, samples)
    elif len(values) <= MOST_BARS:
        _bars(axes, values, [f"{value:g}" for value in values], data, samples)
    else:
        _histograms(axes, data, samples)


def _comparable(cells: np.ndarray) -> np.ndarray:
    """Convert cells to strings or, if they are numbers or dates, to floats (decimal years)."""
    if cells.dtype.kind == "O":
        return cells.astype(str)
    if cells.dtype.kind == "M":
        return cells.astype("datetime64[D]").astype(float) / 365.2425 + 1970  # days of a mean year
    return cells.astype(float)


def _bars(
    axes: Axes, values: np.ndarray, names: list[str], data: np.ndarray, samples: np.ndarray
) -> None:
    places = np.arange(len(values))
    for cells, color, shift in ((data, GREY, -0.2), (samples, BLUE, 0.2)):
        fractions = [(cells == value).mean() for value in values]
        axes.barh(places + shift, fractions, 0.4, color=color)
    axes.set_yticks(places, names, fontsize=SMALL - 1)
    axes.invert_yaxis()


def _histograms(axes: Axes, data: np.ndarray, samples: np.ndarray) -> None:
    low, high = np.quantile(data, (0.005, 0.995))  # far tails go into the outermost bins
    if high <= low:
        high = low + 1
    edges = np.linspace(low, high, BINS)
    for cells, color, is_filled, alpha in ((data, GREY, True, 0.55), (samples, BLUE, False, 1.0)):
        counts, _ = np.histogram(np.clip(cells, low, high), edges)
        fractions = counts / max(1, len(cells))
        axes.stairs(fractions, edges, color=color, fill=is_filled, alpha=alpha, linewidth=1.4)
    axes.set_yticks([])


def dependence(columns: Columns, samples: Any, data: Any) -> Figure:
    """Draw the dependence of each pair of columns: data above the diagonal, samples below it.

    The strength of dependence is √(1 − e^(−2 I)), where I is the mutual information of the two
    columns in nats; for jointly normal variables, this is the absolute correlation. Numbers are
    binned into six classes with equal numbers of data rows. The bias that the estimate of I has for
    independent columns is subtracted.

    Args:
        columns: the columns of the table, with their types.
        samples: rows of codes drawn from a model.
        data: rows of codes of the data, with NaN for missing cells.

    Returns:
        A figure with one matrix, of the first 60 columns.

    Example:
        >>> from harmonium import plot
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> words = {"pet": ["cat", "dog", "dog"], "fur": ["long", "short", "short"]}
        >>> frame = Frame(tuple(RawColumn(k, np.array(x, object)) for k, x in words.items()))
        >>> columns = columns_of(frame)  # as hm.open_source("pets.csv").columns
        >>> codes = columns.encode(frame, "rows")
        >>> axes = plot.dependence(columns, samples=codes, data=codes).axes[0]
        >>> [name.get_text() for name in axes.get_xticklabels()]
        ['pet', 'fur']
    """
    place_of = {column.name: place for place, column in enumerate(columns.modelled)}
    places = [place_of[column.name] for column in columns.parts[:MOST_COLUMNS]]
    modelled = [columns.modelled[place] for place in places]
    data = np.asarray(data, float)[:, places].T
    samples = np.asarray(samples, float)[:, places].T
    states = [column.states for column in modelled]
    of_data = [classes_of(*pair) for pair in zip(data, states, strict=True)]
    of_samples = [classes_of(*triple) for triple in zip(samples, states, data, strict=True)]
    matrix = np.full((len(places), len(places)), np.nan)
    for i in range(len(places)):
        for j in range(i):
            matrix[j, i] = _strength(information(of_data[i], of_data[j]))
            matrix[i, j] = _strength(information(of_samples[i], of_samples[j]))
    size = 2.4 + 0.24 * len(places)
    gap = " " if size > 5 else "\n"  # above 5 inches, the title fits in one line
    title = f"Dependence of pairs:{gap}data above, samples below the diagonal"
    figure = new_figure(size + 0.8, size, title)
    axes = figure.subplots()
    image = axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
    names = [column.name[:20] for column in modelled]
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(labelsize=SMALL - 1 if len(names) > 20 else TEXT - 1)
    color_bar(figure, image, [axes], "√(1 − e^(−2 I))")
    return figure


def _strength(dependence: Information) -> float:
    if dependence.rows <= 1:
        return math.nan
    return math.sqrt(-math.expm1(-2.0 * dependence.corrected))
