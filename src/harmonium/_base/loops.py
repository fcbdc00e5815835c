"""Loops whose bounds may be traced, which a GPU makes without waiting for the host.

XLA copies the condition of a loop to the host and waits for it at every turn, unless it knows the
number of turns: then it only enqueues kernels. An update of 784 × 500 units on an H100 took 75 µs,
and the waiting as much again. So on a GPU, turns are made in blocks of a known number, and those
that are left over one by one. Results are those of the plain loop.

Where no block would be full, as in an epoch of few updates, turns beyond the end are computed too,
and nothing is kept of them. Elsewhere they are not: the choices between the old and the new state
were eight of the 33 kernels of an update, and wrote the weights twice.

On a CPU there is no other processor to wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .device import waits_at_turns

State = TypeVar("State")
# In a block. Waiting once in 16 updates takes 5 µs of each; more would be left over at the records
# of a run, where its loops are cut.
TURNS = 16


def loop(
    first: Any,
    end: Any,
    body: Callable[[Array, State], State],
    state: State,
    *,
    turns: int = TURNS,
    most: int | None = None,
) -> State:
    """Return the state after the turns `first` to `end` − 1 of a loop, as `jax.lax.fori_loop` does.

    Args:
        first: the number of the first turn; it may be traced.
        end: one more than that of the last turn; it may be traced.
        body: function of the number of a turn and of the state, which returns the state after it.
            On a GPU it is called for numbers from `end` on too, if `most` is at most `turns`.
        state: the state before the first turn.
        turns: in a block, at most; 1 for loops that have few of them.
        most: a known bound on the number of turns, if there is any.
    """
    is_known = isinstance(first, int) and isinstance(end, int)
    if is_known or turns == 1 or not waits_at_turns():
        return jax.lax.fori_loop(first, end, body, state)
    if most is not None and most <= turns:
        return _kept_until(end, first, most, body, state)
    if most is not None:  # with few turns left over, where there are as many as that
        turns = min(range(turns, turns // 2, -1), key=lambda size: most % size)

    def block(number: Array, state: State) -> State:
        begin = first + number * turns
        return jax.lax.fori_loop(0, turns, lambda i, state: body(begin + i, state), state)

    blocks = jnp.maximum(end - first, 0) // turns
    state = jax.lax.fori_loop(0, blocks, block, state)
    return jax.lax.fori_loop(first + blocks * turns, end, body, state)


def _kept_until(
    end: Any, first: Any, turns: int, body: Callable[[Array, State], State], state: State
) -> State:
    """Make a known number of turns, and return the state after the last one before the end."""

    def turn(i: Array, state: State) -> State:
        i = first + i

        def kept(new: Array, old: Array) -> Array:
            return jnp.where(i < end, new, old)

        return jax.tree.map(kept, body(i, state), state)

    return jax.lax.fori_loop(0, turns, turn, state)
