"""Shuffling: the order in which an epoch visits its rows."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

MOST_TO_SORT = 2**20  # rows; sorting ten million rows takes 13 s, longer than a chunk of updates
ROUNDS = 6


def batches_in_order(
    room: int, n: Any, size: int, *, key: PRNGKeyArray
) -> Callable[[Array], Int[Array, " size"]]:
    """Return a function that maps t to the row indices of batch t, in a shuffled order.

    Each of the rows 0 … n − 1 is visited once in an epoch. If the last batch is short, it is filled
    with other valid row indices. Up to `MOST_TO_SORT` rows are shuffled all at once. With more
    rows, the indices of each batch are computed separately, so that training can start anywhere in
    an epoch at no cost and the order is never stored.

    Args:
        room: number of stored rows, including padding rows; at least n.
        n: number of rows without padding; may be traced.
        size: number of rows per batch.
        key: a JAX random key; it determines the order.
    """
    if room > MOST_TO_SORT:

        def batch(t: Array) -> Array:
            places = jnp.minimum(t * size + jnp.arange(size), n - 1)
            return keyed_order(places, room, n, key=key)

        return batch
    order = random_order(room, n, key=key)
    order = jnp.concatenate([order, jnp.zeros(-room % size, jnp.int32)])
    return lambda t: jax.lax.dynamic_slice_in_dim(order, t * size, size)


def random_order(room: int, n: Any, *, key: PRNGKeyArray) -> Int[Array, " room"]:
    """Draw a permutation of 0 … n − 1, followed by n … room − 1 in arbitrary order.

    n may be traced. On a CPU, this function is several times faster than `jax.random.permutation`.

    Sorting one array of integers is much faster than sorting pairs, so each pass sorts integers
    with random high bits and the position in the low bits. The position breaks ties in favour of
    the order from the previous pass, so that all passes together sort by at least 2 log2(n) + 4
    random bits. In about one of 32 permutations, two of the n entries agree in all random bits.
    """
    width = max(1, (room - 1).bit_length())
    random_bits = 31 - width  # the highest bit puts rows n and above last
    if random_bits < 8:
        order = jax.random.permutation(key, room).astype(jnp.int32)
        return order[jnp.argsort(order >= n)]
    passes = math.ceil((2 * width + 4) / random_bits)
    bits = jax.random.bits(key, (passes, room), jnp.uint32) >> (1 + width) << width
    positions = jnp.arange(room, dtype=jnp.uint32)
    order = positions
    for high_bits in bits:
        behind = (order >= n).astype(jnp.uint32) << 31
        order = order[jnp.sort(behind | high_bits | positions) & ((1 << width) - 1)]
    return order.astype(jnp.int32)


def keyed_order(
    places: Int[Array, "*shape"], room: int, n: Any, *, key: PRNGKeyArray
) -> Int[Array, "*shape"]:
    """Return the entries at given positions of a pseudo-random permutation of 0 … n − 1.

    A few rounds of invertible steps mix the bits of a position, a number below the next power of
    two: adding a key, multiplying by an odd number, and combining the upper half with the lower
    half by XOR. A result of n or more is mixed again (fewer than two times on average), so that no
    two positions get the same entry (cycle walking: Black & Rogaway 2002). The permutation is not
    uniformly distributed over all permutations, but tests check the distribution of the positions
    of single rows and of pairs of rows.
    """
    width = max(2, (room - 1).bit_length())
    mask = jnp.uint32(2**width - 1)
    half = (width + 1) // 2
    keys = jax.random.bits(key, (ROUNDS, 2), jnp.uint32)

    def mixed(x: Array) -> Array:
        for added, factor in keys:
            x = (x + added) * (factor | 1) & mask
            x = x ^ (x >> half)
        return x

    def walk(x: Array) -> Array:
        return jnp.where(x >= n, mixed(x), x)

    x = mixed(places.astype(jnp.uint32))
    return jax.lax.while_loop(lambda x: (x >= n).any(), walk, x).astype(jnp.int32)
