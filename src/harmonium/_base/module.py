"""The base class of layers, models, training methods and data: dataclasses that are pytrees."""

from typing import TYPE_CHECKING

import equinox as eqx


class AbstractModule(eqx.Module):
    """An `equinox.Module` with the method look-up of ordinary Python objects.

    Equinox wraps each looked-up method in a pytree, so that the method can be an argument of a
    program. The wrapping takes 33 µs for each method and slows down the look-up of other attributes
    by half a microsecond; together, these delays are most of the time that tracing spends in this
    package. This class omits the wrapping, so the argument of a program must be an object, not one
    of its methods.
    """

    if not TYPE_CHECKING:
        __getattribute__ = object.__getattribute__
