"""Gauges: choices among the many sets of parameters with the same p(v).

A continuous hidden unit h may be replaced by s·h if its weights are divided by s, and a constant
may be added to the weights of all states of a Potts site if the other layer's biases compensate.
Individual weights therefore have no meaning until a gauge is fixed. Each function here returns a
model with the same p(v) in a particular gauge, and rejects models whose p(v) would change.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._base.numerics import from_numpy
from .._base.programs import compiled
from .._base.threefry import key_of
from ..data import Dataset
from ..data.parts import in_parts
from ..errors import InputError
from ..layers import AbstractLayer
from ..layers.capabilities import proposals_from
from ..rbm import RBM, checked_rbm
from ..samplers.single_site import units_of_proposals
from ..transforms.standardize import rewritten
from ..weights.base import replaced

__all__ = ["unit_hidden_variance", "unit_weight_norms", "zero_sum"]


def unit_hidden_variance(rbm: RBM, data: Any, weights: Any = None) -> RBM:
    """Return the model rescaled so that hidden units have variance 1 over the rows of `data`.

    The variance of a hidden unit is the variance of its mean over the rows, plus the mean of its
    variance given each row. A unit that does not vary is left unchanged.

    Args:
        rbm: a model whose hidden units can be rescaled, such as Gaussian or DReLU units.
        data: complete rows in the user's coding, shape (n, visible units), or a `Dataset`.
        weights: sample weights of the rows.

    Raises:
        InputError: the hidden units cannot be rescaled (0/1 units cannot), or the rows do not match
            the model.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Gaussian(1), [[2.0], [0.0], [0.0], [0.0]])
        >>> rescaled = hm.analysis.unit_hidden_variance(rbm, hm.bars_and_stripes(2))
        >>> round(float(rescaled.weights[0, 0]), 3)  # the variance was 1 + 2²/4: 2 √2
        2.828

    Source: Tubiana, Cocco & Monasson 2019 (batch-normalised DReLU units).
    """
    dataset = Dataset.of(data, weights).checked_for(checked_rbm(rbm).visible)
    if dataset.missing:
        raise InputError("data: expected complete rows; got missing values; impute them first.")
    rows = dataset.rows(key=key_of(0))
    moments = in_parts(lambda part, _: _moments_of_h(rbm, part), rows, rbm.widest)
    means, variances = np.split(moments.astype(np.float64), 2, axis=1)
    mean = np.average(means, axis=0, weights=dataset.weights)
    # Law of total variance: variance of the means plus mean of the variances.
    total = np.average((means - mean) ** 2 + variances, axis=0, weights=dataset.weights)
    return _with_scales(rbm, np.sqrt(total))


@compiled
def _moments_of_h(rbm: RBM, rows: Array) -> Array:
    inputs = rbm.inputs_to_h(rbm.visible.encode(rows))
    return jnp.concatenate([rbm.hidden.mean(inputs), rbm.hidden.variance(inputs)], axis=1)


def unit_weight_norms(rbm: RBM) -> RBM:
    """Return the model rescaled so that each hidden unit's weights have Euclidean norm 1.

    Raises:
        InputError: the hidden units cannot be rescaled.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(2), hm.Gaussian(1), [[3.0], [4.0]])
        >>> [round(float(w), 3) for w in hm.analysis.unit_weight_norms(rbm).weights[:, 0]]
        [0.6, 0.8]
    """
    norms = np.linalg.norm(np.asarray(checked_rbm(rbm).dense_weights, np.float64), axis=0)
    return _with_scales(rbm, 1.0 / np.where(norms > 0, norms, 1.0))


def _with_scales(rbm: RBM, scale: np.ndarray) -> RBM:
    """Return the model with hidden units h / scale in place of h; a scale of 0 is treated as 1."""
    scale = np.where(scale > 0, scale, 1.0)
    return rewritten(rbm.T, 1.0 / scale, np.zeros(len(scale))).T


def zero_sum(rbm: RBM) -> RBM:
    """Return the model whose weights and biases sum to 0 over the states of each Potts site.

    Sites are one-hot units of either layer. With c the mean of W over the states of a site,
    replacing W by W − c leaves p(v) unchanged if c is added to the other layer's bias.

    Raises:
        InputError: no layer has one-hot units, or the weight class cannot represent the result.

    Example:
        >>> rbm = hm.RBM(hm.Potts(1, 3), hm.Bernoulli(1), [[3.0], [0.0], [0.0]])
        >>> centred = hm.analysis.zero_sum(rbm)
        >>> centred.weights[:, 0].round(3).tolist(), centred.hidden.bias.round(3).tolist()
        ([2.0, -1.0, -1.0], [1.0])
    """
    sites = [_sites(layer) for layer in (checked_rbm(rbm).visible, rbm.hidden)]
    if not any(mask.any() for mask in sites):
        raise InputError(f"zero_sum: expected a layer of Potts units or categories; got {rbm}.")
    for mask in sites:
        rbm = _centred(rbm, mask).T  # transposed twice in total, once for each layer
    return rbm


def _sites(layer: AbstractLayer) -> np.ndarray:
    """Return a mask of the one-hot units, whose columns have the same sum in every state."""
    columns, changes = proposals_from(layer, layer.sample_without_inputs((), key=key_of(0)))
    mask = np.zeros(layer.n_units, bool)
    if len(columns):
        units = units_of_proposals(layer, columns)
        mask[units] = True
        mask[units[np.asarray(changes).sum(-1) != 0]] = False
    return mask


def _centred(rbm: RBM, mask: np.ndarray) -> RBM:
    """Return the model whose weights and biases sum to 0 over the columns of each chosen unit.

    The chosen units are those in `mask`; the other units are left unchanged.
    """
    visible = rbm.visible
    weights = rbm.dense_weights
    counts = visible.fold(jnp.ones(visible.size, visible.dtype))
    chosen = from_numpy(mask.astype(visible.dtype))

    def means(columns: Array) -> Array:
        return visible.fold(columns) / counts * chosen

    mean_weights = means(weights.T)  # (hidden columns, visible units)
    bias = -visible.energy(jnp.eye(visible.size, dtype=visible.dtype))
    centred_weights = weights - visible.spread(mean_weights).T
    centred_visible = visible.shift(-visible.spread(means(bias)))
    hidden = rbm.hidden.shift(mean_weights.sum(-1))
    return RBM(centred_visible, hidden, replaced(rbm.weights, centred_weights))
