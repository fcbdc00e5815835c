"""Population annealing: weighted chains, resampled, with errors from families of descendants."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._base.device import waits_at_turns
from .._base.loops import loop
from .._base.statistics import Z_95, effective_size, resampled, student_95
from ..path import AbstractPath, path_to
from ..rbm import RBM
from .annealing import model_between, start_annealing
from .gibbs import Gibbs, GibbsState

RESAMPLED_BELOW = 0.5  # effective fraction of a group's chains below which it is resampled
APART = 4  # number of sweeps between averaged states, since successive states are similar
# Populations are divided into independent groups, whose differences reveal poor mixing. There are
# few groups, because each group is resampled only within itself.
MOST_GROUPS = 8
LEAST_OF_A_GROUP = 16
ENOUGH_FAMILIES = 100  # as required by Wang, Machta & Katzgraber 2015
SHARE_OF_CHAINS = 0.4  # the required ratio of families to chains, if a row has few chains
# The required ratio if a row has many chains, of which 100 families may be only a small part.
SHARE_OF_MANY = 0.2
SURE = 4.5  # number of standard errors above which a drift or a difference counts as real


class Population(NamedTuple):
    """The chains of several rows, in independent groups, at some position on a path.

    Attributes:
        v: visible states, with the chains of a row adjacent, shape (n, visible) with n = rows ·
            groups · chains of a group.
        log_weights: log importance weights so far, in nats, shape (rows, groups, chains).
            Resampling gives all chains of a group their mean weight.
        families: each chain's ancestor at t = 0, numbered within its row, shape (rows, groups,
            chains).
    """

    v: Float[Array, "n visible"]
    log_weights: Float[Array, "rows groups chains"]
    families: Int[Array, "rows groups chains"]


class Swept(NamedTuple):
    """Averages over sweeps of the model for each row's chains, and the chains' final states.

    Attributes:
        first, second: averages of p(v | h) of each chain over the two halves of the sweeps, shape
            (rows, chains, visible).
        within: the variance of v within the sweeps of a chain, averaged over chains, shape (rows,
            visible).
        v: the last visible states, shape (rows, chains, visible).
        families: each chain's ancestor at t = 0, shape (rows, chains).
    """

    first: Float[Array | np.ndarray, "rows chains visible"]
    second: Float[Array | np.ndarray, "rows chains visible"]
    within: Float[Array | np.ndarray, "rows visible"]
    v: Float[Array | np.ndarray, "rows chains visible"]
    families: Int[Array | np.ndarray, "rows chains"]


class Averages(NamedTuple):
    """Averages over each row's population at t = 1, with their errors.

    Attributes:
        mean: ⟨v⟩, shape (rows, visible).
        variance: the variance of v, shape (rows, visible).
        stderr: the standard error of `mean`, shape (rows, visible).
        families: the effective number of families, 1 / Σ (share of a family)², shape (rows,).
        mixed: a mask of the rows with enough families, no drift of the means, and agreement between
            groups, shape (rows,).
    """

    mean: np.ndarray
    variance: np.ndarray
    stderr: np.ndarray
    families: np.ndarray
    mixed: np.ndarray


def whole_groups(chains: int) -> tuple[int, int]:
    """Return the number of groups per row, and the number of chains rounded up to equal groups."""
    groups = max(1, min(MOST_GROUPS, chains // LEAST_OF_A_GROUP))
    return groups, math.ceil(chains / groups) * groups


def annealed_population(
    rbm: RBM,
    rows: int,
    chains: int,
    steps: Array | int,
    sweeps: Array | int,
    *,
    key: PRNGKeyArray,
    path: AbstractPath | None = None,
) -> Swept:
    r"""Anneal a population for each row, then run sweeps of the model. Traceable.

    The population is annealed from the model at t = 0 to the model itself; each step t → t′
    performs

        log w += F_t(v) − F_t′(v),    then  v → h → v  under the model at t′.

    If the effective size of a group falls below half of its chains, the group is resampled
    systematically. At the end all chains of a row are resampled, with weights that include each
    group's own estimate of Z. Modes are thus represented with the model's probabilities, however
    rarely chains move between them. Averages of p(v | h) are then taken over every fourth sweep.

    Args:
        rbm: one model, or one for each chain; the models of a row are adjacent.
        rows: number of rows.
        chains: number of chains per row, as returned by `whole_groups`.
        steps: number of annealing steps.
        sweeps: number of sweeps of the model after annealing, at least 2.
        key: a JAX random key.
        path: the path to the model, from one with zero weights; the neutral path if None.

    Source: Neal 2001; Hukushima & Iba 2003; Del Moral, Doucet & Jasra 2006; Machta 2010.
    """
    key_start, key_anneal, key_even, key_sweep = jax.random.split(key, 4)
    if path is None:
        path = path_to(rbm)
    groups = whole_groups(chains)[0]
    start = first_population(path, rows, groups, chains // groups, key=key_start)
    annealed = moved_population(path, 0.0, 1.0, steps, start, key=key_anneal)
    v, families = evened(annealed, key=key_even)
    first, second, within, v = _swept(rbm, v, rows, sweeps, key=key_sweep)
    return Swept(first, second, within, v.reshape(first.shape), families)


def averages_of(swept: Swept) -> Averages:
    r"""Return averages over populations, with errors, and whether the populations have mixed.

    Chains with a common ancestor are dependent, but families are independent, so for n chains

        var mean = Σ_k (Σ_{i in family k} (x_i − mean) / n)².

    A fictitious family, one standard deviation of v away from the mean, allows for a mode that no
    family has found. The error is multiplied by t/1.96, where Student's t has one degree of freedom
    fewer than the effective number of families, so that ± twice the error is a 95 % interval even
    with few families. If the independent groups differ by more than the variance between families
    explains, the error is computed from the groups.

    Source: Wang, Machta & Katzgraber 2015 (families); Lee & Whiteley 2018 (their variance).
    """
    first, second, within, _, families = map(np.asarray, swept)
    rows, chains, _ = first.shape
    groups, _ = whole_groups(chains)
    of_chains = (first.astype(float) + second) / 2.0
    mean = of_chains.mean(1)
    spread = np.maximum(within.astype(float) + of_chains.var(1), 0.0)  # clipped for rounding errors
    rounding = 1e-5 * (1.0 + abs(mean))
    effective = 1.0 / _error_squared(np.ones((rows, chains, 1)), families)
    error = _error_squared(of_chains - mean[:, None], families)
    change = (second - first).astype(float)
    certain = np.sqrt(_error_squared(change, families)) + rounding
    drifts = (abs(change.mean(1)) > SURE * certain).any(-1)
    differ = np.zeros(rows, bool)
    if groups > 1:
        between = _error_squared(of_chains - mean[:, None], families // (chains // groups))
        between *= groups / (groups - 1)
        differ = (between > _most_by_chance(groups - 1) * error + rounding**2).any(-1)
        error = np.where(differ[:, None], np.maximum(error, between), error)
    factor = np.array([student_95(max(1, int(n) - 1)) for n in effective[:, 0]]) / Z_95
    stderr = factor[:, None] * np.sqrt(error + spread / effective**2)
    enough = min(max(ENOUGH_FAMILIES, SHARE_OF_MANY * chains), SHARE_OF_CHAINS * chains)
    mixed = (effective[:, 0] >= enough) & ~drifts & ~differ
    return Averages(mean, spread, stderr, effective[:, 0], mixed)


def _error_squared(x: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Return Σ_k (Σ_{i of kind k} x_i / n)² for each row and column.

    Args:
        x: shape (rows, n, columns).
        kind: the label k of each entry, shape (rows, n), from 0 to n − 1.
    """
    rows, n, columns = x.shape
    kinds = (kind + n * np.arange(rows)[:, None]).reshape(-1)
    order = np.argsort(kinds, kind="stable")
    starts = np.flatnonzero(np.diff(kinds[order], prepend=-1))
    sums = np.add.reduceat(x.reshape(-1, columns)[order], starts) / n
    row = kinds[order][starts] // n
    return np.add.reduceat(sums**2, np.searchsorted(row, np.arange(rows)))


