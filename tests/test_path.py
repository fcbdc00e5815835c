"""Paths of models: parameters change along a path, data do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.layers.clamped import Masked
from harmonium.path import Heating, History, Line
from registry import random_rbm

FIRST = random_rbm(hm.Ising(3), hm.Bernoulli(2), 0)
LAST = random_rbm(hm.Ising(3), hm.Bernoulli(2), 1)
GIVEN = np.array([[1.0, np.nan, -1.0]])


def masked(rbm):
    return hm.RBM(Masked(rbm.visible, jnp.array([True, False, True])), rbm.hidden, rbm.weights)


def held(rbm):
    return hm.condition(rbm, GIVEN)


@pytest.mark.parametrize("partial", [held, masked])
@pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
def test_values_that_a_layer_holds_are_not_scaled(partial, t):
    first = partial(FIRST)
    last = partial(LAST)
    paths = Line(first, last), Heating.from_neutral(last), History.through([first, last])
    alone = Line(FIRST, LAST), Heating.from_neutral(LAST), History.through([FIRST, LAST])
    for path, plain in zip(paths, alone, strict=True):
        here = path.at(t).visible
        bias = plain.at(t).visible.bias
        expected = partial(LAST).visible
        for name in {"known", "values", "present"} & set(vars(here)):
            np.testing.assert_array_equal(getattr(here, name), getattr(expected, name))
        np.testing.assert_allclose(here.layer.bias, bias, rtol=1e-6)
        drawn = np.asarray(here.sample_without_inputs((5,), key=jax.random.key(0)))
        outer = {held: [1.0, -1.0], masked: [0.0]}[partial]
        np.testing.assert_array_equal(drawn[:, [0, 2] if partial is held else [1]], [outer] * 5)
