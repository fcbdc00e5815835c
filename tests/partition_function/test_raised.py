"""RAISE against the enumerated probabilities of the annealed model: too low on average."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from registry import LEVEL, random_rbm

RBM = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 2, coupling=1.5)


def sweep_matrix(rbm, v):
    """Return T(v′ | v) of one sweep v → h → v′, for all states."""
    h = rbm.hidden.states(jnp.arange(8))
    up = jnp.exp(h @ rbm.inputs_to_h(v).T - rbm.hidden.energy(h)[:, None])
    up = up / up.sum(0)
    down = jnp.exp(v @ rbm.inputs_to_v(h).T - rbm.visible.energy(v)[:, None])
    return np.asarray((down / down.sum(0)) @ up, float)


def test_it_is_below_the_annealed_models_own_on_average_and_close_with_many_chains():
    v = RBM.visible.states(jnp.arange(16))
    path = hm.path.Heating(hm.Bernoulli(4), hm.Bernoulli(3), RBM)
    p = np.full(16, 1 / 16)
    for t in (1.0,):  # one step: a draw of the base and one sweep of the model
        p = sweep_matrix(path.at(t), v) @ p
    assert p.sum() == pytest.approx(1.0, abs=1e-5)
    plan = {"steps": 1, "path": path}
    rows = np.asarray(v)
    many = hm.likelihood.raise_log_likelihood(
        RBM, rows, key=jax.random.key(0), chains=20_000, **plan
    )
    np.testing.assert_allclose(many.rows, np.log(p), atol=0.15)
    few = [
        hm.likelihood.raise_log_likelihood(RBM, rows, key=jax.random.key(i), chains=2, **plan).value
        for i in range(40)
    ]
    assert stats.ttest_1samp(few, np.log(p).mean(), alternative="less").pvalue < LEVEL


def test_slow_annealing_comes_near_the_models_own():
    rows = hm.sample(RBM, 200, key=jax.random.key(0))
    score = hm.likelihood.raise_log_likelihood(
        RBM, rows, key=jax.random.key(1), chains=64, steps=512
    )
    exact = hm.log_likelihood(RBM, rows)
    assert abs(score.value - exact.value) < 0.02
    assert score.stderr_rows == pytest.approx(exact.stderr_rows, rel=0.1)
    assert "RAISE" in str(score)


def test_rows_of_another_kind_are_refused():
    with pytest.raises(hm.InputError, match="Bernoulli unit takes"):
        hm.likelihood.raise_log_likelihood(RBM, np.full((3, 4), 2.0), key=jax.random.key(0))
