"""Optional capabilities of layers, which algorithms use through the functions of this module.

Each section defines an abstract class, which layers with the capability implement, and functions
that accept any layer. A composite layer, such as `Mixed`, implements each capability by calling the
same functions on its parts, whether or not a part has the capability. Other packages therefore call
the functions instead of testing for a class.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Integer, PRNGKeyArray

from .._base.numerics import from_numpy, product
from .._base.threefry import key_of
from ..errors import InputError
from .arrays import AllColumns, AllUnits, Columns, Proposals, Rows, RowWeights, derivatives_of_means
from .base import AbstractLayer

Known = Bool[Array, "*rows units"]  # which units are held at given values
Values = Float[Array, "*rows columns"]

# ---------------------------------------------------------------- states that can be enumerated


class AbstractEnumerable(AbstractLayer):
    """A layer that can enumerate its joint states, provided that their number is finite."""

    @property
    @abstractmethod
    def n_states(self) -> int | None:
        """The number of joint states, or None if they cannot be enumerated."""

    @abstractmethod
    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states with these indices, which range from 0 to `n_states` − 1.

        The argument is an array of indices rather than a range, so that a `Mixed` layer can split
        each index among its parts.
        """

    @abstractmethod
    def proposals(self, x: Columns) -> Proposals:
        """Return every single-site proposal from `x`.

        A proposal changes exactly one unit. Each proposal consists of the indices of the few
        columns that change, which are the same for all `x`, and of the number added to each of
        these columns. Together, the proposals for a unit lead to all of its other states. Some
        proposals have additional columns, to which 0 is added, so that all have the same width.
        """


def joint_states(
    layer: AbstractLayer, indices: Integer[Array, "*batch"]
) -> Float[Array, "*batch columns"]:
    """Return the joint states with these indices.

    Raises:
        InputError: the states of the layer cannot be enumerated.
    """
    if not isinstance(layer, AbstractEnumerable):
        raise InputError(
            f"{layer}: expected a layer whose states can be enumerated; got continuous or"
            " unbounded states."
        )
    return layer.states(indices)


def proposals_from(layer: AbstractLayer, x: Array) -> tuple[np.ndarray, Array]:
    """Return every single-site proposal from `x`; continuous units have none.

    For each proposal, a pseudo-likelihood needs only a few rows of W, rather than a product with
    all of W.
    """
    if isinstance(layer, AbstractEnumerable):
        return layer.proposals(x)
    return np.zeros((0, 1), int), jnp.zeros((*x.shape[:-1], 0, 1), x.dtype)


def columns_of_proposals(layer: AbstractLayer) -> np.ndarray:
    """Return the indices of the columns that each proposal changes, the same for all states."""
    columns = np.zeros((0, 1), int)

    def traced() -> Array:
        nonlocal columns
        columns, changes = proposals_from(layer, layer.sample(layer.zero_inputs, key=key_of(0)))
        return changes

    jax.eval_shape(traced)  # traces without computing
    return columns


def alternatives(layer: AbstractLayer, x: Array) -> Float[Array, "*batch proposals columns"]:
    """Return all states that differ from `x` in exactly one unit."""
    columns, changes = proposals_from(layer, x)
    along = np.arange(len(columns))[:, None]
    states = jnp.broadcast_to(x[..., None, :], (*x.shape[:-1], len(columns), x.shape[-1]))
    return states.at[..., along, columns].add(changes)


# ---------------------------------------------------------------- units that depend on each other


