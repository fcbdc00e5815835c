"""Layers in which some units are held at known values, or left out."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._base.parameters import data_field
from ..errors import InputError
from . import capabilities
from .arrays import Columns, Units
from .partial import AbstractPartial


class Clamped(AbstractPartial):
    """A layer whose `known` units are held at given values.

    In a model with this layer, any sampler draws from a conditional distribution. To Z, a known
    unit contributes exp(I·x − U(x)) at its value x instead of the integral over x. The model thus
    represents the conditional distribution given the values, and the model's Z is the unnormalised
    marginal probability of the values.

    Attributes:
        layer: the layer without the clamp.
        known: a mask of the held units, shape (..., units).
        values: the states of the held units, shape (..., columns); any finite number for others.

    Example:
        >>> known, values = jnp.array([True, False]), jnp.array([1.0, 0.0])
        >>> layer = hm.layers.Clamped(layer=hm.Bernoulli(2), known=known, values=values)
        >>> layer.mean(jnp.zeros(2)).tolist()
        [1.0, 0.5]
    """

    known: Bool[Array, "*batch units"] = data_field()
    values: Columns = data_field()

    @classmethod
    def from_fields(cls, **fields: Any) -> "Clamped":
        clamped = cls(**fields)
        _check_widths(clamped, clamped.known, clamped.values)
        return clamped

    @property
    def _held(self) -> tuple[Array, Array]:
        """Return a mask of the held units, and the values of all columns (without gradients)."""
        return self.known, jax.lax.stop_gradient(self.values)

    def unit_energies(self, x: Columns) -> Units:
        """Return the unit energies of the unclamped layer."""
        return self.layer.unit_energies(x)

    def unit_cgfs(self, inputs: Columns) -> Float[Array, "*rows units"]:
        """Return I·x − U(x) for each known unit, at its value x, and Γ(I) for each free unit."""
        return capabilities.unit_cgfs_given(self.layer, inputs, *self._held)

    def mean(self, inputs: Columns) -> Float[Array, "*rows columns"]:
        """Return the means of the free units, and the values of the known ones."""
        return capabilities.mean_given(self.layer, inputs, *self._held)

    def variance(self, inputs: Columns) -> Float[Array, "*rows columns"]:
        """Return the variances of the free units, and 0 for the known ones."""
        return capabilities.variance_given(self.layer, inputs, *self._held)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw the free units; the known ones keep their values."""
        return capabilities.sample_given(self.layer, inputs, *self._held, key=key)

    @property
    def curvature(self) -> Columns:
        """The curvatures of the free units; ∞ for the known ones, which are bounded."""
        return jnp.where(self.spread(self.known), jnp.inf, capabilities.curvature(self.layer))

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "AbstractPartial":
        """Return this wrapper around the rescaled layer, with the held values rescaled too."""
        s = self.spread(jnp.asarray(scale, self.values.dtype))
        m = self.spread(jnp.asarray(offset, self.values.dtype))
        changed = super().rescaled(scale, offset)
        return eqx.tree_at(lambda clamped: clamped.values, changed, s * self.values + m)


class Masked(AbstractPartial):
    """A layer restricted to the units that are `present`; other units are 0 and add no energy.

    The number of units can thus differ between rows. A `Clamped` layer, by contrast, keeps all
    units, and sums over the states of those that are not held.

    Attributes:
        layer: the layer with all units.
        present: a mask of the units that are present, shape (..., units).

    Example:
        >>> layer = hm.layers.Masked(layer=hm.Bernoulli(3), present=jnp.array([True, True, False]))
        >>> round(float(layer.cgf(jnp.zeros(3))), 3)  # 2 log 2: two units are there
        1.386
    """

    present: Bool[Array, "*batch units"] = data_field()

    @classmethod
    def from_fields(cls, **fields: Any) -> "Masked":
        masked = cls(**fields)
        _check_widths(masked, masked.present)
        return masked

    @property
    def _absent(self) -> tuple[Bool[Array, "*batch units"], Columns]:
        """Return a mask of the absent units, and the values (0) at which they are held."""
        shape = (*self.present.shape[:-1], self.size)
        return ~self.present, jnp.zeros(shape, self.dtype)

    def unit_energies(self, x: Columns) -> Float[Array, "*rows units"]:
        """Return the energies of the units that are present, and 0 for the others."""
        return jnp.where(self.present, self.layer.unit_energies(x), 0.0)

    def unit_cgfs(self, inputs: Columns) -> Float[Array, "*rows units"]:
        """Return Γ(I) of the units that are present, and 0 for the others."""
        return jnp.where(
            self.present, capabilities.unit_cgfs_given(self.layer, inputs, *self._absent), 0.0
        )

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw the units that are present; the columns of the others are 0."""
        return capabilities.sample_given(self.layer, inputs, *self._absent, key=key)


def _check_widths(partial: AbstractPartial, mask: Array, values: Array | None = None) -> None:
    """Reject arrays of mismatched shapes, because broadcasting them could need far more memory.

    Raises:
        InputError: the types or shapes are wrong.
    """
    is_mask = mask.dtype == bool and mask.shape[-1:] == (partial.n_units,)
    if is_mask and (values is None or values.shape == (*mask.shape[:-1], partial.size)):
        return
    shapes = f"{mask.shape}"
    if values is not None:
        shapes += f" and values of shape {values.shape}"
    raise InputError(
        f"{type(partial).__name__}: expected a Boolean mask of shape (..., {partial.n_units}) and,"
        f" if given, values of shape (..., {partial.size}) with the same leading axes; got a mask"
        f" of type {mask.dtype}, shape {shapes}."
    )
