"""Real units with a Gaussian density."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.numerics import LOG_2PI, normals, product
from .arrays import Columns, Rows, RowWeights, Units
from .capabilities import AbstractMatched
from .coding import AbstractCoding, Numbers
from .real import AbstractQuadratic, mean_and_precision
from .registry import register_layer


@register_layer("gaussian")
class Gaussian(AbstractQuadratic, AbstractMatched):
    """Real units with a Gaussian density.

    With U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = Σ ½γx² − bx,    Γ(I) = Σ (I + b)²/(2γ) + ½ log(2π/γ),    ⟨x⟩ = (I + b)/γ.

    Both parameters are natural parameters; without inputs, the mean is b/γ and the variance 1/γ. A
    model of two Gaussian layers has a finite Z only if its joint precision matrix is positive
    definite.

    Attributes:
        size: number of units.
        bias: b, shape (size,), in nats per unit of x.
        precision: γ > 0, shape (size,), the inverse variance; 1 by default.

    Example:
        >>> layer = hm.Gaussian(2, bias=[1.0, 2.0], precision=[1.0, 4.0])
        >>> layer.mean(layer.zero_inputs).tolist(), layer.variance(layer.zero_inputs).tolist()
        ([1.0, 0.5], [1.0, 0.25])
    """

    def __init__(self, size: int, bias: Any = None, precision: Any = None):
        super().__init__(size, bias, precision)

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take any finite number."""
        return Numbers(self.size, "a Gaussian unit takes finite numbers")

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return (I_i + b_i)²/(2γ_i) + ½ log(2π/γ_i)."""
        field = inputs + self.bias
        return 0.5 * (field**2 / self.precision + LOG_2PI - jnp.log(self.precision))

    def mean(self, inputs: Columns) -> Columns:
        """Return the mean (I + b)/γ."""
        return (inputs + self.bias) / self.precision

    def variance(self, inputs: Columns) -> Columns:
        """Return the variance 1/γ, which does not depend on the inputs."""
        return jnp.broadcast_to(1.0 / self.precision, inputs.shape)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw from the normal distribution with mean (I + b)/γ and variance 1/γ."""
        mean = self.mean(inputs)
        noise = normals(mean.shape, mean.dtype, key=key)
        return mean + noise * jax.lax.rsqrt(self.precision)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Gaussian":
        """Set the mean from rows, and the variance from rows and a pseudo-row of mean variance."""
        mean, precision = mean_and_precision(x, weights)
        return Gaussian(self.size, mean * precision, precision)

    def inputs_at(self, mean: Columns) -> Columns:
        """Return γm − b, the inputs at which the means are m."""
        return self.precision * mean - self.bias

    def fit_with_prior(self, x: Rows, weights: Float[Array, " rows"], prior: Array) -> "Gaussian":
        """Set the mean and variance from rows plus `prior` pseudo-rows with the layer's moments."""
        total = weights.sum() + prior
        mean = (product(weights, x) + prior * self.bias / self.precision) / total
        variance = (product(weights, (x - mean) ** 2) + prior / self.precision) / total
        return Gaussian(self.size, mean / variance, 1.0 / variance)

    @property
    def gaussian_parameters(self) -> tuple[Array, Array]:
        return self.bias, self.precision
