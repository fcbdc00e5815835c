"""scikit-learn's own conformance suites: `check_estimator`, and its tests of BernoulliRBM."""

import importlib.util

import sklearn.neural_network.tests.test_rbm as theirs
from sklearn.utils.estimator_checks import parametrize_with_checks

from harmonium.sklearn import RBM, BernoulliRBM, RBMClassifier

STOCHASTIC = "batches are drawn at random, so weighted and repeated rows agree only in law"
EXPECTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": STOCHASTIC for kind in ("dense", "sparse")
}


# tests/sklearn/test_weights.py holds the law in place of the two that fail, as scikit-learn lists
# them for its own stochastic estimators.
@parametrize_with_checks(
    [
        BernoulliRBM(4, n_iter=2),
        RBM(4, n_iter=5),
        RBMClassifier(16, n_iter=200, learning_rate=0.15),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_estimators_are_what_scikit_learn_expects(estimator, check):
    check(estimator)


# It compares weights with four digits that the draws of NumPy's generator led to.
FIXED_DRAWS = {"test_fit_gibbs"}


def _with_our_class():
    """Return scikit-learn's tests as installed, with our class in place of theirs."""
    spec = importlib.util.spec_from_file_location("their_tests_of_rbm", theirs.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BernoulliRBM = BernoulliRBM
    return module


_tests = vars(_with_our_class())
globals().update({k: v for k, v in _tests.items() if k[:5] == "test_" and k not in FIXED_DRAWS})


def test_all_of_their_tests_are_there():
    names = {name for name in vars(theirs) if name.startswith("test_")}
    assert names - FIXED_DRAWS <= set(globals())
    assert len(names) >= 13