def first_population(
    path: AbstractPath, rows: int, groups: int, chains: int, *, key: PRNGKeyArray
) -> Population:
    """Draw a population from the model at t = 0, with `chains` chains per group. Traceable."""
    start = start_annealing(path, rows * groups * chains, key=key)
    shape = (rows, groups, chains)
    families = jnp.broadcast_to(jnp.arange(groups * chains).reshape(shape[1:]), shape)
    return Population(start.v, start.log_weights.reshape(shape), families)


def moved_population(
    path: AbstractPath,
    begin: Array | float,
    end: Array | float,
    steps: Array | int,
    population: Population,
    *,
    key: PRNGKeyArray,
) -> Population:
    """Anneal a population from one t to another, as in `annealed_population`. Traceable."""
    shape = population.log_weights.shape

    def step(s: Array, here: Population) -> Population:
        key_sweep, key_choose = jax.random.split(jax.random.fold_in(key, s))
        before = model_between(path, begin, end, s, steps)
        after = model_between(path, begin, end, s + 1, steps)
        gain = before.free_energy(here.v) - after.free_energy(here.v)
        # Resampling follows the sweep, so that the sweep shares its product with F.
        v = after.gibbs_sweep(here.v, key=key_sweep)
        log_weights = here.log_weights + gain.reshape(shape)
        there = Population(v, log_weights, here.families)
        low = effective_size(_shares(log_weights)) < RESAMPLED_BELOW * shape[-1]
        if waits_at_turns():  # on such a device, a conditional would also wait for the host
            return _resampled(there, low, key_choose)
        return jax.lax.cond(low.any(), _resampled, lambda p, *_: p, there, low, key_choose)

    return loop(0, steps, step, population)


