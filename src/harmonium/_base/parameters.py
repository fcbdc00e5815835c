"""The division of a model's arrays into parameters and data.

Tempering and annealing between models act on parameters only. Masks and the values of clamped units
are data, which remain fixed. A class of layers or weights declares its data fields with
`data_field`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax

DATA = "harmonium: data, not parameters"


def data_field(**options: Any) -> Any:
    """Return a dataclass field for data, analogous to `eqx.field` for parameters."""
    return eqx.field(metadata={DATA: True}, **options)


def map_parameters(function: Callable, tree: Any, *others: Any) -> Any:
    """Return `tree` with a function applied to each parameter and with its data unchanged.

    Args:
        function: a function of an array of `tree` and the corresponding array of each other tree,
            which returns a new array.
        tree: a layer, weights, a model, or any tree of these.
        others: trees of the same structure.
    """

    def mapped(path: tuple, leaf: Any, *rest: Any) -> Any:
        return leaf if _leads_to_data(tree, path) else function(leaf, *rest)

    return jax.tree_util.tree_map_with_path(mapped, tree, *others)


def data_in(tree: Any) -> list[Any]:
    """Return the arrays of a layer, weights or a model that are data, not parameters."""
    with_paths = jax.tree_util.tree_leaves_with_path(tree)
    return [leaf for path, leaf in with_paths if _leads_to_data(tree, path)]


def _leads_to_data(tree: Any, path: tuple) -> bool:
    for key in path:
        name = getattr(key, "name", None)
        if name is None:
            tree = tree[getattr(key, "idx", getattr(key, "key", None))]
            continue
        if dataclasses.is_dataclass(tree):
            fields = {field.name: field for field in dataclasses.fields(tree)}
            if DATA in fields[name].metadata:
                return True
        tree = getattr(tree, name)
    return False
