"""Rows shown as images: the image shape, the grey scale, and the selection of rows."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ..errors import InputError

ImageShape = tuple[int, int] | Literal["square"] | None

FEWEST_SQUARE_PIXELS = 16  # a table of 4 or 9 columns is unlikely to hold images


def checked_shape(shape: ImageShape, pixels: int, of: str) -> tuple[int, int] | None:
    """Return the image shape of a row, or None if rows are not drawn as images.

    Args:
        shape: (rows, columns), "square" to infer the shape from the number of pixels, or None.
        pixels: the number of pixels of a row.
        of: the name of the pixels in error messages: "visible units of the model" or "columns of
            data".

    Raises:
        InputError: the shape is invalid or has another number of pixels.
    """
    if shape is None:
        return None
    if isinstance(shape, str):
        return _square(shape, pixels, of)
    is_pair = np.ndim(shape) == 1 and len(shape) == 2
    if not is_pair or not all(isinstance(s, int | np.integer) and s > 0 for s in shape):
        raise InputError(
            f"image_shape: expected two positive whole numbers, (rows, columns); got {shape!r};"
            " pass None for data that are not images."
        )
    if math.prod(shape) != pixels:
        raise InputError(
            f"image_shape: expected {pixels} pixels, one for each of the {of}; got {shape!r}, with"
            f" {math.prod(shape)} pixels; pass the shape of one row, or None."
        )
    return int(shape[0]), int(shape[1])


def _square(shape: str, pixels: int, of: str) -> tuple[int, int]:
    if shape != "square":
        raise InputError(f"image_shape: expected (rows, columns), 'square' or None; got {shape!r}.")
    width = math.isqrt(pixels)
    if width**2 != pixels or pixels < FEWEST_SQUARE_PIXELS:
        raise InputError(
            f"image_shape: expected, for 'square', a square number of {of}, at least"
            f" {FEWEST_SQUARE_PIXELS}; got {pixels}; pass (rows, columns), or None."
        )
    return width, width


def evenly_spaced(rows: np.ndarray, count: int) -> np.ndarray:
    """Return at most `count` evenly spaced rows, since rows are often stored class by class."""
    if len(rows) <= count:
        return rows
    return rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]


def grey_scale(*values: np.ndarray) -> tuple[float, float]:
    """Return the ends of the grey scale: by default, the lowest and the highest finite value.

    If all values are between 0 and 1, or between −1 and 1, these limits are returned instead, so
    that grey levels and spins look the same however few rows are shown.
    """
    finite = np.concatenate([array[np.isfinite(array)] for array in values])
    if not finite.size:
        return 0.0, 1.0
    low = float(finite.min())
    high = float(finite.max())
    if low >= -1.0 and high <= 1.0:
        low = 0.0 if low >= 0.0 else -1.0
        high = 1.0
    return low, high
