"""Pseudo-likelihood: how well each unit is foretold by all the others."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer

from ..errors import InputError
from ..layers import AbstractLayer
from ..rbm import RBM
from .base import over_rows

ROWS_AT_ONCE = 1024
MOVES_AT_ONCE = 4


def pseudo_log_likelihoods(rbm: RBM, rows: Any) -> np.ndarray:
    """Give Σ_i log p(v_i | all other v) of every row, shape (n,), in nats: exact, nothing is drawn.

    p(v_i | rest) needs no Z: it is 1 / (1 + Σ e^(F(v) − F(v′))) over the states v′ in which unit i
    alone is another. It is a sum over units, not a mean. A machine of independent units has its
    log-likelihood here; any other one has less to say about it the stronger its units depend.

    Args:
        rbm: a machine whose visible layer is discrete.
        rows: in the user's coding, shape (n, visible units).

    Raises:
        InputError: rows outside the visible layer's domain, or a visible layer that is a continuum.

    Source: Besag 1975; Marlin, Swersky, Chen & de Freitas 2010.
    """
    if rbm.visible.n_states is None:
        raise InputError(f"Pseudo-likelihood of {rbm.visible}: expected a discrete visible layer.")
    return over_rows(_of_rows, rbm, rows, ROWS_AT_ONCE)


@eqx.filter_jit
def _of_rows(rbm: RBM, rows: Array) -> Array:
    return _of_states(rbm, rbm.visible.encode(rows))


def _of_states(rbm: RBM, v: Float[Array, "n visible"]) -> Float[Array, " n"]:
    """Sum log p(v_i | rest), each move changing the hidden inputs by its few columns' weights."""
    visible, hidden, inputs = rbm.visible, rbm.hidden, rbm.inputs_to_h(v)
    columns, changes = visible.moves(v)
    with jax.ensure_compile_time_eval():
        units = np.asarray(visible.spread(jnp.arange(visible.n_units)))[columns[:, 0]]
    dearer, here = _energies_of_moves(visible, v, units, columns, changes), hidden.cgf(inputs)

    def log_odds(move: tuple[Array, Array, Array]) -> Array:
        where, change, energy = move
        return hidden.cgf(inputs + change @ rbm.weights[where]) - here - energy

    moves = (jnp.asarray(columns), jnp.moveaxis(changes, -2, 0), dearer)
    found = jax.lax.map(log_odds, moves, batch_size=MOVES_AT_ONCE)
    return -_log_one_plus_sum(found, jnp.asarray(units), visible.n_units).sum(0)


def _energies_of_moves(
    visible: AbstractLayer,
    v: Float[Array, "n visible"],
    units: Integer[np.ndarray, " moves"],
    columns: Integer[np.ndarray, "moves few"],
    changes: Float[Array, "n moves few"],
) -> Float[Array, "moves n"]:
    """Give what each move adds to U, with one move of every unit made at once.

    Each by itself would cost as much as all units together, and so a wide row its width squared.
    """
    first_of_unit = np.searchsorted(np.sort(units), units)
    order = np.argsort(units, kind="stable")
    turn = np.empty_like(order)
    turn[order] = np.arange(len(order))
    turn -= first_of_unit  # a unit's first, second, … move
    before, added = visible.unit_energies(v), jnp.zeros((len(units), v.shape[0]), v.dtype)
    for one in range(turn.max() + 1):
        some = np.flatnonzero(turn == one)
        moved = v.at[:, columns[some]].add(changes[:, some])
        apart = visible.unit_energies(moved) - before
        added = added.at[some].set(apart[:, units[some]].T)
    return added


def _log_one_plus_sum(
    log_odds: Float[Array, "moves n"], units: Integer[Array, " moves"], n_units: int
) -> Float[Array, "units n"]:
    """Give log(1 + Σ e^x) over the moves of each unit."""
    largest = jnp.maximum(jax.ops.segment_max(log_odds, units, n_units), 0.0)
    scaled = jnp.exp(log_odds - largest[units])
    total = jnp.exp(-largest) + jax.ops.segment_sum(scaled, units, n_units)
    return largest + jnp.log(total)