class AbstractBlocked(AbstractLayer):
    """A layer whose units depend on one another only within blocks, such as groups of indicators.

    Usually each column is a unit, so that rows in the user's coding are states, any column can be
    missing on its own, and a single-site proposal changes one column.
    """

    @property
    @abstractmethod
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The index of each unit's block; units in different blocks are independent.

        Only the sums of `unit_energies` and `unit_cgfs` over a block are meaningful; how a block's
        value is divided among its units is arbitrary.
        """

    @abstractmethod
    def unit_cgfs_given(self, inputs: Columns, known: Known, values: Values) -> AllUnits:
        """Return each unit's cgf if the `known` units are held at their `values`.

        A known unit contributes I·x − U(x) instead of its cgf Γ(I). Only the sum over a block is
        meaningful.
        """

    @abstractmethod
    def sample_given(
        self, inputs: Columns, known: Known, values: Values, *, key: PRNGKeyArray
    ) -> AllColumns:
        """Draw the unknown units given the `known` ones, which keep their values."""

    def apart(self) -> AbstractLayer:
        """Return a layer of independent units of a similar type, or this layer if there is none."""
        return self

    def variance(self, inputs: Columns) -> Columns:
        return derivatives_of_means(self.mean, inputs, self.blocks, self.spread)

    def mean_given(self, inputs: Columns, known: Known, values: Values) -> AllColumns:
        """Return ⟨x⟩ given the `known` units, whose means are their values."""
        return jax.grad(lambda i: self.unit_cgfs_given(i, known, values).sum())(inputs)

    def variance_given(self, inputs: Columns, known: Known, values: Values) -> AllColumns:
        """Return each column's variance given the `known` units, which have variance 0."""
        mean = functools.partial(self.mean_given, known=known, values=values)
        return derivatives_of_means(mean, inputs, self.blocks, self.spread)


def blocks_of(layer: AbstractLayer) -> Integer[np.ndarray, " units"]:
    """Return the index of each unit's block; in most layers each unit is its own block."""
    return layer.blocks if isinstance(layer, AbstractBlocked) else np.arange(layer.n_units)


def has_independent_units(layer: AbstractLayer) -> bool:
    """Return whether every unit forms a block of its own."""
    return len(np.unique(blocks_of(layer))) == layer.n_units


def is_binary(layer: AbstractLayer) -> bool:
    """Return whether all columns are 0 or 1 and the units are independent."""
    low, high = layer.coding.support
    is_discrete = layer.n_states is not None and has_independent_units(layer)
    return is_discrete and not low.any() and bool((high == 1).all())


def apart(layer: AbstractLayer) -> AbstractLayer:
    """Return a layer of independent units of a similar type; its parameters are unspecified."""
    return layer.apart() if isinstance(layer, AbstractBlocked) else layer


def unit_cgfs_given(layer: AbstractLayer, inputs: Array, known: Array, values: Array) -> Array:
    """Return each unit's cgf if the `known` units are held at their `values`."""
    if isinstance(layer, AbstractBlocked):
        return layer.unit_cgfs_given(inputs, known, values)
    held = layer.fold(inputs * values) - layer.unit_energies(values)
    return jnp.where(known, held, layer.unit_cgfs(inputs))


def sample_given(
    layer: AbstractLayer, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
) -> Array:
    """Draw the unknown units given the `known` ones, which keep their values."""
    if isinstance(layer, AbstractBlocked):
        return layer.sample_given(inputs, known, values, key=key)
    return jnp.where(layer.spread(known), values, layer.sample(inputs, key=key))


def mean_given(layer: AbstractLayer, inputs: Array, known: Array, values: Array) -> Array:
    """Return ⟨x⟩ given the `known` units, whose means are their values."""
    if isinstance(layer, AbstractBlocked):
        return layer.mean_given(inputs, known, values)
    return jnp.where(layer.spread(known), values, layer.mean(inputs))


def variance_given(layer: AbstractLayer, inputs: Array, known: Array, values: Array) -> Array:
    """Return each column's variance given the `known` units, which have variance 0."""
    if isinstance(layer, AbstractBlocked):
        return layer.variance_given(inputs, known, values)
    return jnp.where(layer.spread(known), 0.0, layer.variance(inputs))


# ------------------------------------------------ real units, which can be rescaled and shifted


