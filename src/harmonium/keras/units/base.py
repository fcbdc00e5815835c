"""The interface of every layer of units."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import arithmetic_dtype, keras, ops

Tensor = Any  # a tensor of the backend that Keras runs on


class Unit(keras.layers.Layer):
    """A layer of independent units, as a Keras layer that holds their parameters.

        p(x | I) = exp(I·x − U(x) − Γ(I))

    with U the layer's energy and Γ its cumulant generating function (cgf), as in
    `harmonium.layers`. States have shape (..., columns). All arithmetic is in `arithmetic_dtype`.

    Example:
        >>> import harmonium.keras as hk
        >>> rbm = hk.RBM(3, visible="gaussian")  # by name, or a unit such as hk.Potts(3)
        >>> isinstance(rbm.visible, hk.Unit), type(rbm.visible).__name__, type(rbm.hidden).__name__
        (True, 'Gaussian', 'Bernoulli')
    """

    registered = ""  # the name in the registry of `harmonium.layers`
    activation: str | None = None  # the activation of an equivalent Dense layer
    states_each: int | None = None  # values that a unit can take; None if continuous
    columns_each = 1
    has_scale = False  # whether data may have any scale, which then affects the learning rate

    def __init__(self, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)

    def get_config(self) -> dict:
        """Return the constructor's arguments."""
        return super().get_config()

    def build(self, input_shape: Any) -> None:
        """Create the parameters for the number of columns in the last axis of `input_shape`."""
        self.size = int(input_shape[-1])
        self.bias = self.parameter("bias", "zeros")

    def parameter(self, name: str, initializer: Any, constraint: Any = None) -> Any:
        """Create a trainable vector with one entry for each column."""
        return self.add_weight(
            name=name,
            shape=(self.size,),
            initializer=initializer,
            constraint=constraint,
            dtype=arithmetic_dtype(self),
            autocast=False,
        )

    def call(self, inputs: Tensor) -> Tensor:
        """Return ⟨x⟩ given the inputs."""
        return self.mean(inputs)

    def sample(self, inputs: Tensor, seed: Any) -> Tensor:
        """Draw the units independently from p(x | inputs), without a gradient."""
        return ops.stop_gradient(self.draw(inputs, seed))

    @property
    def n_units(self) -> int:
        """The number of units."""
        return self.size // self.columns_each

    def shift(self, delta: np.ndarray) -> None:
        """Add a constant input to the bias: b + `delta`."""
        self.bias.assign_add(delta)

    def off_scale(self, mean: np.ndarray, deviation: np.ndarray) -> int | None:
        """Return the index of a column scaled too badly for learning, or None if there is none."""
        return None

    # ---------------------------------------------------------------- defined by each type

    def energy(self, x: Tensor) -> Tensor:
        """Return U(x), shape (...,), in nats; −b·x unless a subclass overrides it."""
        return -ops.matmul(x, self.bias)

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
        """Draw initial states for chains, from units with zero bias."""

    @abstractmethod
    def fit_moments(self, n: float, mean: np.ndarray, square: np.ndarray) -> None:
        """Fit the parameters, as for independent units, to the moments ⟨x⟩ and ⟨x²⟩ of n rows.

        The moments are smoothed as if there were one more row, so that every parameter is finite.
        """

    @abstractmethod
    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the rows or entries outside the domain."""

    @abstractmethod
    def domain(self) -> str:
        """Describe in words the values that a unit can take."""

    @abstractmethod
    def to_core(self, layers: Any) -> Any:
        """Return the equivalent layer from `harmonium.layers`, the module passed in."""

    @classmethod
    def like(cls, layer: Any) -> Unit:
        """Return unbuilt units of the same type as a layer of `harmonium.layers`."""
        return cls()

    def take(self, layer: Any) -> None:
        """Copy the parameters of a layer of `harmonium.layers`."""
        self.bias.assign(np.asarray(layer.bias))

    def alternatives(self, x: Tensor, unit: Tensor) -> Iterator[list[tuple[Tensor, Tensor]]]:
        """Yield each other value that one unit of each row can take; `unit` has shape (rows,).

        Each value is a list of changes (column, amount), both of shape (rows,): add `amount` to
        `column`. Only for discrete units whose energy is linear in x.
        """
        # Not abstract, since continuous units have no alternatives and never call this method.
        raise NotImplementedError

    def random_unit(self, x: Tensor, seed: Any) -> Tensor:
        """Draw the index of one unit for each row."""
        return keras.random.randint((ops.shape(x)[0],), 0, self.n_units, seed=seed)


def value_at(x: Tensor, column: Tensor) -> Tensor:
    """Return one entry of each row: x[r, column[r]]."""
    return ops.squeeze(ops.take_along_axis(x, ops.expand_dims(column, -1), axis=-1), -1)
