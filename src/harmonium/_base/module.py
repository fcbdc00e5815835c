"""The base class of layers, models, methods and rows: dataclasses that are pytrees."""

from typing import TYPE_CHECKING

import equinox as eqx


class AbstractModule(eqx.Module):
    """An `equinox.Module` with the method look-up of ordinary Python objects.

    Equinox wraps each looked-up method in a pytree, so that the method can be an argument of a
    program. The wrapping takes 33 µs each time, and half a microsecond for each attribute, which is
    most of the time that tracing spends in this package. This class omits the wrapping, so pass the
    object to a program, not its method.
    """

    if not TYPE_CHECKING:
        __getattribute__ = object.__getattribute__