class AbstractAffine(AbstractLayer):
    """A layer of real units whose type is preserved by rescaling and, in most cases, shifting."""

    @property
    def is_rescalable(self) -> Bool[np.ndarray, " units"]:
        """A mask of the units that can be rescaled."""
        return np.ones(self.n_units, bool)

    @property
    def is_shiftable(self) -> Bool[np.ndarray, " units"]:
        """A mask of the units that can be shifted; rectified units cannot."""
        return np.ones(self.n_units, bool)

    @abstractmethod
    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> AbstractAffine:
        """Return the layer whose states are scale · x + offset, with one of each per unit."""

    @property
    @abstractmethod
    def curvature(self) -> Float[Array, " columns"]:
        """A curvature c per column such that U(x) grows at least as fast as ½cx² for large |x|.

        The curvature of a bounded column is ∞; a curvature of 0 guarantees nothing. Whether a
        model's Z is finite depends on both layers and W: see `finite_z`.
        """

    @abstractmethod
    def project(self) -> AbstractAffine:
        """Return the layer with its parameters projected back into their domain."""

    @property
    def gaussian_parameters(self) -> tuple[Array, Array] | None:
        """Return (b, γ) if the energy is ½γx² − bx on the whole real line, or None otherwise."""
        return None


def is_rescalable(layer: AbstractLayer) -> Bool[np.ndarray, " units"]:
    """Return a mask of the units that can be rescaled without a change of layer type."""
    if isinstance(layer, AbstractAffine):
        return layer.is_rescalable
    return np.zeros(layer.n_units, bool)


def is_shiftable(layer: AbstractLayer) -> Bool[np.ndarray, " units"]:
    """Return a mask of the units that can be shifted without a change of layer type."""
    if isinstance(layer, AbstractAffine):
        return layer.is_shiftable
    return np.zeros(layer.n_units, bool)


def rescaled(layer: AbstractLayer, scale: np.ndarray, offset: np.ndarray) -> AbstractLayer:
    """Return the layer whose states are scale · x + offset, with one of each per unit.

    A unit that cannot be rescaled accepts only a scale of 1; a unit that cannot be shifted, only an
    offset of 0.

    Raises:
        InputError: a unit cannot be rescaled or shifted; the message names the first such unit.
    """
    _check(layer, "rescaled", "scale", scale, is_rescalable(layer) | (scale == 1))
    _check(layer, "shifted", "offset", offset, is_shiftable(layer) | (offset == 0))
    return layer.rescaled(scale, offset) if isinstance(layer, AbstractAffine) else layer


def _check(
    layer: AbstractLayer, what: str, change: str, values: np.ndarray, is_able: np.ndarray
) -> None:
    wrong = np.flatnonzero(~is_able)
    if len(wrong):
        unit = int(wrong[0])
        raise InputError(
            f"{layer}: {layer.coding.describe(unit)}, and such a unit cannot be {what};"
            f" got {change} {values[unit]:g} for unit {unit}."
        )


def curvature(layer: AbstractLayer) -> Float[Array, "*rows columns"]:
    """Return each column's curvature: ∞ for a bounded column, 0 if no curvature is known."""
    if isinstance(layer, AbstractAffine):
        return layer.curvature
    return from_numpy(np.where(are_bounded(layer), np.inf, 0.0).astype(layer.dtype))


def is_bounded(layer: AbstractLayer) -> bool:
    """Return whether every column is bounded, whatever the values of the parameters."""
    return bool(np.all(are_bounded(layer)))


def are_unbounded(layer: AbstractLayer) -> Bool[np.ndarray, " columns"]:
    """Return a mask of the columns whose values are unbounded both above and below."""
    low, high = layer.coding.support
    return np.isinf(low) & np.isinf(high)


def unbounded_units(layer: AbstractLayer) -> Bool[np.ndarray, " units"]:
    """Return a mask of the units with a column that is unbounded both above and below."""
    columns = from_numpy(are_unbounded(layer).astype(layer.dtype))
    return np.asarray(layer.fold(columns)) > 0


def are_bounded(layer: AbstractLayer) -> Bool[np.ndarray, " columns"]:
    """Return a mask of the columns whose values are bounded, whatever the parameters."""
    low, high = layer.coding.support
    # The counts of a document are at most its length, although no bound holds for all documents.
    return np.isfinite(low) & np.isfinite(high) | takes_lengths(layer)


def projected(layer: AbstractLayer) -> AbstractLayer:
    """Return the layer with its parameters projected back into their domain."""
    return layer.project() if isinstance(layer, AbstractAffine) else layer


def gaussian_parameters(layer: AbstractLayer) -> tuple[Array, Array] | None:
    """Return (b, γ) of a layer of independent normal units, or None for any other layer."""
    return layer.gaussian_parameters if isinstance(layer, AbstractAffine) else None


