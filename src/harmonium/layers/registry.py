"""One row for each type of layer: its name in options and interfaces, and how its rows are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..errors import InputError
from .base import AbstractLayer

CODINGS = ("levels", "spins", "codes", "reals")
Layer = TypeVar("Layer", bound=type[AbstractLayer])


class Registered(NamedTuple):
    """A type of layer, as options, files of rows, scikit-learn and Keras know it.

    Attributes:
        name: the word for it: "bernoulli".
        layer: the type.
        rows: what its units take, which says how rows are read: "levels" in [0, 1], "spins" −1 and
            +1, "codes" 0, 1, … of the unit's states, or "reals".
    """

    name: str
    layer: type[AbstractLayer]
    rows: str

    def make(self, size: int, states: int | None = None) -> AbstractLayer:
        """Return a layer of so many units; units of codes need the number of states.

        Raises:
            InputError: the number of states is missing.
        """
        kind: Any = self.layer
        if self.rows != "codes":
            return kind(size)
        if states is None:
            raise InputError(f"{self.name}: expected a number of states for each unit; got none.")
        return kind(size, states=states)


_BY_NAME: dict[str, Registered] = {}


def register_layer(name: str, *, rows: str) -> Callable[[Layer], Layer]:
    """Return a class decorator that gives a layer type its row.

    Raises:
        InputError: a name that another type has, or an unknown coding of rows.
    """
    if rows not in CODINGS:
        raise InputError(f"register_layer {name!r}: expected rows among {CODINGS}; got {rows!r}.")

    def registering(kind: Layer) -> Layer:
        before = _BY_NAME.get(name)
        if before is not None and before.layer.__qualname__ != kind.__qualname__:
            raise InputError(f"register_layer {name!r}: {before.layer.__qualname__} has this name.")
        _BY_NAME[name] = Registered(name, kind, rows)
        return kind

    return registering


def registered_layers() -> tuple[Registered, ...]:
    """Return all rows, in the order of registration."""
    return tuple(_BY_NAME.values())


def layer_named(name: Any, what: str, *others: str) -> Registered:
    """Return the row of this name.

    Args:
        name: the name.
        what: what it is the name of, for errors: "hidden".
        others: words that could have been given in place of it.

    Raises:
        InputError: no layer type has this name.
    """
    if name not in _BY_NAME:
        known = ", ".join(map(repr, (*others, *_BY_NAME)))
        raise InputError(f"{what}: expected one of {known}; got {name!r}.")
    return _BY_NAME[name]


def row_of(layer: AbstractLayer) -> Registered | None:
    """Return the row of a layer's type; None for layers made of others, and for unknown ones."""
    return next((row for row in _BY_NAME.values() if type(layer) is row.layer), None)
