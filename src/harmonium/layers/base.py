"""The base class of all layers: what each layer must define, and what follows from it."""

import dataclasses
import functools
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Integer, PRNGKeyArray

from .._numerics import from_numpy
from ..errors import InputError
from ..parameters import data_in
from .base_arrays import check_rescaling, checked_rows, checked_states, derivatives_of_means


class AbstractLayer(eqx.Module):
    r"""A layer whose units form an exponential family with natural parameters.

    Under constant `inputs` I the units x of a layer have the density

        p(x | I) = exp(I·x − U(x) − Γ(I)),      Γ(I) = log ∫ exp(I·x − U(x)) dx

    where U is the layer's energy and Γ its cumulant generating function (cgf): the mean of x is
    Γ′(I) and its variance Γ″(I). A model needs only these two functions from a layer.

    Units are independent given the inputs, unless a layer has `blocks` of several units: then units
    of different blocks are.

    Every array is a natural parameter: the energy is affine in the arrays, and their domain is
    convex. Therefore any average of two layers of one type is a layer too. An array that is not a
    parameter, such as the values at which units are held, is declared with `data_field` of
    `harmonium.parameters`: it stays as it is.

    States are arrays of shape (..., size): batch axes first, then `size` columns. A unit may own
    several columns (a Potts unit has one for each of its states); `n_units` counts the units. Rows
    in the user's coding have one column for each unit.

    A new layer defines the abstract methods: docs/how_to_add_a_layer.md writes one of real units.
    Units that take one of a few numbers need less: see `AbstractDiscrete`.

    Example:
        >>> layers = hm.Bernoulli(2), hm.Ising(2), hm.Gaussian(2, precision=[4.0, 4.0])
        >>> {str(layer): layer.variance(layer.zero_inputs).tolist() for layer in layers}
        {'Bernoulli(2)': [0.25, 0.25], 'Ising(2)': [1.0, 1.0], 'Gaussian(2)': [0.25, 0.25]}
    """

    size: eqx.AbstractVar[int]

    # ---------------------------------------------------------------- what a layer must define

    @abstractmethod
    def unit_energies(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return each unit's energy U_i(x_i), in nats."""

    @abstractmethod
    def unit_cgfs(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return each unit's Γ_i(I_i) = log ∫ exp(I_i·x_i − U_i(x_i)) dx_i, in nats."""

    @abstractmethod
    def sample(
        self, inputs: Float[Array, "*batch columns"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw the units independently from p(x | inputs)."""

    @abstractmethod
    def shift(self, delta: Float[Array, "*batch columns"]) -> "AbstractLayer":
        """Return the layer whose p(x | I) is this layer's p(x | I + delta).

        The arrays of the result must be affine in `delta`; centring differentiates this map.
        """

    @abstractmethod
    def fit_moments(
        self, x: Float[Array, "rows columns"], weights: Float[Array, " rows"] | None = None
    ) -> "AbstractLayer":
        """Return the layer whose independent units have the (weighted) moments of the states `x`.

        The moments are smoothed as if there were one more row, so that every parameter is finite.
        """

    @abstractmethod
    def neutral(self) -> "AbstractLayer":
        """Return the neutral layer of this type: all states equally likely where that is possible.

        Annealing and temperature ladders start from it. Its Γ(0) must be finite, so parameters
        that are needed for this, such as a precision, are kept.
        """

    @property
    @abstractmethod
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest value of each column, two arrays of shape (columns,).

        They are ±∞ where a column is unbounded.
        """

    @abstractmethod
    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the entries of (finite) rows in the user's coding outside the domain."""

    @abstractmethod
    def domain(self, unit: int) -> str:
        """Describe the values of this unit: "a Bernoulli unit takes values in [0, 1]"."""

    # ---------------------------------------------------------------- what some layers override

    @property
    def form(self) -> tuple:
        """What training does not change (type, sizes and data), in a form to be compared."""
        data = tuple(np.asarray(array).tobytes() for array in data_in(self))
        return (jax.tree.structure(self), *data)

    @property
    def n_units(self) -> int:
        """The number of units, which is the number of columns of rows in the user's coding."""
        return self.size

    @property
    def n_states(self) -> int | None:
        """The number of joint states of a discrete layer; None for continuous states."""
        return None

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether every state is made of small whole numbers, which bfloat16 holds exactly."""
        return False

    def states(self, indices: Integer[Array, "*batch"]) -> Float[Array, "*batch columns"]:
        """Return the joint states with these indices, 0 to `n_states` − 1 (discrete layers)."""
        raise InputError(f"{self}: its states are a continuum and cannot be enumerated.")

    def proposals(
        self, x: Float[Array, "*batch columns"]
    ) -> tuple[Integer[np.ndarray, "proposals few"], Float[Array, "*batch proposals few"]]:
        """Return every single-site proposal from `x`: none for continuous states.

        A proposal changes exactly one unit. It consists of the few columns that change, the same
        for all `x`, and of what is added to each of them. The proposals of a unit lead to all of
        its other states. A column that only pads a proposal has the change 0.
        """
        if self.n_states is not None:
            raise NotImplementedError(
                f"{type(self).__name__}.proposals, which a discrete layer needs"
            )
        return np.zeros((0, 1), int), jnp.zeros((*x.shape[:-1], 0, 1), x.dtype)

    def encode(self, rows: Any) -> Float[Array, "*batch columns"]:
        """Turn rows in the user's coding into states. Traceable; `validate` checks the rows."""
        return jnp.asarray(rows, self.dtype)

    def decode(self, x: Any) -> np.ndarray:
        """Turn states into rows in the user's coding, in the smallest type that holds them."""
        return np.asarray(x)

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """A curvature c such that U(x) grows at least as ½cx² for large |x|; ∞ if bounded.

        One entry for each column. Whether a model's Z is finite depends on both layers and W: see
        `finite_z`. For unbounded columns the default is 0, which guarantees nothing; a layer
        overrides it where a larger value is known.
        """
        low, high = self.support
        return from_numpy(
            np.where(np.isfinite(low) & np.isfinite(high), np.inf, 0.0).astype(self.dtype)
        )

    def project(self) -> "AbstractLayer":
        """Move parameters that an optimiser's step took out of the domain back into it."""
        return self

    @property
    def gaussian_parameters(self) -> tuple[Array, Array] | None:
        """(b, γ) where the energy is ½γx² − bx on the whole line; None where it is not."""
        return None

    @property
    def correlated(self) -> Integer[np.ndarray, " some"]:
        """Real columns that depend on one another; they need `whitening` and `along`."""
        return np.zeros(0, int)

    @property
    def whitening(self) -> Float[Array, "some some"]:
        """S, where SSᵀ is the covariance of the `correlated` columns without inputs."""
        return jnp.zeros((0, 0))

    def along(self, basis: Float[Array, "some some"]) -> "AbstractLayer":
        """Return the layer of y, where x = S y are the `correlated` columns: a linear map."""
        return self

    def confined(self, variance: float) -> "AbstractLayer":
        """Return the layer with no more variance in any direction of the `correlated` columns."""
        return self

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The number of each unit's block: units of different blocks are independent.

        Usually each unit is a block of its own. Where it is not, the sums of `unit_energies` and of
        `unit_cgfs` over a block have a meaning, and how a block's value is shared out has none.
        Such a layer defines `unit_cgfs_given` and `sample_given` too.
        """
        return np.arange(self.n_units)

    @property
    def has_independent_units(self) -> bool:
        """Whether each unit is a block of its own."""
        return len(np.unique(self.blocks)) == self.n_units

    def unit_cgfs_given(
        self,
        inputs: Float[Array, "*batch columns"],
        known: Bool[Array, "*rows units"],
        values: Float[Array, "*rows columns"],
    ) -> Float[Array, "*all units"]:
        """Return each unit's cgf if the `known` units are held at their `values`.

        A known unit has I·x − U(x) instead of the integral over x. The value of a block is at its
        known units and at its first other unit.
        """
        held = self.fold(inputs * values) - self.unit_energies(values)
        return jnp.where(known, held, self.unit_cgfs(inputs))

    def sample_given(
        self,
        inputs: Float[Array, "*batch columns"],
        known: Bool[Array, "*rows units"],
        values: Float[Array, "*rows columns"],
        *,
        key: PRNGKeyArray,
    ) -> Float[Array, "*all columns"]:
        """Draw the units that are not `known` given those that are; these keep their values."""
        return jnp.where(self.spread(known), values, self.sample(inputs, key=key))

    def mean_given(
        self,
        inputs: Float[Array, "*batch columns"],
        known: Bool[Array, "*rows units"],
        values: Float[Array, "*rows columns"],
    ) -> Float[Array, "*all columns"]:
        """Return ⟨x⟩ given the `known` units; these have their values."""
        if self.has_independent_units:
            return jnp.where(self.spread(known), values, self.mean(inputs))
        return jax.grad(lambda i: self.unit_cgfs_given(i, known, values).sum())(inputs)

    def variance_given(
        self,
        inputs: Float[Array, "*batch columns"],
        known: Bool[Array, "*rows units"],
        values: Float[Array, "*rows columns"],
    ) -> Float[Array, "*all columns"]:
        """Return each column's variance given the `known` units, whose own is 0."""
        if self.has_independent_units:
            return jnp.where(self.spread(known), 0.0, self.variance(inputs))
        mean = functools.partial(self.mean_given, known=known, values=values)
        return derivatives_of_means(mean, inputs, self.blocks, self.spread)

    def fold(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Sum the columns of each unit."""
        return x

    def spread(self, x: Array) -> Array:
        """Repeat each unit's entry over the columns of that unit: (..., units) → (..., columns)."""
        return x

    @property
    def is_rescalable(self) -> np.ndarray:
        """Which units may be rescaled, as a mask: scale · x has a layer of the same type."""
        return np.zeros(self.n_units, bool)

    @property
    def is_shiftable(self) -> np.ndarray:
        """Which units may be shifted, as a mask: x + offset has a layer of the same type."""
        return np.zeros(self.n_units, bool)

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "AbstractLayer":
        """Return the layer of scale · x + offset, with a scale and an offset for each unit.

        Units that can be neither rescaled nor shifted accept only a scale of 1 and an offset of 0.

        Raises:
            InputError: naming the first unit that cannot be rescaled or shifted.
        """
        self.check_rescaling(scale, offset)
        return self

    # ---------------------------------------------------------------- what follows from it

    def check_rescaling(self, scale: np.ndarray, offset: np.ndarray) -> None:
        """Raise InputError unless each unit can be rescaled and shifted by its scale and offset."""
        check_rescaling(self, scale, offset)

    def energy(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch"]:
        """Return U(x), the sum of the unit energies, in nats."""
        return self.unit_energies(x).sum(-1)

    def cgf(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "..."]:
        """Return Γ(I), the sum of the unit cgfs, in nats."""
        return self.unit_cgfs(inputs).sum(-1)

    def alternatives(
        self, x: Float[Array, "*batch columns"]
    ) -> Float[Array, "*batch proposals columns"]:
        """Return all states that differ from `x` in exactly one unit (discrete layers)."""
        columns, changes = self.proposals(x)
        along = np.arange(len(columns))[:, None]
        every = jnp.broadcast_to(x[..., None, :], (*x.shape[:-1], len(columns), x.shape[-1]))
        return every.at[..., along, columns].add(changes)

    def mean(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return ⟨x⟩ = Γ′(I)."""
        return jax.grad(lambda i: self.unit_cgfs(i).sum())(inputs)

    def variance(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return each column's variance, the diagonal of Γ″(I)."""
        return derivatives_of_means(self.mean, inputs, self.blocks, self.spread)

    @property
    def dtype(self) -> Any:
        """The floating-point type of the layer's parameters."""
        return jax.tree.leaves(self)[0].dtype

    @property
    def zero_inputs(self) -> Float[Array, " columns"]:
        """A constant input of zero: `mean(zero_inputs)` is the mean of the layer by itself."""
        return from_numpy(np.zeros(self.size, self.dtype))

    def sample_without_inputs(
        self, shape: Sequence[int], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw states of the layer by itself, without inputs, with the batch axes `shape`."""
        return self.sample(jnp.broadcast_to(self.zero_inputs, (*shape, self.size)), key=key)

    def as_states(self, x: Any, name: str) -> Array:
        """Return states: `x` itself, or its encoding if it has one column for each unit."""
        return checked_states(self, x, name)

    def validate(
        self, rows: Any, name: str = "data", first_row: int = 0, *, missing: bool = False
    ) -> np.ndarray:
        """Check rows in the user's coding and return them as a two-dimensional NumPy array.

        Args:
            rows: shape (n, units).
            name: what to call them in an error message.
            first_row: the index of the first row, for error messages.
            missing: whether NaN may stand for a missing value.

        Raises:
            InputError: a wrong shape, an entry that is not finite, or one outside the domain.
        """
        return checked_rows(self, rows, name, first_row, missing)

    def __str__(self) -> str:
        """Return the type and the number of units, for messages."""
        return f"{type(self).__name__}({self.n_units})"

    def to_fields(self) -> dict[str, Any]:
        """Return what a model file stores: layers, arrays, numbers and text, by field name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_fields(cls, **fields: Any) -> "AbstractLayer":
        """Build a layer from its dataclass fields, as a model file stores them."""
        return cls(**fields)
