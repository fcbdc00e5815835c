"""Units that are −1 or +1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import PACKAGE, keras, ops, to_numpy
from .base import Tensor, Unit, value_at


@keras.saving.register_keras_serializable(package=PACKAGE)
class Ising(Unit):
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
    states_each = 2

    def energy(self, x: Tensor) -> Tensor:
        """Return −b·x."""
        return -ops.matmul(x, self.bias)

    def cgf(self, inputs: Tensor) -> Tensor:
        """Return Σ log 2cosh(I + b), as |y| + log(1 + e^(−2|y|)) with y = I + b: no overflow."""
        size = ops.abs(inputs + self.bias)
        return ops.sum(size + ops.softplus(-2.0 * size), axis=-1)

    def mean(self, inputs: Tensor) -> Tensor:
        """Return the magnetisation tanh(I + b)."""
        return ops.tanh(inputs + self.bias)

    def draw(self, inputs: Tensor, seed: Any) -> Tensor:
        """Draw +1 with probability σ(2(I + b)), else −1."""
        p = ops.sigmoid(2.0 * (inputs + self.bias))
        up = keras.random.uniform(ops.shape(p), dtype=p.dtype, seed=seed) < p
        return 2.0 * ops.cast(up, p.dtype) - 1.0

    def fair(self, shape: Any, dtype: str, seed: Any) -> Tensor:
        return 2.0 * ops.cast(keras.random.uniform(shape, seed=seed) < 0.5, dtype) - 1.0

    def fit_moments(self, n: float, mean: np.ndarray, square: np.ndarray) -> None:
        """Set b = ½ logit p with p = (n (1 + m)/2 + 1/2)/(n + 1)."""
        up, down = (0.5 * n * (1.0 + sign * mean) + 0.5 for sign in (1.0, -1.0))
        self.bias.assign(0.5 * (np.log(up) - np.log(down)))

    def outside(self, rows: np.ndarray) -> np.ndarray:
        return (rows != -1) & (rows != 1)

    def domain(self) -> str:
        return "the values -1 and +1"

    def alternatives(self, x: Tensor, seed: Any) -> Iterator[list[tuple[Tensor, Tensor]]]:
        """Yield the flip of one spin: x → −x."""
        column = self.random_unit(x, seed)
        yield [(column, -2.0 * value_at(x, column))]

    def to_core(self, layers: Any) -> Any:
        return layers.Ising(self.size, to_numpy(self.bias))
