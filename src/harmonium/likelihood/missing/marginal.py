"""Rows with missing values: sums over the missing units, given the seen units.

In a row, a missing value is represented by NaN. In states from `encode_seen`, all columns of a
missing unit are NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Integer, PRNGKeyArray

from ..._base.numerics import from_numpy, product
from ..._base.programs import compiled
from ..._base.threefry import key_of
from ...layers import AbstractLayer, Clamped
from ...layers.capabilities import (
    columns_of_proposals,
    has_independent_units,
    joint_states,
    proposals_from,
    unit_cgfs_given,
)
from ...rbm import RBM
from ...samplers import Gibbs
from ...samplers.finite import check_finite_z, check_weights, finite_z
from ...samplers.single_site import units_of_proposals


class Limits(NamedTuple):
    """Limits on the number of terms in a sum over hidden states, and in a sum over completions."""

    hidden: int
    completions: int


CHEAP_SUMS = Limits(2**6, 2**2)  # for sums that cost no more than a Gibbs sweep
QUICK_SUMS = Limits(2**12, 2**6)  # for sums in every training update
SLOW_SUMS = Limits(2**16, 2**12)  # for sums that are computed once
ENTRIES_OF_SUMS = 2**26  # size of such sums for all rows together, which take about a second
MOST_TERMS = 2**22  # largest number of terms per row, since all weights are stored
COMPLETING_SWEEPS = 100  # number of sweeps to complete the rows at which chains start


class Posterior(NamedTuple):
    """The terms of a sum for incomplete rows, with their probabilities given the seen units.

    Attributes:
        log_z_seen: −F(v_seen) = log of the sum over h and the missing units, shape (n,), nats.
        log_share: log p of each term given the seen units, shape (n, terms).
        h: hidden states, shape (terms, hidden), if each term is a hidden state; v is then
            distributed as p(v | h).
        v: completed rows, shape (n, terms, visible), if each term is a completion.
    """

    log_z_seen: Float[Array, " n"]
    log_share: Float[Array, "n terms"]
    h: Float[Array, "terms hidden"] | None = None
    v: Float[Array, "n terms visible"] | None = None


@compiled
def encoded_rows(layer: AbstractLayer, rows: Array) -> Float[Array, "*batch columns"]:
    """Return `layer.encode_seen(rows)` from a compiled program, for calls outside traced code."""
    return layer.encode_seen(rows)


def missing_units(
    layer: AbstractLayer, v: Float[Array, "*batch columns"]
) -> Bool[Array, "*batch units"]:
    """Return a mask of the units whose columns are NaN."""
    return jnp.isnan(layer.fold(v))


def given_seen(rbm: RBM, v: Float[Array, "*batch visible"]) -> RBM:
    """Return the model with the seen visible units held fixed, one model per row."""
    values = jnp.where(jnp.isnan(v), rbm.visible.mean(rbm.visible.zero_inputs), v)
    known = ~missing_units(rbm.visible, v)
    values = jax.lax.stop_gradient(values)
    clamped = Clamped(layer=rbm.visible, known=known, values=values)  # pyright: ignore
    return RBM(clamped, rbm.hidden, rbm.weights)


def check_finite_given(rbm: RBM, rows: np.ndarray) -> None:
    """Raise NotFiniteError if, for any row, the distribution of the missing units has no finite Z.

    Args:
        rbm: the model.
        rows: rows in the user's coding, with NaN for missing values, shape (n, visible units).
    """
    check_weights(rbm)
    is_missing = rbm.visible.coding.missing(rows)
    if is_missing.any() and not finite_z(rbm):
        # Seen units may confine the others, depending on which units are seen, not on their values.
        for place in np.unique(is_missing, axis=0, return_index=True)[1]:
            row = encoded_rows(rbm.visible, from_numpy(rows[place]))
            check_finite_z(given_seen(rbm, row))


def completed(
    rbm: RBM, v: Float[Array, "n visible"], sweeps: int, *, key: PRNGKeyArray
) -> Float[Array, "n visible"]:
    """Draw the missing units by `sweeps` Gibbs sweeps, with the seen units held fixed."""
    key_start, key_sweep = jax.random.split(key)
    model = given_seen(rbm, v)
    gibbs = Gibbs(sweeps)
    chains = gibbs.init_independent(model, v.shape[0], key=key_start)
    chains, _ = gibbs.step(model, chains, key=key_sweep)
    return chains.v


@compiled
def completed_rows(rbm: RBM, rows: Array, *, key: PRNGKeyArray) -> Float[Array, "n visible"]:
    """Encode rows in the user's coding as states, and draw their missing units."""
    return completed(rbm, rbm.visible.encode_seen(rows), COMPLETING_SWEEPS, key=key)


