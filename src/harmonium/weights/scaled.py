"""Weights multiplied by a number."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from .._base.parameters import data_field
from ..errors import InputError
from .base import AbstractWeights, dense, over_rows, projected


class Scaled(AbstractWeights):
    """Weights with a separate scale factor t: v @ (tW) is computed as t (v @ W).

    Models at several temperatures thus share one product with W.

    Attributes:
        weights: W, an array or other weights.
        scale: t.

    Example:
        >>> weights = hm.weights.Scaled(jnp.array([[1.0, 2.0]]), jnp.asarray(0.5))
        >>> weights.dense.tolist()
        [[0.5, 1.0]]
        >>> half = hm.RBM(hm.Bernoulli(1), hm.Bernoulli(2), weights)
        >>> half.inputs_to_h(jnp.ones(1)).tolist()
        [0.5, 1.0]
    """

    weights: Any
    scale: Float[Array, "*models"] = data_field()

    @classmethod
    def from_fields(cls, **fields: Any) -> Scaled:
        """Return the weights of a single model from the fields that `to_fields` returned.

        Raises:
            InputError: there are several scales, so the fields are those of several models.
        """
        scaled = cls(**fields)
        if jnp.shape(scaled.scale) != ():
            raise InputError(f"Scaled: expected one scale; got shape {jnp.shape(scaled.scale)}.")
        return scaled

    @property
    def shape(self) -> tuple[int, ...]:
        return self.weights.shape

    @property
    def T(self) -> Scaled:  # noqa: N802
        return Scaled(self.weights.T, self.scale)

    def __rmatmul__(self, states: Array) -> Array:
        """Return states @ W · t."""
        return (states @ self.weights) * self.scale

    @property
    def dense(self) -> Float[Array, "visible hidden"]:
        """W · t as an array."""
        return dense(self.weights) * self.scale

    def over_rows(self, factors: Float[Array, " visible"]) -> Scaled:
        return Scaled(over_rows(self.weights, factors), self.scale)

    def project(self) -> Scaled:
        return Scaled(projected(self.weights), self.scale)
