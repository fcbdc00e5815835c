"""Computations distributed over several devices, using JAX's shardings.

A mesh of devices has an axis "data", over which rows and chains are distributed, an axis "hidden",
over which the columns of W are distributed, or both. The results do not depend on the mesh, because
random numbers depend only on a key and a position. Only the last digits may differ, because sums
over devices are computed in a different order.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import AxisType, Mesh, PartitionSpec
from jaxtyping import Array

from ..errors import InputError
from .signals import Asked

__all__ = ["use_mesh"]

ROWS = "data"
HIDDEN = "hidden"
FREE = PartitionSpec.UNCONSTRAINED  # an axis whose distribution XLA chooses
T = TypeVar("T")


@contextmanager
def use_mesh(mesh: Mesh | Mapping[str, int] | None) -> Iterator[None]:
    """Distribute the computations within this context over the devices of a mesh.

    Training, sampling, annealing and scoring need no other change, since all of them multiply
    states by W or its transpose, and these products distribute the rows of the states over the axis
    "data".

    Args:
        mesh: the sizes of the axes of a mesh of JAX's devices, such as {"data": 4, "hidden": 2}, or
            a `jax.sharding.Mesh` with these axes. None has no effect.

    Raises:
        InputError: the mesh has other axes, or needs more devices than are available.

    Example:
        >>> rbm = hm.RBM.from_arrays(np.zeros((6, 4)), np.zeros(6), np.zeros(4))
        >>> with hm.use_mesh({"data": 1}):
        ...     hm.sample(rbm, 8, key=jax.random.key(0)).shape
        (8, 6)
    """
    if mesh is None:
        yield
        return
    with jax.set_mesh(checked_mesh(mesh)):
        yield


def checked_mesh(mesh: Any, name: str = "mesh") -> Mesh:
    """Return the requested mesh, along whose axes "data" and "hidden" XLA distributes the work.

    Raises:
        InputError: `mesh` is not a mesh, has other axes, or needs more devices than are available.
    """
    if isinstance(mesh, Mesh):
        sizes = dict(mesh.shape)
        devices = mesh.devices
    elif isinstance(mesh, Mapping) and all(_is_count(size) for size in mesh.values()):
        sizes = {str(axis): int(size) for axis, size in mesh.items()}
        devices = None
    else:
        raise InputError(f"{name}: expected sizes of axes, such as {{'data': 4}}; got {mesh!r}.")
    if not sizes or not set(sizes) <= {ROWS, HIDDEN}:
        axes = ", ".join(map(repr, sizes)) or "none"
        raise InputError(f"{name}: expected the axes 'data', 'hidden' or both; got {axes}.")
    wanted = math.prod(sizes.values())
    there = jax.device_count()
    if wanted > there:
        raise InputError(
            f"{name}: expected no more devices than JAX finds here ({there}); got {wanted}; on a"
            f" CPU, set XLA_FLAGS=--xla_force_host_platform_device_count={wanted} to simulate them."
        )
    if devices is None:
        devices = np.array(jax.devices()[:wanted]).reshape(*sizes.values())
    return Mesh(devices, tuple(sizes), axis_types=(AxisType.Auto,) * len(sizes))


def _is_count(size: Any) -> bool:
    return isinstance(size, int | np.integer) and not isinstance(size, bool) and int(size) >= 1


def size_of_axis(axis: str) -> int:
    """Return the number of devices along an axis in the current context; 1 without a mesh."""
    mesh = jax.sharding.get_abstract_mesh()
    is_ours = all(kind == AxisType.Auto for kind in mesh.axis_types)
    if not is_ours or axis not in mesh.axis_names:
        return 1
    return mesh.shape[axis]


def with_rows_spread(states: Array) -> Array:
    """Return states (..., rows, units), with equal numbers of rows on all devices if possible."""
    devices = size_of_axis(ROWS)
    if devices == 1 or states.ndim < 2 or states.shape[-2] % devices:
        return states
    return _placed(states, PartitionSpec(*(FREE,) * (states.ndim - 2), ROWS, FREE))


def with_weights_spread(tree: T, shape: tuple[int, ...]) -> T:
    """Return a tree in which the columns of arrays shaped like W are distributed, if possible."""
    devices = size_of_axis(HIDDEN)
    if devices == 1 or shape[-1] % devices:
        return tree

    def spread(leaf: Any) -> Any:
        if getattr(leaf, "shape", None) != shape:
            return leaf
        return _placed(leaf, PartitionSpec(None, HIDDEN))

    return jax.tree.map(spread, tree)


@functools.partial(jax.jit, static_argnums=1)  # outside a program, this moves the array
def _placed(array: Array, spec: PartitionSpec) -> Array:
    return jax.lax.with_sharding_constraint(array, spec)


def summed_over_rows(function: Callable[..., T], model: Any, *rows: Any) -> T:
    """Return `function(model, *rows)`, for a function that sums over rows.

    Each device sums over its own rows, and these sums are added in a single all-reduce. By default,
    XLA would add up every product that sums over rows across the devices separately, even if such
    products are then subtracted from one another. Each of `rows` is a tree of arrays whose first
    axis indexes the rows.
    """
    devices = size_of_axis(ROWS)
    if devices == 1 or any(len(leaf) % devices for leaf in jax.tree.leaves(rows)):
        return function(model, *rows)
    arrays, fixed = eqx.partition(model, eqx.is_array)

    def summed(arrays: Any, *rows: Any) -> T:
        return jax.lax.psum(function(eqx.combine(arrays, fixed), *rows), ROWS)

    same = PartitionSpec()
    specs: Any = {"in_specs": (same, *[PartitionSpec(ROWS)] * len(rows)), "out_specs": same}
    shared = jax.shard_map(summed, axis_names={ROWS}, check_vma=False, **specs)
    return jax.jit(shared)(arrays, *rows)  # outside `jit`, shard_map needs every axis


def check_divisible(name: str, count: int, axis: str) -> None:
    """Reject a number that cannot be divided equally among the devices of an axis.

    Raises:
        InputError: the number is not divisible; the message gives the next number that is.
    """
    devices = size_of_axis(axis)
    if count % devices:
        more = devices * math.ceil(count / devices)
        raise InputError(
            f"{name}: expected a multiple of {devices}, the size of the mesh's axis {axis!r}; got"
            f" {count:,}; choose {more:,}."
        )


def clock() -> float:
    """Return a time in seconds; all processes receive the time of the first process.

    Decisions based on measured times, such as the number of updates in a chunk, are therefore the
    same in all processes. Long computations call this function often, so it is also where all
    processes handle the signals that any process receives.
    """
    now = np.array([time.perf_counter()])
    asked = Asked.number
    if jax.process_count() > 1:
        words = np.append(now.view(np.uint32), np.uint32(asked))
        of_processes = np.asarray(multihost_utils.process_allgather(words))
        now = of_processes[0, :-1].view(np.float64)
        asked = int(of_processes[:, -1].max())
    Asked.act_on(asked)  # at the next call, all processes handle signals that arrive meanwhile
    return float(now[0])


def whole(array: Array) -> Array:
    """Return the complete array, gathered from all processes, all of which must call this."""
    if array.is_fully_addressable or array.is_fully_replicated:
        return array
    return jnp.asarray(multihost_utils.process_allgather(array, tiled=True))


def fetched(array: Any) -> np.ndarray:
    """Return a complete NumPy array, gathered from all processes, all of which must call this."""
    if isinstance(array, jax.Array):
        array = whole(array)
    return np.asarray(array)
