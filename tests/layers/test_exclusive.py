import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.likelihood.partition_function.enumerated import log_z
from registry import LEVEL, random_rbm

GROUPS = [(0, 2), (1, 3, 5)]
EXAMPLES = [hm.Exclusive(6, GROUPS)]
KEY = jax.random.key(0)


def layer_with(seed):
    rng = np.random.default_rng(seed)
    return hm.Exclusive(6, GROUPS, rng.normal(size=6), rng.normal(2.0, 2.0, 2))


def model_with(seed):
    weights = random_rbm(hm.Bernoulli(6), hm.Bernoulli(3), seed).weights
    return hm.RBM(layer_with(seed), hm.Bernoulli(3), weights)


def test_at_infinite_cost_a_group_is_a_potts_unit_with_one_more_state():
    rng = np.random.default_rng(0)
    bias, inputs = rng.normal(size=(2, 3))
    layer = hm.Exclusive(3, [(0, 1, 2)], bias, [60.0])
    potts = hm.Potts(1, states=4, bias=np.concatenate([[0.0], bias]))
    codes = jnp.concatenate([jnp.zeros(1), jnp.asarray(inputs, jnp.float32)])
    np.testing.assert_allclose(layer.cgf(jnp.asarray(inputs)), potts.cgf(codes), rtol=1e-6)
    np.testing.assert_allclose(layer.mean(jnp.asarray(inputs)), potts.mean(codes)[1:], rtol=1e-5)


def test_without_cost_its_units_are_independent():
    bias = np.random.default_rng(0).normal(size=6)
    layer = hm.Exclusive(6, GROUPS, bias)
    plain = hm.Bernoulli(6, bias)
    inputs = jnp.linspace(-3.0, 3.0, 6)
    for name in ("cgf", "mean", "variance"):
        np.testing.assert_allclose(
            getattr(layer, name)(inputs), getattr(plain, name)(inputs), rtol=1e-5
        )


@pytest.mark.parametrize("seed", range(3))
def test_draws_of_all_rows_have_their_probabilities(seed):
    layer = layer_with(seed)
    n = 200_000
    states = layer.states(jnp.arange(64))
    drawn = layer.sample(jnp.zeros((n, 6)), key=jax.random.key(seed))
    powers = 2 ** jnp.arange(6)
    counts = np.bincount(np.asarray(drawn @ powers, int), minlength=64)
    expected = np.zeros(64)
    expected[np.asarray(states @ powers, int)] = n * jax.nn.softmax(-layer.energy(states))
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum() + 1e-3)
    chi2 = ((observed - wanted) ** 2 / wanted).sum()
    assert chi2 < stats.chi2.isf(LEVEL / 3, len(wanted) - 1)


def test_fitted_costs_reproduce_how_often_the_rule_is_broken():
    layer = hm.Exclusive(6, GROUPS, np.zeros(6), [3.0, 1.0])
    x = layer.sample(jnp.zeros((50_000, 6)), key=KEY)
    fitted = layer.fit_moments(x)
    np.testing.assert_allclose(fitted.bias, layer.bias, atol=0.1)
    np.testing.assert_allclose(fitted.cost, layer.cost, atol=0.1)


def test_rows_that_never_break_the_rule_leave_half_a_row_for_it():
    layer = hm.Exclusive(3, [(0, 1, 2)])
    n = 200
    x = jnp.eye(4)[jnp.arange(n) % 4][:, 1:]
    fitted = layer.fit_moments(x)
    states = fitted.states(jnp.arange(8))
    p = jax.nn.softmax(-fitted.energy(states))
    beyond = jnp.maximum(states.sum(-1) - 1.0, 0.0)
    np.testing.assert_allclose(p @ beyond, 0.5 / (n + 1), rtol=1e-3)


