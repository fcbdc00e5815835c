"""Imputation: filling in missing values with a model, with their uncertainty."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._numerics import from_numpy, product
from .._threefry import key_of
from ..checks import checked_key, positive_integer
from ..data.parts import rows_at_once
from ..layers import AbstractLayer
from ..path import path_to
from ..rbm import RBM, checked_rbm
from ..samplers import Gibbs
from ..samplers.annealing import annealed_draws
from ..sharding import whole
from ..single_site import units_of_proposals
from .marginal import (
    SLOW_SUMS,
    check_finite_given,
    draw,
    entries_of_sum,
    given_seen,
    posterior,
    way_to_sum,
    with_missing,
)

__all__ = ["Imputation", "impute"]

APART = 4  # sweeps between those that averages are taken over: neighbours are alike


class Imputation(NamedTuple):
    """Rows with their missing values filled in, and the uncertainty of these values.

    Attributes:
        rows: the rows, with each missing value filled by the most probable state of that unit
            taken by itself, or by its mean where the states are continuous, shape (n, visible
            units).
        mean: ⟨v⟩ given the seen units, in columns as `visible.encode` returns them, shape (n,
            columns): the probability of a 1 for a Bernoulli unit, of each state for a Potts unit.
        spread: the standard deviation of each column, 0 where it is seen, shape (n, columns).
        stderr: the standard error of `mean` by the differences between chains, 0 where it is exact,
            shape (n, columns).
        draws: complete rows drawn from p(v_missing | v_seen), including all dependence between
            missing units, shape (draws, n, visible units).
        method: how this was computed, in words.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> found = hm.impute(rbm, [[1, 1, np.nan, 0]], key=jax.random.key(0))
        >>> print(found.spread.round(3))  # √(2/3 · 1/3) where it is missing
        [[0.    0.    0.471 0.   ]]
        >>> found.draws.shape, found.method
        ((10, 1, 4), 'exact, 2 terms')
    """

    rows: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    stderr: np.ndarray
    draws: np.ndarray
    method: str


def impute(
    rbm: RBM, rows: Any, *, key: PRNGKeyArray, draws: int = 10, sweeps: int = 200
) -> Imputation:
    """Fill in the missing values of rows from the model's p(v_missing | v_seen), with uncertainty.

    The mean and variance of a missing unit i follow from p(v_i | h), averaged over h, with I = hWᵀ:

        ⟨v_i⟩ = ⟨Γ_i′(I)⟩,    var v_i = ⟨Γ_i″(I)⟩ + var Γ_i′(I),    over p(h | v_seen).

    With at most 2^16 hidden states or 2^12 completions of a row, both are exact sums and the draws
    are exact. Otherwise each draw is the last state of its own Gibbs chain, with the seen units
    held fixed. The first half of its sweeps anneal it, and averages are taken over every fourth
    sweep of the second half of all chains.

    Args:
        rbm: the model.
        rows: in the user's coding, NaN where a value is missing, shape (n, visible units).
        key: a JAX random key.
        draws: completions of each row.
        sweeps: Gibbs sweeps of each chain, where the sums are not exact.

    Raises:
        InputError: `rbm` is not a model, rows lie outside the visible layer's domain, or `draws`
            or `sweeps` is not positive.
        NotFiniteError: what is missing has no distribution given the seen units, as Z is infinite.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> found = hm.impute(rbm, [[1, 1, np.nan, 0]], key=jax.random.key(0))
        >>> found.rows.tolist()
        [[1.0, 1.0, 1.0, 0.0]]
        >>> print(found.mean.round(3))
        [[1.    1.    0.667 0.   ]]
    """
    checked_rbm(rbm)
    draws, sweeps = positive_integer(draws, "draws"), positive_integer(sweeps, "sweeps")
    rows, key = rbm.visible.validate(rows, "rows", missing=True), checked_key(key)
    check_finite_given(rbm, rows)
    is_missing = np.isnan(rows)
    missing = max(1, int(is_missing.sum(1).max()))
    over, terms = way_to_sum(rbm, missing, SLOW_SUMS)
    method = f"exact, {terms:,} terms" if over else f"{draws} chains of {sweeps:,} sweeps"
    width = draws * (rbm.visible.size + rbm.hidden.size)
    if over:
        width = max(width, entries_of_sum(rbm, missing, SLOW_SUMS))
    size, gaps = rows_at_once(width), np.flatnonzero(is_missing.any(1))
    mean = np.concatenate(
        [np.asarray(_encoded(rbm, rows[i : i + size])) for i in range(0, len(rows), size)]
    )
    spread, error = np.zeros_like(mean), np.zeros_like(mean)
    # The user's own values stay as they are: encoding and decoding may round them.
    likely, drawn = rows.copy(), np.repeat(rows[None], draws, axis=0)
    for part, first in enumerate(range(0, len(gaps), size)):
        which, key_part = gaps[first : first + size], jax.random.fold_in(key, part)
        n = len(which)
        v = _encoded(rbm, rows[np.resize(which, min(size, _few_sizes(n)))])
        if over:
            found = _exact(rbm, v, missing, draws, key=key_part)
        else:
            found = _from_chains(rbm, v, draws, sweeps, key=key_part)
        found = tuple(map(whole, found))
        best = rbm.visible.decode(_nearest_states(rbm.visible, found[0]))[:n]
        decoded = rbm.visible.decode(found[2])[:, :n]
        mean[which], variance, error[which] = (np.asarray(found[i])[:n] for i in (0, 1, 3))
        spread[which] = np.sqrt(np.maximum(variance, 0.0))
        likely[which] = np.where(is_missing[which], best, rows[which])
        drawn[:, which] = np.where(is_missing[which], decoded, rows[which])
    return Imputation(likely, mean, spread, error, drawn, method)


def _few_sizes(count: int) -> int:
    """Return a number that is at most an eighth larger, so that few sizes are compiled."""
    step = 1 << max(0, count.bit_length() - 4)
    return -(-count // step) * step


def _encoded(rbm: RBM, rows: np.ndarray) -> Array:
    """Return rows as the layer's columns, NaN where a value is missing."""
    return with_missing(rbm.visible, from_numpy(rows))


