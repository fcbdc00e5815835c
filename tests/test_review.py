"""Regression tests for past mistakes, which gave wrong results without an error."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import harmonium as hm
from harmonium.likelihood.partition_function.annealed import Annealed
from harmonium.likelihood.partition_function.bridge import bennett
from harmonium.likelihood.partition_function.enumerated import log_z as enumerated_log_z
from harmonium.likelihood.scoring import is_exact_cheap
from registry import random_rbm

KEY = jax.random.key(0)
ROWS = (np.random.default_rng(0).random((40, 6)) < 0.4).astype(np.uint8)


def start(rows=ROWS):
    return hm.initialize(hm.Bernoulli(rows.shape[1]), hm.Bernoulli(3), rows, key=KEY)


def test_a_run_that_is_made_longer_goes_on_learning():
    options = {"key": KEY, "gradient": hm.Exact(), "batch_size": 40}
    short = hm.fit(start(), ROWS, epochs=20, **options)
    two = hm.fit(start(), ROWS, epochs=40, state=short.state, **options)
    assert abs(two.state.rbm.weights - short.state.rbm.weights).max() > 1e-4
    again = hm.fit(start(), ROWS, epochs=40, state=two.state, **options)
    assert again.message.startswith("nothing to do")


@pytest.mark.parametrize("batch", [1, 10, 50])
def test_sample_weights_mean_the_same_in_small_batches(batch):
    """p(1) of a single unit under weights 9 and 1 is 0.9, whatever the batch size."""
    rows = np.tile([[1], [0]], (50, 1))
    weights = np.tile([9.0, 1.0], 50)
    rbm = hm.initialize(hm.Bernoulli(1), hm.Bernoulli(1), key=KEY)
    options = {"gradient": hm.Exact(), "batch_size": batch, "epochs": 20_000 // (100 // batch)}
    fit = hm.fit(rbm, rows, key=KEY, weights=weights, optimizer=hm.Recipe(rate=0.02), **options)
    p = float(jnp.exp(-fit.rbm.free_energy(jnp.ones(1)) - enumerated_log_z(fit.rbm)))
    assert abs(p - 0.9) < 0.02


@pytest.mark.parametrize("sizes", [(512, 5_000), (512, 64), (512, 512)])
def test_bennett_holds_for_annealing_runs_of_any_sizes(sizes):
    """Normal log weights that satisfy Crooks' relation at a log ratio of 0.7."""
    rng = np.random.default_rng(0)
    spread = 1.5
    ratio = 0.7
    forward = rng.normal(ratio - spread**2 / 2, spread, sizes[0])
    reverse = rng.normal(-ratio - spread**2 / 2, spread, sizes[1])
    assert abs(bennett(forward, reverse) - ratio) < 4 * 2 / np.sqrt(min(sizes))


def test_what_is_called_cheap_can_be_enumerated():
    for size in (28, 29, 30, 40):
        rbm = hm.RBM(hm.Bernoulli(size), hm.Bernoulli(size), jnp.zeros((size, size)))
        assert is_exact_cheap(rbm) == (size == 28)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"chains": 1}, {"chains": 0}, {"burn_in": 0}])
def test_invalid_settings_of_annealing_are_refused(wrong):
    with pytest.raises(hm.InputError, match=next(iter(wrong))):
        Annealed(**wrong)


def test_a_layer_may_stand_twice_in_a_mixed_one():
    part = hm.Bernoulli(2)
    states = hm.Mixed(part, part).states(jnp.arange(16))
    assert len(np.unique(np.asarray(states), axis=0)) == 16


def test_a_weighted_dataset_is_scored_with_its_weights():
    rbm = random_rbm(hm.Bernoulli(6), hm.Bernoulli(3), 0)
    weights = np.arange(1, 41)
    weighted = hm.log_likelihood(rbm, hm.Dataset(ROWS, weights))
    repeated = hm.log_likelihood(rbm, np.repeat(ROWS, weights, axis=0))
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-5)
    assert weighted.stderr_rows > repeated.stderr_rows


def test_parameters_that_are_not_finite_have_no_score():
    with pytest.raises(hm.InputError, match="Bernoulli bias: expected finite"):
        hm.Bernoulli(2, [np.nan, 1.0])
    with pytest.raises(hm.InputError, match="Gaussian precision"):
        hm.Gaussian(2, precision=[1.0, np.inf])
    broken = eqx.tree_at(lambda m: m.weights, start(), jnp.full((6, 3), jnp.nan))
    with pytest.raises(hm.NotFiniteError):
        hm.log_z(broken)


def test_every_row_of_a_dataset_is_checked():
    rbm = hm.initialize(hm.Ising(2), hm.Bernoulli(2), key=KEY)
    with pytest.raises(hm.InputError, match="got 0 in row 1, column 0"):
        hm.fit(rbm, hm.Dataset([[-1, -1], [0, 0], [1, 1]]), key=KEY)
    with pytest.raises(hm.InputError, match="scale: expected a positive number"):
        hm.Dataset(ROWS, scale=0.0)


