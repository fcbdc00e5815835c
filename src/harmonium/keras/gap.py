"""The loss that is minimised: the free-energy gap between the data and the model's chains."""

from __future__ import annotations

from typing import Any

from .base import ops
from .units.base import Tensor


def free_energy_gap(model: Any, rows: Tensor, weights: Tensor | None, training: bool) -> Tensor:
    """Return ⟨F⟩_data − ⟨F⟩_model, whose gradient estimates that of the negative log-likelihood.

    The model's states are treated as constants. F(v) has the hidden units summed out, so the
    gradient has their analytic average, ∂F/∂W_ij = −v_i ⟨h_j⟩, in both phases. With weights, the
    data term is Σ w F / Σ w; a batch in which all weights are zero has a gap of zero.

    Source: Hinton 2002 (CD-k); Younes 1989, Tieleman 2008 (PCD-k).
    """
    method = {"cd": _contrastive_gap, "pcd": _persistent_gap}[model.method]
    return method(model, rows, weights, training)


def _contrastive_gap(model: Any, rows: Tensor, weights: Tensor | None, training: bool) -> Tensor:
    """Return the gap between the rows and new chains that start at them, with the same weights."""
    seed = model.chain_seeds if training else model.monitor_seeds
    inputs = model.inputs_to_h(rows)
    v = _visible_after(model, model.hidden.sample(inputs, seed), seed)
    change = model.free_energy_under(rows, inputs) - model.free_energy(v)
    return weighted_mean(change, weights)


def _persistent_gap(model: Any, rows: Tensor, weights: Tensor | None, training: bool) -> Tensor:
    """Return the gap between the rows and the persistent chains, which advance only in training."""
    seed = model.chain_seeds if training else model.monitor_seeds
    chains = ops.convert_to_tensor(model.chains)
    # Outside training one v drawn from the chains as they are is enough.
    v = _visible_after(model, chains, seed, model.k if training else 1)
    inputs = model.inputs_to_h(v)
    if training:
        model.chains.assign(model.hidden.sample(inputs, seed))
    of_chains = ops.mean(model.free_energy_under(v, inputs))
    if weights is not None:  # no gradient without data
        of_chains = of_chains * ops.cast(ops.sum(weights) > 0, of_chains.dtype)
    return weighted_mean(model.free_energy(rows), weights) - of_chains


def _visible_after(model: Any, h: Tensor, seed: Any, k: int | None = None) -> Tensor:
    """Return the k-th v of a chain h → v → h → … → v."""
    v = model.sample_v_from_h(h, seed)
    for _ in range((model.k if k is None else k) - 1):
        v = model.sample_v_from_h(model.sample_h_from_v(v, seed), seed)
    return v


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """Return Σ w x / Σ w, or zero if all weights are zero."""
    if weights is None:
        return ops.mean(values)
    return ops.sum(weights * values) / ops.maximum(ops.sum(weights), 1e-30)