@eqx.filter_jit
def _exact(
    rbm: RBM, v: Float[Array, "n columns"], missing: int, draws: int, *, key: PRNGKeyArray
) -> tuple[Array, Array, Array, Array]:
    """Return mean, variance, draws and an error of 0, computed from the sum over all terms."""
    found = posterior(rbm, v, missing, SLOW_SUMS)
    assert found is not None
    share = jnp.exp(found.log_share)
    if found.v is not None:
        mean = jnp.einsum("nt,ntc->nc", share, found.v, precision="highest")
        squares = (found.v - mean[:, None]) ** 2
        variance = jnp.einsum("nt,ntc->nc", share, squares, precision="highest")
    elif not rbm.visible.has_independent_units:
        assert found.h is not None
        mean, variance = _of_dependent_units(rbm, v, share, rbm.inputs_to_v(found.h))
    else:
        assert found.h is not None
        inputs = rbm.inputs_to_v(found.h)
        each = rbm.visible.mean(inputs)
        mean = product(share, each)
        variance = product(share, rbm.visible.variance(inputs) + each**2) - mean**2
    seen = ~jnp.isnan(v)
    mean, variance = jnp.where(seen, v, mean), jnp.where(seen, 0.0, variance)
    drawn = jax.lax.map(lambda k: draw(rbm, found, key=k, seen=v), jax.random.split(key, draws))
    return mean, variance, drawn, jnp.zeros_like(mean)


