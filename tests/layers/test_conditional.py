"""Conditional models, against sums over all targets for each row of given values."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import stats

import harmonium as hm
from harmonium.gradients import ConditionalLikelihood
from harmonium.likelihood.missing.marginal import Limits
from registry import LEVEL, randomised

KEY = jax.random.key(6)
MODELS = {
    "binary": (hm.Bernoulli(5), [0, 3]),
    "mixed": (hm.Mixed(hm.Bernoulli(2), hm.Potts(2, states=3), hm.Ising(1)), [0, 2]),
    "one target": (hm.Ising(3), [2, 0]),
    "real given": (hm.Mixed(hm.Gaussian(2), hm.Bernoulli(2)), [0, 1]),
    "tree": (hm.Mixed(hm.Tree(3, [-1, 0, 1]), hm.Bernoulli(1)), [1]),
}
NONE = Limits(0, 0)  # no sum is short enough, so that targets are drawn
over_models = pytest.mark.parametrize("name", MODELS)


def random_model(name, seed=0, hidden=3) -> hm.RBM:
    layer, given = MODELS[name]
    keys = jax.random.split(jax.random.key(seed), 3)
    visible = randomised(hm.Conditional(layer, given=given), keys[0], scale=1.0)
    visible = eqx.tree_at(lambda own: own.centre, visible, jnp.full(visible.centre.shape, 0.3))
    weights = 0.8 * jax.random.normal(keys[1], (layer.size, hidden))
    return hm.RBM(visible, randomised(hm.Bernoulli(hidden), keys[2]), weights)


def values_of(layer) -> np.ndarray:
    """Return all rows of a layer; a real unit takes two values."""
    parts = [np.array(list(itertools.product(*_levels(part)))) for part in layer.side_by_side]
    return np.array([np.concatenate(row) for row in itertools.product(*parts)])


def _levels(part) -> list:
    if part.n_states is None:
        return [(-0.7, 1.2)] * part.n_units
    if isinstance(part, hm.Ising):
        return [(-1, 1)] * part.n_units
    return [range(part.size // part.n_units if part.size > part.n_units else 2)] * part.n_units


def by_given(visible, rows) -> list[np.ndarray]:
    """Return the indices of the rows of each combination of given values."""
    _, index = np.unique(rows[:, list(visible.given)], axis=0, return_inverse=True)
    return [np.flatnonzero(index.ravel() == i) for i in range(index.max() + 1)]


def energies(rbm, rows):
    """Return F of rows from the definition of the energy, by sums over all hidden states."""
    visible = rbm.visible
    x = visible.encode(rows)
    is_given = np.asarray(visible.spread(visible.given_units))
    h = rbm.hidden.states(jnp.arange(rbm.hidden.n_states))
    energy = visible.layer.energy(x)
    energy -= ((x[:, is_given] - visible.centre) @ visible.weights * x[:, ~is_given]).sum(1)
    joint = energy[:, None] + rbm.hidden.energy(h) - x @ rbm.weights @ h.T
    return -jax.nn.logsumexp(-joint, axis=1)


def mean_loss(rbm, rows, groups):
    """Return −⟨log p(y | u)⟩ over all rows, from the definition."""
    f = energies(rbm, rows)
    return sum((f[group] + jax.nn.logsumexp(-f[group])).sum() for group in groups) / len(rows)


@over_models
def test_the_likelihood_is_that_of_the_targets_given_the_rest(name):
    rbm = random_model(name)
    rows = values_of(rbm.visible.layer)
    groups = by_given(rbm.visible, rows)
    f = np.asarray(energies(rbm, rows), np.float64)
    log_p = np.empty(len(rows))
    for group in groups:
        log_p[group] = -f[group] - np.logaddexp.reduce(-f[group])
    np.testing.assert_allclose(-hm.free_energies(rbm, rows), log_p, atol=1e-5)
    score = hm.log_likelihood(rbm, rows)
    np.testing.assert_allclose(score.value, log_p.mean(), atol=1e-5)
    assert score.low == score.high
    assert hm.log_z(rbm).value == 0.0


def test_targets_may_be_missing():
    rbm = random_model("mixed")
    rows = values_of(rbm.visible.layer)[:24].astype(float)
    lacking = rows.copy()
    lacking[:, 3] = np.nan
    every = [np.where(np.isnan(lacking), state, lacking) for state in range(3)]
    expected = np.logaddexp.reduce([-hm.free_energies(rbm, filled) for filled in every])
    np.testing.assert_allclose(-hm.free_energies(rbm, lacking), expected, atol=1e-5)
    lacking[:, 1:] = np.where(rbm.visible.given_units[1:], rows[:, 1:], np.nan)
    np.testing.assert_allclose(hm.free_energies(rbm, lacking), 0.0, atol=1e-5)


@over_models
def test_the_gradient_is_that_of_the_conditional_likelihood(name):
    """Exactly if the targets are summed out, and on average if each row has a chain of targets."""
    rbm = random_model(name)
    rows = values_of(rbm.visible.layer)
    groups = by_given(rbm.visible, rows)
    batch = hm.samplers.Cloud.uniform(rbm.visible.encode(rows))
    batch = batch._replace(rows=jnp.arange(len(rows)))
    loss, expected = eqx.filter_value_and_grad(mean_loss)(rbm, rows, groups)
    method = ConditionalLikelihood()
    grads, _, info = method.estimate(rbm, batch, method.init(rbm, batch, key=KEY), key=KEY)
    np.testing.assert_allclose(info.gap, loss, atol=1e-5)
    for value, right in zip(
        jax.tree.leaves(without_data(grads)), jax.tree.leaves(without_data(expected)), strict=True
    ):
        np.testing.assert_allclose(value, right, atol=1e-5)
    drawing = ConditionalLikelihood(rows=len(rows), most=NONE)
    repeats = 200

    @eqx.filter_jit
    def estimated(key):
        def step(state, key):
            grads, state, _ = drawing.estimate(rbm, batch, state, key=key)
            return state, jnp.concatenate(
                [leaf.ravel() for leaf in jax.tree.leaves(without_data(grads))]
            )

        key_start, key_steps = jax.random.split(key)
        state = drawing.init(rbm, batch, key=key_start)
        return jax.lax.scan(step, state, jax.random.split(key_steps, 20))[1][-1]

    draws = jax.lax.map(estimated, jax.random.split(KEY, repeats), batch_size=50)
    right = np.concatenate([np.ravel(x) for x in jax.tree.leaves(without_data(expected))])
    error = np.asarray(draws).mean(0) - right
    stderr = np.asarray(draws).std(0, ddof=1) / np.sqrt(repeats)
    z = np.max(np.abs(error) / np.maximum(stderr, 1e-6))
    assert 2.0 * stats.t.sf(z, repeats - 1) * len(right) > LEVEL / len(MODELS)


def without_data(rbm):
    """Return the gradient without the centre, which is not trained."""
    return eqx.tree_at(lambda own: own.visible.centre, rbm, jnp.zeros(0))


@pytest.mark.parametrize("name", ["binary", "mixed", "tree"])
def test_draws_follow_the_conditional_distribution(name):
    rbm = random_model(name, seed=1)
    rows = values_of(rbm.visible.layer)
    group = by_given(rbm.visible, rows)[1]
    p = np.exp(-hm.free_energies(rbm, rows[group]))
    asked = np.where(rbm.visible.given_units, rows[group[:1]], np.nan)
    count = 20_000
    for settings in ({}, {"steps": 60}):  # exact draws, and chains
        drawn = hm.sample(rbm, count, key=KEY, given=asked, **settings)
        seen = np.array([(drawn == row).all(1).sum() for row in rows[group]])
        assert seen.sum() == count
        chi2 = ((seen - count * p) ** 2 / (count * p)).sum()
        assert stats.chi2.sf(chi2, len(group) - 1) > LEVEL / 6


def test_the_conditioned_layer_has_the_moments_of_its_targets():
    rbm = random_model("mixed", seed=2)
    rows = values_of(rbm.visible.layer)
    group = by_given(rbm.visible, rows)[2]
    x = rbm.visible.encode(rows[group])
    layer = rbm.with_given_of(x[0]).visible
    inputs = jax.random.normal(KEY, (rbm.visible.size,))
    log_weights = x @ inputs - rbm.visible.energy(x)
    np.testing.assert_allclose(layer.cgf(inputs), jax.nn.logsumexp(log_weights), rtol=1e-5)
    mean = jax.nn.softmax(log_weights) @ x
    np.testing.assert_allclose(layer.mean(inputs), mean, atol=1e-5)
    square = jax.nn.softmax(log_weights) @ x**2
    np.testing.assert_allclose(layer.variance(inputs), square - mean**2, atol=1e-5)


def test_annealed_likelihoods_have_intervals_that_hold():
    rbm = random_model("binary", hidden=17)  # 2¹⁷ hidden states, above the limit for sums
    wide = hm.Conditional(hm.Bernoulli(20), given=range(5))
    wide = randomised(wide, KEY, scale=0.5)
    weights = 0.3 * jax.random.normal(KEY, (20, 17))
    rbm = hm.RBM(wide, rbm.hidden, weights)
    rows = np.asarray(jax.random.bernoulli(KEY, 0.5, (4, 20))).astype(float)
    score = hm.log_likelihood(rbm, rows, key=KEY)
    exact = np.mean(
        [
            -float(rbm.free_energy(wide.encode(row)))
            - hm.log_z(hm.condition(rbm, np.where(wide.given_units, row, np.nan))).value
            for row in rows
        ]
    )
    assert score.low <= exact <= score.high
    assert score.high - score.low < 1.0
    with pytest.raises(hm.InputError, match="pass key="):
        hm.log_likelihood(rbm, rows)


@pytest.mark.parametrize("gradient", [None, "cd", "exact"])
def test_fit_learns_a_function_of_the_given_units(gradient):
    """Exclusive or needs hidden units: no direct weights suffice."""
    rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]] * 25)
    layer = hm.Conditional(hm.Bernoulli(3), given=[0, 1])
    rbm = hm.initialize(layer, hm.Bernoulli(4), rows, key=KEY, scale=0.5)
    recipe = hm.Recipe(rate=0.5)
    fitted = hm.fit(rbm, rows, key=KEY, gradient=gradient, optimizer=recipe, epochs=2_000)
    assert hm.log_likelihood(fitted.rbm, rows).value > -0.25  # direct weights alone: −0.69
    answers = hm.impute(fitted.rbm, [[0, 1, np.nan], [1, 1, np.nan]], key=KEY)
    np.testing.assert_allclose(answers.mean[:, 2], [1.0, 0.0], atol=0.3)


@pytest.mark.parametrize("kind", [hm.Gaussian, hm.MultivariateGaussian])
def test_real_targets_start_at_their_regression(kind):
    rng = np.random.default_rng(0)
    u = rng.normal(size=(500, 2))
    y = u @ rng.normal(size=(2, 2)) + 0.5 * rng.normal(size=(500, 2))
    rows = np.hstack([u, y])
    layer = hm.Conditional(hm.Mixed(hm.Gaussian(2), kind(2)), given=[0, 1])
    fitted = layer.fit_moments(jnp.asarray(rows, jnp.float32))
    rbm = hm.RBM(fitted, hm.Bernoulli(1), np.zeros((4, 1)))
    inputs = np.hstack([u, np.ones((500, 1))])
    residuals = y - inputs @ np.linalg.lstsq(inputs, y, rcond=None)[0]
    covariance = np.cov(residuals.T, bias=True)
    if kind is hm.Gaussian:
        covariance = np.diag(np.diag(covariance))
    best = -0.5 * np.linalg.slogdet(2 * np.pi * covariance)[1] - 1.0
    np.testing.assert_allclose(hm.log_likelihood(rbm, rows).value, best, atol=0.02)
    trained = hm.fit(rbm, rows, key=KEY, epochs=2)
    assert hm.log_likelihood(trained.rbm, rows).value > best - 0.05


def test_what_has_no_conditional_form_is_refused():
    rbm = random_model("binary")
    layer = rbm.visible
    calls = [
        (lambda: hm.exact_kl(rbm, np.eye(5)), "KL: expected a model of whole rows"),
        (lambda: hm.Mixture([layer, layer]), "take nothing of a row as given"),
        (lambda: hm.initialize(hm.Bernoulli(3), layer, key=KEY), "hidden: expected a layer"),
        (lambda: hm.log_z(rbm.T), "given units only in the visible layer"),
        (lambda: hm.io.to_qubo(rbm), "expected independent units"),
        (lambda: hm.fit(rbm, np.eye(5), key=KEY, gradient="pt"), "models all units"),
    ]
    for call, words in calls:
        with pytest.raises(hm.InputError, match=words):
            call()


def test_products_may_be_rounded():
    rows = np.asarray(jax.random.bernoulli(KEY, 0.4, (400, 20))).astype(float)
    rbm = hm.initialize(hm.Conditional(hm.Bernoulli(20), range(5)), hm.Bernoulli(8), rows, key=KEY)
    for precision in ("bfloat16", "float32"):
        fit = hm.fit(rbm, rows, key=KEY, epochs=2, precision=precision)
        assert np.isfinite(hm.log_likelihood(fit.rbm, rows).value)


def test_a_run_is_resumed_with_its_chains():
    rows = np.asarray(jax.random.bernoulli(KEY, 0.4, (600, 30))).astype(float)
    layer = hm.Conditional(hm.Bernoulli(30), given=range(10))
    rbm = hm.initialize(layer, hm.Bernoulli(8), rows, key=KEY)
    settings = {"key": KEY, "optimizer": optax.sgd(0.1)}
    whole = hm.fit(rbm, rows, epochs=4, **settings)
    half = hm.fit(rbm, rows, epochs=2, **settings)
    again = hm.fit(rbm, rows, epochs=4, state=half.state, **settings)
    assert whole.state.gradient.shape[1] == 20
    assert again.state.gradient.dtype == jnp.int16
    np.testing.assert_array_equal(again.state.gradient, whole.state.gradient)


def test_a_model_of_standardised_rows_is_rewritten():
    layer = hm.Conditional(hm.Mixed(hm.Gaussian(2), hm.Gaussian(2)), given=[0, 1])
    rows = np.asarray(jax.random.normal(KEY, (50, 4))) * [3.0, 0.5, 2.0, 1.0] + [
        5.0,
        0.0,
        -1.0,
        2.0,
    ]
    scaling = hm.standardization(layer, rows)
    z = scaling.standardised(rows)
    rbm = hm.initialize(layer, hm.Bernoulli(3), z, key=KEY, scale=0.5)
    weights = jax.random.normal(KEY, rbm.visible.weights.shape)
    rbm = eqx.tree_at(lambda own: own.visible.weights, rbm, weights)
    of_rows = hm.free_energies(scaling.of_rows(rbm), rows)
    log_volume = float(np.log(scaling.scale[2:]).sum())
    np.testing.assert_allclose(of_rows, hm.free_energies(rbm, z) + log_volume, atol=2e-4)


def test_a_model_is_saved_and_loaded(tmp_path):
    rbm = random_model("mixed")
    hm.save(rbm, tmp_path / "model.safetensors")
    again = hm.load(tmp_path / "model.safetensors")
    assert eqx.tree_equal(rbm, again)


def test_a_deep_model_may_be_conditional():
    """The latent units of a deep model are summed out like the targets."""
    deep = hm.deep([hm.Bernoulli(4), hm.Bernoulli(3), hm.Bernoulli(2)], key=KEY, scale=0.8)
    visible = randomised(hm.Conditional(deep.visible, given=[0, 2]), KEY)
    rbm = hm.RBM(visible, deep.hidden, deep.weights)
    rows = values_of(hm.Bernoulli(4))
    log_p = -hm.free_energies(rbm, rows)
    for group in by_given(visible, rows):
        np.testing.assert_allclose(np.logaddexp.reduce(log_p[group]), 0.0, atol=1e-5)
    fitted = hm.fit(rbm, rows, key=KEY, epochs=3)
    assert np.isfinite(hm.log_likelihood(fitted.rbm, rows).value)
    with pytest.raises(hm.InputError, match="takes no part of a row as given"):
        hm.Conditional(visible, given=[1])
    with pytest.raises(hm.InputError, match="take no part of a row as given"):
        hm.Mixed(visible, hm.Bernoulli(1))


def test_bad_input_is_named():
    rbm = random_model("binary")
    rows = np.zeros((3, 5))
    rows[1, 3] = np.nan
    for function in (hm.log_likelihood, hm.free_energies):
        with pytest.raises(
            hm.InputError, match="given column; got a missing value in row 1, column 3"
        ):
            function(rbm, rows)
    with pytest.raises(hm.InputError, match="given column; got a missing value in row 1, column 3"):
        hm.fit(rbm, rows, key=KEY)
    with pytest.raises(hm.InputError, match="given: expected rows with a value in every given"):
        hm.sample(rbm, 3, key=KEY)
    with pytest.raises(hm.InputError, match="condition on a row first"):
        hm.mixing(rbm, key=KEY)
    with pytest.raises(hm.InputError, match='choose "pcd", "cd" or "exact"'):
        hm.fit(rbm, np.zeros((3, 5)), key=KEY, gradient="pseudo-likelihood")
    for given in ([5], [-1], [0.5], [], "ab", 3):
        with pytest.raises(hm.InputError, match="Conditional given: expected distinct indices"):
            hm.Conditional(hm.Bernoulli(5), given=given)
    for given in ([0, 0], range(5)):
        with pytest.raises(hm.InputError, match="at least one target left"):
            hm.Conditional(hm.Bernoulli(5), given=given)
    with pytest.raises(hm.InputError, match="expected ascending indices"):
        hm.Conditional(hm.Bernoulli(3), given=[2, 0], weights=np.ones((2, 1)))
    plain = hm.RBM(hm.Bernoulli(2), hm.Bernoulli(2), np.zeros((2, 2)))
    batch = hm.samplers.Cloud.uniform(jnp.zeros((1, 2)))
    with pytest.raises(hm.InputError, match="with given units"):
        ConditionalLikelihood().init(plain, batch, key=KEY)
