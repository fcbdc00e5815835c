"""Means, variances and draws of missing values by sums over all terms, some terms at a time."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from ..._base.numerics import product
from ...data.parts import ENTRIES_AT_ONCE
from ...layers.capabilities import has_independent_units, joint_states
from ...rbm import RBM
from .marginal import Limits, completion_terms, given_seen, hidden_terms, way_to_sum

MOST_OF_A_PART = 2**13  # terms, through which each draw looks


class Moments(NamedTuple):
    """What sums over all terms give for each row.

    Attributes:
        mean: ⟨v⟩ given the seen units, shape (rows, visible).
        variance: of v, shape (rows, visible).
        draws: completions drawn from p(v_missing | v_seen), shape (rows, draws, visible).
    """

    mean: Float[Array, "rows visible"]
    variance: Float[Array, "rows visible"]
    draws: Float[Array, "rows draws visible"]


class _Sums(NamedTuple):
    """Sums of w, w·v and w·v² so far, with w = exp(log weight − the largest so far)."""

    most: Float[Array, " rows"]
    weight: Float[Array, "rows 1"]
    first: Float[Array, "rows visible"]
    second: Float[Array, "rows visible"]


def exact_moments(
    rbm: RBM,
    v: Float[Array, "rows visible"],
    missing: int,
    limits: Limits,
    draws: int,
    *,
    key: PRNGKeyArray,
) -> Moments:
    """Sum over the hidden states or the completions of rows, whichever costs less. Traceable.

    Only the weights of all terms are kept. A draw first chooses one of the parts into which the
    terms are cut, then a term of it, so that float32 sums of millions of terms lose nothing.

    Args:
        rbm: the model.
        v: states of rows, NaN in the columns of missing units.
        missing: the largest number of missing units in a row.
        limits: limits on the terms, of which at least one is kept.
        draws: completions to draw for each row.
        key: a JAX random key.
    """
    over, terms = way_to_sum(rbm, missing, limits)
    width = len(v) * rbm.widest if over == "completions" else max(len(v), rbm.widest)
    size = min(terms, MOST_OF_A_PART, 1 << max(0, (ENTRIES_AT_ONCE // width).bit_length() - 1))
    parts = -(-terms // size)

    def added(sums: _Sums, part: Array) -> tuple[_Sums, Array]:
        indices = part * size + jnp.arange(size)
        log_weights, states = _terms(rbm, v, missing, over, jnp.minimum(indices, terms - 1))
        log_weights = jnp.where(indices < terms, log_weights, -jnp.inf)
        most = jnp.maximum(sums.most, log_weights.max(-1))
        kept = jnp.exp(sums.most - most)[:, None]
        weights = jnp.exp(log_weights - most[:, None])
        first, second = _weighted(rbm, v, over, states, weights)
        weight = kept * sums.weight + weights.sum(-1, keepdims=True)
        sums = _Sums(most, weight, kept * sums.first + first, kept * sums.second + second)
        return sums, log_weights

    zero = jnp.zeros_like(v)
    lowest = jnp.full(
        len(v), jnp.finfo(v.dtype).min, v.dtype
    )  # not −∞: a part may lack valid terms
    begun = _Sums(lowest, zero[:, :1], zero, zero)
    sums, log_weights = jax.lax.scan(added, begun, jnp.arange(parts))
    mean = sums.first / sums.weight
    variance = sums.second / sums.weight - mean**2
    of_parts = jax.nn.logsumexp(log_weights, axis=-1)

    def drawn(key: PRNGKeyArray) -> Array:
        key_part, key_term, key_v = jax.random.split(key, 3)
        part = _chosen(of_parts.T, key=key_part)
        term = _chosen(log_weights[part, jnp.arange(len(v))], key=key_term)
        return _completed(rbm, v, missing, over, part * size + term, key=key_v)

    each = jax.lax.map(drawn, jax.random.split(key, draws))
    return Moments(mean, variance, jnp.swapaxes(each, 0, 1))


def _terms(
    rbm: RBM, v: Array, missing: int, over: str | None, indices: Integer[Array, " terms"]
) -> tuple[Array, Array]:
    """Return the log weights of terms, shape (rows, terms), and their states."""
    if over == "hidden":
        return hidden_terms(rbm, v, indices)
    return completion_terms(rbm, v, missing, indices)


def _weighted(
    rbm: RBM, v: Array, over: str | None, states: Array, weights: Float[Array, "rows terms"]
) -> tuple[Array, Array]:
    """Return Σ w ⟨v⟩ and Σ w ⟨v²⟩ over some terms, for each row."""
    if over == "completions":
        sums = (
            jnp.einsum("nt,ntc->nc", weights, x, precision="highest") for x in (states, states**2)
        )
        return tuple(sums)  # pyright: ignore
    inputs = rbm.inputs_to_v(states)
    if has_independent_units(rbm.visible):
        mean = rbm.visible.mean(inputs)
        return product(weights, mean), product(weights, rbm.visible.variance(inputs) + mean**2)

    def of_row(row: tuple[Array, Array]) -> tuple[Array, Array]:
        """Units depend on seen ones given h too."""
        seen, share = row
        visible = given_seen(rbm, seen[None]).visible
        mean = visible.mean(inputs)
        return product(share, mean), product(share, visible.variance(inputs) + mean**2)

    return jax.lax.map(of_row, (v, weights))


def _chosen(
    log_weights: Float[Array, "rows terms"], *, key: PRNGKeyArray
) -> Integer[Array, " rows"]:
    """Draw a term of each row in proportion to its weight."""
    reached = jnp.cumsum(jnp.exp(log_weights - log_weights.max(-1, keepdims=True)), axis=-1)
    uniforms = jax.random.uniform(key, reached.shape[:1], reached.dtype)
    return (reached <= (uniforms * reached[:, -1])[:, None]).sum(-1)


def _completed(
    rbm: RBM,
    v: Array,
    missing: int,
    over: str | None,
    term: Integer[Array, " rows"],
    *,
    key: PRNGKeyArray,
) -> Float[Array, "rows visible"]:
    """Return each row as its own term completes it."""
    if over == "hidden":
        h = joint_states(rbm.hidden, term.astype(jnp.uint32))
        return given_seen(rbm, v).sample_v_from_h(h, key=key)

    def of_row(row: Array, term: Array) -> Array:
        return completion_terms(rbm, row[None], missing, term[None])[1][0, 0]

    return jax.vmap(of_row)(v, term)
