"""scikit-learn's own conformance suites: `check_estimator`, and its tests of BernoulliRBM."""

import importlib.util

import pytest
import sklearn.neural_network.tests.test_rbm as theirs
from sklearn.utils.estimator_checks import parametrize_with_checks

from harmonium.sklearn import RBM, BernoulliRBM, DeepRBM, RBMClassifier, RBMImputer

# Their rows are normal numbers, and few for a classifier; to warn of that is no failure of a check.
pytestmark = [
    pytest.mark.filterwarnings("ignore:X. expected values in .0, 1.:UserWarning"),
    pytest.mark.filterwarnings("ignore:RBMClassifier:sklearn.exceptions.ConvergenceWarning"),
]
STOCHASTIC = "batches are drawn at random, so weighted and repeated rows agree only in distribution"
EXPECTED = {
    f"check_sample_weight_equivalence_on_{kind}_data": STOCHASTIC for kind in ("dense", "sparse")
}


# Two checks of sample weights fail, as they do for scikit-learn's own stochastic estimators, where
# it lists them. tests/sklearn/test_weights.py tests the same in distribution instead.
@parametrize_with_checks(
    [
        BernoulliRBM(4, n_iter=2),
        RBM(4, n_iter=5),
        RBMClassifier(16, n_iter=200, learning_rate=0.15),
        RBMImputer(4, n_iter=5, draws=2, sweeps=5),
        DeepRBM(n_components=(4, 3), n_iter=2),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
@pytest.mark.filterwarnings("ignore:X. expected values in .0, 1.:UserWarning")  # normal numbers
@pytest.mark.filterwarnings(
    "ignore:RBMClassifier:sklearn.exceptions.ConvergenceWarning"
)  # few rows
def test_estimators_are_what_scikit_learn_expects(estimator, check):
    check(estimator)


# It compares weights, to four digits, with those that NumPy's random generator led to.
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
