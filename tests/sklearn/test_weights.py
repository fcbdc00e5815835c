"""A row of weight w counts as w rows, whatever the batch size."""

import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.sklearn import RBM, BernoulliRBM, RBMClassifier

LEVEL = 1e-4
SEEDS = 6
ROWS = hm.bars_and_stripes(3)[:12].astype(float)
TIMES = np.array([5, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 5])
REPEATED = np.repeat(ROWS, TIMES, axis=0)
# With rows that count nothing there are as many as if repeated: all fits share compiled programs.
PADDED = np.concatenate([ROWS, ROWS[: len(REPEATED) - len(ROWS)]])


def padded(weights):
    return np.pad(weights, (0, len(PADDED) - len(ROWS)))


def label(rows):
    return (rows.sum(1) > 4).astype(int)


def estimators(seed, rows=REPEATED):
    updates = {"batch_size": 6, "n_iter": 9_000 // len(rows)}  # 1,500
    rates = {"learning_rate": 0.05, "random_state": seed} | updates
    return {
        "BernoulliRBM": BernoulliRBM(4, **rates),
        "RBM": RBM(4, **rates),
        "RBMClassifier": RBMClassifier(4, **rates),
    }


def scores(name, rows, weights):
    """Return the exact log-likelihood of the repeated rows that each seed's model reaches."""
    likelihoods = []
    for seed in range(SEEDS):
        model = estimators(seed, rows)[name].fit(rows, label(rows), sample_weight=weights)
        judged = REPEATED
        if name == "RBMClassifier":
            judged = np.column_stack([REPEATED, label(REPEATED)])
        likelihoods.append(hm.log_likelihood(model.rbm_, judged).value)
    return np.array(likelihoods)


# Models that still improve can be compared as well.
@pytest.mark.filterwarnings("ignore:RBMClassifier:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", estimators(0))
def test_a_weight_is_as_many_rows_in_distribution(name):
    """Welch's t over seeds; without the weights the test detects the difference."""
    repeated = scores(name, REPEATED, None)
    weighted = scores(name, PADDED, padded(TIMES))
    plain = scores(name, PADDED, padded(np.ones(len(ROWS))))
    assert stats.ttest_ind(weighted, repeated, equal_var=False).pvalue > LEVEL
    assert stats.ttest_ind(plain, repeated, equal_var=False).pvalue < LEVEL


def test_with_the_exact_gradient_they_are_the_same_model():
    start = BernoulliRBM(3, n_iter=0, random_state=0).fit(ROWS).rbm_
    models = []
    for rows, weights in ((REPEATED, None), (ROWS, TIMES)):
        model = BernoulliRBM.from_harmonium(start, method="exact", batch_size=100, random_state=0)
        for _ in range(20):
            model.partial_fit(rows, sample_weight=weights)
        models.append(model)
    np.testing.assert_allclose(models[0].components_, models[1].components_, atol=2e-6)
    assert abs(models[0].components_ - start.weights.T).max() > 1e-3
