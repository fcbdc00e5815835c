"""Layers of different types side by side."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from ..errors import InputError
from .arrays import Columns, Proposals, Rows, RowWeights, Units
from .base import AbstractLayer
from .capabilities import (
    AbstractAffine,
    AbstractBlocked,
    AbstractCorrelated,
    AbstractEnumerable,
    blocks_of,
    correlated,
    curvature,
    gaussian_parameters,
    is_rescalable,
    is_shiftable,
    joint_states,
    mean_given,
    projected,
    proposals_from,
    rescaled,
    sample_given,
    takes_lengths,
    unit_cgfs_given,
    variance_given,
)
from .coding import AbstractCoding


@dataclasses.dataclass(frozen=True)
class _Joined(AbstractCoding):
    """The units of several layers side by side."""

    parts: tuple[AbstractCoding, ...]
    sizes: tuple[int, ...]

    @property
    def n_units(self) -> int:
        return sum(part.n_units for part in self.parts)

    def columns(self, x: Any) -> list[Any]:
        """Split the columns of states among the parts."""
        return jnp.split(x, np.cumsum(self.sizes)[:-1].tolist(), axis=-1)

    def units(self, rows: Any) -> list[Any]:
        """Split the columns of rows in the user's coding among the parts."""
        ends = np.cumsum([part.n_units for part in self.parts])
        pairs = zip(self.parts, ends, strict=True)
        return [rows[..., end - part.n_units : end] for part, end in pairs]

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = zip(*(part.support for part in self.parts), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def fold(self, x: Columns) -> Units:
        return self._joined(lambda part, piece: part.fold(piece), self.columns(x))

    def spread(self, x: Any) -> Any:
        return self._joined(lambda part, piece: part.spread(piece), self.units(x))

    def encode(self, rows: Any, dtype: Any) -> Columns:
        return self._joined(lambda part, piece: part.encode(piece, dtype), self.units(rows))

    def _joined(self, function: Callable[[AbstractCoding, Any], Array], pieces: list) -> Array:
        """Apply a function to each part and its piece, and concatenate the results."""
        results = [function(part, piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return jnp.concatenate(results, axis=-1)

    def outside(self, rows: np.ndarray) -> np.ndarray:
        pairs = zip(self.parts, self.units(rows), strict=True)
        return np.concatenate([part.outside(piece) for part, piece in pairs], axis=-1)

    def decode(self, x: Any) -> np.ndarray:
        """Decode the columns of every part; NumPy promotes to a type that holds them all."""
        pairs = zip(self.parts, self.columns(x), strict=True)
        return np.concatenate([part.decode(piece) for part, piece in pairs], axis=-1)

    def describe(self, unit: int) -> str:
        for part in self.parts:
            if unit < part.n_units:
                return part.describe(unit)
            unit -= part.n_units
        raise IndexError(f"no unit {unit} beyond the last one")


class Mixed(AbstractEnumerable, AbstractBlocked, AbstractAffine, AbstractCorrelated):
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
        return cls(*fields["parts"])

    def __str__(self) -> str:
        return f"Mixed({', '.join(str(part) for part in self.parts)})"

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of columns of a state, over all parts."""
        return sum(part.size for part in self.parts)

    @property
    def coding(self) -> _Joined:
        codings = tuple(part.coding for part in self.parts)
        return _Joined(codings, tuple(part.size for part in self.parts))

    def _joined(self, function: Callable[[AbstractLayer, Array], Array], pieces: list) -> Array:
        """Apply a function to each part and its piece, and concatenate the results."""
        results = [function(part, piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return jnp.concatenate(results, axis=-1)

    def unit_energies(self, x: Columns) -> Units:
        return self._joined(lambda part, piece: part.unit_energies(piece), self.coding.columns(x))

    def unit_cgfs(self, inputs: Columns) -> Units:
        return self._joined(lambda part, piece: part.unit_cgfs(piece), self.coding.columns(inputs))

    def mean(self, inputs: Columns) -> Columns:
        return self._joined(lambda part, piece: part.mean(piece), self.coding.columns(inputs))

    def variance(self, inputs: Columns) -> Columns:
        return self._joined(lambda part, piece: part.variance(piece), self.coding.columns(inputs))

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        keys = jax.random.split(key, len(self.parts))
        pieces = zip(self.coding.columns(inputs), keys, strict=True)
        return self._joined(lambda part, piece: part.sample(piece[0], key=piece[1]), list(pieces))

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The blocks of the parts' units, numbered one part after the other."""
        ends = np.cumsum([0, *(part.n_units for part in self.parts)])
        pairs = zip(self.parts, ends[:-1], strict=True)
        return np.concatenate([blocks_of(part) + end for part, end in pairs])

    def unit_cgfs_given(
        self, inputs: Array, known: Array, values: Array
    ) -> Float[Array, "*all units"]:
        pieces = self._given(inputs, known, values)
        return self._joined(lambda part, piece: unit_cgfs_given(part, *piece), pieces)

    def mean_given(
        self, inputs: Array, known: Array, values: Array
    ) -> Float[Array, "*all columns"]:
        pieces = self._given(inputs, known, values)
        return self._joined(lambda part, piece: mean_given(part, *piece), pieces)

    def variance_given(
        self, inputs: Array, known: Array, values: Array
    ) -> Float[Array, "*all columns"]:
        pieces = self._given(inputs, known, values)
        return self._joined(lambda part, piece: variance_given(part, *piece), pieces)

    def _given(self, inputs: Array, known: Array, values: Array) -> list[tuple]:
        """Split inputs, known units and their values among the parts."""
        pieces = self.coding.columns(inputs), self.coding.units(known), self.coding.columns(values)
        return list(zip(*pieces, strict=True))

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> Float[Array, "*all columns"]:
        keys = jax.random.split(key, len(self.parts))
        pieces = list(zip(self._given(inputs, known, values), keys, strict=True))
        draw = lambda part, piece: sample_given(part, *piece[0], key=piece[1])  # noqa: E731
        return self._joined(draw, pieces)

    def shift(self, delta: Columns) -> "Mixed":
        pieces = zip(self.parts, self.coding.columns(delta), strict=True)
        return Mixed(*(part.shift(piece) for part, piece in pieces))

    @property
    def n_states(self) -> int | None:
        counts = [part.n_states for part in self.parts]
        return None if None in counts else math.prod(counts)  # pyright: ignore

    @property
    def is_exact_in_bfloat16(self) -> bool:
        return all(part.is_exact_in_bfloat16 for part in self.parts)

    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states: the first part's index is the lowest digit of a mixed radix."""
        pieces = []
        *others, last = self.parts
        for part in others:
            count = part.n_states
            if count is None:
                raise InputError(f"{self}: {part} is a continuum and cannot be enumerated.")
            pieces.append(joint_states(part, indices % count))
            indices = indices // count
        return jnp.concatenate([*pieces, joint_states(last, indices)], axis=-1)

    def proposals(self, x: Columns) -> Proposals:
        """Return the proposals of every part; narrower ones are padded with changes of 0."""
        pieces = zip(self.parts, self.coding.columns(x), strict=True)
        of_parts = [proposals_from(part, piece) for part, piece in pieces]
        width = max(columns.shape[1] for columns, _ in of_parts)
        places = []
        changes = []
        first = 0
        for part, (columns, change) in zip(self.parts, of_parts, strict=True):
            missing = width - columns.shape[1]
            places.append(first + np.pad(columns, [(0, 0), (0, missing)]))
            changes.append(jnp.pad(change, [(0, 0)] * (change.ndim - 1) + [(0, missing)]))
            first += part.size
        return np.concatenate(places), jnp.concatenate(changes, axis=-2)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Mixed":
        pieces = zip(self.parts, self.coding.columns(x), strict=True)
        return Mixed(*(part.fit_moments(piece, weights) for part, piece in pieces))

    @property
    def curvature(self) -> Float[Array, " columns"]:
        return jnp.concatenate([curvature(part) for part in self.parts])

    @property
    def is_rescalable(self) -> np.ndarray:
        return np.concatenate([is_rescalable(part) for part in self.parts])

    @property
    def is_shiftable(self) -> np.ndarray:
        return np.concatenate([is_shiftable(part) for part in self.parts])

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "Mixed":
        pieces = zip(self.parts, self.coding.units(scale), self.coding.units(offset), strict=True)
        return Mixed(*(rescaled(part, s, m) for part, s, m in pieces))

    @property
    def correlated(self) -> Integer[np.ndarray, " some"]:
        ends = np.cumsum([0, *(part.size for part in self.parts)])
        pairs = zip(self.parts, ends[:-1], strict=True)
        return np.concatenate([correlated(part) + end for part, end in pairs])

    @property
    def whitening(self) -> Float[Array, "some some"]:
        parts = [part for part in self.parts if isinstance(part, AbstractCorrelated)]
        return jax.scipy.linalg.block_diag(*(part.whitening for part in parts))

    def along(self, basis: Float[Array, "some some"]) -> "Mixed":
        moved = []
        first = 0
        for part in self.parts:
            if isinstance(part, AbstractCorrelated):
                last = first + len(part.correlated)
                part = part.along(basis[first:last, first:last])
                first = last
            moved.append(part)
        return Mixed(*moved)

    def confined(self, variance: float) -> "Mixed":
        confined = [
            part.confined(variance) if isinstance(part, AbstractCorrelated) else part
            for part in self.parts
        ]
        return Mixed(*confined)

    def project(self) -> "Mixed":
        return Mixed(*(projected(part) for part in self.parts))

    def base(self) -> "Mixed":
        return Mixed(*(part.base() for part in self.parts))

    @property
    def gaussian_parameters(self) -> tuple[Array, Array] | None:
        of_parts = [gaussian_parameters(part) for part in self.parts]
        if None in of_parts:
            return None
        fields, precisions = zip(*of_parts, strict=True)  # pyright: ignore
        return jnp.concatenate(fields), jnp.concatenate(precisions)
