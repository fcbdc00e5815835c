"""Autocorrelations of observables along Markov chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from .._base.checks import positive_integer
from ..errors import InputError
from .base import COLORS, GREY, checked_numbers, label, legend_below, new_figure

STYLES = ("-", "--", ":", "-.")
FEW_LAGS = 30  # with more, the markers would merge into a thick line
DECADES_FROM = 20.0  # ratio of last to first lag at or above which uneven lags get a log axis


def autocorrelations(curves: Any, *, names: Sequence[str], sweeps: Any) -> Figure:
    """Draw the autocorrelations of observables against the lag, with one curve per observable.

    Two states of a chain are approximately independent only if the lag between them is so large
    that every curve, even the slowest, has decayed to 0. If the steps between lags grow and the
    lags cover a wide range, the lag axis is logarithmic beyond the first positive lag.

    Args:
        curves: the autocorrelation of each observable at each lag, shape (observables, lags).
        names: the names of the observables.
        sweeps: the lags in sweeps, ascending and at least 0, shape (lags,); or one number, the
            sweeps between successive lags, if the first lag is 0.

    Raises:
        InputError: curves, names and lags do not match, or are not finite.

    Example:
        >>> from harmonium import plot
        >>> curves = [0.5 ** np.arange(8), 0.8 ** np.arange(8)]
        >>> figure = plot.autocorrelations(curves, names=["fast", "slow"], sweeps=1)
        >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
        ('lag, sweeps', 'autocorrelation')
    """
    advice = "leave out an observable that never changes: it has no autocorrelation"
    array = checked_numbers(curves, "curves", ("observables", "lags"), advice)
    names = _checked_names(names, len(array))
    lags = _checked_lags(sweeps, array.shape[1])
    figure = new_figure(7.2, 4.2)
    axes = figure.subplots()
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    for number, (curve, name) in enumerate(zip(array, names, strict=True)):
        axes.plot(
            lags,
            curve,
            color=COLORS[number % len(COLORS)],
            linestyle=STYLES[number // len(COLORS) % len(STYLES)],
            linewidth=1.5,
            marker="." if len(lags) <= FEW_LAGS else None,
            markersize=5,
            label=name,
        )
    _scale(axes, lags)
    label(axes, "Autocorrelations", "lag, sweeps", "autocorrelation")
    legend_below(figure, min(len(names), 4))
    return figure


def _checked_names(names: Any, count: int) -> list[str]:
    if isinstance(names, str) or len(names) != count:
        raise InputError(
            f"names: expected a list of one name per curve ({count} in all); got {names!r}."
        )
    return [str(name) for name in names]


def _checked_lags(sweeps: Any, count: int) -> np.ndarray:
    if np.ndim(sweeps) == 0:
        return positive_integer(sweeps, "sweeps") * np.arange(float(count))
    lags = checked_numbers(sweeps, "sweeps")
    if len(lags) != count or lags[0] < 0.0 or (np.diff(lags) <= 0.0).any():
        raise InputError(
            f"sweeps: expected one lag per point of a curve ({count} in all), non-negative and in"
            f" ascending order; got {len(lags)}, from {lags[0]:g} to {lags[-1]:g}."
        )
    return lags


def _scale(axes: Axes, lags: np.ndarray) -> None:
    """Make the lag axis logarithmic if the steps between lags grow."""
    steps = np.diff(lags)
    positive = lags[lags > 0.0]
    grown = len(steps) > 1 and steps[-1] > 2.0 * steps[0]
    if grown and lags[-1] >= DECADES_FROM * positive[0]:
        axes.set_xscale("symlog", linthresh=positive[0], linscale=0.4)
        axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.set_xlim(left=lags[0])
