"""Single-site proposals: the change in log p(v) when exactly one unit changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from .._base.numerics import product
from ..layers import AbstractLayer
from ..layers.arrays import places_in
from ..layers.capabilities import blocks_of, proposals_from
from ..rbm import RBM

PROPOSALS_AT_ONCE = 4  # proposals computed in parallel, each with its own hidden inputs


class Neighbours(NamedTuple):
    """All states that differ in exactly one unit from each of n states.

    Attributes:
        log_odds: log p(v′) − log p(v), shape (proposals, n), in nats.
        units: the unit that each proposal changes.
        n_units: number of units.
    """

    log_odds: Float[Array, "proposals n"]
    units: Integer[np.ndarray, " proposals"]
    n_units: int


def neighbours_of(
    rbm: RBM, v: Float[Array, "n visible"], units: Sequence[int] | None = None
) -> Neighbours:
    """Return log p(v′) − log p(v) = F(v) − F(v′) for every v′ that differs from v in one unit.

    Each proposal changes only a few columns, so the hidden inputs are updated, not recomputed: all
    proposals of a row together cost about as much as one product with W. Proposals for a few units
    use only the corresponding rows of W.

    Args:
        rbm: a model whose visible units, or at least the units of interest, are discrete.
        v: states.
        units: the units of interest; all of them if None.
    """
    visible = rbm.visible
    hidden = rbm.hidden
    inputs = rbm.inputs_to_h(v)
    columns, changes = proposals_from(visible, v)
    changed_units = units_of_proposals(visible, columns)
    weights = rbm.dense_weights
    if units is not None:
        chosen = np.flatnonzero(np.isin(changed_units, units))
        changed_units = changed_units[chosen]
        columns = columns[chosen]
        changes = changes[..., chosen, :]
    energies = _energies_of_proposals(visible, v, changed_units, columns, changes)
    cgf = hidden.cgf(inputs)
    touched, places = np.unique(columns, return_inverse=True)
    if len(touched) < visible.size:  # the gradient of a proposal is then smaller than W
        columns = places.reshape(columns.shape)
        weights = weights[touched]

    @jax.checkpoint  # otherwise the backward pass would store the hidden inputs of every proposal
    def log_odds_of(proposal: tuple[Array, Array, Array]) -> Array:
        where, change, energy = proposal
        return hidden.cgf(inputs + product(change, weights[where])) - cgf - energy

    proposals = (jnp.asarray(columns), jnp.moveaxis(changes, -2, 0), energies)
    log_odds = jax.lax.map(log_odds_of, proposals, batch_size=PROPOSALS_AT_ONCE)
    return Neighbours(log_odds, changed_units, visible.n_units)


def units_of_proposals(
    visible: AbstractLayer, columns: Integer[np.ndarray, "proposals few"]
) -> Integer[np.ndarray, " proposals"]:
    """Return the unit that each proposal changes."""
    with jax.ensure_compile_time_eval():
        return np.asarray(visible.spread(np.arange(visible.n_units)))[columns[:, 0]]


def _energies_of_proposals(
    visible: AbstractLayer,
    v: Float[Array, "n visible"],
    units: Integer[np.ndarray, " proposals"],
    columns: Integer[np.ndarray, "proposals few"],
    changes: Float[Array, "n proposals few"],
) -> Float[Array, "proposals n"]:
    """Return U(v′) − U(v) of each proposal, in rounds of one proposal for every block of units.

    If proposals were evaluated one at a time, each would cost as much as all units together, and
    the total would grow with the square of the width.
    """
    blocks, block_of_unit = np.unique(blocks_of(visible), return_inverse=True)
    old = visible.unit_energies(v)
    differences = jnp.zeros((len(units), v.shape[0]), v.dtype)
    rounds = places_in(block_of_unit[units])  # the proposals of a round change different blocks
    for number in range(rounds.max() + 1):
        now = np.flatnonzero(rounds == number)
        new = visible.unit_energies(v.at[:, columns[now]].add(changes[:, now]))
        by_block = jax.ops.segment_sum((new - old).T, block_of_unit, len(blocks))
        differences = differences.at[now].set(by_block[block_of_unit[units[now]]])
    return differences


def unit_surprisals(neighbours: Neighbours) -> Float[Array, "units n"]:
    """Return −log p(v_i | all other units) of every unit i.

    This is log(1 + Σ e^x) over the log odds x of the unit's proposals.
    """
    log_odds = neighbours.log_odds
    places = jnp.asarray(neighbours.units)
    n_units = neighbours.n_units
    largest = jnp.maximum(jax.ops.segment_max(log_odds, places, n_units), 0.0)
    scaled = jnp.exp(log_odds - largest[places])
    total = jnp.exp(-largest) + jax.ops.segment_sum(scaled, places, n_units)
    return largest + jnp.log(total)
