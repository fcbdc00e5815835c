"""Plots of a sequence model: effects of mutations, contacts, and weights as sequence logos."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from ..errors import InputError, count_of
from ..io.convert.base import optional
from .base import BLUE, GREY, ORANGE, SMALL, TEXT, label, new_figure, panels, whole_ticks

SITES_IN_ROW = 100  # with more, letters are too small to read
MOST_LOGOS = 10
SITES_IN_LOGO = 30
SMALLEST = 1e-9  # replaces a largest score of 0, by which scores could not be divided


def mutation_map(
    scores: Any,
    letters: str,
    row: Any,
    *,
    numbers: Sequence[int] | None = None,
    label: str = "site",
) -> Figure:
    """Draw the change in log p for each mutation, with one row per letter and one column per site.

    Mutations to a less probable sequence are violet, mutations to a more probable one are orange,
    and dots mark the letters of the original sequence. The row for gaps is omitted; NaN is grey.

    Args:
        scores: log p(changed) − log p(sequence), shape (sites, letters), from `single_changes`.
        letters: the letters, in the order of their codes.
        row: the sequence, as codes.
        numbers: the number of each site, or 0 for a site without a number; 1, 2, … if None.
        label: the label of the site axis.

    Example:
        >>> from harmonium import plot
        >>> scores = np.array([[0.0, -1.0, -2.0], [-3.0, 0.0, 1.0]])  # 2 sites, letters -AB
        >>> figure = plot.mutation_map(scores, "-AB", [0, 1])
        >>> [letter.get_text() for letter in figure.axes[0].get_yticklabels()]
        ['A', 'B']
    """
    changes = np.asarray(scores, float)
    codes = np.asarray(row, int)
    if letters[0] == "-":
        changes = changes[:, 1:]
        codes = codes - 1
        letters = letters[1:]
    sites = len(changes)
    if numbers is None:
        numbers = range(1, sites + 1)
    blocks = math.ceil(sites / SITES_IN_ROW)
    width = min(SITES_IN_ROW, sites)
    cell = min(10.8 / width, 0.35)  # inches; its height is at least that of a small letter
    height = max(0.14, cell) * len(letters) + 0.5
    title = "log p(changed sequence) − log p(sequence), in nats"
    figure = new_figure(max(1.2 + cell * width, 5.0), 0.6 + height * blocks, title)
    low, high = np.nanpercentile(changes, [1, 99])  # a few extreme changes would leave others pale
    end = max(-low, high, SMALLEST)
    norm = Normalize(-end, end)
    step = 10 if width > 30 else 1
    for block, axes in enumerate(panels(figure, blocks, 1)):
        part = slice(block * SITES_IN_ROW, (block + 1) * SITES_IN_ROW)
        axes.imshow(changes[part].T, cmap="PuOr_r", norm=norm, aspect="auto")
        axes.set_facecolor("0.85")
        axes.scatter(range(len(codes[part])), codes[part], s=3, color="black", linewidths=0)
        axes.set_yticks(range(len(letters)), list(letters), fontsize=SMALL - 2)
        ticks = {
            k: number for k, number in enumerate(numbers[part]) if number and number % step == 0
        }
        axes.set_xticks(list(ticks), list(map(str, ticks.values())), fontsize=SMALL)
        axes.set_xlim(-0.5, width - 0.5)
        axes.tick_params(length=2)
    figure.supxlabel(label, fontsize=TEXT)
    bar = figure.colorbar(ScalarMappable(norm, "PuOr_r"), ax=figure.axes, shrink=0.8, pad=0.01)
    bar.ax.tick_params(labelsize=SMALL)
    return figure


def contact_map(
    scores: Any, *, best: int, apart: int = 4, distances: Any = None, contact: float = 8.0
) -> Figure:
    """Draw the most strongly coupled pairs of sites, and the contacts of a structure if given.

    If distances are given, the contacts of the structure are drawn below the diagonal, in grey, and
    the coupled pairs above the diagonal: in blue if they are contacts, in orange if they are not,
    and in grey if the distance is unknown.

    Args:
        scores: a symmetric matrix, from `contact_scores`.
        best: the number of pairs to draw.
        apart: pairs of sites with |i − j| ≤ `apart` are left out.
        distances: distances between sites in Å, NaN if unknown; None if there is no structure.
        contact: the largest distance that counts as a contact, in Å.

    Example:
        >>> from harmonium import plot
        >>> scores = np.zeros((12, 12))
        >>> scores[2, 9] = scores[9, 2] = scores[0, 6] = scores[6, 0] = 1.0
        >>> plot.contact_map(scores, best=2).axes[0].get_title(loc="left")
        'the 2 most strongly coupled pairs, |i − j| > 4; area is strength'
    """
    strength = np.asarray(scores, float)
    n = len(strength)
    i, j = np.triu_indices(n, apart + 1)
    order = np.argsort(-strength[i, j])[:best]
    i = i[order]
    j = j[order]
    area = max(2.0, 3_000 / n**1.4)
    areas = area * np.clip(strength[i, j] / max(strength[i, j].max(), SMALLEST), 0.05, 1.0)
    figure = new_figure(6.4, 6.4)
    axes = figure.subplots()
    if distances is None:
        words = count_of(best, "most strongly coupled pair")
        title = f"the {words}, |i − j| > {apart}; area is strength"
        axes.scatter(j + 1, i + 1, s=areas, color=BLUE, linewidths=0)
        axes.scatter(i + 1, j + 1, s=areas, color=BLUE, linewidths=0)
    else:
        distances = np.asarray(distances, float)
        below, across = np.nonzero(np.tril(distances <= contact, -apart - 1))
        axes.scatter(across + 1, below + 1, s=area, color="0.8", linewidths=0)
        is_near = distances[i, j] <= contact
        is_known = ~np.isnan(distances[i, j])
        groups = {BLUE: is_near, ORANGE: ~is_near & is_known, GREY: ~is_known}
        for color, group in groups.items():
            axes.scatter(j[group] + 1, i[group] + 1, s=areas[group], color=color, linewidths=0)
        fraction = is_near.sum() / max(1, is_known.sum())
        title = (
            f"above: the {best:,} best pairs; of those with a known distance, {fraction:.0%} are"
            f" within {contact:g} Å (blue)\nbelow: pairs within {contact:g} Å in the structure"
        )
    label(axes, title, "site", "site")
    axes.set(xlim=(0.5, n + 0.5), ylim=(n + 0.5, 0.5), aspect="equal")
    whole_ticks(axes)
    return figure


def weight_logos(
    weights: Any, letters: str, units: Sequence[int], *, numbers: Sequence[int] | None = None
) -> Figure:
    """Draw the weights of hidden units as sequence logos: the height of a letter is its weight.

    Letters above the line increase the input to the unit; letters below the line decrease it. For
    each unit, the 30 sites with the largest weights are shown, in sequence order.

    Args:
        weights: W, shape (sites, letters, hidden units).
        letters: the letters, in the order of their codes.
        units: the hidden units to draw, at most ten.
        numbers: the number of each site; 1, 2, … if None.

    Raises:
        InputError: no units are given, or more than ten.
        MissingDependencyError: logomaker is not installed.

    Example:
        >>> from harmonium import plot
        >>> weights = np.array([[[0.0], [1.0], [-1.0]], [[0.5], [0.0], [-0.5]]])  # 2 sites, 1 unit
        >>> figure = plot.weight_logos(weights, "-AB", units=[0])
        >>> len(figure.axes)
        1
    """
    if not 0 < len(units) <= MOST_LOGOS:
        raise InputError(f"units: expected 1 to {MOST_LOGOS} hidden units; got {len(units)}.")
    logomaker = optional("logomaker", "logos", "sequences")
    if numbers is None:
        numbers = range(1, len(weights) + 1)
    figure = new_figure(11.0, 1.5 * len(units) + 0.3)
    for axes, unit in zip(panels(figure, len(units), 1), units, strict=True):
        w = np.asarray(weights, float)[:, :, unit]
        largest = np.sort(np.argsort(-(w**2).sum(1))[:SITES_IN_LOGO])
        table = optional("pandas", "logos").DataFrame(
            w[largest], columns=list(letters.replace("-", "∆"))
        )
        logomaker.Logo(table, ax=axes, color_scheme=_colors(letters), show_spines=False)
        title = f"hidden unit {unit}"
        if len(largest) < len(w):
            title += f", the {len(largest)} sites with the largest weights"
        axes.axhline(0.0, color=GREY, linewidth=0.8)
        ticks = [str(numbers[site]) for site in largest]
        axes.set_xticks(range(len(ticks)), ticks, fontsize=SMALL - 1, rotation=90)
        axes.tick_params(axis="y", labelsize=SMALL)
        axes.set_title(title, fontsize=TEXT, loc="left")
        axes.set_ylabel("weight", fontsize=SMALL)
    return figure


def _colors(letters: str) -> Any:
    """Return logomaker's colour scheme: chemical groups for proteins, bases for nucleic acids."""
    groups = {"AVILMFWYC": "#000000", "KRH": BLUE, "DE": ORANGE, "STNQ": "#009E73", "GP": "#CC79A7"}
    if set(letters) <= set("-ACGTU"):
        groups = {"A": "#009E73", "C": BLUE, "G": "#E69F00", "TU": ORANGE}
    if set(letters) - {"-", *"".join(groups)}:
        return BLUE
    return {letter: color for group, color in groups.items() for letter in group} | {"∆": GREY}
