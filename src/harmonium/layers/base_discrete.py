"""Units that take one of a few numbers: all methods follow from the numbers and their energies."""

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._numerics import chosen_states
from ..parameters import map_parameters
from .base import AbstractLayer
from .base_arrays import digits

EXACT_IN_BFLOAT16 = 256  # whole numbers up to here


class AbstractDiscrete(AbstractLayer):
    r"""A layer whose units take one of a few numbers, the same ones for every unit.

    A subclass defines its `values`, in rising order, and the energy of each. Its cgf, moments,
    draws, joint states and single-site proposals are computed from these. A subclass may override
    them with closed forms.

    The following layer is complete. Its units take the values −1, 0 and +1 (Blume 1966, Capel
    1966). Its parameters are a field and the energy cost of a nonzero value:

    ```python
    >>> from typing import ClassVar
    >>> import equinox as eqx, jax, jax.numpy as jnp
    >>> from harmonium.layers import AbstractDiscrete
    >>> class Ternary(AbstractDiscrete):
    ...     size: int = eqx.field(static=True)
    ...     bias: jax.Array
    ...     cost: jax.Array
    ...     values: ClassVar = (-1.0, 0.0, 1.0)
    ...     def __init__(self, size, bias=None, cost=None):
    ...         self.size = size
    ...         self.bias = jnp.zeros(size) if bias is None else jnp.asarray(bias)
    ...         self.cost = jnp.zeros(size) if cost is None else jnp.asarray(cost)
    ...     def unit_energies(self, x):
    ...         return self.cost * x**2 - self.bias * x
    ...     def shift(self, delta):
    ...         return eqx.tree_at(lambda layer: layer.bias, self, self.bias + delta)
    ...     def fit_moments(self, x, weights=None):
    ...         return self  # a starting point for learning, so any layer of the type is right
    >>> [round(float(x), 3) for x in Ternary(2).mean(jnp.array([0.0, 2.0]))]
    [0.0, 0.851]

    ```
    """

    values: eqx.AbstractClassVar[tuple[float, ...]]

    def _logits(self, inputs: Array) -> Float[Array, "values *batch units"]:
        """Return I·x − U(x) of each unit for each of its values x."""
        each = [jnp.full(self.size, value, inputs.dtype) for value in self.values]
        return jnp.stack([inputs * x - self.unit_energies(x) for x in each])

    def unit_cgfs(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return log Σ_x exp(I·x − U(x)) over the values x."""
        return jax.nn.logsumexp(self._logits(inputs), axis=0)

    def mean(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return Σ_x p(x) x."""
        return jnp.tensordot(
            jnp.asarray(self.values, inputs.dtype), jax.nn.softmax(self._logits(inputs), axis=0), 1
        )

    def variance(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return the sum of p(x) p(y) (x − y)² over pairs of values, accurate in the tails."""
        p = jax.nn.softmax(self._logits(inputs), axis=0)
        pairs = itertools.combinations(range(len(self.values)), 2)
        gaps = ((i, j, self.values[i] - self.values[j]) for i, j in pairs)
        return sum((p[i] * p[j] * gap**2 for i, j, gap in gaps), jnp.zeros_like(inputs))

    def sample(
        self, inputs: Float[Array, "*batch columns"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw one value for each unit by inverting the cumulative distribution."""
        chosen = chosen_states(self._logits(inputs), key=key)
        return jnp.asarray(self.values, inputs.dtype)[chosen]

    @property
    def n_states(self) -> int:
        """The number of values to the power of the number of units."""
        return len(self.values) ** self.size

    def states(self, indices: Integer[Array, "*batch"]) -> Float[Array, "*batch columns"]:
        """Return the values at the digits of the indices, the lowest digit first."""
        places = digits(indices, len(self.values), self.size, jnp.int32)
        return jnp.asarray(self.values, self.dtype)[places]

    def proposals(
        self, x: Float[Array, "*batch columns"]
    ) -> tuple[Integer[np.ndarray, "proposals few"], Float[Array, "*batch proposals few"]]:
        """Return the proposals that set one unit to one of its other values."""
        values = jnp.asarray(self.values, x.dtype)
        place = (x[..., None] > (values[:-1] + values[1:]) / 2).sum(-1)
        steps = np.arange(1, len(values))[:, None]  # to the next of the values, in a circle
        others = values[(place[..., None, :] + steps) % len(values)] - x[..., None, :]
        columns = np.tile(np.arange(self.size), len(values) - 1)
        return columns[:, None], others.reshape(*x.shape[:-1], -1, 1)

    def neutral(self) -> "AbstractDiscrete":
        """Return the layer with parameters of 0: all states are equally likely."""
        return map_parameters(jnp.zeros_like, self)

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest value, for each unit."""
        return np.full(self.size, min(self.values)), np.full(self.size, max(self.values))

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether the values are small whole numbers."""
        return all(x == int(x) and abs(x) <= EXACT_IN_BFLOAT16 for x in self.values)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the entries that are none of the values."""
        return ~np.isin(rows, np.asarray(self.values))

    def domain(self, unit: int) -> str:
        """Describe the values of a unit."""
        listed = ", ".join(f"{x:g}" for x in self.values[:-1])
        return f"a {type(self).__name__} unit takes the values {listed} and {self.values[-1]:g}"

    def decode(self, x: Any) -> np.ndarray:
        """Return small integers where the values are whole numbers, else `x` as it is."""
        whole = all(value == int(value) and abs(value) < 128 for value in self.values)
        return np.asarray(x).astype(np.int8) if whole else np.asarray(x)
