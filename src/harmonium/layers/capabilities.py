"""What only some layers can do: an algorithm asks for it by type, through a function here.

Each section has an abstract class with what a layer writes, and functions that answer for any
layer. A composite layer, such as `Mixed`, has all capabilities and passes questions on to its parts
by the same functions; so the functions, not the classes, are what other packages call.
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

Known = Bool[Array, "*rows units"]  # which units are held, at values of their columns
Values = Float[Array, "*rows columns"]

# ---------------------------------------------------------------- states that can be listed


class AbstractEnumerable(AbstractLayer):
    """A layer whose joint states can be listed, if each of its units has finitely many."""

    @property
    @abstractmethod
    def n_states(self) -> int | None:
        """The number of joint states; None if a part of the layer has a continuum of them."""

    @abstractmethod
    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states with these indices, 0 to `n_states` − 1.

        Indices, not a start and a count, let a mixed layer split each into one for each part.
        """

    @abstractmethod
    def proposals(self, x: Columns) -> Proposals:
        """Return every single-site proposal from `x`.

        A proposal changes exactly one unit. It consists of the few columns that change, the same
        for all `x`, and of what is added to each of them. The proposals of a unit lead to all of
        its other states. A column that only pads a proposal has the change 0.
        """


def joint_states(
    layer: AbstractLayer, indices: Integer[Array, "*batch"]
) -> Float[Array, "*batch columns"]:
    """Return the joint states with these indices.

    Raises:
        InputError: a layer whose states cannot be listed.
    """
    if not isinstance(layer, AbstractEnumerable):
        raise InputError(
            f"{layer}: expected a layer whose states can be enumerated; got a continuum."
        )
    return layer.states(indices)


def proposals_from(layer: AbstractLayer, x: Array) -> tuple[np.ndarray, Array]:
    """Return every single-site proposal from `x`: none from continuous states.

    A pseudo-likelihood then costs a few rows of W for each proposal, not a product with all of W.
    """
    if isinstance(layer, AbstractEnumerable):
        return layer.proposals(x)
    return np.zeros((0, 1), int), jnp.zeros((*x.shape[:-1], 0, 1), x.dtype)


def columns_of_proposals(layer: AbstractLayer) -> np.ndarray:
    """Return the columns that each proposal changes, which are the same from all states."""
    columns = np.zeros((0, 1), int)

    def traced() -> Array:
        nonlocal columns
        columns, changes = proposals_from(layer, layer.sample(layer.zero_inputs, key=key_of(0)))
        return changes

    jax.eval_shape(traced)  # draws nothing
    return columns


def alternatives(layer: AbstractLayer, x: Array) -> Float[Array, "*batch proposals columns"]:
    """Return all states that differ from `x` in exactly one unit."""
    columns, changes = proposals_from(layer, x)
    along = np.arange(len(columns))[:, None]
    states = jnp.broadcast_to(x[..., None, :], (*x.shape[:-1], len(columns), x.shape[-1]))
    return states.at[..., along, columns].add(changes)


# ---------------------------------------------------------------- units that depend on each other


class AbstractBlocked(AbstractLayer):
    """A layer whose units depend on each other in blocks, such as the columns of a category.

    Kept as units, they let the user's rows be states: a missing or given value is a column's own,
    and a single-site proposal changes one column.
    """

    @property
    @abstractmethod
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The number of each unit's block: units of different blocks are independent.

        The sums of `unit_energies` and of `unit_cgfs` over a block have a meaning; how a block's
        value is distributed over its units has none.
        """

    @abstractmethod
    def unit_cgfs_given(self, inputs: Columns, known: Known, values: Values) -> AllUnits:
        """Return each unit's cgf if the `known` units are held at their `values`.

        A known unit has I·x − U(x) instead of the integral over x. The value of a block is at its
        known units and at its first other unit.
        """

    @abstractmethod
    def sample_given(
        self, inputs: Columns, known: Known, values: Values, *, key: PRNGKeyArray
    ) -> AllColumns:
        """Draw the units that are not `known` given those that are; these keep their values."""

    def apart(self) -> AbstractLayer:
        """Return a layer of the same units that are independent; itself if there is none."""
        return self

    def variance(self, inputs: Columns) -> Columns:
        return derivatives_of_means(self.mean, inputs, self.blocks, self.spread)

    def mean_given(self, inputs: Columns, known: Known, values: Values) -> AllColumns:
        """Return ⟨x⟩ given the `known` units; these have their values."""
        return jax.grad(lambda i: self.unit_cgfs_given(i, known, values).sum())(inputs)

    def variance_given(self, inputs: Columns, known: Known, values: Values) -> AllColumns:
        """Return each column's variance given the `known` units, whose own is 0."""
        mean = functools.partial(self.mean_given, known=known, values=values)
        return derivatives_of_means(mean, inputs, self.blocks, self.spread)


