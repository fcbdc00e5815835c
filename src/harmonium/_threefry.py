"""JAX's own random numbers, bit for bit, several times faster on a CPU.

JAX lowers Threefry to a loop there, so that each round passes through memory. Written out, XLA puts
all rounds and what is done with the bits into one pass. A key of this kind gives the same numbers
as the Threefry key with its data, so whoever has one may not notice.

Source: Salmon, Moraes, Dror & Shaw 2011 (Threefry-2x32, 20 rounds).
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax.extend.random import define_prng_impl
from jaxtyping import Array, PRNGKeyArray

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
MOST = 2**32  # numbers at once; JAX counts further
NAMES = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32, 64: jnp.uint64}


def key_of(seed: int) -> PRNGKeyArray:
    """Give the quick key of a seed."""
    return quick(jax.random.key(seed))


def quick(key: PRNGKeyArray) -> PRNGKeyArray:
    """Give the key that draws the same numbers, quickly; a key of another kind as it is."""
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        if jax.random.key_impl(key) != "threefry2x32" or not _counts_each():
            return key
        key = jax.random.key_data(key)
    elif key.shape[-1:] != (2,) or not _counts_each():
        return key
    return jax.random.wrap_key_data(key, impl=KIND)


def _counts_each() -> bool:
    """Say whether JAX gives each number its own count, as it has done since 2025."""
    return bool(jax.config.jax_threefry_partitionable)  # pyright: ignore[reportAttributeAccessIssue]


def _hashed(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Give two words for each count, of which `high` and `low` are the words."""
    words = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    x, y = high + words[0], low + words[1]
    for i in range(5):
        for distance in ROTATIONS[i % 2]:
            x = x + y
            y = x ^ (y << distance | y >> (32 - distance))
        x, y = x + words[(i + 1) % 3], y + words[(i + 2) % 3] + jnp.uint32(i + 1)
    return x, y


def _of_counts(key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    low = jax.lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)
    return _hashed(key, jnp.zeros_like(low), low)


def _random_bits(key: Array, width: int, shape: tuple[int, ...]) -> Array:
    if math.prod(shape) > MOST:
        return jax.random.bits(jax.random.wrap_key_data(key), shape, NAMES[width])
    high, low = _of_counts(key, shape)
    if width == 64:
        return high.astype(jnp.uint64) << 32 | low.astype(jnp.uint64)
    return (high ^ low).astype(NAMES[width])


def _split(key: Array, shape: tuple[int, ...]) -> Array:
    return jnp.stack(_of_counts(key, shape), axis=-1)


def _fold_in(key: Array, data: Array) -> Array:
    low = jnp.asarray(data).astype(jnp.uint32)
    return jnp.stack(_hashed(key, jnp.zeros_like(low), low))


def _seed(seed: Array) -> Array:
    return jax.random.key_data(jax.random.key(seed))


KIND = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="threefry2x32 written out",
    tag="qfry",
)
