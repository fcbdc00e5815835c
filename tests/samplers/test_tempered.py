import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from registry import random_rbm

EXAMPLES = [hm.Tempered(2.0)]
KEY = jax.random.key(0)
LEVEL = 1e-4


@pytest.mark.parametrize("beta", [0.5, 1.7])
def test_its_distribution_is_that_of_the_power_of_p(beta):
    """For a β that no model has: frequencies of states against the enumerated p(v)^β."""
    rbm = random_rbm(hm.Bernoulli(3), hm.Ising(3), 0)
    n = 20_000
    states = rbm.visible.states(jnp.arange(8))
    target = jax.nn.softmax(-beta * rbm.free_energy(states))
    sampler = hm.Tempered(beta, sweeps=5)
    key_start, key_move = jax.random.split(KEY)
    v = states[jax.random.categorical(key_start, jnp.log(target), shape=(n,))]
    state, info = eqx.filter_jit(sampler.step)(rbm, sampler.init(rbm, v, key=KEY), key=key_move)
    counts = (state.v[:, None] == states).all(-1).sum(0)
    expected = np.asarray(target, float)
    assert stats.chisquare(counts, n * expected / expected.sum()).pvalue > LEVEL
    assert 0.3 < float(info.acceptance) <= 1


def test_sharper_chains_have_lower_free_energies():
    rbm = random_rbm(hm.Bernoulli(8), hm.Bernoulli(4), 1)
    means = [
        float(rbm.free_energy(jnp.asarray(rows, float)).mean())
        for beta in (0.5, 1.0, 3.0)
        for rows in [hm.sample(rbm, 500, key=KEY, sampler=hm.Tempered(beta), steps=100)]
    ]
    assert means[0] > means[1] > means[2]


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="beta: expected a positive number"):
        hm.Tempered(-1.0)
    with pytest.raises(hm.InputError, match="Tempered sweeps"):
        hm.Tempered(1.0, sweeps=0)
