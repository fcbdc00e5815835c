"""Forecasts: draws of several steps against products of conditional probabilities."""

import itertools
import warnings

import jax
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from registry import LEVEL, randomised

KEY = jax.random.key(3)


@pytest.fixture(scope="module")
def rbm():
    """A model of two columns given two earlier rows."""
    layer = randomised(hm.Conditional(hm.Bernoulli(6), given=range(4)), KEY, scale=1.5)
    weights = jax.random.normal(KEY, (6, 3))
    return hm.RBM(layer, hm.Bernoulli(3), weights)


def test_windows_are_successive_rows():
    series = np.arange(10).reshape(5, 2)
    rows = hm.data.windows(series, past=2)
    assert rows.shape == (3, 6)
    np.testing.assert_array_equal(rows[0], [0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(rows[:, 4:], series[2:])
    for wrong, past in ((series, 5), (series, 0), (series[0], 1)):
        with pytest.raises(hm.InputError, match=r"series|past"):
            hm.data.windows(wrong, past=past)


def test_two_steps_have_the_product_of_their_probabilities(rbm):
    draws = 8_000
    past = np.array([[1, 0], [0, 1]])
    drawn = hm.forecast(rbm, past, steps=2, key=KEY, draws=draws)
    assert drawn.shape == (draws, 2, 2)
    paths = np.array(list(itertools.product([0, 1], repeat=4))).reshape(-1, 2, 2)
    log_p = np.zeros(len(paths))
    for step in range(2):
        series = np.concatenate([np.tile(past, (len(paths), 1, 1)), paths[:, : step + 1]], axis=1)
        rows = series[:, -3:].reshape(len(paths), -1)
        log_p -= hm.free_energies(rbm, rows)
    p = np.exp(log_p)
    np.testing.assert_allclose(p.sum(), 1.0, atol=1e-5)
    counts = np.array([(drawn == path).all((1, 2)).sum() for path in paths])
    chi2 = ((counts - draws * p) ** 2 / (draws * p)).sum()
    assert stats.chi2.sf(chi2, len(paths) - 1) > LEVEL


def test_what_cannot_be_continued_is_named(rbm):
    with pytest.raises(hm.InputError, match="at least 2 rows of 2 columns"):
        hm.forecast(rbm, [[1, 0]], steps=1, key=KEY)
    plain = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(1), np.zeros((4, 1)))
    between = hm.RBM(hm.Conditional(hm.Bernoulli(4), given=[2, 3]), plain.hidden, plain.weights)
    for model in (plain, between):
        with pytest.raises(hm.InputError, match="first units are the given past of a series"):
            hm.forecast(model, [[1, 0]], steps=1, key=KEY)
    with pytest.raises(hm.InputError, match="steps"):
        hm.forecast(rbm, [[1, 0], [0, 1]], steps=0, key=KEY)


def test_a_value_that_its_past_determines_closely_is_drawn():
    """The next value is known to 1/50 of its distance from 0, where annealing begins otherwise."""
    deviation = 0.02
    gaussian = hm.Gaussian(2, precision=[1.0, deviation**-2])
    layer = hm.Conditional(gaussian, given=[0], weights=[[deviation**-2]])
    # So many hidden units that no sum is feasible, with weak weights.
    weights = np.zeros((2, 64))
    weights[1] = 0.5
    hidden = hm.Bernoulli(64)
    rbm = hm.RBM(layer, hidden, weights)
    draws = 400
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = hm.forecast(rbm, [[1.0]], steps=2, key=KEY, draws=draws)
    # y given u: precision 1/d², field u/d², and 64 units that add log(1 + e^(y/2)) each.
    y = np.linspace(-1.0, 4.0, 20_001)

    def moments(u):
        log_p = -0.5 * (y - u) ** 2 / deviation**2 + 64 * np.logaddexp(0.0, 0.5 * y)
        p = np.exp(log_p - log_p.max())
        mean = (p * y).sum() / p.sum()
        return mean, np.sqrt((p * (y - mean) ** 2).sum() / p.sum())

    mean, spread = moments(1.0)
    z = (drawn[:, 0, 0].mean() - mean) / (spread / np.sqrt(draws))
    ratio = drawn[:, 0, 0].var(ddof=1) / spread**2
    assert stats.chi2.sf(z**2, 1) > LEVEL
    assert (
        min(
            stats.chi2.sf(ratio * (draws - 1), draws - 1),
            stats.chi2.cdf(ratio * (draws - 1), draws - 1),
        )
        > LEVEL
    )
    after = np.array([moments(u) for u in drawn[:, 0, 0]])
    z = (drawn[:, 1, 0] - after[:, 0]) / after[:, 1]
    assert stats.chi2.sf((z**2).sum(), draws) > LEVEL
    assert abs(z.mean()) * np.sqrt(draws) < stats.norm.isf(LEVEL)
