"""Quick keys draw the same numbers as JAX's own keys."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from harmonium._base.threefry import quick

DRAWS = {
    "bits": lambda key: jax.random.bits(key, (3, 5)),
    "bits of 8": lambda key: jax.random.bits(key, (7,), jnp.uint8),
    "bits of 16": lambda key: jax.random.bits(key, (7,), jnp.uint16),
    "uniform": lambda key: jax.random.uniform(key, (4, 6)),
    "a number": lambda key: jax.random.uniform(key),
    "nothing": lambda key: jax.random.uniform(key, (0, 3)),
    "normal": lambda key: jax.random.normal(key, (9,)),
    "categorical": lambda key: jax.random.categorical(key, jnp.zeros((3, 4))),
    "permutation": lambda key: jax.random.permutation(key, 10),
    "split": lambda key: jax.random.key_data(jax.random.split(key, 3)),
    "split to a grid": lambda key: jax.random.key_data(jax.random.split(key, (3, 2))),
    "fold_in": lambda key: jax.random.key_data(jax.random.fold_in(key, 12)),
    "mapped": lambda key: jax.vmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(key, 4)),
    "one by one": lambda key: jax.lax.map(jax.random.uniform, jax.random.split(key, 3)),
    "folded one by one": lambda key: jax.random.key_data(
        jax.lax.map(lambda i: jax.random.fold_in(key, i), jnp.arange(4))
    ),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("seed", [0, 2**31 + 5])
def test_quick_keys_draw_the_same_numbers(draw, seed):
    key = jax.random.key(seed)
    expected = draw(key)
    np.testing.assert_array_equal(draw(quick(key)), expected)
    np.testing.assert_array_equal(jax.jit(draw)(quick(key)), expected)


def test_64_bit_numbers_are_the_same_too():
    with jax.enable_x64(True):
        key = jax.random.key(3)
        expected = jax.random.uniform(key, (5,), jnp.float64)
        np.testing.assert_array_equal(jax.random.uniform(quick(key), (5,), jnp.float64), expected)


def test_seeds_make_the_same_key():
    key = quick(jax.random.key(9))
    again = jax.random.key(9, impl=jax.random.key_impl(key))
    np.testing.assert_array_equal(jax.random.key_data(again), jax.random.key_data(key))


def test_seeds_make_the_same_key_whatever_jax_s_default_is():
    kind = jax.random.key_impl(quick(jax.random.key(9)))
    with jax.default_prng_impl("rbg"):
        data = jax.random.key_data(jax.random.key(9, impl=kind))
    np.testing.assert_array_equal(data, jax.random.key_data(jax.random.key(9)))


def test_other_keys_stay_and_old_ones_are_taken():
    other = jax.random.key(0, impl="rbg")
    assert quick(other) is other
    key = quick(jax.random.key(7))
    assert quick(key) is key
    old = quick(jax.random.PRNGKey(7))
    np.testing.assert_array_equal(jax.random.key_data(old), jax.random.key_data(key))
    np.testing.assert_array_equal(jax.random.uniform(old), jax.random.uniform(key))


def test_jax_s_former_count_of_numbers_is_respected():
    key = jax.random.key(0)
    with jax.threefry_partitionable(False):
        assert quick(key) is key