def blocks_of(layer: AbstractLayer) -> Integer[np.ndarray, " units"]:
    """Return the number of each unit's block: usually each unit is one of its own."""
    return layer.blocks if isinstance(layer, AbstractBlocked) else np.arange(layer.n_units)


def has_independent_units(layer: AbstractLayer) -> bool:
    """Return whether each unit is a block of its own."""
    return len(np.unique(blocks_of(layer))) == layer.n_units


def apart(layer: AbstractLayer) -> AbstractLayer:
    """Return a layer of the same units that are independent, whatever its parameters."""
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
    """Draw the units that are not `known` given those that are; these keep their values."""
    if isinstance(layer, AbstractBlocked):
        return layer.sample_given(inputs, known, values, key=key)
    return jnp.where(layer.spread(known), values, layer.sample(inputs, key=key))


def mean_given(layer: AbstractLayer, inputs: Array, known: Array, values: Array) -> Array:
    """Return ⟨x⟩ given the `known` units; these have their values."""
    if isinstance(layer, AbstractBlocked):
        return layer.mean_given(inputs, known, values)
    return jnp.where(layer.spread(known), values, layer.mean(inputs))


def variance_given(layer: AbstractLayer, inputs: Array, known: Array, values: Array) -> Array:
    """Return each column's variance given the `known` units, whose own is 0."""
    if isinstance(layer, AbstractBlocked):
        return layer.variance_given(inputs, known, values)
    return jnp.where(layer.spread(known), 0.0, layer.variance(inputs))


# ------------------------------------------------ numbers without a bound, in units of measurement


class AbstractAffine(AbstractLayer):
    """A layer of real units: scale · x, perhaps x + offset, have a layer of the same type."""

    @property
    def is_rescalable(self) -> Bool[np.ndarray, " units"]:
        """Which units may be rescaled."""
        return np.ones(self.n_units, bool)

    @property
    def is_shiftable(self) -> Bool[np.ndarray, " units"]:
        """Which units may be shifted. Rectified ones may not: their zero stays where it is."""
        return np.ones(self.n_units, bool)

    @abstractmethod
    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> AbstractAffine:
        """Return the layer of scale · x + offset, with a scale and an offset for each unit."""

    @property
    @abstractmethod
    def curvature(self) -> Float[Array, " columns"]:
        """A curvature c for each column, such that U(x) grows at least as ½cx² for large |x|.

        It is ∞ if the column is bounded, and 0 promises nothing. Whether a model's Z is finite
        depends on both layers and W: see `finite_z`.
        """

    @abstractmethod
    def project(self) -> AbstractAffine:
        """Move parameters that an optimiser's step took out of the domain back into it."""

    @property
    def gaussian_parameters(self) -> tuple[Array, Array] | None:
        """(b, γ) where the energy is ½γx² − bx on the whole line; None where it is not."""
        return None


def is_rescalable(layer: AbstractLayer) -> Bool[np.ndarray, " units"]:
    """Return which units may be rescaled: scale · x has a layer of the same type."""
    if isinstance(layer, AbstractAffine):
        return layer.is_rescalable
    return np.zeros(layer.n_units, bool)


def is_shiftable(layer: AbstractLayer) -> Bool[np.ndarray, " units"]:
    """Return which units may be shifted: x + offset has a layer of the same type."""
    if isinstance(layer, AbstractAffine):
        return layer.is_shiftable
    return np.zeros(layer.n_units, bool)


