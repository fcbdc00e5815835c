"""Units that count the successes in a fixed number of trials."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base.checks import positive_integer
from .._base.numerics import softplus
from .arrays import Columns, Rows, RowWeights, Units, weighted_mean
from .base import AbstractUnits
from .capabilities import AbstractMatched
from .coding import AbstractCoding, Numbers
from .discrete import AbstractDiscrete

# Draws and proposals need memory for each count of each unit, so without a limit a model file of a
# few bytes could exhaust the memory. For more trials, use a normal or Poisson unit instead.
MOST_TRIALS = 2**16 - 1


class Binomial(AbstractUnits, AbstractDiscrete, AbstractMatched):
    r"""Units that count the successes in n trials.

    With U, Γ and the inputs I as in `AbstractLayer`, and the binomial coefficients C(n, x),

        U(x) = −Σ log C(n, x) − b·x,      Γ(I) = Σ n·log(1 + e^(I + b)).

    With t = I + b and the logistic function σ, the mean is n·σ(t) and the variance n·σ(t)·σ(−t). A
    unit is the sum of n binary units that share their weights and bias.

    Attributes:
        size: number of units.
        total: n, the number of trials, which is the same for all units; at most 65,535.
        bias: b, the log odds of a success, shape (size,), in nats.

    Example:
        >>> layer = hm.Binomial(2, total=4, bias=[0.0, np.log(3.0)])
        >>> layer.mean(layer.zero_inputs).round(2).tolist()
        [2.0, 3.0]
        >>> layer.variance(layer.zero_inputs).round(2).tolist()
        [1.0, 0.75]

    Source: Teh & Hinton 2001 (rate-coded units).
    """

    total: int = eqx.field(static=True)

    def __init__(self, size: int, total: int, bias: Any = None):
        super().__init__(size, bias)
        self.total = positive_integer(total, "Binomial total", most=MOST_TRIALS)

    def __str__(self) -> str:
        return f"Binomial({self.size}, total={self.total})"

    @property
    def values(self) -> tuple[float, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The counts 0 to n."""
        return tuple(map(float, range(self.total + 1)))

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take whole numbers from 0 to n."""
        words = f"a Binomial unit takes whole numbers from 0 to {self.total}"
        stored = np.min_scalar_type(self.total)
        return Numbers(self.size, words, 0.0, float(self.total), is_whole=True, stored=stored)

    def _logits(self, inputs: Array) -> Float[Array, "values *batch units"]:
        """Return log C(n, x) + x t at t = I + b for each count x."""
        t = inputs + self.bias
        counts = np.arange(self.total + 1).reshape(-1, *[1] * t.ndim)
        logs = np.reshape(_log_choices(self.total), counts.shape)
        return jnp.asarray(counts, t.dtype) * t + jnp.asarray(logs, t.dtype)

    def unit_energies(self, x: Columns) -> Units:
        """Return −log C(n, x_i) − b_i x_i."""
        log_factorial = jax.scipy.special.gammaln
        arranged = log_factorial(x + 1.0) + log_factorial(self.total - x + 1.0)
        return arranged - log_factorial(self.total + 1.0) - self.bias * x

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return n log(1 + e^t) at t = I + b."""
        return self.total * softplus(inputs + self.bias)

    def mean(self, inputs: Columns) -> Columns:
        """Return the mean count n σ(t) at t = I + b."""
        return self.total * jax.nn.sigmoid(inputs + self.bias)

    def variance(self, inputs: Columns) -> Columns:
        """Return the variance n σ(t) σ(−t) at t = I + b, which is accurate in both tails."""
        t = inputs + self.bias
        return self.total * jax.nn.sigmoid(t) * jax.nn.sigmoid(-t)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Binomial":
        """Set b = logit p with p = (N m/n + ½)/(N + 1), where m is the mean of N rows."""
        mean, rows = weighted_mean(x, weights)
        up = rows * mean / self.total + 0.5
        down = rows * (1.0 - mean / self.total) + 0.5
        return Binomial(self.size, self.total, jnp.log(up) - jnp.log(down))

    def inputs_at(self, mean: Columns) -> Columns:
        """Return logit(m/n) − b, the inputs at which the means are m."""
        return jnp.log(mean) - jnp.log(self.total - mean) - self.bias


@functools.cache
def _log_choices(total: int) -> np.ndarray:
    """Return log C(n, x) for all counts x from 0 to n."""
    log_factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, total + 1)))])
    return log_factorials[-1] - log_factorials - log_factorials[::-1]
