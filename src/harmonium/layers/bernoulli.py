"""Units that take the values 0 and 1."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base.numerics import product
from .arrays import Columns, Rows, RowWeights, weighted_mean
from .capabilities import AbstractMatched
from .discrete import AbstractBernoulli
from .registry import register_layer


@register_layer("bernoulli", rows="levels")
class Bernoulli(AbstractBernoulli, AbstractMatched):
    """Units that take the values 0 and 1.

    In terms of the logistic function σ, with U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = −b·x,      Γ(I) = Σ log(1 + e^(I + b)),      ⟨x⟩ = σ(I + b).

    These are the units of the classical restricted Boltzmann machine (Smolensky 1986). Rows may
    hold any value in [0, 1]. Fractions are used unchanged in all formulas; alternatively,
    `hm.data` can draw binary values with these probabilities.

    Attributes:
        size: number of units.
        bias: b, shape (size,), in nats.

    Example:
        >>> layer = hm.Bernoulli(2, bias=[0.0, np.log(3.0)])
        >>> layer.mean(layer.zero_inputs).round(2).tolist()
        [0.5, 0.75]
    """

    def __init__(self, size: int, bias: Any = None):
        super().__init__(size, bias)

    def energy(self, x: Columns) -> Float[Array, "*batch"]:
        """Return −b·x as a dot product, so that a batch of layers needs only one product."""
        return product(x, -self.bias)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Bernoulli":
        """Set b = logit p with p = (n m + 1/2) / (n + 1), where m is the mean of n rows."""
        mean, n = weighted_mean(x, weights)
        return Bernoulli(self.size, jnp.log(n * mean + 0.5) - jnp.log(n * (1.0 - mean) + 0.5))

    def inputs_at(self, mean: Columns) -> Columns:
        """Return logit(m) − b, the inputs at which the means are m."""
        return jnp.log(mean) - jnp.log1p(-mean) - self.bias
