"""Layers of different types side by side."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Integer, PRNGKeyArray

from ..errors import InputError
from .base import AbstractLayer
from .capabilities import takes_lengths


class Mixed(AbstractLayer):
    """Several layers side by side, as one layer: every quantity is the parts', concatenated.

    Units of different parts are independent given the inputs, so energies and cgfs add. The columns
    of rows in the user's coding are in the order of the parts.

    Attributes:
        parts: the layers, in order.

    Example:
        >>> layer = hm.Mixed(hm.Bernoulli(1), hm.Potts(1, states=3), hm.Gaussian(1))
        >>> layer.n_units, layer.size
        (3, 5)
        >>> layer.encode(np.array([[1.0, 2.0, 0.5]])).tolist()
        [[1.0, 0.0, 0.0, 1.0, 0.5]]
    """

    parts: tuple[AbstractLayer, ...]

    def __init__(self, *parts: AbstractLayer):
        wrong = [part for part in parts if not isinstance(part, AbstractLayer)]
        if not parts or wrong:
            raise InputError(f"Mixed: expected one or more layers; got {parts!r}.")
        # Chains of such a layer keep the lengths of their rows. Beside other columns, every product
        # and every sum over rows would have to know which of them the length belongs to.
        documents = [part for part in parts if takes_lengths(part)]
        if documents:
            raise InputError(
                f"Mixed: {documents[0]} takes the length of a row as given, so it cannot stand"
                " beside other layers; a model of documents has it as its only visible layer."
            )
        self.parts = tuple(parts)

    @classmethod
    def from_fields(cls, **fields: Any) -> "Mixed":
        """Build a layer from its dataclass fields."""
        return cls(*fields["parts"])

    def __str__(self) -> str:
        """List the parts."""
        return f"Mixed({', '.join(str(part) for part in self.parts)})"

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of columns of a state, over all parts."""
        return sum(part.size for part in self.parts)

    @property
    def n_units(self) -> int:
        """The number of units of all parts."""
        return sum(part.n_units for part in self.parts)

    def _columns(self, x: Array) -> list[Array]:
        """Split the columns of states among the parts."""
        return jnp.split(x, np.cumsum([part.size for part in self.parts])[:-1].tolist(), axis=-1)

    def _units(self, rows: Any) -> list[Any]:
        """Split the columns of rows in the user's coding among the parts."""
        ends = np.cumsum([part.n_units for part in self.parts])
        return [
            rows[..., end - part.n_units : end] for part, end in zip(self.parts, ends, strict=True)
        ]

    def _joined(self, function: Callable[[AbstractLayer, Array], Array], pieces: list) -> Array:
        """Apply a function to each part and its piece, and concatenate the results."""
        results = [function(part, piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return jnp.concatenate(results, axis=-1)

    def unit_energies(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return the unit energies of all parts."""
        return self._joined(lambda part, piece: part.unit_energies(piece), self._columns(x))

    def unit_cgfs(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return the unit cgfs of all parts."""
        return self._joined(lambda part, piece: part.unit_cgfs(piece), self._columns(inputs))

    def mean(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return the means of all parts."""
        return self._joined(lambda part, piece: part.mean(piece), self._columns(inputs))

    def variance(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*batch columns"]:
        """Return the variances of all parts."""
        return self._joined(lambda part, piece: part.variance(piece), self._columns(inputs))

    def fold(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Sum the columns of each unit."""
        return self._joined(lambda part, piece: part.fold(piece), self._columns(x))

    def spread(self, x: Array) -> Array:
        """Repeat each unit's entry over its columns."""
        return self._joined(lambda part, piece: part.spread(piece), self._units(x))

    def sample(
        self, inputs: Float[Array, "*batch columns"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw the units of every part, each part with a key of its own."""
        keys = jax.random.split(key, len(self.parts))
        pieces = zip(self._columns(inputs), keys, strict=True)
        return self._joined(lambda part, piece: part.sample(piece[0], key=piece[1]), list(pieces))

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The blocks of the parts' units, numbered one part after the other."""
        ends = np.cumsum([0, *(part.n_units for part in self.parts)])
        found = [part.blocks + end for part, end in zip(self.parts, ends[:-1], strict=True)]
        return np.concatenate(found)

    def unit_cgfs_given(
        self,
        inputs: Float[Array, "*batch columns"],
        known: Bool[Array, "*rows units"],
        values: Float[Array, "*rows columns"],
    ) -> Float[Array, "*all units"]:
        """Return the unit cgfs of all parts with their known units held."""
        pieces = self._given(inputs, known, values)
        return self._joined(lambda part, piece: part.unit_cgfs_given(*piece), pieces)

    def mean_given(
        self,
        inputs: Float[Array, "*batch columns"],
        known: Bool[Array, "*rows units"],
        values: Float[Array, "*rows columns"],
    ) -> Float[Array, "*all columns"]:
        """Return the means of all parts given their known units."""
        pieces = self._given(inputs, known, values)
        return self._joined(lambda part, piece: part.mean_given(*piece), pieces)

    def variance_given(
        self,
        inputs: Float[Array, "*batch columns"],
        known: Bool[Array, "*rows units"],
        values: Float[Array, "*rows columns"],
    ) -> Float[Array, "*all columns"]:
        """Return the variances of all parts given their known units."""
        pieces = self._given(inputs, known, values)
        return self._joined(lambda part, piece: part.variance_given(*piece), pieces)

    def _given(self, inputs: Array, known: Array, values: Array) -> list[tuple]:
        """Split inputs, known units and their values among the parts."""
        pieces = self._columns(inputs), self._units(known), self._columns(values)
        return list(zip(*pieces, strict=True))

    def sample_given(
        self,
        inputs: Float[Array, "*batch columns"],
        known: Bool[Array, "*rows units"],
        values: Float[Array, "*rows columns"],
        *,
        key: PRNGKeyArray,
    ) -> Float[Array, "*all columns"]:
        """Draw the units of every part that are not known, each part with a key of its own."""
        keys = jax.random.split(key, len(self.parts))
        pieces = list(zip(self._given(inputs, known, values), keys, strict=True))
        draw = lambda part, piece: part.sample_given(*piece[0], key=piece[1])  # noqa: E731
        return self._joined(draw, pieces)

    def shift(self, delta: Float[Array, "*batch columns"]) -> "Mixed":
        """Shift every part by its columns of `delta`."""
        pieces = zip(self.parts, self._columns(delta), strict=True)
        return Mixed(*(part.shift(piece) for part, piece in pieces))

    @property
    def n_states(self) -> int | None:
        """The product over the parts; None if one of them has continuous states."""
        counts = [part.n_states for part in self.parts]
        return None if None in counts else math.prod(counts)  # pyright: ignore

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Whether the states of all parts are exact in bfloat16."""
        return all(part.is_exact_in_bfloat16 for part in self.parts)

    def states(self, indices: Integer[Array, "*batch"]) -> Float[Array, "*batch columns"]:
        """Return the joint states: the first part's index is the lowest digit of a mixed radix."""
        pieces = []
        for place, part in enumerate(self.parts):
            count = part.n_states
            if count is None:
                raise InputError(f"{self}: {part} is a continuum and cannot be enumerated.")
            last = place == len(self.parts) - 1
            pieces.append(part.states(indices if last else indices % count))
            indices = indices if last else indices // count
        return jnp.concatenate(pieces, axis=-1)

    def proposals(
        self, x: Float[Array, "*batch columns"]
    ) -> tuple[Integer[np.ndarray, "proposals few"], Float[Array, "*batch proposals few"]]:
        """Return the proposals of every part; narrower ones are padded with changes of 0."""
        found = [
            part.proposals(piece) for part, piece in zip(self.parts, self._columns(x), strict=True)
        ]
        few = max(columns.shape[1] for columns, _ in found)
        places, changes, first = [], [], 0
        for part, (columns, change) in zip(self.parts, found, strict=True):
            missing = few - columns.shape[1]
            places.append(first + np.pad(columns, [(0, 0), (0, missing)]))
            changes.append(jnp.pad(change, [(0, 0)] * (change.ndim - 1) + [(0, missing)]))
            first += part.size
        return np.concatenate(places), jnp.concatenate(changes, axis=-2)

    def fit_moments(
        self, x: Float[Array, "rows columns"], weights: Float[Array, " rows"] | None = None
    ) -> "Mixed":
        """Fit every part to its columns."""
        pieces = zip(self.parts, self._columns(x), strict=True)
        return Mixed(*(part.fit_moments(piece, weights) for part, piece in pieces))

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Return a mask of the entries outside the domains of the parts."""
        pieces = zip(self.parts, self._units(rows), strict=True)
        return np.concatenate([part.outside(piece) for part, piece in pieces], axis=-1)

    def domain(self, unit: int) -> str:
        """Describe the values of a unit as its part does."""
        for part in self.parts:
            if unit < part.n_units:
                return part.domain(unit)
            unit -= part.n_units
        raise IndexError(f"{self} has no unit {unit}")

    def encode(self, rows: Any) -> Float[Array, "*batch columns"]:
        """Encode the columns of every part."""
        return self._joined(lambda part, piece: part.encode(piece), self._units(rows))

    def decode(self, x: Any) -> np.ndarray:
        """Decode the columns of every part; NumPy promotes to a type that holds them all."""
        pieces = zip(self.parts, self._columns(x), strict=True)
        return np.concatenate([part.decode(piece) for part, piece in pieces], axis=-1)

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest values of all parts' columns."""
        low, high = zip(*(part.support for part in self.parts), strict=True)
        return np.concatenate(low), np.concatenate(high)

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """The curvatures of all parts' columns."""
        return jnp.concatenate([part.curvature for part in self.parts])

    @property
    def is_rescalable(self) -> np.ndarray:
        """Which units may be rescaled in their parts."""
        return np.concatenate([part.is_rescalable for part in self.parts])

    @property
    def is_shiftable(self) -> np.ndarray:
        """Which units may be shifted in their parts."""
        return np.concatenate([part.is_shiftable for part in self.parts])

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "Mixed":
        """Rescale every part by the scales and offsets of its units."""
        pieces = zip(self.parts, self._units(scale), self._units(offset), strict=True)
        return Mixed(*(part.rescaled(s, m) for part, s, m in pieces))

    @property
    def correlated(self) -> Integer[np.ndarray, " some"]:
        """The correlated columns of all parts."""
        ends = np.cumsum([0, *(part.size for part in self.parts)])
        found = [part.correlated + end for part, end in zip(self.parts, ends[:-1], strict=True)]
        return np.concatenate(found)

    @property
    def whitening(self) -> Float[Array, "some some"]:
        """The maps of the parts along the diagonal."""
        return jax.scipy.linalg.block_diag(*(part.whitening for part in self.parts))

    def along(self, basis: Float[Array, "some some"]) -> "Mixed":
        """Return the layer of all parts along their blocks of the basis."""
        ends = np.cumsum([0, *(len(part.correlated) for part in self.parts)]).tolist()
        pieces = zip(self.parts, ends[:-1], ends[1:], strict=True)
        return Mixed(*(part.along(basis[a:b, a:b]) for part, a, b in pieces))

    def confined(self, variance: float) -> "Mixed":
        """Confine every part."""
        return Mixed(*(part.confined(variance) for part in self.parts))

    def project(self) -> "Mixed":
        """Project every part."""
        return Mixed(*(part.project() for part in self.parts))

    def neutral(self) -> "Mixed":
        """Return the layer of the parts' neutral layers."""
        return Mixed(*(part.neutral() for part in self.parts))

    @property
    def gaussian_parameters(self) -> tuple[Array, Array] | None:
        """(b, γ) of all parts; None if one of them is not Gaussian."""
        found = [part.gaussian_parameters for part in self.parts]
        if None in found:
            return None
        fields, precisions = zip(*found, strict=True)  # pyright: ignore
        return jnp.concatenate(fields), jnp.concatenate(precisions)
