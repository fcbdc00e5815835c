"""Rows with missing values: sums, gradients, imputation and training against enumeration."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
from scipy import stats

import harmonium as hm
from harmonium.gradients import Marginal
from harmonium.likelihood.missing.both_ways import energies_of_rows
from harmonium.likelihood.missing.marginal import Limits, posterior
from harmonium.likelihood.partition_function import enumerated as exact_sums
from harmonium.likelihood.scoring import free_energies
from registry import LEVEL, exact_states, random_rbm

KEY = jax.random.key(3)
MIXED = hm.Mixed(hm.Bernoulli(2), hm.Potts(1, states=3), hm.Ising(1))
PAIRS = [
    (hm.Bernoulli(4), hm.Bernoulli(3)),
    (hm.Ising(4), hm.Potts(2, states=3)),
    (MIXED, hm.Bernoulli(2)),
    (hm.Bernoulli(3), hm.Gaussian(2)),
    (hm.Mixed(hm.Gaussian(2), hm.Potts(1, states=3)), hm.Bernoulli(3)),
]


def problem(visible, hidden, seed=0, n=12):
    """Return a model and weighted rows, half missing; one row is all missing, one is complete."""
    rbm = random_rbm(visible, hidden, seed, coupling=0.5)
    rows = rbm.visible.decode(exact_states(random_rbm(visible, hidden, seed + 9), n, KEY)).astype(
        float
    )
    rng = np.random.default_rng(seed)
    rows[rng.random(rows.shape) < 0.5] = np.nan
    rows[0] = np.nan
    rows[1] = np.nan_to_num(rows[1])
    weights = jnp.asarray(rng.uniform(0.5, 1.5, n), jnp.float32)
    return rbm, rows, weights / weights.sum()


@eqx.filter_jit
def states_of(layer):
    return layer.states(jnp.arange(layer.n_states))


def seen_energies(visible, hidden, rows):
    """Return a function from a model to F(v_seen), a sum over all completions or over all h."""
    if visible.n_states is None:
        h = jnp.repeat(states_of(hidden)[:, None], len(rows), axis=1)
        return lambda rbm: -jax.nn.logsumexp(-hm.condition(rbm, rows).T.free_energy(h), axis=0)
    states = states_of(visible)
    agree = ((visible.decode(states) == rows[:, None]) | np.isnan(rows)[:, None]).all(-1)

    def energies(rbm):
        return -jax.nn.logsumexp(jnp.where(agree, -rbm.free_energy(states), -jnp.inf), axis=-1)

    return energies


def enumerated(rbm, rows, weights):
    """Return −Σ w log p(v_seen) and its gradient."""
    energies = seen_energies(rbm.visible, rbm.hidden, rows)

    def loss(rbm):
        return weights @ energies(rbm) + exact_sums.log_z(rbm)

    return eqx.filter_jit(eqx.filter_value_and_grad(loss))(rbm)


@eqx.filter_jit
def gradient(method, rbm, rows, weights):
    """Return the gradient and its info, in one program: eagerly, each operation is compiled."""
    batch = hm.samplers.Cloud(rbm.visible.encode_seen(rows), weights)
    state = method.init(rbm, batch, key=KEY)
    return method.estimate(rbm, batch, state, key=KEY)[::2]


@pytest.mark.parametrize(("visible", "hidden"), PAIRS, ids=str)
def test_the_gradient_is_that_of_the_enumerated_probability_of_what_is_seen(visible, hidden):
    rbm, rows, weights = problem(visible, hidden)
    loss, expected = enumerated(rbm, rows, weights)
    grads, info = gradient(Marginal(hm.Exact()), rbm, rows, weights)
    np.testing.assert_allclose(info.gap, loss, rtol=1e-5, atol=1e-5)
    for g, e in zip(jax.tree.leaves(grads), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-5)


def test_both_sums_agree():
    """The sum over h equals that over completions, with many missing values and with few."""
    rbm, rows, _ = problem(*PAIRS[2])
    v = rbm.visible.encode_seen(jnp.asarray(rows))
    missing = rbm.visible.n_units
    expected = eqx.filter_jit(seen_energies(rbm.visible, rbm.hidden, rows))(rbm)
    for most, is_over_h in ((Limits(2**20, 0), True), (Limits(0, 2**20), False)):
        terms = eqx.filter_jit(posterior)(rbm, v, missing, most)
        assert (terms.v is None) == is_over_h == (terms.h is not None)
        np.testing.assert_allclose(-terms.log_z_seen, expected, rtol=1e-5)
    assert posterior(rbm, v, missing, Limits(0, 0)) is None


def test_drawn_completions_give_the_gradient_on_average():
    """Where no sum is possible, Gibbs sweeps hold the seen values: a test of the largest |z|."""
    repeats = 400
    rbm, rows, weights = problem(MIXED, hm.Bernoulli(2))
    _, expected = enumerated(rbm, rows, weights)
    expected = jax.tree.map(np.asarray, expected)
    batch = hm.samplers.Cloud(rbm.visible.encode_seen(jnp.asarray(rows)), weights)
    method = Marginal(hm.Exact(), sweeps=60, most=Limits(0, 0))
    state = method.init(rbm, batch, key=KEY)

    def one(key):
        return method.estimate(rbm, batch, state, key=key)[0]

    many = eqx.filter_jit(lambda keys: jax.lax.map(one, keys))(jax.random.split(KEY, repeats))
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(many)]
    bound = stats.t.isf(LEVEL / (2 * sum(leaf[0].size for leaf in leaves)), repeats - 1)
    for several, e in zip(leaves, jax.tree.leaves(expected), strict=True):
        spread = several.std(0, ddof=1) / np.sqrt(repeats)
        assert float((abs(several.mean(0) - e) / (spread + 1e-5)).max()) < bound


def test_completions_that_are_kept_reach_the_gradient_too():
    """One sweep at each visit, of two batches in turn; after 50 visits, the largest |z| of 300."""
    rbm, rows, weights = problem(MIXED, hm.Bernoulli(2))
    _, expected = enumerated(rbm, rows, weights)
    expected = jax.tree.map(np.asarray, expected)
    n = len(rows)
    batch = hm.samplers.Cloud(
        rbm.visible.encode_seen(jnp.asarray(rows)), weights, jnp.arange(n) + 3
    )
    method = Marginal(hm.Exact(), rows=n + 3, most=Limits(0, 0))
    start = method.init(rbm, batch, key=KEY)

    def visit(state, key):
        grads, state, _ = method.estimate(rbm, batch, state, key=key)
        return state, grads

    @eqx.filter_jit
    def visits(keys):
        last, many = jax.lax.scan(visit, start, keys)
        return last, many

    last, many = visits(jax.random.split(KEY, 6_000))
    np.testing.assert_array_equal(last.completed[:3], start.completed[:3])  # never visited
    seen = ~np.isnan(np.asarray(batch.states))
    np.testing.assert_array_equal(last.completed[3:][seen], batch.states[seen])
    leaves = [np.asarray(leaf)[50:] for leaf in jax.tree.leaves(many)]
    groups = 50  # of 119 visits each, which are nearly independent
    means = [leaf.reshape(groups, -1, *leaf.shape[1:]).mean(1) for leaf in leaves]
    bound = stats.t.isf(LEVEL / (2 * sum(leaf[0].size for leaf in leaves)), groups - 1)
    for several, e in zip(means, jax.tree.leaves(expected), strict=True):
        spread = several.std(0, ddof=1) / np.sqrt(groups)
        assert float((abs(several.mean(0) - e) / (spread + 1e-5)).max()) < bound


def test_complete_rows_are_learned_as_without_the_wrapper():
    rbm, rows, weights = problem(*PAIRS[0])
    whole = np.nan_to_num(rows)
    for inner in (hm.Exact(), hm.PseudoLikelihood()):
        wrapped, _ = gradient(Marginal(inner), rbm, whole, weights)
        plain, _ = gradient(inner, rbm, whole, weights)
        for g, e in zip(jax.tree.leaves(wrapped), jax.tree.leaves(plain), strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-6)


def test_a_row_of_which_nothing_is_seen_has_no_effect():
    rbm = random_rbm(*PAIRS[1], 0, coupling=0.5)
    grads, _ = gradient(Marginal(hm.Exact()), rbm, np.full((3, 4), np.nan), jnp.ones(3) / 3)
    for leaf in jax.tree.leaves(grads):
        np.testing.assert_allclose(leaf, 0.0, atol=1e-5)


@pytest.mark.parametrize(
    ("visible", "hidden", "terms"),
    [
        (*PAIRS[2], "4 terms"),  # hidden states
        (*PAIRS[4], "8 terms"),
        (hm.Bernoulli(4), hm.Bernoulli(30), "16 terms"),  # completions
        (hm.Categorical(2, (3, 4)), hm.Bernoulli(30), "16 terms"),
        (MIXED, hm.Bernoulli(30), "81 terms"),
    ],
    ids=str,
)
def test_imputation_is_the_enumerated_posterior(visible, hidden, terms):
    """A row's draws are its own, whatever rows stand beside it."""
    rbm, rows, _ = problem(visible, hidden, n=6)
    many = np.repeat(rows, 200, axis=0)
    missing = np.isnan(rows)
    imputation = hm.impute(rbm, many, key=KEY, draws=3)
    assert imputation.method == f"exact, {terms}"
    assert imputation.draws.shape == (3, *many.shape)
    for draw in (imputation.rows, *imputation.draws):
        np.testing.assert_array_equal(draw[~np.isnan(many)], many[~np.isnan(many)])
        rbm.visible.validate(draw)
    columns = rbm.visible.encode(jnp.asarray(imputation.draws.reshape(3, 6, 200, -1)))
    mean = imputation.mean[::200]
    spread = imputation.spread[::200]
    z = abs(np.asarray(columns).mean((0, 2)) - mean) / (spread / np.sqrt(600) + 1e-3)
    assert z.max() < 4.9  # level 1e-4, Bonferroni
    if rbm.visible.n_states is not None:
        states = states_of(visible)
        agree = ((visible.decode(states) == rows[:, None]) | missing[:, None]).all(-1)
        p = jax.nn.softmax(jnp.where(agree, -rbm.free_energy(states), -jnp.inf), axis=-1)
        expected = p @ states
        np.testing.assert_allclose(mean, expected, atol=1e-5)
        np.testing.assert_allclose(spread**2, p @ states**2 - expected**2, atol=1e-5)


