import jax
import pytest

import harmonium as hm

EXAMPLES = [hm.Gibbs(1), hm.Gibbs(3)]


@pytest.mark.parametrize("sweeps", [0, -1])
def test_sweeps_are_checked(sweeps):
    with pytest.raises(hm.InputError, match="whole number of at least 1"):
        hm.Gibbs(sweeps)


def test_the_step_reports_how_far_it_went():
    rbm = hm.initialize(hm.Bernoulli(5), hm.Bernoulli(3), key=jax.random.key(0))
    sampler = hm.Gibbs(2)
    state = sampler.init_independent(rbm, 200, key=jax.random.key(1))
    _, info = sampler.step(rbm, state, key=jax.random.key(2))
    assert 0.4 < float(info.moved) < 0.6  # nearly independent fair coins
