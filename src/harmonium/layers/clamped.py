"""Layers some of whose units are not free: held at known values, or left out."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..parameters import data_field
from .base import AbstractLayer


class AbstractPartial(AbstractLayer):
    """A layer around another one, some of whose units are not free; most is as in that one.

    Attributes:
        layer: the layer as a whole.
    """

    layer: AbstractLayer

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Number of arithmetic columns."""
        return self.layer.size

    @property
    def n_units(self) -> int:
        """Number of units, held and free."""
        return self.layer.n_units

    def fold(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Sum the columns of each unit."""
        return self.layer.fold(x)

    def spread(self, x: Array) -> Array:
        """Repeat each unit's entry over its columns."""
        return self.layer.spread(x)

    def shift(self, delta: Float[Array, "*batch columns"]) -> "AbstractPartial":
        """Shift the layer as a whole."""
        return eqx.tree_at(lambda partial: partial.layer, self, self.layer.shift(delta))

    def fit_moments(self, x: Array, weights: Array | None = None) -> "AbstractPartial":
        """Fit the layer as a whole."""
        fitted = self.layer.fit_moments(x, weights)
        return eqx.tree_at(lambda partial: partial.layer, self, fitted)

    @property
    def support(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest values of the layer as a whole."""
        return self.layer.support

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """Curvatures of the layer as a whole."""
        return self.layer.curvature

    @property
    def is_rescalable(self) -> np.ndarray:
        """Mark what the layer as a whole marks."""
        return self.layer.is_rescalable

    @property
    def is_shiftable(self) -> np.ndarray:
        """Mark what the layer as a whole marks."""
        return self.layer.is_shiftable

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "AbstractPartial":
        """Rescale the layer as a whole."""
        changed = self.layer.rescaled(scale, offset)
        return eqx.tree_at(lambda partial: partial.layer, self, changed)

    def project(self) -> "AbstractPartial":
        """Project the layer as a whole."""
        return eqx.tree_at(lambda partial: partial.layer, self, self.layer.project())

    def neutral(self) -> "AbstractPartial":
        """Return the neutral layer with the same units held or left out."""
        return eqx.tree_at(lambda partial: partial.layer, self, self.layer.neutral())

    def outside(self, rows: np.ndarray) -> np.ndarray:
        """Mark what the layer as a whole marks."""
        return self.layer.outside(rows)

    def domain(self, unit: int) -> str:
        """Say what the layer as a whole says."""
        return self.layer.domain(unit)

    def encode(self, rows: Any) -> Float[Array, "*batch columns"]:
        """Encode as the layer as a whole does."""
        return self.layer.encode(rows)

    def decode(self, x: Any) -> np.ndarray:
        """Decode as the layer as a whole does."""
        return self.layer.decode(x)


class Clamped(AbstractPartial):
    """A layer whose `known` units hold given values: what conditioning needs, for any sampler.

    A known unit contributes exp(I·x − U(x)) at its value x instead of the integral over x, so a
    model with this layer is the conditional one, and its Z is the marginal weight of the values.

    Attributes:
        layer: the layer without the clamp.
        known: which units are held, shape (..., units).
        values: their states, shape (..., columns); anything finite where a unit is free.
    """

    known: Bool[Array, "*batch units"] = data_field()
    values: Float[Array, "*batch columns"] = data_field()

    def unit_energies(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch units"]:
        """Return the energies of the layer without the clamp."""
        return self.layer.unit_energies(x)

    def unit_cgfs(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*rows units"]:
        """Return I·x − U(x) at a known unit's value, Γ(I) of a free unit, for each clamped row."""
        values = jax.lax.stop_gradient(self.values)  # data, not parameters
        held = self.layer.fold(inputs * values) - self.layer.unit_energies(values)
        return jnp.where(self.known, held, self.layer.unit_cgfs(inputs))

    def sample(
        self, inputs: Float[Array, "*batch columns"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw the free units; return the known ones their values."""
        drawn = self.layer.sample(inputs, key=key)
        return jnp.where(self.layer.spread(self.known), self.values, drawn)

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "AbstractPartial":
        """Rescale the layer, and the values."""
        s, m = (self.spread(jnp.asarray(x, self.values.dtype)) for x in (scale, offset))
        changed = super().rescaled(scale, offset)
        return eqx.tree_at(lambda clamped: clamped.values, changed, s * self.values + m)


class Masked(AbstractPartial):
    """A layer without those units that are not `present`: they hold 0 and add to no energy.

    Each row has a layer, and so a model, of its own size. That is another thing than `Clamped`,
    whose free units are summed over.

    Attributes:
        layer: the layer with all units.
        present: which units there are, shape (..., units).
    """

    present: Bool[Array, "*batch units"] = data_field()

    def unit_energies(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*rows units"]:
        """Return the energies of the units that are present, 0 of others."""
        return jnp.where(self.present, self.layer.unit_energies(x), 0.0)

    def unit_cgfs(self, inputs: Float[Array, "*batch columns"]) -> Float[Array, "*rows units"]:
        """Return Γ(I) of the units that are present, 0 of others."""
        return jnp.where(self.present, self.layer.unit_cgfs(inputs), 0.0)

    def sample(
        self, inputs: Float[Array, "*batch columns"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch columns"]:
        """Draw the units that are present; the columns of others are 0."""
        drawn = self.layer.sample(inputs, key=key)
        return jnp.where(self.layer.spread(self.present), drawn, 0.0)