def states_of_rows(rbm: RBM, rows: np.ndarray, *, key: PRNGKeyArray) -> Array:
    """Encode rows in the user's coding as states; missing units, if there are any, are drawn."""
    if not rbm.visible.coding.missing(rows).any():
        return rbm.visible.encode(rows)
    return completed_rows(rbm, from_numpy(rows), key=key)


class HiddenSum(NamedTuple):
    """The sum over all hidden states h, whose inputs to the visible units are I = hWᵀ.

    p(v_seen, h) ∝ exp(−U(h) + Σ_seen (v_i·I_i − U_i(v_i)) + Σ_missing Γ_i(I_i))
    """

    n_terms: int

    def entries(self, rbm: RBM, rows: int = 1) -> int:
        """Return the size of the largest array in the sum for this number of rows."""
        return max(self.n_terms * rows, rbm.widest)

    def terms(
        self, rbm: RBM, v: Float[Array, "n visible"], indices: Integer[Array, " terms"]
    ) -> tuple[Float[Array, "n terms"], Float[Array, "terms hidden"]]:
        """Return log p(v_seen, h) + log Z for some hidden states, and the states. Traceable."""
        visible = rbm.visible
        h = joint_states(rbm.hidden, indices.astype(jnp.uint32))
        inputs = rbm.inputs_to_v(h)
        missing = missing_units(visible, v)
        any_value = jax.lax.stop_gradient(visible.mean(visible.zero_inputs))
        values = jnp.where(jnp.isnan(v), any_value, v)
        if not has_independent_units(visible):

            def cgfs_of_row(row: tuple[Array, Array]) -> Array:
                return unit_cgfs_given(visible, inputs, ~row[0], row[1]).sum(-1)

            return jax.lax.map(cgfs_of_row, (missing, values)) - rbm.hidden.energy(h), h
        seen = jnp.where(missing, 0.0, visible.unit_energies(values)).sum(-1)
        reached = product(jnp.nan_to_num(v), inputs.T)
        reached += product(missing.astype(v.dtype), visible.unit_cgfs(inputs).T)
        return reached - rbm.hidden.energy(h) - seen[:, None], h

    def posterior(self, rbm: RBM, v: Float[Array, "n visible"]) -> Posterior:
        """Return all terms of the sum, with their probabilities. Traceable."""
        log_weights, h = self.terms(rbm, v, jnp.arange(self.n_terms, dtype=jnp.uint32))
        return _normalised(log_weights, h=h)

    def moments(
        self, rbm: RBM, v: Array, h: Array, weights: Float[Array, "n terms"]
    ) -> tuple[Float[Array, "n visible"], Float[Array, "n visible"]]:
        """Return Σ w ⟨v⟩ and Σ w ⟨v²⟩ over hidden states of weights w, for each row. Traceable."""
        inputs = rbm.inputs_to_v(h)

        def averaged(visible: AbstractLayer, weights: Array) -> tuple[Array, Array]:
            mean = visible.mean(inputs)
            square = visible.variance(inputs) + mean**2
            return product(weights, mean), product(weights, square)

        if has_independent_units(rbm.visible):
            return averaged(rbm.visible, weights)

        # Given h, units also depend on the seen units of the row, so each row has its own layer.
        def averaged_for_row(row: tuple[Array, Array]) -> tuple[Array, Array]:
            seen, weights_of_row = row
            return averaged(given_seen(rbm, seen[None]).visible, weights_of_row)

        return jax.lax.map(averaged_for_row, (v, weights))

    def completed(
        self, rbm: RBM, v: Array, term: Integer[Array, " n"], *, key: PRNGKeyArray
    ) -> Float[Array, "n visible"]:
        """Return each row, completed by the term with the given index. Traceable."""
        h = joint_states(rbm.hidden, term.astype(jnp.uint32))
        return given_seen(rbm, v).sample_v_from_h(h, key=key)


