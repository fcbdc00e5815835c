"""Helpers for the states of optimisers and of runs, which are pytrees of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from .._base.numerics import from_numpy

S = TypeVar("S", bound=Any)  # a NamedTuple of arrays


def same_shapes(first: Any, second: Any) -> bool:
    """Return whether two pytrees have the same structure, shapes and dtypes."""
    if jax.tree.structure(first) != jax.tree.structure(second):
        return False
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    return all((a.shape, a.dtype) == (b.shape, b.dtype) for a, b in pairs)


def nodes_in(state: Any, kind: type) -> list[Any]:
    """Return all states of this type in an optimiser's state, at any depth."""
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, kind))
    return [node for node in nodes if isinstance(node, kind)]


def with_nodes(state: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """Return an optimiser's state with a change applied to its states of this type."""

    def changed(node: Any) -> Any:
        return change(node) if isinstance(node, kind) else node

    return jax.tree.map(changed, state, is_leaf=lambda node: isinstance(node, kind))


def with_values(state: S, **values: Any) -> S:
    """Return a state whose named arrays are filled with new values of the same dtype."""
    for name, value in values.items():
        array = getattr(state, name)
        state = state._replace(**{name: from_numpy(np.full(array.shape, value, array.dtype))})
    return state
