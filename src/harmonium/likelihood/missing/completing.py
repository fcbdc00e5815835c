"""Rows completed by a model: by exact sums where these are feasible, else by populations."""

from __future__ import annotations

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
from .marginal import Limits, given_seen, sums_for, way_to_sum, with_missing

FEWEST_CHAINS = 32  # of a population
ANNEALED = 3  # one of so many sweeps is an annealing step, which costs twice as much
# numbers drawn beyond the first ones: about 4 s, and 30 s
WORK = 2**29
MOST_WORK = 2**32
PRODUCT = 500  # multiplications that take as long as drawing a number
ROUNDS = 6  # of which each has twice the steps of the one before


class Completions(NamedTuple):
    """Completed rows, as states in the layer's columns, and how far they are to be trusted.

    Attributes:
        mean: ⟨v⟩ given the seen units, shape (rows, columns).
        variance: of v, shape (rows, columns).
        stderr: the standard error of `mean`, 0 where it is exact, shape (rows, columns).
        draws: draws of v, shape (rows, draws, columns).
        effective: how many independent draws these are worth, shape (rows,).
        mixed: whether a row's population has mixed, shape (rows,).
        method: how this was computed, in words.
    """

    mean: np.ndarray
    variance: np.ndarray
    stderr: np.ndarray
    draws: np.ndarray
    effective: np.ndarray
    mixed: np.ndarray
    method: str

    @property
    def message(self) -> str:
        """A sentence that says whether all rows have converged, and if not what to do."""
        if self.method.startswith("exact"):
            return "Converged: exact sums."
        if self.mixed.all():
            return "Converged: the chains come from enough independent families, which agree."
        rows = (
            "" if len(self.mixed) == 1 else f"{(~self.mixed).sum():,} of {len(self.mixed):,} rows: "
        )
        fewest = int(self.effective[~self.mixed].min())
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
    as_told: bool = False,
) -> Completions:
    """Return means and draws of p(v_missing | v_seen) for each row.

    Args:
        rbm: the model.
        rows: in the user's coding, NaN where a value is missing, some in each row.
        draws: completions of each row.
        sweeps: sweeps of each chain, a third of them annealed, where no sum is feasible.
        key: a JAX random key.
        as_told: whether each chain makes just these sweeps. Otherwise sums take their place where
            they are feasible, and chains that have not mixed begin anew with twice the sweeps, as
            long as the work allows.
    """
    missing = int(np.isnan(rows).sum(1).max())
    limits = sums_for(rbm, len(rows))
    over, terms = way_to_sum(rbm, missing, limits)
    if over is not None and not as_told:
        return _summed(rbm, rows, missing, limits, draws, f"exact, {terms:,} terms", key=key)
    return _annealed(rbm, rows, draws, sweeps, 1 if as_told else ROUNDS, key=key)


def _summed(
    rbm: RBM,
    rows: np.ndarray,
    missing: int,
    limits: Limits,
    draws: int,
    method: str,
    *,
    key: PRNGKeyArray,
) -> Completions:
    """Return exact means and draws, for some rows at a time."""
    _, terms = way_to_sum(rbm, missing, limits)
    size = rows_at_once(max(terms, (draws + 1) * rbm.widest))
    found = []
    for part, first in enumerate(range(0, len(rows), size)):
        some = rows[first : first + size]
        filled = np.resize(some, (min(size, few_sizes(len(some))), rows.shape[1]))
        made = _exact(
            rbm, from_numpy(filled), missing, limits, draws, key=jax.random.fold_in(key, part)
        )
        found.append([fetched(each)[: len(some)] for each in made])
    mean, variance, drawn = (np.concatenate(each) for each in zip(*found, strict=True))
    sure = np.ones(len(rows), bool)
    effective = np.full(len(rows), float(draws))
    return Completions(mean, variance, np.zeros_like(mean), drawn, effective, sure, method)


def _annealed(
    rbm: RBM, rows: np.ndarray, draws: int, sweeps: int, rounds: int, *, key: PRNGKeyArray
) -> Completions:
    """Return what populations say; those that have not mixed begin anew with twice the sweeps."""
    chains = whole_groups(max(FEWEST_CHAINS, draws))[1]
    columns = rbm.visible.size
    mean, variance, stderr = (np.zeros((len(rows), columns), np.float32) for _ in range(3))
    drawn = np.zeros((len(rows), draws, columns), np.float32)
    effective = np.zeros(len(rows))
    mixed = np.zeros(len(rows), bool)
    of_a_sweep = chains * (columns + rbm.hidden.size + columns * rbm.hidden.size // PRODUCT)
    left = min(MOST_WORK, max(WORK, 3 * len(rows) * sweeps * of_a_sweep))
    made = longest = sweeps
    for turn in range(rounds):
        which = np.flatnonzero(~mixed)
        work = len(which) * made * of_a_sweep
        if not len(which) or (turn and work > left):
            break
        left -= work if turn else 0
        key_turn = jax.random.fold_in(key, turn)
        found, states = _populations(rbm, rows[which], chains, draws, made, key=key_turn)
        error = found.stderr
        if turn:  # populations of two rounds are independent, so they should agree
            apart = np.where(found.mixed[:, None], 0.0, found.mean - mean[which])
            error = np.sqrt(error**2 + apart**2)
        mean[which] = found.mean
        variance[which] = found.variance
        stderr[which] = error
        drawn[which] = states
        effective[which] = found.families
        mixed[which] = found.mixed
        longest = made
        made = 2 * made
    method = f"{chains} chains of {'up to ' * (longest > sweeps)}{longest:,} sweeps"
    return Completions(mean, variance, stderr, drawn, effective, mixed, method)


def _populations(
    rbm: RBM, rows: np.ndarray, chains: int, draws: int, sweeps: int, *, key: PRNGKeyArray
) -> tuple[Averages, np.ndarray]:
    """Return averages over populations of rows, and draws of each, for some rows at a time."""
    size = rows_at_once(chains * (rbm.visible.size + rbm.hidden.size))
    steps = max(1, sweeps // ANNEALED)
    number = jnp.asarray(steps), jnp.asarray(max(2, sweeps - steps))
    found = []
    draws_of = []
    for part, first in enumerate(range(0, len(rows), size)):
        some = rows[first : first + size]
        filled = np.resize(some, (min(size, few_sizes(len(some))), rows.shape[1]))
        is_free = bool(np.isnan(rows).all())
        key_part = jax.random.fold_in(key, part)
        made = _swept(rbm, from_numpy(filled), is_free, chains, *number, key=key_part)
        swept = Swept(*(fetched(each)[: len(some)] for each in made))
        found.append(averages_of(swept))
        # Relatives are neighbours, so the draws are shuffled.
        order = np.random.default_rng(part).permutation(chains)[:draws]
        draws_of.append(swept.v[:, order])
    averages = Averages(*(np.concatenate(each) for each in zip(*found, strict=True)))  # pyright: ignore
    return averages, np.concatenate(draws_of)


def few_sizes(count: int) -> int:
    """Return a number that is at most an eighth larger, so that few sizes are compiled."""
    step = 1 << max(0, count.bit_length() - 4)
    return -(-count // step) * step


@eqx.filter_jit
def _exact(
    rbm: RBM, rows: Array, missing: int, limits: Limits, draws: int, *, key: PRNGKeyArray
) -> Moments:
    return exact_moments(rbm, with_missing(rbm.visible, rows), missing, limits, draws, key=key)


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
