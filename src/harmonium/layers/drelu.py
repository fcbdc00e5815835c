"""Real units with a separate precision and bias on either side of zero."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.numerics import (
    bernoulli_draws,
    log_half_line,
    mean_half_line,
    positive_normals,
    variance_half_line,
)
from .arrays import Columns, Rows, RowWeights, Units, parameter
from .capabilities import AbstractAffine
from .coding import AbstractCoding, Numbers
from .real import mean_and_precision, positive, precisions
from .registry import register_layer


@register_layer("drelu")
class DReLU(AbstractAffine):
    r"""Double rectified units, which have a precision γ and a bias b on each side of zero.

    The energy of a unit is ½γ⁺x² − b⁺x if x > 0, and ½γ⁻x² − b⁻x if x < 0. Given the input I, its
    cumulant generating function is

        Γ(I) = log [R(t⁺)/√γ⁺ + R(t⁻)/√γ⁻],      R(t) = ∫ exp(ty − ½y²) dy over y > 0,

    with t⁺ = (I + b⁺)/√γ⁺ and t⁻ = −(I + b⁻)/√γ⁻.

    If both sides have equal parameters, a unit is Gaussian. If b⁺ < 0 < b⁻, the density has a peak
    at zero, so small inputs leave the unit silent; if b⁺ > 0 > b⁻, there are two peaks, as for a
    spin. The dReLU is the usual hidden unit in RBMs for biological sequences.

    Attributes:
        size: number of units.
        bias_above: b⁺, shape (size,), in nats per unit of x.
        bias_below: b⁻, shape (size,).
        precision_above: γ⁺ > 0, shape (size,); 1 by default.
        precision_below: γ⁻ > 0, shape (size,); 1 by default.

    Example:
        >>> layer = hm.DReLU(3, bias_above=[0.0, -2.0, 3.0], bias_below=[0.0, 2.0, -3.0])
        >>> variances = layer.variance(layer.zero_inputs)
        >>> [round(float(x), 2) for x in variances]  # a Gaussian, a silent and a spin-like unit
        [1.0, 0.25, 10.01]

    Source: Tubiana, Cocco & Monasson 2019 (whose θ^± are ∓b^±).
    """

    size: int = eqx.field(static=True)
    bias_above: Float[Array, "*models size"]
    bias_below: Float[Array, "*models size"]
    precision_above: Float[Array, "*models size"]
    precision_below: Float[Array, "*models size"]

    def __init__(
        self,
        size: int,
        bias_above: Any = None,
        bias_below: Any = None,
        precision_above: Any = None,
        precision_below: Any = None,
    ):
        self.size = positive_integer(size, "DReLU size")
        self.bias_above = parameter(bias_above, (size,), "DReLU bias_above")
        self.bias_below = parameter(bias_below, (size,), "DReLU bias_below")
        self.precision_above = precisions(precision_above, (size,), "DReLU precision_above")
        self.precision_below = precisions(precision_below, (size,), "DReLU precision_below")

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take any finite number."""
        return Numbers(self.size, "a DReLU unit takes finite numbers")

    def _sides(self, inputs: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return t and the width 1/√γ of each side, and the log odds that x is positive."""
        above = jax.lax.rsqrt(self.precision_above)
        below = jax.lax.rsqrt(self.precision_below)
        t_above = (inputs + self.bias_above) * above
        t_below = -(inputs + self.bias_below) * below
        log_odds = log_half_line(t_above) - log_half_line(t_below) + jnp.log(above / below)
        return t_above, above, t_below, below, log_odds

    def unit_energies(self, x: Columns) -> Units:
        """Return ½ γ_i x_i² − b_i x_i, with the parameters of the side on which x_i lies."""
        is_above = x > 0
        precision = jnp.where(is_above, self.precision_above, self.precision_below)
        bias = jnp.where(is_above, self.bias_above, self.bias_below)
        return 0.5 * precision * x**2 - bias * x

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log [R(t⁺)/√γ⁺ + R(t⁻)/√γ⁻] for each unit, in nats."""
        t_above, above, t_below, below, _ = self._sides(inputs)
        logs = log_half_line(t_above) + jnp.log(above), log_half_line(t_below) + jnp.log(below)
        return jnp.logaddexp(*logs)

    def mean(self, inputs: Columns) -> Columns:
        """Return p⁺m⁺ − p⁻m⁻, where p is a side's probability and m its mean distance from zero."""
        t_above, above, t_below, below, log_odds = self._sides(inputs)
        up = jax.nn.sigmoid(log_odds) * mean_half_line(t_above) * above
        return up - jax.nn.sigmoid(-log_odds) * mean_half_line(t_below) * below

    def variance(self, inputs: Columns) -> Columns:
        """Return p⁺s⁺ + p⁻s⁻ + p⁺p⁻(m⁺ + m⁻)².

        Here s is the variance within a side; p and m are as in `mean`.
        """
        t_above, above, t_below, below, log_odds = self._sides(inputs)
        p = jax.nn.sigmoid(log_odds)
        q = jax.nn.sigmoid(-log_odds)
        within = p * variance_half_line(t_above) * above**2
        within += q * variance_half_line(t_below) * below**2
        apart = mean_half_line(t_above) * above + mean_half_line(t_below) * below
        return within + p * q * apart**2

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw the side of zero, then the distance from zero, a truncated normal variable."""
        key_side, key_size = jax.random.split(key)
        t_above, above, t_below, below, log_odds = self._sides(inputs)
        is_above = bernoulli_draws(log_odds, key=key_side) > 0.5
        size = positive_normals(jnp.where(is_above, t_above, t_below), key=key_size)
        return size * jnp.where(is_above, above, -below)

    def shift(self, delta: Columns) -> "DReLU":
        """Return the layer with `delta` added to the biases of both sides."""
        moved = (self.bias_above + delta, self.bias_below + delta)
        return eqx.tree_at(lambda layer: (layer.bias_above, layer.bias_below), self, moved)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "DReLU":
        """Fit both sides, with equal parameters, to rows and a pseudo-row of average variance."""
        mean, precision = mean_and_precision(x, weights)
        bias = mean * precision
        return DReLU(self.size, bias, bias, precision, precision)

    def base(self) -> "DReLU":
        """Return the layer with biases 0; unchanged precisions keep the density normalisable."""
        return eqx.tree_at(
            lambda layer: (layer.bias_above, layer.bias_below), self, replace_fn=jnp.zeros_like
        )

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """The smaller of the two precisions."""
        return jnp.minimum(self.precision_above, self.precision_below)

    def project(self) -> "DReLU":
        """Return the layer with each precision raised to at least the smallest allowed value."""
        return eqx.tree_at(
            lambda layer: (layer.precision_above, layer.precision_below), self, replace_fn=positive
        )

    @property
    def is_shiftable(self) -> np.ndarray:
        return np.zeros(self.size, bool)

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "DReLU":
        """Return the layer whose states are s · x (s > 0), with biases b/s and precisions γ/s²."""
        s = jnp.asarray(scale, self.dtype)
        biases = self.bias_above / s, self.bias_below / s
        return DReLU(self.size, *biases, self.precision_above / s**2, self.precision_below / s**2)
