"""Helpers for all converters: parameters as plain arrays, checks and error messages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..._base.sharding import fetched
from ...errors import InputError, MissingDependencyError
from ...layers import Bernoulli, Potts
from ...layers.registry import row_of
from ...rbm import RBM, checked_type

KEEP_IT_NATIVE = "save it as .safetensors, which can store every model"
PLAIN = {("bernoulli", "bernoulli"), ("potts", "bernoulli")}  # layers that W, a and b determine


class Parameters(NamedTuple):
    """W, a and b of a model with Bernoulli hidden units, as NumPy arrays.

        E(v, h) = −a·v − b·h − vᵀ W h

    The number of axes of W determines the type of the visible units: two for Bernoulli units, three
    for Potts sites.

    Attributes:
        weights: W, shape (visible, hidden) or (sites, states, hidden).
        visible_bias: a, shape (visible,) or (sites, states).
        hidden_bias: b, shape (hidden,).
    """

    weights: np.ndarray
    visible_bias: np.ndarray
    hidden_bias: np.ndarray


def checked_model(rbm: Any, source: str) -> RBM:
    """Return the model unchanged; raise InputError unless it is a single RBM."""
    checked_type(rbm, source)
    if len(rbm.weights.shape) != 2:
        raise InputError(
            f"{source}: expected one model; got several stacked, with weights of shape"
            f" {rbm.weights.shape}; pass one of them."
        )
    return rbm


def parameters_of(rbm: RBM, source: str) -> Parameters:
    """Return W, a and b of a Bernoulli–Bernoulli or Potts–Bernoulli model.

    Raises:
        InputError: the model has layers of other types, which W, a and b alone do not determine.
    """
    visible: Any = checked_model(rbm, source).visible
    hidden: Any = rbm.hidden
    rows = row_of(visible), row_of(hidden)
    if tuple(row and row.name for row in rows) not in PLAIN:
        raise InputError(
            f"{source}: expected Bernoulli or Potts visible and Bernoulli hidden units, the only"
            f" supported ones; got {rbm}; {KEEP_IT_NATIVE}."
        )
    weights = fetched(rbm.dense_weights)
    visible_bias = np.asarray(visible.bias)
    if visible.size != visible.n_units:
        sites = (visible.n_units, visible.size // visible.n_units)
        weights = weights.reshape(*sites, hidden.size)
        visible_bias = visible_bias.reshape(sites)
    return Parameters(weights, visible_bias, np.asarray(hidden.bias))


def model_of(parameters: Parameters, source: str, names: tuple[str, ...] = ("W", "a", "b")) -> RBM:
    """Create a Bernoulli–Bernoulli or Potts–Bernoulli model from W, a and b.

    Args:
        parameters: the arrays, not yet checked.
        source: the origin of the arrays, for error messages: a path or the name of a function.
        names: the names of the three arrays in error messages.

    Raises:
        InputError: any entry is not a finite number, or the shapes do not match.
    """
    weights, a, b = (
        finite(array, name, source) for array, name in zip(parameters, names, strict=True)
    )
    is_potts = weights.ndim == 3
    if not is_potts:
        a = np.ravel(a)
    b = np.ravel(b)
    if weights.ndim not in (2, 3) or weights.shape != (*a.shape, *b.shape):
        shapes = ", ".join(
            f"{name} {_shape(array)}" for name, array in zip(names, (weights, a, b), strict=True)
        )
        advice = "write arrays with matching shapes"
        if weights.ndim == 2 and weights.T.shape == (*a.shape, *b.shape):
            advice = f"transpose {names[0]}"
        raise InputError(
            f"{source}: expected {names[0]} of shape (visible, hidden), or (sites, states, hidden)"
            f" for Potts sites; got {shapes}; {advice}."
        )
    try:
        visible = Potts(*a.shape, bias=a.ravel()) if is_potts else Bernoulli(len(a), a)
        return RBM(visible, Bernoulli(len(b), b), weights.reshape(-1, len(b)))
    except InputError as error:
        raise InputError(f"{source}: expected arrays of a model, but {error}") from None


def finite(array: Any, name: str, source: str) -> np.ndarray:
    """Convert to an array in JAX's current precision, and check that all entries are finite.

    Raises:
        InputError: any entry is not a real number, or not finite.
    """
    array = np.asarray(array)
    if array.dtype.kind not in "buif":
        raise InputError(
            f"{source}: expected real numbers in {name!r}; got {array.dtype};"
            " write an array of floating-point numbers."
        )
    # A float64 value beyond the range of float32 becomes infinite, which is rejected below.
    with np.errstate(over="ignore"):
        converted = array.astype(jnp.result_type(float))
    bad = ~np.isfinite(converted)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"{source}: expected finite numbers in {name!r}; got {array[place]} at {place}"
            f" (entries not finite: {int(bad.sum())}); train the model again."
        )
    return converted


def optional(module: str, what: str, extra: str = "") -> ModuleType:
    """Import an optional package.

    Args:
        module: the name of the package.
        what: the feature that needs the package, for the message.
        extra: the extra of harmonium that installs the package, for the message.

    Raises:
        MissingDependencyError: the package is not installed; the message gives the command to
            install it.
    """
    try:
        return import_module(module)
    except ImportError:
        command = f"pip install {module}"
        if extra:
            command = f"pip install 'harmonium[{extra}]', or {command}"
        raise MissingDependencyError(
            f"{what}: expected the package {module}; got none installed;"
            f" install it with: {command}."
        ) from None


def listed(names: Iterable[Any]) -> str:
    """Return names from an untrusted source as a single line of limited length, for messages."""
    shown = [short(name) for name in names]
    if not shown:
        return "none"
    text = ", ".join(shown[:6])
    if len(shown) > 6:
        text += f" and {len(shown) - 6:,} more"
    return text


def short(name: Any) -> str:
    """Return an untrusted value as short text, without terminal control characters."""
    if isinstance(name, str):
        name = name[:60]
    text = repr(name)
    if len(text) <= 50:
        return text
    return f"{text[:47]}..."


def _shape(array: np.ndarray) -> str:
    return str(array.shape).replace(",)", ")")
