"""Standardised models: the same model in other units of measurement."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.transforms.standardize import rewritten
from registry import random_rbm

KEY = jax.random.key(1)
MIXED = hm.Mixed(hm.Bernoulli(2), hm.Gaussian(2), hm.Potts(1, states=3))
RNG = np.random.default_rng(0)
REALS = RNG.normal(size=(50, 3)) * [0.2, 3.0, 40.0] + [5.0, 0.0, -70.0]
MANY = np.column_stack([RNG.integers(0, 2, (50, 2)), REALS[:, :2], RNG.integers(0, 3, 50)])


@pytest.mark.parametrize(
    ("visible", "rows"), [(hm.Gaussian(3), REALS), (MIXED, MANY)], ids=["gaussian", "mixed"]
)
def test_a_rewritten_model_is_the_same_model(visible, rows):
    """F differs by a constant and log p by Σ log s, so log Z by the sum of both; all in float64."""
    with jax.enable_x64(True):
        rbm = random_rbm(visible, hm.Bernoulli(4), 0)
        rbm = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), rbm)
        change = hm.standardization(visible, rows)
        model = change.of_rows(rbm)
        z = change.standardised(rows)
        gaps = hm.free_energies(model, rows) - hm.free_energies(rbm, z)
        np.testing.assert_allclose(gaps, gaps[0], atol=1e-9)
        volume = np.log(change.scale).sum()
        assert change.log_volume == pytest.approx(volume)
        assert hm.log_z(model).value == pytest.approx(
            hm.log_z(rbm).value + volume - gaps[0], abs=1e-9
        )
        likelihoods = [hm.log_likelihood(m, x).value for m, x in ((model, rows), (rbm, z))]
        assert likelihoods[0] == pytest.approx(likelihoods[1] - volume, abs=1e-9)
        again = change.of_standardised(model)
        for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(rbm), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(change.restored(z), rows, atol=1e-12)


def test_conditionals_are_those_of_the_other_units():
    rbm = random_rbm(hm.Gaussian(3), hm.Bernoulli(4), 0)
    change = hm.standardization(rbm.visible, REALS)
    h = jnp.array([1.0, 0.0, 1.0, 1.0])
    expected = change.restored(rbm.mean_v_from_h(h))
    np.testing.assert_allclose(change.of_rows(rbm).mean_v_from_h(h), expected, rtol=1e-4, atol=1e-4)


def test_only_columns_that_stretch_and_vary_are_changed():
    rows = MANY.copy()
    rows[:, 2] = 1e3 + 1e-5 * RNG.normal(size=50)  # constant but for rounding
    change = hm.standardization(MIXED, rows, weights=np.arange(50.0))
    np.testing.assert_array_equal(change.scale[[0, 1, 2, 4]], 1.0)
    np.testing.assert_array_equal(change.mean[[0, 1, 4]], 0.0)
    assert change.mean[2] == pytest.approx(1e3)
    expected = np.average(rows[:, 3], weights=np.arange(50.0))
    assert change.mean[3] == pytest.approx(expected, rel=1e-5)
    whole = hm.standardization(hm.Gaussian(3), np.ones((5, 3)))
    np.testing.assert_array_equal(whole.standardised(np.ones((5, 3))), 0.0)
    assert hm.standardization(hm.Bernoulli(5), RNG.integers(0, 2, (9, 5))).is_identity


def test_a_unit_that_cannot_be_rescaled_is_named():
    with pytest.raises(hm.InputError, match=r"Bernoulli unit .* cannot be rescaled; got scale 2"):
        rewritten(random_rbm(MIXED, hm.Bernoulli(2), 0), np.full(5, 2.0), np.zeros(5))
    with pytest.raises(hm.InputError, match="one mean for each of the 3 observed"):
        rewritten(random_rbm(hm.Gaussian(3), hm.Bernoulli(2), 0), np.ones(2), np.zeros(2))
