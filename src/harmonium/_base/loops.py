"""Loops whose bounds may be traced, in which a GPU seldom waits for the host.

At every iteration of a loop, XLA copies the loop's condition to the host and waits for the copy,
unless the number of iterations is known; in that case XLA only enqueues kernels. On an H100, an
update of 784 × 500 units took 75 µs, and waiting took another 75 µs. On a GPU, iterations are
therefore run in blocks of known size, and the remaining iterations one by one. The results are the
same as with a plain loop.

If at most one block of iterations is possible, as in an epoch of few updates, the largest possible
number of iterations is run, and those beyond the end have no effect. Otherwise no iterations beyond
the end are run, because choosing between the old and the new state took eight of the 33 kernels of
an update and wrote the weights twice.

On a CPU, the host and the device are the same, so there is nothing to wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .device import waits_at_turns

State = TypeVar("State")
# Iterations per block. Waiting once in 16 updates adds 5 µs to each update. With larger blocks,
# more iterations would be run one by one at the end of a loop, and a loop ends each time that a run
# is recorded.
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
    """Return the state after iterations `first` to `end` − 1, as `jax.lax.fori_loop` does.

    Args:
        first: the index of the first iteration; it may be traced.
        end: one more than the index of the last iteration; it may be traced.
        body: a function of the index of an iteration and the state, which returns the next state.
            On a GPU it is also called for indices from `end` on if `most` is at most `turns`.
        state: the state before the first iteration.
        turns: the largest number of iterations in a block; 1 for short loops.
        most: a known upper bound on the number of iterations, or None.
    """
    is_known = isinstance(first, int) and isinstance(end, int)
    if is_known or turns == 1 or not waits_at_turns():
        return jax.lax.fori_loop(first, end, body, state)
    if most is not None and most <= turns:
        return _kept_until(end, first, most, body, state)
    if most is not None:  # the block size that leaves the fewest iterations over
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
    """Run a fixed number of iterations; return the state after the last iteration before `end`."""

    def turn(i: Array, state: State) -> State:
        i = first + i

        def kept(new: Array, old: Array) -> Array:
            return jnp.where(i < end, new, old)

        return jax.tree.map(kept, body(i, state), state)

    return jax.lax.fori_loop(0, turns, turn, state)
