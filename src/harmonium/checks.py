"""Checks of what users pass, each refusal in the same words."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from .errors import InputError


def as_array(values: Any, name: str) -> np.ndarray:
    """Give values as a NumPy array, or raise InputError where rows differ in length."""
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"{name}: expected rows of equal length.") from None


def positive_integer(value: Any, what: str) -> int:
    """Give `value` as an int, or raise InputError unless it is a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{what}: expected a whole number of at least 1; got {value!r}.")
    return int(value)


def checked_key(key: Any) -> PRNGKeyArray:
    """Give the key, or raise InputError unless it is one random key of JAX's."""
    dtype, shape = getattr(key, "dtype", None), getattr(key, "shape", None)
    typed = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key) and shape == ()
    legacy = dtype == jnp.uint32 and shape in ((2,), (4,))
    if not typed and not legacy:
        found = type(key).__name__ if dtype is not None else repr(key)
        raise InputError(f"key: expected a random key, such as jax.random.key(0); got {found}.")
    return key
