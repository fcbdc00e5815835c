"""The base class of all layers: the methods that a layer must define, and derived methods."""

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._base.checks import as_array, positive_integer
from .._base.module import AbstractModule
from .._base.numerics import from_numpy, zeros_like
from .._base.parameters import data_in
from .._base.programs import compiled
from ..errors import InputError
from .arrays import (
    Columns,
    Rows,
    RowWeights,
    Units,
    bisected,
    derivatives_of_means,
    parameter,
    weighted_mean,
)
from .coding import AbstractCoding

# The largest |b| that bisection tries. At this bias, the mean of a unit on [0, 1] is 10⁻⁴ from an
# end of the interval.
STEEPEST = 1e4


class AbstractLayer(AbstractModule):
    r"""A layer whose units follow an exponential-family distribution, in natural parameters.

    Given constant `inputs` I, the units x of a layer have the density

        p(x | I) = exp(I·x − U(x) − Γ(I)),      Γ(I) = log ∫ exp(I·x − U(x)) dx

    where U is the layer's energy and Γ its cumulant generating function (cgf): the mean of x is
    Γ′(I) and its variance Γ″(I). To compute its energy and free energy, a model needs only its
    weights and the functions U and Γ of its layers.

    Units are independent given the inputs. In an `AbstractBlocked` layer, only units in different
    blocks are independent.

    The arrays of a layer are natural parameters, so the energy is affine in the arrays, and their
    domain is convex. Therefore any weighted average of two layers of a type is a layer of that
    type. An array that is not a parameter, such as the values of clamped units, is declared with
    `data_field` from `harmonium._base.parameters`; training does not change it.

    States are arrays of shape (..., size): batch axes first, then `size` columns. A unit may own
    several columns (a Potts unit has one for each of its states); `n_units` counts the units. Rows
    in the user's coding have one column for each of the `n_observed` observed units; for a Potts
    unit, this column holds an integer code. All units are observed, except in a `Mixed` layer with
    latent parts.

    A new layer type must define the abstract methods; docs/how_to_add_a_layer.md shows this for a
    layer of real units. A layer whose units take values from a short list of numbers needs less
    code; see `AbstractDiscrete`. Capabilities that only some layers have are defined by abstract
    classes in `harmonium.layers.capabilities`.

    Example:
        >>> layers = hm.Bernoulli(2), hm.Ising(2), hm.Gaussian(2, precision=[4.0, 4.0])
        >>> {str(layer): layer.variance(layer.zero_inputs).tolist() for layer in layers}
        {'Bernoulli(2)': [0.25, 0.25], 'Ising(2)': [1.0, 1.0], 'Gaussian(2)': [0.25, 0.25]}
    """

    # ---------------------------------------------------------------- what a layer defines

    size: eqx.AbstractVar[int]

    @property
    @abstractmethod
    def coding(self) -> AbstractCoding:
        """The values of the units, and the conversion of rows in the user's coding to states."""

    @abstractmethod
    def unit_energies(self, x: Columns) -> Units:
        """Return each unit's energy U_i(x_i), in nats."""

    @abstractmethod
    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return each unit's Γ_i(I_i) = log ∫ exp(I_i·x_i − U_i(x_i)) dx_i, in nats."""

    @abstractmethod
    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw states from p(x | inputs)."""

    @abstractmethod
    def shift(self, delta: Columns) -> "AbstractLayer":
        """Return the layer whose p(x | I) equals this layer's p(x | I + delta).

        The arrays of the result must be affine in `delta`, because centring computes the effect of
        a shift from the derivative with respect to `delta`.
        """

    @abstractmethod
    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "AbstractLayer":
        """Return the layer whose moments without inputs are the (weighted) moments of `x`.

        The moments are smoothed with one pseudo-row, which keeps every parameter finite.
        """

    @abstractmethod
    def base(self) -> "AbstractLayer":
        """Return the layer at which annealing starts: uniform over all states if possible.

        Γ(0) must be finite, so parameters that ensure this, such as a precision, keep their values.
        """

    # ---------------------------------- derived methods that a closed form may override

    def mean(self, inputs: Columns) -> Columns:
        """Return the mean of each column, ⟨x⟩ = Γ′(I)."""
        return jax.grad(lambda i: self.unit_cgfs(i).sum())(inputs)

    def variance(self, inputs: Columns) -> Columns:
        """Return each column's variance, the diagonal of Γ″(I)."""
        return derivatives_of_means(self.mean, inputs, np.arange(self.n_units), self.spread)

    def energy(self, x: Columns) -> Float[Array, "*batch"]:
        """Return U(x), the sum of the unit energies, in nats."""
        return self.unit_energies(x).sum(-1)

    def cgf(self, inputs: Columns) -> Float[Array, "..."]:
        """Return Γ(I), the sum of the unit cgfs, in nats."""
        return self.unit_cgfs(inputs).sum(-1)

    # ---------------------------------------------------------------- derived methods

    @property
    def n_units(self) -> int:
        """The number of units."""
        return self.coding.n_units

    @property
    def n_observed(self) -> int:
        """The number of observed units, each with one column of rows in the user's coding."""
        return self.coding.n_observed

    @property
    def n_latent(self) -> int:
        """The number of latent units, which count as missing in every row."""
        return self.n_units - self.n_observed

    @property
    def n_states(self) -> int | None:
        """The number of joint states, or None if the states cannot be enumerated."""
        return None

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether all states consist of small integers, which bfloat16 represents exactly."""
        return self.coding.holds_small_integers

    @property
    def dtype(self) -> Any:
        """The floating-point type of the layer's parameters."""
        return jax.tree.leaves(self)[0].dtype

    @property
    def form(self) -> tuple:
        """A tuple for comparing layers: their type, sizes and data, without trained parameters."""
        data = tuple(np.asarray(array).tobytes() for array in data_in(self))
        return (jax.tree.structure(self), *data)

    @property
    def zero_inputs(self) -> Float[Array, " columns"]:
        """Inputs of 0; `mean(zero_inputs)` is the mean of the layer without inputs."""
        return from_numpy(np.zeros(self.size, self.dtype))

    def sample_without_inputs(self, shape: Sequence[int], *, key: PRNGKeyArray) -> Columns:
        """Draw states of the layer without inputs, with batch axes `shape`."""
        return self.sample(jnp.broadcast_to(self.zero_inputs, (*shape, self.size)), key=key)

    def fit_observed(self, rows: Any, weights: RowWeights = None) -> "AbstractLayer":
        """Fit observed units to the moments of rows in the user's coding; return the layer."""
        return self.fit_moments(self.encode(rows), weights)

    @property
    def side_by_side(self) -> tuple["AbstractLayer", ...]:
        """The parts of a `Mixed` layer, or only the layer itself if it is of any other type."""
        return (self,)

    @property
    def by_depth(self) -> tuple["AbstractLayer", ...]:
        """The layers of a deep model that this layer joins, in order of depth, or else (self,)."""
        return (self,)

    @property
    def observed_columns(self) -> Bool[np.ndarray, " columns"]:
        """A mask of the columns of observed units."""
        return np.asarray(self.spread(np.arange(self.n_units) < self.n_observed))

    def fold(self, x: Columns) -> Units:
        """Sum the columns of each unit: (..., columns) → (..., units)."""
        return self.coding.fold(x)

    def spread(self, x: Any) -> Any:
        """Repeat each unit's entry over the columns of that unit: (..., units) → (..., columns)."""
        return self.coding.spread(x)

    def encode(self, rows: Any) -> Columns:
        """Convert rows in the user's coding to states.

        JAX can trace this method, which does not check the rows; `validate` does.

        Raises:
            InputError: the layer has latent units, for which rows have no values.
        """
        if self.n_latent:
            raise InputError(
                f"rows: expected a value for every unit; got rows of {self}, which have no values"
                f" for the latent units (number of latent units: {self.n_latent})."
            )
        return self._encoded(rows)

    def encode_seen(self, rows: Any) -> Columns:
        """Convert rows to states, with NaN for missing and latent units; JAX can trace this."""
        missing = self.spread(self.coding.missing(rows))
        return jnp.where(missing, jnp.nan, self._encoded(rows))

    def _encoded(self, rows: Any) -> Columns:
        states = self.coding.encode(rows, self.dtype)
        return from_numpy(states) if isinstance(states, np.ndarray) else states

    def decode(self, x: Any) -> np.ndarray:
        """Convert states to rows in the user's coding, of the smallest dtype that can hold them."""
        # JAX would compile a program for each shape of states, so they are decoded in NumPy.
        return self.coding.decode(np.asarray(x))

    def validate(
        self, rows: Any, name: str = "data", first_row: int = 0, *, missing: bool = False
    ) -> np.ndarray:
        """Check rows in the user's coding and return them as a two-dimensional NumPy array.

        Args:
            rows: shape (n, observed units).
            name: the name of the rows in an error message.
            first_row: the number that error messages give to the first row.
            missing: whether NaN may represent a missing value.

        Raises:
            InputError: the shape is wrong, or an entry is not a finite number or is not a value
                that its unit can take.
        """
        array = as_array(rows, name)
        if array.ndim != 2 or array.shape[1] != self.n_observed or not array.shape[0]:
            raise InputError(
                f"{name}: expected shape (rows, {self.n_observed}), with at least one row and a"
                f" column for each observed unit of {self}; got shape {np.shape(rows)}."
            )
        if array.dtype.kind not in "buif":
            raise InputError(f"{name}: expected numbers; got an array of dtype {array.dtype}.")
        coding = self.coding
        is_missing = np.isnan(array) & missing
        wrong = ~np.isfinite(array) & ~is_missing
        is_infinite = wrong.any()
        if not is_infinite:
            wrong = coding.outside(array) & ~is_missing
        if not wrong.any():
            return array
        row, column = np.argwhere(wrong)[0]
        expected = "expected finite numbers"
        if not is_infinite:
            expected = coding.describe(int(column))
        raise InputError(
            f"{name}: {expected}; got {array[row, column]} in row {first_row + row},"
            f" column {column} (number of such entries: {int(wrong.sum())})."
        )

    def as_states(self, x: Any, name: str) -> Columns:
        """Return `x`, which holds states or rows in the user's coding, as states.

        Raises:
            InputError: the last axis has the size of neither states nor rows in the user's coding,
                or `x` holds rows without values for the layer's latent units.
        """
        width = jnp.shape(x)[-1:]
        if width == (self.size,):
            if jnp.issubdtype(jnp.result_type(x), jnp.floating):
                return x
            return jnp.asarray(x, self.dtype)
        if width == (self.n_observed,) and not self.n_latent:
            return self.encode(x)
        sizes = f"{self.size}"
        if self.n_latent:
            sizes += ", including the columns of latent units"
        elif self.n_units != self.size:
            sizes += f", or of size {self.n_units} for rows of codes"
        raise InputError(f"{name}: expected a last axis of size {sizes}; got shape {jnp.shape(x)}.")

    def __str__(self) -> str:
        """Return the type and the number of units as text, for messages."""
        return f"{type(self).__name__}({self.n_units})"

    def to_fields(self) -> dict[str, Any]:
        """Return the fields that a model file stores (layers, arrays, numbers, text), by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_fields(cls, **fields: Any) -> "AbstractLayer":
        """Build a layer from its dataclass fields, as a model file stores them."""
        return cls(**fields)


class AbstractBiased(AbstractLayer):
    """A layer whose energy contains −b·x, so that inputs add to the bias b."""

    bias: eqx.AbstractVar[Array]

    def shift(self, delta: Columns) -> "AbstractBiased":
        return eqx.tree_at(lambda layer: layer.bias, self, self.bias + delta)

    def base(self) -> "AbstractBiased":
        """Return the layer with bias 0 and all other parameters, such as a precision, unchanged."""
        return eqx.tree_at(lambda layer: layer.bias, self, zeros_like(self.bias))


class AbstractUnits(AbstractBiased):
    """A layer of units with one column and one bias each; usually, the energy is U(x) = −b·x.

    A subclass may override the energy. If it has no further parameters, it needs no `__init__`.
    However, type checkers ignore the inherited `__init__` and require a bias, so the layers of this
    package define their own.

    Attributes:
        size: number of units.
        bias: b, shape (size,), in nats per unit of x.

    Example:
        >>> rows = jnp.array([[0.1, 0.5], [0.3, 0.5]])
        >>> layer = hm.UnitInterval(2).fit_moments(rows)  # and one row more, of the mean ½ at b = 0
        >>> [round(mean, 3) for mean in layer.mean(layer.zero_inputs).tolist()]
        [0.3, 0.5]
    """

    size: int = eqx.field(static=True)
    bias: Float[Array, "*models size"]

    def __init__(self, size: int, bias: Any = None):
        name = type(self).__name__
        self.size = positive_integer(size, f"{name} size")
        self.bias = parameter(bias, (self.size,), f"{name} bias")

    def unit_energies(self, x: Columns) -> Units:
        """Return −b_i x_i."""
        return -self.bias * x

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "AbstractUnits":
        """Set b so that the mean without inputs is (n m + m₀)/(n + 1).

        Here m is the mean of the n rows, and m₀ is the mean of the layer at b = 0. The biases
        are found by bisection. Other parameters stay unchanged.
        """
        unbiased = AbstractBiased.base(self)
        mean, n = weighted_mean(x, weights)
        mean = (n * mean + unbiased.mean(self.zero_inputs)) / (n + 1.0)
        # Bisecting s with b = sinh s is precise near 0 and still covers a wide range in few steps.
        most = jnp.full_like(mean, np.arcsinh(STEEPEST))
        s, _ = bisected(lambda s: unbiased.mean(jnp.sinh(s)) < mean, -most, most)
        return eqx.tree_at(lambda layer: layer.bias, self, jnp.sinh(s))


@compiled
def independent_states(
    layer: AbstractLayer, shape: tuple[int, ...], *, key: PRNGKeyArray
) -> Columns:
    """Draw states of the layer without inputs, in one compiled program."""
    return layer.sample_without_inputs(shape, key=key)
