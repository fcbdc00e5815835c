"""Base classes of layers of discrete units: few-valued units, 0/1 units and one-hot units."""

import itertools
import math
from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._base.numerics import bernoulli_draws, chosen_states, product, softplus
from .._base.parameters import map_parameters
from .arrays import Columns, Proposals, Units, digits
from .base import AbstractBiased, AbstractUnits
from .capabilities import AbstractEnumerable, AbstractMatched
from .coding import AbstractCodes, AbstractCoding, Numbers, Values


class AbstractDiscrete(AbstractEnumerable):
    r"""A layer whose units take values from one short list of numbers, the same for every unit.

    A subclass defines the `values`, in increasing order, and the unit energies. The cgf, moments,
    draws, joint states and single-site proposals are computed from these definitions. A subclass
    may override these methods with closed forms.

    The following example is a complete layer. The units of this example take the values −1, 0 and
    +1 (Blume 1966, Capel 1966). The parameters of each unit are a field and the energy cost of a
    nonzero value:

    ```python
    >>> from typing import ClassVar
    >>> import jax, jax.numpy as jnp
    >>> from harmonium.layers import AbstractDiscrete, AbstractUnits
    >>> class Ternary(AbstractUnits, AbstractDiscrete):
    ...     cost: jax.Array
    ...     values: ClassVar = (-1.0, 0.0, 1.0)
    ...     def __init__(self, size, bias=None, cost=None):
    ...         super().__init__(size, bias)
    ...         self.cost = jnp.zeros(size) if cost is None else jnp.asarray(cost)
    ...     def unit_energies(self, x):
    ...         return self.cost * x**2 - self.bias * x
    >>> [round(float(x), 3) for x in Ternary(2).mean(jnp.array([0.0, 2.0]))]
    [0.0, 0.851]

    ```
    """

    values: eqx.AbstractClassVar[tuple[float, ...]]

    @property
    def coding(self) -> AbstractCoding:
        """The coding: each unit takes one of the numbers in `values`."""
        listed = ", ".join(f"{x:g}" for x in self.values[:-1])
        kind = type(self).__name__
        words = f"a {kind} unit takes the values {listed} and {self.values[-1]:g}"
        return Values.of(self.size, words, self.values)

    def _logits(self, inputs: Array) -> Float[Array, "values *batch units"]:
        """Return I·x − U(x) of each unit for each of its values x."""
        states = [jnp.full(self.size, value, inputs.dtype) for value in self.values]
        return jnp.stack([inputs * x - self.unit_energies(x) for x in states])

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log Σ_x exp(I·x − U(x)) over the values x."""
        return jax.nn.logsumexp(self._logits(inputs), axis=0)

    def mean(self, inputs: Columns) -> Columns:
        """Return Σ_x p(x) x."""
        return jnp.tensordot(
            jnp.asarray(self.values, inputs.dtype), jax.nn.softmax(self._logits(inputs), axis=0), 1
        )

    def variance(self, inputs: Columns) -> Columns:
        """Return Σ p(x) p(y) (x − y)² over values x < y, a form that is accurate in the tails."""
        p = jax.nn.softmax(self._logits(inputs), axis=0)
        pairs = itertools.combinations(range(len(self.values)), 2)
        gaps = ((i, j, self.values[i] - self.values[j]) for i, j in pairs)
        return sum((p[i] * p[j] * gap**2 for i, j, gap in gaps), jnp.zeros_like(inputs))

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw one value for each unit by inverting its cumulative distribution function."""
        chosen = chosen_states(self._logits(inputs), key=key)
        return jnp.asarray(self.values, inputs.dtype)[chosen]

    @property
    def n_states(self) -> int:
        """The number of values to the power of the number of units."""
        return len(self.values) ** self.size

    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states; digits of an index in base `len(values)` select the values."""
        places = digits(indices, len(self.values), self.size, jnp.int32)
        return jnp.asarray(self.values, self.dtype)[places]

    def proposals(self, x: Columns) -> Proposals:
        """Return the proposals that set one unit to one of its other values."""
        values = jnp.asarray(self.values, x.dtype)
        place = (x[..., None] > (values[:-1] + values[1:]) / 2).sum(-1)
        steps = np.arange(1, len(values))[:, None]  # from one value to the others, cyclically
        others = values[(place[..., None, :] + steps) % len(values)] - x[..., None, :]
        columns = np.tile(np.arange(self.size), len(values) - 1)
        return columns[:, None], others.reshape(*x.shape[:-1], -1, 1)

    def base(self) -> "AbstractDiscrete":
        """Return the layer with all parameters 0, for which all states are equally likely."""
        return map_parameters(jnp.zeros_like, self)


class AbstractBernoulli(AbstractUnits, AbstractDiscrete):
    """Base class of layers of 0/1 units; its methods are those of independent units with biases."""

    values: ClassVar[tuple[float, ...]] = (0.0, 1.0)

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that are 0 or 1; fractions in rows are used unchanged."""
        words = "a Bernoulli unit takes values in [0, 1]"
        return Numbers(self.size, words, 0.0, 1.0, stored=np.uint8)

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log(1 + e^(I_i + b_i)), the softplus of I_i + b_i."""
        return softplus(inputs + self.bias)

    def mean(self, inputs: Columns) -> Columns:
        """Return σ(I + b), the probability that a unit is 1; σ is the logistic function."""
        return jax.nn.sigmoid(inputs + self.bias)

    def variance(self, inputs: Columns) -> Columns:
        """Return σ(I + b) σ(−I − b)."""
        logits = inputs + self.bias
        return jax.nn.sigmoid(logits) * jax.nn.sigmoid(-logits)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw 1 with probability σ(I + b), else 0."""
        return bernoulli_draws(inputs + self.bias, key=key)

    def proposals(self, x: Columns) -> Proposals:
        """Return the proposals that flip one unit: x → 1 − x."""
        return np.arange(self.size)[:, None], (1.0 - 2.0 * x)[..., None]


class AbstractOneHot(AbstractBiased, AbstractEnumerable, AbstractMatched):
    """Base class of one-hot units that have a bias for each state and the energy −b·x.

    Attributes:
        bias: b, one entry for each state of each unit, in nats.
    """

    @property
    @abstractmethod
    def coding(self) -> AbstractCodes:
        """The coding: rows have an integer code for each unit; states are one-hot vectors."""

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of columns of a state: the total number of states of all units."""
        return sum(self.coding.counts)

    @property
    def n_states(self) -> int:
        """The number of joint states, the product of the units' numbers of states."""
        return math.prod(self.coding.counts)

    def energy(self, x: Columns) -> Float[Array, "*batch"]:
        """Return −b·x as a dot product, so that a batch of layers needs one matrix product."""
        return product(x, -self.bias)

    def unit_energies(self, x: Columns) -> Units:
        """Return −b_i·x_i, the negative bias of each unit's state."""
        return -self.fold(self.bias * x)

    def inputs_at(self, mean: Columns) -> Columns:
        """Return log(m) − b, the inputs I that give means m and satisfy Σ_a e^(I_a + b_a) = 1."""
        return jnp.log(mean) - self.bias
