"""Learning curves of a run: the measured variables against the epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import InputError
from .base import BLUE, GREY, SMALL, label, new_figure, say

PANELS = {
    "log_likelihood": ("Log-likelihood", "nats per row"),
    "pseudo_log_likelihood": ("Pseudo-log-likelihood, sum over units", "nats per row"),
    "free_energy_gap": ("Free-energy gap, validation − training", "nats per row"),
    "reconstruction": ("Reconstruction error, v → ⟨h⟩ → ⟨v⟩", "mean squared difference"),
    "free_energy": ("Mean free energy of training rows", "nats per row"),
    "update_ratio": ("Size of an update, |ΔW| / |W|", "ratio"),
}
MOST_BELOW = 3  # panels in one column; more than these are drawn in two columns


def learning_curves(history: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the variables measured during a run, a panel for each one that some record holds.

    The log-likelihood has a band for the uncertainty of log Z, the free-energy gap one for its
    standard error over rows. A growing gap means that the model favours the training rows
    (overfitting). ⟨F⟩ alone is not a score, because log Z changes too; nor is the reconstruction
    error.

    Args:
        history: records as `fit` returns them, each with `epoch` and any of `log_likelihood` (with
            `log_likelihood_low` and `log_likelihood_high`), `pseudo_log_likelihood`,
            `free_energy_gap` (with `free_energy_gap_stderr`), `reconstruction`, `free_energy`,
            `update_ratio`.
            Entries that are missing, None or not finite are ignored.

    Raises:
        InputError: not a sequence of records, or a record without a finite epoch.

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
        return say(new_figure(6.4, 2.4), "Nothing was measured in this run.")
    across = 1 if len(measured) <= MOST_BELOW else 2
    down = math.ceil(len(measured) / across)
    figure = new_figure(1.0 + 6.2 * across, 0.7 + 2.3 * down, _headline(history))
    panels = figure.subplots(down, across, sharex=True, squeeze=False).ravel()
    for place, (axes, name) in enumerate(zip(panels, measured, strict=False)):
        _draw(axes, history, name, at_the_bottom=place + across >= len(measured))
    for axes in panels[len(measured) :]:
        figure.delaxes(axes)
    figure.align_ylabels()
    return figure


def _draw(
    axes: Axes, history: Sequence[Mapping[str, Any]], name: str, *, at_the_bottom: bool
) -> None:
    """Draw one quantity against the epochs."""
    epochs, values = _points(history, name)
    axes.plot(epochs, values, color=BLUE, linewidth=1.5, marker=".", markersize=5)
    title, unit = PANELS[name]
    label(axes, title, "epoch" if at_the_bottom else "", unit)
    axes.tick_params(labelbottom=at_the_bottom)
    if name == "log_likelihood":
        epochs, low, high = _points(history, "log_likelihood_low", "log_likelihood_high")
        _band(axes, epochs, low, high, "bounds from the uncertainty of log Z")
    if name == "free_energy_gap":
        axes.axhline(0.0, color=GREY, linewidth=0.8)
        epochs, values, errors = _points(history, name, "free_energy_gap_stderr")
        _band(axes, epochs, values - errors, values + errors, "± standard error over rows")


def _check(history: Sequence[Mapping[str, Any]]) -> None:
    is_list = isinstance(history, Sequence) and not isinstance(history, str | bytes)
    if not is_list or not all(isinstance(record, Mapping) for record in history):
        raise InputError(
            "history: expected a list of records (dictionaries), as Fit.history is; found"
            f" {type(history).__name__}."
        )
    for number, record in enumerate(history):
        if not _is_finite(record.get("epoch")):
            raise InputError(
                f"history: expected a finite 'epoch' in every record; found"
                f" {record.get('epoch')!r} in record {number}. Pass the records as in Fit.history."
            )


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and math.isfinite(value)


def _points(history: Sequence[Mapping[str, Any]], *names: str) -> tuple[np.ndarray, ...]:
    """Return the epochs of the records that hold all these variables, and their values."""
    chosen = ("epoch", *names)
    found = [[float(record[name]) for name in chosen] for record in history if _all(record, names)]
    return tuple(np.array(found).reshape(-1, len(chosen)).T)


def _all(record: Mapping[str, Any], names: Sequence[str]) -> bool:
    return all(_is_finite(record.get(name)) for name in names)


def _band(axes: Axes, epochs: np.ndarray, low: np.ndarray, high: np.ndarray, text: str) -> None:
    """Shade between the ends; a single point gets an error bar, as a band would be invisible."""
    if not len(epochs):
        return
    if len(epochs) == 1:
        axes.vlines(epochs, low, high, color=BLUE, linewidth=6, alpha=0.25, label=text)
    else:
        axes.fill_between(epochs, low, high, color=BLUE, linewidth=0, alpha=0.25, label=text)
    axes.legend(fontsize=SMALL, frameon=False, loc="lower right")


def _headline(history: Sequence[Mapping[str, Any]]) -> str:
    """Return the title: the number of updates and the speed."""
    parts = ["Learning curves"]
    if _is_finite(history[-1].get("update")):
        parts.append(f"{int(history[-1]['update']):,} updates")
    _, speeds = _points(history, "samples_per_second")
    if len(speeds):
        parts.append(f"{float(f'{np.median(speeds):.2g}'):,.0f} rows per second")
    return " · ".join(parts)
