"""The Keras model in use: fit, callbacks, metrics, data sets, seeds, precision."""

import csv

import jax.numpy as jnp
import keras
import numpy as np
import pytest

import harmonium as hm
import harmonium.keras as hk
from harmonium.keras import monitors
from harmonium.layers.capabilities import alternatives
from keras_pairs import PAIRS
from registry import random_rbm

BACKEND = keras.backend.backend()
tensorflow_only = pytest.mark.skipif(BACKEND != "tensorflow", reason="needs the TF backend")


def test_the_defaults_learn(rows):
    rbm = hk.RBM(4, seed=0, chains=20)
    rbm.adapt(rows)
    rbm.compile()
    history = rbm.fit(rows, epochs=2, batch_size=16, validation_data=rows[:10], verbose=0).history
    shown = {"loss", "pseudo_likelihood", "reconstruction"}
    assert set(history) == shown | {f"val_{name}" for name in shown}
    assert np.isfinite([values[-1] for values in history.values()]).all()
    assert rbm(rows).shape == (40, 4)


def test_callbacks(rows, small, tmp_path):
    rbm = small(eagerly=False)
    callbacks = [
        keras.callbacks.EarlyStopping("val_pseudo_likelihood", mode="max", patience=0, min_delta=9),
        keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras"),
        keras.callbacks.CSVLogger(tmp_path / "log.csv"),
        keras.callbacks.TerminateOnNaN(),
    ]
    rbm.fit(rows, epochs=9, validation_data=rows, callbacks=callbacks, verbose=0)
    with (tmp_path / "log.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2, "the first epoch is never better than none by 9 twice"
    assert {"loss", "val_loss", "reconstruction", "pseudo_likelihood"} <= set(lines[0])
    assert (tmp_path / "2.keras").exists()


def test_early_stopping_brings_the_best_model_back(rows, small, as_numpy):
    rbm = small(learning_rate=5.0)
    stop = keras.callbacks.EarlyStopping(
        "val_reconstruction", mode="max", patience=9, restore_best_weights=True, start_from_epoch=0
    )
    history = rbm.fit(rows, epochs=3, validation_data=rows, callbacks=[stop], verbose=0).history
    best = max(history["val_reconstruction"])
    error = rbm.evaluate(rows, verbose=0, return_dict=True)["reconstruction"]
    assert error == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "a name"])
def test_any_optimiser(rows, name):
    optimizer = "nadam" if name == "a name" else getattr(keras.optimizers, name)(0.01)
    rbm = hk.RBM(3, seed=0, chains=10)
    rbm.compile(optimizer, metrics=(), run_eagerly=BACKEND != "tensorflow")
    rbm.fit(rows, epochs=1, verbose=0)
    assert abs(np.asarray(rbm.get_weights()[0])).max() > 0


def test_a_y_is_ignored(rows, small, as_numpy):
    kernels = []
    for data in [(rows,), (rows, rows), (rows, np.arange(40))]:
        rbm = small()
        rbm.fit(*data, shuffle=False, verbose=0)
        kernels.append(as_numpy(rbm.kernel))
    np.testing.assert_array_equal(kernels[0], kernels[1])
    np.testing.assert_array_equal(kernels[0], kernels[2])


