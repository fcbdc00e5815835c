"""Look up types of units by name, by configuration, or by the layer of a `harmonium.RBM`."""

from __future__ import annotations

from typing import Any

from ...errors import InputError
from ..base import keras
from .base import Unit
from .gaussian import Gaussian
from .potts import Potts
from .two_valued import Bernoulli, Ising

KINDS = (Bernoulli, Ising, Gaussian, Potts)
_NAMES = {kind.registered: kind for kind in KINDS if kind is not Potts}  # no arguments needed


def get(identifier: Any, name: str, dtype: Any) -> Unit:
    """Return the units specified by a name, a configuration or a layer of units.

    Raises:
        InputError: the identifier is not a name, a configuration or a layer of units.
    """
    if isinstance(identifier, Unit):
        return identifier
    if isinstance(identifier, dict):
        return keras.saving.deserialize_keras_object(identifier)
    if identifier not in _NAMES:
        raise InputError(
            f"{name}: expected {', '.join(map(repr, _NAMES))}, or units such as Potts(21);"
            f" got {identifier!r}."
        )
    return _NAMES[identifier](name=name, dtype=dtype)


def config_of(unit: Unit) -> dict:
    """Return a configuration from which `get` can create the same units, unbuilt."""
    config = keras.saving.serialize_keras_object(unit)
    return {key: value for key, value in config.items() if key != "build_config"}


def like(layer: Any, name: str) -> Unit:
    """Return unbuilt units of the same type as a layer of `harmonium.layers`.

    Raises:
        InputError: the Keras interface has no units of this type.
    """
    from ...layers.registry import row_of

    row = row_of(layer)
    for kind in KINDS:
        if row is not None and kind.registered == row.name:
            return kind.like(layer)
    known = ", ".join(kind.__name__ for kind in KINDS)
    raise InputError(f"{name}: expected one of {known}; got {layer}.")