class CompletionSum(NamedTuple):
    """The sum over all states of a row's missing units, at most `missing`, in a discrete layer."""

    n_terms: int
    missing: int

    def entries(self, rbm: RBM, rows: int = 1) -> int:
        """Return the size of the largest array in the sum for this number of rows."""
        return self.n_terms * rows * rbm.widest

    def terms(
        self, rbm: RBM, v: Float[Array, "n visible"], indices: Integer[Array, " terms"]
    ) -> tuple[Float[Array, "n terms"], Float[Array, "n terms visible"]]:
        """Return −F of completions, or −∞ for invalid ones, and the completed rows. Traceable."""
        states, exists = _completions(rbm.visible, v, self.missing, indices)
        return jnp.where(exists, -rbm.free_energy(states), -jnp.inf), states

    def posterior(self, rbm: RBM, v: Float[Array, "n visible"]) -> Posterior:
        """Return all terms of the sum, with their probabilities. Traceable."""
        log_weights, states = self.terms(rbm, v, jnp.arange(self.n_terms))
        return _normalised(log_weights, v=states)

    def moments(
        self, rbm: RBM, v: Array, states: Array, weights: Float[Array, "n terms"]
    ) -> tuple[Float[Array, "n visible"], Float[Array, "n visible"]]:
        """Return Σ w v and Σ w v² over some terms, for each row. Traceable."""

        def total(x: Array) -> Array:
            return jnp.einsum("nt,ntc->nc", weights, x, precision="highest")

        return total(states), total(states**2)

    def completed(
        self, rbm: RBM, v: Array, term: Integer[Array, " n"], *, key: PRNGKeyArray
    ) -> Float[Array, "n visible"]:
        """Return each row, completed by the term with the given index. Traceable."""

        def of_row(row: Array, term: Array) -> Array:
            return self.terms(rbm, row[None], term[None])[1][0, 0]

        return jax.vmap(of_row)(v, term)


TermSum = HiddenSum | CompletionSum


def cheapest_sum(rbm: RBM, missing: int, most: Limits) -> TermSum | None:
    """Return the cheaper sum, over hidden states or completions, or None if both sums are too long.

    A completion requires a product with W, so in a model of m hidden units it costs as much as m
    hidden states.
    """
    candidates: list[tuple[int, TermSum]] = []  # each sum with its number of multiplications by W
    hidden = rbm.hidden.n_states
    if hidden is not None and hidden <= most.hidden:
        candidates.append((hidden, HiddenSum(hidden)))
    if rbm.visible.n_states is not None:
        completions = min(_most_states(rbm.visible), 2**16) ** min(missing, 60)
        if completions <= most.completions:
            candidates.append((completions * rbm.hidden.size, CompletionSum(completions, missing)))
    return min(candidates, key=lambda candidate: candidate[0], default=(0, None))[1]


