"""Columns of a table: each one's distribution and how pairs depend, data beside samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..tables import Columns, Frame
from ..tables.dependence import Information, classes_of, information
from .base import BLUE, GREY, SMALL, TEXT, color_bar, label, new_figure

MOST_PANELS = 30
MOST_BARS = 8
BINS = 24
MOST_COLUMNS = 60
NOTABLE = 0.05  # share of missing cells from which it is told, as the model also speaks of those


def columns_beside_data(columns: Columns, samples: Any, data: Any, *, seed: int = 0) -> Figure:
    """Draw the distribution of each column of a table, data in grey and samples in blue.

    Words and numbers of a few values have bars, at most the eight most frequent of the data; other
    numbers have histograms with common bins. The data are the cells that are known; where many are
    missing, the share is told, since samples have them too and may rightly differ.

    Args:
        columns: what the columns mean.
        samples: rows of codes drawn from a model, as `Columns.encode` returns them.
        data: rows of codes of the data; NaN where a cell is missing.
        seed: seed of the cells that a code stands for.

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
    shown = columns.parts[:MOST_PANELS]
    tables = [
        columns.split(columns.decode(np.asarray(rows, float), seed=seed))
        for rows in (data, samples)
    ]
    across = min(5, len(shown))
    down = math.ceil(len(shown) / across)
    figure = new_figure(
        2.3 * across,
        1.9 * down + 0.5,
        f"{len(samples):,} samples (blue) beside {len(data):,} rows of data (grey)",
    )
    panels = np.ravel(figure.subplots(down, across, squeeze=False))
    for axes, column in zip(panels, shown, strict=False):
        of_data, of_samples = (_cells(table, column.name) for table in tables)
        _panel(axes, of_data, of_samples)
        missing = 1.0 - len(of_data) / len(data)
        note = f", {missing:.0%} missing" if missing >= NOTABLE else ""
        label(axes, column.name[:28] + note, grid=False)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    return figure


def _cells(table: Frame, name: str) -> np.ndarray:
    raw = next(column for column in table.columns if column.name == name)
    return raw.values[~raw.is_missing]


def _panel(axes: Axes, data: np.ndarray, samples: np.ndarray) -> None:
    """Draw the known cells of a column: bars of words and few values, else histograms."""
    is_words = data.dtype.kind == "O"
    data, samples = (_comparable(cells) for cells in (data, samples))
    values, counts = np.unique(data, return_counts=True)
    if is_words:
        values = values[np.argsort(-counts, kind="stable")[:MOST_BARS]]
        _bars(axes, values, [value[:14] for value in values], data, samples)
    elif len(values) <= MOST_BARS:
        _bars(axes, values, [f"{value:g}" for value in values], data, samples)
    else:
        _histograms(axes, data, samples)


def _comparable(cells: np.ndarray) -> np.ndarray:
    """Return cells as text, or as numbers; dates as years."""
    if cells.dtype.kind == "M":
        return cells.astype("datetime64[D]").astype(float) / 365.2425 + 1970
    return cells.astype(str if cells.dtype.kind == "O" else float)


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
    low, high = np.quantile(data, (0.005, 0.995))
    edges = np.linspace(low, high if high > low else low + 1, BINS)
    for cells, color, fill, alpha in ((data, GREY, True, 0.55), (samples, BLUE, False, 1.0)):
        counts, _ = np.histogram(np.clip(cells, edges[0], edges[-1]), edges)
        fractions = counts / max(1, len(cells))
        axes.stairs(fractions, edges, color=color, fill=fill, alpha=alpha, linewidth=1.4)
    axes.set_yticks([])


def dependence(columns: Columns, samples: Any, data: Any) -> Figure:
    """Draw how strongly each pair of columns depends: data above the diagonal, samples below it.

    The strength is √(1 − e^(−2 I)), with I the mutual information of the two columns in nats: the
    correlation, for normal numbers. Numbers count in six classes of equally many rows of data. The
    bias of I for independent columns is subtracted.

    Args:
        columns: what the columns mean.
        samples: rows of codes drawn from a model.
        data: rows of codes of the data; NaN where a cell is missing.

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
    modelled = columns.modelled
    place_of = {column.name: place for place, column in enumerate(modelled)}
    places = [place_of[column.name] for column in columns.parts[:MOST_COLUMNS]]
    theirs, ours = (np.asarray(rows, float)[:, places] for rows in (data, samples))
    states = [modelled[place].states for place in places]
    of_data = [classes_of(x, s) for x, s in zip(theirs.T, states, strict=True)]
    of_samples = [
        classes_of(x, s, known) for x, s, known in zip(ours.T, states, theirs.T, strict=True)
    ]
    matrix = np.full((len(places), len(places)), np.nan)
    for i in range(len(places)):
        for j in range(i):
            matrix[j, i] = _strength(information(of_data[i], of_data[j]))
            matrix[i, j] = _strength(information(of_samples[i], of_samples[j]))
    side = 2.4 + 0.24 * len(places)
    between = " " if side > 5 else "\n"  # inches, in which the title is one line
    title = f"Dependence of pairs:{between}data above, samples below the diagonal"
    figure = new_figure(side + 0.8, side, title)
    axes = figure.subplots()
    image = axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
    names = [modelled[place].name[:20] for place in places]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=SMALL - 1)
    axes.set_yticks(range(len(names)), names, fontsize=SMALL - 1)
    color_bar(figure, image, [axes], "√(1 − e^(−2 I))")
    axes.tick_params(labelsize=SMALL - 1 if len(names) > 20 else TEXT - 1)
    return figure


def _strength(found: Information) -> float:
    return math.sqrt(-math.expm1(-2.0 * found.corrected)) if found.rows > 1 else math.nan
