"""Initialise a model: fit the visible units to the data's moments, and centre the biases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import InputError
from .base import rows_and_weights, to_numpy
from .model import check_width
from .watching import off_scale

INFINITE = -1  # the cardinality of an infinite `tf.data.Dataset`
MOST_OF_FEW_LEVELS = 100  # larger values are assumed to be bytes


def adapt(model: Any, data: Any) -> None:
    """Fit the visible units to the data's moments and centre the biases, as `hm.initialize` does.

    The visible units are first fitted to the data as independent units (Hinton 2010, section 8).
    The biases of each layer are then shifted to cancel the mean input from the other layer
    (Melchior, Fischer & Wiskott 2016).
    """
    # `tf.data` gives this cardinality to a data set that repeats for ever.
    if getattr(data, "cardinality", None) is not None and int(data.cardinality()) == INFINITE:
        raise InputError(
            "data: expected a finite data set; got an infinite one; limit the number of batches,"
            " for example with data.take(100)."
        )
    n = 0
    total_weight = 0.0
    sums = 0.0
    squares = 0.0
    for rows, weights in batches(data):
        check_rows(model, rows, "data", n)
        rows = rows.astype(np.float64)
        weights = weights.astype(np.float64)
        n += len(rows)
        total_weight += weights.sum()
        sums = sums + weights @ rows
        squares = squares + weights @ rows**2
    if not n or not total_weight > 0:
        raise InputError("data: expected at least one row with a positive weight; got none.")
    mean = np.asarray(sums / total_weight)
    square = np.asarray(squares / total_weight)
    off_scale(model, mean, square, "data")
    model.visible.fit_moments(n, mean, square)
    model.hidden.bias.assign(np.zeros(model.hidden.size))
    kernel = to_numpy(model.kernel)
    mean_v, mean_h = (
        to_numpy(unit.mean(np.zeros(unit.size, kernel.dtype)))
        for unit in (model.visible, model.hidden)
    )
    model.visible.shift(-(kernel @ mean_h))
    model.hidden.shift(-(mean_v @ kernel))


def batches(data: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (rows, weights) of parts of an array, or of batches x, (x, y) or (x, y, weights)."""
    if isinstance(data, list):
        data = np.asarray(data)
    if hasattr(data, "shape"):
        from ..data.parts import rows_at_once  # imports the core, which takes a second

        size = rows_at_once(math.prod(data.shape[1:]))
        for first in range(0, data.shape[0], size):
            rows = to_numpy(data[first : first + size])
            yield rows, np.ones(len(rows))
    elif isinstance(data, Iterable):
        for batch in data:
            rows, weights = rows_and_weights(batch)
            rows = to_numpy(rows)
            yield rows, np.ones(len(rows)) if weights is None else weights
    else:
        raise InputError(
            f"data: expected an array or an iterable of batches; got {type(data).__name__}."
        )


def check_rows(model: Any, rows: np.ndarray, name: str, first_row: int = 0) -> None:
    """Build the model if needed, and raise InputError if any value is outside the domain."""
    if rows.ndim != 2 or rows.dtype.kind not in "buif":
        advice = "; flatten each row first" if rows.ndim > 2 else ""
        raise InputError(
            f"{name}: expected numbers of shape (rows, columns); got {rows.dtype} of shape"
            f" {rows.shape}{advice}."
        )
    if not model.built:
        model.build((None, rows.shape[1]))
    check_width(rows, model.visible.size, name)
    wrong = ~np.isfinite(rows)
    expected = "finite numbers"
    if not wrong.any():
        wrong = model.visible.outside(rows)
        expected = model.visible.domain()
    if not wrong.any():
        return
    row = first_row + int(np.argwhere(wrong)[0][0])
    value = "other values"
    if wrong.shape == rows.shape:  # otherwise each unit has several columns
        value = f"{rows[wrong][0]:g}"
    advice = ""
    if 1 < rows.max() <= 255:
        # The largest possible byte is 255, even if no row contains it.
        largest = 255 if rows.max() > MOST_OF_FEW_LEVELS else rows.max()
        advice = f"; divide by {largest:g}, the largest possible value, or threshold the values"
    raise InputError(f"{name}: expected {expected}; got {value}, first in row {row}{advice}.")


def check_input(model: Any, x: Any, name: str) -> None:
    """Check the rows of an array or a tensor, or of the first batch of a `tf.data.Dataset`."""
    if hasattr(x, "shape"):
        parts = [to_numpy(x)]
    elif hasattr(x, "element_spec") and hasattr(x, "take"):
        parts = [rows for rows, _ in batches(x.take(1))]
    else:
        return
    for rows in parts:
        check_rows(model, rows, name)
        if name == "x" and model.visible.has_scale:
            # Avoids a float64 copy of all rows.
            squares = np.einsum("ij,ij->j", rows, rows, dtype=np.float64, casting="unsafe")
            off_scale(model, rows.mean(0, dtype=np.float64), squares / len(rows), name)


def targets(x: Any, y: Any, weights: Any) -> Any:
    """Return y, or zeros if only weights are given, since Keras ignores weights without a y."""
    if y is None and weights is not None:
        return np.zeros((len(x), 1), np.float32)
    return y