# ---------------------------------------------------------------- real columns with a covariance


class AbstractCorrelated(AbstractLayer):
    """A layer in which some real columns are correlated."""

    @property
    @abstractmethod
    def correlated(self) -> Integer[np.ndarray, " some"]:
        """The indices of the correlated columns."""

    @property
    @abstractmethod
    def whitening(self) -> Float[Array, "some some"]:
        """A matrix S such that SSᵀ is the covariance of the `correlated` columns without inputs."""

    @abstractmethod
    def along(self, basis: Float[Array, "some some"]) -> AbstractCorrelated:
        """Return the layer in terms of y, where x = S y in `correlated` columns and S = `basis`."""

    @abstractmethod
    def confined(self, variance: float) -> AbstractCorrelated:
        """Return the layer with the eigenvalues of the covariance matrix limited to `variance`."""


def correlated(layer: AbstractLayer) -> Integer[np.ndarray, " some"]:
    """Return the indices of the correlated columns; empty for most layers."""
    return layer.correlated if isinstance(layer, AbstractCorrelated) else np.zeros(0, int)


def whitening(layer: AbstractLayer) -> Float[Array, "some some"]:
    """Return a matrix S such that SSᵀ is the correlated columns' covariance without inputs."""
    return layer.whitening if isinstance(layer, AbstractCorrelated) else jnp.zeros((0, 0))


def along(layer: AbstractLayer, basis: Float[Array, "some some"]) -> AbstractLayer:
    """Return the layer in terms of y, where x = S y in correlated columns and S = `basis`."""
    return layer.along(basis) if isinstance(layer, AbstractCorrelated) else layer


def confined(layer: AbstractLayer, variance: float) -> AbstractLayer:
    """Return the layer with the eigenvalues of the covariance matrix limited to `variance`."""
    return layer.confined(variance) if isinstance(layer, AbstractCorrelated) else layer


# ---------------------------------------------------------------- inputs determined by means


class AbstractMatched(AbstractLayer):
    """A layer whose inputs can be computed from its means, by inverting I ↦ ⟨x⟩."""

    @property
    def has_inputs_at(self) -> bool:
        """Whether the inputs of every part of the layer can be computed from its means."""
        return True

    @abstractmethod
    def inputs_at(self, mean: Columns) -> Columns:
        """Return the inputs at which units have these means, which must not reach their bounds."""

    def fit_with_prior(
        self, x: Rows, weights: Float[Array, " rows"], prior: Array
    ) -> AbstractLayer:
        """Return the layer fitted to rows and to `prior` pseudo-rows with the layer's moments."""
        own = self.mean(self.zero_inputs)
        mean = (product(weights, x) + prior * own) / (weights.sum() + prior)
        return self.shift(self.inputs_at(mean))


def has_inputs_at(layer: AbstractLayer) -> bool:
    """Return whether `inputs_at` can compute a layer's inputs from its means."""
    return isinstance(layer, AbstractMatched) and layer.has_inputs_at


def inputs_at(layer: AbstractLayer, mean: Array) -> Float[Array, "*batch columns"]:
    """Return the inputs at which the units of a layer have these means.

    Raises:
        InputError: the inputs of the layer cannot be computed from its means.
    """
    _check_matched(layer)
    return layer.inputs_at(mean)  # pyright: ignore[reportAttributeAccessIssue]


def _check_matched(layer: AbstractLayer) -> None:
    if not has_inputs_at(layer):
        raise InputError(f"{layer}: expected a layer whose inputs can be computed from its means.")


def fit_with_prior(
    layer: AbstractLayer, x: Rows, weights: Float[Array, " rows"], prior: Array
) -> AbstractLayer:
    """Return the layer fitted to rows and to `prior` pseudo-rows with the layer's moments.

    Raises:
        InputError: the inputs of the layer cannot be computed from its means.
    """
    _check_matched(layer)
    return layer.fit_with_prior(x, weights, prior)  # pyright: ignore[reportAttributeAccessIssue]


# ---------------------------------------------------------------- mixtures of classes


