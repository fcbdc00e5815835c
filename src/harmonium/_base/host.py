"""Python callbacks from compiled programs; their exceptions reach the program's caller unchanged.

JAX wraps any exception from a callback in an error of its own, whose message includes a traceback,
and logs that error. Here the original exception is kept under a number, JAX's error contains this
number, and the original exception is raised in the caller of the program.
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

LOGGER = "jax._src.callback"  # the name of JAX's logger of errors in callbacks

_NUMBERS = itertools.count(1)
_RAISED: dict[str, BaseException] = {}


class _MarkedError(Exception):
    """Raised in place of a callback's exception, whose number is in the message."""


def call_python(function: Callable, like: Any, *arguments: Any) -> Any:
    """Call a Python function once each time a compiled program reaches this point.

    The function takes arrays, returns numbers or arrays, and must not compute with JAX, because the
    waiting program may occupy all threads. Under `vmap`, the function is called for each element of
    the batch in turn. Calls are ordered only if one depends on the results of another.

    Args:
        function: a function that takes arrays and returns results as described by `like`.
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
    """Within this context, raise a callback's own exception in place of JAX's error."""

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
