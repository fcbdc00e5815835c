"""The base class of weights that are not represented by plain arrays."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float

from .._base.module import AbstractModule
from ..errors import InputError


class AbstractWeights(AbstractModule):
    """A representation of W in E(v, h) = U_v(v) + U_h(h) − vᵀ W h, other than a plain array.

    Code that needs a product writes `states @ W` or `states @ W.T`; code that needs entries, rows,
    squares or norms uses `dense`. A term of the gradient with respect to W, such as the outer
    products that centring subtracts, is mapped to a gradient with respect to the parameters by
    differentiating `dense`. Every gradient method therefore works with new weight classes. All
    arrays of a weight class are parameters, except those declared with `data_field`.

    The following class is complete: it represents W as a product of two narrow factors.

    ```python
    >>> import jax, jax.numpy as jnp, harmonium as hm
    >>> from harmonium.weights import AbstractWeights
    >>> class LowRank(AbstractWeights):
    ...     left: jax.Array
    ...     right: jax.Array
    ...     @property
    ...     def shape(self):
    ...         return len(self.left), len(self.right)
    ...     @property
    ...     def T(self):
    ...         return LowRank(self.right, self.left)
    ...     def __rmatmul__(self, states):
    ...         return states @ self.left @ self.right.T
    ...     @property
    ...     def dense(self):
    ...         return self.left @ self.right.T
    ...     def over_rows(self, factors):
    ...         return LowRank(factors[:, None] * self.left, self.right)
    >>> weights = LowRank(jnp.ones((4, 1)), jnp.full((3, 1), 0.1))
    >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), weights)
    >>> round(hm.log_z(rbm).value, 3)
    5.184

    ```
    """

    __array_ufunc__: ClassVar[None] = None  # so that NumPy arrays defer `@` to this class
    multiplies_arrays: ClassVar[bool] = False
    """Whether `@` multiplies states by arrays that `map_arrays` can replace by `Rounded`."""

    @property
    def copies(self) -> int:
        """The number of entries of W that each parameter sets."""
        return 1

    @property
    def shared_filters(self) -> Array | None:
        """The filters that several hidden units share, shape (filters, *window, channels)."""
        return None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape, (visible columns, hidden columns)."""

    @property
    @abstractmethod
    def T(self) -> AbstractWeights:  # noqa: N802  (named as for arrays)
        """The transposed weights."""

    @abstractmethod
    def __rmatmul__(self, states: Array) -> Array:
        """Return states @ W."""

    @property
    @abstractmethod
    def dense(self) -> Float[Array, "visible hidden"]:
        """W as an array, differentiable with respect to the parameters."""

    @abstractmethod
    def over_rows(self, factors: Float[Array, " visible"]) -> AbstractWeights:
        """Return the weights with row i of W multiplied by factor i, for every row."""

    @property
    def differentiable(self) -> Any:
        """W in a form that multiplies any vectors, not only states, with exact derivatives.

        The default is `dense`. If `dense` would be much larger than the parameters, a class can
        return `self` instead.
        """
        return self.dense

    def replaced(self, entries: Float[Array, "visible hidden"]) -> AbstractWeights:
        """Return weights of this class whose `dense` equals `entries`.

        Raises:
            InputError: this class cannot represent an arbitrary matrix.
        """
        raise InputError(
            "weights: expected a weight class that can represent an arbitrary matrix; got"
            f" {type(self).__name__}."
        )

    def map_arrays(self, function: Callable[[Array], Any]) -> AbstractWeights:
        """Apply `function` to each array that multiplies states; return the resulting weights.

        Raises:
            InputError: this class does not multiply states by replaceable arrays.
        """
        raise InputError(
            "weights: expected a weight class that defines `map_arrays`; got"
            f" {type(self).__name__}."
        )

    def project(self) -> AbstractWeights:
        """Return the weights with their parameters projected back into their domain."""
        return self

    def to_fields(self) -> dict[str, Any]:
        """Return the fields that a model file stores (arrays, weights, numbers, text), by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def from_fields(cls, **fields: Any) -> AbstractWeights:
        """Return the weights built from the fields that `to_fields` returned."""
        return cls(**fields)


def is_plain(weights: Any) -> bool:
    """Return whether weights are a plain array."""
    return eqx.is_array(weights)


def copies_of(weights: Any) -> int:
    """Return how often each parameter of the weights occurs in W: 1 unless weights are shared."""
    return 1 if is_plain(weights) else weights.copies


def shared_filters(weights: Any) -> Array | None:
    """Return the filters that several hidden units share, or None if there are none."""
    return None if is_plain(weights) else weights.shared_filters


def multiplies_arrays(weights: Any) -> bool:
    """Return whether `@` multiplies states by arrays that `map_arrays` can replace."""
    return is_plain(weights) or weights.multiplies_arrays


def map_arrays(weights: Any, function: Callable[[Array], Any]) -> Any:
    """Apply `function` to each array that multiplies states; return the resulting weights."""
    if is_plain(weights):
        return function(weights)
    return weights.map_arrays(function)


def dense(weights: Any) -> Array:
    """Return W as an array, whatever its representation."""
    if is_plain(weights):
        return weights
    return weights.dense


def differentiable(weights: Any) -> Any:
    """Return W in a form that multiplies any vectors, not only states, with exact derivatives."""
    if is_plain(weights):
        return weights
    return weights.differentiable


def projected(weights: Any) -> Any:
    """Return the weights with their parameters projected back into their domain."""
    if is_plain(weights):
        return weights
    return weights.project()


def over_rows(weights: Any, factors: Array) -> Any:
    """Return the weights with row i of W multiplied by factor i, for every row."""
    if is_plain(weights):
        return factors[:, None] * weights
    return weights.over_rows(factors)


def replaced(weights: Any, entries: Array) -> Any:
    """Return weights of the same class whose `dense` equals `entries`."""
    if is_plain(weights):
        return entries
    return weights.replaced(entries)
