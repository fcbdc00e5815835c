"""Units that take non-negative real numbers."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.numerics import log_half_line, mean_half_line, positive_normals, variance_half_line
from .arrays import Columns, Rows, RowWeights, Units, bisected, weighted_mean
from .coding import AbstractCoding, Numbers
from .real import AbstractQuadratic
from .registry import register_layer

# The range of t = b/√γ that moments can determine; outside this range, the density is nearly
# exponential or nearly normal.
LOWEST = -30.0
HIGHEST = 30.0


@register_layer("relu")
class ReLU(AbstractQuadratic):
    """Real units x ≥ 0 with a normal density truncated at zero.

    With U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = Σ ½γx² − bx,      Γ(I) = Σ [log R(t) − ½ log γ],

    where t = (I + b)/√γ and R(t) = ∫ exp(ty − ½y²) dy over y > 0.

    Attributes:
        size: number of units.
        bias: b, shape (size,), in nats per unit of x.
        precision: γ > 0, shape (size,), the inverse variance before truncation; 1 by default.

    Example:
        >>> layer = hm.ReLU(1)
        >>> round(float(layer.mean(layer.zero_inputs)[0]), 3)  # √(2/π): half of a normal density
        0.798

    Source: Nair & Hinton 2010 (rectified units); Tubiana & Monasson 2017 (this density).
    """

    def __init__(self, size: int, bias: Any = None, precision: Any = None):
        super().__init__(size, bias, precision)

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take non-negative numbers."""
        return Numbers(self.size, "a ReLU unit takes numbers of 0 or more", low=0.0)

    def _standard(self, inputs: Array) -> tuple[Array, Array]:
        """Return t = (I + b)/√γ and the width 1/√γ."""
        width = jax.lax.rsqrt(self.precision)
        return (inputs + self.bias) * width, width

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log R(t_i) − ½ log γ_i, where R(t) = ∫ exp(ty − ½y²) dy over y > 0."""
        return log_half_line(self._standard(inputs)[0]) - 0.5 * jnp.log(self.precision)

    def mean(self, inputs: Columns) -> Columns:
        """Return the mean of the truncated normal density."""
        t, width = self._standard(inputs)
        return mean_half_line(t) * width

    def variance(self, inputs: Columns) -> Columns:
        """Return the variance of the truncated normal density."""
        t, width = self._standard(inputs)
        return variance_half_line(t) * width**2

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw from the truncated normal density."""
        t, width = self._standard(inputs)
        return positive_normals(t, key=key) * width

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "ReLU":
        """Fit mean and second moment to n rows and one pseudo-row, as closely as possible.

        The ratio mean²/⟨x²⟩ determines t = b/√γ. In this layer, the ratio always exceeds ½, its
        value for an exponential density, so a smaller ratio cannot be fitted exactly.
        """
        mean, n = weighted_mean(x, weights)
        square, _ = weighted_mean(x**2, weights)
        mean = (n * mean + jnp.sqrt(square + 1e-12)) / (n + 1.0)
        ratio = mean**2 / square

        def is_low(t: Array) -> Array:
            m = mean_half_line(t)
            return m**2 < ratio * (variance_half_line(t) + m**2)

        t, _ = bisected(is_low, jnp.full_like(mean, LOWEST), jnp.full_like(mean, HIGHEST))
        width = mean / mean_half_line(t)
        return ReLU(self.size, t / width, width**-2.0)

    @property
    def is_shiftable(self) -> np.ndarray:
        return np.zeros(self.size, bool)
