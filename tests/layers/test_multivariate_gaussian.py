import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.likelihood.missing.both_ways import energies_of_rows
from harmonium.likelihood.missing.marginal import Limits
from registry import LEVEL, random_rbm

PRECISION = [[4.0, 0.6, -0.2], [0.6, 5.0, 0.4], [-0.2, 0.4, 4.0]]
EXAMPLES = [hm.MultivariateGaussian(3, precision=PRECISION)]
KEY = jax.random.key(0)


def layer_with(seed, size=3):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(size, size))
    return hm.MultivariateGaussian(size, rng.normal(size=size), factor @ factor.T + np.eye(size))


def normal_of(layer, inputs=0.0):
    """Return the normal distribution of the layer's units, in double precision."""
    covariance = np.linalg.inv(np.asarray(layer.precision, float))
    mean = covariance @ (np.asarray(layer.bias) + inputs)
    return stats.multivariate_normal(mean, covariance, allow_singular=True)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_a_multivariate_normal_distribution(seed):
    layer = layer_with(seed)
    inputs = jax.random.normal(jax.random.key(seed), (3,))
    x = jax.random.normal(jax.random.key(100 + seed), (50, 3))
    log_p = x @ inputs - layer.energy(x) - layer.cgf(inputs)
    np.testing.assert_allclose(log_p, normal_of(layer, inputs).logpdf(x), rtol=1e-4, atol=1e-4)
    covariance = normal_of(layer).cov
    np.testing.assert_allclose(layer.variance(inputs), np.diag(covariance), rtol=1e-4)
    np.testing.assert_allclose(layer.whitening @ layer.whitening.T, covariance, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_draws_have_its_mean_and_covariance(seed):
    layer = layer_with(seed)
    n = 100_000
    drawn = np.asarray(layer.sample(jnp.zeros((n, 3)), key=jax.random.key(seed)), float)
    right = normal_of(layer)
    white = (drawn - right.mean) @ np.linalg.inv(np.linalg.cholesky(right.cov)).T
    squares = n * (white.mean(0) ** 2).sum()  # χ² of 3
    products = [white[:, i] * white[:, j] for i in range(3) for j in range(i + 1)]
    scores = [np.sqrt(n) * (p.mean() - p.mean().round()) / p.std() for p in products]
    p_values = [stats.chi2.sf(squares, 3), stats.chi2.sf(np.square(scores).sum(), 6)]
    assert min(p_values) > LEVEL / 6


@pytest.mark.parametrize("seed", range(3))
def test_given_some_units_the_others_are_conditional(seed):
    layer = layer_with(seed)
    known = jnp.array([True, False, False])
    values = jnp.array([0.7, 0.0, 0.0])
    inputs = jnp.zeros((50_000, 3))
    covariance = normal_of(layer).cov
    mean = normal_of(layer).mean
    slope = covariance[1:, 0] / covariance[0, 0]
    expected = mean[1:] + slope * (0.7 - mean[0])
    within = covariance[1:, 1:] - np.outer(slope, covariance[0, 1:])
    drawn = np.asarray(layer.sample_given(inputs, known, values, key=jax.random.key(seed)), float)
    assert (drawn[:, 0] == np.float32(0.7)).all()
    off = drawn[:, 1:].mean(0) - expected
    squares = len(drawn) * off @ np.linalg.solve(within, off)
    assert stats.chi2.sf(squares, 2) > LEVEL / 3
    np.testing.assert_allclose(np.cov(drawn[:, 1:].T), within, atol=0.03 * np.trace(within))
    # log ∫ e^(−U) over the free units = log p(known) + Γ
    held = layer.unit_cgfs_given(jnp.zeros(3), known, values).sum()
    marginal = stats.norm.logpdf(0.7, mean[0], np.sqrt(covariance[0, 0]))
    assert float(held - layer.cgf(jnp.zeros(3))) == pytest.approx(marginal, abs=1e-4)
    every = layer.unit_cgfs_given(jnp.zeros(3), jnp.ones(3, bool), values).sum()
    assert float(every) == pytest.approx(-float(layer.energy(values)), abs=1e-4)


def test_moments_are_those_of_the_rows_in_any_units_of_measurement():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 3)) + [1.0, 2.0, 3.0]
    weights = rng.random(500)
    for scale in (np.ones(3), np.array([0.01, 1.0, 100.0])):
        layer = hm.MultivariateGaussian(3)
        fitted = layer.fit_moments(jnp.asarray(rows * scale), jnp.asarray(weights))
        normal = normal_of(fitted)
        mean = np.average(rows, axis=0, weights=weights) * scale
        covariance = np.cov((rows * scale).T, aweights=weights, ddof=0)
        np.testing.assert_allclose(normal.mean / scale, mean / scale, atol=0.03)
        sd_products = np.outer(np.diag(covariance), np.diag(covariance)) ** 0.5
        np.testing.assert_allclose(normal.cov / sd_products, covariance / sd_products, atol=0.01)


def test_a_constant_and_a_repeated_column_have_a_finite_precision():
    x = np.linspace(-1, 1, 50)
    rows = jnp.asarray(np.stack([np.full(50, 3.0), x, x, x + 1e-9 * x**2], axis=1))
    fitted = hm.MultivariateGaussian(4).fit_moments(rows)
    assert np.isfinite(fitted.precision).all()
    np.testing.assert_allclose(fitted.mean(fitted.zero_inputs), rows.mean(0), atol=1e-2)
    assert np.isfinite(fitted.cgf(jnp.ones(4)))


