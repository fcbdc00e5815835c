import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

import harmonium as hm
from harmonium.sklearn import RBMClassifier
from registry import random_rbm

X = (load_digits().data > 7) * 1.0
Y = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])[
    load_digits().target
]


@pytest.fixture(scope="module")
def fitted():
    return RBMClassifier(100, n_iter=100, learning_rate=0.3, random_state=0).fit(X[:1200], Y[:1200])


def test_digits_are_told_apart(fitted):
    assert fitted.score(X[1200:], Y[1200:]) > 0.88
    assert list(fitted.classes_) == sorted(set(Y))


def test_probabilities_are_exact():
    """Against p(v, y) enumerated over both layers."""
    rows = hm.bars_and_stripes(3)[:14]
    y = np.arange(14) % 3
    model = RBMClassifier(3, n_iter=0, random_state=0).fit(rows, y)
    model.rbm_ = random_rbm(model.rbm_.visible, model.rbm_.hidden, 0)
    every = np.concatenate([np.column_stack([rows, np.full(14, c)]) for c in range(3)])
    energies = np.asarray(model.rbm_.free_energy(model.rbm_.visible.encode(jnp.asarray(every))))
    joint = np.exp(-energies.reshape(3, 14).T.astype(float))
    expected = joint / joint.sum(1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-6)
    np.testing.assert_allclose(model.predict_log_proba(rows), np.log(expected), atol=1e-4)


def test_rows_of_a_class_can_be_drawn(fitted):
    drawn = fitted.sample(200, "zero")
    assert drawn.shape == (200, 64)
    assert (fitted.predict(drawn) == "zero").mean() > 0.8
    with pytest.raises(hm.InputError, match="y: expected one of"):
        fitted.sample(1, "ten")


@pytest.mark.parametrize("method", ["discriminative", "hybrid"])
def test_labels_can_be_all_that_matters(method):
    model = RBMClassifier(50, method=method, learning_rate=0.5, n_iter=60, random_state=0)
    model.fit(X[:1200], Y[:1200])
    assert model.score(X[:1200], Y[:1200]) > 0.93
    assert model.score(X[1200:], Y[1200:]) > 0.85


def test_methods_are_listed_and_the_share_is_checked():
    with pytest.raises(hm.InputError, match="discriminative, hybrid or a gradient method such"):
        RBMClassifier(method="best").fit(X, Y)
    with pytest.raises(hm.InputError, match="WeightedSum shares"):
        RBMClassifier(method="hybrid", generative_share=0).fit(X, Y)


def test_continuous_columns():
    from sklearn.datasets import load_iris

    model = RBMClassifier(16, n_iter=1_000, learning_rate=0.3, random_state=0)
    scores = cross_val_score(model, *load_iris(return_X_y=True), cv=3)
    assert scores.mean() > 0.9


def test_a_run_that_was_too_short_says_so():
    """It has 0.69 of iris right; with the default number of updates, 0.97."""
    X, y = load_iris(return_X_y=True)
    model = RBMClassifier(16, n_iter=150, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, y)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith("RBMClassifier: 300 updates were too few: the log-probability of")
    assert "still rose in the second half of the run, by 0.3" in message
    assert message.endswith("raise n_iter (None makes at least 10,000 updates) or learning_rate.")
    assert caught[0].filename == __file__


def test_a_run_that_learned_no_labels_says_so():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(
        ConvergenceWarning, match=r"labels is -1.09\d nats, compared with -1.099 from the"
    ):
        RBMClassifier(16, n_iter=10, random_state=0).fit(X, y)


def test_rows_with_gaps_count_by_those_that_are_complete():
    X, y = load_iris(return_X_y=True)
    X[::3, 1] = np.nan
    with pytest.warns(ConvergenceWarning, match="20 updates were too few"):
        RBMClassifier(16, n_iter=10, random_state=0).fit(X, y)


def test_a_run_that_was_long_enough_is_silent():
    RBMClassifier(8, n_iter=300, learning_rate=0.3, random_state=0).fit(*load_wine(return_X_y=True))


def test_labels_of_one_class_have_nothing_to_learn():
    RBMClassifier(2, n_iter=2, random_state=0).fit(X[:30], np.zeros(30))


def test_a_row_with_a_gap_changes_no_answer_of_another_row():
    """Complete rows are exact, and the others take chains only where their own gaps need them."""
    rng = np.random.default_rng(0)
    rows = (rng.random((12, 24)) < 0.5) * 1.0
    y = np.arange(12) % 3
    model = RBMClassifier(20, n_iter=0, random_state=0).fit(rows, y)
    model.rbm_ = random_rbm(model.rbm_.visible, model.rbm_.hidden, 0)
    alone = model.predict_proba(rows)
    little = rows.copy()
    little[3, 2] = np.nan  # a sum
    of_little = model.predict_proba(little)
    much = little.copy()
    much[5, :20] = np.nan  # chains
    others = np.delete(np.arange(12), [3, 5])
    p = model.predict_proba(much)
    np.testing.assert_array_equal(p[others], alone[others])
    np.testing.assert_allclose(p[3], of_little[3], atol=1e-5)
