"""Scaled weights: weights times a number."""

import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm

EXAMPLES = [lambda w: hm.weights.Scaled(w, jnp.asarray(0.7))]


def test_learning_leaves_the_scale_alone():
    rows = np.random.default_rng(0).integers(0, 2, (100, 3)).astype(float)
    weights = hm.weights.Scaled(
        0.1 * jax.random.normal(jax.random.key(0), (3, 2)), jnp.asarray(0.7)
    )
    rbm = hm.RBM(hm.Bernoulli(3), hm.Bernoulli(2), weights)
    for method in (hm.Exact(), hm.Contrastive(hm.Gibbs(1))):
        fitted = hm.fit(rbm, rows, key=jax.random.key(1), gradient=method, epochs=50)
        assert float(fitted.rbm.weights.scale) == float(fitted.state.rbm.weights.scale)
        np.testing.assert_allclose(fitted.rbm.weights.scale, 0.7)
        assert (fitted.rbm.weights.weights != weights.weights).all()