def _resampled(population: Population, which: Array, key: PRNGKeyArray) -> Population:
    """Resample the chains of the selected groups, each group separately."""
    rows, groups, chains = population.log_weights.shape
    places = _chosen(population.log_weights, key=key)
    places = jnp.where(which[..., None], places, jnp.arange(chains))
    log_mean = jax.nn.logsumexp(population.log_weights, axis=-1, keepdims=True) - jnp.log(chains)
    log_weights = jnp.where(which[..., None], log_mean, population.log_weights)
    first = chains * jnp.arange(rows * groups).reshape(rows, groups, 1)
    v = population.v[(first + places).reshape(-1)]
    return Population(v, log_weights, jnp.take_along_axis(population.families, places, -1))


def evened(population: Population, *, key: PRNGKeyArray) -> tuple[Array, Array]:
    """Resample all chains of each row by weight; return their states and families.

    Traceable.
    """
    rows = len(population.log_weights)
    v, *by_group = population
    of_row = Population(v, *(x.reshape(rows, 1, -1) for x in by_group))
    v, _, families = _resampled(of_row, jnp.ones((rows, 1), bool), key)
    return v, families[:, 0]


def _shares(log_weights: Array) -> Array:
    return jnp.exp(log_weights - log_weights.max(-1, keepdims=True))


def _chosen(log_weights: Array, *, key: PRNGKeyArray) -> Array:
    """Return the indices that systematic resampling chooses along the last axis."""
    count = log_weights.shape[-1]
    offsets = jax.random.uniform(key, log_weights.shape[:-1], log_weights.dtype)
    flat = _shares(log_weights).reshape(-1, count)
    places = jax.vmap(lambda w, u: resampled(w, count, u))(flat, offsets.reshape(-1))
    return places.reshape(log_weights.shape)


def _swept(
    rbm: RBM, v: Array, rows: int, sweeps: Array | int, *, key: PRNGKeyArray
) -> tuple[Array, Array, Array, Array]:
    """Run Gibbs sweeps; return averages over the sweeps, and the final states.

    Returns:
        Averages of p(v | h) over the first and over the second half of the sweeps, shape (rows,
        chains, visible); the variance of v within a chain's sweeps, shape (rows, visible); the
        last states.
    """
    key_start, key_sweep = jax.random.split(key)
    gibbs = Gibbs(1)
    half = sweeps // 2
    centre = v.mean(0)
    chains = gibbs.init(rbm, v, key=key_start)

    def sweep(i: Array, carry: tuple[GibbsState, tuple]) -> tuple[GibbsState, tuple]:
        chains, sums = carry
        chains, _ = gibbs.step(rbm, chains, key=jax.random.fold_in(key_sweep, i))
        late = (i >= half).astype(v.dtype)

        def added(sums: tuple) -> tuple:
            inputs = rbm.inputs_to_v(chains.h)
            mean = rbm.visible.mean(inputs) - centre
            square = mean**2 + rbm.visible.variance(inputs)
            terms = (mean * (1.0 - late), mean * late, square, 1.0 - late, late)
            return tuple(s + x for s, x in zip(sums, terms, strict=True))

        last = jnp.where(i < half, half, sweeps) - 1
        return chains, jax.lax.cond((last - i) % APART == 0, added, lambda sums: sums, sums)

    zero = jnp.zeros_like(v)
    none = jnp.zeros((), v.dtype)
    start = (chains, (zero, zero, zero, none, none))
    chains, sums = loop(0, sweeps, sweep, start)
    early, late, squares, n_early, n_late = sums
    by_row = (rows, len(v) // rows, v.shape[1])
    first = (early / n_early).reshape(by_row)
    second = (late / n_late).reshape(by_row)
    squares = (squares / (n_early + n_late)).reshape(by_row)
    within = (squares - ((first + second) / 2.0) ** 2).mean(1)
    return first + centre, second + centre, within, chains.v


def _most_by_chance(freedom: int) -> float:
    """Return an upper quantile of χ² divided by its mean (Wilson & Hilferty 1931)."""
    part = 2.0 / (9.0 * freedom)
    return (1.0 - part + SURE * part**0.5) ** 3