class AbstractClassed(AbstractLayer):
    """A layer with a mixture distribution, whose classes are data, not trainable parameters.

    `initialize` finds the classes with the EM algorithm, which starts from rows that are far apart.
    """

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes of the mixture."""

    @property
    @abstractmethod
    def prototype(self) -> AbstractLayer:
        """A single layer of the same type and size as every class."""

    @abstractmethod
    def refitted(self, x: Rows, weights: RowWeights = None) -> AbstractClassed:
        """Return the layer with classes refitted to the rows, starting from its present classes."""


def has_classes(layer: AbstractLayer) -> TypeGuard[AbstractClassed]:
    """Return whether a layer has a mixture distribution over classes."""
    return isinstance(layer, AbstractClassed)


# ---------------------------------------------------------------- ordered states


class AbstractOrdered(AbstractLayer):
    """A layer that defines a prior on the weights of units with ordered states, such as ratings."""

    @property
    @abstractmethod
    def ordered_columns(self) -> Integer[np.ndarray, " some"]:
        """The indices of the columns that represent ordered states."""

    @property
    @abstractmethod
    def smoothing(self) -> Float[np.ndarray, "some some"]:
        """A matrix S that defines a prior on the weights between a hidden unit and these columns.

        The prior covariance of these weights is (SSᵀ)⁻¹.
        """


def ordered_columns(layer: AbstractLayer) -> Integer[np.ndarray, " some"]:
    """Return the indices of the columns that represent ordered states; empty for most layers."""
    return layer.ordered_columns if isinstance(layer, AbstractOrdered) else np.zeros(0, int)


def smoothing(layer: AbstractLayer) -> Float[np.ndarray, "some some"]:
    """Return S; (SSᵀ)⁻¹ is the prior covariance of one hidden unit's weights to ordered columns."""
    return layer.smoothing if isinstance(layer, AbstractOrdered) else np.zeros((0, 0))


# ---------------------------------------------------------------- what rows take as given


class AbstractDocuments(AbstractLayer):
    """A layer that models rows given their length, such as documents given their word count.

    The layer defines p(x | length), so each length has its own log Z.
    """

    # If the length were modelled too, there would be a single log Z and no need for this class, but
    # chains would change length by only a word or two per sweep.

    @abstractmethod
    def lengths(self, x: Columns) -> Float[Array, "*batch"]:
        """Return the length of each state."""

    @abstractmethod
    def with_lengths(self, lengths: Float[Array, "*batch"]) -> AbstractDocuments:
        """Return the layer for states of the given length, or of a separate length for each row."""


def takes_lengths(layer: Any) -> TypeGuard[AbstractDocuments]:
    """Return whether the layer takes the length of a row as given."""
    return isinstance(layer, AbstractDocuments)


class AbstractConditioned(AbstractLayer):
    """A layer of which some units, the same in every row, are given.

    Each choice of given values u has its own Z(u) = e^(−F(u)), a sum over the targets and the
    hidden units. `likelihood.missing` computes this sum for a row whose targets are missing.
    """

    @property
    @abstractmethod
    def given_units(self) -> Bool[np.ndarray, " units"]:
        """A mask of the given units; the others are the targets."""

    @property
    @abstractmethod
    def couplings(self) -> Any:
        """The weights between given columns and columns of targets."""


def given_units(layer: AbstractLayer) -> Bool[np.ndarray, " units"]:
    """Return a mask of the units that are given in every row; in most layers, no unit is given."""
    if isinstance(layer, AbstractConditioned):
        return layer.given_units
    return np.zeros(layer.n_units, bool)


def n_targets(layer: AbstractLayer) -> int:
    """Return the number of units that are not given; in most layers, all units."""
    return int((~given_units(layer)).sum())


def couplings(layer: AbstractLayer) -> tuple[Any, ...]:
    """Return the arrays of weights within a layer: those from given units to targets, if any."""
    return (layer.couplings,) if isinstance(layer, AbstractConditioned) else ()


def is_conditional(layer: Any) -> bool:
    """Return whether some units of the layer are given in every row."""
    return isinstance(layer, AbstractConditioned)


def takes_given(layer: Any) -> bool:
    """Return whether a part of each row is given: its length, or some of its units."""
    return takes_lengths(layer) or is_conditional(layer)
