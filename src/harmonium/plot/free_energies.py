"""Histograms of the free energies of samples and of data."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from .base import BLUE, GREY, checked_numbers, histograms, label, legend_below, new_figure


def energies(data_energies: Any, sample_energies: Any) -> Figure:
    """Draw the free energies of data rows and of samples as two overlaid histograms.

    For a well-trained model the two histograms are nearly equal. Samples with lower free energies
    than the data are states that the model favours but the data lack. Samples with higher free
    energies come from chains that have not reached equilibrium, or from a model that gives too much
    probability to states unlike the data. Dashed lines mark the medians. Both histograms have an
    area of 1, regardless of the numbers of rows.

    Args:
        data_energies: F(v) of rows of data under the model, in nats, shape (m,).
        sample_energies: F(v) of samples under the same model, in nats, shape (n,).

    Raises:
        InputError: an argument is not a non-empty vector of finite numbers.

    Example:
        >>> from harmonium import plot
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> rows = hm.bars_and_stripes(2)
        >>> figure = plot.energies(hm.free_energies(rbm, rows), hm.free_energies(rbm, 1 - rows))
        >>> figure.axes[0].get_title(loc="left")
        'Free energies'
    """
    energies_of_data = checked_numbers(data_energies, "data_energies")
    energies_of_samples = checked_numbers(sample_energies, "sample_energies")
    groups = {"data": energies_of_data, "samples": energies_of_samples}
    medians = {name: float(np.median(values)) for name, values in groups.items()}
    figure = new_figure(6.8, 3.8)
    axes = figure.subplots()
    names = [f"{name} (n = {len(groups[name]):,}): median {medians[name]:,.2f}" for name in groups]
    histograms(axes, list(groups.values()), names, (GREY, BLUE))
    for median, color in zip(medians.values(), (GREY, BLUE), strict=True):
        axes.axvline(median, color=color, linewidth=1.2, linestyle="--")
    label(axes, "Free energies", "free energy, nats", "fraction of rows per nat")
    legend_below(figure, 1)
    return figure
