"""The pictures of `three_ways.py`: learning curves, filters and reconstructions side by side."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure
from PIL import Image  # installed with matplotlib

import harmonium as hm
from harmonium.plot import save_figure
from harmonium.plot.base import SMALL, TEXT, color_bar, draw_matrix, label, new_figure, tiled

# Okabe and Ito's colours, distinct for every kind of colour vision; the dashes differ as well.
STYLES = (
    {"color": "#000000", "linestyle": "-"},
    {"color": "#E69F00", "linestyle": "--"},
    {"color": "#0072B2", "linestyle": ":"},
    {"color": "#CC79A7", "linestyle": "-."},
)
IMAGE = (28, 28)
FILTERS = 16
DIGITS = 12
COLOURS = 128
PERCENTILE = 99.5


def shared_epochs(versions: Iterable[Sequence[Any]]) -> list[float]:
    """Return the epochs after which all versions have a score."""
    return sorted(set.intersection(*(set(runs[0].epochs) for runs in versions)))


def draw_curves(runs: Mapping[str, Sequence[Any]], compared: Sequence[str], path: Path) -> None:
    """Draw the likelihood against the epoch, and differences of some versions from the first."""
    figure = new_figure(8.2, 3.4)
    left, right = figure.subplots(1, 2)
    epochs = shared_epochs(runs.values())
    curves = {name: np.stack([run.at(epochs) for run in version]) for name, version in runs.items()}
    base = next(iter(curves.values()))
    for (name, values), style in zip(curves.items(), STYLES, strict=False):
        mean = values.mean(0)
        left.plot(epochs, mean, label=name, linewidth=1.6, **style)
        if len(values) > 1:
            spread = values.std(0, ddof=1)
            shade = {"color": style["color"], "alpha": 0.15, "linewidth": 0}
            left.fill_between(epochs, mean - spread, mean + spread, **shade)
            error = np.sqrt((values.var(0, ddof=1) + base.var(0, ddof=1)) / len(values))
            apart = mean - base.mean(0)
            if name in compared:
                right.fill_between(epochs, apart - 2 * error, apart + 2 * error, **shade)
        if name in compared or values is base:
            right.plot(epochs, mean - base.mean(0), linewidth=1.6, **style)
    label(left, "exact log-likelihood: mean and spread over seeds", "epoch", "nats per row")
    label(right, "the same, less NumPy's: ± 2 standard errors", "epoch", "nats per row")
    left.legend(fontsize=SMALL, frameon=False, loc="lower right")
    save_small(figure, path)


def draw_filters(models: Mapping[str, hm.RBM], path: Path) -> None:
    """Draw the weights of each model's strongest hidden units as images, on one scale."""
    figure = new_figure(1.95 * len(models) + 0.7, 2.2)
    panels = figure.subplots(1, len(models), squeeze=False)[0]
    weights = {name: np.asarray(rbm.weights) for name, rbm in models.items()}
    end = float(np.percentile(np.abs(np.concatenate([*weights.values()], axis=1)), PERCENTILE))
    image = None
    for axes, (name, matrix) in zip(panels, weights.items(), strict=True):
        strongest = np.argsort(-np.linalg.norm(matrix, axis=0), kind="stable")[:FILTERS]
        shown = tiled(matrix.T[strongest].reshape(-1, *IMAGE))
        image = draw_matrix(axes, shown, "RdBu_r", (-end, end), tiles=True)
        label(axes, name, grid=False)
    color_bar(figure, image, list(panels), "weight (nats)", extend="both")
    save_small(figure, path)


def draw_reconstructions(models: Mapping[str, hm.RBM], rows: np.ndarray, path: Path) -> None:
    """Draw some rows above their reconstructions by each model."""
    chosen = rows[np.linspace(0, len(rows) - 1, DIGITS).round().astype(int)]
    lines = {"test digit": chosen.astype(float)}
    lines |= {name: reconstructed(rbm, chosen) for name, rbm in models.items()}
    figure = new_figure(8.2, 0.62 * len(lines) + 0.2)
    panels = figure.subplots(len(lines), 1)
    image = None
    for axes, (name, images) in zip(panels, lines.items(), strict=True):
        strip = np.pad(images.reshape(-1, *IMAGE), ((0, 0), (0, 0), (0, 2)), constant_values=np.nan)
        image = draw_matrix(axes, np.hstack([*strip])[:, :-2], "gray", (0.0, 1.0), tiles=True)
        axes.text(
            -0.01, 0.5, name, ha="right", va="center", fontsize=TEXT, transform=axes.transAxes
        )
    color_bar(figure, image, list(panels), "probability of a 1")
    save_small(figure, path)


def save_small(figure: Figure, path: Path) -> None:
    """Write a picture with a limited palette, which reduces the file to a third."""
    save_figure(figure, path)
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def reconstructed(rbm: hm.RBM, rows: np.ndarray) -> np.ndarray:
    """Return ⟨v⟩ at the hidden means given each row, σ(a + W σ(b + Wᵀv)), without random draws."""
    mean_h = rbm.mean_h_from_v(jnp.asarray(rows, rbm.weights.dtype))
    return np.asarray(rbm.mean_v_from_h(mean_h))
