import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from registry import random_rbm

EXAMPLES = [hm.Persistent(hm.Gibbs(100), chains=64)]


def test_chains_persist_and_may_be_any_number():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    batch = hm.samplers.Cloud.uniform(rbm.visible.states(jnp.arange(5)))
    method = hm.Persistent(hm.Gibbs(1), chains=17)
    key = jax.random.key(0)
    state = method.init(rbm, batch, key=key)
    _, after, _ = eqx.filter_jit(method.estimate)(rbm, batch, state, key=key)
    assert after.v.shape == (17, 4)
    moved, _ = eqx.filter_jit(hm.Gibbs(1).step)(rbm, state, key=key)
    assert (moved.v == after.v).all()
    with pytest.raises(hm.InputError, match="chains"):
        hm.Persistent(hm.Gibbs(1), chains=0)


@pytest.mark.parametrize(
    ("visible", "hidden", "chains", "rate"),
    [
        (hm.Bernoulli(16), hm.Bernoulli(9), 500, 0.1),
        (hm.Bernoulli(64), hm.Bernoulli(9), 500, 0.1),
        (hm.Bernoulli(128), hm.Bernoulli(9), 500, 0.2),
        (hm.Bernoulli(784), hm.Bernoulli(9), 500, 0.4),
        (hm.Bernoulli(784), hm.Bernoulli(9), 100, 0.1),
        (hm.Bernoulli(784), hm.Gaussian(9), 500, 0.1),
        (hm.Ising(784), hm.Bernoulli(9), 500, 0.1),
        (hm.Ising(784), hm.Ising(9), 500, 0.025),
        (hm.Gaussian(20), hm.Bernoulli(9), 500, 0.1),
        (hm.Gaussian(20), hm.Gaussian(9), 500, 0.025),
        (hm.Potts(5, states=3), hm.Bernoulli(9), 500, 0.1),
        (hm.Potts(64, states=5), hm.Bernoulli(9), 500, 0.1),
        (hm.Potts(160, states=21), hm.Bernoulli(9), 500, 0.25),
        (hm.Potts(160, states=21), hm.DReLU(9), 500, 0.1),
        (hm.Exclusive(100, [range(50), range(50, 100)]), hm.Bernoulli(9), 500, 0.1),
    ],
)
def test_the_usual_rate_grows_with_visible_units_of_0_and_1(visible, hidden, chains, rate):
    rbm = hm.initialize(visible, hidden, key=jax.random.key(0))
    method = hm.Persistent(hm.Gibbs(1), chains=chains)
    assert method.about.rate(rbm) == pytest.approx(rate)
    assert hm.Marginal(method).about.rate(rbm) == method.about.rate(rbm)  # as `fit` wraps it
    assert hm.Contrastive(hm.Gibbs(1)).about.rate(rbm) == min(0.1, rate)


def test_the_usual_rate_falls_with_the_units_of_measurement():
    rows = np.random.default_rng(0).normal(size=(200, 5))
    rates = []
    for scale in (1.0, 10.0):
        rbm = hm.initialize(hm.Gaussian(5), hm.Bernoulli(4), scale * rows, key=jax.random.key(0))
        rates.append(hm.Contrastive(hm.Gibbs(1)).about.rate(rbm))
    assert rates[0] == pytest.approx(0.1, rel=0.2)
    assert rates[1] == pytest.approx(rates[0] / 100, rel=0.2)
