"""Models for the tests of files, and the form of the message that refuses a file."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from refusals import GRAMMAR
from registry import random_rbm

BERNOULLI = random_rbm(hm.Bernoulli(5), hm.Bernoulli(3), 0)
POTTS = random_rbm(hm.Potts(4, states=3), hm.Bernoulli(3), 1)
ISING = random_rbm(hm.Ising(3), hm.Ising(2), 2)
BIASED_TO_SPINS = random_rbm(hm.Bernoulli(3), hm.Ising(2), 3)
SIDE_BY_SIDE = random_rbm(hm.Mixed(hm.Ising(2), hm.Bernoulli(1)), hm.Mixed(hm.Bernoulli(2)), 4)
TWO_VALUED = [random_rbm(hm.Bernoulli(3), hm.Bernoulli(2), 5), ISING, BIASED_TO_SPINS, SIDE_BY_SIDE]
PLAIN = [BERNOULLI, POTTS]  # models that W, a and b can hold
OTHERS = [  # models that they cannot hold
    ISING,
    random_rbm(hm.Gaussian(3), hm.Bernoulli(2), 6),
    random_rbm(hm.Bernoulli(3), hm.Gaussian(2), 7),
    random_rbm(hm.Bernoulli(3), hm.Potts(2, states=3), 8),
    random_rbm(hm.Mixed(hm.Bernoulli(3)), hm.Bernoulli(2), 9),
]


def assert_same(rbm: hm.RBM, other: hm.RBM) -> None:
    """Fail unless two models have the same layers, parameters and free energies."""
    assert jax.tree.structure(rbm) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(rbm), jax.tree.leaves(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    v = rbm.visible.states(jnp.arange(20))
    np.testing.assert_allclose(rbm.free_energy(v), other.free_energy(v), atol=1e-5, rtol=0)


def energy(rbm: hm.RBM, v: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return E(v, h) of NumPy arrays."""
    return np.asarray(rbm.energy(jnp.asarray(v, float), jnp.asarray(h, float)))


def free_energy(rbm: hm.RBM, v: np.ndarray) -> np.ndarray:
    """Return F(v) of a NumPy array."""
    return np.asarray(rbm.free_energy(jnp.asarray(v, float)))


def all_states(rbm: hm.RBM) -> tuple[np.ndarray, np.ndarray]:
    """Return every joint state of a small model."""
    n_visible = rbm.visible.n_states
    n_hidden = rbm.hidden.n_states
    v, h = np.divmod(np.arange(n_visible * n_hidden), n_hidden)
    return np.asarray(rbm.visible.states(jnp.asarray(v))), np.asarray(
        rbm.hidden.states(jnp.asarray(h))
    )


def refusal(path) -> str:
    """Return the error message that refuses a file, which must be one line."""
    with pytest.raises(hm.ModelFileError) as caught:
        hm.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: expected ")
    assert GRAMMAR.search(message)
    assert message.endswith(".")
    assert message.isprintable()
    assert len(message) < 600
    return message


class Trap:
    """The content of a hostile pickle, which writes a file when it is unpickled."""

    def __init__(self, written: Path):
        self.written = written

    def __reduce__(self):
        return Path.write_text, (self.written, "executed")
