"""Rows with missing values: sums over missing units, given those that are seen.

In rows a missing unit is NaN, and so are its columns in states, as `with_missing` encodes them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._numerics import product
from .._threefry import key_of
from ..layers import AbstractLayer, Clamped
from ..rbm import RBM
from ..samplers import Gibbs
from ..single_site import units_of_proposals


class Limits(NamedTuple):
    """The most terms of a sum over hidden states, and of one over completions of a row."""

    hidden: int
    completions: int


QUICK_SUMS = Limits(2**12, 2**6)  # in every update of a training
PATIENT_SUMS = Limits(2**16, 2**12)  # once


class Posterior(NamedTuple):
    """All that may complete a row, weighted by its probability given what is seen.

    Attributes:
        log_z_seen: −F(v_seen) = log of the sum over h and the missing units, shape (n,), nats.
        log_share: log p of each term given what is seen, shape (n, terms).
        h: hidden states, shape (terms, hidden), if the terms are theirs: v then follows p(v | h).
        v: completed rows, shape (n, terms, visible), if the terms are completions.
    """

    log_z_seen: Float[Array, " n"]
    log_share: Float[Array, "n terms"]
    h: Float[Array, "terms hidden"] | None = None
    v: Float[Array, "n terms visible"] | None = None


def with_missing(layer: AbstractLayer, rows: Array) -> Float[Array, "*batch columns"]:
    """Encode rows in which NaN marks a missing unit: all its columns become NaN. Traceable."""
    missing = layer.spread(jnp.isnan(rows))
    return jnp.where(missing, jnp.nan, layer.encode(rows))


def missing_units(
    layer: AbstractLayer, v: Float[Array, "*batch columns"]
) -> Bool[Array, "*batch units"]:
    """Mark the units whose columns are NaN."""
    return jnp.isnan(layer.fold(v))


def given_seen(rbm: RBM, v: Float[Array, "*batch visible"]) -> RBM:
    """Return the model whose visible units are held where they are seen, one for each row."""
    values = jnp.where(jnp.isnan(v), rbm.visible.mean(rbm.visible.zero_inputs), v)
    known = ~missing_units(rbm.visible, v)
    values = jax.lax.stop_gradient(values)
    clamped = Clamped(layer=rbm.visible, known=known, values=values)  # pyright: ignore
    return RBM(clamped, rbm.hidden, rbm.weights)


def completed(
    rbm: RBM, v: Float[Array, "n visible"], sweeps: int, *, key: PRNGKeyArray
) -> Float[Array, "n visible"]:
    """Draw the missing units by so many Gibbs sweeps with the others held."""
    key_start, key_sweep = jax.random.split(key)
    model, gibbs = given_seen(rbm, v), Gibbs(sweeps)
    chains = gibbs.init(model, v.shape[0], key=key_start)
    chains, _ = gibbs.step(model, chains, key=key_sweep)
    return chains.v


def posterior(
    rbm: RBM, v: Float[Array, "n visible"], missing: int, most: Limits = QUICK_SUMS
) -> Posterior | None:
    """Sum over the hidden states or over the missing units, whichever is less work.

    Args:
        rbm: the model.
        v: states of rows with missing values.
        missing: the most missing units that a row has.
        most: where both sums have more terms than these, the answer is None.
    """
    over, _ = way_to_sum(rbm, missing, most)
    if over == "hidden":
        return over_hidden(rbm, v)
    return over_completions(rbm, v, missing) if over == "completions" else None


def way_to_sum(rbm: RBM, missing: int, most: Limits) -> tuple[str | None, int]:
    """Choose "hidden" or "completions", or None if both have too many terms; return how many.

    A completion is as much work as one hidden state for each hidden unit: a product with W.
    """
    hidden, completions = rbm.hidden.n_states, math.inf
    if rbm.visible.n_states is not None:
        completions = min(_most_states(rbm.visible), 2**16) ** min(missing, 60)
    can_hidden = hidden is not None and hidden <= most.hidden
    is_less = not can_hidden or completions * rbm.hidden.size < (hidden or 0)
    if completions <= most.completions and is_less:
        return "completions", int(completions)
    return ("hidden", int(hidden or 0)) if can_hidden else (None, 0)


def entries_of_sum(rbm: RBM, missing: int, most: Limits) -> int:
    """Return how many numbers the sum of one row takes at once."""
    over, terms = way_to_sum(rbm, missing, most)
    columns = 1 if over == "hidden" else rbm.widest
    return max(1, terms) * columns


def over_hidden(rbm: RBM, v: Float[Array, "n visible"]) -> Posterior:
    """Sum over all hidden states h, whose inputs to the visible units are I = hWᵀ.

    p(v_seen, h) ∝ exp(−U(h) + Σ_seen (v_i·I_i − U_i(v_i)) + Σ_absent Γ_i(I_i))
    """
    visible = rbm.visible
    h = rbm.hidden.states(jnp.arange(rbm.hidden.n_states, dtype=jnp.uint32))
    inputs, missing = rbm.inputs_to_v(h), missing_units(visible, v)
    zero_inputs = jax.lax.stop_gradient(visible.mean(visible.zero_inputs))
    unit_energies = visible.unit_energies(jnp.where(jnp.isnan(v), zero_inputs, v))
    seen = jnp.where(missing, 0.0, unit_energies).sum(-1)
    reached = product(jnp.nan_to_num(v), inputs.T)
    reached += product(missing.astype(v.dtype), visible.unit_cgfs(inputs).T)
    return _normalised(reached - rbm.hidden.energy(h) - seen[:, None], h=h)


def over_completions(rbm: RBM, v: Float[Array, "n visible"], missing: int) -> Posterior:
    """Sum over all states of at most `missing` missing units in each row (discrete layers)."""
    states, is_one = _completions(rbm.visible, v, missing)
    log_weights = -rbm.free_energy(states)
    return _normalised(jnp.where(is_one, log_weights, -jnp.inf), v=states)


def _normalised(log_weights: Array, **terms: Array) -> Posterior:
    total = jax.nn.logsumexp(log_weights, axis=-1)
    return Posterior(total, log_weights - total[:, None], **terms)


def draw(
    rbm: RBM, found: Posterior, *, key: PRNGKeyArray, seen: Float[Array, "n visible"]
) -> Float[Array, "n visible"]:
    """Draw a completion of every row from p(v_absent | v_seen), exactly."""
    key_term, key_v = jax.random.split(key)
    term = jax.random.categorical(key_term, found.log_share, axis=-1)
    if found.v is not None:
        return found.v[jnp.arange(len(term)), term]
    assert found.h is not None
    drawn = rbm.sample_v_from_h(found.h[term], key=key_v)
    return jnp.where(jnp.isnan(seen), drawn, seen)


def _table_of_proposals(visible: AbstractLayer, columns: np.ndarray) -> np.ndarray:
    """Return each unit's moves in a row: first the one that is none, and −1 behind the last.

    The row behind those of all units is that of no unit.
    """
    units = units_of_proposals(visible, columns)
    counts = np.bincount(units, minlength=visible.n_units)
    table = np.full((visible.n_units + 1, counts.max() + 1), -1)
    table[:, 0] = len(columns)
    for unit in range(visible.n_units):
        table[unit, 1 : counts[unit] + 1] = np.flatnonzero(units == unit)
    return table


def _most_states(visible: AbstractLayer) -> int:
    """Return the number of states of the unit that has most."""
    columns, _ = visible.proposals(visible.sample(visible.zero_inputs, key=key_of(0)))
    return int(np.bincount(units_of_proposals(visible, columns)).max()) + 1


def _completions(
    visible: AbstractLayer, v: Float[Array, "n visible"], missing: int
) -> tuple[Float[Array, "n terms visible"], Bool[Array, "n terms"]]:
    """Return all completions, and which are one: rows with fewer missing units have fewer."""
    anything = visible.sample_without_inputs(v.shape[:-1], key=key_of(0))
    start = jnp.where(jnp.isnan(v), anything, v)
    columns, changes = visible.proposals(start)
    table = _table_of_proposals(visible, columns)
    columns = np.concatenate([columns, columns[:1]])  # behind all moves, one that changes nothing
    changes = jnp.concatenate([changes, jnp.zeros_like(changes[:, :1])], axis=1)
    is_absent = missing_units(visible, v)
    order = jnp.argsort(~is_absent, axis=1, stable=True)[:, :missing]
    places = jnp.where(jnp.take_along_axis(is_absent, order, 1), order, visible.n_units)
    choices = np.indices((table.shape[1],) * missing).reshape(missing, -1).T
    moves = jnp.asarray(table)[places[:, None, :], choices]  # row, term, missing unit
    rows = jnp.arange(v.shape[0])[:, None, None]
    terms = jnp.arange(len(choices))[None, :, None, None]
    where, change = jnp.asarray(columns)[moves], changes[rows, moves]
    every = jnp.broadcast_to(start[:, None], (v.shape[0], len(choices), v.shape[1]))
    return every.at[rows[..., None], terms, where].add(change), (moves >= 0).all(-1)
