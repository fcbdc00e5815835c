"""Units with a few numbers as values, computed by the base class alone."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.layers import AbstractDiscrete
from harmonium.layers.arrays import weighted_mean
from harmonium.layers.capabilities import is_rescalable


class Ternary(AbstractDiscrete):
    """The units of the Blume–Capel model."""

    size: int = eqx.field(static=True)
    bias: jax.Array
    cost: jax.Array
    values: ClassVar[tuple[float, ...]] = (-1.0, 0.0, 1.0)

    def __init__(self, size, bias=None, cost=None):
        self.size = size
        self.bias = jnp.zeros(size) if bias is None else jnp.asarray(bias)
        self.cost = jnp.zeros(size) if cost is None else jnp.asarray(cost)

    def unit_energies(self, x):
        return self.cost * x**2 - self.bias * x

    def shift(self, delta):
        return eqx.tree_at(lambda layer: layer.bias, self, self.bias + delta)

    def fit_moments(self, x, weights=None):
        (up, n), (down, _) = (weighted_mean((s * x > 0.5) * 1.0, weights) for s in (1, -1))
        up, down, zero = ((n * p + 1 / 3) / (n + 1) for p in (up, down, 1.0 - up - down))
        return Ternary(
            self.size, 0.5 * jnp.log(up / down), jnp.log(zero) - 0.5 * jnp.log(up * down)
        )


EXAMPLES = [Ternary(2)]


def test_rows_are_the_values():
    layer = Ternary(2)
    with pytest.raises(hm.InputError, match="Ternary unit takes the values -1, 0 and 1; got 2"):
        layer.validate([[0, 2]])
    assert layer.decode(jnp.array([1.0, -1.0])).dtype == np.int8
    assert layer.is_exact_in_bfloat16
    assert not is_rescalable(layer).any()
    np.testing.assert_array_equal(layer.coding.support, [[-1, -1], [1, 1]])
