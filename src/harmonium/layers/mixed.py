"""A layer that joins layers of different types side by side."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from ..errors import InputError
from . import capabilities
from .arrays import Columns, Proposals, Rows, RowWeights, Units
from .base import AbstractLayer
from .capabilities import (
    AbstractAffine,
    AbstractBlocked,
    AbstractCorrelated,
    AbstractEnumerable,
    AbstractMatched,
    AbstractOrdered,
)
from .coding import AbstractCoding


def _joined(function: Callable[..., Any], *pieces: Iterable[Any]) -> Any:
    """Apply a function to the pieces of each part, and concatenate the results."""
    results = [function(*own) for own in zip(*pieces, strict=True)]
    # NumPy arrays are joined by NumPy, because JAX would compile one program per shape.
    is_known = all(isinstance(result, np.ndarray) for result in results)
    return (np if is_known else jnp).concatenate(results, axis=-1)


@dataclasses.dataclass(frozen=True)
class _Joined(AbstractCoding):
    """The coding of a `Mixed` layer, which joins the codings of its parts."""

    parts: tuple[AbstractCoding, ...]
    sizes: tuple[int, ...]
    latent: int = 0  # the number of parts, at the end, that are not observed

    @property
    def n_units(self) -> int:
        return sum(part.n_units for part in self.parts)

    @property
    def observed(self) -> tuple[AbstractCoding, ...]:
        """The parts for which rows have columns."""
        return self.parts[: len(self.parts) - self.latent]

    @property
    def n_observed(self) -> int:
        return sum(part.n_units for part in self.observed)

    def columns(self, x: Any) -> list[Any]:
        """Split the columns of states among the parts."""
        xp = np if isinstance(x, np.ndarray) else jnp
        return xp.split(x, np.cumsum(self.sizes)[:-1].tolist(), axis=-1)

    def units(self, x: Any) -> list[Any]:
        """Split the last axis, which has one entry per unit, among the parts."""
        ends = np.cumsum([part.n_units for part in self.parts])
        pairs = zip(self.parts, ends, strict=True)
        return [x[..., end - part.n_units : end] for part, end in pairs]

    def cells(self, rows: Any) -> list[Any]:
        """Split the columns of rows in the user's coding among the observed parts."""
        return self.units(rows)[: len(self.observed)]

    def _with_latent(self, x: Any, counts: Sequence[int], value: Any) -> Any:
        """Append entries for the latent parts, all equal to `value`, to the observed entries."""
        count = sum(counts[len(self.observed) :])
        if not count:
            return x
        xp = np if isinstance(x, np.ndarray) else jnp
        entries = xp.full((*x.shape[:-1], count), value, x.dtype)
        return xp.concatenate([x, entries], axis=-1)

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = zip(*(part.support for part in self.parts), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def fold(self, x: Columns) -> Units:
        """Sum the columns of each unit."""
        return _joined(lambda part, own: part.fold(own), self.parts, self.columns(x))

    def spread(self, x: Any) -> Any:
        """Repeat each unit's entry over its columns."""
        return _joined(lambda part, own: part.spread(own), self.parts, self.units(x))

    def missing(self, rows: Any) -> Any:
        """Return a mask of the missing units; all units of latent parts are missing."""
        missing = _joined(lambda part, own: part.missing(own), self.observed, self.cells(rows))
        return self._with_latent(missing, [part.n_units for part in self.parts], True)

    def encode(self, rows: Any, dtype: Any) -> Any:
        """Encode the columns of every observed part; states of latent parts are NaN."""
        states = _joined(lambda part, own: part.encode(own, dtype), self.observed, self.cells(rows))
        return self._with_latent(states, self.sizes, np.nan)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        pairs = zip(self.observed, self.cells(rows), strict=True)
        return np.concatenate([part.outside(own) for part, own in pairs], axis=-1)

    def decode(self, x: Any) -> np.ndarray:
        """Decode the columns of the observed parts, and join them in a common NumPy dtype."""
        pieces = self.columns(x)[: len(self.observed)]
        pairs = zip(self.observed, pieces, strict=True)
        return np.concatenate([part.decode(own) for part, own in pairs], axis=-1)

    def describe(self, unit: int) -> str:
        for part in self.parts:
            if unit < part.n_units:
                return part.describe(unit)
            unit -= part.n_units
        raise IndexError("unit: expected the index of a unit; got an index beyond the last unit.")


class Mixed(
    AbstractEnumerable,
    AbstractBlocked,
    AbstractAffine,
    AbstractCorrelated,
    AbstractOrdered,
    AbstractMatched,
):
    """A layer that joins several layers side by side and concatenates their states.

    Units of different parts are independent given the inputs, so the energy and the cumulant
    generating function of the layer are the sums of those of its parts. The columns of rows in the
    user's coding follow the order of the parts.

    The last parts may be latent: rows have no columns for latent parts, whose units therefore count
    as missing in every row and are summed out. In this way, `hm.deep` represents a deep Boltzmann
    machine as an RBM.

    Attributes:
        parts: the layers, in order.
        latent: the number of latent parts, which are the last ones.

    Example:
        >>> layer = hm.Mixed(hm.Bernoulli(1), hm.Potts(1, states=3), hm.Gaussian(1))
        >>> layer.n_units, layer.size
        (3, 5)
        >>> layer.encode(np.array([[1.0, 2.0, 0.5]])).tolist()
        [[1.0, 0.0, 0.0, 1.0, 0.5]]
    """

    parts: tuple[AbstractLayer, ...]
    latent: int = eqx.field(static=True)

    def __init__(self, *parts: AbstractLayer, latent: int = 0):
        wrong = [part for part in parts if not isinstance(part, AbstractLayer)]
        if not parts or wrong:
            raise InputError(f"Mixed: expected one or more layers; got {parts!r}.")
        # Chains keep the given part of a row. If a layer with such a part were joined to others,
        # every product and every sum over rows would have to treat its columns separately.
        conditioned = [part for part in parts if capabilities.takes_given(part)]
        if conditioned:
            raise InputError(
                f"Mixed: expected layers that take no part of a row as given; got {conditioned[0]};"
                " use that layer on its own as the visible layer of a model."
            )
        if not 0 <= latent < len(parts):
            raise InputError(
                "Mixed latent: expected at least 0 latent parts, and fewer than the number of"
                f" parts ({len(parts)}); got {latent}."
            )
        deep = [part for part in parts if part.n_latent]
        if deep:
            raise InputError(
                f"Mixed: expected parts without latent units; got {deep[0]}; pass the parts of"
                " that layer to Mixed directly, with latent parts at the end."
            )
        self.parts = tuple(parts)
        self.latent = latent

    @classmethod
    def from_fields(cls, **fields: Any) -> "Mixed":
        return cls(*fields["parts"], latent=fields.get("latent", 0))

    def __str__(self) -> str:
        latent = f", latent={self.latent}" if self.latent else ""
        return f"Mixed({', '.join(str(part) for part in self.parts)}{latent})"

    def _of(self, parts: Iterable[AbstractLayer]) -> "Mixed":
        """Return a mixed layer of these parts, with as many latent parts as this layer has."""
        return Mixed(*parts, latent=self.latent)

    @property
    def side_by_side(self) -> tuple[AbstractLayer, ...]:
        return self.parts

    @property
    def observed(self) -> tuple[AbstractLayer, ...]:
        """The parts for which rows have columns."""
        return self.parts[: len(self.parts) - self.latent]

    @property
    def by_depth(self) -> tuple[AbstractLayer, ...]:
        observed = self.observed
        first = observed[0] if len(observed) == 1 else Mixed(*observed)
        return (first, *self.parts[len(observed) :])

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of columns of a state, over all parts."""
        return sum(part.size for part in self.parts)

    @property
    def coding(self) -> _Joined:
        codings = tuple(part.coding for part in self.parts)
        return _Joined(codings, tuple(part.size for part in self.parts), self.latent)

    def _over_columns(self, function: Callable[..., Array], columns: Array) -> Array:
        """Apply a function to each part and its columns, and concatenate the results."""
        return _joined(function, self.parts, self.coding.columns(columns))

    def _pieces(self, columns: Array) -> Iterable[tuple[AbstractLayer, Array]]:
        """Return the parts, each with its columns."""
        return zip(self.parts, self.coding.columns(columns), strict=True)

    def energy(self, x: Columns) -> Float[Array, "*batch"]:
        """Return the sum of the parts' energies, each computed by the part's own `energy`."""
        return sum((part.energy(own) for part, own in self._pieces(x)), jnp.zeros(x.shape[:-1]))

    def unit_energies(self, x: Columns) -> Units:
        """Return the unit energies of all parts."""
        return self._over_columns(lambda part, own: part.unit_energies(own), x)

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return the unit cgfs of all parts."""
        return self._over_columns(lambda part, own: part.unit_cgfs(own), inputs)

    def mean(self, inputs: Columns) -> Columns:
        """Return the means of all parts."""
        return self._over_columns(lambda part, own: part.mean(own), inputs)

    def variance(self, inputs: Columns) -> Columns:
        """Return the variances of all parts."""
        return self._over_columns(lambda part, own: part.variance(own), inputs)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw states of every part, with a separate key for each part."""
        draws = zip(self._pieces(inputs), jax.random.split(key, len(self.parts)), strict=True)
        return jnp.concatenate([part.sample(own, key=key) for (part, own), key in draws], axis=-1)

    def apart(self) -> "Mixed":
        """Return a layer in which the units of every part are independent."""
        return self._of(map(capabilities.apart, self.parts))

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The block of each unit, numbered consecutively across the parts."""
        blocks = [capabilities.blocks_of(part) for part in self.parts]
        return _after_one_another(blocks, [part.n_units for part in self.parts])

    def _given(
        self, function: Callable[..., Array], inputs: Array, known: Array, values: Array
    ) -> Array:
        """Apply a function to each part with its inputs, known units and values."""
        coding = self.coding
        pieces = (coding.columns(inputs), coding.units(known), coding.columns(values))
        return _joined(function, self.parts, *pieces)

    def unit_cgfs_given(self, inputs: Array, known: Array, values: Array) -> Units:
        """Return the unit cgfs of all parts with their known units held."""
        return self._given(capabilities.unit_cgfs_given, inputs, known, values)

    def mean_given(self, inputs: Array, known: Array, values: Array) -> Columns:
        """Return the means of all parts given their known units."""
        return self._given(capabilities.mean_given, inputs, known, values)

    def variance_given(self, inputs: Array, known: Array, values: Array) -> Columns:
        """Return the variances of all parts given their known units."""
        return self._given(capabilities.variance_given, inputs, known, values)

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> Columns:
        """Draw the unknown units of every part, each part with its own key."""
        keys = iter(jax.random.split(key, len(self.parts)))

        def draw(part: AbstractLayer, *given: Array) -> Array:
            return capabilities.sample_given(part, *given, key=next(keys))

        return self._given(draw, inputs, known, values)

    def shift(self, delta: Columns) -> "Mixed":
        """Return the layer with every part shifted by that part's columns of `delta`."""
        return self._of(part.shift(own) for part, own in self._pieces(delta))

    @property
    def n_states(self) -> int | None:
        counts = [part.n_states for part in self.parts]
        if None in counts:
            return None
        return math.prod(counts)  # pyright: ignore

    @property
    def is_exact_in_bfloat16(self) -> bool:
        return all(part.is_exact_in_bfloat16 for part in self.parts)

    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states; an index's least significant digit belongs to the first part."""
        pieces = []
        *others, last = self.parts
        for part in others:
            count = part.n_states
            if count is None:
                raise InputError(
                    f"{self}: expected parts whose states can be enumerated; got {part}."
                )
            pieces.append(capabilities.joint_states(part, indices % count))
            indices = indices // count
        return jnp.concatenate([*pieces, capabilities.joint_states(last, indices)], axis=-1)

    def proposals(self, x: Columns) -> Proposals:
        """Return the proposals of every part, padded with changes of 0 to a common width."""
        of_parts = [capabilities.proposals_from(part, own) for part, own in self._pieces(x)]
        width = max(columns.shape[1] for columns, _ in of_parts)
        places = []
        changes = []
        for columns, change in of_parts:
            missing = width - columns.shape[1]
            places.append(np.pad(columns, [(0, 0), (0, missing)]))
            changes.append(jnp.pad(change, [(0, 0)] * (change.ndim - 1) + [(0, missing)]))
        sizes = [part.size for part in self.parts]
        return _after_one_another(places, sizes), jnp.concatenate(changes, axis=-2)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Mixed":
        """Return the layer with every part fitted to its columns of the states."""
        return self._of(part.fit_moments(own, weights) for part, own in self._pieces(x))

    def fit_observed(self, rows: Any, weights: RowWeights = None) -> "Mixed":
        """Return the layer with every observed part fitted to its columns of the rows."""
        observed = self.observed
        pairs = zip(observed, self.coding.cells(rows), strict=True)
        fitted = [part.fit_observed(own, weights) for part, own in pairs]
        return self._of([*fitted, *self.parts[len(observed) :]])

    @property
    def has_inputs_at(self) -> bool:
        """Whether the inputs of every part can be computed from its means."""
        return all(map(capabilities.has_inputs_at, self.parts))

    def inputs_at(self, mean: Columns) -> Columns:
        """Return the inputs of every part at which the columns have these means."""
        return self._over_columns(capabilities.inputs_at, mean)

    def fit_with_prior(self, x: Rows, weights: Float[Array, " rows"], prior: Array) -> "Mixed":
        """Return the layer with every part fitted to its columns plus `prior` pseudo-rows."""
        pieces = self._pieces(x)
        return self._of(
            capabilities.fit_with_prior(part, own, weights, prior) for part, own in pieces
        )

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """The curvature of each column, over all parts."""
        return jnp.concatenate([capabilities.curvature(part) for part in self.parts])

    @property
    def is_rescalable(self) -> np.ndarray:
        """A mask of the units that can be rescaled."""
        return np.concatenate([capabilities.is_rescalable(part) for part in self.parts])

    @property
    def is_shiftable(self) -> np.ndarray:
        """A mask of the units that can be shifted."""
        return np.concatenate([capabilities.is_shiftable(part) for part in self.parts])

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "Mixed":
        pieces = zip(self.parts, self.coding.units(scale), self.coding.units(offset), strict=True)
        return self._of(capabilities.rescaled(part, s, m) for part, s, m in pieces)

    @property
    def correlated(self) -> Integer[np.ndarray, " some"]:
        """The indices of the correlated columns of all parts."""
        columns = [capabilities.correlated(part) for part in self.parts]
        return _after_one_another(columns, [part.size for part in self.parts])

    @property
    def whitening(self) -> Float[Array, "some some"]:
        return jax.scipy.linalg.block_diag(*map(capabilities.whitening, self.parts))

    def along(self, basis: Float[Array, "some some"]) -> "Mixed":
        moved = []
        first = 0
        for part in self.parts:
            last = first + len(capabilities.correlated(part))
            moved.append(capabilities.along(part, basis[first:last, first:last]))
            first = last
        return self._of(moved)

    def confined(self, variance: float) -> "Mixed":
        """Limit the eigenvalues of the covariance matrix of every part that has one."""
        return self._of(capabilities.confined(part, variance) for part in self.parts)

    @property
    def ordered_columns(self) -> Integer[np.ndarray, " some"]:
        """The indices of the columns that represent ordered states, over all parts."""
        columns = [capabilities.ordered_columns(part) for part in self.parts]
        return _after_one_another(columns, [part.size for part in self.parts])

    @property
    def smoothing(self) -> Float[np.ndarray, "some some"]:
        return np.asarray(scipy.linalg.block_diag(*map(capabilities.smoothing, self.parts)))

    def project(self) -> "Mixed":
        """Return the layer with the parameters of every part projected into their domain."""
        return self._of(map(capabilities.projected, self.parts))

    def base(self) -> "Mixed":
        return self._of(part.base() for part in self.parts)

    @property
    def gaussian_parameters(self) -> tuple[Array, Array] | None:
        """Return (b, γ) of all parts, or None if any part is not Gaussian."""
        of_parts = [capabilities.gaussian_parameters(part) for part in self.parts]
        if None in of_parts:
            return None
        fields, precisions = zip(*of_parts, strict=True)  # pyright: ignore
        return jnp.concatenate(fields), jnp.concatenate(precisions)


def _after_one_another(numbers: list[np.ndarray], counts: list[int]) -> np.ndarray:
    """Convert each part's indices to indices in the joined layer; `counts` are part sizes."""
    firsts = np.cumsum([0, *counts[:-1]])
    return np.concatenate([own + first for own, first in zip(numbers, firsts, strict=True)])
