"""What is minimised: the free-energy gap between the data and the model's chains."""

from __future__ import annotations

from typing import Any

from .base import ops
from .units.base import Tensor


def free_energy_gap(machine: Any, rows: Tensor, weights: Tensor | None, training: bool) -> Tensor:
    """Give ⟨F⟩_data − ⟨F⟩_model, whose gradient estimates that of the negative log-likelihood.

    The model's states are constants. F(v) has the hidden units summed out, so the gradient carries
    their analytic average, ∂F/∂W_ij = −v_i ⟨h_j⟩, in both phases. With weights, the data's side is
    Σ w F / Σ w; a batch of nothing but zero weights has a gap of zero.

    Source: Hinton 2002 (CD-k); Younes 1989, Tieleman 2008 (PCD-k).
    """
    method = {"cd": _contrastive_gap, "pcd": _persistent_gap}[machine.method]
    return method(machine, rows, weights, training)


def _contrastive_gap(machine: Any, rows: Tensor, weights: Tensor | None, training: bool) -> Tensor:
    """Start the chains at the rows, whose weights they carry; forget them afterwards."""
    seed = machine.chain_seeds if training else machine.monitor_seeds
    inputs = machine.inputs_to_h(rows)
    v = _visible_after(machine, machine.hidden.sample(inputs, seed), seed)
    change = machine.free_energy_under(rows, inputs) - machine.free_energy(v)
    return weighted_mean(change, weights)


def _persistent_gap(machine: Any, rows: Tensor, weights: Tensor | None, training: bool) -> Tensor:
    """Go on with the chains that the machine keeps; when not training, look and leave them be."""
    seed = machine.chain_seeds if training else machine.monitor_seeds
    chains = ops.convert_to_tensor(machine.chains)
    # Without training the chains are draws already, and one v from them is enough.
    v = _visible_after(machine, chains, seed, machine.k if training else 1)
    inputs = machine.inputs_to_h(v)
    if training:
        machine.chains.assign(machine.hidden.sample(inputs, seed))
    model = ops.mean(machine.free_energy_under(v, inputs))
    if weights is not None:  # no data, no step
        model = model * ops.cast(ops.sum(weights) > 0, model.dtype)
    return weighted_mean(machine.free_energy(rows), weights) - model


def _visible_after(machine: Any, h: Tensor, seed: Any, k: int | None = None) -> Tensor:
    """Give the k-th v of a chain h → v → h → … → v."""
    v = machine.sample_v_from_h(h, seed)
    for _ in range((machine.k if k is None else k) - 1):
        v = machine.sample_v_from_h(machine.sample_h_from_v(v, seed), seed)
    return v


def weighted_mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """Give Σ w x / Σ w; zero where all weights are."""
    if weights is None:
        return ops.mean(values)
    return ops.sum(weights * values) / ops.maximum(ops.sum(weights), 1e-30)
