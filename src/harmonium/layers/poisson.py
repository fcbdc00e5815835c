"""Units that take unbounded counts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from .._base.numerics import poissons
from .arrays import Columns, Rows, RowWeights, Units, weighted_mean
from .base import AbstractUnits
from .capabilities import AbstractMatched
from .coding import AbstractCoding, Numbers
from .registry import register_layer


@register_layer("poisson")
class Poisson(AbstractUnits, AbstractMatched):
    r"""Units that take the counts 0, 1, 2, …, without an upper bound.

    With U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = Σ log x! − b·x,      Γ(I) = Σ e^(I + b),      ⟨x⟩ = e^(I + b).

    Without inputs, a unit has the Poisson distribution with mean e^b. Z is finite if the units of
    the other layer are bounded, as 0/1 units are, but infinite if they are Gaussian and W ≠ 0.

    Attributes:
        size: number of units.
        bias: b, the logarithm of the mean without inputs, shape (size,).

    Example:
        >>> layer = hm.Poisson(2, bias=[0.0, np.log(4.0)])
        >>> layer.mean(layer.zero_inputs).round(2).tolist()
        [1.0, 4.0]

    Source: Gehler, Holub & Welling 2006 (the rate adapting Poisson model).
    """

    def __init__(self, size: int, bias: Any = None):
        super().__init__(size, bias)

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take non-negative whole numbers."""
        words = "a Poisson unit takes whole numbers of 0 or more"
        return Numbers(self.size, words, low=0.0, is_whole=True, stored=np.int64)

    def unit_energies(self, x: Columns) -> Units:
        """Return log x_i! − b_i x_i."""
        return jax.scipy.special.gammaln(x + 1.0) - self.bias * x

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return e^(I_i + b_i)."""
        return jnp.exp(inputs + self.bias)

    def mean(self, inputs: Columns) -> Columns:
        """Return the mean, which is the rate e^(I + b)."""
        return jnp.exp(inputs + self.bias)

    def variance(self, inputs: Columns) -> Columns:
        """Return the rate, which is also the variance."""
        return jnp.exp(inputs + self.bias)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw counts from the Poisson distributions with means e^(I + b)."""
        return poissons(jnp.exp(inputs + self.bias), key=key)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Poisson":
        """Set b = log (m + ½/(n + 1)), where n rows have mean m; b is finite even if m is 0."""
        mean, n = weighted_mean(x, weights)
        return Poisson(self.size, jnp.log(mean + 0.5 / (n + 1.0)))

    def inputs_at(self, mean: Columns) -> Columns:
        """Return log(m) − b, the inputs at which the means are m."""
        return jnp.log(mean) - self.bias
