import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import harmonium as hm
from harmonium.gradients import PhaseInfo
from harmonium.training.transformations import whitened

KEY = jax.random.key(0)
NO_INFO = PhaseInfo(jnp.zeros(5), jnp.zeros(2), jnp.zeros(()))


def correlated(n=400, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    numbers = np.stack([x, x + 0.02 * rng.normal(size=n), rng.normal(size=n)], axis=1)
    return np.concatenate([rng.integers(0, 2, (n, 2)), numbers], axis=1)


def model(rows, hidden=2):
    layer = hm.Mixed(hm.Bernoulli(2), hm.MultivariateGaussian(3))
    return hm.initialize(layer, hm.Bernoulli(hidden), rows, key=KEY)


def test_an_update_is_that_of_the_model_of_whitened_columns():
    """ΔW = −η S⁻ᵀS⁻¹ gW along the correlated columns, ΔΛ = −η M⁻¹ gΛ M⁻¹ with M = SSᵀ."""
    rbm = model(correlated())
    grads = jax.tree.map(lambda x: jax.random.normal(KEY, x.shape), rbm)
    transform = whitened(optax.sgd(0.1))
    updates, _ = transform.update(grads, transform.init(rbm), rbm, info=NO_INFO)
    precision = np.asarray(rbm.visible.parts[1].precision, float)  # M⁻¹
    np.testing.assert_allclose(updates.weights[:2], -0.1 * grads.weights[:2], rtol=1e-5)
    expected = -0.1 * precision @ np.asarray(grads.weights[2:], float)
    np.testing.assert_allclose(updates.weights[2:], expected, rtol=2e-2, atol=2e-2)
    precision_grads = np.asarray(grads.visible.parts[1].precision, float)
    expected = -0.1 * precision @ precision_grads @ precision
    precision_update = updates.visible.parts[1].precision
    np.testing.assert_allclose(precision_update, expected, atol=2e-2 * abs(expected).max())


def test_an_update_is_smooth_along_states_in_order():
    """ΔW = −η K gW with K = (SSᵀ)⁻¹; biases move as they would by themselves."""
    states = hm.Categorical(2, states=(3, 5), orders=[(), range(5)])
    layer = hm.Mixed(states, hm.MultivariateGaussian(2))
    codes = np.random.default_rng(0).integers(0, 3, (400, 2))
    rows = np.concatenate([codes, correlated()[:, 2:4]], axis=1)
    rbm = hm.initialize(layer, hm.Bernoulli(3), rows, key=KEY)
    grads = jax.tree.map(lambda x: jax.random.normal(KEY, x.shape), rbm)
    transform = whitened(optax.sgd(0.1))
    updates, _ = transform.update(grads, transform.init(rbm), rbm, info=NO_INFO)
    smoothing = np.asarray(states.smoothing)
    steps = -0.1 * np.asarray(grads.weights, float)
    steps[3:8] = np.linalg.inv(smoothing @ smoothing.T) @ steps[3:8]
    np.testing.assert_allclose(updates.weights[:8], steps[:8], rtol=1e-4, atol=1e-5)
    expected = -0.1 * grads.visible.parts[0].bias
    np.testing.assert_allclose(updates.visible.parts[0].bias, expected, atol=1e-6)


def test_states_in_order_need_no_correlated_columns_beside_them():
    layer = hm.Mixed(hm.Bernoulli(1), hm.Categorical(1, 4, orders=[(2, 0, 1, 3)]), hm.Gaussian(1))
    rows = np.random.default_rng(0).integers(0, 2, (50, 3))
    rbm = hm.initialize(layer, hm.Bernoulli(2), rows, key=KEY)
    grads = jax.tree.map(jnp.ones_like, rbm)
    transform = whitened(optax.sgd(0.1))
    updates, _ = transform.update(grads, transform.init(rbm), rbm, info=NO_INFO)
    np.testing.assert_allclose(updates.weights, -0.1, rtol=1e-4)  # equal for all states: as it was


def test_independent_units_and_masked_weights_are_left_alone():
    rows = correlated()
    plain = hm.initialize(hm.Gaussian(5), hm.Bernoulli(2), rows, key=KEY)
    layer = hm.Mixed(hm.Bernoulli(2), hm.MultivariateGaussian(3))
    masked = hm.initialize(layer, hm.Bernoulli(2), rows, key=KEY, pattern=np.eye(5, 2))
    for rbm in (plain, masked):
        grads = jax.tree.map(jnp.ones_like, rbm)
        whitening = whitened(optax.sgd(0.1))
        sgd = optax.with_extra_args_support(optax.sgd(0.1))
        updates, _ = whitening.update(grads, whitening.init(rbm), rbm, info=NO_INFO)
        expected, _ = sgd.update(grads, sgd.init(rbm), rbm)
        assert all(map(np.array_equal, jax.tree.leaves(updates), jax.tree.leaves(expected)))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_learning_does_not_depend_on_units_of_measurement(scale):
    rows = correlated()
    scales = np.array([1.0, 1.0, scale, 1.0, 1.0 / scale])
    fit = hm.fit(model(rows * scales, 8), rows * scales, key=KEY, epochs=200)
    value = hm.log_likelihood(fit.rbm, rows * scales, key=KEY).value  # scales multiply to 1
    x = rows[:, 2:]
    normal = -0.5 * np.linalg.slogdet(2 * np.pi * np.e * np.cov(x.T, ddof=0))[1]
    assert value == pytest.approx(normal - 2 * np.log(2), abs=0.15)


def test_hidden_units_begin_with_half_of_the_covariance():
    rows = correlated(2_000)
    rbm = model(rows, hidden=6)
    covariance = np.cov(rows[:, 2:].T)
    layer = rbm.visible.parts[1]
    within = np.linalg.inv(np.asarray(layer.precision, float))
    np.testing.assert_allclose(within, covariance / 2, atol=0.03)
    states = rbm.hidden.states(jnp.arange(64))
    p = np.asarray(jax.nn.softmax(-rbm.T.free_energy(states)), float)
    means = np.asarray(rbm.mean_v_from_h(states), float)[:, 2:]
    mean = p @ means
    between = (p[:, None] * (means - mean)).T @ (means - mean)
    np.testing.assert_allclose(mean, rows[:, 2:].mean(0), atol=0.1)
    np.testing.assert_allclose(within + between, covariance, atol=0.25)


def test_classes_are_found_although_their_mixture_has_the_covariance_of_a_normal():
    """Two classes far apart: a start with all of the covariance would be left by chance alone."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 500)
    direction = np.array([1.0, 0.5, -0.5])
    rows = rng.normal(size=(500, 3)) @ np.diag([0.3, 0.3, 0.3]) + np.outer(2.0 * label, direction)
    rbm = hm.initialize(hm.MultivariateGaussian(3), hm.Bernoulli(4), rows, key=KEY)
    fit = hm.fit(rbm, rows, key=KEY, epochs=1_000)
    log_p = hm.log_likelihood(fit.rbm, rows, key=KEY).value
    normal = -0.5 * np.linalg.slogdet(2 * np.pi * np.e * np.cov(rows.T, ddof=0))[1]
    entropy = np.log(2) + 1.5 * np.log(2 * np.pi * np.e * 0.09)
    assert log_p > normal + 0.5 * (-entropy - normal)


def test_chains_do_not_run_away_at_a_high_rate():
    """Noise of few chains in many columns; without a bound, the precision would explode."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 30)) @ rng.normal(size=(30, 30))
    rbm = hm.initialize(hm.MultivariateGaussian(30), hm.Bernoulli(8), rows, key=KEY)
    few = hm.Persistent(hm.Gibbs(1), chains=20)
    fit = hm.fit(rbm, rows, key=KEY, gradient=few, optimizer=hm.Recipe(rate=0.3), epochs=200)
    normal = -0.5 * np.linalg.slogdet(2 * np.pi * np.e * np.cov(rows.T, ddof=0))[1]
    assert hm.log_likelihood(fit.rbm, rows, key=KEY).value > normal - 5.0


def test_confined_and_projected_precisions_have_bounded_eigenvalues():
    precision = np.diag([1e-3, 0.5, 4.0])
    layer = hm.MultivariateGaussian(3, precision=precision)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(layer.confined(10.0).precision), [0.1, 0.5, 4.0], rtol=1e-5
    )
    inside = hm.MultivariateGaussian(3, precision=np.eye(3))
    assert np.array_equal(inside.confined(10.0).precision, inside.precision)
