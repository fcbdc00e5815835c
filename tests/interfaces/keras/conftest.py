"""Fixtures of the Keras interface's tests. KERAS_BACKEND chooses the backend of the process."""

import collections
import itertools

import keras
import numpy as np
import pytest

import harmonium.keras as hk
from keras_pairs import PAIRS
from registry import ALL, random_rbm

BACKEND = keras.backend.backend()


def pytest_collection_modifyitems(config, items):
    """Deal cases out to backends, and ignore warnings that Keras and its backends raise themselves.

    TensorFlow runs every case; JAX and PyTorch take turns at the cases of a parametrised test.
    HARMONIUM_LAWS=all, which `make laws` sets, runs every case on each backend.
    """
    if BACKEND != "tensorflow" and not ALL:
        counts = collections.Counter()
        spare = []
        for item in items:
            if hasattr(item, "callspec"):
                place = counts[item.originalname, item.path]
                counts[item.originalname, item.path] += 1
                if place % 2 == (BACKEND == "jax"):
                    spare.append(item)
        config.hook.pytest_deselected(items=spare)
        items[:] = [item for item in items if item not in spare]
    for item in items:
        # NumPy 2 asks for a keyword that tensors' __array__ does not take yet.
        item.add_marker(pytest.mark.filterwarnings("ignore:__array__ implementation"))


@pytest.fixture(params=PAIRS)
def core(request):
    """Return a harmonium.RBM with random parameters, for each pair of kinds of units."""
    return random_rbm(*PAIRS[request.param], seed=3)


@pytest.fixture
def rows():
    """Return 40 binary rows of 6 columns."""
    return (np.random.default_rng(0).random((40, 6)) < 0.4).astype(np.float32)


@pytest.fixture
def make_rows():
    """Return a function that draws rows from the states of a harmonium.RBM."""

    def draw(core, n, seed=0):
        import jax

        from registry import exact_states

        return np.array(exact_states(core, n, jax.random.key(seed)))

    return draw


@pytest.fixture
def small():
    """Return a function that makes a small Keras model, compiled for plain gradient ascent.

    Its updates run eagerly, which saves most tests compiling time, unless `eagerly` is False.
    """
    names = itertools.count()

    def make(units=4, learning_rate=0.1, width=6, eagerly=True, **options):
        options = {"seed": 1, "chains": 20, "name": f"small_{next(names)}"} | options
        rbm = hk.RBM(units, **options)
        if width:
            rbm.build((None, width))
        rbm.compile(keras.optimizers.SGD(learning_rate), run_eagerly=eagerly)
        return rbm

    return make


def numpy(x):
    """Return a tensor or a variable as a NumPy array."""
    return keras.ops.convert_to_numpy(keras.ops.convert_to_tensor(x))


@pytest.fixture
def as_numpy():
    """Return the function that turns tensors into NumPy arrays."""
    return numpy
