"""Schedules, sparsity, the enhanced gradient, early stopping and sparse starts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import harmonium as hm
from harmonium.training.optimizers import _transformation_of
from harmonium.training.schedules import MomentumState
from registry import random_rbm

KEY = jax.random.key(5)
X = (np.random.default_rng(0).random((30, 6)) < 0.4).astype(np.uint8)
EVERYTHING = hm.Recipe(
    rate=0.05,
    momentum=(0.5, 0.9),
    decay=1e-3,
    penalties=(hm.L1(1e-3), hm.SquaredL1(1e-3), hm.GroupLasso(1e-3), hm.MaxNorm(3.0)),
    sparsity=(0.2, 0.05),
    model_share=0.5,
    schedule=optax.cosine_decay_schedule(1.0, 30),
)
METHODS = [hm.Contrastive(hm.Gibbs(1)), hm.Persistent(hm.Gibbs(1), chains=5), hm.Exact()]


@pytest.fixture(scope="module")
def rbm():
    return random_rbm(hm.Bernoulli(6), hm.Bernoulli(3), 0)


@eqx.filter_jit
def estimate(rbm):
    """Return the exact gradient and its info."""
    batch = hm.samplers.Cloud.uniform(jnp.asarray(rbm.visible.encode(X)))
    grads, _, info = hm.Exact().estimate(rbm, batch, (), key=KEY)
    return grads, info


@pytest.mark.parametrize("gradient", METHODS, ids=lambda g: g.about.title)
def test_everything_at_once_resumes_bit_for_bit(gradient, rbm):
    options = {"gradient": gradient, "optimizer": EVERYTHING, "epochs": 8, "batch_size": 8}
    whole = hm.fit(rbm, X, key=KEY, **options)
    part = hm.fit(rbm, X, key=KEY, callbacks=[lambda r: r.updates >= 11], **options)
    rest = hm.fit(rbm, X, key=KEY, state=part.state, **options)
    assert 11 <= int(part.state.updates) < 32
    assert not whole.diverged
    assert eqx.tree_equal(rest.state, whole.state)
    assert eqx.tree_equal(rest.rbm, whole.rbm)


def test_equal_recipes_share_a_compiled_loop():
    again = hm.Recipe(**{**vars(EVERYTHING), "rate": 0.2})
    assert EVERYTHING(10).update is again(20).update
    assert _transformation_of.cache_info().hits


def test_the_enhanced_gradient_is_a_difference_of_covariances(rbm):
    """Cov_data − Cov_model of v and ⟨h|v⟩, and the biases' part ∇b − ∇W ⟨h⟩ half-way between."""
    grads, info = estimate(rbm)
    passed = {}
    b = rbm.visible.bias
    c = rbm.hidden.bias

    def seen(grads, state, rbm, **extra):
        passed["weights"] = grads.weights
        return jax.tree.map(jnp.negative, grads), state

    optimizer = hm.training.enhanced(optax.GradientTransformation(lambda rbm: (), seen))
    updates, _ = optimizer.update(grads, optimizer.init(rbm), rbm, info=info)
    states = rbm.visible.states(jnp.arange(64))
    p = jax.nn.softmax(-rbm.free_energy(states))

    def covariance(weights, v):
        h = rbm.mean_h_from_v(v)
        mean_v = weights @ v
        mean_h = weights @ h
        return (weights[:, None] * v).T @ h - jnp.outer(mean_v, mean_h), mean_v, mean_h

    data, *d_means = covariance(jnp.full(30, 1 / 30), jnp.asarray(X, jnp.float32))
    model, *m_means = covariance(p, states)
    np.testing.assert_allclose(passed["weights"], -(data - model), atol=2e-6)
    mu, lam = (0.5 * (d + m) for d, m in zip(d_means, m_means, strict=True))
    step = data - model
    np.testing.assert_allclose(
        updates.visible.bias, d_means[0] - m_means[0] - step @ lam, atol=2e-6
    )
    np.testing.assert_allclose(updates.hidden.bias, d_means[1] - m_means[1] - mu @ step, atol=2e-6)
    assert b.shape == mu.shape
    assert c.shape == lam.shape


