"""Units that take real numbers from 0 to 1."""

from typing import Any

from jaxtyping import PRNGKeyArray

from .._base.numerics import log_interval, mean_interval, tilted_uniforms, variance_interval
from .arrays import Columns, Units
from .base import AbstractUnits
from .coding import AbstractCoding, Numbers
from .registry import register_layer


@register_layer("unit_interval")
class UnitInterval(AbstractUnits):
    """Real units with values from 0 to 1.

    With U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = −b·x,      Γ(I) = Σ log [(e^t − 1)/t],      t = I + b.

    The density is proportional to e^(tx): it rises or falls exponentially over the interval or, at
    t = 0, is uniform. The layer is bounded, so Z is finite whatever the type of the other layer.

    Attributes:
        size: number of units.
        bias: b, shape (size,), in nats.

    Example:
        >>> layer = hm.UnitInterval(2, bias=[0.0, 5.0])
        >>> [round(float(x), 3) for x in layer.mean(layer.zero_inputs)]
        [0.5, 0.807]

    Source: Bengio et al. 2007 (truncated exponential units).
    """

    def __init__(self, size: int, bias: Any = None):
        super().__init__(size, bias)

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take numbers from 0 to 1."""
        return Numbers(self.size, "a UnitInterval unit takes numbers from 0 to 1", 0.0, 1.0)

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log [(e^t − 1)/t] at t = I + b."""
        return log_interval(inputs + self.bias)

    def mean(self, inputs: Columns) -> Columns:
        """Return the mean 1/(1 − e^(−t)) − 1/t at t = I + b."""
        return mean_interval(inputs + self.bias)

    def variance(self, inputs: Columns) -> Columns:
        """Return the variance 1/t² − 1/(2 sinh(t/2))² at t = I + b."""
        return variance_interval(inputs + self.bias)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw from the density ∝ e^(tx) on [0, 1], with t = I + b."""
        return tilted_uniforms(inputs + self.bias, key=key)
