"""Calls of Python from compiled programs: what they raise reaches the caller as it is.

JAX makes an error of its own of whatever a callback raises, with the text of a traceback inside,
and logs it too. Here the error is kept, JAX's carries its number, and whoever runs the program
raises the kept one.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.experimental import io_callback

LOGGER = "jax._src.callback"  # which logs errors of callbacks

_NUMBERS = itertools.count(1)
_RAISED: dict[str, BaseException] = {}


class _MarkedError(Exception):
    """Stands for a kept error, whose number its text begins with."""


def call_python(function: Callable, like: Any, *arguments: Any) -> Any:
    """Call a Python function once wherever a compiled program gets here.

    Its arguments are arrays, its results numbers or arrays, and it must not compute with JAX: the
    program that waits for it may hold the threads. Under `vmap` it is called for one after another.
    Calls keep the order in which the results of one are needed by the next.

    Args:
        function: takes arrays, returns what `like` describes.
        like: shapes and types of the results, as `jax.ShapeDtypeStruct`.
        arguments: arrays, or trees of them.
    """

    def marked(*arguments: Any) -> Any:
        try:
            results = function(*arguments)
            return jax.tree.map(lambda x, kind: np.asarray(x, kind.dtype), results, like)
        except BaseException as error:  # also a keyboard interrupt
            mark = f"harmonium call {next(_NUMBERS)}:"
            _RAISED[mark] = error
            raise _MarkedError(f"{mark} {error}") from None

    with errors_as_raised():
        return jax.block_until_ready(io_callback(marked, like, *arguments))


@contextmanager
def errors_as_raised() -> Iterator[None]:
    """Raise the error of a Python function that a compiled program called, instead of JAX's."""

    def is_other(record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], _MarkedError))

    logger = logging.getLogger(LOGGER)
    raised = None
    logger.addFilter(is_other)
    try:
        yield
    except jax.errors.JaxRuntimeError as failure:
        text = str(failure)
        mark = next((mark for mark in list(_RAISED) if mark in text), None)
        if mark is None:
            raise
        raised = _RAISED.pop(mark)
    finally:
        logger.removeFilter(is_other)
    if raised is not None:
        raise raised.with_traceback(None) from None
