"""Weighted means and resampling, of NumPy and of JAX arrays alike."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from harmonium._base.statistics import (
    effective_size,
    log_mean_exp,
    lower_mean_bound,
    most_expected,
    relative_weights,
    resampled,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
def test_log_means_and_effective_sizes(array):
    x = RNG.normal(size=(3, 50)).astype(np.float32) * 30 - 1_000
    exact = np.logaddexp.reduce(x.astype(float), axis=1) - np.log(50)
    np.testing.assert_allclose(log_mean_exp(array(x), 1), exact, rtol=1e-6)
    np.testing.assert_allclose(log_mean_exp(array(x[0])), exact[0], rtol=1e-6)
    assert float(effective_size(array(np.ones(7)))) == 7.0
    assert float(effective_size(array(np.eye(5)[0]))) == 1.0
    assert float(relative_weights(array(x[0])).max()) == 1.0


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("offset", [0.0, 0.3, 1.0 - 2.0**-24])
def test_each_is_drawn_as_often_as_its_weight_says_but_for_rounding(array, offset):
    weights = RNG.random(1_000).astype(np.float32)
    weights[[0, 5, 6, -1, -2]] = 0.0
    counts = np.bincount(np.asarray(resampled(array(weights), 4_000, offset)), minlength=1_000)
    assert (counts[weights == 0.0] == 0).all()
    assert abs(counts - 4_000 * weights / weights.sum()).max() < 1.01


def test_it_can_be_compiled():
    weights = jnp.asarray(RNG.random(20))
    compiled = jax.jit(lambda w, u: resampled(w, 20, u))
    np.testing.assert_array_equal(compiled(weights, 0.5), resampled(weights, 20, 0.5))


@pytest.mark.parametrize("n", [1, 4, 64, 512])
@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_lower_bounds_of_means_hold_for_heavy_tails(n, spread):
    """For x normal with mean −σ²/2, the mean of e^x is 1: 10 % of bounds may be above 0."""
    rng = np.random.default_rng([n, int(10 * spread)])
    draws = 200
    bounds = [
        lower_mean_bound(spread * rng.standard_normal(n) - spread**2 / 2, 0.1) for _ in range(draws)
    ]
    assert stats.binom.sf(np.sum(np.array(bounds) > 0) - 1, draws, 0.1) > 1e-4


def test_lower_bounds_of_means_at_their_ends():
    assert lower_mean_bound(np.array([2.0]), 0.025) == pytest.approx(2.0 + np.log(0.025))
    x = 0.5 * np.random.default_rng(0).standard_normal(512) + 7.0
    normal = 1.96 * np.exp(x - log_mean_exp(x)).std() / np.sqrt(512)
    assert normal < log_mean_exp(x) - lower_mean_bound(x, 0.025) < 2 * normal


@pytest.mark.parametrize("count", [0, 1, 3, 10, 100])
def test_the_most_expected_from_a_count(count):
    assert most_expected(count) == pytest.approx(stats.chi2.ppf(0.975, 2 * count + 2) / 2, rel=0.01)
