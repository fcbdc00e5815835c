"""Pictures of a model of sequences: mutations, contacts and weights as logos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..errors import InputError, MissingDependencyError, count_of
from .base import BLUE, GREY, ORANGE, SMALL, TEXT, label, new_figure

SITES_IN_ROW = 100
MOST_LOGOS = 10
SITES_IN_LOGO = 30
FEW = 1e-9


def mutation_map(
    scores: Any,
    letters: str,
    row: Any,
    *,
    numbers: Sequence[int] | None = None,
    label: str = "site",
) -> Figure:
    """Draw what each change of one letter does to log p: a row for each letter, a column each site.

    Violet is less probable than the sequence, orange more probable; a dot is the sequence itself.
    Gaps are left out; a site with NaN is grey.

    Args:
        scores: log p(changed) − log p(sequence), shape (sites, letters), as `single_changes`.
        letters: the letters, in the order of their codes.
        row: the sequence, as codes.
        numbers: the number of each site, 0 for none; 1, 2, … if None.
        label: what the numbers are of.

    Example:
        >>> from harmonium import plot
        >>> scores = np.array([[0.0, -1.0, -2.0], [-3.0, 0.0, 1.0]])  # 2 sites, letters -AB
        >>> figure = plot.mutation_map(scores, "-AB", [0, 1])
        >>> [letter.get_text() for letter in figure.axes[0].get_yticklabels()]
        ['A', 'B']
    """
    found = np.asarray(scores, float)
    codes = np.asarray(row, int)
    if letters[0] == "-":
        found = found[:, 1:]
        codes = codes - 1
        letters = letters[1:]
    sites = len(found)
    shown = list(range(1, sites + 1)) if numbers is None else list(numbers)
    blocks = -(-sites // SITES_IN_ROW)
    title = "log p(changed sequence) − log p(sequence), in nats"
    width = min(SITES_IN_ROW, sites)
    cell = min(10.8 / width, 0.35)  # inches; its height is at least that of a small letter
    height = max(0.14, cell) * len(letters) + 0.5
    figure = new_figure(max(1.2 + cell * width, 5.0), 0.6 + height * blocks, title)
    norm = _two_sided(found)
    image = None
    step = 10 if width > 30 else 1
    for block, axes in enumerate(np.ravel(figure.subplots(blocks, 1, squeeze=False))):
        part = slice(block * SITES_IN_ROW, (block + 1) * SITES_IN_ROW)
        image = axes.imshow(found[part].T, cmap="PuOr_r", norm=norm, aspect="auto")
        axes.set_facecolor("0.85")
        places = np.arange(len(found[part]))
        axes.scatter(places, codes[part], s=3, color="black", linewidths=0)
        axes.set_yticks(range(len(letters)), list(letters), fontsize=SMALL - 2)
        ticks = [k for k in places if (number := shown[part.start + k]) and number % step == 0]
        axes.set_xticks(ticks, [str(shown[part.start + k]) for k in ticks], fontsize=SMALL)
        axes.set_xlim(-0.5, width - 0.5)
        axes.tick_params(length=2)
    figure.supxlabel(label, fontsize=TEXT)
    if image is not None:
        figure.colorbar(image, ax=figure.axes, shrink=0.8, pad=0.01).ax.tick_params(labelsize=SMALL)
    return figure


def contact_map(
    scores: Any, *, best: int, apart: int = 4, distances: Any = None, contact: float = 8.0
) -> Figure:
    """Draw the most strongly coupled pairs, and the contacts of a structure where it is known.

    Below the diagonal are the contacts of the structure, in grey; above it the best pairs, in blue
    where they are contacts, in orange where they are not.

    Args:
        scores: a symmetric matrix, as `contact_scores`.
        best: the number of pairs to draw.
        apart: pairs of sites |i − j| ≤ apart are left out.
        distances: distances between sites in Å, NaN where unknown; None for none.
        contact: the largest distance of a contact.

    Example:
        >>> from harmonium import plot
        >>> scores = np.zeros((12, 12))
        >>> scores[2, 9] = scores[9, 2] = scores[0, 6] = scores[6, 0] = 1.0
        >>> plot.contact_map(scores, best=2).axes[0].get_title(loc="left")
        'the 2 most strongly coupled pairs, |i − j| > 4; area is strength'
    """
    found = np.asarray(scores, float)
    n = len(found)
    i, j = np.triu_indices(n, apart + 1)
    order = np.argsort(-found[i, j])[:best]
    i = i[order]
    j = j[order]
    figure = new_figure(6.4, 6.4)
    axes = figure.subplots()
    size = max(2.0, 3_000 / n**1.4)
    sizes = size * np.clip(found[i, j] / max(found[i, j].max(), FEW), 0.05, 1.0)
    if distances is None:
        pairs = count_of(best, "most strongly coupled pair")
        title = f"the {pairs}, |i − j| > {apart}; area is strength"
        axes.scatter(j + 1, i + 1, s=sizes, color=BLUE, linewidths=0)
        axes.scatter(i + 1, j + 1, s=sizes, color=BLUE, linewidths=0)
    else:
        known = np.asarray(distances, float)
        a, b = np.nonzero(np.tril(known <= contact, -apart - 1))
        axes.scatter(b + 1, a + 1, s=size, color="0.8", linewidths=0)
        near = known[i, j] <= contact
        seen = ~np.isnan(known[i, j])
        for which, color in ((near & seen, BLUE), (~near & seen, ORANGE), (~seen, GREY)):
            axes.scatter(j[which] + 1, i[which] + 1, s=sizes[which], color=color, linewidths=0)
        share = near[seen].mean() if seen.any() else 0.0
        title = f"above: the {best:,} best pairs; of those with a known distance {share:.0%} are"
        title += f" within {contact:g} Å (blue)"
        title += "\nbelow: pairs of the structure that are as near"
    label(axes, title, "site", "site")
    axes.set(xlim=(0.5, n + 0.5), ylim=(n + 0.5, 0.5), aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    return figure


def weight_logos(
    weights: Any, letters: str, units: Sequence[int], *, numbers: Sequence[int] | None = None
) -> Figure:
    """Draw the weights of hidden units as logos: a letter's height is its weight.

    Letters above the line push the unit up, those below push it down. The 30 sites with the largest
    weights are shown, in their order.

    Args:
        weights: W, shape (sites, letters, hidden units).
        letters: the letters, in the order of their codes.
        units: the hidden units to draw, at most ten.
        numbers: the number of each site; 1, 2, … if None.

    Raises:
        InputError: no units, or more than ten.
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
    try:
        import logomaker
        import pandas as pd
    except ImportError:
        raise MissingDependencyError(
            "logos: expected the package logomaker; found that it is not installed; install it"
            " with: pip install 'harmonium[sequences]', or pip install logomaker."
        ) from None
    array = np.asarray(weights, float)
    shown = np.arange(1, len(array) + 1) if numbers is None else np.asarray(numbers)
    figure = new_figure(11.0, 1.5 * len(units) + 0.3)
    for axes, unit in zip(
        np.ravel(figure.subplots(len(units), 1, squeeze=False)), units, strict=True
    ):
        w = array[:, :, unit]
        top = np.sort(np.argsort(-(w**2).sum(1))[:SITES_IN_LOGO])
        table = pd.DataFrame(w[top], columns=list(letters.replace("-", "∆")))
        logomaker.Logo(table, ax=axes, color_scheme=_colors(letters), show_spines=False)
        some = f", the {len(top)} sites with the largest weights" if len(top) < len(w) else ""
        _beautify(axes, f"hidden unit {unit}{some}", shown[top])
    return figure


