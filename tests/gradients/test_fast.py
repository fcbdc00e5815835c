import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from registry import random_rbm

EXAMPLES = [hm.FastPersistent(hm.Gibbs(1))]  # exactly PCD, bit for bit, where the rate is 0
KEY = jax.random.key(0)


def test_without_fast_parameters_it_is_pcd():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    batch = hm.samplers.Cloud.uniform(rbm.visible.states(jnp.arange(5)))
    plain = hm.Persistent(hm.Gibbs(2), 16)
    fast = hm.FastPersistent(hm.Gibbs(2), 16, rate=0.0)

    @eqx.filter_jit
    def gradient_of(method):
        return method.estimate(rbm, batch, method.init(rbm, batch, key=KEY), key=KEY)[0]

    gradients = [gradient_of(method) for method in (plain, fast)]
    for a, b in zip(*map(jax.tree.leaves, gradients), strict=True):
        np.testing.assert_array_equal(a, b)
    assert fast.about.follows_likelihood
    assert not hm.FastPersistent(hm.Gibbs(1)).about.follows_likelihood


def test_chains_leave_a_mode_that_plain_chains_never_leave():
    """Units are all on or all off: fast weights drive the chains to the mode of the batch."""
    rbm = hm.RBM.from_arrays(3 * np.ones((16, 4)), -6 * np.ones(16), -24 * np.ones(4))
    on = hm.samplers.Cloud.uniform(jnp.ones((8, 16)))
    fractions_on = []
    for method in (hm.Persistent(hm.Gibbs(1), 32), hm.FastPersistent(hm.Gibbs(1), 32, rate=0.3)):
        state = method.init(rbm, on, key=KEY)

        def update(i, state, method=method):
            return method.estimate(rbm, on, state, key=jax.random.fold_in(KEY, i))[1]

        state = jax.lax.fori_loop(0, 100, update, state)
        fractions_on.append(float(method.status(rbm, state).chains.states.mean()))
    assert fractions_on[0] < 0.05 < 0.3 < fractions_on[1]


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="rate: expected a number of at least 0"):
        hm.FastPersistent(hm.Gibbs(1), rate=-1.0)
    with pytest.raises(hm.InputError, match="decay: expected a number of at least 0 and below 1"):
        hm.FastPersistent(hm.Gibbs(1), decay=1.0)