def test_the_enhanced_gradient_does_not_depend_on_which_value_is_called_one(rbm):
    def flipped(rbm):
        visible = hm.Bernoulli(rbm.visible.size, -rbm.visible.bias)
        return hm.RBM(visible, rbm.hidden.shift(rbm.weights.sum(0)), -rbm.weights)

    recipe = hm.Recipe(model_share=0.5, momentum=(0.5, 0.9), penalties=(hm.L1(0.01),))
    options = {"key": KEY, "gradient": hm.Exact(), "epochs": 60, "optimizer": recipe}
    expected = flipped(hm.fit(rbm, X, **options).rbm)
    trained = hm.fit(flipped(rbm), 1 - X, **options).rbm
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(trained), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=5e-4)


def test_the_model_s_means_are_read_off_with_the_mass_of_a_batch(rbm):
    """A gradient times the mass, with a share of 1/mass, changes the offsets as one of mass 1."""
    grads, info = estimate(rbm)
    optimizer = hm.training.centred(optax.identity(), rate=1.0, model_share=0.5)
    half = jax.tree.map(lambda g: 0.5 * g, grads)
    state = optimizer.init(rbm)
    _, whole = optimizer.update(grads, state, rbm, info=info, mass=1.0)
    _, less = optimizer.update(half, state, rbm, info=info, mass=0.5)
    np.testing.assert_allclose(less.visible_offset, 0.5 * whole.visible_offset, rtol=1e-5)


def test_momentum_grows_from_start_to_end(rbm):
    optimizer = hm.training.ramped_momentum(0.5, 0.9, total=40, ramp=0.1)
    ones = jax.tree.map(jnp.ones_like, rbm)
    state = optimizer.init(rbm)
    velocity = 0.0
    errors = []
    for momentum in (0.5, 0.6, 0.7, 0.8, 0.9, 0.9):
        updates, state = optimizer.update(ones, state)
        velocity = 1.0 + momentum * velocity
        errors.append(float(updates.weights[0, 0]) - velocity)
    np.testing.assert_allclose(errors, 0.0, atol=1e-5)


def test_a_recipe_s_momentum_depends_on_the_length_of_the_run(rbm):
    state = hm.Recipe(momentum=(0.5, 0.9))(400).init(rbm)
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, MomentumState))
    assert [float(n.total) for n in nodes if isinstance(n, MomentumState)] == [400.0]


def test_a_schedule_of_optax_s_takes_the_place_of_hold_and_fall(rbm):
    ones = jax.tree.map(jnp.ones_like, rbm)
    recipe = hm.Recipe(rate=0.2, schedule=lambda t: 1.0 / (t + 1), centring=None, averaging=None)
    optimizer = recipe(1_000)
    state = optimizer.init(rbm)
    for t in range(3):
        updates, state = optimizer.update(ones, state, rbm)
        np.testing.assert_allclose(updates.weights, -0.2 / (t + 1), rtol=1e-6)


@pytest.mark.parametrize(
    ("hidden", "target"),
    [
        (hm.Bernoulli(3), 0.15),
        (hm.Potts(2, states=3), 1 / 3),
    ],
    ids=str,
)
def test_any_hidden_layer_is_pulled_to_its_target(hidden, target):
    start = random_rbm(hm.Bernoulli(6), hidden, 0)
    optimizer = optax.chain(
        hm.training.sparse_activity(target, strength=5.0), hm.training.centred(optax.sgd(0.2))
    )
    fit = hm.fit(start, X, key=KEY, gradient=hm.Exact(), optimizer=optimizer, epochs=200)
    before, after = (abs(estimate(m)[1].hidden_mean - target).max() for m in (start, fit.rbm))
    assert after < 0.05 < before


