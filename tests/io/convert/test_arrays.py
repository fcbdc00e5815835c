"""Conversion of models to plain arrays and back."""

import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.io.convert import from_arrays, to_arrays
from models import BERNOULLI, OTHERS, PLAIN, POTTS, assert_same, energy


@pytest.mark.parametrize("rbm", PLAIN, ids=str)
def test_a_round_trip(rbm):
    assert_same(from_arrays(*to_arrays(rbm)), rbm)


def test_the_arrays_are_those_of_the_energy():
    weights, a, b = to_arrays(BERNOULLI)
    v = np.array([1.0, 0, 1, 1, 0])
    h = np.array([0.0, 1, 1])
    assert -a @ v - b @ h - v @ weights @ h == pytest.approx(energy(BERNOULLI, v, h), abs=1e-5)


def test_potts_sites_have_an_axis_of_their_own():
    weights, a, b = to_arrays(POTTS)
    assert (weights.shape, a.shape, b.shape) == ((4, 3, 3), (4, 3), (3,))
    codes = np.array([2, 0, 1, 1])
    h = np.array([1.0, 0, 1])
    known = -sum(a[i, c] + weights[i, c] @ h for i, c in enumerate(codes)) - b @ h
    assert known == pytest.approx(energy(POTTS, POTTS.visible.encode(codes), h), abs=1e-5)


def test_weights_of_another_kind_are_written_out():
    scaled = hm.RBM(
        BERNOULLI.visible, BERNOULLI.hidden, hm.weights.Scaled(BERNOULLI.weights, jnp.asarray(0.5))
    )
    np.testing.assert_allclose(to_arrays(scaled).weights, 0.5 * BERNOULLI.weights, rtol=1e-6)


@pytest.mark.parametrize("rbm", OTHERS, ids=str)
def test_layers_that_three_arrays_cannot_describe_are_refused(rbm):
    with pytest.raises(hm.InputError, match=r"to_arrays: expected Bernoulli or Potts .*; got RBM"):
        to_arrays(rbm)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ((np.ones((2, 3)), np.ones(3), np.ones(2)), "transpose weights"),
        ((np.ones((2, 3)), np.ones(2), np.ones(2)), r"got weights \(2, 3\), visible_bias \(2\)"),
        ((np.ones((2, 3, 4)), np.ones(6), np.ones(4)), r"\(sites, states, hidden\) for Potts"),
        ((np.ones((2, 1, 4)), np.ones((2, 1)), np.ones(4)), "at least 2; got 1"),
        ((np.ones((0, 3)), np.ones(0), np.ones(3)), "at least 1; got 0"),
        ((np.full((2, 3), np.nan), np.ones(2), np.ones(3)), "finite numbers in 'weights'"),
        ((np.ones((2, 3)), np.array(["x", "y"]), np.ones(3)), "real numbers in 'visible_bias'"),
        ((np.ones((2, 3)), np.ones(2) + 1j, np.ones(3)), "got complex128"),
        ((np.array([[None]]), np.ones(1), np.ones(1)), "got object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arrays_that_make_no_model_are_refused(arrays, words):
    with pytest.raises(hm.InputError, match=words) as caught:
        from_arrays(*arrays)
    assert str(caught.value).startswith("from_arrays: expected ")


def test_other_objects_than_models_are_refused():
    with pytest.raises(hm.InputError, match=r"to_arrays: expected an RBM.*got 3"):
        to_arrays(3)  # pyright: ignore
