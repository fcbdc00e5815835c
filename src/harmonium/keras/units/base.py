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
    states_each: int | None = None  # number of values of a unit; None if continuous
    columns_each = 1
    has_scale = False  # whether learning depends on the scale of the rows

    def __init__(self, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)

    def get_config(self) -> dict:
        """Return the constructor's arguments."""
        return super().get_config()

    def build(self, input_shape: Any) -> None:
        """Create the parameters; the last entry of `input_shape` is the number of columns."""
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
        """Draw the units independently from p(x | inputs), and stop gradients at the draws."""
        return ops.stop_gradient(self.draw(inputs, seed))

    @property
    def n_units(self) -> int:
        """The number of units."""
        return self.size // self.columns_each

    def shift(self, delta: np.ndarray) -> None:
        """Add a constant input, `delta`, to the bias b."""
        self.bias.assign_add(delta)

    def off_scale(self, mean: np.ndarray, deviation: np.ndarray) -> int | None:
        """Return the index of a column whose mean or scale would impair learning, or None."""
        return None

    # ---------------------------------------------------------------- defined by each type

    def energy(self, x: Tensor) -> Tensor:
        """Return the energy U(x), shape (...,), in nats: −b·x unless a subclass overrides it."""
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
        """Fit the parameters of independent units to the moments ⟨x⟩ and ⟨x²⟩ of n rows.

        The moments are smoothed as if there were one more row, so that every parameter is finite.
        """

    @abstractmethod
    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the values outside the domain, one for each entry or for each unit."""

    @abstractmethod
    def domain(self) -> str:
        """Describe in words the values that a unit can take."""

    @abstractmethod
    def to_core(self, layers: Any) -> Any:
        """Return the equivalent layer of the module `harmonium.layers`, passed as `layers`."""

    @classmethod
    def like(cls, layer: Any) -> Unit:
        """Return unbuilt units of the same type as a layer of `harmonium.layers`."""
        return cls()

    def take(self, layer: Any) -> None:
        """Copy the parameters from a layer of `harmonium.layers`."""
        self.bias.assign(np.asarray(layer.bias))

    def alternatives(self, x: Tensor, unit: Tensor) -> Iterator[list[tuple[Tensor, Tensor]]]:
        """Yield every other value of one unit in each row; `unit`, shape (rows,), is its index.

        Each value is given as a list of changes (column, amount), both of shape (rows,), where
        `amount` must be added to `column`. The method is defined only for discrete units whose
        energy is linear in x.
        """
        # Not abstract, since continuous units have no alternatives and never call this method.
        raise NotImplementedError

    def random_unit(self, x: Tensor, seed: Any) -> Tensor:
        """Draw, for each row, the index of a unit uniformly at random."""
        return keras.random.randint((ops.shape(x)[0],), 0, self.n_units, seed=seed)


def value_at(x: Tensor, column: Tensor) -> Tensor:
    """Return one entry of each row: x[r, column[r]]."""
    return ops.squeeze(ops.take_along_axis(x, ops.expand_dims(column, -1), axis=-1), -1)
