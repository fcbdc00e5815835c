import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.likelihood.partition_function.enumerated import log_z
from registry import random_rbm


@pytest.mark.parametrize("seed", range(3))
def test_the_clamped_model_is_the_conditional_one(seed):
    """Z of the clamped model is the sum of e^(−F) over all states with the held values."""
    layer = hm.Mixed(hm.Bernoulli(2), hm.Potts(1, states=3), hm.Ising(1))
    rbm = random_rbm(layer, hm.Bernoulli(3), seed)
    rows = np.array([[1.0, np.nan, 2.0, np.nan]])
    clamped = hm.condition(rbm, rows)
    states = layer.states(jnp.arange(layer.n_states))
    codes = layer.decode(states)
    agree = (codes[:, 0] == 1) & (codes[:, 2] == 2)
    expected = jax.nn.logsumexp(-rbm.free_energy(states[agree]))
    np.testing.assert_allclose(log_z(clamped.T.T), expected, rtol=1e-5)


def test_given_rows_keep_their_values_and_the_rest_follows_the_conditional():
    rbm = random_rbm(hm.Bernoulli(4), hm.Ising(2), 0)
    given = np.array([1.0, np.nan, 0.0, np.nan])
    n = 20_000
    chains = {"sampler": hm.Gibbs(100), "steps": 1}
    drawn = hm.sample(rbm, n, key=jax.random.key(0), given=given, **chains)
    assert (drawn[:, 0] == 1).all()
    assert (drawn[:, 2] == 0).all()
    free = np.array([[a, b] for a in (0, 1) for b in (0, 1)], float)
    states = np.stack([np.ones(4), free[:, 0], np.zeros(4), free[:, 1]], axis=1)
    p = jax.nn.softmax(-rbm.free_energy(jnp.asarray(states, jnp.float32)))
    counts = np.bincount(2 * drawn[:, 1] + drawn[:, 3], minlength=4)
    chi2 = float(((counts - n * p) ** 2 / (n * p)).sum())
    assert chi2 < 21.1  # χ² with 3 degrees of freedom, level 1e−4


def test_given_rows_are_checked():
    rbm = random_rbm(hm.Bernoulli(4), hm.Ising(2), 0)
    for given, message in (([1.0, 2.0], r"\(rows, 4\)"), ([1.0, 3.0, np.nan, 0.0], r"\[0, 1\]")):
        with pytest.raises(hm.InputError, match=message):
            hm.sample(rbm, 1, key=jax.random.key(0), given=given)


def test_a_clamped_layer_is_rescaled_with_its_values():
    import jax.numpy as jnp

    layer = hm.layers.Clamped(hm.Gaussian(2), jnp.array([True, False]), jnp.array([3.0, 0.0]))
    changed = layer.rescaled(np.array([2.0, 5.0]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(changed.values, [7.0, 0.0])
    np.testing.assert_allclose(changed.layer.precision, [1 / 4, 1 / 25])
    assert changed.is_rescalable.all()
    assert changed.is_shiftable.all()
