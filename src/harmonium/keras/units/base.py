"""What a unit is: the contract that every layer of units fulfils."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import arithmetic_dtype, keras, ops

Tensor = Any  # of whichever backend Keras runs on


class Unit(keras.layers.Layer):
    """A layer of independent units, as a Keras layer that holds their parameters.

        p(x | I) = exp(I·x − U(x) − Γ(I))

    with U the layer's energy and Γ its cumulant generating function (cgf), as in
    `harmonium.layers`. States have shape (..., columns). All arithmetic is in `dtype_of_sums`.
    """

    registered = ""  # the name in the registry of `harmonium.layers`
    activation: str | None = None  # of a Dense layer with the same mean
    states_each: int | None = None  # values a unit can take; None for a continuum
    columns_each = 1

    def __init__(self, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)

    def get_config(self) -> dict:
        """Return the constructor's arguments."""
        return super().get_config()

    def build(self, input_shape: Any) -> None:
        """Make the parameters for as many columns as the last axis has."""
        self.size = int(input_shape[-1])
        self.bias = self.parameter("bias", "zeros")

    def parameter(self, name: str, initializer: Any, constraint: Any = None) -> Any:
        """Make a trainable vector with one entry a column."""
        return self.add_weight(
            name=name,
            shape=(self.size,),
            initializer=initializer,
            constraint=constraint,
            dtype=arithmetic_dtype(self),
            autocast=False,
        )

    def call(self, inputs: Tensor) -> Tensor:
        """Return ⟨x⟩ under inputs."""
        return self.mean(inputs)

    def sample(self, inputs: Tensor, seed: Any) -> Tensor:
        """Draw the units independently from p(x | inputs), as constants to differentiation."""
        return ops.stop_gradient(self.draw(inputs, seed))

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.size // self.columns_each

    def shift(self, delta: np.ndarray) -> None:
        """Absorb a constant input: add `delta` to the bias."""
        self.bias.assign_add(delta)

    # ---------------------------------------------------------------- what a unit must say

    @abstractmethod
    def energy(self, x: Tensor) -> Tensor:
        """Return U(x), shape (...,), in nats."""

    @abstractmethod
    def cgf(self, inputs: Tensor) -> Tensor:
        """Return Γ(I), shape (...,), in nats."""

    @abstractmethod
    def mean(self, inputs: Tensor) -> Tensor:
        """Return ⟨x⟩ = Γ′(I)."""

    @abstractmethod
    def draw(self, inputs: Tensor, seed: Any) -> Tensor:
        """Draw from p(x | inputs)."""

    @abstractmethod
    def fair(self, shape: Any, dtype: str, seed: Any) -> Tensor:
        """Draw states of units without parameters: where chains begin."""

    @abstractmethod
    def fit_moments(self, n: float, mean: np.ndarray, square: np.ndarray) -> None:
        """Take the parameters of independent units with the moments ⟨x⟩ and ⟨x²⟩ of n rows.

        Smoothed as if one row more had been seen, so that every parameter is finite.
        """

    @abstractmethod
    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Mark the rows or entries that lie outside the domain."""

    @abstractmethod
    def domain(self) -> str:
        """Say in words what a unit takes."""

    @abstractmethod
    def to_core(self, layers: Any) -> Any:
        """Return the same layer of `harmonium.layers`, which is passed in."""

    @classmethod
    def like(cls, layer: Any) -> Unit:
        """Return a unit, yet to be built, of the kind of a layer of `harmonium.layers`."""
        return cls()

    def take(self, layer: Any) -> None:
        """Take over the parameters of a layer of `harmonium.layers`."""
        self.bias.assign(np.asarray(layer.bias))

    def alternatives(self, x: Tensor, seed: Any) -> Iterator[list[tuple[Tensor, Tensor]]]:
        """Choose one unit of each row at random; give every other value it could have.

        Each is a list of changes (column, amount), both of shape (rows,): add `amount` to `column`.
        Discrete units only, and those with an energy that is linear in x.
        """
        raise NotImplementedError

    def random_unit(self, x: Tensor, seed: Any) -> Tensor:
        """Draw the index of one unit for each row."""
        return keras.random.randint((ops.shape(x)[0],), 0, self.n_units, seed=seed)


def value_at(x: Tensor, column: Tensor) -> Tensor:
    """Return one entry of each row: x[r, column[r]]."""
    return ops.squeeze(ops.take_along_axis(x, ops.expand_dims(column, -1), axis=-1), -1)
