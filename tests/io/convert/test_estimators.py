"""Conversion to and from scikit-learn estimators, tested against scikit-learn itself."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.neural_network import BernoulliRBM
from sklearn.pipeline import make_pipeline

import harmonium as hm
from harmonium.io.convert import from_sklearn, to_sklearn
from models import BERNOULLI, POTTS, assert_same, free_energy

ROWS = np.random.default_rng(0).integers(0, 2, (40, 5)).astype(float)


def test_a_round_trip():
    assert_same(from_sklearn(to_sklearn(BERNOULLI)), BERNOULLI)


def test_the_estimator_transforms_and_scores_as_the_model_does():
    estimator = to_sklearn(BERNOULLI, random_state=0)
    wanted = BERNOULLI.mean_h_from_v(jnp.asarray(ROWS))
    np.testing.assert_allclose(estimator.transform(ROWS), wanted, atol=1e-6)
    np.testing.assert_allclose(
        estimator._free_energy(ROWS), free_energy(BERNOULLI, ROWS), atol=1e-5, rtol=0
    )
    assert np.isfinite(estimator.score_samples(ROWS)).all()
    assert estimator.gibbs(ROWS).shape == ROWS.shape
    assert list(estimator.get_feature_names_out()) == [f"bernoullirbm{i}" for i in range(3)]
    assert make_pipeline(estimator).transform(ROWS).shape == (40, 3)


def test_the_estimator_goes_on_learning():
    estimator = to_sklearn(BERNOULLI, learning_rate=0.1, random_state=0)
    estimator.partial_fit(ROWS[:10])
    assert np.abs(estimator.components_.T - BERNOULLI.weights).max() > 1e-4
    assert np.isfinite(free_energy(from_sklearn(estimator), ROWS)).all()


def test_a_fitted_estimator_is_read():
    theirs = BernoulliRBM(n_components=4, n_iter=2, random_state=0).fit(ROWS)
    rbm = from_sklearn(theirs)
    np.testing.assert_allclose(free_energy(rbm, ROWS), theirs._free_energy(ROWS), atol=1e-5, rtol=0)
    assert str(rbm) == "RBM(Bernoulli(5) – Bernoulli(4))"


@pytest.mark.parametrize("theirs", [BernoulliRBM(), PCA(2).fit(ROWS), None], ids=repr)
def test_other_objects_than_fitted_estimators_are_refused(theirs):
    with pytest.raises(hm.InputError, match=r"from_sklearn: expected a fitted .*; got .* without"):
        from_sklearn(theirs)


def test_models_that_the_estimator_cannot_hold_are_refused():
    with pytest.raises(hm.InputError, match=r"to_sklearn: expected Bernoulli .*; got RBM\(Potts"):
        to_sklearn(POTTS)