def _of_dependent_units(
    rbm: RBM, v: Array, share: Float[Array, "n terms"], inputs: Float[Array, "terms columns"]
) -> tuple[Array, Array]:
    """Return mean and variance where units depend on seen ones given h too: row by row."""

    def of_row(row: tuple[Array, Array]) -> tuple[Array, Array]:
        states, weights = row
        visible = given_seen(rbm, states[None]).visible
        each = visible.mean(inputs)
        mean = product(weights, each)
        return mean, product(weights, visible.variance(inputs) + each**2) - mean**2

    return jax.lax.map(of_row, (v, share))


@eqx.filter_jit
def _from_chains(
    rbm: RBM, v: Float[Array, "n columns"], draws: int, sweeps: int, *, key: PRNGKeyArray
) -> tuple[Array, Array, Array, Array]:
    """Return mean, variance, last states and error of chains, over the half after annealing."""
    key_start, key_sweep = jax.random.split(key)
    model, gibbs = given_seen(rbm, jnp.repeat(v, draws, axis=0)), Gibbs(1)
    first = sweeps // 2
    key_anneal, key_start = jax.random.split(key_start)
    begun = annealed_draws(path_to(model), len(v) * draws, first, key=key_anneal)
    chains = gibbs.start(model, begun.v, key=key_start)

    def sweep(i: Array, carry: tuple) -> tuple:
        chains, sums = carry
        chains, _ = gibbs.step(model, chains, key=jax.random.fold_in(key_sweep, i))

        def added(sums: tuple) -> tuple:
            inputs = rbm.inputs_to_v(chains.h)
            mean = model.visible.mean(inputs)
            terms = (mean, mean**2, model.visible.variance(inputs))
            return tuple(s + term for s, term in zip(sums, terms, strict=True))

        counts = (sweeps - 1 - i) % APART == 0
        return chains, jax.lax.cond(counts, added, lambda sums: sums, sums)

    zero = jnp.zeros_like(chains.v)
    chains, sums = jax.lax.fori_loop(first, sweeps, sweep, (chains, (zero, zero, zero)))
    counted = -(-(sweeps - first) // APART)
    by_row = (len(v), draws, v.shape[1])
    each = [(s / counted).reshape(by_row) for s in sums]
    total, squares, variances = (one.mean(1) for one in each)
    error = jnp.sqrt(each[0].var(1) / max(1, draws - 1))
    seen = ~jnp.isnan(v)
    mean, error = jnp.where(seen, v, total), jnp.where(seen, 0.0, error)
    variance = jnp.where(seen, 0.0, variances + squares - total**2)
    return mean, variance, jnp.swapaxes(chains.v.reshape(by_row), 0, 1), error


@eqx.filter_jit
def _nearest_states(visible: AbstractLayer, mean: Float[Array, "n columns"]) -> Array:
    """Return for each unit the state nearest to its mean; for a continuous unit, the mean itself.

    For a unit with two states or one-hot columns, this is the most probable state.
    """
    state = visible.sample_without_inputs(mean.shape[:-1], key=key_of(0))
    columns, changes = visible.proposals(state)
    units = units_of_proposals(visible, columns)
    discrete = np.isin(np.arange(visible.n_units), units)
    state = jnp.where(visible.spread(jnp.asarray(discrete)), state, mean)
    if not len(columns):
        return state
    away = (state - mean)[:, columns]
    nearer = ((away + changes) ** 2 - away**2).sum(-1)  # row, proposal
    places, number = jnp.asarray(units), jnp.arange(len(units))
    best = jax.ops.segment_min(nearer.T, places, visible.n_units).T[:, units]
    able = (nearer <= best) & (nearer < 0)
    first = jax.ops.segment_min(jnp.where(able, number, len(units)).T, places, visible.n_units).T
    chosen = number == first[:, units]  # one of several equally near states
    rows = jnp.arange(len(mean))[:, None, None]
    return state.at[rows, columns].add(jnp.where(chosen[..., None], changes, 0.0))
