import jax
import jax.numpy as jnp
import pytest

import harmonium as hm
from registry import random_rbm

EXAMPLES = [hm.Persistent(hm.Gibbs(100), chains=64)]


def test_chains_persist_and_may_be_any_number():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    batch = hm.Cloud.uniform(rbm.visible.states(jnp.arange(5)))
    method = hm.Persistent(hm.Gibbs(1), chains=17)
    key = jax.random.key(0)
    state = method.init(rbm, batch, key=key)
    _, after, _ = method.estimate(rbm, batch, state, key=key)
    assert after.v.shape == (17, 4)
    moved, _ = hm.Gibbs(1).step(rbm, state, key=key)
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
    ],
)
def test_the_usual_rate_grows_with_visible_units_of_0_and_1(visible, hidden, chains, rate):
    rbm = random_rbm(visible, hidden, 0)
    method = hm.Persistent(hm.Gibbs(1), chains=chains)
    assert method.about.rate(rbm) == pytest.approx(rate)
    assert hm.Marginal(method).about.rate(rbm) == method.about.rate(rbm)  # as `fit` wraps it
    assert hm.Contrastive(hm.Gibbs(1)).about.rate(rbm) == 0.1
