import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.gradients.coupled import drawn_together
from registry import identify, random_rbm

EXAMPLES = [hm.Coupled(1, chains=32), hm.Coupled(3)]
LAYERS = [hm.Bernoulli(3), hm.Ising(3), hm.Potts(2, states=3), hm.Gaussian(2)]
KEY = jax.random.key(0)
DRAWS = 20_000
LEVEL = 1e-4


def log_density(layer, inputs, x):
    return (inputs * x).sum(-1) - layer.energy(x) - layer.cgf(inputs)


@pytest.mark.parametrize("layer", LAYERS, ids=identify)
def test_coupled_draws_follow_their_distributions_and_meet_as_often_as_possible(layer):
    keys = jax.random.split(KEY, 3)
    field_x, field_y = (jax.random.normal(key, (layer.size,)) for key in keys[:2])
    fields = [jnp.broadcast_to(field, (DRAWS, layer.size)) for field in (field_x, field_y)]
    x, y = eqx.filter_jit(drawn_together)(layer, *fields, key=keys[2])
    p_values = []
    for field, drawn in ((field_x, x), (field_y, y)):
        plain = layer.sample(jnp.broadcast_to(field, (DRAWS, layer.size)), key=keys[2])
        for column in range(layer.size):
            samples = np.asarray(drawn)[:, column], np.asarray(plain)[::-1, column]
            p_values.append(stats.ks_2samp(*samples).pvalue)
        error = np.asarray(drawn).mean(0) - np.asarray(layer.mean(field))
        stderr = np.sqrt(np.asarray(layer.variance(field)) / DRAWS)
        p_values += list(2 * stats.norm.sf(abs(error) / stderr))
    # E over x of min(1, q/p) is the overlap of the two distributions.
    log_ratio = log_density(layer, field_y, x) - log_density(layer, field_x, x)
    overlap = np.asarray(jnp.exp(jnp.minimum(log_ratio, 0.0)), float)
    met = np.asarray((x == y).all(-1), float)
    error = (met - overlap).mean() / ((met - overlap).std(ddof=1) / np.sqrt(DRAWS))
    p_values.append(2 * stats.norm.sf(abs(error)))
    assert min(p_values) > LEVEL / (len(p_values) * len(LAYERS))


def test_pairs_with_nearly_equal_distributions_are_drawn():
    """With an overlap of nearly 1, few pairs differ, and each of these takes thousands of draws."""
    layer = hm.Bernoulli(4)
    n = 4_096
    fields = jnp.zeros((n, 4)), jnp.zeros((n, 4)).at[:, 0].set(2e-3)
    x, y = eqx.filter_jit(drawn_together)(layer, *fields, key=KEY)
    apart = np.asarray((x != y).any(-1))
    assert 0 < apart.sum() < 20
    assert (np.asarray(y)[apart, 0] == 1).all()  # the states that q has more often
    assert (np.asarray(x)[apart, 0] == 0).all()


def test_equal_chains_stay_together():
    fields = jax.random.normal(KEY, (50, 3))
    x, y = drawn_together(hm.Bernoulli(3), fields, fields, key=KEY)
    np.testing.assert_array_equal(x, y)


def test_coupling_times_enter_the_history():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    rows = np.asarray(rbm.visible.states(jnp.arange(16)), np.uint8)
    fit = hm.fit(rbm, rows, key=KEY, gradient=hm.Coupled(), epochs=2)
    assert 1 <= fit.history[-1]["coupling_time"] <= fit.history[-1]["longest_coupling_time"]


def test_a_row_counts_by_its_weight():
    """Rows of weight zero do not enter the estimate, and neither do their chains."""
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    rows = rbm.visible.states(jnp.arange(6))
    weights = jnp.array([0.5, 0.5, 0.0, 0.0, 0.0, 0.0])
    method = hm.Coupled(1, chains=64)
    starts = method._starts(hm.samplers.Cloud(rows, weights), key=KEY).states
    assert {tuple(row) for row in np.asarray(starts)} == {tuple(r) for r in np.asarray(rows[:2])}


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="Coupled sweeps"):
        hm.Coupled(0)
    with pytest.raises(hm.InputError, match="Coupled chains"):
        hm.Coupled(1, chains=-1)