def test_imputation_by_chains_is_near_the_exact_one(monkeypatch):
    rbm, rows, _ = problem(*PAIRS[4], n=6)
    exact = hm.impute(rbm, rows, key=KEY, draws=1)
    monkeypatch.setattr("harmonium.likelihood.missing.completing.sums_for", lambda *_: Limits(0, 0))
    imputation = hm.impute(rbm, rows, key=KEY, draws=200, sweeps=100)
    assert imputation.method == "200 chains of 100 sweeps"
    np.testing.assert_allclose(imputation.mean, exact.mean, atol=0.05)
    np.testing.assert_allclose(imputation.spread, exact.spread, atol=0.05)
    whole = np.nan_to_num(rows[:2])
    np.testing.assert_array_equal(hm.impute(rbm, whole, key=KEY, sweeps=1).rows, whole)


def test_log_likelihood_of_what_is_seen():
    rbm, rows, weights = problem(MIXED, hm.Bernoulli(2))
    loss, _ = enumerated(rbm, rows, weights)
    score = hm.log_likelihood(rbm, hm.Dataset(rows, np.asarray(weights)))
    np.testing.assert_allclose(score.value, -float(loss), rtol=1e-5)
    wide = hm.RBM(hm.Bernoulli(20), hm.Gaussian(2), jnp.zeros((20, 2)))
    nothing = np.full((1, 20), np.nan)
    match = r"data: expected at most.*pass key= for an estimate"
    with pytest.raises(hm.InputError, match=match):
        free_energies(wide, nothing)
    assert hm.log_likelihood(wide, nothing, key=KEY).value == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    ("visible", "seed"),
    [
        (hm.Bernoulli(6), 0),
        (hm.Mixed(hm.Bernoulli(2), hm.Categorical(2, (3, 4)), hm.Gaussian(2)), 1),
        (hm.Exclusive(6, ((0, 1, 2), (3, 4))), 2),
    ],
    ids=str,
)
def test_annealed_free_energies_of_what_is_seen_are_those_of_the_sum(visible, seed):
    """Intervals have two deviations, so normal errors have a mean square of 1/4 of a half width."""
    rbm = random_rbm(visible, hm.Bernoulli(6), seed)
    key, key_rows = jax.random.split(jax.random.key(seed))
    rows = visible.decode(rbm.visible.sample_without_inputs((32,), key=key_rows)).astype(float)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.4] = np.nan
    rows = rows[np.isnan(rows).any(1)]
    exact = free_energies(rbm, rows)
    energies = energies_of_rows(rbm, rows, key=key)
    errors = energies.value - exact
    assert energies.converged.mean() > 0.95
    assert np.mean((errors / np.maximum(energies.half_width, 1e-4)) ** 2) < 0.45
    misses = int(((exact < energies.low - 1e-4) | (exact > energies.high + 1e-4)).sum())
    assert stats.binomtest(misses, len(rows), 0.05, alternative="greater").pvalue > LEVEL


