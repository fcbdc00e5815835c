import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm

EXAMPLES = [hm.Poisson(2)]


@pytest.mark.parametrize("bias", [-3.0, 0.0, 2.0, 5.0])
def test_draws_have_the_poisson_distribution(bias):
    n = 20_000
    layer = hm.Poisson(1, bias=[bias])
    x = layer.decode(layer.sample_without_inputs((n,), key=jax.random.key(3)))[:, 0]
    distribution = stats.poisson(np.exp(bias))
    edges = np.unique(distribution.ppf([0.0005, *np.linspace(0.05, 0.95, 19), 0.9995]).clip(0))
    p = np.diff([0.0, *distribution.cdf(edges), 1.0])
    counts = np.bincount(np.searchsorted(edges, x), minlength=len(edges) + 1)
    is_frequent = p * n > 1.0
    observed = counts[is_frequent]
    expected = p[is_frequent] * counts[is_frequent].sum() / p[is_frequent].sum()
    assert stats.chisquare(observed, expected).pvalue > 1e-4 / 4


def test_large_rates_are_drawn_too():
    layer = hm.Poisson(3, bias=[np.log(1e5), np.log(1e8), 60.0])
    x = layer.sample_without_inputs((4_000,), key=jax.random.key(0))
    rate = np.exp(np.asarray(layer.bias, float))
    np.testing.assert_allclose(np.asarray(x, float).mean(0), rate, rtol=1e-4)
    np.testing.assert_allclose(np.asarray(x[:, :2], float).var(0), rate[:2], rtol=0.15)


def test_the_cgf_is_the_log_sum_over_all_counts():
    layer = hm.Poisson(2, bias=[0.3, -1.0])
    inputs = jnp.array([1.2, 0.5])
    counts = jnp.repeat(jnp.arange(200.0)[:, None], 2, axis=1)
    sums = jax.nn.logsumexp(counts * inputs - layer.unit_energies(counts), axis=0)
    np.testing.assert_allclose(layer.unit_cgfs(inputs), sums, rtol=1e-5)


def test_z_is_finite_with_bounded_units_only():
    weights = jnp.ones((2, 3))
    assert hm.likelihood.finite_z(hm.RBM(hm.Poisson(2), hm.Bernoulli(3), weights))
    assert not hm.likelihood.finite_z(hm.RBM(hm.Poisson(2), hm.Gaussian(3), weights))
    mixed = hm.Mixed(hm.Bernoulli(2), hm.Gaussian(1))
    assert not hm.likelihood.finite_z(hm.RBM(hm.Poisson(2), mixed, weights))
    assert hm.likelihood.finite_z(hm.RBM(hm.Poisson(2), mixed, weights.at[:, 2].set(0.0)))


def test_other_numbers_are_refused():
    for wrong in (-1.0, 0.5):
        with pytest.raises(hm.InputError, match="whole numbers of 0 or more"):
            hm.Poisson(2).validate([[0.0, wrong]])
