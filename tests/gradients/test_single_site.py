import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from registry import random_rbm

EXAMPLES = [hm.PseudoLikelihood(), hm.RatioMatching(), hm.ProbabilityFlow()]
VISIBLES = [
    hm.Ising(3),
    hm.Potts(2, states=3),
    hm.Mixed(hm.Bernoulli(2), hm.Potts(1, states=4)),
]


def from_all_states(method, rbm, batch):
    """Compute an objective from a table of the free energies of all states."""
    layer = rbm.visible
    with jax.ensure_compile_time_eval():
        states = layer.states(jnp.arange(layer.n_states))
        rows = layer.decode(states)
        batch_rows = layer.decode(batch.states)
    free = rbm.free_energy(states)
    total = 0.0
    for row, weight in zip(batch_rows, np.asarray(batch.weights), strict=True):
        here = int(np.flatnonzero((rows == row).all(1))[0])
        for i in range(layer.n_units):
            same = (np.delete(rows, i, 1) == np.delete(row, i)).all(1)
            p = jax.nn.softmax(-free[same])
            own = jnp.asarray(np.flatnonzero(same) == here)
            total += (
                weight
                * {
                    "pseudo-likelihood": -jnp.log(p @ own),
                    "ratio matching": 0.5 * ((p - own) ** 2).sum(),
                    "minimum probability flow": jnp.exp(0.5 * (free[here] - free[same])).sum()
                    - 1.0,
                }[method.about.title]
            )
    return total


@pytest.mark.parametrize("visible", VISIBLES, ids=str)
@pytest.mark.parametrize("method", EXAMPLES, ids=lambda method: method.about.title)
def test_it_is_the_gradient_of_the_objective_as_written(method, visible):
    rbm = random_rbm(visible, hm.Bernoulli(3), 0)
    rows = visible.states(jnp.array([0, 3, 5, 5]))
    batch = hm.samplers.Cloud(rows, jnp.array([0.1, 0.2, 0.3, 0.4]))
    loss = eqx.filter_value_and_grad(lambda m: from_all_states(method, m, batch))
    value, expected = eqx.filter_jit(loss)(rbm)
    state = method.init(rbm, batch, key=jax.random.key(0))
    grads, _, info = eqx.filter_jit(method.estimate)(rbm, batch, state, key=jax.random.key(0))
    np.testing.assert_allclose(info.gap, value, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(grads), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("method", EXAMPLES, ids=lambda method: method.about.title)
def test_the_expected_gradient_is_zero_at_the_true_model(method):
    """The rows are all states with their probabilities: every objective has its minimum there."""
    rbm = random_rbm(hm.Potts(2, states=3), hm.Ising(2), 0)
    states = rbm.visible.states(jnp.arange(9))
    truth = hm.samplers.Cloud(states, jax.nn.softmax(-rbm.free_energy(states)))
    grads, _, _ = eqx.filter_jit(method.estimate)(rbm, truth, (), key=jax.random.key(0))
    for leaf in jax.tree.leaves(grads):
        np.testing.assert_allclose(leaf, 0.0, atol=1e-5)


def test_continuous_rows_are_refused():
    rbm = random_rbm(hm.Gaussian(2), hm.Bernoulli(2), 0)
    with pytest.raises(hm.InputError, match="expected a discrete visible layer"):
        hm.fit(rbm, np.zeros((4, 2)), key=jax.random.key(0), gradient=hm.PseudoLikelihood())
