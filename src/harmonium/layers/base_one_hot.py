"""What units of several one-hot states share."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .base import AbstractLayer


class AbstractOneHot(AbstractLayer):
    """Base of units whose states are one-hot, with a field for each state: U(x) = −b·x.

    Attributes:
        bias: b, one entry for each state of each unit, in nats.
    """

    bias: eqx.AbstractVar[Array]

    def unit_energies(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return −b_i·x_i, the bias of each unit's state."""
        return -self.fold(self.bias * x)

    def shift(self, delta: Float[Array, "*batch columns"]) -> "AbstractOneHot":
        """Add `delta` to the bias."""
        return eqx.tree_at(lambda layer: layer.bias, self, self.bias + delta)

    def neutral(self) -> "AbstractOneHot":
        """Return the layer without biases: all states are equally likely."""
        return eqx.tree_at(lambda layer: layer.bias, self, jnp.zeros_like(self.bias))

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """0 and 1, for every column of a unit."""
        return np.zeros(self.size), np.ones(self.size)

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """True: the states are zeros and ones."""
        return True
