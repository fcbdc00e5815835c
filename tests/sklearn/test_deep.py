"""DeepRBM: features of several layers for scikit-learn's own estimators."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import harmonium as hm
from harmonium.sklearn import DeepRBM


def test_its_features_serve_a_classifier():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    deep = DeepRBM(n_components=(64, 32), n_iter=300, random_state=0)
    model = make_pipeline(deep, LogisticRegression(max_iter=500)).fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > 0.8
    assert deep.transform(X[:3]).shape == (3, 32)
    assert list(deep.get_feature_names_out()[:2]) == ["deeprbm0", "deeprbm1"]
    drawn = deep.sample(4)
    assert drawn.shape == (4, 64)
    bound = deep.log_likelihood_bound((X[:50] > 0.5).astype(float), draws=5)
    assert -60 < bound.value < -10


def test_columns_of_several_types():
    rng = np.random.default_rng(0)
    on = rng.integers(0, 2, 100)
    X = np.stack([on, 5 + 3 * on + rng.normal(size=100)], axis=1)
    model = DeepRBM(n_components=(6, 3), n_iter=20, random_state=0).fit(X)
    assert model.transform(X).shape == (100, 3)
    assert set(model.sample(20)[:, 0]) <= {0, 1}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_components": "64"}, "n_components: expected a number of units for each layer"),
        ({"n_components": (4, 0)}, "n_components"),
        ({"hidden": "softmax"}, "hidden: expected one of"),
        ({"n_iter": 0}, "n_iter"),
    ],
)
def test_mistakes_are_named(settings, words):
    with pytest.raises(hm.InputError, match=words):
        DeepRBM(**settings).fit(np.eye(4))


def test_missing_cells_are_refused():
    with pytest.raises(hm.InputError, match="without missing cells"):
        DeepRBM(n_components=(2,)).fit([[0.0, 1.0], [np.nan, 1.0], [1.0, 0.0]])
