"""Rows completed by a model: by exact sums where these are feasible, else by populations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..._base.numerics import from_numpy
from ..._base.sharding import fetched
from ...data.parts import rows_at_once
from ...rbm import RBM
from ...samplers.population import Averages, Swept, annealed_population, averages_of, whole_groups
from .exact import Moments, exact_moments
from .marginal import TermSum, cheapest_sum, given_seen, sums_for, with_missing

FEWEST_CHAINS = 32  # of a population
ANNEALED = 3  # one of so many sweeps is an annealing step, which costs twice as much
# Numbers drawn beyond those of the first round: about 4 s where these are fewer, and 30 s at most.
WORK = 2**29
MOST_WORK = 2**32
PRODUCT = 500  # multiplications that take as long as drawing a number
ROUNDS = 6  # each of twice the sweeps of the one before


class Completions(NamedTuple):
    """Completed rows, as states in the layer's columns, and how far they are to be trusted.

    Attributes:
        averages: ⟨v⟩ given the seen units and what belongs to it, each of shape (rows, columns); as
            `families` the number of independent draws that those of a row are worth.
        draws: draws of v, shape (rows, draws, columns).
        method: how this was computed, in words.
    """

    averages: Averages
    draws: np.ndarray
    method: str

    @property
    def message(self) -> str:
        """A sentence that says whether all rows have converged, and if not what to do."""
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
            f"Not converged: {rows}too few independent families of chains (the fewest are worth"
            f" {fewest}), or these do not agree; allow more sweeps, or more chains."
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
        rows: in the user's coding, NaN where a value is missing, some in each row.
        draws: completions of each row.
        sweeps: sweeps of each chain, a third of them annealed, where no sum is feasible.
        key: a JAX random key.
        fixed_sweeps: whether each chain makes just these sweeps. Otherwise sums take their place
            where they are feasible, and chains that have not mixed restart with twice the sweeps,
            as long as the work allows.
    """
    if fixed_sweeps:
        return _annealed(rbm, rows, draws, sweeps, 1, key=key)
    missing = int(np.isnan(rows).sum(1).max())
    terms = cheapest_sum(rbm, missing, sums_for(rbm, len(rows)))
    if terms is not None:
        return _summed(rbm, rows, terms, draws, key=key)
    return _annealed(rbm, rows, draws, sweeps, ROUNDS, key=key)


def _summed(
    rbm: RBM, rows: np.ndarray, terms: TermSum, draws: int, *, key: PRNGKeyArray
) -> Completions:
    """Return exact means and draws, for some rows at a time."""
    size = rows_at_once(max(terms.n_terms, (draws + 1) * rbm.widest))
    results = []
    for part in _parts(rows, size, key):
        moments = _exact(rbm, part.rows, terms, draws, key=part.key)
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
    """Return averages over populations; those that have not mixed restart with twice the sweeps."""
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
        key_round = jax.random.fold_in(key, number)
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
    """Return averages over populations of rows, and draws of each, for some rows at a time."""
    steps = max(1, sweeps // ANNEALED)
    counts = jnp.asarray(steps), jnp.asarray(max(2, sweeps - steps))
    size = rows_at_once(chains * (rbm.visible.size + rbm.hidden.size))
    is_free = bool(np.isnan(rows).all())
    results = []
    for number, part in enumerate(_parts(rows, size, key)):
        swept = _swept(rbm, part.rows, is_free, chains, *counts, key=part.key)
        swept = Swept(*(fetched(array)[: part.count] for array in swept))
        # Relatives are neighbours, so the draws are shuffled.
        order = np.random.default_rng(number).permutation(chains)[:draws]
        results.append([*averages_of(swept), swept.v[:, order]])
    *averages, drawn = (np.concatenate(arrays) for arrays in zip(*results, strict=True))
    return Averages(*averages), drawn


class _Part(NamedTuple):
    """Some of the rows, filled up with copies so that few sizes are compiled; and their number."""

    rows: Array
    count: int
    key: PRNGKeyArray


def _parts(rows: np.ndarray, size: int, key: PRNGKeyArray) -> Iterator[_Part]:
    """Yield at most so many rows at a time."""
    for number, first in enumerate(range(0, len(rows), size)):
        part = rows[first : first + size]
        filled = np.resize(part, (min(size, padded_count(len(part))), rows.shape[1]))
        yield _Part(from_numpy(filled), len(part), jax.random.fold_in(key, number))


def padded_count(count: int) -> int:
    """Return a number that is at most an eighth larger, so that few sizes are compiled."""
    step = 1 << max(0, count.bit_length() - 4)
    return math.ceil(count / step) * step


@eqx.filter_jit
def _exact(rbm: RBM, rows: Array, terms: TermSum, draws: int, *, key: PRNGKeyArray) -> Moments:
    return exact_moments(rbm, with_missing(rbm.visible, rows), terms, draws, key=key)


@eqx.filter_jit
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
    """Return populations of each row, of the model itself where nothing is seen."""
    v = with_missing(rbm.visible, rows)
    model = rbm if is_free else given_seen(rbm, jnp.repeat(v, chains, axis=0))
    return annealed_population(model, len(rows), chains, steps, sweeps, key=key)
