"""Units that are 0 or 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import PACKAGE, keras, ops, to_numpy
from .base import Tensor, Unit, value_at


@keras.saving.register_keras_serializable(package=PACKAGE)
class Bernoulli(Unit):
    """Bernoulli units x ∈ {0, 1}: U(x) = −b·x, Γ(I) = Σ log(1 + e^(I + b)), ⟨x⟩ = σ(I + b).

    Rows may hold any value in [0, 1]; a fraction enters the energy linearly.

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
    states_each = 2

    def energy(self, x: Tensor) -> Tensor:
        """Return −b·x."""
        return -ops.matmul(x, self.bias)

    def cgf(self, inputs: Tensor) -> Tensor:
        """Return Σ log(1 + e^(I + b))."""
        return ops.sum(ops.softplus(inputs + self.bias), axis=-1)

    def mean(self, inputs: Tensor) -> Tensor:
        """Return σ(I + b), the probability of x = 1."""
        return ops.sigmoid(inputs + self.bias)

    def draw(self, inputs: Tensor, seed: Any) -> Tensor:
        """Draw 1 with probability σ(I + b), else 0."""
        p = self.mean(inputs)
        return ops.cast(keras.random.uniform(ops.shape(p), dtype=p.dtype, seed=seed) < p, p.dtype)

    def fair(self, shape: Any, dtype: str, seed: Any) -> Tensor:
        return ops.cast(keras.random.uniform(shape, seed=seed) < 0.5, dtype)

    def fit_moments(self, n: float, mean: np.ndarray, square: np.ndarray) -> None:
        """Set b = logit p with p = (n m + 1/2)/(n + 1)."""
        self.bias.assign(np.log(n * mean + 0.5) - np.log(n * (1.0 - mean) + 0.5))

    def outside(self, rows: np.ndarray) -> np.ndarray:
        return (rows < 0) | (rows > 1)

    def domain(self) -> str:
        return "values in [0, 1]"

    def alternatives(self, x: Tensor, seed: Any) -> Iterator[list[tuple[Tensor, Tensor]]]:
        """Yield the flip of one unit: x → 1 − x."""
        column = self.random_unit(x, seed)
        yield [(column, 1.0 - 2.0 * value_at(x, column))]

    def to_core(self, layers: Any) -> Any:
        return layers.Bernoulli(self.size, to_numpy(self.bias))
