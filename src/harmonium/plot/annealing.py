"""Forward and reverse log weights of annealed importance sampling in one plot."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .._base.statistics import log_mean_exp
from ..errors import InputError
from .base import (
    BLUE,
    GREY,
    ORANGE,
    checked_numbers,
    histograms,
    label,
    legend_below,
    new_figure,
    signed,
)


def annealing_runs(
    forward: Any,
    reverse: Any,
    *,
    value: float | None = None,
    low: float | None = None,
    high: float | None = None,
) -> Figure:
    """Draw histograms of the forward and reverse log weights of annealed importance sampling.

    Forward log weights w are mostly below log Z, and the negative log weights −w of reverse runs
    are mostly above it, because each annealing run dissipates some work. Dashed lines mark the
    one-sided estimates, log ⟨e^w⟩ of the forward runs (biased low) and −log ⟨e^w⟩ of the reverse
    runs (biased high). If the histograms overlap, Bennett's estimate of log Z, which combines both
    directions, is accurate, and both dashed lines are close to it. Otherwise, every estimate
    depends on a few extreme chains, and more intermediate distributions are needed.

    Args:
        forward: log weights w with ⟨e^w⟩ = Z, in nats, shape (n,).
        reverse: log weights w with ⟨e^w⟩ = 1/Z, in nats, shape (m,).
        value: the estimate of log Z, in nats, drawn as a line.
        low: lower end of the interval of log Z, in nats; the interval is shaded.
        high: upper end of the interval of log Z, in nats.

    Raises:
        InputError: log weights are not finite, or only one end of the interval is given, or the
            ends are out of order.

    Example:
        >>> from harmonium import plot
        >>> work = np.random.default_rng(0).normal(1.0, 0.5, (2, 500))
        >>> figure = plot.annealing_runs(10.0 - work[0], -10.0 - work[1], value=10.0)
        >>> figure.axes[0].get_xlabel()
        'log weight and log Z, nats'

    Source: Neal 2001; Bennett 1976; Crooks 1999.
    """
    ahead = checked_numbers(forward, "forward")
    back = checked_numbers(reverse, "reverse")
    _check(value, low, high)
    figure = new_figure(7.2, 4.4)
    axes = figure.subplots()
    names = f"forward, w of {len(ahead):,} chains", f"reverse, −w of {len(back):,} chains"
    fractions = histograms(axes, [ahead, -back], names, (BLUE, ORANGE))
    bounds = {"forward": log_mean_exp(ahead), "reverse": -log_mean_exp(back)}
    digits = _digits([*bounds.values(), *(end for end in (low, value, high) if end is not None)])
    for (direction, bound), color in zip(bounds.items(), (BLUE, ORANGE), strict=True):
        text = f"log Z from the {direction} run alone: {_number(bound, digits)}"
        axes.axvline(bound, color=color, linewidth=1.5, linestyle="--", zorder=4, label=text)
    if low is not None and high is not None:
        text = f"interval from {_number(low, digits)} to {_number(high, digits)}"
        axes.axvspan(low, high, color=GREY, alpha=0.2, linewidth=0, label=text)
    if value is not None:
        text = f"estimate of log Z: {_number(value, digits)}"
        axes.axvline(value, color="black", linewidth=2.5, zorder=3, label=text)
    overlap = float(np.minimum(*fractions).sum())
    headline = f"Forward and reverse log weights overlap by {overlap:.0%}"
    if overlap == 0.0:
        headline = (
            "Forward and reverse log weights do not overlap: no estimate of log Z is reliable"
        )
    label(axes, headline, "log weight and log Z, nats", "fraction of chains per nat")
    legend_below(figure)
    return figure


def _check(value: Any, low: Any, high: Any) -> None:
    given = {"value": value, "low": low, "high": high}
    ends = [number for number in (low, value, high) if number is not None]
    if not all(isinstance(end, int | float | np.number) and np.isfinite(end) for end in ends):
        raise InputError(f"value, low, high: expected finite numbers or None; got {given}.")
    if (low is None) != (high is None):
        raise InputError(f"low, high: expected both ends or None for both; got {low} and {high}.")
    if ends != sorted(ends):
        raise InputError(f"value, low, high: expected low ≤ value ≤ high; got {given}.")


def _digits(lines: list[float]) -> int:
    """Return the number of decimal places, from 2 to 6, needed to tell the lines apart."""
    width = max(lines) - min(lines)
    if width == 0.0:
        return 2
    return int(np.clip(1 - np.floor(np.log10(width)), 2, 6))


def _number(nats: float, digits: int) -> str:
    return signed(f"{nats:,.{digits}f}")
