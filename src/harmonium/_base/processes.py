"""Communication between the processes of a run, which all make the same calls in the same order.

Only this module queries the process index and the number of processes. With a single process,
nothing is communicated.
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

from ..errors import HarmoniumError, InputError, ModelFileError

P = ParamSpec("P")
T = TypeVar("T")
SHORTEST_TEXT = 256  # bytes; texts are padded to one of few lengths, each of which needs a program
# Errors that are raised in all processes if they occur in the first process.
SHARED: tuple[type[HarmoniumError], ...] = (ModelFileError, InputError)


def are_several() -> bool:
    """Return whether several `jax.distributed` processes compute together; no device is used."""
    return jax.distributed.is_initialized() and jax.process_count() > 1


def process_index() -> int:
    """Return the index of this process, counted from 0."""
    return jax.process_index() if are_several() else 0


def is_first() -> bool:
    """Return whether this is the first process, which prints and writes files for all processes."""
    return process_index() == 0


def in_any(flag: bool) -> bool:
    """Return whether a flag is set in any process; the call waits for all processes."""
    return bool(_gathered(int(flag)).any())


def from_first(value: T) -> T:
    """Return the first process's value in every process; it must be representable in JSON."""
    if not are_several():
        return value
    text = json.dumps(value).encode()
    length = int(multihost_utils.broadcast_one_to_all(np.array(len(text), np.int32)))
    room = max(SHORTEST_TEXT, 2 ** math.ceil(math.log2(length)))
    padded = np.frombuffer(text[:room].ljust(room), np.uint8)
    return json.loads(np.asarray(multihost_utils.broadcast_one_to_all(padded)).tobytes())


def check_same(name: str, value: Any, expected: str, advice: str) -> None:
    """Reject a value that differs between processes, which would then wait for each other forever.

    Raises:
        InputError: in some process, the value (representable in JSON) differs from the value in the
            first process. All processes raise the error.
    """
    differing = np.flatnonzero(_gathered(int(value != from_first(value))))
    if len(differing):
        indices = ", ".join(map(str, differing[:10]))
        if len(differing) > 10:
            indices += ", ..."
        raise InputError(
            f"{name}: expected {expected}; got different values in process 0 and others"
            f" ({indices}); {advice}."
        )


def _gathered(number: int) -> np.ndarray:
    """Return an array with one number from each process."""
    if not are_several():
        return np.array([number])
    return np.asarray(multihost_utils.process_allgather(np.array(number, np.int32)))


class _Acting:
    """A flag: whether the first process is acting alone, without waiting for other processes."""

    alone = False


def by_first(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap a function so that only the first process calls it, for example to write a file.

    The function is called when all processes have reached it, so that no process is still reading
    files that the function changes. All processes return the result, which must be representable in
    JSON, or raise the function's error. The function cannot gather arrays from the other processes,
    which are waiting.
    """

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        if _Acting.alone or not are_several():
            return function(*args, **kwargs)
        in_any(False)  # waits for all processes
        if not is_first():
            return _result(from_first({}))
        error = None
        outcome: dict[str, Any] = {}
        _Acting.alone = True
        try:
            outcome["returned"] = function(*args, **kwargs)
        except SHARED as raised:
            error = raised
            outcome = {"kind": SHARED.index(type(raised)), "text": str(raised)}
        except OSError as raised:
            error = raised
            file = raised.filename and str(raised.filename)
            outcome = {"system": [raised.errno, raised.strerror, file]}
        finally:
            _Acting.alone = False
        from_first(outcome)
        if error is not None:
            raise error
        return outcome["returned"]

    return called


def _result(outcome: dict[str, Any]) -> Any:
    """Return the result of the first process's call, or raise the error of that call."""
    if "system" in outcome:
        raise OSError(*outcome["system"])
    if "kind" in outcome:
        raise SHARED[outcome["kind"]](outcome["text"])
    return outcome["returned"]
