"""The base class of layers that wrap another layer, some of whose units are not free."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from . import capabilities
from .arrays import Columns, Units
from .base import AbstractLayer
from .capabilities import AbstractAffine, AbstractBlocked
from .coding import AbstractCoding


class AbstractPartial(AbstractBlocked, AbstractAffine):
    """Base class of wrappers that hold some units of a layer at known values, or leave them out.

    Most methods delegate to the wrapped layer.

    Attributes:
        layer: the wrapped layer, with all units.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> visible = hm.condition(rbm, [[1.0, np.nan]]).visible
        >>> isinstance(visible, hm.layers.AbstractPartial), str(visible.layer)
        (True, 'Bernoulli(2)')
    """

    layer: AbstractLayer

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of columns of a state."""
        return self.layer.size

    @property
    def coding(self) -> AbstractCoding:
        return self.layer.coding

    @property
    def is_exact_in_bfloat16(self) -> bool:
        """Always False, because the values of held units may be fractions."""
        return False

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The blocks of the wrapped layer's units."""
        return capabilities.blocks_of(self.layer)

    def unit_cgfs_given(self, inputs: Array, known: Array, values: Array) -> Units:
        """Return each unit's cgf with more units held; only for layers of independent units."""
        held = self.fold(inputs * values) - self.unit_energies(values)
        return jnp.where(known, held, self.unit_cgfs(inputs))

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> Columns:
        """Draw the units with more units held; only for layers of independent units."""
        return jnp.where(self.spread(known), values, self.sample(inputs, key=key))

    def shift(self, delta: Columns) -> "AbstractPartial":
        """Return this wrapper around the shifted layer."""
        return self._around(self.layer.shift(delta))

    def fit_moments(self, x: Array, weights: Array | None = None) -> "AbstractPartial":
        """Return this wrapper with the wrapped layer fitted to the states `x`."""
        return self._around(self.layer.fit_moments(x, weights))

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """The curvature of each column of the wrapped layer."""
        return capabilities.curvature(self.layer)

    @property
    def is_rescalable(self) -> np.ndarray:
        """A mask of the units of the wrapped layer that can be rescaled."""
        return capabilities.is_rescalable(self.layer)

    @property
    def is_shiftable(self) -> np.ndarray:
        """A mask of the units of the wrapped layer that can be shifted."""
        return capabilities.is_shiftable(self.layer)

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "AbstractPartial":
        """Return this wrapper around the rescaled layer."""
        return self._around(capabilities.rescaled(self.layer, scale, offset))

    def project(self) -> "AbstractPartial":
        """Return this wrapper with the wrapped layer's parameters projected into their domain."""
        return self._around(capabilities.projected(self.layer))

    def base(self) -> "AbstractPartial":
        """Return this wrapper around `layer.base()`, with the same units held or left out."""
        return self._around(self.layer.base())

    def _around(self, layer: AbstractLayer) -> "AbstractPartial":
        """Return the same wrapper around another layer."""
        return eqx.tree_at(lambda partial: partial.layer, self, layer)
