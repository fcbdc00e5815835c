"""A faster implementation of JAX's random numbers on a CPU, with identical results.

On a CPU, JAX lowers Threefry to a loop, so that each round passes through memory. Here the rounds
are unrolled, so that XLA fuses all rounds, and the use of the bits, into one pass. A key of the
faster type, which is defined here, draws the same numbers as the Threefry key with the same data.

XLA repeats cheap arithmetic in every place that uses it, and treats a hundred additions and shifts
as cheap. Since keys are derived from other keys, recomputing a key in every draw that uses it would
make compilation ever slower or endless (JAX 0.11 and later). Therefore an optimization barrier
keeps XLA from moving a key into its uses, so that each key is computed only once.

Source: Salmon, Moraes, Dror & Shaw 2011 (Threefry-2x32, 20 rounds).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.extend.random import define_prng_impl
from jaxtyping import Array, PRNGKeyArray

JAXS = "threefry2x32"
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA  # the parity constant of the key schedule, from the source
MOST = 2**32  # the most numbers drawn in one call; for more, JAX's own function is used
NAMES = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32, 64: jnp.uint64}


def key_of(seed: int) -> PRNGKeyArray:
    """Return a key of the faster type for a seed."""
    if not 0 <= seed < MOST // 2:  # JAX decides how to treat other seeds
        return quick(jax.random.key(seed))
    return _key((0, int(seed)))


# Keys are few and small. The host computes them faster than the device and needs no compilation, so
# computations before the start of a program use these two functions.


def split(key: PRNGKeyArray, count: int = 2) -> Any:
    """Return the keys of `jax.random.split`, computed on the host if the key is concrete."""
    words = _words_of(key)
    if words is None:
        return jax.random.split(key, count)
    return [_key(_hashed_words(words, i)) for i in range(count)]


def fold_in(key: PRNGKeyArray, number: int | Array) -> PRNGKeyArray:
    """Return the key of `jax.random.fold_in`, computed on the host if the key is concrete."""
    words = _words_of(key)
    if words is None or not isinstance(number, int):
        return jax.random.fold_in(key, number)
    return _key(_hashed_words(words, number))


def _key(words: tuple[int, int]) -> PRNGKeyArray:
    data = jnp.asarray(np.array(words, np.uint32), jnp.uint32)
    return jax.random.wrap_key_data(data, impl=KIND)


def _words_of(key: PRNGKeyArray) -> tuple[int, int] | None:
    """Return the two words of a key of the faster type; None for other types and traced keys."""
    if isinstance(key, Tracer) or key.dtype != KIND_OF_KEYS or key.shape:
        return None
    data = np.asarray(jax.random.key_data(key)).tolist()
    return data[0], data[1]


def _hashed_words(key: tuple[int, int], count: int) -> tuple[int, int]:
    """Return the same two words as `_hashed` for one count, computed on the host."""
    words = (*key, key[0] ^ key[1] ^ PARITY)
    x = key[0]
    y = (count + key[1]) % MOST
    for i in range(5):
        for turn in ROTATIONS[i % 2]:
            x = (x + y) % MOST
            y = x ^ ((y << turn | y >> (32 - turn)) % MOST)
        x = (x + words[(i + 1) % 3]) % MOST
        y = (y + words[(i + 2) % 3] + i + 1) % MOST
    return x, y


def quick(key: PRNGKeyArray) -> PRNGKeyArray:
    """Return a key that draws the same numbers faster, or `key` itself if it is of another type."""
    # With this setting, the default since 2025, each number is computed from its own position.
    counted = jax.config.jax_threefry_partitionable  # pyright: ignore[reportAttributeAccessIssue]
    data = key
    is_threefry = key.shape[-1:] == (2,)
    if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
        data = jax.random.key_data(key)
        is_threefry = jax.random.key_impl(key) == JAXS
    if not (is_threefry and counted):
        return key
    return jax.random.wrap_key_data(data, impl=KIND)


@jax.jit
def _hashed(key: Array, counts: Array) -> tuple[Array, Array]:
    """Return the Threefry hash, which consists of two words, of each count below 2^32."""
    words = (key[0], key[1], key[0] ^ key[1] ^ jnp.uint32(PARITY))
    x = jnp.broadcast_to(words[0], counts.shape)
    y = counts + words[1]
    shifts = [[(lax.full_like(y, d), lax.full_like(y, 32 - d)) for d in four] for four in ROTATIONS]
    for i in range(5):
        for left, right in shifts[i % 2]:
            x = lax.add(x, y)
            turned = lax.shift_left(y, left) | lax.shift_right_logical(y, right)
            y = lax.bitwise_xor(x, turned)
        x = x + words[(i + 1) % 3]
        y = y + (words[(i + 2) % 3] + jnp.uint32(i + 1))
    return x, y


def _random_bits(key: Array, width: int, shape: tuple[int, ...]) -> Array:
    if math.prod(shape) > MOST:
        return jax.random.bits(jax.random.wrap_key_data(key, impl=JAXS), shape, NAMES[width])
    return _bits(key, width, shape)


@partial(jax.jit, static_argnums=(1, 2))
def _bits(key: Array, width: int, shape: tuple[int, ...]) -> Array:
    high, low = _hashed(key, _counts(shape))
    if width == 64:
        return high.astype(jnp.uint64) << 32 | low.astype(jnp.uint64)
    return (high ^ low).astype(NAMES[width])


@partial(jax.jit, static_argnums=1)
def _split(key: Array, shape: tuple[int, ...]) -> Array:
    return lax.optimization_barrier(jnp.stack(_hashed(key, _counts(shape)), axis=-1))


@jax.jit
def _fold_in(key: Array, data: Any) -> Array:
    count = jnp.asarray(data).astype(jnp.uint32)
    return lax.optimization_barrier(jnp.stack(_hashed(key, count)))


def _counts(shape: tuple[int, ...]) -> Array:
    return lax.iota(jnp.uint32, math.prod(shape)).reshape(shape)


def _seed(seed: Array) -> Array:
    return jax.random.key_data(jax.random.key(seed, impl=JAXS))


KIND = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="threefry2x32 written out",
    tag="qfry",
)
KIND_OF_KEYS = jax.eval_shape(
    lambda: jax.random.wrap_key_data(jnp.zeros(2, jnp.uint32), impl=KIND)
).dtype
