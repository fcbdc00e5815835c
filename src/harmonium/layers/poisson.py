"""Units that count without a limit."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._numerics import poissons
from ..checks import positive_integer
from .base import AbstractLayer
from .base_arrays import parameter, weighted_mean
from .registry import register_layer

LARGEST = float(2**53)  # float64 holds all whole numbers up to here


@register_layer("poisson", rows="reals")
class Poisson(AbstractLayer):
    r"""Counts x ∈ {0, 1, 2, …}: U(x) = log x! − b·x, Γ(I) = Σ e^(I + b), ⟨x⟩ = e^(I + b).

    Without inputs a unit has the Poisson distribution of mean e^b. Z is finite with a bounded other
    layer, such as units of 0 and 1; with normal units it is not.

    Attributes:
        size: number of units.
        bias: b, the logarithm of the mean, shape (size,).

    Example:
        >>> layer = hm.Poisson(2, bias=[0.0, np.log(4.0)])
        >>> layer.mean(layer.zero_inputs).round(2).tolist()
        [1.0, 4.0]

    Source: Gehler, Holub & Welling 2006 (the rate adapting Poisson model).
    """

    size: int = eqx.field(static=True)
    bias: Float[Array, "*models size"]

    def __init__(self, size: int, bias: Any = None):
        self.size = positive_integer(size, "Poisson size")
        self.bias = parameter(bias, (size,), "Poisson bias")

    def unit_energies(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return log x_i! − b_i x_i."""
        return jax.scipy.special.gammaln(x + 1.0) - self.bias * x

    def unit_cgfs(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return e^(I_i + b_i)."""
        return jnp.exp(inputs + self.bias)

    def mean(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return the rate e^(I + b)."""
        return jnp.exp(inputs + self.bias)

    def variance(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return the rate, which is the variance too."""
        return jnp.exp(inputs + self.bias)

    def sample(
        self, inputs: Float[Array, "*batch columns"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw from the Poisson distribution."""
        return poissons(jnp.exp(inputs + self.bias), key=key)

    def shift(self, delta: Float[Array, "*batch columns"]) -> "Poisson":
        """Add `delta` to the bias."""
        return eqx.tree_at(lambda layer: layer.bias, self, self.bias + delta)

    def fit_moments(
        self, x: Float[Array, "rows columns"], weights: Float[Array, " rows"] | None = None
    ) -> "Poisson":
        """Set b = log (m + ½/(n + 1)), m the mean of n rows: finite where all counts are 0."""
        mean, n = weighted_mean(x, weights)
        return Poisson(self.size, jnp.log(mean + 0.5 / (n + 1.0)))

    def neutral(self) -> "Poisson":
        """Return the layer with a mean of 1: no flat distribution over all counts exists."""
        return eqx.tree_at(lambda layer: layer.bias, self, jnp.zeros_like(self.bias))

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """0, and no upper end."""
        return np.zeros(self.size), np.full(self.size, np.inf)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the entries that are not whole numbers of 0 or more."""
        return (rows < 0) | (rows != np.floor(rows))

    def domain(self, unit: int) -> str:
        """Describe the values of a unit."""
        return "a Poisson unit takes whole numbers of 0 or more"

    def decode(self, x: Any) -> np.ndarray:
        """Return whole numbers."""
        return np.rint(np.minimum(np.asarray(x, np.float64), LARGEST)).astype(np.int64)
