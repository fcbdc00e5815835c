"""Rows on the device, in their smallest form, drawn from one batch at a time."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer, PRNGKeyArray

from ..checks import as_array
from ..errors import InputError


class Dataset(eqx.Module):
    """Rows in the user's coding, stored as small as they go: bits, bytes, else floats.

    Attributes:
        stored: the rows, shape (n, columns); eight to a byte if `packed`.
        weights: sample weights, shape (n,), or None where all rows count alike.
        columns: number of columns of a row.
        packed: whether `stored` holds bits.
        scale: what a stored value is divided by; 255 for grey levels in bytes.
        stochastic: whether each visit draws a binary value with the stored one as its probability.
    """

    stored: Array
    weights: Array | None
    columns: int = eqx.field(static=True)
    packed: bool = eqx.field(static=True)
    scale: float = eqx.field(static=True)
    stochastic: bool = eqx.field(static=True)

    def __init__(
        self,
        rows: Any,
        weights: Any = None,
        *,
        scale: float = 1.0,
        stochastic: bool = False,
        name: str = "data",
    ):
        """Store rows.

        Args:
            rows: shape (n, columns), in the user's coding times `scale`.
            weights: non-negative sample weights, shape (n,).
            scale: what to divide a value by.
            stochastic: draw binary values from grey levels at each visit.
            name: what to call the rows in an error.

        Raises:
            InputError: not a matrix of finite numbers, a scale that is not positive, or weights
                that do not fit.
        """
        array = as_array(rows, name)
        if array.ndim != 2 or 0 in array.shape:
            raise InputError(f"{name}: expected shape (rows, columns); got shape {array.shape}.")
        if array.dtype.kind not in "buif":
            raise InputError(f"{name}: expected numbers; got an array of {array.dtype}.")
        if not 0 < scale < float("inf"):
            raise InputError(f"scale: expected a positive number; got {scale}.")
        self.columns = array.shape[1]
        binary = bool(((array == 0) | (array == 1)).all())
        self.packed = binary and scale == 1.0
        self.scale = float(scale)
        self.stochastic = stochastic and not self.packed
        small = np.packbits(array.astype(bool), axis=1) if self.packed else _smallest(array)
        self.stored = jnp.asarray(small)
        self.weights = None if weights is None else checked_weights(weights, array.shape[0])

    @classmethod
    def of(cls, data: Any, weights: Any = None, name: str = "data") -> Dataset:
        """Give `data` itself if it is a dataset, else store it.

        Raises:
            InputError: no matrix of numbers, or weights for a dataset that has its own.
        """
        if not isinstance(data, cls):
            return cls(data, weights, name=name)
        if weights is not None:
            raise InputError("weights: the dataset has its own; pass plain rows with weights.")
        return data

    def __len__(self) -> int:
        """Number of rows."""
        return self.stored.shape[0]

    def take(self, indices: Integer[Array, " batch"], *, key: PRNGKeyArray) -> Array:
        """Give rows in the user's coding; the key draws their binary values if `stochastic`."""
        rows = self.stored[indices]
        if self.packed:
            return jnp.unpackbits(rows, axis=-1, count=self.columns)
        if self.stochastic:
            return self.scale * jax.random.uniform(key, rows.shape) < rows
        return rows if self.scale == 1.0 else rows / self.scale

    def keys(self, key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray]:
        """Give a key for `take` and another for what follows: one draw less if rows need none."""
        if not self.stochastic:
            return key, key
        key_rows, key_rest = jax.random.split(key)
        return key_rows, key_rest

    def weights_of(
        self, indices: Integer[Array, " batch"], present: Array | None
    ) -> tuple[Array, Array | None]:
        """Give the weights of rows divided by their sum, and their mean where they have weights.

        Rows that are not `present` fill up a short batch and weigh nothing.
        """
        ones = jnp.ones(indices.shape, bool) if present is None else present
        there = ones.astype(jnp.result_type(float))
        if self.weights is None:
            return there / there.sum(), None
        weights = there * self.weights[indices]
        total = weights.sum()
        return weights / jnp.maximum(total, jnp.finfo(total.dtype).tiny), total / there.sum()

    def some(self, count: int) -> Dataset:
        """Give at most `count` rows, evenly spaced: files are often sorted by class."""
        if count >= len(self):
            return self
        chosen = np.linspace(0, len(self) - 1, count).round().astype(int)
        weights = None if self.weights is None else self.weights[chosen]
        return eqx.tree_at(
            lambda d: (d.stored, d.weights),
            self,
            (self.stored[chosen], weights),
            is_leaf=lambda x: x is None,
        )

    def values(self, first: int, last: int) -> Array:
        """Give the stored values of a slice of the rows, undrawn, divided by the scale."""
        rows = self.stored[first:last]
        if self.packed:
            return jnp.unpackbits(rows, axis=-1, count=self.columns)
        return rows if self.scale == 1.0 else rows / self.scale

    def rows(self, *, key: PRNGKeyArray | None = None) -> np.ndarray:
        """Give all rows in the user's coding.

        Raises:
            InputError: binary values are to be drawn and there is no key.
        """
        if key is None:
            if self.stochastic:
                raise InputError("key: binary values are drawn from these grey levels; pass key=.")
            key = jax.random.key(0)
        return np.asarray(self.take(jnp.arange(len(self)), key=key))


def _smallest(array: np.ndarray) -> np.ndarray:
    """Store whole numbers of a small range in one or two bytes, anything else as floats."""
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():
        return array.astype(jnp.result_type(float))
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        bounds = np.iinfo(dtype)
        if array.min() >= bounds.min and array.max() <= bounds.max:
            return array.astype(dtype)
    return array.astype(jnp.result_type(float))


def checked_weights(weights: Any, n: int) -> Array:
    """Give sample weights of mean 1, or raise InputError unless there are n non-negative ones."""
    try:
        array = np.asarray(weights, float)
    except (ValueError, TypeError):
        raise InputError(f"weights: expected {n} numbers; got {type(weights).__name__}.") from None
    if array.shape != (n,) or not np.isfinite(array).all() or (array < 0).any():
        raise InputError(
            f"weights: expected {n} finite non-negative numbers, one for each row;"
            f" got shape {np.shape(weights)}."
        )
    if not array.sum() > 0:
        raise InputError("weights: expected a positive sum; got zero.")
    return jnp.asarray(array * (n / array.sum()), jnp.result_type(float))
