"""Weights that connect only some pairs of units, as in lattices and other graphs."""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._base.numerics import from_numpy, product
from ..errors import InputError
from .base import AbstractWeights


class Pattern:
    """A Boolean matrix, hashed and compared by its entries so that it can be a static field."""

    def __init__(self, entries: Any):
        """Build the pattern from a matrix of 0 and 1.

        Raises:
            InputError: `entries` is not a matrix, or has entries other than 0 and 1.
        """
        entries = np.asarray(entries)
        if entries.ndim != 2 or not np.isin(entries, (0, 1)).all():
            others = " with other entries" if entries.ndim == 2 else ""
            raise InputError(
                "pattern: expected a matrix of 0 and 1, or of True and False;"
                f" got shape {entries.shape}, type {entries.dtype}{others}."
            )
        self.entries = entries.astype(bool)
        self.entries.flags.writeable = False
        self._hash = hash((self.entries.shape, np.packbits(self.entries).tobytes()))

    def __hash__(self) -> int:
        """Return a hash of the entries."""
        return self._hash

    def __eq__(self, other: Any) -> bool:
        """Return whether `other` is a pattern with the same entries."""
        if other is self:
            return True
        return isinstance(other, Pattern) and np.array_equal(self.entries, other.entries)

    @functools.cached_property
    def turned(self) -> Pattern:
        """The transposed pattern."""
        return Pattern(self.entries.T)

    def __repr__(self) -> str:
        """Return, as text, the number of connected pairs and the number of all pairs."""
        return f"Pattern({int(self.entries.sum()):,} of {self.entries.size:,})"


class MaskedWeights(AbstractWeights):
    """Weights that are exactly 0 except where a pattern allows a connection.

    Training keeps the weights of unconnected pairs at 0.

    Attributes:
        weights: W, shape (visible, hidden), 0 outside the pattern.
        pattern: the pairs of units that are connected. The constructor accepts a matrix of 0 and 1;
            `connected` returns the pattern as a Boolean matrix.

    Example:
        >>> weights = hm.weights.MaskedWeights([[1.0, 2.0], [3.0, 4.0]], np.eye(2))
        >>> weights.dense.tolist()
        [[1.0, 0.0], [0.0, 4.0]]
        >>> key = jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(2), hm.Bernoulli(2), key=key, pattern=np.eye(2))
        >>> rbm.weights.connected.tolist()
        [[True, False], [False, True]]
    """

    weights: Float[Array, "*models visible hidden"]
    pattern: Pattern = eqx.field(static=True)

    def __init__(self, weights: Any, pattern: Any):
        if not isinstance(pattern, Pattern):
            pattern = Pattern(pattern)
        if isinstance(weights, list | np.ndarray):
            weights = from_numpy(np.array(weights, float))
        if jnp.shape(weights)[-2:] != pattern.entries.shape:
            raise InputError(
                f"MaskedWeights: expected a pattern with the shape of the weights,"
                f" {jnp.shape(weights)}; got {pattern.entries.shape}."
            )
        self.weights = jnp.where(pattern.entries, weights, 0.0)
        self.pattern = pattern

    @property
    def connected(self) -> Bool[np.ndarray, "visible hidden"]:
        """The Boolean matrix of connected pairs of units."""
        return self.pattern.entries

    @property
    def shape(self) -> tuple[int, ...]:
        return jnp.shape(self.weights)

    @property
    def T(self) -> MaskedWeights:  # noqa: N802
        return MaskedWeights(jnp.swapaxes(self.weights, -1, -2), self.pattern.turned)

    def __rmatmul__(self, states: Array) -> Array:
        return product(states, self.dense)

    @property
    def dense(self) -> Float[Array, "visible hidden"]:
        return jnp.where(self.connected, self.weights, 0.0)

    def over_rows(self, factors: Float[Array, " visible"]) -> MaskedWeights:
        return MaskedWeights(factors[:, None] * self.weights, self.pattern)

    def replaced(self, entries: Float[Array, "visible hidden"]) -> MaskedWeights:
        """Return weights with these entries, which must be 0 outside the pattern."""
        outside = np.asarray(jnp.where(self.connected, 0.0, entries))
        if outside.any():
            raise InputError(
                f"MaskedWeights: expected entries of 0 where units are not connected;"
                f" got nonzero entries there ({np.count_nonzero(outside)} in all)."
            )
        return MaskedWeights(entries, self.pattern)

    def project(self) -> MaskedWeights:
        return MaskedWeights(self.weights, self.pattern)

    def to_fields(self) -> dict[str, Any]:
        return {"weights": self.weights, "pattern": self.connected}
