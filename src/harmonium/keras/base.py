"""Keras, found or asked for, and the arithmetic that every other module here counts in."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..errors import InputError, MissingDependencyError

_INSTALL = "install it with: pip install 'harmonium[keras]'"

try:  # not by an import statement: types are checked without Keras too
    keras: Any = import_module("keras")
except ImportError as error:
    if error.name in (None, "keras"):
        raise MissingDependencyError(f"harmonium.keras needs Keras 3; {_INSTALL}") from None
    raise MissingDependencyError(
        f"harmonium.keras: Keras could not load its backend ({error}). Install tensorflow, jax or"
        " torch, and name the one to use in the environment variable KERAS_BACKEND."
    ) from None

if not hasattr(keras, "ops"):
    raise MissingDependencyError(
        f"harmonium.keras needs Keras 3; found Keras {keras.__version__}; {_INSTALL}"
    )

ops: Any = keras.ops
PACKAGE = "harmonium"  # the prefix of our classes' names in Keras's files


def arithmetic_dtype(layer: Any) -> str:
    """Return the type that a layer's parameters have and its sums are made in, float32 or float64.

    Never a half-precision one: rounded logits bias the two phases of learning differently, and a
    free energy is a sum of thousands of terms. A mixed policy governs what `call` hands on.
    """
    return "float64" if layer.variable_dtype == "float64" else "float32"


def positive_integer(value: Any, what: str) -> int:
    """Return `value` as an int, or raise InputError unless it is a whole number of at least 1."""
    is_whole = not isinstance(value, bool) and hasattr(value, "__index__")
    if not is_whole or value.__index__() < 1:
        raise InputError(f"{what}: expected a whole number of at least 1; got {value!r}.")
    return value.__index__()


def to_numpy(x: Any) -> np.ndarray:
    """Return a tensor or a variable as a NumPy array."""
    return ops.convert_to_numpy(ops.convert_to_tensor(x))
