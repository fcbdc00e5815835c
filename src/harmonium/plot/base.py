"""Functions that the plots share: figures, panels, labels, histograms, images and checks.

Only matplotlib's object-oriented interface is used, never pyplot's global state, so figures work
with any backend.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from .._base.checks import as_array, checked_pair
from ..errors import InputError
from ..evaluation.moments import Variables, check_codes, variables_of
from ..io.formats.base import write_whole

DPI = 120  # text is sharp on a screen
# colours that are distinct for every kind of colour vision
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
FEWEST_BINS = 11  # odd, so that the middle of a symmetric distribution is a bin
MOST_BINS = 121
OUTER = 0.005  # fraction of values at either end that may lie beyond the axis of histograms
MOST_ROWS = 10_000  # more rows would hardly change a picture, but take seconds


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Return an empty figure of `width` × `height` inches, with a title if one is given."""
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor="white")
    if title:
        figure.suptitle(title, fontsize=TITLE)
    return figure


def panels(figure: Figure, count: int, across: int, **options: Any) -> list[Axes]:
    """Return axes for `count` panels, in rows of `across` panels; the last row may be shorter."""
    axes = figure.subplots(math.ceil(count / across), across, squeeze=False, **options).ravel()
    for unused in axes[count:]:
        figure.delaxes(unused)
    return list(axes[:count])


def save_figure(figure: Figure, path: str | os.PathLike) -> Path:
    """Write a figure to a PNG file atomically, so that a crash leaves no incomplete file.

    Args:
        figure: the figure.
        path: the file to write, with the suffix `.png`. An existing file is replaced.

    Returns:
        The path.

    Raises:
        InputError: the suffix is not `.png`, or the folder does not exist.

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
            f"path: expected a file name ending in .png; got {str(target)!r}; for other formats,"
            " call figure.savefig."
        )
    if not target.parent.is_dir():
        raise InputError(
            f"path: expected a file in a folder that exists; got {str(target)!r}; make the folder"
            f" {str(target.parent)!r} first."
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
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(not grid)
    if grid:
        axes.grid(color="0.9", linewidth=0.8)
        axes.set_axisbelow(True)


def whole_ticks(axes: Axes) -> None:
    """Put the ticks of both axes at whole numbers."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))


def legend_below(figure: Figure, columns: int = 2) -> None:
    """Draw a legend below all axes, where it covers nothing."""
    figure.legend(loc="outside lower center", ncols=columns, fontsize=SMALL, frameon=False)


def signed(text: str) -> str:
    """Replace hyphens with true minus signs, as matplotlib does for axis labels."""
    return text.replace("-", "−")


def histograms(
    axes: Axes, groups: Sequence[np.ndarray], names: Sequence[str], colors: Sequence[str]
) -> np.ndarray:
    """Draw overlaid histograms with common bins, each with an area of 1.

    Far tails are cut off, and the legend gives the number of values beyond the axis.

    Returns:
        The fraction of the values of each group in each bin, shape (groups, bins).
    """
    edges = _bin_edges(groups)
    fractions = np.stack([np.histogram(values, edges)[0] / len(values) for values in groups])
    for values, fraction, name, color in zip(groups, fractions, names, colors, strict=True):
        beyond = int(((values < edges[0]) | (values > edges[-1])).sum())
        text = name
        if beyond:
            text += f" ({beyond:,} beyond the axis)"
        density = fraction / np.diff(edges)
        axes.stairs(density, edges, fill=True, color=color, alpha=0.35, linewidth=0)
        axes.stairs(density, edges, color=color, linewidth=1.3, label=signed(text))
    margin = 0.03 * (edges[-1] - edges[0])
    axes.set_xlim(edges[0] - margin, edges[-1] + margin)
    axes.set_ylim(bottom=0.0)
    return fractions


