"""Checks of user input, used by all modules so that equal mistakes give equal error messages."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..errors import InputError
from .threefry import quick


def as_array(values: Any, name: str) -> np.ndarray:
    """Return `values` as a NumPy array; raise InputError if its rows differ in length."""
    try:
        return np.asarray(values)
    except InputError:  # from a `Stream`, whose rows are not in memory
        raise
    except ValueError:
        raise InputError(f"{name}: expected rows of equal length.") from None


def positive_integer(value: Any, what: str, most: int | None = None) -> int:
    """Return `value` as an int; raise InputError unless it is a whole number from 1 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{what}: expected a whole number of at least 1; got {value!r}.")
    if most is not None and value > most:
        raise InputError(f"{what}: expected a whole number of at most {most:,}; got {value:,}.")
    return int(value)


def checked_key(key: Any) -> PRNGKeyArray:
    """Return a key that draws the same numbers as `key` faster (see `quick`).

    Raises:
        InputError: `key` is not a single JAX random key.
    """
    dtype = getattr(key, "dtype", None)
    shape = getattr(key, "shape", None)
    typed = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key) and shape == ()
    legacy = dtype == jnp.uint32 and shape in ((2,), (4,))
    if not typed and not legacy:
        words = type(key).__name__
        if dtype is None:
            words = repr(key)
        raise InputError(f"key: expected a random key, such as jax.random.key(0); got {words}.")
    return quick(key)


def checked_rows(rows: Any, name: str, *, missing: bool = False) -> np.ndarray:
    """Return rows as a matrix of finite numbers; NaN is allowed if `missing` is true.

    Raises:
        InputError: the shape is wrong, there are no rows, or an entry is not a finite number.
    """
    array = as_array(rows, name)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "buif":
        raise InputError(
            f"{name}: expected a matrix of numbers with at least one row and one column; got"
            f" an array of shape {array.shape}, {array.dtype}; pass one row for each example."
        )
    are_right = np.isfinite(array)
    if missing:
        are_right |= np.isnan(array)
    wrong = int((~are_right).sum())
    if wrong:
        raise InputError(
            f"{name}: expected finite numbers; got NaN or infinity in {wrong:,} of {array.size:,}"
            " entries; replace these entries, or drop the rows that contain them."
        )
    return array


def checked_beside(rows: Any, name: str, data: np.ndarray, *, missing: bool = False) -> np.ndarray:
    """Return rows checked by `checked_rows`; raise InputError unless `data` has as many columns."""
    array = checked_rows(rows, name, missing=missing)
    if array.shape[1] != data.shape[1]:
        raise InputError(
            f"{name}: expected {data.shape[1]} columns, as in the other rows; got {array.shape[1]};"
            " pass rows with the same columns."
        )
    return array


def checked_pair(samples: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return samples and data as checked matrices, which must have the same number of columns."""
    rows = checked_rows(data, "data")
    return checked_beside(samples, "samples", rows), rows


def check_positive(**numbers: float) -> None:
    """Raise InputError for the first of the named arguments that is not positive."""
    for name, number in numbers.items():
        is_number = np.ndim(number) == 0 and np.asarray(number).dtype.kind in "iuf"
        if not (is_number and number > 0):
            raise InputError(f"{name}: expected a positive number; got {described(number)}.")


def described(value: Any) -> str:
    """Return text for error messages: the repr of a number or string, else the name of the type."""
    if isinstance(value, int | float | str):
        return f"{value!r:.40}"
    return type(value).__name__
