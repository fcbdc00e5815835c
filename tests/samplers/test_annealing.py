import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from registry import random_rbm

EXAMPLES = [hm.AnnealedClusters(steps=2, size=2)]
KEY = jax.random.key(0)


def test_chains_leave_modes_that_no_sweep_leaves():
    """States are all on or all off, with half of the mass each; all chains begin at one of them."""
    rbm = hm.RBM.from_arrays(3.0 * np.ones((16, 4)), -6.0 * np.ones(16), -24.0 * np.ones(4))
    shares = []
    for sampler, steps in ((hm.Gibbs(100), 5), (hm.AnnealedClusters(steps=50, size=8), 5)):
        state = sampler.init(rbm, jnp.ones((400, 16)), key=KEY)
        for i in range(steps):
            state, info = eqx.filter_jit(sampler.step)(rbm, state, key=jax.random.key(i))
        shares.append(float(sampler.positions(state).mean()))
    assert shares[0] > 0.99
    assert abs(shares[1] - 0.5) < 0.1
    assert 0.5 < float(info.moved) <= 1
    assert 1 < float(info.effective) <= 8


def test_an_annealing_run_of_one_step_may_follow_any_path():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    base = rbm.visible, rbm.hidden
    sampler = hm.AnnealedClusters(hm.path.Heating(*base, rbm), steps=1, size=2)
    rows = hm.sample(rbm, 5, key=KEY, sampler=sampler, steps=3)
    assert rows.shape == (5, 4)


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="size: expected at least 2"):
        hm.AnnealedClusters(size=1)
    with pytest.raises(hm.InputError, match="AnnealedClusters steps"):
        hm.AnnealedClusters(steps=0)