def test_the_same_seed_gives_the_same_run(rows, small, as_numpy):
    first, again, other = (small(seed=seed, eagerly=False) for seed in (1, 1, 2))
    for rbm in (first, again, other):
        rbm.fit(rows, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_array_equal(as_numpy(first.kernel), as_numpy(again.kernel))
    np.testing.assert_array_equal(as_numpy(first.sample(5, 3)), as_numpy(again.sample(5, 3)))
    assert (as_numpy(first.kernel) != as_numpy(other.kernel)).any()


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float64", "int32"])
def test_rows_of_any_type(rows, small, dtype, as_numpy):
    rbm = small()
    plain = small()
    logs = rbm.train_on_batch(rows.astype(dtype), return_dict=True)
    expected = plain.train_on_batch(rows, return_dict=True)
    for name, value in expected.items():
        assert float(logs[name]) == pytest.approx(float(value), abs=1e-6)
    np.testing.assert_allclose(as_numpy(rbm.kernel), as_numpy(plain.kernel), atol=1e-7)


@tensorflow_only
def test_tf_data(rows, small, as_numpy):
    import tensorflow as tf

    weights = np.linspace(0.5, 1.5, 40).astype(np.float32)
    kinds = [rows, (rows, rows), (rows, rows, weights)]
    kernels = []
    for kind in kinds:
        rbm = small(eagerly=False)
        rbm.adapt(tf.data.Dataset.from_tensor_slices(kind).batch(16))
        data = tf.data.Dataset.from_tensor_slices(kind).batch(16)
        rbm.fit(data, epochs=2, shuffle=False, verbose=0)
        kernels.append(as_numpy(rbm.kernel))
    array = small()
    array.adapt(rows)
    array.fit(rows, batch_size=16, epochs=2, shuffle=False, verbose=0)
    np.testing.assert_allclose(kernels[0], as_numpy(array.kernel), atol=1e-6)
    np.testing.assert_array_equal(kernels[0], kernels[1])
    assert (kernels[0] != kernels[2]).any()


@tensorflow_only
@pytest.mark.parametrize("method", ["pcd", "cd"])
def test_xla_makes_the_same_model(rows, method, as_numpy):
    kernels = []
    for jit_compile in (False, True):
        rbm = hk.RBM(4, seed=0, chains=20, method=method)
        rbm.compile(keras.optimizers.SGD(0.1), jit_compile=jit_compile)
        rbm.fit(rows, batch_size=16, shuffle=False, verbose=0)
        kernels.append(as_numpy(rbm.kernel))
    # XLA draws from other generators: the same distribution, not the same numbers.
    assert np.isfinite(kernels).all()
    assert np.abs(kernels[0] - kernels[1]).max() < 0.2


@pytest.mark.parametrize(
    "policy",
    # JAX has no float64 unless it is switched on
    ["mixed_float16", "mixed_bfloat16"] + ["float64"] * (BACKEND != "jax"),
)
def test_precision_policies(rows, policy, as_numpy):
    rbm = hk.RBM(4, seed=0, chains=20, dtype=policy)
    rbm.compile(keras.optimizers.SGD(0.1))
    rbm.fit(rows, epochs=2, batch_size=16, verbose=0)
    expected = "float64" if policy == "float64" else "float32"
    variables = [rbm.kernel, rbm.chains, rbm.visible.bias, rbm.hidden.bias]
    for x in [*variables, rbm.free_energy(rows), rbm.reconstruct(rows), rbm.sample(2, 1)]:
        assert keras.backend.standardize_dtype(x.dtype) == expected
    assert keras.backend.standardize_dtype(rbm(rows).dtype) == rbm.compute_dtype


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_half_precision_computes_in_float32(rows, policy, as_numpy):
    """Energies and the step of one update agree with the float32 model to float32 precision."""
    half, full = (hk.RBM(4, seed=0, chains=20, dtype=dtype) for dtype in (policy, "float32"))
    for rbm in (half, full):
        rbm.compile(keras.optimizers.SGD(0.1), metrics=())
        rbm.train_on_batch(rows)
    np.testing.assert_allclose(as_numpy(half.kernel), as_numpy(full.kernel), atol=1e-6)
    np.testing.assert_allclose(
        as_numpy(half.free_energy(rows)), as_numpy(full.free_energy(rows)), rtol=1e-6
    )


def test_metrics_are_what_they_say(rows, as_numpy):
    rbm = hk.RBM(4, seed=0, chains=20)
    rbm.compile(metrics=["reconstruction", "free_energy_gap"])
    logs = rbm.evaluate(rows, batch_size=7, verbose=0, return_dict=True)
    error = np.mean((rows - as_numpy(rbm.reconstruct(rows))) ** 2)
    assert logs["reconstruction"] == pytest.approx(error, rel=1e-5)
    assert logs["free_energy_gap"] == pytest.approx(logs["loss"], rel=1e-5)
    assert "pseudo_likelihood" not in logs


@pytest.mark.parametrize("kinds", ["bernoulli-bernoulli", "ising-ising", "potts-ising"])
def test_the_pseudo_likelihood_in_training_is_that_of_one_random_site(kinds, make_rows, as_numpy):
    """Each draw is n log p(x_i | x_−i) of one i: the values seen are the enumerated ones."""
    core = random_rbm(*PAIRS[kinds], seed=3)
    rbm = hk.RBM.from_harmonium(core, seed=0)
    row = make_rows(core, 1)
    q = rbm.visible.states_each
    moves = np.asarray(alternatives(core.visible, jnp.asarray(row[0])))  # all single-site proposals
    energies = np.asarray(core.free_energy(jnp.asarray(np.concatenate([row, moves]))), float)
    sites = (moves != row[0]).reshape(len(moves), rbm.visible.n_units, -1).any(-1).argmax(1)
    expected = [
        -rbm.visible.n_units * np.log(np.exp(energies[0] - energies[1:][sites == i]).sum() + 1)
        for i in range(rbm.visible.n_units)
    ]
    assert all((sites == i).sum() == q - 1 for i in range(rbm.visible.n_units))
    estimates = as_numpy(monitors.pseudo_likelihood(rbm, np.repeat(row, 400, 0)))
    distance = np.abs(estimates[:, None] - np.asarray(expected)[None])
    assert distance.min(1).max() < 1e-4
    np.testing.assert_array_equal(np.unique(distance.argmin(1)), np.arange(len(expected)))
    # Of so few units an evaluation takes all, so it is the sum over sites.
    exact = as_numpy(rbm.pseudo_likelihood(row))
    np.testing.assert_allclose(exact, np.mean(expected), rtol=1e-5)


def test_evaluations_of_one_model_agree_and_cover_all_units(as_numpy):
    """100 units, of which 32 are taken in each row."""
    rng = np.random.default_rng(0)
    core = hm.RBM.from_arrays(rng.normal(0, 0.3, (100, 5)), rng.normal(size=100), np.zeros(5))
    rbm = hk.RBM.from_harmonium(core, seed=0)
    rbm.compile()
    rows = (rng.random((300, 100)) < 0.5).astype("float32")
    first, second = (
        rbm.evaluate(rows, batch_size=50, return_dict=True, verbose=0)["pseudo_likelihood"]
        for _ in range(2)
    )
    assert first == second
    exact = hm.pseudo_log_likelihoods(core, rows)
    assert abs(first - exact.mean()) < 4 * exact.std() / np.sqrt(300)


def test_adapt_starts_as_the_core_does(rows, as_numpy):
    rbm = hk.RBM(4, seed=0)
    rbm.adapt(iter([rows[:15], (rows[15:], rows[15:])]))
    kernel = as_numpy(rbm.kernel)
    visible = hm.Bernoulli(6).fit_moments(jnp.asarray(rows))
    hidden = hm.Bernoulli(4)
    means = visible.mean(visible.zero_inputs), hidden.mean(hidden.zero_inputs)
    np.testing.assert_allclose(
        as_numpy(rbm.visible.bias), visible.shift(-kernel @ means[1]).bias, atol=1e-5
    )
    np.testing.assert_allclose(
        as_numpy(rbm.hidden.bias), hidden.shift(-means[0] @ kernel).bias, atol=1e-6
    )


@pytest.mark.parametrize(
    ("name", "layer"), [("ising", "Ising"), ("gaussian", "Gaussian")], ids=lambda x: x
)
def test_adapt_fits_the_moments_of_other_units(name, layer, as_numpy):
    rng = np.random.default_rng(0)
    data = rng.normal(1.0, 2.0, (300, 3)) if name == "gaussian" else rng.choice([-1, 1], (300, 3))
    rbm = hk.RBM(2, visible=name, kernel_initializer="zeros")
    rbm.adapt(data)
    expected = getattr(hm, layer)(3).fit_moments(jnp.asarray(data, jnp.float32))
    for mine, theirs in [(rbm.visible.bias, expected.bias)]:
        np.testing.assert_allclose(as_numpy(mine), theirs, rtol=1e-4, atol=1e-5)


def test_weights_given_to_fit_count_as_rows_do():
    """Keras drops sample weights when there is no y; rows of weight 0 must not be learned."""
    rows = np.repeat(np.eye(6, dtype="float32")[[0, 5]], 20, axis=0)
    weights = np.repeat([1.0, 0.0], 20).astype("float32")
    biases = []
    for sample_weight in (None, weights):
        rbm = hk.RBM(2, seed=0, chains=20)
        rbm.compile(keras.optimizers.SGD(0.5))
        rbm.fit(rows, sample_weight=sample_weight, batch_size=40, epochs=20, verbose=0)
        biases.append(keras.ops.convert_to_numpy(rbm.visible.bias))
    assert biases[1][0] - biases[1][5] > 1 > abs(biases[0][0] - biases[0][5])
    losses = [rbm.evaluate(rows, sample_weight=w, verbose=0)[0] for w in (weights, 1 - weights)]
    assert losses[0] < losses[1]