def rescaled(layer: AbstractLayer, scale: np.ndarray, offset: np.ndarray) -> AbstractLayer:
    """Return the layer of scale · x + offset, with a scale and an offset for each unit.

    Units that can be neither rescaled nor shifted accept only a scale of 1 and an offset of 0.

    Raises:
        InputError: naming the first unit that cannot be rescaled or shifted.
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
            f"{layer}: {layer.coding.describe(unit)}, which cannot be {what}; got {change}"
            f" {values[unit]:g} for unit {unit}."
        )


def curvature(layer: AbstractLayer) -> Float[Array, "*rows columns"]:
    """Return a curvature for each column: ∞ where a column is bounded, 0 where none is known."""
    if isinstance(layer, AbstractAffine):
        return layer.curvature
    return from_numpy(np.where(_bounded_columns(layer), np.inf, 0.0).astype(layer.dtype))


def is_bounded(layer: AbstractLayer) -> bool:
    """Return whether every column is bounded, whatever the parameters are."""
    return bool(np.all(_bounded_columns(layer)))


def are_unbounded(layer: AbstractLayer) -> Bool[np.ndarray, " columns"]:
    """Return which columns are real numbers without a bound on either side."""
    low, high = layer.coding.support
    return np.isinf(low) & np.isinf(high)


def unbounded_units(layer: AbstractLayer) -> Bool[np.ndarray, " units"]:
    """Return which units are such numbers."""
    columns = from_numpy(are_unbounded(layer).astype(layer.dtype))
    return np.asarray(layer.fold(columns)) > 0


def _bounded_columns(layer: AbstractLayer) -> np.ndarray:
    low, high = layer.coding.support
    # Counts of a document are at most its length, though no bound serves all documents.
    return np.isfinite(low) & np.isfinite(high) | takes_lengths(layer)


def projected(layer: AbstractLayer) -> AbstractLayer:
    """Return the layer with parameters moved back into their domain."""
    return layer.project() if isinstance(layer, AbstractAffine) else layer


def gaussian_parameters(layer: AbstractLayer) -> tuple[Array, Array] | None:
    """Return (b, γ) of a layer of independent normal units, for closed forms; None of others."""
    return layer.gaussian_parameters if isinstance(layer, AbstractAffine) else None


# ---------------------------------------------------------------- real columns with a covariance


class AbstractCorrelated(AbstractLayer):
    """A layer in which some real columns depend on each other linearly."""

    @property
    @abstractmethod
    def correlated(self) -> Integer[np.ndarray, " some"]:
        """These columns."""

    @property
    @abstractmethod
    def whitening(self) -> Float[Array, "some some"]:
        """S, where SSᵀ is the covariance of the `correlated` columns without inputs."""

    @abstractmethod
    def along(self, basis: Float[Array, "some some"]) -> AbstractCorrelated:
        """Return the layer of y, where x = S y are the `correlated` columns: a linear map."""

    @abstractmethod
    def confined(self, variance: float) -> AbstractCorrelated:
        """Return the layer with no more variance in any direction of the `correlated` columns."""


def correlated(layer: AbstractLayer) -> Integer[np.ndarray, " some"]:
    """Return the columns that depend on each other linearly, if any."""
    return layer.correlated if isinstance(layer, AbstractCorrelated) else np.zeros(0, int)


def whitening(layer: AbstractLayer) -> Float[Array, "some some"]:
    """Return S, where SSᵀ is the covariance of the correlated columns without inputs."""
    return layer.whitening if isinstance(layer, AbstractCorrelated) else jnp.zeros((0, 0))


def along(layer: AbstractLayer, basis: Float[Array, "some some"]) -> AbstractLayer:
    """Return the layer of y, where x = S y are the correlated columns: a linear map."""
    return layer.along(basis) if isinstance(layer, AbstractCorrelated) else layer


def confined(layer: AbstractLayer, variance: float) -> AbstractLayer:
    """Return the layer with no more variance in any direction of the correlated columns."""
    return layer.confined(variance) if isinstance(layer, AbstractCorrelated) else layer


# ---------------------------------------------------------------- inputs that follow from means


class AbstractMatched(AbstractLayer):
    """A layer whose inputs follow from its means: the inverse of I ↦ ⟨x⟩."""

    @property
    def has_inputs_at(self) -> bool:
        """Whether they follow; not where a part of a layer says otherwise."""
        return True

    @abstractmethod
    def inputs_at(self, mean: Columns) -> Columns:
        """Return the inputs at which the units have these means, which are no limits of theirs."""

    def fit_with_prior(
        self, x: Rows, weights: Float[Array, " rows"], prior: Array
    ) -> AbstractLayer:
        """Return the layer of these rows and of `prior` further ones that are like its own."""
        own = self.mean(self.zero_inputs)
        mean = (product(weights, x) + prior * own) / (weights.sum() + prior)
        return self.shift(self.inputs_at(mean))


def has_inputs_at(layer: AbstractLayer) -> bool:
    """Return whether `inputs_at` answers for a layer."""
    return isinstance(layer, AbstractMatched) and layer.has_inputs_at


def inputs_at(layer: AbstractLayer, mean: Array) -> Float[Array, "*batch columns"]:
    """Return the inputs at which the units of a layer have these means.

    Raises:
        InputError: a layer for which they are not known in closed form.
    """
    _check_matched(layer)
    return layer.inputs_at(mean)  # pyright: ignore[reportAttributeAccessIssue]


def _check_matched(layer: AbstractLayer) -> None:
    if not has_inputs_at(layer):
        raise InputError(f"{layer}: expected a layer whose inputs follow from its means.")


def fit_with_prior(
    layer: AbstractLayer, x: Rows, weights: Float[Array, " rows"], prior: Array
) -> AbstractLayer:
    """Return the layer of these rows and of `prior` further ones that are like its own.

    Raises:
        InputError: a layer whose inputs do not follow from its means.
    """
    _check_matched(layer)
    return layer.fit_with_prior(x, weights, prior)  # pyright: ignore[reportAttributeAccessIssue]


# ---------------------------------------------------------------- values in classes


class AbstractClassed(AbstractLayer):
    """A layer whose values fall into classes, which are data and not parameters.

    `initialize` finds them by expectation maximisation, from rows that are far apart.
    """

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @property
    @abstractmethod
    def prototype(self) -> AbstractLayer:
        """A layer of the classes' type."""

    @abstractmethod
    def refitted(self, x: Rows, weights: RowWeights = None) -> AbstractClassed:
        """Return the layer with the classes that the rows have, near those that it has."""