def test_the_sparsity_gradient_is_that_of_the_cross_entropy(rbm):
    """It is exact along the hidden bias if q(1 − q) is the same for every row: without weights."""
    loose = hm.RBM(rbm.visible, rbm.hidden, jnp.zeros_like(rbm.weights))
    grads, info = estimate(loose)
    optimizer = hm.training.sparse_activity(target=0.1, strength=0.3)
    updates, _ = optimizer.update(grads, optimizer.init(loose), loose, info=info)

    def penalty(rbm):
        q = rbm.mean_h_from_v(jnp.asarray(X, jnp.float32)).mean(0)
        return -0.3 * (0.1 * jnp.log(q) + 0.9 * jnp.log(1 - q)).sum()

    expected = jax.tree.map(jnp.add, grads, jax.grad(penalty)(loose))
    for a, b in zip(jax.tree.leaves(updates), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_the_update_ratio_is_that_of_the_last_update(rbm):
    states = []
    options = {"gradient": hm.Exact(), "epochs": 3, "batch_size": 30}
    for epochs in (1, 2):
        run = hm.fit(rbm, X, key=KEY, **options | {"epochs": epochs, "optimizer": constant()})
        states.append(run.state.rbm.weights)
    expected = jnp.linalg.norm(states[1] - states[0]) / jnp.linalg.norm(states[0])
    assert run.history[-1]["update_ratio"] == pytest.approx(float(expected), rel=1e-4)
    assert len(run.history) == 2


def constant():
    return hm.Recipe(hold=1.0)


# ---------------------------------------------------------------- early stopping


def few_rows():
    """Return few, noisy rows, half of them held out, so that a model can only overfit."""
    x = (np.random.default_rng(2).random((40, 12)) < 0.5).astype(np.uint8)
    return x[:20], x[20:]


# How far it overfits before it is stopped depends on the time that updates take.
@pytest.mark.filterwarnings("ignore::harmonium.training.selection.PoorModelWarning")
@pytest.mark.parametrize("metric", ["free_energy_gap", "pseudo_log_likelihood"])
def test_a_run_that_overfits_is_stopped_and_its_best_model_kept(metric):
    x, held_out = few_rows()
    start = hm.initialize(hm.Bernoulli(12), hm.Bernoulli(8), x, key=KEY)
    stopper = hm.EarlyStopping(patience=4, metric=metric)
    fit = hm.fit(
        start,
        x,
        key=KEY,
        gradient=hm.Exact(),
        optimizer=hm.Recipe(rate=0.3),
        epochs=2_000,
        validation=held_out,
        callbacks=[stopper],
    )
    assert int(fit.state.updates) < 2_000
    assert f"{metric} got worse in 4 measurements" in fit.message
    measured = [record for record in fit.history if metric in record]
    assert measured[-5] == stopper.best
    best, last = (hm.log_likelihood(m, held_out).value for m in (stopper.rbm, fit.rbm))
    assert best > last


def test_a_measurement_within_its_error_is_not_worse():
    rbm = random_rbm(hm.Bernoulli(2), hm.Bernoulli(1), 0)
    stopper = hm.EarlyStopping(patience=2)

    def stops(gap, stderr=1.0):
        metrics = {"update": 1, "free_energy_gap": gap, "free_energy_gap_stderr": stderr}
        return stopper(hm.training.Report(1, 2, 1.0, 2.0, 1.0, 1.0, 1.0, metrics, rbm, None))

    assert [stops(g) for g in (0.0, 0.9, 1.1, 0.8, 1.1)] == [False] * 5
    assert stops(1.2)
    assert stopper.best["free_energy_gap"] == 0.8


def test_missing_requirements_of_early_stopping_are_named(rbm):
    with pytest.raises(hm.InputError, match="metric: expected one of free_energy_gap"):
        hm.EarlyStopping(metric="loss")
    with pytest.raises(hm.InputError, match="patience"):
        hm.EarlyStopping(patience=0)
    with pytest.raises(hm.InputError, match="expected held-out rows"):
        hm.fit(rbm, X, key=KEY, epochs=2, callbacks=[hm.EarlyStopping()])


# ---------------------------------------------------------------- sparse starts


def test_each_hidden_unit_starts_with_so_many_connections():
    rbm = hm.initialize(hm.Bernoulli(20), hm.Bernoulli(30), key=KEY, connections=4, scale=1.0)
    np.testing.assert_array_equal((rbm.weights != 0).sum(0), 4)
    assert len(np.unique(np.asarray(rbm.weights != 0), axis=1).T) > 20
    every = hm.initialize(hm.Bernoulli(20), hm.Bernoulli(30), key=KEY, scale=1.0)
    np.testing.assert_array_equal(rbm.weights, jnp.where(rbm.weights != 0, every.weights, 0.0))


def test_connections_of_potts_units_are_whole():
    visible = hm.Potts(7, states=3)
    hidden = hm.Potts(2, states=2)
    weights = hm.initialize(visible, hidden, key=KEY, connections=2).weights
    blocks = np.asarray(weights != 0).reshape(7, 3, 2, 2).sum((1, 3))
    assert set(np.unique(blocks)) == {0, 6}
    np.testing.assert_array_equal((blocks == 6).sum(0), 2)


def test_more_connections_than_units_are_refused():
    with pytest.raises(hm.InputError, match="connections: expected at most 3, the number of units"):
        hm.initialize(hm.Bernoulli(3), hm.Bernoulli(2), key=KEY, connections=4)
