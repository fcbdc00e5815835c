"""Completion of rows by a model: by exact sums if feasible, otherwise by populations of chains."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..._base.numerics import from_numpy, whole_number
from ..._base.programs import compiled
from ..._base.sharding import fetched
from ..._base.threefry import fold_in, split
from ...data.parts import ENTRIES_AT_ONCE, rows_at_once
from ...data.stored import padded_size
from ...layers.capabilities import are_unbounded
from ...path import Heating
from ...rbm import RBM
from ...samplers.population import Averages, Swept, annealed_population, averages_of, whole_groups
from .annealed import seen_of
from .marginal import TermSum, cheapest_sum, drawn_terms, given_seen, sums_for

FEWEST_CHAINS = 32  # smallest number of chains in a population
ANNEALED = 3  # one sweep in this many is an annealing step, which costs twice as much
# Limits on how many random numbers are drawn after the first round: these take about 4 s if the
# first round is short, and at most about 30 s otherwise.
WORK = 2**29
MOST_WORK = 2**32
MOST_OF_A_PART = 2**13  # largest number of terms in a part of a sum; a draw searches a whole part
PRODUCT = 500  # multiplications that take as long as drawing one number
ROUNDS = 6  # number of rounds, each with twice the sweeps of the previous round


class Completions(NamedTuple):
    """Completed rows, encoded as states of the visible layer, and their reliability.

    Attributes:
        averages: ⟨v⟩ given the seen units and its errors, each of shape (rows, columns); `families`
            is the effective number of independent draws of a row.
        draws: draws of v, shape (rows, draws, columns).
        method: a description of the computation.
    """

    averages: Averages
    draws: np.ndarray
    method: str

    @property
    def message(self) -> str:
        """A sentence on whether all rows have converged and, if not, what to do."""
        mixed = self.averages.mixed
        if self.method.startswith("exact"):
            return "Converged: exact sums."
        if mixed.all():
            return "Converged: the chains come from enough independent families, which agree."
        rows = ""
        if len(mixed) > 1:
            rows = f"{(~mixed).sum():,} of {len(mixed):,} rows: "
        fewest = int(self.averages.families[~mixed].min())
        return (
            f"Not converged: {rows}too few independent families of chains (as few as {fewest}), or"
            " they disagree; allow more sweeps or more chains."
        )


def complete(
    rbm: RBM,
    rows: Float[np.ndarray, "rows units"],
    draws: int,
    sweeps: int,
    *,
    key: PRNGKeyArray,
    fixed_sweeps: bool = False,
) -> Completions:
    """Return means and draws of p(v_missing | v_seen) for each row.

    Args:
        rbm: the model.
        rows: rows in the user's coding, each with at least one missing value (NaN).
        draws: number of completions per row.
        sweeps: sweeps per chain, a third of them annealed, if no sum is feasible.
        key: a JAX random key.
        fixed_sweeps: whether each chain makes exactly `sweeps` sweeps. Otherwise sums are used if
            feasible, and chains that have not mixed restart with twice the sweeps, within a limit
            on the work.
    """
    if fixed_sweeps:
        return _annealed(rbm, rows, draws, sweeps, 1, key=key)
    missing = int(rbm.visible.coding.missing(rows).sum(1).max())
    terms = cheapest_sum(rbm, missing, sums_for(rbm, len(rows)))
    if terms is not None:
        return _summed(rbm, rows, terms, draws, key=key)
    return _annealed(rbm, rows, draws, sweeps, ROUNDS, key=key)


def _summed(
    rbm: RBM, rows: np.ndarray, terms: TermSum, draws: int, *, key: PRNGKeyArray
) -> Completions:
    """Return exact means and draws of the completions, computed for a few rows at a time."""
    size = rows_at_once(max(terms.n_terms, (draws + 1) * rbm.widest))
    results = []
    for part in _parts(rows, size, key):
        moments = _moments(rbm, part.rows, terms, draws, key=part.key)
        results.append([fetched(array)[: part.count] for array in moments])
    mean, variance, drawn = (np.concatenate(arrays) for arrays in zip(*results, strict=True))
    averages = Averages(
        mean,
        variance,
        stderr=np.zeros_like(mean),
        families=np.full(len(rows), float(draws)),
        mixed=np.ones(len(rows), bool),
    )
    return Completions(averages, drawn, f"exact, {terms.n_terms:,} terms")


def _annealed(
    rbm: RBM, rows: np.ndarray, draws: int, sweeps: int, rounds: int, *, key: PRNGKeyArray
) -> Completions:
    """Return averages over populations; rows whose chains have not mixed are run for longer."""
    chains = whole_groups(max(FEWEST_CHAINS, draws))[1]
    columns = rbm.visible.size
    averages = Averages(
        *(np.zeros((len(rows), columns), np.float32) for _ in range(3)),
        families=np.zeros(len(rows)),
        mixed=np.zeros(len(rows), bool),
    )
    drawn = np.zeros((len(rows), draws, columns), np.float32)
    work_of_sweep = chains * (columns + rbm.hidden.size + columns * rbm.hidden.size // PRODUCT)
    work_left = min(MOST_WORK, max(WORK, 3 * len(rows) * sweeps * work_of_sweep))
    most_sweeps = sweeps
    for number in range(rounds):
        which = np.flatnonzero(~averages.mixed)
        sweeps_of_round = 2**number * sweeps
        work = len(which) * sweeps_of_round * work_of_sweep
        if not len(which) or (number and work > work_left):
            break
        key_round = fold_in(key, number)
        latest, states = _populations(
            rbm, rows[which], chains, draws, sweeps_of_round, key=key_round
        )
        if number:
            work_left -= work
            # Populations of two rounds are independent, so they should agree.
            change = np.where(latest.mixed[:, None], 0.0, latest.mean - averages.mean[which])
            latest = latest._replace(stderr=np.sqrt(latest.stderr**2 + change**2))
        for array, values in zip(averages, latest, strict=True):
            array[which] = values
        drawn[which] = states
        most_sweeps = sweeps_of_round
    up_to = "up to " if most_sweeps > sweeps else ""
    return Completions(averages, drawn, f"{chains} chains of {up_to}{most_sweeps:,} sweeps")


def _populations(
    rbm: RBM, rows: np.ndarray, chains: int, draws: int, sweeps: int, *, key: PRNGKeyArray
) -> tuple[Averages, np.ndarray]:
    """Return averages over each row's population, and draws from it, for a few rows at a time."""
    steps = max(1, sweeps // ANNEALED)
    counts = whole_number(steps), whole_number(max(2, sweeps - steps))
    size = rows_at_once(chains * (rbm.visible.size + rbm.hidden.size))
    is_free = bool(np.isnan(rows).all())
    results = []
    for number, part in enumerate(_parts(rows, size, key)):
        swept = _swept(rbm, part.rows, is_free, chains, *counts, key=part.key)
        swept = Swept(*(fetched(array)[: part.count] for array in swept))
        # Related chains are adjacent, so the draws are shuffled.
        order = np.random.default_rng(number).permutation(chains)[:draws]
        results.append([*averages_of(swept), swept.v[:, order]])
    *averages, drawn = (np.concatenate(arrays) for arrays in zip(*results, strict=True))
    return Averages(*averages), drawn


class _Part(NamedTuple):
    """A batch of rows, padded with copies so that only few sizes are compiled."""

    rows: Array
    count: int
    key: PRNGKeyArray


def _parts(rows: np.ndarray, size: int, key: PRNGKeyArray) -> Iterator[_Part]:
    """Yield at most `size` rows at a time."""
    for number, first in enumerate(range(0, len(rows), size)):
        part = rows[first : first + size]
        filled = np.resize(part, (min(size, padded_size(len(part))), rows.shape[1]))
        yield _Part(from_numpy(filled), len(part), fold_in(key, number))


@compiled
def _swept(
    rbm: RBM,
    rows: Array,
    is_free: bool,
    chains: int,
    steps: Array,
    sweeps: Array,
    *,
    key: PRNGKeyArray,
) -> Swept:
    """Return the populations of each row, or of the model itself if no unit is seen."""
    v = rbm.visible.encode_seen(rows)
    model = rbm
    path = None
    if not is_free:
        model = given_seen(rbm, jnp.repeat(v, chains, axis=0))
        path = _path_of_rows(rbm, v, model, chains)
    return annealed_population(model, len(rows), chains, steps, sweeps, key=key, path=path)


def _path_of_rows(rbm: RBM, v: Array, model: RBM, chains: int) -> Heating:
    """Return the neutral path to each row's model, where real units begin around their mean field.

    Given the seen units, a real unit may be known to within a small fraction of its distance from
    0: the next value of a smooth series, for example. A path on which it moves through that many of
    its standard deviations would need the square of this number of steps.
    """
    path = Heating.from_neutral(model)
    are_real = are_unbounded(rbm.visible)
    if not are_real.any():
        return path
    seen = seen_of(rbm, v)

    def difference(x: Array) -> Array:
        return (rbm.visible.base().energy(x) - rbm.visible.energy(x)).sum()

    # The energies differ in the linear terms that the neutral layer lacks.
    inputs = jax.grad(difference)(seen.values) + seen.field
    is_moved = are_real & ~rbm.visible.spread(seen.known)
    shift = jnp.repeat(jnp.where(is_moved, inputs, 0.0), chains, axis=0)
    return Heating(path.visible.shift(shift), path.hidden, model)


class _Moments(NamedTuple):
    """Moments and draws for each row, from sums over all terms.

    Attributes:
        mean: ⟨v⟩ given the seen units, shape (rows, visible).
        variance: variance of v given the seen units, shape (rows, visible).
        draws: completions drawn from p(v_missing | v_seen), shape (rows, draws, visible).
    """

    mean: Float[Array, "rows visible"]
    variance: Float[Array, "rows visible"]
    draws: Float[Array, "rows draws visible"]


class _Sums(NamedTuple):
    """Sums of w, w·v and w·v² so far, with w = exp(log weight − the largest log weight so far)."""

    most: Float[Array, " rows"]
    weight: Float[Array, "rows 1"]
    first: Float[Array, "rows visible"]
    second: Float[Array, "rows visible"]


@compiled
def _moments(
    rbm: RBM, rows: Float[Array, "rows units"], terms: TermSum, draws: int, *, key: PRNGKeyArray
) -> _Moments:
    """Return moments and draws of rows, from sums over hidden states or over completions.

    Only the weight of each term is stored. The terms are divided into parts; a draw first chooses a
    part, then a term in it, so that float32 sums of millions of terms remain accurate.

    Args:
        rbm: the model.
        rows: the rows in the user's coding, with NaN for missing values.
        terms: the terms to sum over.
        draws: number of completions to draw for each row.
        key: a JAX random key.
    """
    v = rbm.visible.encode_seen(rows)
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
    lowest = jnp.finfo(v.dtype).min  # not −∞, because a part may lack valid terms
    start = _Sums(jnp.full(len(v), lowest, v.dtype), zero[:, :1], zero, zero)
    sums, log_weights = jax.lax.scan(add_part, start, jnp.arange(parts))
    mean = sums.first / sums.weight
    variance = sums.second / sums.weight - mean**2
    log_weights_of_parts = jax.nn.logsumexp(log_weights, axis=-1).T

    def drawn(key: PRNGKeyArray) -> Array:
        key_part, key_term, key_v = split(key, 3)
        part = drawn_terms(_relative(log_weights_of_parts), key=key_part)
        term = drawn_terms(_relative(log_weights[part, jnp.arange(len(v))]), key=key_term)
        return terms.completed(rbm, v, part * size + term, key=key_v)

    completions = jax.lax.map(drawn, jax.random.split(key, draws))
    return _Moments(mean, variance, jnp.swapaxes(completions, 0, 1))


def _relative(log_weights: Float[Array, "rows terms"]) -> Float[Array, "rows terms"]:
    """Return the weights of each row's terms, divided by the row's largest weight."""
    return jnp.exp(log_weights - log_weights.max(-1, keepdims=True))