def has_classes(layer: AbstractLayer) -> TypeGuard[AbstractClassed]:
    """Return whether the values of a layer fall into classes."""
    return isinstance(layer, AbstractClassed)


# ---------------------------------------------------------------- states in order


class AbstractOrdered(AbstractLayer):
    """A layer with units whose states may have an order, with which fields rise or fall."""

    @property
    @abstractmethod
    def ordered_columns(self) -> Integer[np.ndarray, " some"]:
        """The columns of the states that have an order."""

    @property
    @abstractmethod
    def smoothing(self) -> Float[np.ndarray, "some some"]:
        """S, where (SSᵀ)⁻¹ is the expected covariance of the fields on the `ordered_columns`."""


def ordered_columns(layer: AbstractLayer) -> Integer[np.ndarray, " some"]:
    """Return the columns of states that have an order, if any."""
    return layer.ordered_columns if isinstance(layer, AbstractOrdered) else np.zeros(0, int)


def smoothing(layer: AbstractLayer) -> Float[np.ndarray, "some some"]:
    """Return S, where (SSᵀ)⁻¹ is the expected covariance of the fields on ordered columns."""
    return layer.smoothing if isinstance(layer, AbstractOrdered) else np.zeros((0, 0))


# ---------------------------------------------------------------- rows with a length


class AbstractDocuments(AbstractLayer):
    """A layer of rows with a length that the model takes as given, as a document's count of words.

    Its p(x) is p(x | length), and log Z is one per length.
    """

    # A free length with one log Z would need no contract, but its chains move through lengths by a
    # word or two a sweep.

    @abstractmethod
    def lengths(self, x: Columns) -> Float[Array, "*batch"]:
        """Return the length of each state."""

    @abstractmethod
    def with_lengths(self, lengths: Float[Array, "*batch"]) -> AbstractDocuments:
        """Return the layer of states of these lengths: one length, or one for each row."""


def takes_lengths(layer: Any) -> TypeGuard[AbstractDocuments]:
    """Return whether the model takes the length of a row as given."""
    return isinstance(layer, AbstractDocuments)
