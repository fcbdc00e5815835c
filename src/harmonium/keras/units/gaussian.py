"""Gaussian units, which take real values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base import PACKAGE, keras, ops, to_numpy
from .base import Tensor, Unit

SMALLEST_PRECISION = 1e-6  # keeps the variance, 1/γ, from growing without bound
LOG_2PI = math.log(2.0 * math.pi)
# Plain gradient ascent at a learning rate of 0.05 diverges on columns of mean 5, whereas grey
# levels in [0, 1] need no scaling.
LARGEST_MEAN = 2.0
LARGEST_DEVIATION = 3.0
SMALLEST_DEVIATION = 0.1


@keras.saving.register_keras_serializable(package=PACKAGE)
class AtLeast(keras.constraints.Constraint):
    """A constraint that keeps a parameter at or above a bound after every optimiser step."""

    def __init__(self, bound: float):
        self.bound = bound

    def __call__(self, value: Tensor) -> Tensor:
        """Return max(value, bound)."""
        return ops.maximum(value, self.bound)

    def get_config(self) -> dict:
        """Return the bound."""
        return {"bound": self.bound}


@keras.saving.register_keras_serializable(package=PACKAGE)
class Gaussian(Unit):
    """Gaussian units: U(x) = Σ ½γx² − bx, Γ(I) = Σ (I + b)²/(2γ) + ½ log(2π/γ), ⟨x⟩ = (I + b)/γ.

    The precision γ > 0 is also learnt, starting at 1.

    Example:
        >>> import keras, harmonium.keras as hk
        >>> unit = hk.RBM(3, visible="gaussian").visible
        >>> isinstance(unit, hk.Gaussian)
        True
        >>> means = keras.ops.convert_to_numpy(unit(np.array([[0.5, 2.0]], "float32")))
        >>> print(means)  # the precision is 1
        [[0.5 2. ]]
    """

    registered = "gaussian"
    has_scale = True

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        self.precision = self.parameter("precision", "ones", AtLeast(SMALLEST_PRECISION))

    def energy(self, x: Tensor) -> Tensor:
        """Return Σ ½γx² − bx."""
        return 0.5 * ops.matmul(x * x, self.precision) - ops.matmul(x, self.bias)

    def cgf(self, inputs: Tensor) -> Tensor:
        """Return Σ (I + b)²/(2γ) + ½ log(2π/γ)."""
        field = inputs + self.bias
        terms = ops.square(field) / self.precision + LOG_2PI - ops.log(self.precision)
        return 0.5 * ops.sum(terms, axis=-1)

    def mean(self, inputs: Tensor) -> Tensor:
        """Return (I + b)/γ."""
        return (inputs + self.bias) / self.precision

    def draw(self, inputs: Tensor, seed: Any) -> Tensor:
        """Draw from the normal distribution with mean (I + b)/γ and variance 1/γ."""
        mean = self.mean(inputs)
        noise = keras.random.normal(ops.shape(mean), dtype=mean.dtype, seed=seed)
        return mean + noise * ops.rsqrt(self.precision)

    def fair(self, shape: Any, dtype: str, seed: Any) -> Tensor:
        """Draw standard normal numbers."""
        return keras.random.normal(shape, dtype=dtype, seed=seed)

    def fit_moments(self, n: float, mean: np.ndarray, square: np.ndarray) -> None:
        """Set the mean and variance from n rows plus one pseudo-row of average variance."""
        variance = np.maximum(square - mean**2, 0.0)
        typical = variance.mean()
        if not typical > 0:
            typical = 1.0
        precision = (n + 1.0) / (n * variance + typical)
        self.bias.assign(mean * precision)
        self.precision.assign(precision)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(rows.shape, bool)

    def off_scale(self, mean: np.ndarray, deviation: np.ndarray) -> int | None:
        """Return the index of a column that is far from standardised, or None if there is none.

        A small standard deviation counts only if most columns have a small one, since a few nearly
        constant pixels do no harm.
        """
        excess = np.maximum(abs(mean) / LARGEST_MEAN, deviation / LARGEST_DEVIATION)
        varying = deviation[deviation > 0.0]
        if len(varying) and np.median(varying) < SMALLEST_DEVIATION and excess.max() <= 1.0:
            return int(np.argmin(np.where(deviation > 0.0, deviation, np.inf)))
        if excess.max() > 1.0:
            return int(np.argmax(excess))
        return None

    def domain(self) -> str:
        return "finite numbers"

    def to_core(self, layers: Any) -> Any:
        return layers.Gaussian(self.size, to_numpy(self.bias), to_numpy(self.precision))

    def take(self, layer: Any) -> None:
        super().take(layer)
        self.precision.assign(np.asarray(layer.precision))
