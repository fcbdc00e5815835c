"""Mistakes of users, each answered with one clear line."""

import os
import subprocess
import sys

import keras
import numpy as np
import pytest

import harmonium as hm
import harmonium.keras as hk


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"units": 0}, "units: expected a whole number of at least 1; got 0"),
        ({"k": 1.5}, "k: expected a whole number of at least 1; got 1.5"),
        ({"chains": True}, "chains: expected a whole number"),
        ({"method": "tap"}, "method: expected 'cd' or 'pcd'; got 'tap'"),
        ({"visible": "relu"}, "visible: expected 'bernoulli', 'ising', 'gaussian'.*got 'relu'"),
        ({"hidden": 3}, "hidden: expected 'bernoulli'.*got 3"),
    ],
    ids=lambda x: "" if isinstance(x, str) else str(x),
)
def test_the_constructor(arguments, message):
    with pytest.raises(hm.InputError, match=message):
        hk.RBM(**{"units": 4, **arguments})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "mse"}, "loss: expected None"),
        ({"metrics": ["accuracy"]}, "metrics: expected any of free_energy_gap.*got 'accuracy'"),
    ],
    ids=["loss", "metrics"],
)
def test_compile(options, message):
    with pytest.raises(hm.InputError, match=message):
        hk.RBM(4).compile(**options)


def test_gaussian_rows_have_no_pseudo_likelihood():
    rbm = hk.RBM(4, visible="gaussian")
    with pytest.raises(hm.InputError, match="discrete visible units for pseudo_likelihood"):
        rbm.compile(metrics="pseudo_likelihood")


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (
            np.full((4, 6), 255.0),
            r"x: expected values in \[0, 1\]; got 255, first in row 0; divide by 255",
        ),
        (np.full((4, 6), 16.0), "got 16, first in row 0; divide by 16, the largest possible"),
        (np.full((4, 6), np.nan), "x: expected finite numbers"),
        (np.zeros((4, 5)), r"x: expected a last axis of length 6; got shape \(4, 5\)"),
        (np.zeros((4, 2, 3)), "x: expected numbers of shape .rows, columns.*flatten each row"),
        (np.zeros(6), r"x: expected numbers of shape .rows, columns.*shape \(6,\)"),
        (np.array([["a"] * 6]), "x: expected numbers"),
    ],
    ids=["range", "levels", "nan", "width", "rank", "one row", "text"],
)
def test_fit_on_wrong_rows(small, x, message):
    with pytest.raises(hm.InputError, match=message):
        small().fit(x, verbose=0)


def test_other_shapes_and_domains(small, rows):
    rbm = small()
    for method in (rbm.free_energy, rbm.reconstruct, rbm.gibbs):
        with pytest.raises(
            hm.InputError, match=r"v: expected a last axis of length 6; got shape \(40, 5\)"
        ):
            method(rows[:, :5])
    with pytest.raises(hm.InputError, match="h: expected a last axis of length 4"):
        rbm.energy(rows, rows)
    with pytest.raises(hm.InputError, match=r"data: expected the values -1 and [+]1; got 0"):
        hk.RBM(4, visible="ising").adapt(rows)
    with pytest.raises(hm.InputError, match="data: expected one-hot columns, 3 for each site"):
        hk.RBM(4, visible=hk.Potts(3)).adapt(np.ones((2, 6)))
    with pytest.raises(hm.InputError, match="data: expected at least one row"):
        rbm.adapt(iter([]))
    with pytest.raises(hm.InputError, match="an iterable of batches; got int"):
        rbm.adapt(3)
    with pytest.raises(hm.InputError, match="Potts: expected a multiple of 4 columns"):
        hk.RBM(4, visible=hk.Potts(4)).build((None, 6))


def test_a_model_without_weights_says_so(rows):
    for use in (lambda rbm: rbm.free_energy(rows), lambda rbm: rbm.sample(3)):
        with pytest.raises(hm.InputError, match="the model has no weights yet"):
            use(hk.RBM(4))


def test_models_without_a_counterpart_are_refused(core):
    mixed = hm.Mixed(hm.Bernoulli(2), hm.Ising(2))
    rbm = hm.RBM(mixed, hm.Bernoulli(3), np.zeros((4, 3)))
    with pytest.raises(
        hm.InputError, match=r"visible: expected one of Bernoulli, Ising.*got Mixed"
    ):
        hk.RBM.from_harmonium(rbm)
    with pytest.raises(hm.InputError, match=r"model: expected a harmonium.RBM; got int"):
        hk.RBM.from_harmonium(3)
    gaussian = hk.RBM(3, hidden="gaussian")
    gaussian.build((None, 4))
    with pytest.raises(hm.InputError, match="to_layer: expected Bernoulli or Ising hidden units"):
        gaussian.to_layer()


@pytest.mark.parametrize(
    ("hide", "message"),
    [("keras", "pip install keras"), ("backend", "KERAS_BACKEND")],
)
def test_what_is_missing_is_named(hide, message):
    code = f"""
import sys
hidden = {{"keras": ["keras"], "backend": ["tensorflow", "jax", "torch"]}}[{hide!r}]
for name in hidden:
    sys.modules[name] = None
import re
from harmonium.errors import MissingDependencyError
try:
    import harmonium.keras
except MissingDependencyError as error:
    assert re.search({message!r}, str(error)), error
else:
    raise SystemExit("no error")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="the same process, whatever the backend"
)
def test_importing_the_keras_interface_does_not_import_the_core():
    code = "import sys, harmonium.keras; assert 'equinox' not in sys.modules"
    environment = os.environ | {"KERAS_BACKEND": "jax"}  # the quickest to import
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="needs the TF backend")
def test_a_data_set_without_an_end_is_refused():
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices(np.zeros((8, 6), "float32")).batch(4)
    with pytest.raises(hm.InputError, match=r"got an infinite one; .* data.take\(100\)"):
        hk.RBM(4).adapt(data.repeat())
