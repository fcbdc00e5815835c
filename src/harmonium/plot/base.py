"""Helpers that the plots share: figures, colours, labels, grids of images, and checks of input.

Only matplotlib's objects are used, never its global state, so a figure made here works with any
backend.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from .._base.checks import as_array
from ..errors import InputError
from ..io.formats.base import write_whole

ImageShape = tuple[int, int] | Literal["square"] | None

DPI = 120
# distinct for every kind of colour vision
BLUE = "#0072B2"
GREY = "#767676"
ORANGE = "#D55E00"
COLORS = (BLUE, ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "black")  # Okabe & Ito 2008
GAP = "#a9b4c2"  # between tiles; neither a grey nor a colour of the diverging scale
TILE = 24  # fewest pixels along a tile's longer side; the gap is 1/24 of that side
# font sizes in points
TITLE = 11
TEXT = 9
SMALL = 8
FEWEST_SQUARE_PIXELS = 16
FEWEST_BINS = 11
MOST_BINS = 121
OUTER = 0.005  # share of values at either end that may lie beyond the axis of histograms


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Return an empty figure of this size in inches."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, fontsize=TITLE)
    return figure


def save_figure(figure: Figure, path: str | os.PathLike) -> Path:
    """Write a figure as a PNG file, through a temporary one: a crash leaves no incomplete file.

    Args:
        figure: the figure.
        path: the file to write, with the suffix `.png`. An existing file is replaced.

    Returns:
        The path.

    Raises:
        InputError: another suffix, or a folder that does not exist.

    Example:
        >>> import pathlib, tempfile
        >>> from harmonium import plot
        >>> figure = plot.image_grid(hm.bars_and_stripes(2), image_shape=(2, 2))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plot.save_figure(figure, pathlib.Path(folder, "rows.png")).name
        'rows.png'
    """
    target = Path(path)
    if target.suffix.lower() != ".png":
        raise InputError(
            f"path: expected a file name ending in .png; found {str(target)!r}."
            " Pictures are written as PNG; figure.savefig writes other formats."
        )
    if not target.parent.is_dir():
        raise InputError(
            f"path: expected a file in a folder that exists; found {str(target)!r}."
            f" Make the folder {str(target.parent)!r} first."
        )
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DPI)
    write_whole(target, content.getvalue())
    return target


def label(axes: Axes, title: str = "", x: str = "", y: str = "", *, grid: bool = True) -> None:
    """Set the title and the axis labels, and draw a light grid behind the content."""
    axes.set_title(title, fontsize=TEXT, loc="left")
    axes.set_xlabel(x, fontsize=TEXT)
    axes.set_ylabel(y, fontsize=TEXT)
    axes.tick_params(labelsize=SMALL, color=GREY)
    for side in ("top", "right"):
        axes.spines[side].set_visible(not grid)
    if grid:
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)


def say(figure: Figure, text: str) -> Figure:
    """Write a sentence in place of a plot."""
    figure.text(0.5, 0.5, text, ha="center", va="center", fontsize=TITLE, color=GREY)
    return figure


def legend_below(figure: Figure, columns: int = 2) -> None:
    """Draw a legend below all axes, where it covers nothing."""
    figure.legend(loc="outside lower center", ncols=columns, fontsize=SMALL, frameon=False)


def histograms(
    axes: Axes, groups: Sequence[np.ndarray], names: Sequence[str], colors: Sequence[str]
) -> np.ndarray:
    """Draw histograms over each other, with common bins and an area of 1 each.

    Far tails are cut off, and the legend tells how many values lie there.

    Returns:
        The share of the values of each group in each bin, shape (groups, bins).
    """
    edges = _edges(groups)
    shares = np.stack([np.histogram(some, edges)[0] / len(some) for some in groups])
    for some, share, name, color in zip(groups, shares, names, colors, strict=True):
        beyond = int(((some < edges[0]) | (some > edges[-1])).sum())
        text = f"{name} ({beyond:,} lie beyond the axis)" if beyond else name
        density = share / np.diff(edges)
        axes.stairs(density, edges, fill=True, color=color, alpha=0.35, linewidth=0)
        axes.stairs(density, edges, color=color, linewidth=1.3, label=text.replace("-", "−"))
    margin = 0.03 * (edges[-1] - edges[0])
    axes.set_xlim(edges[0] - margin, edges[-1] + margin)
    axes.set_ylim(bottom=0.0)
    return shares


def _edges(groups: Sequence[np.ndarray]) -> np.ndarray:
    """Return common bins with the Freedman–Diaconis (1981) width of the narrowest group."""
    both = np.concatenate(groups)
    quantiles = [np.quantile(some, [OUTER, 0.25, 0.75, 1.0 - OUTER]) for some in groups]
    low = min(q[0] for q in quantiles)
    high = max(q[3] for q in quantiles)
    reach = high - low
    low = max(both.min(), low - reach / 2)
    high = min(both.max(), high + reach / 2)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low = low - 0.5
        high = high + 0.5
    widths = [2.0 * (q[2] - q[1]) / np.cbrt(len(g)) for q, g in zip(quantiles, groups, strict=True)]
    narrow = min((width for width in widths if width > 0.0), default=high - low)
    count = int(np.clip(np.ceil((high - low) / narrow), FEWEST_BINS, MOST_BINS))
    return np.linspace(low, high, count + 1)


def draw_matrix(
    axes: Axes, matrix: np.ndarray, colors: str, ends: tuple[float, float], *, tiles: bool
) -> AxesImage:
    """Draw a matrix on a colour scale with given ends, without axes if it is a grid of tiles."""
    palette = colormaps[colors].with_extremes(bad=GAP)
    aspect = "equal" if tiles else "auto"
    image = axes.imshow(matrix, cmap=palette, vmin=ends[0], vmax=ends[1], aspect=aspect)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    if tiles:
        axes.set_axis_off()
    return image


def color_bar(
    figure: Figure,
    image: Any,
    where: Any,
    text: str,
    *,
    extend: str = "neither",
    whole: bool = False,
) -> None:
    """Draw a slim colour bar beside the axes `where`, with ticks at whole numbers if `whole`."""
    bar = figure.colorbar(image, ax=where, shrink=0.7, aspect=30, pad=0.02, extend=extend)
    bar.set_label(text, fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL)
    if whole:
        bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def as_picture(rows: np.ndarray, shape: tuple[int, int] | None) -> np.ndarray:
    """Return rows as one picture: tiles of this shape, or the rows themselves if it is None."""
    return rows if shape is None else tiled(rows.reshape(-1, *shape))


def tiled(images: np.ndarray) -> np.ndarray:
    """Arrange images of shape (n, rows, columns) in one near-square picture, NaN between them.

    Small images are enlarged by a whole factor, so that the lines between them are thin.
    """
    factor = math.ceil(TILE / max(images.shape[1:]))
    images = images.repeat(factor, axis=1).repeat(factor, axis=2)
    n, height, width = images.shape
    across = min(n, max(1, math.ceil(math.sqrt(n * height / width))))
    down = math.ceil(n / across)
    gap = max(1, round(min(max(height, width) / TILE, min(height, width) / 4)))
    padded = np.full((down * across, height + gap, width + gap), np.nan)
    padded[:n, gap:, gap:] = images
    grid = padded.reshape(down, across, height + gap, width + gap)
    picture = grid.transpose(0, 2, 1, 3).reshape(down * (height + gap), across * (width + gap))
    return np.pad(picture, ((0, gap), (0, gap)), constant_values=np.nan)


def size_of_picture(picture: np.ndarray, side: float = 6.8) -> tuple[float, float]:
    """Return a figure's size in inches: a picture up to `side` wide and high, and a colour bar."""
    height, width = picture.shape
    inch = side / max(height, width)
    return max(3.2, width * inch + 1.0), max(1.6, height * inch + 0.5)


