"""Units with two values: 0 and 1, or −1 and +1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import PACKAGE, keras, ops, to_numpy
from .base import Tensor, Unit, value_at


class TwoValued(Unit):
    """Units with values `low` and `high`: U(x) = −b·x, p(high) = σ((high − low) (I + b))."""

    states_each = 2
    low: float
    high: float

    @property
    def width(self) -> float:
        """The difference of the two values."""
        return self.high - self.low

    def _state(self, is_high: Tensor, dtype: str) -> Tensor:
        return self.width * ops.cast(is_high, dtype) + self.low

    def draw(self, inputs: Tensor, seed: Any) -> Tensor:
        """Draw `high` with probability σ((high − low) (I + b)), else `low`."""
        p = ops.sigmoid(self.width * (inputs + self.bias))
        is_high = keras.random.uniform(ops.shape(p), dtype=p.dtype, seed=seed) < p
        return self._state(is_high, p.dtype)

    def fair(self, shape: Any, dtype: str, seed: Any) -> Tensor:
        return self._state(keras.random.uniform(shape, seed=seed) < 0.5, dtype)

    def fit_moments(self, n: float, mean: np.ndarray, square: np.ndarray) -> None:
        """Set b = logit p / (high − low), with p = (n f + ½)/(n + 1) and the mean f in [0, 1]."""
        highs = n * ((mean - self.low) / self.width) + 0.5
        lows = n * ((self.high - mean) / self.width) + 0.5
        self.bias.assign((np.log(highs) - np.log(lows)) / self.width)

    def alternatives(self, x: Tensor, unit: Tensor) -> Iterator[list[tuple[Tensor, Tensor]]]:
        """Yield the change of one unit to its other value: x → low + high − x."""
        yield [(unit, self.low + self.high - 2.0 * value_at(x, unit))]

    def to_core(self, layers: Any) -> Any:
        return getattr(layers, type(self).__name__)(self.size, to_numpy(self.bias))


@keras.saving.register_keras_serializable(package=PACKAGE)
class Bernoulli(TwoValued):
    """Bernoulli units x ∈ {0, 1}: U(x) = −b·x, Γ(I) = Σ log(1 + e^(I + b)), ⟨x⟩ = σ(I + b).

    Rows may contain any values in [0, 1]; the energy is linear in fractional values, too.

    Example:
        >>> import keras, harmonium.keras as hk
        >>> unit = hk.RBM(3, visible="bernoulli").visible
        >>> isinstance(unit, hk.Bernoulli)
        True
        >>> means = keras.ops.convert_to_numpy(unit(np.log([[1, 3]], dtype="float32")))
        >>> print(means.round(3))  # ½ and ¾
        [[0.5  0.75]]
    """

    registered = "bernoulli"
    activation = "sigmoid"
    low = 0.0
    high = 1.0

    def cgf(self, inputs: Tensor) -> Tensor:
        """Return Σ log(1 + e^(I + b))."""
        return ops.sum(ops.softplus(inputs + self.bias), axis=-1)

    def mean(self, inputs: Tensor) -> Tensor:
        """Return σ(I + b), the probability of x = 1."""
        return ops.sigmoid(inputs + self.bias)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        return (rows < 0) | (rows > 1)

    def domain(self) -> str:
        return "values in [0, 1]"


@keras.saving.register_keras_serializable(package=PACKAGE)
class Ising(TwoValued):
    """Ising spins x ∈ {−1, +1}: U(x) = −b·x, Γ(I) = Σ log 2cosh(I + b), ⟨x⟩ = tanh(I + b).

    Example:
        >>> import keras, harmonium.keras as hk
        >>> unit = hk.RBM(3, visible="ising").visible
        >>> isinstance(unit, hk.Ising)
        True
        >>> means = keras.ops.convert_to_numpy(unit(np.log([[1, 3]], dtype="float32")))
        >>> print(means.round(3))  # tanh 0, tanh log 3
        [[0.  0.8]]
    """

    registered = "ising"
    activation = "tanh"
    low = -1.0
    high = 1.0

    def cgf(self, inputs: Tensor) -> Tensor:
        """Return Σ log 2cosh y for y = I + b, computed as Σ |y| + log(1 + e^(−2|y|))."""
        size = ops.abs(inputs + self.bias)
        return ops.sum(size + ops.softplus(-2.0 * size), axis=-1)

    def mean(self, inputs: Tensor) -> Tensor:
        """Return the magnetisation tanh(I + b)."""
        return ops.tanh(inputs + self.bias)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        return (rows != -1) & (rows != 1)

    def domain(self) -> str:
        return "the values -1 and +1"
