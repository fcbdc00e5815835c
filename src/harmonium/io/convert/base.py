"""What converters to other packages share: parameters as plain arrays, and clear refusals."""

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

KEEP_IT_NATIVE = "save it as .safetensors, which holds every model"
PLAIN = {("bernoulli", "bernoulli"), ("potts", "bernoulli")}  # what W, a and b alone can tell
SHAPES = "(visible, hidden), or (sites, states, hidden) for Potts sites"


class Parameters(NamedTuple):
    """W, a and b of a model with Bernoulli hidden units, as NumPy arrays.

        E(v, h) = −a·v − b·h − vᵀ W h

    The number of axes of W says which visible units there are: two for Bernoulli units, three for
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
    """Return a layer type's registered name, by which tables list what other packages can hold."""
    row = row_of(layer)
    return row.name if row else str(layer)


def checked_model(rbm: Any, source: str) -> RBM:
    """Return the model, or raise InputError unless it is one, and one only."""
    if not isinstance(rbm, RBM):
        raise InputError(f"{source}: expected a model, such as fit.rbm; got {type(rbm).__name__}.")
    if len(rbm.weights.shape) != 2:
        found = f"several stacked, with weights of shape {rbm.weights.shape}"
        raise input_error(source, "one model", found, "take one of them out")
    return rbm


def dense_weights(rbm: RBM) -> np.ndarray:
    """Return W as NumPy's, of shape (visible, hidden)."""
    return np.asarray(rbm.dense_weights)


def bias_of(layer: AbstractLayer) -> np.ndarray:
    """Return b of a layer whose type is known to have one."""
    return np.asarray(layer.bias)  # pyright: ignore[reportAttributeAccessIssue]


def parameters_of(rbm: RBM, source: str) -> Parameters:
    """Return W, a and b of a Bernoulli–Bernoulli or Potts–Bernoulli model.

    Raises:
        InputError: other layers, which W, a and b alone would not tell apart from these.
    """
    visible, hidden = checked_model(rbm, source).visible, rbm.hidden
    if (kind_of(visible), kind_of(hidden)) not in PLAIN:
        expected = "Bernoulli or Potts visible and Bernoulli hidden units, all that it can hold"
        raise input_error(source, expected, str(rbm), KEEP_IT_NATIVE)
    weights, bias = dense_weights(rbm), bias_of(visible)
    if visible.size != visible.n_units:
        sites = (visible.n_units, visible.size // visible.n_units)
        weights, bias = weights.reshape(*sites, hidden.size), bias.reshape(sites)
    return Parameters(weights, bias, bias_of(hidden))


def model_of(found: Parameters, source: str, names: tuple[str, str, str] = ("W", "a", "b")) -> RBM:
    """Make a model of W, a and b.

    Args:
        found: the arrays, not yet looked at.
        source: what the arrays are called in errors: a path, or a function's name.
        names: what the three arrays are called there.

    Raises:
        InputError: entries that are no finite numbers, or shapes that do not fit together.
    """
    weights, a, b = (finite(array, name, source) for array, name in zip(found, names, strict=True))
    b, is_potts = np.ravel(b), weights.ndim == 3
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
    """Return an array in the precision at work.

    Raises:
        InputError: it holds no real numbers, or some that are not finite.
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
        raise input_error(source, f"finite numbers in {name!r}", found, "train it anew")
    return converted


def optional(module: str, extra: str, what: str) -> ModuleType:
    """Import a package that harmonium does without otherwise.

    Raises:
        MissingDependencyError: it is not installed; the message names the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        found, advice = "none installed", f"install it with: pip install 'harmonium[{extra}]'"
        line = f"{what}: expected the package {module}; found {found}; {advice}."
        raise MissingDependencyError(line) from None


def listed(names: Iterable[Any]) -> str:
    """List names that others chose, on one line and not too long."""
    shown = [short(name) for name in names]
    more = f" and {len(shown) - 6:,} more" if len(shown) > 6 else ""
    return ", ".join(shown[:6]) + more or "none"


def short(name: Any) -> str:
    """Show what another wrote, without characters that a terminal obeys, cut where it is long."""
    text = repr(name[:60]) if isinstance(name, str) else repr(name)
    return text if len(text) <= 50 else f"{text[:47]}..."


def clause(error: Exception) -> str:
    """Return another's message as a part of a sentence."""
    return str(error).rstrip(".")


def _shape(array: np.ndarray) -> str:
    return f"({len(array)})" if array.ndim == 1 else str(array.shape)