def sums_for(rbm: RBM, rows: int) -> Limits:
    """Return limits for sums computed once; they are larger for fewer rows.

    A hidden state costs one multiplication per visible column; a completion costs one
    multiplication per hidden unit.
    """
    entries = ENTRIES_OF_SUMS // max(1, rows)
    hidden = min(entries // rbm.visible.size, MOST_TERMS)
    completions = min(entries // rbm.hidden.size, MOST_TERMS)
    return Limits(max(SLOW_SUMS.hidden, hidden), max(SLOW_SUMS.completions, completions))


def posterior(
    rbm: RBM, v: Float[Array, "n visible"], missing: int, most: Limits = QUICK_SUMS
) -> Posterior | None:
    """Sum over the hidden states or over the missing units, whichever costs less. Traceable.

    Args:
        rbm: the model.
        v: states of rows with missing values.
        missing: the largest number of missing units in a row.
        most: limits on the number of terms; the result is None if both sums exceed them.
    """
    terms = cheapest_sum(rbm, missing, most)
    return None if terms is None else terms.posterior(rbm, v)


def _normalised(log_weights: Array, **terms: Array) -> Posterior:
    total = jax.nn.logsumexp(log_weights, axis=-1)
    return Posterior(total, log_weights - total[:, None], **terms)


def draw(
    rbm: RBM, terms: Posterior, *, key: PRNGKeyArray, seen: Float[Array, "n visible"]
) -> Float[Array, "n visible"]:
    """Draw a completion of every row exactly from p(v_missing | v_seen)."""
    key_term, key_v = jax.random.split(key)
    term = drawn_terms(jnp.exp(terms.log_share), key=key_term)
    if terms.v is not None:
        return terms.v[jnp.arange(len(term)), term]
    assert terms.h is not None
    return given_seen(rbm, seen).sample_v_from_h(terms.h[term], key=key_v)


def drawn_terms(weights: Float[Array, "n terms"], *, key: PRNGKeyArray) -> Integer[Array, " n"]:
    """Draw a term for each row, with probability proportional to its weight. Traceable."""
    reached = jnp.cumsum(weights, axis=-1)
    uniforms = jax.random.uniform(key, reached.shape[:1], reached.dtype)
    return (reached <= (uniforms * reached[:, -1])[:, None]).sum(-1)


def _table_of_proposals(visible: AbstractLayer, columns: np.ndarray) -> np.ndarray:
    """Return a table with one row of proposals for each unit.

    A row of the table starts with the proposal that changes nothing, and is padded with −1. An
    additional last row represents "no unit".
    """
    units = units_of_proposals(visible, columns)
    counts = np.bincount(units, minlength=visible.n_units)
    table = np.full((visible.n_units + 1, counts.max() + 1), -1)
    table[:, 0] = len(columns)
    for unit in range(visible.n_units):
        table[unit, 1 : counts[unit] + 1] = np.flatnonzero(units == unit)
    return table


def _most_states(visible: AbstractLayer) -> int:
    """Return the largest number of states of any unit."""
    columns = columns_of_proposals(visible)
    return int(np.bincount(units_of_proposals(visible, columns)).max()) + 1


def _completions(
    visible: AbstractLayer,
    v: Float[Array, "n visible"],
    missing: int,
    indices: Integer[Array, " terms"],
) -> tuple[Float[Array, "n terms visible"], Bool[Array, "n terms"]]:
    """Return completions, and which are valid: rows may have fewer than `missing` missing units."""
    n = len(v)
    # One state for all rows, so that an index means the same completion in any batch of rows.
    any_state = visible.sample_without_inputs((1,), key=key_of(0))
    start = jnp.where(jnp.isnan(v), any_state, v)
    columns, changes = proposals_from(visible, start)
    table = _table_of_proposals(visible, columns)
    # An additional last proposal that changes nothing.
    columns = np.concatenate([columns, columns[:1]])
    changes = jnp.concatenate([changes, jnp.zeros_like(changes[:, :1])], axis=1)
    # The missing units of each row, padded with "no unit": (row, missing unit).
    is_missing = missing_units(visible, v)
    units = jnp.argsort(~is_missing, axis=1, stable=True)[:, :missing]
    units = jnp.where(jnp.take_along_axis(is_missing, units, 1), units, visible.n_units)
    # The digits of an index determine the state of each missing unit: (term, missing unit).
    powers = table.shape[1] ** np.arange(missing)[::-1]
    digits = indices[:, None] // jnp.asarray(powers) % table.shape[1]
    proposals = jnp.asarray(table)[units[:, None, :], digits]  # (row, term, missing unit)
    rows = jnp.arange(n)[:, None, None]
    terms = jnp.arange(len(digits))[None, :, None]
    states = jnp.broadcast_to(start[:, None], (n, len(digits), v.shape[1]))
    places = (rows[..., None], terms[..., None], jnp.asarray(columns)[proposals])
    return states.at[places].add(changes[rows, proposals]), (proposals >= 0).all(-1)
