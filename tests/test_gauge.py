"""Gauges of single models; the law over all pairs of layers is in tests/laws/test_models.py."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm

KEY = jax.random.key(0)


def model(visible, hidden) -> hm.RBM:
    return hm.RBM(visible, hidden, jax.random.normal(KEY, (visible.size, hidden.size)))


def test_hidden_units_vary_by_one():
    rbm = model(hm.Bernoulli(5), hm.DReLU(3, precision_above=[0.5, 1.0, 3.0]))
    rows = np.random.default_rng(0).integers(0, 2, (2_000, 5))
    fixed = hm.analysis.unit_hidden_variance(rbm, rows)
    inputs = fixed.inputs_to_h(jnp.asarray(rows, float))
    variance = fixed.hidden.variance(inputs).mean(0) + fixed.hidden.mean(inputs).var(0)
    np.testing.assert_allclose(variance, 1.0, rtol=1e-4)
    is_chosen = np.arange(2_000) < 700
    weighted = hm.analysis.unit_hidden_variance(rbm, rows, weights=is_chosen.astype(float))
    alone = hm.analysis.unit_hidden_variance(rbm, rows[is_chosen])
    np.testing.assert_allclose(weighted.weights, alone.weights, rtol=1e-5)


def test_weights_have_a_norm_of_one_and_those_of_zero_stay():
    rbm = model(hm.Bernoulli(5), hm.Gaussian(3))
    rbm = hm.RBM(rbm.visible, rbm.hidden, rbm.weights.at[:, 1].set(0.0))
    fixed = hm.analysis.unit_weight_norms(rbm)
    np.testing.assert_allclose(jnp.linalg.norm(fixed.weights, axis=0), [1.0, 0.0, 1.0], rtol=1e-6)


def test_weights_and_biases_of_a_site_sum_to_zero():
    bias = np.random.default_rng(0).normal(size=12)
    rbm = model(hm.Potts(4, states=3, bias=bias), hm.Potts(2, states=2))
    fixed = hm.analysis.zero_sum(rbm)
    by_site = np.asarray(fixed.weights).reshape(4, 3, 2, 2)
    np.testing.assert_allclose(by_site.sum(1), 0.0, atol=1e-5)
    np.testing.assert_allclose(by_site.sum(3), 0.0, atol=1e-5)
    for layer in (fixed.visible, fixed.hidden):
        np.testing.assert_allclose(layer.fold(layer.bias), 0.0, atol=1e-5)


def test_what_would_change_the_model_is_refused():
    binary = model(hm.Bernoulli(5), hm.Bernoulli(3))
    rows = np.zeros((4, 5))
    with pytest.raises(hm.InputError, match="cannot be rescaled"):
        hm.analysis.unit_hidden_variance(binary, rows + np.eye(5)[:4])
    with pytest.raises(hm.InputError, match="cannot be rescaled"):
        hm.analysis.unit_weight_norms(binary)
    with pytest.raises(hm.InputError, match="expected a layer of Potts units or categories"):
        hm.analysis.zero_sum(binary)
    with pytest.raises(hm.InputError, match="missing values"):
        hm.analysis.unit_hidden_variance(model(hm.Bernoulli(5), hm.Gaussian(3)), rows * np.nan)
    pattern = np.ones((6, 2))
    pattern[0] = 0
    local = hm.weights.MaskedWeights(jnp.ones((6, 2)), pattern)
    with pytest.raises(hm.InputError, match="entries of 0 where units are not connected"):
        hm.analysis.zero_sum(hm.RBM(hm.Potts(2, states=3), hm.Bernoulli(2), local))
    whole = np.repeat([[0, 1], [1, 1]], 3, axis=0)  # whole sites are connected or not
    centred = hm.analysis.zero_sum(
        hm.RBM(
            hm.Potts(2, states=3), hm.Bernoulli(2), hm.weights.MaskedWeights(local.weights, whole)
        )
    )
    assert isinstance(centred.weights, hm.weights.MaskedWeights)
