"""What the processes of one run agree on; each of them makes the same calls in the same order.

With one process, nothing here does more than the call itself.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from .errors import HarmoniumError, InputError, ModelFileError, input_error

P = ParamSpec("P")
T = TypeVar("T")
SHORTEST = 256  # bytes: texts are padded to few lengths, since each is a program to compile
# Errors that are raised in all processes if the first one meets them.
SHARED: tuple[type[HarmoniumError], ...] = (ModelFileError, InputError)


def are_several() -> bool:
    """Return whether several processes of `jax.distributed` compute together; asks no device."""
    return jax.distributed.is_initialized() and jax.process_count() > 1


def largest(number: int) -> int:
    """Return the largest of the processes' numbers, after all of them have come here."""
    if not are_several():
        return number
    return int(multihost_utils.process_allgather(np.array(number, np.int32)).max())


def said(value: T) -> list[T]:
    """Return what each of the processes says, values that JSON can hold, in all of them."""
    if not are_several():
        return [value]
    text = json.dumps(value).encode()
    texts = multihost_utils.process_allgather(_padded(text, largest(len(text))))
    return [json.loads(each.tobytes()) for each in np.asarray(texts)]


def check_same(name: str, value: Any, expected: str, advice: str) -> None:
    """Refuse what differs between processes, which would go on without one another.

    Raises:
        InputError: in all of them, if one says another value than the first one.
    """
    values = said(value)
    others = [i for i, each in enumerate(values) if each != values[0]]
    if others:
        numbers = ", ".join(map(str, others[:10])) + (", ..." if len(others) > 10 else "")
        raise input_error(name, expected, f"others in process {numbers} than in process 0", advice)


def told(value: T) -> T:
    """Return what the first process says, a value that JSON can hold, in all of them."""
    if not are_several():
        return value
    text = json.dumps(value).encode()
    length = int(multihost_utils.broadcast_one_to_all(np.array(len(text), np.int32)))
    said = multihost_utils.broadcast_one_to_all(_padded(text, length))
    return json.loads(np.asarray(said).tobytes())


def _padded(text: bytes, length: int) -> np.ndarray:
    room = max(SHORTEST, 2 ** math.ceil(math.log2(length)))
    return np.frombuffer(text[:room].ljust(room), np.uint8)


class _Acting:
    """Whether the first process acts by itself now; then it does not wait for the others."""

    alone = False


def by_first(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that the first process calls for all, such as one that writes a file.

    It is called when all have come here, so that nobody still reads what it changes. All return
    what the first one returned, which JSON can hold, or raise the error that it met. Within it, no
    array can be collected from the other processes, which wait for it.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        if _Acting.alone or not are_several():
            return function(*args, **kwargs)
        largest(0)  # all have come
        if jax.process_index() > 0:
            return _result(told({}))
        _Acting.alone, raised = True, None
        outcome: dict[str, Any] = {}
        try:
            outcome["returned"] = function(*args, **kwargs)
        except SHARED as error:
            outcome, raised = {"kind": SHARED.index(type(error)), "text": str(error)}, error
        except OSError as error:
            file = None if error.filename is None else str(error.filename)
            outcome, raised = {"system": [error.errno, error.strerror, file]}, error
        finally:
            _Acting.alone = False
        told(outcome)
        if raised is not None:
            raise raised
        return outcome["returned"]

    return called


def _result(outcome: dict[str, Any]) -> Any:
    """Return what the first process returned, or raise what it raised."""
    if "system" in outcome:
        raise OSError(*outcome["system"])
    if "kind" in outcome:
        raise SHARED[outcome["kind"]](outcome["text"])
    return outcome["returned"]
