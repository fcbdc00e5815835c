import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.gradients.mean_field import _expansion
from harmonium.likelihood.partition_function import enumerated
from registry import identify, random_rbm

EXAMPLES = [hm.MeanField(order=1), hm.MeanField(order=2)]
KEY = jax.random.key(0)
PAIRS = [
    (hm.Bernoulli(5), hm.Bernoulli(4)),
    (hm.Ising(4), hm.Gaussian(2)),
    (hm.Gaussian(3), hm.Ising(3)),
    (hm.Mixed(hm.Bernoulli(2), hm.Ising(2)), hm.Bernoulli(3)),
]


def solved(rbm, order):
    """Return the gradient of an empty batch at convergence, the state, and log Z."""
    method = hm.MeanField(order=order, solutions=2, iterations=200)
    grads, state, info = estimated(method, rbm)
    return grads, state, info.gap


@eqx.filter_jit
def estimated(method, rbm):
    batch = hm.samplers.Cloud(jnp.zeros((1, rbm.visible.size)), jnp.zeros(1))
    state = method.init(rbm, batch, key=KEY)
    return method.estimate(rbm, batch, state, key=KEY)


exact_log_z = eqx.filter_jit(enumerated.log_z)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("visible", "hidden"), PAIRS, ids=identify)
def test_it_is_the_derivative_of_the_expansion(visible, hidden, order):
    """The gradient at constant means equals finite differences of the solved expansion."""
    rbm = random_rbm(visible, hidden, 0, coupling=0.15)
    grads, state, log_z = solved(rbm, order)
    assert float(state.residual) < 1e-5
    leaves, structure = jax.tree.flatten(rbm)
    keys = jax.random.split(KEY, len(leaves))
    direction = [jax.random.normal(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    step = 2e-2
    log_zs = []
    for sign in (1, -1):
        moved = [leaf + sign * step * d for leaf, d in zip(leaves, direction, strict=True)]
        log_zs.append(float(solved(jax.tree.unflatten(structure, moved), order)[2]))
    slope = (log_zs[0] - log_zs[1]) / (2 * step)
    pairs = zip(jax.tree.leaves(grads), direction, strict=True)
    expected = sum(float((g * d).sum()) for g, d in pairs)
    assert abs(slope - expected) < 0.02 * (1 + abs(slope))
    assert np.isfinite(float(log_z))


def test_the_second_order_is_nearer_to_log_z_than_the_first():
    for seed in range(5):
        rbm = random_rbm(hm.Bernoulli(6), hm.Bernoulli(5), seed, coupling=0.3)
        exact = float(exact_log_z(rbm))
        errors = [abs(float(solved(rbm, order)[2]) - exact) for order in (1, 2)]
        assert 4 * errors[1] < errors[0]


def test_it_is_exact_without_weights():
    rbm = random_rbm(hm.Bernoulli(4), hm.Gaussian(3), 0, coupling=0.0)
    for order in (1, 2):
        np.testing.assert_allclose(solved(rbm, order)[2], exact_log_z(rbm), rtol=1e-5)


def test_certain_units_do_no_harm():
    rbm = hm.RBM.from_arrays(np.zeros((2, 2)), [500.0, -500.0], [500.0, 0.0])
    grads, _, _ = solved(rbm, 2)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(grads))
    inputs = jnp.zeros((1, 2))
    assert np.isfinite(_expansion(rbm, rbm.weights**2, inputs, inputs)).all()


def test_tap_of_codes_is_refused_and_mean_field_is_not():
    rbm = random_rbm(hm.Potts(2, states=3), hm.Bernoulli(2), 0)
    rows = np.array([[0, 1], [2, 2]])
    with pytest.raises(hm.InputError, match="units with one column each"):
        hm.fit(rbm, rows, key=KEY, gradient=hm.MeanField(order=2))
    fit = hm.fit(rbm, rows, key=KEY, gradient=hm.MeanField(order=1), epochs=3)
    assert fit.history[-1]["mean_field_residual"] >= 0


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="order: expected 1 or 2"):
        hm.MeanField(order=3)
    with pytest.raises(hm.InputError, match="MeanField solutions"):
        hm.MeanField(solutions=0)
