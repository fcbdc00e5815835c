"""The loss and its gradient against those of harmonium's core, on each backend."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import harmonium as hm
import harmonium.keras as hk
from harmonium.gradients import free_energy_gap
from keras_pairs import PAIRS
from registry import random_rbm

RATE = 1 / 64  # a power of two, so that dividing by it is exact, and small enough for no clipping


def same_model(core, eagerly, **options):
    rbm = hk.RBM.from_harmonium(core, seed=5, chains=24, **options)
    eagerly = eagerly and keras.backend.backend() != "jax"  # which would compile each operation
    rbm.compile(keras.optimizers.SGD(RATE), metrics=(), steps_per_execution=1, run_eagerly=eagerly)
    return rbm


def next_model_states(rbm, rows):
    """Return the v of the negative phase that the next update will draw, drawn by a copy."""
    copy = type(rbm).from_config(rbm.get_config())
    copy.build((None, rows.shape[1]))
    copy.set_weights(rbm.get_weights())
    seed = copy.chain_seeds
    h = copy.sample_h_from_v(rows, seed) if copy.method == "cd" else copy.chains
    v = copy.sample_v_from_h(h, seed)
    for _ in range(copy.k - 1):
        v = copy.sample_v_from_h(copy.sample_h_from_v(v, seed), seed)
    return v


@pytest.mark.parametrize(
    ("kinds", "method", "k", "weighted", "eagerly"),
    [("bernoulli-bernoulli", "pcd", 1, False, False), ("bernoulli-bernoulli", "cd", 2, True, False)]
    + [(kinds, "pcd", 2, True, True) for kinds in PAIRS]
    + [(kinds, "cd", 1, False, True) for kinds in PAIRS],
)
def test_one_update_is_the_cores_gradient(kinds, method, k, weighted, eagerly, make_rows, as_numpy):
    core = random_rbm(*PAIRS[kinds], seed=3)
    rows = make_rows(core, 30)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 30).astype(np.float32)
    rbm = same_model(core, eagerly, method=method, k=k)
    model = jnp.asarray(as_numpy(next_model_states(rbm, rows)))
    p = jnp.asarray(weights / weights.sum()) if weighted else jnp.full(30, 1 / 30)
    data = hm.samplers.Cloud(jnp.asarray(rows), p)
    model = hm.samplers.Cloud(model, p) if method == "cd" else hm.samplers.Cloud.uniform(model)
    gap, expected = jax.value_and_grad(free_energy_gap)(core, data, model)

    loss = rbm.train_on_batch(rows, sample_weight=weights if weighted else None)
    after = rbm.to_harmonium()
    np.testing.assert_allclose(loss, gap, rtol=1e-5, atol=1e-5)
    pairs = zip(*map(jax.tree.leaves, (core, after, expected)), strict=True)
    for before, now, gradient in pairs:
        np.testing.assert_allclose((before - now) / RATE, gradient, rtol=1e-5, atol=1e-5)


def test_a_row_of_weight_two_is_a_row_twice(small, rows):
    weights = np.ones(40, np.float32)
    weights[:10] = 2.0
    models = [small(), small()]
    losses = [
        models[0].train_on_batch(rows, sample_weight=weights, return_dict=True)["loss"],
        models[1].train_on_batch(np.concatenate([rows, rows[:10]]), return_dict=True)["loss"],
    ]
    np.testing.assert_allclose(*losses, atol=1e-6)
    for a, b in zip(*(rbm.trainable_variables for rbm in models), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-6)


def test_a_batch_without_weight_makes_no_step(small, rows):
    rbm = small()
    before = [v.numpy().copy() for v in rbm.trainable_variables]
    rbm.train_on_batch(rows, sample_weight=np.zeros(40, np.float32))
    for variable, old in zip(rbm.trainable_variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), old)


def test_a_regulariser_pulls_on_the_weights_alone(rows):
    rbm = hk.RBM(4, seed=0, kernel_regularizer=keras.regularizers.L2(0.5))
    rbm.compile(keras.optimizers.SGD(0.1), metrics=["free_energy_gap"], run_eagerly=True)
    logs = rbm.train_on_batch(rows, return_dict=True)
    first = hk.RBM(4, seed=0)
    first.build((None, 6))
    penalty = 0.5 * float(np.sum(first.kernel.numpy() ** 2))
    assert float(logs["loss"]) == pytest.approx(float(logs["free_energy_gap"]) + penalty, abs=1e-6)


def test_evaluation_leaves_chains_seeds_and_training_alone(small, rows, as_numpy):
    looked = small()
    other = small()
    looked.evaluate(rows, verbose=0)
    looked.sample(3, sweeps=2)
    np.testing.assert_array_equal(as_numpy(looked.chains), as_numpy(other.chains))
    for rbm in (looked, other):
        rbm.fit(rows, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_array_equal(as_numpy(looked.kernel), as_numpy(other.kernel))
    np.testing.assert_array_equal(as_numpy(looked.chains), as_numpy(other.chains))
