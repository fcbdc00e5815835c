"""Programs of small models, whose loops XLA should not divide among threads.

XLA's compiler for CPUs divides a loop if it estimates 200,000 cycles, at ten cycles per byte and
one per operation. A thousand random numbers reach this estimate but take 6 µs; starting a second
thread takes about as long. No option changes this, only the number of threads of the compiling
client. Small programs are therefore compiled by a client with one thread, and run by the usual
client, which still divides large products.
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
# updates faster for up to twice as many; with more cores, dividing them pays off earlier.
SMALL = 8_192
NPROC = "NPROC"  # the environment variable for the number of threads of a new client


def device_for(jaxpr: Any, usual: Any) -> Any:
    """Return the device for which a program is compiled: the usual or the single-threaded one.

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
    """Return whether programs may come from JAX's own cache, which other clients cannot use."""
    values = jax.config.values
    return bool(values["jax_enable_compilation_cache"] and values["jax_compilation_cache_dir"])


def largest_array(jaxpr: Any) -> int:
    """Return the size of the largest array that a program computes, including its loops."""
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
    """Yield the bodies of loops, branches and functions that an equation calls."""
    for value in equation.params.values():
        for part in value if isinstance(value, tuple | list) else [value]:
            if isinstance(part, core.ClosedJaxpr):
                yield part.jaxpr
            elif isinstance(part, core.Jaxpr):
                yield part


@functools.cache
def _device() -> Any:
    """Return the device of a single-threaded client; None if no such client can be created."""
    threads = os.environ.get(NPROC)
    os.environ[NPROC] = "1"
    try:
        from jaxlib import xla_client  # an internal module, which may change or disappear

        return xla_client.make_cpu_client().devices()[0]
    except Exception:  # programs are then compiled as usual
        return None
    finally:
        os.environ.pop(NPROC)
        if threads is not None:
            os.environ[NPROC] = threads
