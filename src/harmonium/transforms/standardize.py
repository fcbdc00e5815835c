"""Standardisation of rows, and the exact conversion of models of standardised rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from .._base.numerics import product
from .._base.threefry import key_of
from ..data.stream import rows_to_train_on
from ..errors import InputError
from ..layers import AbstractLayer
from ..layers.capabilities import is_rescalable, is_shiftable, rescaled
from ..rbm import RBM
from ..weights.base import over_rows

__all__ = ["Standardization", "standardization"]

ROWS_OF_A_STREAM = 50_000  # enough rows to estimate moments
SMALLEST_SPREAD = 1e-6  # relative to the mean of a column; anything less is rounding error


class Standardization(NamedTuple):
    """The standardisation v = scale · z + mean of rows v; models are trained on z.

    A model can be rewritten exactly in both directions. With s the scales, m the means, and F_v and
    F_z the free energies of the models of v and z,

        F_v(v) = F_z((v − m)/s) + constant,      log p_v(v) = log p_z(z) − Σ_i log s_i

    and the model of v has W′ = W/s, a hidden layer shifted by −m W′ and, for Gaussian units of
    precision γ and bias b, γ′ = γ/s² and b′ = b/s + γm/s². If a mean is a thousand standard
    deviations, float32 loses three of its seven significant digits in the model of v.

    Attributes:
        mean: m, shape (units,); 0 for units that cannot be rescaled, such as binary units.
        scale: s, shape (units,); 1 for units that cannot be rescaled and for constant columns.

    Example:
        >>> scaling = hm.transforms.Standardization(mean=np.array([12.0]), scale=np.array([2.0]))
        >>> scaling.standardised([[10.0], [14.0]]).tolist()
        [[-1.0], [1.0]]
        >>> learned = hm.RBM(hm.Gaussian(1), hm.Bernoulli(1), [[0.0]])  # of standardised rows
        >>> visible = scaling.of_rows(learned).visible
        >>> visible.mean(jnp.zeros(1)).tolist(), visible.variance(jnp.zeros(1)).tolist()
        ([12.0], [4.0])
    """

    mean: np.ndarray
    scale: np.ndarray

    @property
    def log_volume(self) -> float:
        """Σ log s: log-likelihood of the standardised rows minus that of the original rows."""
        return float(np.log(self.scale).sum())

    @property
    def is_identity(self) -> bool:
        """Whether the standardisation changes nothing."""
        return bool((self.mean == 0).all() and (self.scale == 1).all())

    def standardised(self, rows: Any) -> np.ndarray:
        """Return z = (v − m)/s for rows v in the user's coding."""
        rows = np.asarray(rows)
        if self.is_identity:  # rows of whole numbers keep their type
            return rows
        return (rows - self.mean) / self.scale

    def restored(self, rows: Any) -> np.ndarray:
        """Return v = s z + m for standardised rows z."""
        rows = np.asarray(rows)
        if self.is_identity:
            return rows
        return rows * self.scale + self.mean

    def of_rows(self, rbm: RBM) -> RBM:
        """Convert a model of z to a model of v, the model to keep after training.

        Raises:
            InputError: the model's units do not match the rows.
        """
        return rewritten(rbm, self.scale, self.mean)

    def of_standardised(self, rbm: RBM) -> RBM:
        """Convert a model of v to a model of z, to continue its training."""
        return rewritten(rbm, 1.0 / self.scale, -self.mean / self.scale)


def standardization(visible: AbstractLayer, data: Any, weights: Any = None) -> Standardization:
    """Return the means and standard deviations of the columns that the visible layer can rescale.

    Moments are computed from observed values; NaN marks missing values.

    Args:
        visible: the layer that will model the rows. Gaussian units can be rescaled; Bernoulli units
            cannot.
        data: rows in the user's coding, shape (n, units), a `Dataset`, or a `Stream`, from which
            50,000 rows are used.
        weights: sample weights of the rows.

    Raises:
        InputError: data are outside the layer's domain.

    Example:
        >>> layer = hm.Mixed(hm.Bernoulli(1), hm.Gaussian(1))
        >>> scaling = hm.standardization(layer, [[0, 10.0], [1, 14.0]])
        >>> scaling.mean.tolist(), scaling.scale.tolist()  # the binary column stays as it is
        ([0.0, 12.0], [1.0, 2.0])
    """
    dataset = rows_to_train_on(data, weights).checked_for(visible)
    if not (is_rescalable(visible) | is_shiftable(visible)).any():
        return Standardization(np.zeros(visible.n_observed), np.ones(visible.n_observed))
    dataset = dataset.in_memory if dataset.is_whole else dataset.some(ROWS_OF_A_STREAM)
    rows = dataset.rows(key=key_of(0)).astype(np.float64)
    row_weights = np.ones(len(rows))
    if dataset.weights is not None:
        row_weights = np.asarray(dataset.weights)
    is_observed = ~np.isnan(rows)
    total = np.maximum(row_weights @ is_observed, np.finfo(np.float64).tiny)
    mean = row_weights @ np.where(is_observed, rows, 0.0) / total
    variance = row_weights @ np.where(is_observed, (rows - mean) ** 2, 0.0) / total
    deviation = np.sqrt(variance)
    varies = deviation > SMALLEST_SPREAD * abs(mean)
    may_rescale = is_rescalable(visible)[: visible.n_observed]
    may_shift = is_shiftable(visible)[: visible.n_observed]
    scale = np.where(may_rescale & varies, deviation, 1.0)
    return Standardization(np.where(may_shift, mean, 0.0), scale)


def rewritten(rbm: RBM, scale: np.ndarray, offset: np.ndarray) -> RBM:
    """Return the model of scale · x + offset, where `rbm` is a model of x.

    Raises:
        InputError: there is not one scale and one offset for each observed unit, or a unit cannot
            be rescaled.
    """
    units = rbm.visible.n_observed
    if np.shape(scale) != (units,) or np.shape(offset) != (units,):
        raise InputError(
            f"Standardization: expected one scale and one mean for each of the {units} observed"
            f" units of {rbm.visible}; got scales of shape {np.shape(scale)}."
        )
    visible = rbm.visible
    scale = np.append(scale, np.ones(visible.n_latent))
    offset = np.append(offset, np.zeros(visible.n_latent))
    inverse = 1.0 / visible.spread(jnp.asarray(scale, visible.dtype))
    origin = visible.spread(jnp.asarray(offset, visible.dtype))
    hidden = rbm.hidden.shift(-product(origin * inverse, rbm.weights))
    return RBM(rescaled(visible, scale, offset), hidden, over_rows(rbm.weights, inverse))
