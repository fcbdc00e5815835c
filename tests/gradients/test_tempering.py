import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.gradients.tempering import _thinned
from registry import random_rbm

EXAMPLES = [
    hm.Tempering(3, chains=16, sweeps=50),
    hm.Trajectory(3, chains=16, sweeps=50),
]
KEY = jax.random.key(0)
TWO_MODES = np.repeat([[0], [1]], 12, axis=1)  # all off, or all on


def trained(method, updates=600, rate=0.2):
    rbm = hm.initialize(hm.Bernoulli(12), hm.Bernoulli(4), key=KEY)
    recipe = hm.Recipe(rate=rate, averaging=None, hold=1.0)
    return hm.fit(rbm, TWO_MODES, key=KEY, gradient=method, optimizer=recipe, epochs=updates)


@pytest.mark.parametrize("kind", [hm.Tempering, hm.Trajectory])
def test_the_ladder_grows_with_the_model_and_both_modes_keep_their_share(kind):
    method = kind(10, chains=50)
    fit = trained(method)
    state = fit.state.gradient
    lengths = [record["ladder"] for record in fit.history]
    assert lengths[0] == 2
    assert 3 <= lengths[-1] <= 10
    assert bool(state.at_end[-1])
    assert not bool(state.at_end[0])
    cloud = method.status(fit.state.rbm, state).chains
    np.testing.assert_allclose(cloud.weights.sum(), 1.0, rtol=1e-5)
    on = float(cloud.weights @ (cloud.states.mean(1) > 0.5))
    assert 0.2 < on < 0.8  # 0.05 to 0.1 is the spread of so few independent replicas
    likelihood = hm.log_likelihood(fit.state.rbm, TWO_MODES).value
    assert -1.0 < likelihood < -np.log(2)


def test_temperatures_rise_and_neighbours_swap_alike():
    state = trained(hm.Tempering(10, chains=50)).state.gradient
    steps = np.diff(np.asarray(state.ladder.times))
    assert (steps >= 0).all()
    used = np.asarray(~state.at_end)[1:].sum()  # the last pair may be closer than the others
    assert (abs(np.asarray(state.acceptance)[:used] - 0.5) < 0.15).all()


def test_earlier_models_make_room_for_new_ones():
    """With only three places, the models that are nearest to their neighbours are dropped."""
    fit = trained(hm.Trajectory(4, chains=50, acceptance=0.8))
    state = fit.state.gradient
    assert fit.history[-1]["ladder"] == 4
    norms = np.sqrt((np.asarray(state.ladder.weights) ** 2).sum((1, 2)))[~np.asarray(state.at_end)]
    assert norms[0] == 0.0
    assert (np.diff(norms) > 0).all()


def test_dropping_a_place_keeps_all_other_replicas():
    method = hm.Trajectory(5, chains=2)
    rbm = random_rbm(hm.Bernoulli(3), hm.Bernoulli(2), 0)
    state = method.init(rbm, hm.samplers.Cloud.uniform(jnp.zeros((1, 3))), key=KEY)
    v = jnp.arange(5.0)[:, None, None] * jnp.ones((5, 2, 3))
    state = state._replace(
        replicas=state.replicas._replace(v=v),
        at_end=jnp.array([False, False, False, False, True]),
        acceptance=jnp.array([0.3, 0.9, 0.8, 0.4]),
    )
    state = _thinned(state)
    assert np.asarray(state.replicas.v[:, 0, 0]).tolist() == [0, 1, 3, 4, 2]
    assert np.asarray(state.at_end).tolist() == [False, False, False, True, True]
    assert 0.4 < float(state.acceptance[1]) < 0.8  # across the place that was dropped
    np.testing.assert_allclose(state.acceptance[jnp.array([0, 2, 3])], [0.3, 0.4, 1.0])


def test_a_resumed_run_on_a_ladder_equals_an_uninterrupted_one():
    rbm = hm.initialize(hm.Bernoulli(12), hm.Bernoulli(4), key=KEY)
    options = {"key": KEY, "gradient": hm.Trajectory(4, chains=8), "optimizer": hm.Recipe(hold=1.0)}
    whole = hm.fit(rbm, TWO_MODES, epochs=30, **options)
    half = hm.fit(rbm, TWO_MODES, epochs=15, **options)
    rest = hm.fit(rbm, TWO_MODES, epochs=30, state=half.state, **options)
    for a, b in zip(jax.tree.leaves(whole.state), jax.tree.leaves(rest.state), strict=True):
        np.testing.assert_array_equal(a, b)


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="models: expected at least 3"):
        hm.Tempering(2)
    with pytest.raises(hm.InputError, match="acceptance: expected a probability"):
        hm.Trajectory(4, acceptance=1.0)
    with pytest.raises(hm.InputError, match="Trajectory chains"):
        hm.Trajectory(4, chains=0)
