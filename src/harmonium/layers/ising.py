"""Units that take the values −1 and +1."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from .._base.numerics import bernoulli_draws, log_2cosh
from .arrays import Columns, Proposals, Rows, RowWeights, Units, weighted_mean
from .base import AbstractUnits
from .capabilities import AbstractMatched
from .coding import AbstractCoding, Values
from .discrete import AbstractDiscrete
from .registry import register_layer


@register_layer("ising", rows="spins")
class Ising(AbstractUnits, AbstractDiscrete, AbstractMatched):
    """Spins, which take the values −1 and +1.

    With U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = −b·x,      Γ(I) = Σ log 2cosh(I + b),      ⟨x⟩ = tanh(I + b).

    Attributes:
        size: number of spins.
        bias: b, the magnetic field, shape (size,), in nats.

    Example:
        >>> layer = hm.Ising(2, bias=[0.0, 0.5 * np.log(3.0)])
        >>> layer.mean(layer.zero_inputs).round(2).tolist()  # up with probability ½ and ¾
        [0.0, 0.5]
    """

    values: ClassVar[tuple[float, ...]] = (-1.0, 1.0)

    def __init__(self, size: int, bias: Any = None):
        super().__init__(size, bias)

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take the values −1 and +1."""
        return Values.of(self.size, "an Ising unit takes the values -1 and +1", self.values)

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log 2cosh(I_i + b_i)."""
        return log_2cosh(inputs + self.bias)

    def mean(self, inputs: Columns) -> Columns:
        """Return the magnetisation tanh(I + b)."""
        return jnp.tanh(inputs + self.bias)

    def variance(self, inputs: Columns) -> Columns:
        """Return the variance 1/cosh²(t) at t = I + b, computed as 4 σ(2t) σ(−2t).

        The form 1 − tanh²(t) would be inaccurate in the tails.
        """
        field = 2.0 * (inputs + self.bias)
        return 4.0 * jax.nn.sigmoid(field) * jax.nn.sigmoid(-field)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw +1 with probability σ(2(I + b)), else −1."""
        return 2.0 * bernoulli_draws(2.0 * (inputs + self.bias), key=key) - 1.0

    def proposals(self, x: Columns) -> Proposals:
        """Return the proposals that flip one spin: x → −x."""
        return np.arange(self.size)[:, None], (-2.0 * x)[..., None]

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Ising":
        """Set b = ½ logit p with p = (n (1 + m)/2 + ½) / (n + 1), where n rows have mean m."""
        mean, n = weighted_mean(x, weights)
        up = 0.5 * n * (1.0 + mean) + 0.5
        down = 0.5 * n * (1.0 - mean) + 0.5
        return Ising(self.size, 0.5 * (jnp.log(up) - jnp.log(down)))

    def inputs_at(self, mean: Columns) -> Columns:
        """Return artanh(m) − b, the inputs at which the means are m."""
        return jnp.arctanh(mean) - self.bias