def test_conditioned_models_are_scored_one_at_a_time():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    several = hm.condition(rbm, np.full((3, 4), np.nan))
    with pytest.raises(hm.InputError, match="one row at a time"):
        hm.log_z(several)
    free = hm.condition(rbm, np.full((1, 4), np.nan))
    np.testing.assert_allclose(hm.log_z(free).value, hm.log_z(rbm).value, rtol=1e-5)
    loose = hm.RBM(hm.Gaussian(2), hm.Gaussian(2), 2.0 * jnp.eye(2))
    assert not hm.likelihood.finite_z(hm.condition(loose, [[np.nan, np.nan]]))


def test_any_optax_transformation_will_do():
    fit = hm.fit(start(), ROWS, key=KEY, optimizer=optax.scale(-0.1), epochs=2)
    assert int(fit.state.updates) == 2


def test_equal_recipes_share_a_compiled_loop():
    assert hm.Recipe(rate=0.1)(10).update is hm.Recipe(rate=0.3)(99).update


def test_whole_numbers_are_stored_in_bytes():
    assert hm.Dataset(np.array([[-1.0, 1.0]])).stored.values.dtype == np.int8
    assert hm.Dataset(np.array([[0.0, 20.0]])).stored.values.dtype == np.uint8
    assert hm.Dataset(np.array([[0.5, 20.0]])).stored.values.dtype == np.float32


def test_moments_of_very_many_equal_rows_are_finite():
    fitted = hm.Bernoulli(1).fit_moments(jnp.ones((2, 1)), jnp.full(2, 2.0**25))
    assert np.isfinite(fitted.bias).all()


def test_a_model_is_known_by_its_content(tmp_path):
    path = tmp_path / "model.npz"
    hm.save(start(), path)
    assert eqx.tree_equal(hm.load(path), start())


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: hm.fit(start(), ROWS, key=0), "key: expected a random key.*got 0"),
        (lambda: hm.initialize(hm.Bernoulli(2), hm.Bernoulli(2), key=None), "key: expected"),
        (lambda: hm.sample(start(), 3, key=5), "key: expected"),
        (lambda: hm.fit(start(), ROWS, key=KEY, gradient="hope"), "gradient: expected.*'hope'"),
        (lambda: hm.fit(start(), ROWS, key=KEY, optimizer=0.1), "optimizer: expected.*0.1"),
        (lambda: hm.fit(start(), ROWS, key=KEY, callbacks=print), "callbacks: expected a list"),
        (lambda: hm.fit(start(), ROWS, key=KEY, state=3), "state: expected the `state` of a Fit"),
        (lambda: hm.fit("rbm", ROWS, key=KEY), "rbm: expected an RBM"),
        (lambda: hm.fit(start(), [[0, 1], [1]], key=KEY), "rows of equal length"),
        (lambda: hm.fit(start(), ROWS, key=KEY, weights="heavy"), "weights: expected"),
        (lambda: hm.sample(start(), 1, key=KEY, given=["x"] * 6), "given: expected numbers"),
        (lambda: hm.log_z(start(), method="guess"), "method: expected"),
        (lambda: hm.log_likelihood("rbm", ROWS), "rbm: expected an RBM"),
        (lambda: hm.save(hm.fit, "x"), "save: expected an RBM"),
        (lambda: hm.Recipe(momentum=1.0), "momentum: expected"),
        (lambda: hm.Recipe(centring=5.0), "centring: expected"),
    ],
)
def test_mistakes_get_clear_messages(mistake, message):
    with pytest.raises(hm.InputError, match=message):
        mistake()


def test_a_state_of_another_model_is_refused():
    other = (np.random.default_rng(0).random((40, 9)) < 0.4).astype(np.uint8)
    fit = hm.fit(start(other), other, key=KEY, epochs=1)
    with pytest.raises(
        hm.InputError, match="state: expected the state of a run with the same model"
    ):
        hm.fit(start(), ROWS, key=KEY, epochs=2, state=fit.state)


def test_annealing_runs_along_a_line_between_two_models():
    """E[w] = Z(end)/Z(start) from exact draws of the start: a z test at 1e−4."""
    from harmonium.samplers import Annealing, anneal
    from registry import exact_states

    first, last = (random_rbm(hm.Bernoulli(4), hm.Ising(3), seed, 0.5) for seed in (0, 1))
    expected = enumerated_log_z(last) - enumerated_log_z(first)
    v = exact_states(first, 4_000, KEY)
    for path in (
        hm.path.Line(first, last),
        hm.path.History.through([first, random_rbm(hm.Bernoulli(4), hm.Ising(3), 2, 0.5), last]),
    ):
        start = Annealing(v, jnp.zeros(4_000))
        annealed = eqx.filter_jit(anneal)(path, 0.0, 1.0, jnp.asarray(20), start, key=KEY)
        ratio = jnp.exp(annealed.log_weights - expected)
        z = (ratio.mean() - 1.0) / (ratio.std() / np.sqrt(4_000))
        assert abs(float(z)) < 3.9
