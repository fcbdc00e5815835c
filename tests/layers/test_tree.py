import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.likelihood.partition_function.enumerated import log_z
from registry import random_rbm

PARENTS = (2, 2, -1, 1, 1, -1, 5)  # two trees, one of three levels
EXAMPLES = [hm.Tree(4, (1, -1, 1, 2))]


def layer_with(seed, parents=PARENTS):
    rng = np.random.default_rng(seed)
    return hm.Tree(len(parents), parents, *rng.normal(0.0, 1.5, size=(2, len(parents))))


def all_states(n):
    return jnp.asarray(list(itertools.product((0.0, 1.0), repeat=n)))


@pytest.mark.parametrize("seed", range(3))
def test_sums_and_moments_are_those_of_all_states(seed):
    layer = layer_with(seed)
    states = all_states(7)
    inputs = jnp.asarray(np.random.default_rng(seed + 9).normal(size=7), jnp.float32)
    log_p = states @ inputs - layer.energy(states)
    p = jax.nn.softmax(log_p)
    np.testing.assert_allclose(layer.cgf(inputs), jax.nn.logsumexp(log_p), rtol=1e-5)
    np.testing.assert_allclose(layer.mean(inputs), p @ states, rtol=2e-5)


@pytest.mark.parametrize("seed", range(3))
def test_known_units_cut_the_tree_whatever_their_values(seed):
    layer = layer_with(seed)
    rng = np.random.default_rng(seed)
    inputs = jnp.asarray(rng.normal(size=7), jnp.float32)
    states = np.asarray(all_states(7))
    for known in itertools.product((False, True), repeat=7):
        known = np.asarray(known)
        values = np.where(known, rng.random(7), 0.0).astype(np.float32)  # also of fractions
        matching = np.unique(np.where(known, values, states), axis=0)
        log_p = matching @ inputs - layer.energy(jnp.asarray(matching))
        given = jnp.asarray(known), jnp.asarray(values)
        cgf = layer.unit_cgfs_given(inputs, *given).sum()
        np.testing.assert_allclose(cgf, jax.nn.logsumexp(log_p), rtol=1e-5, atol=1e-5)
        mean = layer.mean_given(inputs, *given)
        np.testing.assert_allclose(mean, jax.nn.softmax(log_p) @ matching, rtol=3e-5, atol=1e-6)


def test_without_hidden_units_it_is_the_tree_of_dependences():
    rng = np.random.default_rng(0)
    first = rng.random(400) < 0.4
    rows = np.stack([first ^ (rng.random(400) < noise) for noise in (0.0, 0.1, 0.3, 0.2)], 1)
    layer = hm.Tree(4, (-1, 0, 0, 0)).fit_moments(jnp.asarray(rows, jnp.float32))
    log_p = -layer.energy(jnp.asarray(rows, jnp.float32)) - layer.cgf(layer.zero_inputs)
    expected = hm.analysis.tree_log_likelihood(rows.astype(int), rows.astype(int))
    assert float(log_p.mean()) == pytest.approx(expected, abs=1e-4)


def test_moments_of_the_rows_are_those_of_the_layer():
    rng = np.random.default_rng(1)
    rows = jnp.asarray(rng.random((200, 7)) < rng.random(7), jnp.float32)
    layer = hm.Tree(7, PARENTS).fit_moments(rows)
    mean = (200 * rows.mean(0) + 0.5) / 201
    np.testing.assert_allclose(layer.mean(layer.zero_inputs), mean, rtol=1e-5)
    states = all_states(7)
    p = jax.nn.softmax(-layer.energy(states))
    for unit, parent in enumerate(PARENTS):
        if parent >= 0:
            both = (200 * (rows[:, unit] * rows[:, parent]).mean() + 0.25) / 201
            np.testing.assert_allclose(p @ (states[:, unit] * states[:, parent]), both, rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_log_z_of_a_model_is_that_of_all_states(seed):
    layer = layer_with(seed)
    weights = random_rbm(hm.Bernoulli(7), hm.Bernoulli(3), seed).weights
    rbm = hm.RBM(layer, hm.Bernoulli(3), weights)
    expected = jax.nn.logsumexp(-rbm.free_energy(all_states(7)))
    assert float(log_z(rbm)) == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ((1, 0, -1), r"without a root: 2\)"),
        ((0, -1, -1), r"without a root: 1\)"),
        ((-1, 3, 0), "the index of another unit"),
        ((-1, 0), "number of units: 3"),
    ],
)
def test_parents_that_are_no_tree_are_refused(parents, message):
    with pytest.raises(hm.InputError, match=message):
        hm.Tree(3, parents)
