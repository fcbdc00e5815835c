"""The base class of layers, models, methods and rows: dataclasses that are trees of arrays."""

from typing import TYPE_CHECKING

import equinox as eqx


class AbstractModule(eqx.Module):
    """An `equinox.Module` whose methods are looked up as those of other Python objects are.

    Equinox makes a tree of each method that is looked up, so that it can be an argument of a
    program. That takes 33 µs each time, and half a microsecond for each attribute: most of the time
    that tracing spends in this package. So pass the object to a program, and not its method.
    """

    if not TYPE_CHECKING:
        __getattribute__ = object.__getattribute__
