"""Single-threaded compilation of small programs, whose loops XLA should not divide among threads.

XLA's compiler for CPUs divides a loop among threads if it estimates that the loop takes at least
200,000 cycles, at ten cycles per byte and one per operation. Drawing a thousand random numbers
reaches this estimate, but takes only 6 µs, about as long as starting a second thread. No option
changes this rule, but XLA applies it only if the client that compiles the program has several
threads. Small programs are therefore compiled by a client with one thread, and run by the usual
client, which still divides large matrix products among threads.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

import jax
from jax.extend import core

from .hardware import cores

# The largest number of entries in any array of a small program. On two cores, one thread makes
# updates faster for arrays of up to twice this size; with more cores, dividing loops already pays
# off for smaller arrays.
SMALL = 8_192
NPROC = "NPROC"  # the environment variable for the number of threads of a new client


def device_for(jaxpr: Any, usual: Any) -> Any:
    """Return the device for which a program is compiled: the usual or a single-threaded device.

    Args:
        jaxpr: the program.
        usual: the device on which it will run.
    """
    if usual.platform != "cpu" or cores() == 1 or _jax_keeps_programs():
        return usual
    if largest_array(jaxpr.jaxpr) > SMALL:
        return usual
    return _device() or usual


def _jax_keeps_programs() -> bool:
    """Return whether JAX's own cache is in use, whose programs other clients cannot run."""
    values = jax.config.values
    return bool(values["jax_enable_compilation_cache"] and values["jax_compilation_cache_dir"])


def largest_array(jaxpr: Any) -> int:
    """Return the number of entries of the largest array computed in a program or its loops."""
    sizes = [0]
    for equation in jaxpr.eqns:
        sizes += [getattr(variable.aval, "size", 0) for variable in equation.outvars]
        sizes += [largest_array(part) for part in _parts_of(equation)]
    return max(sizes)


def has_loop(jaxpr: Any) -> bool:
    """Return whether a program has a loop."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("while", "scan"):
            return True
        if any(map(has_loop, _parts_of(equation))):
            return True
    return False


def _parts_of(equation: Any) -> Iterator[Any]:
    """Yield the jaxprs in an equation's parameters: bodies of loops, branches and functions."""
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else [value]:
            if isinstance(part, core.ClosedJaxpr):
                yield part.jaxpr
            elif isinstance(part, core.Jaxpr):
                yield part


@functools.cache
def _device() -> Any:
    """Return the device of a single-threaded client, or None if no such client can be created."""
    threads = os.environ.get(NPROC)
    os.environ[NPROC] = "1"
    try:
        from jaxlib import xla_client  # an internal module, which may change or disappear

        return xla_client.make_cpu_client().devices()[0]
    except Exception:  # in this case programs are compiled as usual
        return None
    finally:
        os.environ.pop(NPROC)
        if threads is not None:
            os.environ[NPROC] = threads
