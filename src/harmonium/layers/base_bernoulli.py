"""Units that are 0 or 1."""

from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._numerics import below_sigmoid, softplus
from ..checks import positive_integer
from .base_arrays import parameter
from .base_discrete import AbstractDiscrete


class AbstractBernoulli(AbstractDiscrete):
    """Base of 0/1 units: U(x) = −b·x, Γ(I) = Σ log(1 + e^(I + b)), ⟨x⟩ = σ(I + b)."""

    values: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    size: int = eqx.field(static=True)
    bias: Float[Array, "*models size"]

    def __init__(self, size: int, bias: Any = None):
        self.size = positive_integer(size, "Bernoulli size")
        self.bias = parameter(bias, (size,), "Bernoulli bias")

    def unit_energies(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return −b_i x_i."""
        return -self.bias * x

    def unit_cgfs(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return log(1 + e^(I_i + b_i)), the softplus."""
        return softplus(inputs + self.bias)

    def mean(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return σ(I + b), the probability of 1."""
        return jax.nn.sigmoid(inputs + self.bias)

    def variance(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return σ(I + b) σ(−I − b)."""
        logits = inputs + self.bias
        return jax.nn.sigmoid(logits) * jax.nn.sigmoid(-logits)

    def sample(
        self, inputs: Float[Array, "*batch columns"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw 1 with probability σ(I + b), else 0."""
        return below_sigmoid(inputs + self.bias, key=key)

    def shift(self, delta: Float[Array, "*batch columns"]) -> "AbstractBernoulli":
        """Add `delta` to the bias."""
        return eqx.tree_at(lambda layer: layer.bias, self, self.bias + delta)

    def proposals(
        self, x: Float[Array, "*batch columns"]
    ) -> tuple[Integer[np.ndarray, "proposals few"], Float[Array, "*batch proposals few"]]:
        """Return the proposals that flip one unit: x → 1 − x."""
        return np.arange(self.size)[:, None], (1.0 - 2.0 * x)[..., None]

    def decode(self, x: Any) -> np.ndarray:
        """Return 0 and 1 as bytes (uint8)."""
        return np.asarray(x).astype(np.uint8)
