"""Trees whose vertices are columns: the maximum spanning tree, and its centre."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

NONE = -1  # the parent of a root


def maximum_spanning_tree(
    weights: Float[np.ndarray, "n n"], is_late: Bool[np.ndarray, " n"] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices of the maximum spanning tree, each after its parent, and the parents.

    The parent of the first vertex, the root, is −1. If `is_late` marks vertices, only trees are
    considered in which no marked vertex is on the path between two unmarked vertices.

    SciPy is not used, because importing its graph module takes a fifth of a second in each training
    command.

    Source: Prim 1957.
    """
    n = len(weights)
    order = np.zeros(n, int)
    parents = np.zeros(n, int)
    if is_late is None:
        is_late = np.zeros(n, bool)
    order[0] = is_late.argmin()
    parents[order[0]] = NONE
    greatest = np.full(n, -np.inf)  # of each vertex, the greatest weight of an edge to the tree
    is_outside = np.arange(n) != order[0]
    for place in range(1, n):
        last = order[place - 1]
        is_better = is_outside & (weights[last] > greatest)
        greatest[is_better] = weights[last, is_better]
        parents[is_better] = last
        # All unmarked vertices join the tree before the first marked vertex.
        is_next = is_outside & ~is_late
        if not is_next.any():
            is_next = is_outside
        order[place] = np.where(is_next, greatest, -np.inf).argmax()
        is_outside[order[place]] = False
    return order, parents


def with_root_at_centre(parents: np.ndarray) -> np.ndarray:
    """Return the parents of a tree after moving its root to the middle of its longest path."""
    neighbours: list[list[int]] = [[] for _ in parents]
    for vertex, parent in enumerate(parents):
        if parent != NONE:
            neighbours[vertex].append(int(parent))
            neighbours[parent].append(vertex)
    # The vertex furthest from any given vertex is an end of a longest path.
    end = _hung_from(0, neighbours)[0][-1]
    order, of_end = _hung_from(end, neighbours)
    path = [order[-1]]
    while of_end[path[-1]] != NONE:
        path.append(int(of_end[path[-1]]))
    return _hung_from(path[len(path) // 2], neighbours)[1]


def _hung_from(root: int, neighbours: list[list[int]]) -> tuple[list[int], np.ndarray]:
    """Return the vertices ordered by distance from a root, and the parent of each vertex."""
    parents = np.full(len(neighbours), NONE)
    order = [root]
    for vertex in order:
        for other in neighbours[vertex]:
            if other != parents[vertex]:
                parents[other] = vertex
                order.append(other)
    return order, parents
