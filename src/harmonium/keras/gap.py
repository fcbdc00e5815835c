"""The loss: the free-energy gap between the data and the model's chains."""

from __future__ import annotations

from typing import Any

from .base import ops
from .units.base import Tensor


def free_energy_gap(model: Any, rows: Tensor, weights: Tensor | None, training: bool) -> Tensor:
    """Return ⟨F⟩_data − ⟨F⟩_model; its gradient estimates that of the negative log-likelihood.

    The states of the chains are treated as constants. Since the hidden units are summed out in
    F(v), both phases of the gradient use exact hidden means: ∂F/∂W_ij = −v_i ⟨h_j | v⟩. With sample
    weights w, ⟨F⟩_data is Σ w F / Σ w; a batch in which all weights are zero has a gap of zero.

    Source: Hinton 2002 (CD-k); Younes 1989, Tieleman 2008 (PCD-k).
    """
    seed = model.chain_seeds if training else model.monitor_seeds
    if model.method == "cd":
        return _contrastive_gap(model, rows, weights, seed)
    if training:
        return _persistent_gap(model, rows, weights, seed)
    # Outside training, one draw of v is enough; the chains are not advanced.
    v = model.sample_v_from_h(ops.convert_to_tensor(model.chains), seed)
    return _gap_to_chains(model, rows, weights, v, model.inputs_to_h(v))


def _contrastive_gap(model: Any, rows: Tensor, weights: Tensor | None, seed: Any) -> Tensor:
    """Return the weighted mean of F(row) − F(v), where v ends a chain that starts at the row."""
    inputs = model.inputs_to_h(rows)
    v = _visible_after(model, model.hidden.sample(inputs, seed), seed)
    change = model.free_energy_under(rows, inputs) - model.free_energy(v)
    return weighted_mean(change, weights)


def _persistent_gap(model: Any, rows: Tensor, weights: Tensor | None, seed: Any) -> Tensor:
    """Advance the persistent chains, and return the gap between the rows and the chains."""
    v = _visible_after(model, ops.convert_to_tensor(model.chains), seed)
    inputs = model.inputs_to_h(v)
    model.chains.assign(model.hidden.sample(inputs, seed))
    return _gap_to_chains(model, rows, weights, v, inputs)


def _gap_to_chains(
    model: Any, rows: Tensor, weights: Tensor | None, v: Tensor, inputs: Tensor
) -> Tensor:
    """Return the mean F of the rows minus the mean F of the chain states v; `inputs` is vW."""
    mean_of_chains = ops.mean(model.free_energy_under(v, inputs))
    if weights is not None:  # no gradient without data
        mean_of_chains = mean_of_chains * ops.cast(ops.sum(weights) > 0, mean_of_chains.dtype)
    return weighted_mean(model.free_energy(rows), weights) - mean_of_chains


def _visible_after(model: Any, h: Tensor, seed: Any) -> Tensor:
    """Return the k-th visible state of a chain h → v → h → … → v that starts at h."""
    v = model.sample_v_from_h(h, seed)
    for _ in range(model.k - 1):
        v = model.sample_v_from_h(model.sample_h_from_v(v, seed), seed)
    return v


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """Return Σ w x / Σ w, or zero if all weights are zero."""
    if weights is None:
        return ops.mean(values)
    return ops.sum(weights * values) / ops.maximum(ops.sum(weights), 1e-30)
