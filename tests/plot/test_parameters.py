"""Histograms of parameters: one for every parameter, named by its place in the model."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.plot import weight_histogram

RNG = np.random.default_rng(0)


def panels(rbm) -> dict:
    figure = weight_histogram(rbm)
    figure.draw_without_rendering()
    seen = [axes for axes in figure.axes if axes.get_visible()]
    return {axes.get_title(loc="left").split("\n")[0]: axes for axes in seen}


def test_weights_and_biases():
    weights = RNG.normal(size=(30, 20))
    shown = panels(hm.RBM.from_arrays(weights, np.ones(30), -np.arange(20.0)))
    assert list(shown) == ["weights", "visible.bias", "hidden.bias"]
    notes = [axes.get_title(loc="left").split("\n")[1] for axes in shown.values()]
    assert notes[0] == (
        f"600 values, mean {weights.mean():.3g}, std {weights.std():.3g}".replace("-", "−")
    )
    assert notes[1:] == ["30 values, mean 1, std 0", "20 values, mean −9.5, std 5.77"]
    counts = [sum(bar.get_height() for bar in axes.patches) for axes in shown.values()]
    assert counts == [600, 30, 20]


def test_parts_are_named_by_their_place():
    visible = hm.Mixed(hm.Bernoulli(3), hm.Potts(2, states=3), hm.Gaussian(2))
    shown = panels(hm.RBM(visible, hm.Ising(4), np.zeros((11, 4), np.float32)))
    parts = ["parts.0.bias", "parts.1.bias", "parts.2.bias", "parts.2.precision"]
    assert list(shown) == ["weights", *(f"visible.{part}" for part in parts), "hidden.bias"]


def test_parameters_that_are_not_finite_are_named():
    rbm = hm.RBM(hm.Bernoulli(2), hm.Bernoulli(2), np.zeros((2, 2)))
    rbm = eqx.tree_at(lambda m: m.visible.bias, rbm, jnp.array([0.0, jnp.inf]))
    with pytest.raises(
        hm.InputError, match=r"rbm\.visible\.bias: expected finite numbers; got .* in 1"
    ):
        weight_histogram(rbm)