def _beautify(axes: Axes, title: str, numbers: np.ndarray) -> None:
    axes.axhline(0.0, color=GREY, linewidth=0.8)
    axes.set_xticks(range(len(numbers)), [str(k) for k in numbers], fontsize=SMALL - 1, rotation=90)
    axes.tick_params(axis="y", labelsize=SMALL)
    axes.set_title(title, fontsize=TEXT, loc="left")
    axes.set_ylabel("weight", fontsize=SMALL)


def _colors(letters: str) -> Any:
    """Return logomaker's colours by chemistry for protein, by base for nucleotides."""
    if set(letters) <= set("-ACGTU"):
        return {
            **dict(zip("ACGTU", ("#009E73", BLUE, "#E69F00", ORANGE, ORANGE), strict=True)),
            "∆": GREY,
        }
    if set(letters) - set("-ACDEFGHIKLMNPQRSTVWY"):
        return BLUE
    kinds = {"AVILMFWYC": "#000000", "KRH": BLUE, "DE": ORANGE, "STNQ": "#009E73", "GP": "#CC79A7"}
    return {letter: color for some, color in kinds.items() for letter in some} | {"∆": GREY}


def _two_sided(values: np.ndarray) -> TwoSlopeNorm:
    """Return a colour scale with its middle at 0, whose ends are far from most values."""
    low, high = np.nanpercentile(values, [1, 99])
    end = max(-low, high, FEW)
    return TwoSlopeNorm(0.0, -end, end)
