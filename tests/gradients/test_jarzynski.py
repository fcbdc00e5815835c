import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.gradients.jarzynski import JarzynskiState, _resampled

EXAMPLES = [hm.Jarzynski(hm.Gibbs(50), chains=64)]
KEY = jax.random.key(0)


def test_log_z_is_known_at_every_update():
    """With one sweep an update, log Z and the averages are right at the end of a run."""
    rbm = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(4), key=KEY)
    rows = np.unique(np.asarray(rbm.visible.states(jnp.array([0, 7, 56, 63]))), axis=0)
    method = hm.Jarzynski(hm.Gibbs(1), chains=2_000)
    recipe = hm.Recipe(rate=0.05, averaging=None)
    fit = hm.fit(rbm, rows, key=KEY, gradient=method, optimizer=recipe, epochs=300)
    state = fit.state.gradient
    last = fit.state.rbm
    assert 0.5 <= fit.history[-1]["effective_chains"] <= 1
    # the weights are those of the model before the last update
    few = hm.samplers.Cloud.uniform(state.v[:4])
    updated = eqx.filter_jit(method.estimate)(last, few, state, key=KEY)[1]
    log_z = float(method.metrics(updated)["log_z"])
    assert abs(log_z - hm.log_z(last).value) < 0.15
    states = rbm.visible.states(jnp.arange(64))
    exact = jax.nn.softmax(-last.free_energy(states)) @ states
    cloud = method.status(last, updated).chains
    np.testing.assert_allclose(cloud.mean_of(cloud.states), exact, atol=0.05)


def test_resampled_chains_keep_their_average():
    v = jnp.arange(1_000.0)[:, None]
    log_weights = -((jnp.arange(1_000) / 300.0) ** 2)
    state = JarzynskiState(v, v[:, 0], log_weights, jnp.zeros(()), jnp.zeros((), jnp.int32))
    drawn = _resampled(state, key=KEY)
    shares = jax.nn.softmax(log_weights)
    assert abs(float(drawn.v.mean() - shares @ v[:, 0])) < 2
    counts = np.bincount(np.asarray(drawn.v[:, 0], int), minlength=1_000)
    assert (abs(counts - 1_000 * np.asarray(shares)) < 1 + 1e-3).all()
    assert int(drawn.resampled) == 1
    np.testing.assert_allclose(drawn.log_z, np.log(np.exp(log_weights).mean()), rtol=1e-5)


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="threshold: expected a number from 0 to 1"):
        hm.Jarzynski(hm.Gibbs(1), threshold=2.0)
    with pytest.raises(hm.InputError, match="Jarzynski chains"):
        hm.Jarzynski(hm.Gibbs(1), chains=0)
