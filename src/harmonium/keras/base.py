"""Import Keras, and define the dtype of parameters and the helpers shared by this package."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, MissingDependencyError

_INSTALL = "install it with: pip install keras"


def _backend_in_file() -> str:
    """Return the backend named in Keras's configuration file, or "tensorflow" if none is named."""
    folder = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        return json.loads((folder / "keras.json").read_text())["backend"]
    except (OSError, ValueError, KeyError, TypeError):
        return "tensorflow"


# Keras defaults to TensorFlow, even if it is not installed, and saves this choice in a file.
# JAX is always installed, since harmonium needs it.
_can_choose = "keras" not in sys.modules and not os.environ.get("KERAS_BACKEND")
if _can_choose and _backend_in_file() == "tensorflow" and find_spec("tensorflow") is None:
    os.environ["KERAS_BACKEND"] = "jax"

try:  # no import statement, so that type checking works without Keras
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
        f"harmonium.keras: expected Keras 3; got Keras {keras.__version__}; {_INSTALL}."
    )

ops: Any = keras.ops
PACKAGE = "harmonium"  # the prefix of harmonium's class names in Keras's files


def arithmetic_dtype(layer: Any) -> str:
    """Return the dtype of a layer's parameters and arithmetic: float32 or float64.

    Half precision is never used: rounded logits would bias the two phases of the gradient
    differently, and rounding errors would accumulate in the thousands of terms of a free energy.
    A mixed-precision policy affects only the dtype of the output of `call`.
    """
    if layer.variable_dtype == "float64":
        return "float64"
    return "float32"


def positive_integer(value: Any, what: str) -> int:
    """Return `value` as an int; raise InputError unless it is a whole number of at least 1."""
    is_whole = not isinstance(value, bool) and hasattr(value, "__index__")
    if not is_whole or value.__index__() < 1:
        raise InputError(f"{what}: expected a whole number of at least 1; got {value!r}.")
    return value.__index__()


def rows_and_weights(batch: Any) -> tuple[Any, np.ndarray | None]:
    """Return the rows and the weights (or None) of a batch x, (x, y) or (x, y, weights)."""
    parts: Any = batch
    if not isinstance(batch, tuple | list):
        return batch, None
    if len(parts) < 3 or parts[2] is None:
        return parts[0], None
    return parts[0], np.ravel(to_numpy(parts[2]))


def synchronise(model: Any) -> None:
    """Update a model's variables from the copies that JAX's trainer uses during an epoch."""
    if keras.backend.backend() == "jax":
        model.jax_state_sync()


def to_numpy(x: Any) -> np.ndarray:
    """Convert a tensor, a variable or an array to a NumPy array."""
    if isinstance(x, np.ndarray):
        return x
    return ops.convert_to_numpy(ops.convert_to_tensor(x))
