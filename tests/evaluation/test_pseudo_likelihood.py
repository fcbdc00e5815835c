import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from registry import ALL

VISIBLES = [
    hm.Bernoulli(5),
    hm.Ising(4),
    hm.Potts(3, states=3),
    hm.Mixed(hm.Bernoulli(2), hm.Potts(2, states=4), hm.Ising(1)),
]
HIDDENS = [hm.Bernoulli(3), hm.Gaussian(2)]
# `make laws` tries all pairs; other tests each visible layer with one hidden layer.
PAIRS = [
    (visible, hidden)
    for i, visible in enumerate(VISIBLES)
    for j, hidden in enumerate(HIDDENS)
    if ALL or i % 2 == j
]


def model(visible, hidden, seed=0):
    rbm = hm.initialize(visible, hidden, key=jax.random.key(seed), scale=1.0)
    return hm.RBM(visible.shift(jnp.linspace(-1, 1, visible.size)), hidden, rbm.weights)


@pytest.mark.parametrize(("visible", "hidden"), PAIRS, ids=str)
def test_it_is_that_of_the_enumerated_conditionals(visible, hidden):
    rbm = model(visible, hidden)
    states = visible.states(jnp.arange(visible.n_states))
    rows = visible.decode(states)
    p = np.exp(-np.asarray(rbm.free_energy(states), float))
    expected = np.zeros(len(rows))
    for i in range(visible.n_units):
        others = np.delete(rows, i, axis=1)
        same = (others[:, None] == others[None]).all(-1)
        expected += np.log(p / (same @ p))
    np.testing.assert_allclose(hm.pseudo_log_likelihoods(rbm, rows), expected, rtol=2e-5, atol=2e-5)


def test_of_independent_units_it_is_the_likelihood():
    rbm = model(hm.Bernoulli(5), hm.Bernoulli(3))
    rbm = hm.RBM(rbm.visible, rbm.hidden, 0 * rbm.weights)
    rows = np.random.default_rng(0).integers(0, 2, (7, 5))
    mean = hm.pseudo_log_likelihoods(rbm, rows).mean()
    assert mean == pytest.approx(hm.log_likelihood(rbm, rows).value, abs=1e-5)


def test_many_rows_are_taken_a_part_at_a_time():
    rbm = model(hm.Bernoulli(5), hm.Bernoulli(3))
    rows = np.random.default_rng(0).integers(0, 2, (2_500, 5))
    whole = hm.pseudo_log_likelihoods(rbm, rows)
    np.testing.assert_allclose(whole[2_000:], hm.pseudo_log_likelihoods(rbm, rows[2_000:]), 1e-6)


def test_it_stays_finite_where_a_unit_is_certain():
    rbm = hm.RBM.from_arrays(np.zeros((2, 1)), [300.0, -300.0], [0.0])
    np.testing.assert_allclose(
        hm.pseudo_log_likelihoods(rbm, np.array([[1, 0], [0, 0]])), [0.0, -300.0], atol=1e-5
    )


def test_continuous_rows_have_none():
    rbm = hm.initialize(hm.Gaussian(2), hm.Bernoulli(2), key=jax.random.key(0))
    with pytest.raises(hm.InputError, match="expected a discrete visible layer"):
        hm.pseudo_log_likelihoods(rbm, np.zeros((1, 2)))
