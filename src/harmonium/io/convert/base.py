"""Helpers that the converters share: parameters as plain arrays, checks and error messages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ...errors import InputError, MissingDependencyError, input_error
from ...layers import AbstractLayer, Bernoulli, Potts
from ...layers.registry import row_of
from ...rbm import RBM
from ...sharding import fetched

KEEP_IT_NATIVE = "save it as .safetensors, which holds every model"
PLAIN = {("bernoulli", "bernoulli"), ("potts", "bernoulli")}  # what W, a and b can describe
SHAPES = "(visible, hidden), or (sites, states, hidden) for Potts sites"


class Parameters(NamedTuple):
    """W, a and b of a model with Bernoulli hidden units, as NumPy arrays.

        E(v, h) = −a·v − b·h − vᵀ W h

    The number of axes of W tells the type of the visible units: two for Bernoulli units, three for
    Potts sites.

    Attributes:
        weights: W, shape (visible, hidden) or (sites, states, hidden).
        visible_bias: a, shape (visible,) or (sites, states).
        hidden_bias: b, shape (hidden,).
    """

    weights: np.ndarray
    visible_bias: np.ndarray
    hidden_bias: np.ndarray


def kind_of(layer: AbstractLayer) -> str:
    """Return the registered name of a layer's type, which tables of supported layers use."""
    row = row_of(layer)
    return row.name if row else str(layer)


def checked_model(rbm: Any, source: str) -> RBM:
    """Return the model, or raise InputError unless it is a single RBM."""
    if not isinstance(rbm, RBM):
        raise InputError(f"{source}: expected a model, such as fit.rbm; got {type(rbm).__name__}.")
    if len(rbm.weights.shape) != 2:
        found = f"several stacked, with weights of shape {rbm.weights.shape}"
        raise input_error(source, "one model", found, "pass one of them")
    return rbm


def dense_weights(rbm: RBM) -> np.ndarray:
    """Return W as a NumPy array of shape (visible, hidden)."""
    return fetched(rbm.dense_weights)


def bias_of(layer: AbstractLayer) -> np.ndarray:
    """Return the bias of a layer whose type is known to have one."""
    return np.asarray(layer.bias)  # pyright: ignore[reportAttributeAccessIssue]


def parameters_of(rbm: RBM, source: str) -> Parameters:
    """Return W, a and b of a Bernoulli–Bernoulli or Potts–Bernoulli model.

    Raises:
        InputError: other layers; W, a and b alone would not show the difference.
    """
    visible = checked_model(rbm, source).visible
    hidden = rbm.hidden
    if (kind_of(visible), kind_of(hidden)) not in PLAIN:
        expected = "Bernoulli or Potts visible and Bernoulli hidden units, all that it can hold"
        raise input_error(source, expected, str(rbm), KEEP_IT_NATIVE)
    weights = dense_weights(rbm)
    bias = bias_of(visible)
    if visible.size != visible.n_units:
        sites = (visible.n_units, visible.size // visible.n_units)
        weights = weights.reshape(*sites, hidden.size)
        bias = bias.reshape(sites)
    return Parameters(weights, bias, bias_of(hidden))


def model_of(found: Parameters, source: str, names: tuple[str, str, str] = ("W", "a", "b")) -> RBM:
    """Make a model from W, a and b.

    Args:
        found: the arrays, not yet checked.
        source: where the arrays come from, for error messages: a path, or a function's name.
        names: the names of the three arrays in error messages.

    Raises:
        InputError: entries that are not finite numbers, or shapes that do not match.
    """
    weights, a, b = (finite(array, name, source) for array, name in zip(found, names, strict=True))
    b = np.ravel(b)
    is_potts = weights.ndim == 3
    a = a if is_potts else np.ravel(a)
    if weights.ndim not in (2, 3) or weights.shape != (*a.shape, *b.shape):
        shapes = zip(names, (weights, a, b), strict=True)
        shown = ", ".join(f"{name} {_shape(array)}" for name, array in shapes)
        turned = weights.ndim == 2 and weights.T.shape == (*a.shape, *b.shape)
        advice = f"transpose {names[0]}" if turned else "write arrays that fit together"
        raise input_error(source, f"{names[0]} of shape {SHAPES}", shown, advice)
    try:
        visible = Potts(*a.shape, bias=a.ravel()) if is_potts else Bernoulli(len(a), a)
        return RBM(visible, Bernoulli(len(b), b), weights.reshape(-1, len(b)))
    except InputError as error:
        advice = "write arrays that fit together"
        raise input_error(source, "arrays of a model", f"that {clause(error)}", advice) from None


def finite(array: Any, name: str, source: str) -> np.ndarray:
    """Return an array in JAX's current default precision.

    Raises:
        InputError: entries that are not real numbers, or not finite.
    """
    array = np.asarray(array)
    if array.dtype.kind not in "buif":
        advice = "write an array of floating-point numbers"
        raise input_error(source, f"real numbers in {name!r}", f"{array.dtype}", advice)
    with np.errstate(over="ignore"):
        converted = array.astype(jnp.result_type(float))
    bad = ~np.isfinite(converted)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        found = f"{array[place]} at {place} ({int(bad.sum())} such)"
        raise input_error(source, f"finite numbers in {name!r}", found, "train the model again")
    return converted


def optional(module: str, what: str, extra: str = "") -> ModuleType:
    """Import an optional package.

    Args:
        module: the package.
        what: what needs it, for the message.
        extra: the extra of harmonium that installs it, if it is to be named.

    Raises:
        MissingDependencyError: it is not installed; the message gives the command to install it.
    """
    try:
        return import_module(module)
    except ImportError:
        own = f"pip install 'harmonium[{extra}]', or " if extra else ""
        found = "none installed"
        advice = f"install it with: {own}pip install {module}"
        line = f"{what}: expected the package {module}; found {found}; {advice}."
        raise MissingDependencyError(line) from None


def listed(names: Iterable[Any]) -> str:
    """Return names from outside harmonium as one line of limited length."""
    shown = [short(name) for name in names]
    more = f" and {len(shown) - 6:,} more" if len(shown) > 6 else ""
    return ", ".join(shown[:6]) + more or "none"


def short(name: Any) -> str:
    """Return a value from outside as short text, without terminal control characters."""
    text = repr(name[:60]) if isinstance(name, str) else repr(name)
    return text if len(text) <= 50 else f"{text[:47]}..."


def clause(error: Exception) -> str:
    """Return an error's message without its final period, for use inside another message."""
    return str(error).rstrip(".")


def _shape(array: np.ndarray) -> str:
    return f"({len(array)})" if array.ndim == 1 else str(array.shape)
