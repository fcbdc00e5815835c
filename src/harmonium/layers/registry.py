"""The registry of layer types, with the names of the types and the coding of their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..errors import InputError
from .base import AbstractLayer

# The codings in which rows are read for a layer; see `Registered`.
CODINGS = ("levels", "spins", "codes", "reals")
Layer = TypeVar("Layer", bound=type[AbstractLayer])


class Registered(NamedTuple):
    """A registered layer type, as used by options, data files, scikit-learn and Keras.

    Attributes:
        name: the name of the type, such as "bernoulli".
        layer: the type.
        rows: which values rows hold, and therefore how rows are read: "levels" (numbers in
            [0, 1]), "spins" (−1 and +1), "codes" (0, 1, … for the states of a unit) or "reals".
    """

    name: str
    layer: type[AbstractLayer]
    rows: str

    def make(self, size: int, states: int | None = None) -> AbstractLayer:
        """Return a layer of `size` units; a type whose rows hold codes also needs `states`.

        Raises:
            InputError: the number of states is not given.
        """
        kind: Any = self.layer
        if self.rows != "codes":
            return kind(size)
        if states is None:
            raise InputError(f"{self.name}: expected a number of states for each unit; got none.")
        return kind(size, states=states)


_BY_NAME: dict[str, Registered] = {}


def register_layer(name: str, *, rows: str = "reals") -> Callable[[Layer], Layer]:
    """Return a class decorator that registers a layer type under this name.

    Options such as `--visible NAME`, scikit-learn estimators and Keras models then accept the name.

    Args:
        name: the name, such as "bernoulli".
        rows: how rows are read for the layer, as in `Registered`.

    Raises:
        InputError: the name is taken, or the coding of rows is unknown.

    Example:
        >>> @hm.layers.register_layer("ising", rows="spins")  # refused: choose another name
        ... class MySpins(hm.Ising):
        ...     pass
        Traceback (most recent call last):
        harmonium.errors.InputError: layer name: expected a new name; got 'ising', taken by Ising.
    """
    if rows not in CODINGS:
        known = ", ".join(map(repr, CODINGS))
        raise InputError(
            f"register_layer {name!r}: expected rows to be one of {known}; got {rows!r}."
        )

    def registering(kind: Layer) -> Layer:
        before = _BY_NAME.get(name)
        if before is not None and before.layer.__qualname__ != kind.__qualname__:
            raise InputError(
                f"layer name: expected a new name; got {name!r}, taken by"
                f" {before.layer.__qualname__}."
            )
        _BY_NAME[name] = Registered(name, kind, rows)
        return kind

    return registering


def registered_layers() -> tuple[Registered, ...]:
    """Return all registered layer types, in the order of registration."""
    return tuple(_BY_NAME.values())


def layer_named(name: Any, what: str, *others: str) -> Registered:
    """Return the registered layer type with this name.

    Args:
        name: the name, such as "bernoulli".
        what: the option that contains the name, such as "hidden", for error messages.
        others: other accepted words, for error messages.

    Raises:
        InputError: no layer type has this name.
    """
    if name not in _BY_NAME:
        known = ", ".join(map(repr, (*others, *_BY_NAME)))
        raise InputError(f"{what}: expected one of {known}; got {name!r}.")
    return _BY_NAME[name]


def row_of(layer: AbstractLayer) -> Registered | None:
    """Return the registry entry of a layer's type, or None for composite or unregistered types."""
    return next((row for row in _BY_NAME.values() if type(layer) is row.layer), None)
