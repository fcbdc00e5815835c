import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from registry import random_rbm


class Growing(hm.path.AbstractPath):
    """A path of models with any layers, whose weights grow until it ends at `rbm`."""

    def at(self, t):
        raise NotImplementedError  # only the path that ends at a model is asked for

    def ending_at(self, rbm):
        weaker = [eqx.tree_at(lambda m: m.weights, rbm, s * rbm.weights) for s in (0.1, 0.7)]
        return hm.path.History.through([*weaker, rbm])


EXAMPLES = [
    hm.ReplicaExchange(times=[0.0, 0.3, 0.6, 1.0]),
    hm.ReplicaExchange(Growing(), times=3, sweeps=2),
]


@pytest.mark.parametrize(
    "times", [1, 0, [1.0], [0.0, 0.5], [0.0, 0.7, 0.3, 1.0], [-0.1, 1.0], [[0.0, 1.0]], "five"]
)
def test_times_are_checked(times):
    with pytest.raises(hm.InputError, match="times: expected"):
        hm.ReplicaExchange(times=times)


def test_sweeps_and_path_are_checked():
    with pytest.raises(hm.InputError, match="whole number of at least 1"):
        hm.ReplicaExchange(sweeps=0)
    with pytest.raises(hm.InputError, match="path: expected a path"):
        hm.ReplicaExchange(random_rbm(hm.Bernoulli(3), hm.Bernoulli(2), 0))


def test_gains_are_differences_of_each_models_own_free_energies():
    rbm = random_rbm(hm.Bernoulli(5), hm.Potts(2, states=3), 0)

    @eqx.filter_jit
    def looked(sampler):
        state = sampler.init_independent(rbm, 7, key=jax.random.key(0))
        _, info = sampler.step(rbm, state, key=jax.random.key(1))
        return info, [[m.free_energy(v) for v in state.v] for m in sampler.models(rbm)]

    for sampler in EXAMPLES:
        info, f = looked(sampler)
        f = np.array(f)
        for k in range(len(sampler.times) - 1):
            np.testing.assert_allclose(info.up[k], f[k, k] - f[k + 1, k], atol=1e-5)
            np.testing.assert_allclose(info.down[k], f[k + 1, k + 1] - f[k, k + 1], atol=1e-5)
        likely = np.minimum(1.0, np.exp(np.asarray(info.up + info.down))).mean(1)
        np.testing.assert_allclose(info.acceptance, likely, rtol=1e-5)


def test_even_and_odd_pairs_take_turns_and_round_trips_are_counted():
    """Equal models accept every swap, so replicas move straight up and down the ladder."""
    rbm = hm.RBM(hm.Bernoulli(3), hm.Bernoulli(2), jnp.zeros((3, 2)))
    sampler = hm.ReplicaExchange(times=4)
    key = jax.random.key(0)
    state = sampler.init_independent(rbm, 2, key=key)
    step = jax.jit(lambda state: sampler.step(rbm, state, key=key)[0])
    trips = []
    for _ in range(24):
        state = step(state)
        trips.append(int(state.trips.sum()))
    assert trips[:7] == [0] * 6 + [2]  # both replicas that began at model 0
    assert trips[23] - trips[15] == 8  # every round trip takes 8 steps
    assert set(np.asarray(state.heading).ravel()) == {1, 2}


def test_samples_are_rows_also_with_units_given():
    rbm = random_rbm(hm.Bernoulli(6), hm.Bernoulli(3), 0)
    sampler = hm.ReplicaExchange(times=3)
    assert hm.sample(rbm, 5, key=jax.random.key(0), sampler=sampler).shape == (5, 6)
    given = np.array([[1, 0, 1, np.nan, np.nan, np.nan], [0, 0, np.nan, 1, 1, np.nan]])
    rows = hm.sample(rbm, 4, key=jax.random.key(0), sampler=sampler, given=given)
    held = np.repeat(given, 4, axis=0)
    assert (rows == held)[~np.isnan(held)].all()


@pytest.fixture(scope="module")
def bars():
    """Return bars and stripes, 3 × 3: the 14 pictures whose rows, or columns, are all alike."""
    lines = np.array([[(i >> j) & 1 for j in range(3)] for i in range(8)])
    pictures = [np.tile(line, (3, 1)) for line in lines]
    return np.unique([p.ravel() for p in [*pictures, *(p.T for p in pictures)]], axis=0)


def test_training_by_exchange_climbs(bars):
    """A model can be trained by parallel tempering; its cloud is the chains of the last model."""
    rbm = hm.initialize(hm.Bernoulli(9), hm.Bernoulli(8), key=jax.random.key(0), data=bars)
    method = hm.Persistent(hm.ReplicaExchange(times=4), chains=50)
    run = {"gradient": method, "optimizer": hm.Recipe(0.2), "epochs": 2_000, "batch_size": 14}
    fit = hm.fit(rbm, bars, key=jax.random.key(0), **run)
    assert method.status(fit.state.rbm, fit.state.gradient).chains.states.shape == (50, 9)
    before, after = (hm.log_likelihood(m, bars).value for m in (rbm, fit.rbm))
    assert before < -5.0
    assert after > -3.2  # −log 14 = −2.64 is the best possible