def evenly_spaced(rows: np.ndarray, count: int) -> np.ndarray:
    """Return at most `count` rows, evenly spaced, as rows are often stored class by class."""
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]


def checked_numbers(values: Any, name: str) -> np.ndarray:
    """Return finite numbers as a vector.

    Raises:
        InputError: another shape, an empty vector, or entries that are not finite numbers.
    """
    array = as_array(values, name)
    if array.ndim != 1 or not len(array) or array.dtype.kind not in "buif":
        raise InputError(
            f"{name}: expected a vector of at least one number; found shape {array.shape} of"
            f" {array.dtype}. Pass one number for each row."
        )
    wrong = int((~np.isfinite(array)).sum())
    if wrong:
        raise InputError(
            f"{name}: expected finite numbers; found {wrong} entries that are not. Drop them first."
        )
    return array.astype(float)


def checked_shape(shape: ImageShape, pixels: int, of: str) -> tuple[int, int] | None:
    """Return the shape of a row as an image, or None if it is not drawn as one.

    Args:
        shape: (rows, columns), "square" to infer it from the number of pixels, or None.
        pixels: the number of pixels of a row.
        of: what the pixels are, for the message: "visible units of the model", "columns of data".

    Raises:
        InputError: not a shape, or one with another number of pixels.
    """
    if shape is None:
        return None
    if isinstance(shape, str):
        return _square(shape, pixels, of)
    sides = tuple(shape) if np.ndim(shape) == 1 else ()
    if len(sides) != 2 or not all(isinstance(s, int | np.integer) and s > 0 for s in sides):
        raise InputError(
            f"image_shape: expected two positive whole numbers, (rows, columns); found {shape!r}."
            " Pass None for data that are not images."
        )
    if sides[0] * sides[1] != pixels:
        raise InputError(
            f"image_shape: expected {pixels} pixels, one for each of the {of}; found {shape!r}"
            f" with {sides[0] * sides[1]}. Pass the shape of one row, or None."
        )
    return int(sides[0]), int(sides[1])


def _square(shape: str, pixels: int, of: str) -> tuple[int, int]:
    side = math.isqrt(pixels)
    if shape != "square":
        raise InputError(
            f"image_shape: expected (rows, columns), 'square' or None; found {shape!r}."
        )
    if side**2 != pixels or pixels < FEWEST_SQUARE_PIXELS:
        raise InputError(
            f"image_shape: expected a square number, 16 or more, of {of} for 'square'; found"
            f" {pixels}. Pass (rows, columns), or None."
        )
    return side, side


def finite_array(parameter: Any, name: str) -> np.ndarray:
    """Return a model's parameter as an array.

    Raises:
        InputError: entries that are not finite, as after a run that diverged.
    """
    array = np.asarray(parameter, float)
    wrong = int((~np.isfinite(array)).sum())
    if wrong:
        raise InputError(
            f"rbm: expected finite {name}; found {wrong} entries that are not."
            " Draw an earlier model of the run."
        )
    return array