def test_the_precision_is_checked_and_stays_positive_definite():
    match = "precision: expected a symmetric, positive definite matrix"
    for wrong in ([[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.5], [0.0, 1.0]]):
        with pytest.raises(hm.InputError, match=match):
            hm.MultivariateGaussian(2, precision=wrong)
    layer = layer_with(0)
    moved = jax.tree.map(lambda x: x - 0.5, layer).project()
    assert (np.linalg.eigvalsh(moved.precision) > 0).all()
    np.testing.assert_allclose(layer.project().precision, layer.precision, rtol=1e-6)


def test_rescaled_and_along_are_changes_of_variables():
    layer = layer_with(1)
    rng = np.random.default_rng(0)
    scale = rng.uniform(0.5, 2.0, 3)
    offset = rng.normal(size=3)
    x = jnp.asarray(rng.normal(size=(20, 3)), jnp.float32)
    moved = layer.rescaled(scale, offset)
    difference = moved.energy(scale * x + offset) - layer.energy(x)
    np.testing.assert_allclose(difference, difference[0], atol=1e-4)
    basis = jnp.asarray(rng.normal(size=(3, 3)), jnp.float32)
    np.testing.assert_allclose(layer.along(basis).energy(x), layer.energy(x @ basis.T), rtol=1e-4)


def test_parts_of_a_mixed_layer_keep_their_own_basis():
    first = layer_with(0, 2)
    second = layer_with(1, 3)
    layer = hm.Mixed(first, hm.Bernoulli(2), second)
    assert layer.correlated.tolist() == [0, 1, 4, 5, 6]
    basis = layer.whitening
    np.testing.assert_allclose(basis[:2, :2], first.whitening)
    white = layer.along(basis)
    np.testing.assert_allclose(white.parts[0].precision, np.eye(2), atol=1e-5)
    np.testing.assert_allclose(white.parts[2].precision, np.eye(3), atol=1e-5)


def test_annealed_free_energies_of_incomplete_rows_are_those_of_the_sum():
    seed = 0
    visible = hm.Mixed(hm.Bernoulli(2), hm.MultivariateGaussian(3, precision=PRECISION))
    rbm = random_rbm(visible, hm.Bernoulli(5), seed)
    key, key_rows = jax.random.split(jax.random.key(seed))
    rows = visible.decode(rbm.visible.sample_without_inputs((32,), key=key_rows)).astype(float)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.4] = np.nan
    rows = rows[np.isnan(rows).any(1)]
    annealed = energies_of_rows(rbm, rows, key=key)
    errors = annealed.value - hm.free_energies(rbm, rows)
    assert annealed.converged.mean() > 0.95
    assert np.mean((errors / np.maximum(annealed.half_width, 1e-4)) ** 2) < 0.45


@pytest.mark.parametrize(
    "visible", [hm.MultivariateGaussian(3), hm.Exclusive(6, [(0, 1, 2), (3, 4)])], ids=str
)
@pytest.mark.parametrize("seed", range(2))
def test_imputed_means_and_variances_follow_from_the_seen_units_too(visible, seed):
    """Given h, the units of a block still depend on one another: draws have the stated moments."""
    rbm = random_rbm(visible, hm.Bernoulli(3), seed)
    row = rbm.visible.decode(rbm.visible.sample_without_inputs((1,), key=KEY)).astype(float)
    row[0, 1:3] = np.nan
    exact = hm.impute(rbm, row, key=KEY, draws=4_000)
    drawn = exact.draws[:, 0]
    z = (drawn.mean(0) - exact.mean[0])[1:3] / (exact.spread[0, 1:3] / np.sqrt(len(drawn)))
    assert abs(z).max() < stats.norm.isf(LEVEL / 16)
    np.testing.assert_allclose(drawn.std(0), exact.spread[0], atol=0.06 * exact.spread.max())


@pytest.mark.parametrize("visible", [layer_with(0), hm.Exclusive(6, [(0, 1, 2), (3, 4)])], ids=str)
def test_chains_and_sums_impute_the_same(visible, monkeypatch):
    rbm = random_rbm(visible, hm.Bernoulli(3), 0)
    rows = rbm.visible.decode(rbm.visible.sample_without_inputs((6,), key=KEY)).astype(float)
    rows[:, :2] = np.nan
    exact = hm.impute(rbm, rows, key=KEY, draws=1)
    monkeypatch.setattr("harmonium.likelihood.missing.completing.sums_for", lambda *_: Limits(0, 0))
    by_chains = hm.impute(rbm, rows, key=KEY, draws=200, sweeps=60)
    assert by_chains.method == "200 chains of 60 sweeps"
    scale = exact.spread.max()
    np.testing.assert_allclose(by_chains.mean, exact.mean, atol=0.05 * scale)
    np.testing.assert_allclose(by_chains.spread, exact.spread, atol=0.05 * scale)


def test_correlations_are_shrunk_where_few_rows_support_them():
    """Chance correlations of independent columns are at least halved; strong ones are kept."""
    rng = np.random.default_rng(0)

    def correlation(rows):
        covariance = normal_of(hm.MultivariateGaussian(rows.shape[1]).fit_moments(rows)).cov
        spread = np.sqrt(np.diag(covariance))
        return covariance / np.outer(spread, spread)

    independent = jnp.asarray(rng.normal(size=(60, 20)), jnp.float32)
    fitted = correlation(independent) - np.eye(20)
    chance = np.corrcoef(independent.T) - np.eye(20)
    assert abs(fitted).max() < 0.5 * abs(chance).max()
    x = rng.normal(size=(60, 1))
    same = jnp.asarray(x + 0.01 * rng.normal(size=(60, 20)), jnp.float32)
    assert correlation(same).min() > 0.995
    weighted = hm.MultivariateGaussian(20).fit_moments(same, jnp.ones(60).at[:5].set(0.0))
    assert np.isfinite(weighted.precision).all()
