"""The numerics of bridge estimates against SciPy's, tails and ends included."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from harmonium._base.statistics import log_sum_exp, sigmoid, student_95
from harmonium.likelihood.partition_function.bridge import bennett


def test_student_agrees_with_scipy():
    freedoms = np.arange(1, 400)
    ours = np.array([student_95(int(freedom)) for freedom in freedoms])
    np.testing.assert_allclose(ours, stats.t.ppf(0.975, freedoms), rtol=1e-9)


def test_sigmoid_agrees_with_scipy():
    x = np.concatenate([np.linspace(-800, 800, 1_601), np.linspace(-1, 1, 11)])
    np.testing.assert_allclose(sigmoid(x), special.expit(x), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_log_sum_exp_agrees_with_scipy(axis):
    values = np.random.default_rng(0).normal(0.0, 300.0, (7, 5))
    values[2] = -np.inf
    computed = log_sum_exp(values, axis=axis)
    np.testing.assert_allclose(computed, special.logsumexp(values, axis=axis), rtol=1e-13)


@pytest.mark.parametrize("apart", [0.0, 3.0, 40.0, 700.0, 5_000.0])
@pytest.mark.parametrize(("n_forward", "n_reverse"), [(512, 512), (40, 700)])
def test_bennett_finds_the_root(n_forward, n_reverse, apart):
    rng = np.random.default_rng(1)
    forward = rng.normal(800.0 - apart, 1.0 + apart / 20, n_forward)
    reverse = rng.normal(-800.0 - apart, 1.0 + apart / 30, n_reverse)
    m = np.log(n_reverse / n_forward)

    def imbalance(r):
        # The log of the ratio has the same root, and a slope even if the ends are far apart.
        accepted = special.log_expit(forward - r + m)
        accepted_back = special.log_expit(reverse + r - m)
        return special.logsumexp(accepted) - special.logsumexp(accepted_back)

    root = optimize.brentq(imbalance, -2e4, 2e4, xtol=1e-10)
    assert bennett(forward, reverse) == pytest.approx(root, abs=1e-6)
