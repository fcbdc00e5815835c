"""Learning curves of a run: the measured quantities against the epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import InputError
from .base import BLUE, GREY, SMALL, TITLE, label, new_figure, panels

History = Sequence[Mapping[str, Any]]


class Panel(NamedTuple):
    """The title and the unit with which a recorded quantity is drawn."""

    title: str
    unit: str


PANELS = {
    "log_likelihood": Panel("Log-likelihood", "nats per row"),
    "pseudo_log_likelihood": Panel("Pseudo-log-likelihood, sum over units", "nats per row"),
    "free_energy_gap": Panel("Free-energy gap, validation − training", "nats per row"),
    "reconstruction": Panel("Reconstruction error, v → ⟨h⟩ → ⟨v⟩", "mean squared difference"),
    "free_energy": Panel("Mean free energy of training rows", "nats per row"),
    "update_ratio": Panel("Size of an update, |ΔW| / |W|", "ratio"),
}
MOST_BELOW = 3  # panels in one column; more than these are drawn in two columns


def learning_curves(history: History) -> Figure:
    """Draw the quantities measured during a run, with one panel for each quantity.

    A band around the log-likelihood shows the uncertainty of log Z; a band around the free-energy
    gap shows its standard error over rows. A growing gap means that the model favours the training
    rows (overfitting). Neither ⟨F⟩ alone (because log Z also changes) nor the reconstruction error
    measures the quality of a model.

    Args:
        history: records as `fit` returns them, each with `epoch` and any of `log_likelihood` (with
            `log_likelihood_low` and `log_likelihood_high`), `pseudo_log_likelihood`,
            `free_energy_gap` (with `free_energy_gap_stderr`), `reconstruction`, `free_energy`,
            `update_ratio`.
            Entries that are missing, None or not finite are ignored.

    Raises:
        InputError: `history` is not a sequence of records, or a record has no finite epoch.

    Example:
        >>> from harmonium import plot
        >>> history = [{"epoch": i, "pseudo_log_likelihood": -10.0 / i} for i in range(1, 6)]
        >>> figure = plot.learning_curves(history)  # as fit.history
        >>> [axes.get_title(loc="left") for axes in figure.axes]
        ['Pseudo-log-likelihood, sum over units']
    """
    _check(history)
    measured = [name for name in PANELS if len(_points(history, name)[0])]
    if not measured:
        figure = new_figure(6.4, 2.4)
        words = "Nothing was measured in this run."
        figure.text(0.5, 0.5, words, ha="center", va="center", fontsize=TITLE, color=GREY)
        return figure
    across = 1 if len(measured) <= MOST_BELOW else 2
    down = math.ceil(len(measured) / across)
    figure = new_figure(1.0 + 6.2 * across, 0.7 + 2.3 * down, _headline(history))
    drawn = panels(figure, len(measured), across, sharex=True)
    for axes, name in zip(drawn, measured, strict=True):
        _draw(axes, history, name)
    for axes in drawn[-across:]:  # the lowest panel of each column
        axes.set_xlabel("epoch")
        axes.tick_params(labelbottom=True)
    figure.align_ylabels()
    return figure


def _draw(axes: Axes, history: History, name: str) -> None:
    """Draw one quantity against the epochs."""
    epochs, values = _points(history, name)
    axes.plot(epochs, values, color=BLUE, linewidth=1.5, marker=".", markersize=5)
    label(axes, PANELS[name].title, "", PANELS[name].unit)
    if name == "log_likelihood":
        epochs, low, high = _points(history, "log_likelihood_low", "log_likelihood_high")
        _band(axes, epochs, low, high, "bounds from the uncertainty of log Z")
    if name == "free_energy_gap":
        axes.axhline(0.0, color=GREY, linewidth=0.8)
        epochs, values, errors = _points(history, name, "free_energy_gap_stderr")
        _band(axes, epochs, values - errors, values + errors, "± standard error over rows")


def _check(history: History) -> None:
    is_list = isinstance(history, Sequence) and not isinstance(history, str | bytes)
    if not is_list or not all(isinstance(record, Mapping) for record in history):
        raise InputError(
            "history: expected a list of records (dictionaries), such as Fit.history; got"
            f" {history!r:.80}."
        )
    for number, record in enumerate(history):
        if not _is_finite(record.get("epoch")):
            raise InputError(
                f"history: expected a finite 'epoch' in every record; got {record.get('epoch')!r}"
                f" in record {number}."
            )


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and math.isfinite(value)


def _points(history: History, *names: str) -> np.ndarray:
    """Return the epochs and the values of all records that contain the named quantities."""
    rows = [[record.get(name) for name in ("epoch", *names)] for record in history]
    complete = [row for row in rows if all(map(_is_finite, row))]
    return np.array(complete, float).reshape(-1, 1 + len(names)).T


def _band(axes: Axes, epochs: np.ndarray, low: np.ndarray, high: np.ndarray, text: str) -> None:
    """Shade the band from `low` to `high`, or draw an error bar if there is only one point."""
    if not len(epochs):
        return
    if len(epochs) == 1:
        axes.vlines(epochs, low, high, color=BLUE, linewidth=6, alpha=0.25, label=text)
    else:
        axes.fill_between(epochs, low, high, color=BLUE, linewidth=0, alpha=0.25, label=text)
    axes.legend(fontsize=SMALL, frameon=False, loc="lower right")


def _headline(history: History) -> str:
    """Return the title, with the number of updates and the training speed if recorded."""
    parts = ["Learning curves"]
    if _is_finite(history[-1].get("update")):
        parts.append(f"{int(history[-1]['update']):,} updates")
    _, speeds = _points(history, "samples_per_second")
    if len(speeds):
        parts.append(f"{float(f'{np.median(speeds):.2g}'):,.0f} rows per second")
    return " · ".join(parts)