def _bin_edges(groups: Sequence[np.ndarray]) -> np.ndarray:
    """Return common bin edges, with the smallest Freedman–Diaconis (1981) width of all groups."""
    pooled = np.concatenate(groups)
    quantiles = [np.quantile(values, [OUTER, 0.25, 0.75, 1.0 - OUTER]) for values in groups]
    lows, quarters, three_quarters, highs = np.array(quantiles).T
    # A tail that extends by less than half the width of the bulk is drawn to its end.
    beyond = (highs.max() - lows.min()) / 2
    low = max(pooled.min(), lows.min() - beyond)
    high = min(pooled.max(), highs.max() + beyond)
    if high - low <= 1e-9 * max(abs(low), abs(high)):  # equal numbers, up to rounding
        low -= 0.5
        high += 0.5
    widths = 2.0 * (three_quarters - quarters) / np.cbrt([len(values) for values in groups])
    width = min(widths[widths > 0.0], default=high - low)
    count = int(np.clip(np.ceil((high - low) / width), FEWEST_BINS, MOST_BINS))
    return np.linspace(low, high, count + 1)


def draw_matrix(
    axes: Axes, matrix: np.ndarray, colors: str, ends: tuple[float, float], *, tiles: bool
) -> AxesImage:
    """Draw a matrix with the colour limits `ends`; `tiles` marks a grid of images, without axes."""
    palette = colormaps[colors].with_extremes(bad=GAP)
    aspect = "equal" if tiles else "auto"
    image = axes.imshow(matrix, cmap=palette, vmin=ends[0], vmax=ends[1], aspect=aspect)
    whole_ticks(axes)
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
    """Draw a slim colour bar beside the axes `where`; if `whole`, its ticks are integers."""
    bar = figure.colorbar(image, ax=where, shrink=0.7, aspect=30, pad=0.02, extend=extend)
    bar.set_label(text, fontsize=TEXT)
    bar.ax.tick_params(labelsize=SMALL)
    if whole:
        bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]


def as_picture(rows: np.ndarray, shape: tuple[int, int] | None) -> np.ndarray:
    """Return one picture of all rows: a grid of images, or the matrix if `shape` is None."""
    if shape is None:
        return rows
    return tiled(rows.reshape(-1, *shape))


def tiled(images: np.ndarray) -> np.ndarray:
    """Arrange images, shape (n, rows, columns), in a near-square grid with NaN between them.

    Small images are enlarged by an integer factor, so that the lines between them look thin.
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


def size_of_picture(picture: np.ndarray, longest: float = 6.8) -> tuple[float, float]:
    """Return the size, in inches, of a figure with a picture and a colour bar.

    Args:
        picture: the picture.
        longest: length of the picture's longer side, in inches.
    """
    height, width = picture.shape
    inch = longest / max(height, width)
    return max(3.2, width * inch + 1.0), max(1.6, height * inch + 0.5)


def checked_numbers(
    values: Any,
    name: str,
    axes: tuple[str, ...] = ("rows",),
    advice: str = "drop them first",
) -> np.ndarray:
    """Return the values as a float array with one axis for each name in `axes`.

    Raises:
        InputError: the number of axes differs, or the array is empty, not numeric or not finite.
    """
    array = as_array(values, name)
    if array.ndim != len(axes) or 0 in array.shape or array.dtype.kind not in "buif":
        raise InputError(
            f"{name}: expected a non-empty array of numbers, shape ({', '.join(axes)}); got shape"
            f" {array.shape}, dtype {array.dtype}."
        )
    return checked_finite(array, name, advice)


def checked_finite(array: Any, name: str, advice: str) -> np.ndarray:
    """Return an array as floats; raise InputError if any entry is not finite."""
    numbers = np.asarray(array, float)
    wrong = int((~np.isfinite(numbers)).sum())
    if wrong:
        raise InputError(
            f"{name}: expected finite numbers; got NaN or infinity in {wrong:,} of"
            f" {numbers.size:,} entries; {advice}."
        )
    return numbers


def checked_parameter(array: Any, name: str) -> np.ndarray:
    """Return a model's parameter as floats; raise InputError unless it is finite."""
    return checked_finite(array, name, "the run diverged: draw an earlier model")


def checked_variables(
    samples: Any, data: Any, states: Any
) -> tuple[np.ndarray, np.ndarray, Variables]:
    """Return samples and data as matrices, and the variables encoded by their columns.

    Raises:
        InputError: rows and states do not match.
    """
    samples, data = checked_pair(samples, data)
    variables = variables_of(states, data.shape[1])
    check_codes(data, "data", variables)
    check_codes(samples, "samples", variables)
    return samples, data, variables