@pytest.mark.parametrize(
    ("row", "seed"),
    [
        ([1, np.nan, np.nan, 0, np.nan, np.nan], 0),
        ([0, 1, np.nan, 1, 1, np.nan], 1),
        ([np.nan] * 5 + [0], 2),
        ([1, 1, 1, np.nan, 1, 0], 3),
    ],
)
def test_the_clamped_model_sums_over_the_other_columns(row, seed):
    rbm = model_with(seed)
    row = np.array(row)
    free = np.flatnonzero(np.isnan(row))
    states = np.tile(np.nan_to_num(row), (2 ** len(free), 1))
    states[:, free] = list(itertools.product((0, 1), repeat=len(free)))
    minus_f = -rbm.free_energy(jnp.asarray(states, jnp.float32))
    clamped = hm.condition(rbm, row[None])
    np.testing.assert_allclose(log_z(clamped), jax.nn.logsumexp(minus_f), rtol=1e-5)
    chains = {"sampler": hm.Gibbs(100), "steps": 1}
    drawn = hm.sample(rbm, 2_000, key=jax.random.key(seed), given=row, **chains)
    mean = drawn[:, free].mean(0)
    expected = jax.nn.softmax(minus_f) @ states[:, free]
    bound = stats.norm.isf(LEVEL / (2 * 4 * len(free)))
    stderr = np.sqrt(expected * (1 - expected) / 2_000)
    assert (abs(mean - expected) < bound * stderr + 1e-4).all()


def test_missing_values_are_summed_out_exactly():
    rbm = model_with(0)
    rows = np.array([[1, np.nan, np.nan, 0, np.nan, 1], [np.nan, 0, 0, np.nan, 1, 0]])
    expected = [log_z(hm.condition(rbm, row[None])) - log_z(rbm) for row in rows]
    np.testing.assert_allclose(hm.log_likelihood(rbm, rows).value, np.mean(expected), rtol=1e-4)


def test_pseudo_likelihoods_count_the_cost():
    rbm = model_with(0)
    rows = np.asarray(rbm.visible.states(jnp.arange(64)))
    total = 0.0
    for unit in range(6):
        flipped = rows.copy()
        flipped[:, unit] = 1 - flipped[:, unit]
        gap = rbm.free_energy(jnp.asarray(flipped)) - rbm.free_energy(jnp.asarray(rows))
        total += -np.logaddexp(0, -gap).mean()
    np.testing.assert_allclose(hm.pseudo_log_likelihoods(rbm, rows).mean(), total, rtol=1e-4)


def test_groups_are_checked():
    for groups in ([(0, 1), (1, 2)], [(0,)], [(0, 9)]):
        with pytest.raises(hm.InputError, match="two or more units in each group"):
            hm.Exclusive(3, groups)


def test_tap_is_refused():
    rbm = hm.RBM(hm.Exclusive(3, [(0, 1)]), hm.Bernoulli(2), np.zeros((3, 2)))
    with pytest.raises(hm.InputError, match="units with one column each"):
        hm.fit(rbm, np.eye(3), key=KEY, gradient=hm.MeanField(order=2), epochs=1)


def test_files_keep_the_groups(tmp_path):
    rbm = hm.RBM(layer_with(0), hm.Bernoulli(2), np.ones((6, 2)))
    hm.save(rbm, tmp_path / "a.safetensors")
    again = hm.load(tmp_path / "a.safetensors")
    assert again.visible.groups == rbm.visible.groups
    assert jax.tree.all(jax.tree.map(np.array_equal, again, rbm))


def test_a_strict_layer_refuses_rows_that_break_the_rule(tmp_path):
    layer = hm.Exclusive(6, GROUPS, strict=True)
    rows = np.zeros((3, 6))
    rows[1, [1, 5]] = 1
    message = "only if no other unit of its group is; got 1 in row 1, column 5"
    with pytest.raises(hm.InputError, match=message):
        hm.Dataset(rows).checked_for(layer)
    assert hm.Dataset(rows[[0, 2]]).checked_for(layer).fits
    assert hm.Exclusive(6, GROUPS).validate(rows) is not None
    fitted = layer.fit_moments(jnp.asarray(rows))
    assert fitted.strict
