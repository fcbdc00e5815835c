"""Columns of a table: each one's distribution and how pairs depend, data beside samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..tables import Columns, Frame
from .base import BLUE, GREY, SMALL, TEXT, color_bar, label, new_figure

MOST_PANELS, MOST_BARS, BINS = 30, 8, 24
MOST_COLUMNS, QUANTILES = 60, 6


def columns_beside_data(columns: Columns, samples: Any, data: Any, *, seed: int = 0) -> Figure:
    """Draw the distribution of each column of a table, data in grey and samples in blue.

    Words and numbers of a few values have bars, at most the eight most frequent of the data; other
    numbers have histograms with common bins.

    Args:
        columns: what the columns mean.
        samples: rows of codes drawn from a model, as `Columns.encode` returns them.
        data: rows of codes of the data; NaN where a cell is missing.
        seed: seed of the cells that a code stands for.

    Returns:
        A figure with one panel for each of the first 30 columns.
    """
    shown = columns.modelled[:MOST_PANELS]
    tables = [columns.decode(np.asarray(rows, float), seed=seed) for rows in (data, samples)]
    across = min(5, len(shown))
    down = math.ceil(len(shown) / across)
    figure = new_figure(
        2.3 * across,
        1.9 * down + 0.5,
        f"{len(samples):,} samples (blue) beside {len(data):,} rows of data (grey)",
    )
    panels = np.ravel(figure.subplots(down, across, squeeze=False))
    order = [column.name for column in columns.columns]
    for axes, column in zip(panels, sorted(shown, key=lambda c: order.index(c.name)), strict=False):
        _panel(axes, *(_cells(table, column.name) for table in tables))
        label(axes, column.name[:28], grid=False)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    return figure


def _cells(table: Frame, name: str) -> np.ndarray:
    raw = next(column for column in table.columns if column.name == name)
    return raw.values[~raw.is_missing]


def _panel(axes: Axes, theirs: np.ndarray, ours: np.ndarray) -> None:
    if theirs.dtype.kind == "M":
        theirs, ours = (
            x.astype("datetime64[D]").astype(float) / 365.2425 + 1970 for x in (theirs, ours)
        )
    seen, counts = np.unique(
        theirs.astype(str) if theirs.dtype.kind == "O" else theirs, return_counts=True
    )
    if theirs.dtype.kind == "O" or len(seen) <= MOST_BARS:
        chosen = seen[np.argsort(-counts, kind="stable")[:MOST_BARS]]
        if theirs.dtype.kind != "O":
            chosen = np.sort(chosen)
        compared = ours.astype(str) if theirs.dtype.kind == "O" else ours
        shares = [
            np.array([(x == c).mean() for c in chosen])
            for x in (theirs.astype(compared.dtype), compared)
        ]
        places = np.arange(len(chosen))
        for share, color, shift in zip(shares, (GREY, BLUE), (-0.2, 0.2), strict=True):
            axes.barh(places + shift, share, 0.4, color=color)
        names = [f"{c:g}" if theirs.dtype.kind != "O" else str(c)[:14] for c in chosen]
        axes.set_yticks(places, names, fontsize=SMALL - 1)
        axes.invert_yaxis()
        return
    ends = np.quantile(theirs.astype(float), (0.005, 0.995))
    edges = np.linspace(ends[0], ends[1] if ends[1] > ends[0] else ends[0] + 1, BINS)
    for cells, color, fill in ((theirs, GREY, True), (ours, BLUE, False)):
        share = np.histogram(np.clip(cells.astype(float), edges[0], edges[-1]), edges)[0] / max(
            1, len(cells)
        )
        axes.stairs(
            share, edges, color=color, fill=fill, alpha=0.55 if fill else 1.0, linewidth=1.4
        )
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
    """
    order = [column.name for column in columns.columns]
    modelled = columns.modelled
    places = sorted(range(len(modelled)), key=lambda i: order.index(modelled[i].name))[
        :MOST_COLUMNS
    ]
    theirs, ours = (np.asarray(rows, float)[:, places] for rows in (data, samples))
    classes = [_classes(theirs, ours, i, modelled[place].states) for i, place in enumerate(places)]
    matrix = np.full((len(places), len(places)), np.nan)
    for i in range(len(places)):
        for j in range(i):
            matrix[j, i] = _strength(classes[i][0], classes[j][0])
            matrix[i, j] = _strength(classes[i][1], classes[j][1])
    side = 2.4 + 0.24 * len(places)
    figure = new_figure(
        side + 0.8, side, "Dependence of pairs: data above, samples below the diagonal"
    )
    axes = figure.subplots()
    image = axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
    names = [modelled[place].name[:20] for place in places]
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=SMALL - 1)
    axes.set_yticks(range(len(names)), names, fontsize=SMALL - 1)
    color_bar(figure, image, [axes], "√(1 − e^(−2 I))")
    axes.tick_params(labelsize=SMALL - 1 if len(names) > 20 else TEXT - 1)
    return figure


def _classes(
    theirs: np.ndarray, ours: np.ndarray, i: int, states: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each row, −1 where the cell is missing."""
    pair = theirs[:, i], ours[:, i]
    if states is None or states > 2 * QUANTILES:
        seen = pair[0][~np.isnan(pair[0])]
        edges = np.unique(np.quantile(seen, np.arange(1, QUANTILES) / QUANTILES))
        return tuple(np.where(np.isnan(x), -1, np.searchsorted(edges, x, "right")) for x in pair)  # pyright: ignore
    return tuple(np.where(np.isnan(x), -1, x).astype(int) for x in pair)  # pyright: ignore


def _strength(one: np.ndarray, other: np.ndarray) -> float:
    known = (one >= 0) & (other >= 0)
    if known.sum() < 2:
        return np.nan
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one[known], other[known]), 1.0)
    p = table / table.sum()
    rows, cols = p.sum(1, keepdims=True), p.sum(0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.nansum(p * np.log(p / (rows * cols)))
    bias = ((rows > 0).sum() - 1) * ((cols > 0).sum() - 1) / (2 * known.sum())
    return math.sqrt(-math.expm1(-2.0 * max(0.0, information - bias)))
