"""Helpers shared by layers of real units: checked precisions, and a quadratic energy."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..errors import InputError
from .arrays import Columns, Units, parameter, weighted_mean
from .base import AbstractUnits
from .capabilities import AbstractAffine

# The smallest precision that projection allows. An optimiser's step may make a precision negative,
# and a negative precision defines no density.
SMALLEST_PRECISION = 1e-6


class AbstractQuadratic(AbstractUnits, AbstractAffine):
    """Real units, each with a bias b, a precision γ and the energy ½γx² − bx.

    Attributes:
        size: number of units.
        bias: b, shape (size,), in nats per unit of x.
        precision: γ > 0, shape (size,); 1 by default.
    """

    precision: Float[Array, "*models size"]

    def __init__(self, size: int, bias: Any = None, precision: Any = None):
        super().__init__(size, bias)
        self.precision = precisions(precision, (size,), f"{type(self).__name__} precision")

    def unit_energies(self, x: Columns) -> Units:
        """Return ½ γ_i x_i² − b_i x_i."""
        return 0.5 * self.precision * x**2 - self.bias * x

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """The curvature of each column, which is its precision γ."""
        return self.precision

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "AbstractQuadratic":
        """Return the layer whose states are s · x + m, for the scale s and the offset m.

        Its parameters are γ/s² and b/s + γm/s². The energy of s · x + m thus equals that of x up to
        a constant.
        """
        s = jnp.asarray(scale, self.dtype)
        m = jnp.asarray(offset, self.dtype)
        precision = self.precision / s**2
        changed = (self.bias / s + precision * m, precision)
        return eqx.tree_at(lambda layer: (layer.bias, layer.precision), self, changed)

    def project(self) -> "AbstractQuadratic":
        """Return the layer with each precision raised to at least the smallest allowed value."""
        return eqx.tree_at(lambda layer: layer.precision, self, positive(self.precision))


def positive(precision: Array) -> Array:
    """Return precisions, each raised to at least the smallest allowed value."""
    return jnp.maximum(precision, SMALLEST_PRECISION)


def precisions(value: Any, shape: Sequence[int], what: str) -> Array:
    """Return an array of precisions, checked to be positive; None gives precisions of 1."""
    array = parameter(value, shape, what, default=1.0)
    if not isinstance(array, Tracer) and (np.asarray(array) <= 0).any():
        raise InputError(f"{what}: expected positive values; got {float(array.min())}.")
    return array


def mean_and_precision(x: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the mean of rows, and the precision of rows and a pseudo-row of mean variance.

    The pseudo-row keeps the precision of a constant column finite.
    """
    mean, n = weighted_mean(x, weights)
    variance, _ = weighted_mean((x - mean) ** 2, weights)
    typical = jnp.where(variance.mean() > 0, variance.mean(), 1.0)
    return mean, (n + 1.0) / (n * variance + typical)
