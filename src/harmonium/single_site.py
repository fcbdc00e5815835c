"""Single-site proposals: how log p(v) changes when exactly one unit changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from ._numerics import product
from .layers import AbstractLayer
from .layers.arrays import places_in
from .layers.capabilities import blocks_of, proposals_from
from .rbm import RBM

PROPOSALS_AT_ONCE = 4


class Neighbours(NamedTuple):
    """All states that differ in one unit from each of n states.

    Attributes:
        log_odds: log p(v′) − log p(v), shape (proposals, n), in nats.
        units: the unit that each proposal changes.
        n_units: number of units.
    """

    log_odds: Float[Array, "proposals n"]
    units: Integer[np.ndarray, " proposals"]
    n_units: int


def neighbours_of(
    rbm: RBM, v: Float[Array, "n visible"], of: Sequence[int] | None = None
) -> Neighbours:
    """Return log p(v′) − log p(v) = F(v) − F(v′) of every v′ that differs from v in one unit.

    Each proposal changes the hidden inputs by the weights of its few columns. So all proposals of
    a row together cost as much as one product of all of them with W, and no free energy is computed
    again from scratch. The proposals of a few units cost no more than the rows of W that they use.

    Args:
        rbm: a model whose visible units, or those of interest, are discrete.
        v: states.
        of: the units of interest; all of them if None.
    """
    visible, hidden, inputs = rbm.visible, rbm.hidden, rbm.inputs_to_h(v)
    columns, changes = proposals_from(visible, v)
    units = units_of_proposals(visible, columns)
    weights = rbm.dense_weights
    if of is not None:
        some = np.flatnonzero(np.isin(units, of))
        units, columns, changes = units[some], columns[some], changes[..., some, :]
    dearer, here = _energies_of_proposals(visible, v, units, columns, changes), hidden.cgf(inputs)
    touched, places = np.unique(columns, return_inverse=True)
    if len(touched) < visible.size:  # so that the gradient of a proposal is not as large as W
        columns, weights = places.reshape(columns.shape), weights[touched]

    @jax.checkpoint  # its gradient would otherwise keep the hidden inputs of every proposal
    def log_odds(proposal: tuple[Array, Array, Array]) -> Array:
        where, change, energy = proposal
        return hidden.cgf(inputs + product(change, weights[where])) - here - energy

    proposals = (jnp.asarray(columns), jnp.moveaxis(changes, -2, 0), dearer)
    found = jax.lax.map(log_odds, proposals, batch_size=PROPOSALS_AT_ONCE)
    return Neighbours(found, units, visible.n_units)


def units_of_proposals(
    visible: AbstractLayer, columns: Integer[np.ndarray, "proposals few"]
) -> Integer[np.ndarray, " proposals"]:
    """Return the unit that each proposal changes."""
    with jax.ensure_compile_time_eval():
        return np.asarray(visible.spread(jnp.arange(visible.n_units)))[columns[:, 0]]


def _energies_of_proposals(
    visible: AbstractLayer,
    v: Float[Array, "n visible"],
    units: Integer[np.ndarray, " proposals"],
    columns: Integer[np.ndarray, "proposals few"],
    changes: Float[Array, "n proposals few"],
) -> Float[Array, "proposals n"]:
    """Return what each proposal adds to U, computed for one proposal of every block at once.

    Each proposal by itself would cost as much as all units together: for a wide row, the square of
    its width in total.
    """
    blocks, inverse = np.unique(blocks_of(visible), return_inverse=True)
    before, added = visible.unit_energies(v), jnp.zeros((len(units), v.shape[0]), v.dtype)
    turn = places_in(inverse[units])
    for one in range(turn.max() + 1):
        some = np.flatnonzero(turn == one)
        moved = v.at[:, columns[some]].add(changes[:, some])
        apart = visible.unit_energies(moved) - before
        by_block = jax.ops.segment_sum(apart.T, inverse, len(blocks))
        added = added.at[some].set(by_block[inverse[units[some]]])
    return added


def unit_surprisals(found: Neighbours) -> Float[Array, "units n"]:
    """Return −log p(v_i | all other units) of every unit i.

    This is log(1 + Σ e^x) over the log odds x of the unit's proposals.
    """
    log_odds, places, n_units = found.log_odds, jnp.asarray(found.units), found.n_units
    largest = jnp.maximum(jax.ops.segment_max(log_odds, places, n_units), 0.0)
    scaled = jnp.exp(log_odds - largest[places])
    total = jnp.exp(-largest) + jax.ops.segment_sum(scaled, places, n_units)
    return largest + jnp.log(total)
