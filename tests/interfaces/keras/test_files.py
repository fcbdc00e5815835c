"""Saving and loading, conversion to harmonium.RBM, stacking, fine-tuning and serving."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

import harmonium as hm
import harmonium.keras as hk

BACKEND = keras.backend.backend()


def test_conversion_from_the_core_and_back_is_exact(core, make_rows, as_numpy):
    rbm = hk.RBM.from_harmonium(core)
    back = rbm.to_harmonium()
    assert jax.tree.structure(back) == jax.tree.structure(core)
    for a, b in zip(jax.tree.leaves(back), jax.tree.leaves(core), strict=True):
        np.testing.assert_array_equal(a, b)
    rows = jnp.asarray(make_rows(core, 50))
    h = core.mean_h_from_v(rows)
    rows, h = map(np.asarray, (rows, h))
    for mine, theirs in [
        (rbm.free_energy(rows), core.free_energy(jnp.asarray(rows))),
        (rbm.energy(rows, h), core.energy(jnp.asarray(rows), jnp.asarray(h))),
        (rbm(rows), h),
        (rbm.mean_v_from_h(h), core.mean_v_from_h(jnp.asarray(h))),
    ]:
        np.testing.assert_allclose(as_numpy(mine), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", ["pcd", "cd"])
def test_a_loaded_model_goes_on_as_if_never_saved(rows, small, method, tmp_path, as_numpy):
    whole, part = (small(method=method, eagerly=method == "cd") for _ in range(2))
    options = {"shuffle": False, "verbose": 0, "batch_size": 16}
    whole.fit(rows, epochs=4, **options)
    part.fit(rows, epochs=2, **options)
    part.save(tmp_path / "part.keras")
    loaded = keras.models.load_model(tmp_path / "part.keras")
    assert loaded.get_config() == part.get_config()
    assert loaded.metrics_names == part.metrics_names
    np.testing.assert_array_equal(as_numpy(loaded(rows)), as_numpy(part(rows)))
    loaded.fit(rows, epochs=2, **options)
    for a, b in zip(loaded.variables, whole.variables, strict=True):
        np.testing.assert_array_equal(as_numpy(a), as_numpy(b), err_msg=a.path)


@pytest.mark.parametrize("visible", ["ising", "gaussian", "potts"])
def test_config_and_weights_make_the_same_model(visible, as_numpy):
    rbm = hk.RBM(
        4,
        visible=hk.Potts(3) if visible == "potts" else visible,
        hidden="ising",
        k=2,
        kernel_regularizer="l2",
        kernel_initializer=keras.initializers.RandomNormal(stddev=0.3, seed=4),
    )
    rbm.build((None, 6))
    copy = hk.RBM.from_config(rbm.get_config())
    copy.build((None, 6))
    copy.set_weights(rbm.get_weights())
    assert copy.get_config() == rbm.get_config()
    v = np.eye(3, dtype=np.float32)[[0, 1, 2, 1]].reshape(2, 6)
    np.testing.assert_array_equal(as_numpy(copy.free_energy(v)), as_numpy(rbm.free_energy(v)))


def test_weights_alone_can_be_saved(rows, small, tmp_path, as_numpy):
    rbm = small()
    other = small(seed=9)
    rbm.fit(rows, verbose=0)
    rbm.save_weights(tmp_path / "some.weights.h5")
    other.load_weights(tmp_path / "some.weights.h5")
    for a, b in zip(rbm.weights, other.weights, strict=True):
        np.testing.assert_array_equal(as_numpy(a), as_numpy(b))


def test_two_models_stack_and_are_tuned_under_a_head(rows, small, tmp_path, as_numpy):
    first = small(units=5)
    first.fit(rows, verbose=0)
    second = hk.RBM(3, seed=2)
    second.compile(keras.optimizers.SGD(0.1), run_eagerly=True)
    second.fit(first.predict(rows, verbose=0), verbose=0)
    labels = (rows[:, 0] > 0).astype(int)
    model = keras.Sequential([first, second, keras.layers.Dense(2, "softmax")])
    np.testing.assert_allclose(
        as_numpy(keras.Sequential([first, second])(rows)), as_numpy(second(first(rows)))
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    before = as_numpy(first.kernel).copy(), as_numpy(first.visible.bias).copy()
    history = model.fit(rows, labels, epochs=2, verbose=0).history
    assert set(history) == {"loss", "accuracy"}
    assert (as_numpy(first.kernel) != before[0]).any(), "fine-tuning reaches the first model"
    np.testing.assert_array_equal(as_numpy(first.visible.bias), before[1])
    model.save(tmp_path / "stack.keras")
    loaded = keras.models.load_model(tmp_path / "stack.keras")
    np.testing.assert_array_equal(as_numpy(loaded(rows)), as_numpy(model(rows)))


def test_a_frozen_model_stays_as_it_is(rows, small, as_numpy):
    rbm = small()
    rbm.trainable = False
    model = keras.Sequential([rbm, keras.layers.Dense(2, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    before = as_numpy(rbm.kernel).copy()
    model.fit(rows, (rows[:, 0] > 0).astype(int), verbose=0)
    np.testing.assert_array_equal(as_numpy(rbm.kernel), before)


@pytest.mark.parametrize("hidden", ["bernoulli", "ising"])
def test_the_layer_is_plain_keras(rows, hidden, as_numpy):
    rbm = hk.RBM(4, hidden=hidden, seed=0)
    rbm.build((None, 6))
    layer = rbm.to_layer()
    assert type(layer) is keras.layers.Dense
    np.testing.assert_allclose(as_numpy(layer(rows)), as_numpy(rbm(rows)), atol=1e-6)


def test_the_layers_file_loads_without_harmonium(small, tmp_path):
    keras.Sequential([keras.Input((6,)), small().to_layer()]).save(tmp_path / "dense.keras")
    code = (
        "import sys; sys.modules['harmonium'] = None;"
        "import keras; keras.models.load_model(sys.argv[1])"
    )
    environment = os.environ | {"KERAS_BACKEND": "jax"}  # the quickest to import
    command = [sys.executable, "-c", code, tmp_path / "dense.keras"]
    subprocess.run(command, check=True, env=environment)


SERVE = """
import sys
sys.modules['keras'] = sys.modules['harmonium'] = None  # as if they were not installed
import numpy as np
import tensorflow as tf
served = tf.saved_model.load(sys.argv[1])
rows = np.load(sys.argv[1] + '/rows.npy')
outputs = {name: getattr(served, name)(rows).numpy() for name in ('serve', 'free_energy', 'reconstruct')}
outputs['signature'] = served.signatures['serving_default'](tf.constant(rows))['output_0'].numpy()
np.savez(sys.argv[1] + '/outputs.npz', **outputs)
"""  # noqa: E501


@pytest.mark.skipif(BACKEND == "torch", reason="Keras writes no SavedModel with endpoints there")
@pytest.mark.filterwarnings("ignore")  # jax2tf and TensorFlow warn while writing
@pytest.mark.parametrize("method", ["pcd"] if BACKEND == "jax" else ["pcd", "cd"])
def test_a_plain_savedmodel_serves(rows, small, method, tmp_path, as_numpy):
    rbm = small(method=method)
    rbm.fit(rows, verbose=0)
    rbm.export(tmp_path / "served", verbose=False)
    np.save(tmp_path / "served" / "rows.npy", rows)
    subprocess.run([sys.executable, "-c", SERVE, tmp_path / "served"], check=True, env=os.environ)
    with np.load(tmp_path / "served" / "outputs.npz") as archive:
        outputs = dict(archive)
    for name, expected in [
        ("serve", rbm(rows)),
        ("signature", rbm(rows)),
        ("free_energy", rbm.free_energy(rows)),
        ("reconstruct", rbm.reconstruct(rows)),
    ]:
        np.testing.assert_allclose(outputs[name], as_numpy(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(BACKEND != "torch", reason="about the PyTorch backend")
def test_pytorch_says_where_to_export(small, tmp_path):
    with pytest.raises(hm.MissingDependencyError, match=r"KERAS_BACKEND=tensorflow.*torch"):
        small().export(tmp_path / "served")


@pytest.mark.skipif(BACKEND != "torch", reason="about the PyTorch backend")
@pytest.mark.filterwarnings("ignore")  # PyTorch warns while writing
def test_pytorch_exports_its_own_format(small, rows, tmp_path, as_numpy):
    import torch

    rbm = small()
    rbm.export(tmp_path / "served.pt2", format="torch", verbose=False)
    served = torch.export.load(tmp_path / "served.pt2").module()
    signature = torch.as_tensor(rows[:1])
    np.testing.assert_allclose(as_numpy(served(signature)), as_numpy(rbm(rows[:1])), atol=1e-6)


def test_the_layers_of_a_deep_belief_network_have_its_features():
    rows = hm.bars_and_stripes(3).astype(np.float32)
    layers = [hm.Bernoulli(size) for size in (9, 6, 4)]
    dbn = hm.stack(layers, rows, key=jax.random.key(0), epochs=5)
    hidden = [hk.RBM.from_harmonium(rbm).to_layer() for rbm in dbn.rbms]
    network = keras.Sequential([keras.Input((9,)), *hidden])
    np.testing.assert_allclose(network.predict(rows, verbose=0), dbn.features(rows), atol=1e-6)
