"""A layer of which some units are given in every row, so that it models only the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Integer, PRNGKeyArray

from .._base.checks import as_array
from .._base.linalg import inverse
from .._base.numerics import product, zeros_like
from .._base.parameters import data_field
from ..errors import InputError
from . import capabilities
from .arrays import (
    AllColumns,
    AllUnits,
    Columns,
    Proposals,
    Rows,
    RowWeights,
    Units,
    parameter,
    weighted_mean,
)
from .base import AbstractLayer
from .capabilities import AbstractConditioned, AbstractCorrelated, AbstractEnumerable
from .partial import AbstractPartial


class Conditional(AbstractPartial, AbstractEnumerable, AbstractCorrelated, AbstractConditioned):
    r"""A layer of targets y and given units u; a model with this layer defines p(y | u).

    The layer adds products of u and y, with a matrix A, to the energy of a layer of all units:

        U(u, y) = U_layer(u, y) − (u − c)ᵀ A y

    In each row, u provides constant inputs: (u − c)ᵀA to the targets and, through the rows of W
    that belong to u, other inputs to the hidden units. A model with this layer is a conditional
    RBM; if u holds past values of a series, A is an autoregression. The offset c, the mean of u in
    the data, keeps A and the biases of y nearly uncorrelated; c is not trained.

    The model has no distribution of u, and the energy of the given units themselves cancels in
    p(y | u). `hm.fit` maximises ⟨log p(y | u)⟩, and `hm.log_likelihood` returns it. To draw
    samples, pass rows of given values, with NaN for the targets: `hm.sample(rbm, given=rows)`.
    Given values must be known in every row; targets may be missing.

    Attributes:
        layer: the layer of all units, in the order of the columns of rows.
        given: the indices of the given units, ascending.
        weights: A, shape (given columns, target columns), in nats.
        centre: c, shape (given columns,); data, not a parameter.

    Example:
        >>> layer = hm.Conditional(hm.Bernoulli(3), given=[0, 1])  # p(y | u₀, u₁)
        >>> layer.weights.shape, str(layer)
        ((2, 1), 'Conditional(Bernoulli(3), given 2 of 3 units)')
        >>> rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]] * 25)  # exclusive or
        >>> rbm = hm.initialize(layer, hm.Bernoulli(4), rows, key=jax.random.key(0))
        >>> round(hm.log_likelihood(rbm, rows).value, 2)  # −log 2: no better than a coin yet
        -0.69

    Source: Taylor, Hinton & Roweis 2007; Mnih, Larochelle & Hinton 2011.
    """

    given: tuple[int, ...] = eqx.field(static=True)
    weights: Float[Array, "given targets"]
    centre: Float[Array, " given"] = data_field()

    def __init__(self, layer: AbstractLayer, given: Any, weights: Any = None, centre: Any = None):
        if not isinstance(layer, AbstractLayer):
            raise InputError(f"Conditional layer: expected a layer; got {layer!r}.")
        if capabilities.takes_given(layer):
            raise InputError(
                "Conditional layer: expected a layer that takes no part of a row as given; got"
                f" {layer}."
            )
        self.layer = layer
        self.given = _checked_units(layer, given)
        is_ordered = list(self.given) == np.ravel(given).tolist()
        if not is_ordered and (weights is not None or centre is not None):
            raise InputError(
                "Conditional given: expected ascending indices, whose order is that of the rows of"
                f" the weights and of the centre; got {given!r}."
            )
        shape = (len(self._given_columns), len(self._target_columns))
        self.weights = parameter(weights, shape, "Conditional weights")
        self.centre = parameter(centre, shape[:1], "Conditional centre")

    @classmethod
    def from_fields(cls, **fields: Any) -> Conditional:
        """Return the layer with these fields, as a model file stores them."""
        return cls(**fields)

    def __str__(self) -> str:
        n_observed = self.layer.n_observed
        return f"Conditional({self.layer}, given {len(self.given)} of {n_observed} units)"

    # ------------------------------------------------------------ the given part of a row

    @property
    def given_units(self) -> Bool[np.ndarray, " units"]:
        """A mask of the given units."""
        return np.isin(np.arange(self.n_units), self.given)

    @property
    def couplings(self) -> Any:
        """The matrix A."""
        return self.weights

    @property
    def _is_given(self) -> Bool[np.ndarray, " columns"]:
        """A mask of the columns of the given units."""
        return np.asarray(self.spread(self.given_units))

    @property
    def _given_columns(self) -> Integer[np.ndarray, " given"]:
        return np.flatnonzero(self._is_given)

    @property
    def _target_columns(self) -> Integer[np.ndarray, " targets"]:
        return np.flatnonzero(~self._is_given)

    def _from_given(self, x: AllColumns) -> AllColumns:
        """Return the inputs (u − c)ᵀA of the target columns, and 0 for the other columns."""
        inputs = product(x[..., self._given_columns] - self.centre, self.weights)
        columns = jnp.zeros((*inputs.shape[:-1], self.size), inputs.dtype)
        return columns.at[..., self._target_columns].set(inputs)

    def _inputs(self, inputs: Array, known: Array, values: Array) -> AllColumns:
        """Return the inputs plus (u − c)ᵀA, where u holds known values, and c for unknown units."""
        columns = self._given_columns
        at_rest = jnp.zeros(self.size, values.dtype).at[columns].set(self.centre)
        return inputs + self._from_given(jnp.where(self.spread(known), values, at_rest))

    # -------------------------------------------------------------------- energies and draws

    def unit_energies(self, x: Columns) -> Units:
        """Return the unit energies of the wrapped layer, minus the products (u − c)ᵀA y."""
        return self.layer.unit_energies(x) - self.fold(self._from_given(x) * x)

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return the cgfs of the wrapped layer; given units that are not known send no inputs."""
        return self.layer.unit_cgfs(inputs)

    def mean(self, inputs: Columns) -> Columns:
        """Return the means of the wrapped layer."""
        return self.layer.mean(inputs)

    def variance(self, inputs: Columns) -> Columns:
        """Return the variances of the wrapped layer."""
        return self.layer.variance(inputs)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw states of the wrapped layer."""
        return self.layer.sample(inputs, key=key)

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The index of each unit's block; all units form one block, as targets depend on u."""
        return np.zeros(self.n_units, int)

    def unit_cgfs_given(self, inputs: Array, known: Array, values: Array) -> AllUnits:
        """Return each unit's cgf with the known units held; these include the given units."""
        inputs = self._inputs(inputs, known, values)
        return capabilities.unit_cgfs_given(self.layer, inputs, known, values)

    def mean_given(self, inputs: Array, known: Array, values: Array) -> AllColumns:
        """Return the means with the known units held."""
        inputs = self._inputs(inputs, known, values)
        return capabilities.mean_given(self.layer, inputs, known, values)

    def variance_given(self, inputs: Array, known: Array, values: Array) -> AllColumns:
        """Return the variances with the known units held."""
        inputs = self._inputs(inputs, known, values)
        return capabilities.variance_given(self.layer, inputs, known, values)

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> AllColumns:
        """Draw the unknown units, with the known ones held."""
        inputs = self._inputs(inputs, known, values)
        return capabilities.sample_given(self.layer, inputs, known, values, key=key)

    def apart(self) -> AbstractPartial:
        """Return the layer with independent units and A = 0."""
        apart = self._around(capabilities.apart(self.layer))
        return eqx.tree_at(lambda own: own.weights, apart, zeros_like(self.weights))

    # -------------------------------------------------------------------------- states

    @property
    def is_exact_in_bfloat16(self) -> bool:
        return self.layer.is_exact_in_bfloat16

    @property
    def n_states(self) -> int | None:
        return self.layer.n_states

    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states of the wrapped layer."""
        return capabilities.joint_states(self.layer, indices)

    def proposals(self, x: Columns) -> Proposals:
        """Return the proposals that change a target."""
        columns, changes = capabilities.proposals_from(self.layer, x)
        of_targets = np.flatnonzero(~self._is_given[columns[:, 0]])
        return columns[of_targets], changes[..., of_targets, :]

    # -------------------------------------------------------------------------- parameters

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> Conditional:
        """Fit the wrapped layer to the states, and set c to the means of the given columns.

        Real targets start at their linear regression on the given columns: A and the wrapped layer
        get the coefficients and the moments of the residuals.
        """
        u = x[:, self._given_columns]
        centre, count = weighted_mean(u, weights)
        columns = np.flatnonzero(capabilities.are_unbounded(self.layer) & ~self._is_given)
        coefficients = zeros_like(self.weights)
        if len(columns):
            shares = jnp.full(len(x), 1.0 / len(x)) if weights is None else weights / weights.sum()
            centred = (u - centre) * shares[:, None]
            y = x[:, columns]
            gram = product(centred.T, u - centre)
            ridge = (jnp.trace(gram) / len(centre) + 1e-6) / count  # one pseudo-row
            of_targets = product(centred.T, y - product(shares, y))
            slopes = product(inverse(gram + ridge * jnp.eye(len(centre))), of_targets)
            x = x.at[:, columns].add(-product(u - centre, slopes))
        layer = self.layer.fit_moments(x, weights)
        if len(columns):
            # Inputs uᵀA move the means of y by uᵀA times the covariance of y given u.
            slopes = product(slopes, inverse(self._covariance(layer, columns)))
            places = np.searchsorted(self._target_columns, columns)
            coefficients = coefficients.at[:, places].set(slopes)
        return self._with(layer, centre, coefficients)

    def fit_observed(self, rows: Any, weights: RowWeights = None) -> Conditional:
        """Fit the layer to rows as `fit_moments` does; without a regression if units are latent."""
        if not self.n_latent:
            return self.fit_moments(self.layer.encode(rows), weights)
        x = self.layer.encode_seen(rows)
        centre, _ = weighted_mean(x[:, self._given_columns], weights)
        layer = self.layer.fit_observed(rows, weights)
        return self._with(layer, centre, zeros_like(self.weights))

    def _with(self, layer: AbstractLayer, centre: Array, weights: Array) -> Conditional:
        """Return this wrapper around another layer, with another c and A."""
        fields = (layer, centre, weights)
        return eqx.tree_at(lambda own: (own.layer, own.centre, own.weights), self, fields)

    def _covariance(self, layer: AbstractLayer, columns: np.ndarray) -> Array:
        """Return the covariance of some real columns of a layer without inputs."""
        covariance = jnp.diag(layer.variance(layer.zero_inputs))
        together = capabilities.correlated(layer)
        if len(together):
            basis = capabilities.whitening(layer)
            block = (together[:, None], together[None])
            covariance = covariance.at[block].set(product(basis, basis.T))
        return covariance[columns[:, None], columns[None]]

    def base(self) -> AbstractPartial:
        """Return this wrapper around the base of the wrapped layer, with A = 0."""
        return eqx.tree_at(lambda own: own.weights, super().base(), zeros_like(self.weights))

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> AbstractPartial:
        """Return the layer whose states are scale · x + offset, without energy terms of u alone."""
        scales = self.spread(jnp.asarray(scale, self.dtype))
        offsets = self.spread(jnp.asarray(offset, self.dtype))
        of_given = scales[self._given_columns]
        weights = self.weights / of_given[:, None] / scales[self._target_columns]
        centre = of_given * self.centre + offsets[self._given_columns]
        changed = super().rescaled(scale, offset)
        return eqx.tree_at(lambda own: (own.weights, own.centre), changed, (weights, centre))

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """The curvatures of the targets; ∞ for given columns, which are held."""
        return jnp.where(self._is_given, jnp.inf, capabilities.curvature(self.layer))

    @property
    def correlated(self) -> Integer[np.ndarray, " some"]:
        """The correlated columns, or an empty array if any of them is given."""
        columns = capabilities.correlated(self.layer)
        return columns[:0] if self._is_given[columns].any() else columns

    @property
    def whitening(self) -> Float[Array, "some some"]:
        count = len(self.correlated)
        return capabilities.whitening(self.layer)[:count, :count]

    def along(self, basis: Float[Array, "some some"]) -> AbstractPartial:
        columns = self.correlated
        if not len(columns):
            return self
        places = np.searchsorted(self._target_columns, columns)
        moved = product(self.weights[:, places], basis)
        weights = self.weights.at[:, places].set(moved, unique_indices=True)
        changed = self._around(capabilities.along(self.layer, basis))
        return eqx.tree_at(lambda own: own.weights, changed, weights)

    def confined(self, variance: float) -> AbstractPartial:
        """Limit the variance of correlated columns in the wrapped layer."""
        return self._around(capabilities.confined(self.layer, variance))

    # -------------------------------------------------------------------------- rows

    @property
    def by_depth(self) -> tuple[AbstractLayer, ...]:
        return (self, *self.layer.by_depth[1:])

    def validate(
        self, rows: Any, name: str = "data", first_row: int = 0, *, missing: bool = False
    ) -> np.ndarray:
        """Check rows as every layer does; also check that no given value is missing.

        Raises:
            InputError: the rows are invalid, or a given value is missing (NaN).
        """
        array = self.layer.validate(rows, name, first_row, missing=missing)
        lacking = np.argwhere(np.isnan(array) & self.given_units[: self.n_observed])
        if len(lacking):
            row, column = lacking[0]
            raise InputError(
                f"{name}: expected a value in every given column; got a missing value in row"
                f" {first_row + row}, column {column}; only targets may be missing."
            )
        return array


def _checked_units(layer: AbstractLayer, given: Any) -> tuple[int, ...]:
    """Return the indices of the given units in ascending order.

    Raises:
        InputError: the indices are not distinct observed units, or leave no target.
    """
    units = as_array(list(given) if isinstance(given, Iterable) else given, "given")
    observed = layer.n_observed
    expected = f"expected distinct indices of some of the {observed} observed units of {layer}"
    is_whole = units.ndim == 1 and units.size and units.dtype.kind in "iu"
    if not is_whole or units.min() < 0 or units.max() >= observed:
        raise InputError(f"Conditional given: {expected}, counted from 0; got {given!r}.")
    if len(np.unique(units)) < len(units) or len(units) == layer.n_units:
        raise InputError(
            f"Conditional given: {expected}, with at least one target left; got {given!r}."
        )
    return tuple(np.sort(units).tolist())
