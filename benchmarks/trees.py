"""Tractable models that default runs are compared with: columns by themselves, and trees.

All of them are fitted to rows of 0 and 1, and give test log-likelihoods without any estimate.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

PSEUDO_COUNT = 1.0  # for a column, or spread over the four cells of a pair


def independent(train: np.ndarray, test: np.ndarray) -> float:
    """Return the test log-likelihood of independent columns."""
    on = (train.sum(0) + PSEUDO_COUNT) / (len(train) + 2 * PSEUDO_COUNT)
    return float(np.where(test, np.log(on), np.log(1 - on)).sum(1).mean())


class Tree(NamedTuple):
    """A tree over columns.

    Attributes:
        order: the columns, each one after its parent.
        parents: the parent of each column; none for the first of `order`.
        cells: probabilities of pairs, [value of i, value of j, i, j].
    """

    order: np.ndarray
    parents: np.ndarray
    cells: np.ndarray


def tree_of(rows: np.ndarray) -> Tree:
    """Return the tree with the most mutual information.

    Source: Chow & Liu 1968.
    """
    x = rows.astype(float)
    n = len(rows)
    both = x.T @ x
    on = x.sum(0)
    cells = np.array([[n - on[:, None] - on + both, on - both], [on[:, None] - both, both]])
    cells = (cells + PSEUDO_COUNT / 4) / (n + PSEUDO_COUNT)
    first = cells.sum(1)
    second = cells.sum(0)
    information = (cells * np.log(cells / (first[:, None] * second[None]))).sum((0, 1))
    costs = information.max() + 1 - information
    np.fill_diagonal(costs, 0)
    order, parents = breadth_first_order(minimum_spanning_tree(costs), 0, directed=False)
    return Tree(order, parents, cells)


STATES = 32
BATCH = 512
STEPS = ((0, 0.9), (100, 0.1), (350, 0.05))  # epochs, and the step of EM there; linear between
PSEUDO = 0.1  # spread over the entries of each distribution, in a batch


def hidden_chow_liu(train: np.ndarray, test: np.ndarray, *, seed: int = 0) -> float:
    """Return the test log-likelihood of a hidden Chow-Liu tree, trained as PyJuice's example does.

    Each column of the Chow-Liu tree gets a hidden parent with 32 states, and the hidden ones form
    the tree. It is trained by EM on batches of 512 rows, 350 epochs with steps that fall from 0.9
    to 0.05, then one step on all rows. PyJuice itself needs a GPU, so this is written in JAX.

    Source: Liu & Van den Broeck 2021 (HCLT); the settings of PyJuice's `train_mnist_hclt.py`.
    """
    levels = _levels(tree_of(train))
    rng = np.random.default_rng(seed)
    batch = min(BATCH, len(train))
    model = _random_model(rng, train, levels)
    rows = jnp.asarray(train, jnp.int8)
    per_epoch = max(1, len(train) // batch)
    epochs = STEPS[-1][0]
    steps = np.interp(np.arange(epochs * per_epoch) / per_epoch, *np.transpose(STEPS))
    for e in range(epochs):
        order = jnp.asarray(rng.permutation(len(train))[: per_epoch * batch].reshape(-1, batch))
        epoch_steps = jnp.asarray(steps[e * per_epoch : (e + 1) * per_epoch], jnp.float32)
        model = _epoch(levels, model, rows, order, epoch_steps)
    model = _epoch(levels, model, rows, jnp.arange(len(train))[None], jnp.ones(1))
    parts = np.array_split(test.astype(np.int8), max(1, len(test) // 2_000))
    log_p = [_log_likelihoods(levels, model, jnp.asarray(part)) for part in parts]
    return float(np.concatenate(log_p).mean())


class _Model(NamedTuple):
    """Probabilities: of each hidden state given its parent's, and of each column's values."""

    hidden: jax.Array  # (columns, states of the parent, states)
    column: jax.Array  # (columns, states, 2)


Levels = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]


def _levels(tree: Tree) -> Levels:
    """Return the columns of each depth and their parents, the deepest first."""
    depth = {int(tree.order[0]): 0}
    for i in tree.order[1:]:
        depth[int(i)] = depth[int(tree.parents[i])] + 1
    levels = []
    for level in reversed(range(max(depth.values()) + 1)):
        columns = tuple(sorted(i for i, d in depth.items() if d == level))
        levels.append((columns, tuple(int(max(tree.parents[i], 0)) for i in columns)))
    return tuple(levels)


def _random_model(rng: np.random.Generator, train: np.ndarray, levels: Levels) -> _Model:
    columns = train.shape[1]
    hidden = rng.dirichlet(np.ones(STATES), (columns, STATES))
    root = levels[-1][0][0]
    hidden[root] = hidden[root, :1]  # it has no parent: all rows are one distribution
    column = rng.dirichlet(np.ones(2), (columns, STATES))
    return _Model(jnp.asarray(hidden, jnp.float32), jnp.asarray(column, jnp.float32))


def _log_of_rows(levels: Levels, logs: _Model, rows: jax.Array) -> jax.Array:
    """Return log p of rows, from the leaves of the tree upwards."""

    def message(total: jax.Array, columns: tuple[int, ...]) -> jax.Array:
        """Return what columns and all below them say of the states of their parents."""
        below = total[:, np.array(columns)]
        largest = jax.lax.stop_gradient(below.max(-1, keepdims=True))
        p = jnp.exp(logs.hidden[np.array(columns)])
        return jnp.log(jnp.einsum("bnk,njk->bnj", jnp.exp(below - largest), p)) + largest

    # (rows, columns, states): a column's value and all that lies below it
    total = jnp.where(rows[:, :, None] > 0, logs.column[None, ..., 1], logs.column[None, ..., 0])
    for columns, parents in levels[:-1]:
        total = total.at[:, np.array(parents)].add(message(total, columns))
    root, _ = levels[-1]
    return message(total, root)[:, 0, 0]


@functools.partial(jax.jit, static_argnums=0)
def _log_likelihoods(levels: Levels, model: _Model, rows: jax.Array) -> jax.Array:
    return _log_of_rows(levels, jax.tree.map(jnp.log, model), rows)


@functools.partial(jax.jit, static_argnums=0)
def _epoch(
    levels: Levels, model: _Model, rows: jax.Array, order: jax.Array, steps: jax.Array
) -> _Model:
    """Return the model after one step of EM for each batch: gradients in logs are counts."""

    def total(logs: _Model, batch: jax.Array) -> jax.Array:
        return _log_of_rows(levels, logs, batch).sum()

    def update(model: _Model, given: tuple[jax.Array, jax.Array]) -> tuple[_Model, None]:
        which, step = given
        counts = jax.grad(total)(jax.tree.map(jnp.log, model), rows[which])

        def moved(old: jax.Array, count: jax.Array) -> jax.Array:
            count = count + PSEUDO / count.shape[-1]
            return (1 - step) * old + step * count / count.sum(-1, keepdims=True)

        return jax.tree.map(moved, model, counts), None

    return jax.lax.scan(update, model, (order, steps))[0]