def test_fit_learns_from_rows_with_a_missing_value():
    """The three units agree in all rows; each row shows two of them."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.integers(0, 2, (300, 1)), 3, axis=1).astype(float)
    rows[np.arange(300), rng.integers(0, 3, 300)] = np.nan
    rbm = hm.initialize(hm.Bernoulli(3), hm.Bernoulli(2), rows, key=KEY)
    exact = hm.Exact()
    fit = hm.fit(
        rbm,
        rows,
        key=KEY,
        gradient=exact,
        epochs=400,
        optimizer=hm.Recipe(rate=0.5),
        validation=rows,
    )
    states = rbm.visible.states(jnp.arange(8))
    p = jax.nn.softmax(-fit.rbm.free_energy(states))
    assert float(p[0] + p[7]) > 0.9
    for name in ("free_energy", "free_energy_gap", "reconstruction", "pseudo_log_likelihood"):
        assert np.isfinite(fit.history[-1][name])
    with pytest.raises(hm.InputError, match=r"values in \[0, 1\]; got 3\.0 in row 1, column 0"):
        hm.fit(rbm, [[np.nan, 1, 0], [3, np.nan, 0]], key=KEY)


def test_initial_moments_are_those_of_the_seen_values():
    rng = np.random.default_rng(1)
    rows = rng.normal([1.0, -2.0], [1.0, 3.0], (4_000, 2))
    rows[rng.random(rows.shape) < 0.6] = np.nan
    weights = rng.uniform(0, 2, 4_000)
    layer = hm.initialize(hm.Gaussian(2), hm.Bernoulli(2), rows, key=KEY, weights=weights).visible
    seen = ~np.isnan(rows)
    fractions = np.where(seen, weights[:, None], 0) / np.where(seen, weights[:, None], 0).sum(0)
    mean = (fractions * np.nan_to_num(rows)).sum(0)
    spread = np.sqrt((fractions * (np.nan_to_num(rows) - mean) ** 2).sum(0))
    np.testing.assert_allclose(1 / np.sqrt(layer.precision), spread, rtol=0.05)
    np.testing.assert_allclose(layer.bias / layer.precision, mean, atol=0.15)


def test_a_column_that_is_never_seen_or_weighs_nothing_starts_as_the_layer_is():
    rng = np.random.default_rng(0)
    rows = rng.choice([-1.0, 1.0], (400, 3), p=[0.2, 0.8])
    rows[:, 1] = np.nan
    rows[:10, 2] = 1.0
    rows[10:, 2] = np.nan
    weights = np.r_[np.zeros(10), np.ones(390)]
    rbm = hm.initialize(hm.Ising(3), hm.Bernoulli(1), rows, key=KEY, weights=weights, scale=1e-9)
    means = np.asarray(rbm.visible.mean(rbm.visible.zero_inputs))
    seen = np.average(rows[:, 0], weights=weights)
    np.testing.assert_allclose(means, [seen, 0.0, 0.0], atol=4.5 / np.sqrt(390))


def test_datasets_keep_missing_values():
    rows = np.array([[1.0, np.nan, 0.0], [np.nan, np.nan, 0.4]])
    grey = hm.Dataset(rows, stochastic=True)
    assert grey.missing == 2
    assert hm.Dataset(np.zeros((2, 3))).missing == 0
    np.testing.assert_array_equal(np.isnan(grey.rows(key=KEY)), np.isnan(rows))
    sparse = hm.Dataset(scipy.sparse.csr_array(np.pad(rows, [(0, 30), (0, 30)])))
    assert (sparse.missing, type(sparse.stored).__name__) == (2, "Nonzeros")


def test_one_model_for_each_pattern_leaves_missing_units_out():
    """The gradient of `PerPattern` is that of CD on the smaller model of the seen units."""
    rbm = random_rbm(hm.Mixed(hm.Potts(1, states=3), hm.Bernoulli(2)), hm.Bernoulli(3), 0)
    rows = np.array([[np.nan, 1, 0], [np.nan, 0, 0], [np.nan, 1, 1]])
    method = hm.PerPattern(hm.Gibbs(40))
    small = hm.RBM(rbm.visible.parts[1], rbm.hidden, rbm.weights[3:])
    many = np.repeat(rows, 2_000, axis=0)
    weights = jnp.full(len(many), 1 / len(many))
    grads, info = gradient(method, rbm, many, weights)
    expected, _ = gradient(hm.Exact(), small, many[:, 1:], weights)
    np.testing.assert_array_equal(grads.weights[:3], 0.0)
    np.testing.assert_array_equal(info.visible_mean[:3], 0.0)
    np.testing.assert_allclose(grads.weights[3:], expected.weights, atol=0.04)
    np.testing.assert_allclose(grads.visible.parts[1].bias, expected.visible.bias, atol=0.04)
    assert method.about.takes_missing
    assert not method.about.follows_likelihood
