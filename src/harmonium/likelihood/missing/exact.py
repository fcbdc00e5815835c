"""Means, variances and draws of missing values by sums over all terms, some terms at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from ...data.parts import ENTRIES_AT_ONCE
from ...rbm import RBM
from .marginal import TermSum, drawn_terms

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
    rbm: RBM, v: Float[Array, "rows visible"], terms: TermSum, draws: int, *, key: PRNGKeyArray
) -> Moments:
    """Sum over the hidden states or the completions of rows. Traceable.

    Only the weights of all terms are kept. A draw first chooses one of the parts into which the
    terms are cut, then a term of it, so that float32 sums of millions of terms lose nothing.

    Args:
        rbm: the model.
        v: states of rows, NaN in the columns of missing units.
        terms: what to sum over.
        draws: completions to draw for each row.
        key: a JAX random key.
    """
    n_terms = terms.n_terms
    width = terms._replace(n_terms=1).entries(rbm, len(v))
    size = min(n_terms, MOST_OF_A_PART, 1 << max(0, (ENTRIES_AT_ONCE // width).bit_length() - 1))
    parts = math.ceil(n_terms / size)

    def add_part(sums: _Sums, part: Array) -> tuple[_Sums, Array]:
        indices = part * size + jnp.arange(size)
        log_weights, states = terms.terms(rbm, v, jnp.minimum(indices, n_terms - 1))
        log_weights = jnp.where(indices < n_terms, log_weights, -jnp.inf)
        most = jnp.maximum(sums.most, log_weights.max(-1))
        decay = jnp.exp(sums.most - most)[:, None]
        weights = jnp.exp(log_weights - most[:, None])
        first, second = terms.moments(rbm, v, states, weights)
        sums = _Sums(
            most,
            decay * sums.weight + weights.sum(-1, keepdims=True),
            decay * sums.first + first,
            decay * sums.second + second,
        )
        return sums, log_weights

    zero = jnp.zeros_like(v)
    lowest = jnp.finfo(v.dtype).min  # not −∞: a part may lack valid terms
    start = _Sums(jnp.full(len(v), lowest, v.dtype), zero[:, :1], zero, zero)
    sums, log_weights = jax.lax.scan(add_part, start, jnp.arange(parts))
    mean = sums.first / sums.weight
    variance = sums.second / sums.weight - mean**2
    log_weights_of_parts = jax.nn.logsumexp(log_weights, axis=-1).T

    def drawn(key: PRNGKeyArray) -> Array:
        key_part, key_term, key_v = jax.random.split(key, 3)
        part = drawn_terms(_relative(log_weights_of_parts), key=key_part)
        term = drawn_terms(_relative(log_weights[part, jnp.arange(len(v))]), key=key_term)
        return terms.completed(rbm, v, part * size + term, key=key_v)

    completions = jax.lax.map(drawn, jax.random.split(key, draws))
    return Moments(mean, variance, jnp.swapaxes(completions, 0, 1))


def _relative(log_weights: Float[Array, "rows terms"]) -> Float[Array, "rows terms"]:
    """Return the weights of each row, divided by its largest."""
    return jnp.exp(log_weights - log_weights.max(-1, keepdims=True))
