"""Methods for rows with missing values; tests/missing/test_missing.py tests what they learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.likelihood.missing.annealed import mean_field_bounds

KEY = jax.random.key(0)
EXAMPLES = [hm.Marginal(hm.Persistent(hm.Gibbs(100), chains=64)), hm.PerPattern(hm.Gibbs(1))]


def test_its_title_names_the_method_that_learns():
    method = hm.Marginal(hm.Persistent(hm.Gibbs(3)), missing=2)
    assert method.about.title == "PCD-3, missing units summed out"
    assert method.about.sweeps == 3
    assert method.about.follows_likelihood
    assert not hm.Marginal(hm.PseudoLikelihood()).about.follows_likelihood
    assert hm.PerPattern(hm.Gibbs(2)).about.title == "CD-2, one model for each pattern"


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="Marginal sweeps"):
        hm.Marginal(hm.Exact(), sweeps=0)
    with pytest.raises(hm.InputError, match="Marginal missing"):
        hm.Marginal(hm.Exact(), missing=0)


def test_the_mean_field_gradient_is_that_of_the_bound():
    """By the envelope theorem, the derivative at the optimum is that with the mean field fixed."""
    layers = [hm.Bernoulli(6), hm.Bernoulli(5), hm.Bernoulli(4)]
    rbm = hm.deep(layers, key=KEY)
    rbm = jax.tree.map(lambda x: x + 0.3 * jax.random.normal(KEY, x.shape), rbm)
    rows = jnp.asarray(np.random.default_rng(0).integers(0, 2, (30, 6)), jnp.float32)
    batch = hm.samplers.Cloud.uniform(rbm.visible.encode_seen(rows))

    def bound(rbm):
        return mean_field_bounds(rbm, batch.states).mean() + log_z_by_sum(rbm)

    def log_z_by_sum(rbm):
        v = rbm.visible.states(jnp.arange(2**10))
        return jax.nn.logsumexp(-rbm.free_energy(v))

    expected = jax.grad(bound)(rbm)
    method = hm.Marginal(hm.Exact(), sweeps=50, mean_field=True)
    found, _, _ = method.estimate(rbm, batch, method.init(rbm, batch, key=KEY), key=KEY)
    for own, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(own, other, atol=2e-4)
    # Kept means reach the same mean field, one sweep at each visit of a row.
    kept = hm.Marginal(hm.Exact(), rows=30, missing=4, mean_field=True)
    state = kept.init(rbm, batch, key=KEY)
    numbered = batch._replace(rows=jnp.arange(30))
    for _ in range(50):
        found, state, _ = kept.estimate(rbm, numbered, state, key=KEY)
    for own, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(own, other, atol=2e-4)


def test_a_mean_field_is_for_units_whose_means_suffice():
    method = hm.Marginal(hm.Exact(), mean_field=True)
    assert method.about.title.endswith("missing units at their mean field")
    assert not method.about.follows_likelihood
    rbm = hm.RBM(hm.Gaussian(2), hm.Bernoulli(2), np.zeros((2, 2)))
    batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, jnp.nan]]))
    with pytest.raises(hm.InputError, match="mean_field: expected bounded values"):
        method.init(rbm, batch, key=KEY)
    # Energies of rectified units have a term in x², of which the mean is not that of the mean.
    rectified = hm.RBM(hm.ReLU(2), hm.Bernoulli(2), np.zeros((2, 2)))
    with pytest.raises(hm.InputError, match="mean_field: expected bounded values"):
        method.init(rectified, batch, key=KEY)
    deep = hm.deep([hm.Gaussian(2), hm.Bernoulli(2), hm.Bernoulli(2)], key=KEY)
    rows = np.random.default_rng(0).normal(size=(30, 2))
    method = hm.Marginal(hm.Persistent(hm.Gibbs(1)), missing=2, rows=30, mean_field=True)
    fit = hm.fit(deep, rows, key=KEY, gradient=method, epochs=20)
    assert np.isfinite(hm.log_likelihood(fit.rbm, rows).value)
