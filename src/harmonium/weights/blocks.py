"""Blocks of weights between the parts of two layers; absent blocks cost no memory or time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base.numerics import from_numpy, product
from ..errors import InputError
from .base import AbstractWeights, dense, differentiable, is_plain, map_arrays, over_rows, replaced

Sizes = tuple[int, ...]


class BlockWeights(AbstractWeights):
    """Weights between parts of the visible and the hidden layer, one block per pair of parts.

    None in place of a block means that the two parts are not connected. The effect is that of a
    block of zeros, without the memory and time that zeros would take. A deep Boltzmann machine,
    whose layers x¹, x², x³, … are connected only to their neighbours, has blocks between
    (x¹, x³, …) and (x², x⁴, …).

    Attributes:
        blocks: one row of blocks per visible part; each entry is an array of shape (columns of the
            visible part, columns of the hidden part), weights of that shape, or None.
        rows: the number of columns of each visible part.
        columns: the number of columns of each hidden part.

    Example:
        >>> weights = hm.weights.BlockWeights([[[[1.0], [2.0]], None], [[[3.0]], [[4.0]]]])
        >>> weights.dense.tolist()
        [[1.0, 0.0], [2.0, 0.0], [3.0, 4.0]]
        >>> (jnp.array([1.0, 0.0, 1.0]) @ weights).tolist()
        [4.0, 4.0]

    Source: Salakhutdinov & Hinton 2009 (deep Boltzmann machines, which have this form).
    """

    multiplies_arrays: ClassVar[bool] = True

    blocks: tuple[tuple[Any, ...], ...]
    rows: Sizes = eqx.field(static=True)
    columns: Sizes = eqx.field(static=True)

    def __init__(
        self,
        blocks: Sequence[Sequence[Any]],
        rows: Sequence[int] | None = None,
        columns: Sequence[int] | None = None,
    ):
        """Build the weights.

        Args:
            blocks: see the class; lists and NumPy arrays are converted.
            rows: sizes of the visible parts; needed only if some visible part has no block.
            columns: sizes of the hidden parts; needed only if some hidden part has no block.

        Raises:
            InputError: rows differ in length, the shapes of blocks do not fit together, or the
                size of a part is given neither by a block nor by an argument.
        """
        self.blocks = tuple(tuple(_as_block(block) for block in row) for row in blocks)
        counts = {len(row) for row in self.blocks}
        if len(counts) != 1 or counts == {0}:
            raise InputError(
                "BlockWeights: expected the same number of blocks, at least one, in all rows; got"
                f" blocks per row: {', '.join(str(len(row)) for row in self.blocks) or 'no rows'}."
            )
        transposed = tuple(zip(*self.blocks, strict=True))
        self.rows = _sizes(self.blocks, -2, rows, "rows")
        self.columns = _sizes(transposed, -1, columns, "columns")

    @property
    def shape(self) -> tuple[int, ...]:
        return sum(self.rows), sum(self.columns)

    @property
    def T(self) -> BlockWeights:  # noqa: N802  (named as for arrays)
        turned = [
            [None if block is None else _turned(block) for block in column]
            for column in zip(*self.blocks, strict=True)
        ]
        return BlockWeights(turned, self.columns, self.rows)

    def __rmatmul__(self, states: Array) -> Array:
        """Return states @ W: for each hidden part, the sum of the products with its blocks."""
        pieces = jnp.split(jnp.asarray(states), np.cumsum(self.rows)[:-1].tolist(), axis=-1)
        inputs = []
        for size, column in zip(self.columns, zip(*self.blocks, strict=True), strict=True):
            products = [
                product(piece, block)
                for piece, block in zip(pieces, column, strict=True)
                if block is not None
            ]
            nothing = jnp.zeros((*jnp.shape(states)[:-1], size), jnp.result_type(float))
            inputs.append(sum(products[1:], products[0]) if products else nothing)
        return jnp.concatenate(inputs, axis=-1)

    @property
    def dense(self) -> Float[Array, "visible hidden"]:
        lines = [
            [
                jnp.zeros((height, width), jnp.result_type(float))
                if block is None
                else dense(block)
                for block, width in zip(row, self.columns, strict=True)
            ]
            for row, height in zip(self.blocks, self.rows, strict=True)
        ]
        return jnp.concatenate([jnp.concatenate(line, axis=-1) for line in lines], axis=-2)

    @property
    def differentiable(self) -> BlockWeights:
        blocks = [
            [None if block is None else differentiable(block) for block in row]
            for row in self.blocks
        ]
        return BlockWeights(blocks, self.rows, self.columns)

    def over_rows(self, factors: Float[Array, " visible"]) -> BlockWeights:
        pieces = jnp.split(jnp.asarray(factors), np.cumsum(self.rows)[:-1].tolist())
        scaled = [
            [None if block is None else over_rows(block, piece) for block in row]
            for piece, row in zip(pieces, self.blocks, strict=True)
        ]
        return BlockWeights(scaled, self.rows, self.columns)

    def replaced(self, entries: Float[Array, "visible hidden"]) -> BlockWeights:
        """Return weights with these entries, which must be 0 between parts that have no block.

        Raises:
            InputError: an entry between two parts that are not connected is nonzero.
        """
        lines = jnp.split(jnp.asarray(entries), np.cumsum(self.rows)[:-1].tolist(), axis=0)
        cut = [jnp.split(line, np.cumsum(self.columns)[:-1].tolist(), axis=1) for line in lines]
        pairs = [
            list(zip(row, own, strict=True)) for row, own in zip(self.blocks, cut, strict=True)
        ]
        outside = sum(
            int(np.count_nonzero(np.asarray(piece)))
            for row in pairs
            for block, piece in row
            if block is None
        )
        if outside:
            raise InputError(
                "BlockWeights: expected entries of 0 between parts that are not connected;"
                f" got nonzero entries there ({outside:,} in all)."
            )
        blocks = [
            [None if block is None else replaced(block, piece) for block, piece in row]
            for row in pairs
        ]
        return BlockWeights(blocks, self.rows, self.columns)

    def map_arrays(self, function: Callable[[Array], Any]) -> BlockWeights:
        """Apply `function` to the arrays of every block; return the resulting weights."""
        blocks = [
            [None if block is None else map_arrays(block, function) for block in row]
            for row in self.blocks
        ]
        return BlockWeights(blocks, self.rows, self.columns)


def with_part(weights: Any, visible: Sizes, hidden: Sizes, block: Array) -> BlockWeights:
    """Return W with another visible part, which is connected to the last hidden part only.

    Args:
        weights: weights of any kind, which stay as they are, as blocks of the result.
        visible: the number of columns of each visible part.
        hidden: the number of columns of each hidden part.
        block: the weights of the new part, shape (columns of the part, columns of the last part).
    """
    new = [*[None] * (len(hidden) - 1), block]
    if isinstance(weights, BlockWeights) and (weights.rows, weights.columns) == (visible, hidden):
        return BlockWeights([*weights.blocks, new], [*visible, len(block)], hidden)
    if len(hidden) > 1:  # weights of another kind may hold several hidden parts
        new = [BlockWeights([new], [len(block)], hidden)]
    return BlockWeights([[weights], new])


def _turned(block: Any) -> Any:
    """Return the transposed block; a block that is an array may have a leading axis of models."""
    return jnp.swapaxes(block, -1, -2) if is_plain(block) else block.T


def _as_block(block: Any) -> Any:
    """Convert a list or NumPy array to a JAX array; return any other block unchanged."""
    if isinstance(block, list | tuple | np.ndarray):
        block = from_numpy(np.array(block, float))
    return block


def _sizes(lines: Sequence[Sequence[Any]], axis: int, given: Any, name: str) -> Sizes:
    """Return the size of each part along an axis, from its blocks or from the `given` sizes."""
    if given is not None and len(given) != len(lines):
        raise InputError(
            f"BlockWeights {name}: expected one size for each part ({len(lines)} in all);"
            f" got {len(given)}."
        )
    sizes = []
    for number, line in enumerate(lines):
        known = {jnp.shape(block)[axis] for block in line if block is not None}
        if given is not None:
            known.add(int(given[number]))
        if len(known) != 1:
            actual = f"sizes {sorted(known)}" if known else f"no block; pass sizes as `{name}`"
            raise InputError(
                f"BlockWeights {name}: expected equal block sizes in part {number}; got {actual}."
            )
        sizes.append(known.pop())
    return tuple(sizes)
