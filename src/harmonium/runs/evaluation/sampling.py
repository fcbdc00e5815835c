"""Samples from chains as long as the mixing of the model requires, or as the time allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..._numerics import from_numpy
from ...diagnostics.base import Mixing
from ...path import path_to
from ...rbm import RBM
from ...samplers.gibbs import after_sweeps
from ...samplers.population import (
    Population,
    Swept,
    averages_of,
    begun_population,
    evened,
    moved_population,
    whole_groups,
)
from ...sampling import DEFAULT_SWEEPS
from ..failures import NotMeasuredError

SAMPLES = 1_000
SECONDS = 30.0
LENGTH_IN_RELAXATIONS = 10  # e^(−20) of the slowest mode is left
STRIDE = 50  # sweeps between checks of the time
ANNEALING = DEFAULT_SWEEPS // 2  # sweeps in which a chain is annealed


class Drawn(NamedTuple):
    """Samples of a model.

    Attributes:
        rows: the samples, in the user's coding.
        sweeps: sweeps of each chain.
        wanted: how many were wanted.
        converged: whether enough independent families of chains are left, and groups of them agree.
        message: a sentence that says so.
    """

    rows: np.ndarray
    sweeps: int
    wanted: int
    converged: bool
    message: str


def sweeps_for(mixing: Mixing | None) -> int:
    """Return the sweeps after which a chain is a draw from the model, at least the default."""
    relaxation = 0.0 if mixing is None else mixing.relaxation
    return max(DEFAULT_SWEEPS, math.ceil(LENGTH_IN_RELAXATIONS * relaxation))


def with_totals_like(rbm: RBM, rows: Callable[[int], np.ndarray]) -> RBM:
    """Return the model of chains that have the totals of rows, such as their lengths, if any.

    Args:
        rbm: the model.
        rows: returns at most so many rows in the user's coding.
    """
    if not rbm.visible.n_totals:
        return rbm
    examples = rows(SAMPLES)
    examples = examples[np.arange(SAMPLES) * len(examples) // SAMPLES]
    return rbm.with_totals_of(rbm.visible.encode(from_numpy(np.asarray(examples))))


def draw(rbm: RBM, wanted: int, progress: Callable[[float], Any], *, key: PRNGKeyArray) -> Drawn:
    """Draw samples, by a population of chains that is annealed for 500 sweeps or half of the time.

    Chains with totals of their own, such as lengths, are no population: each keeps its own.

    Raises:
        NotMeasuredError: the draws overflow.
    """
    key_start, key_move, key_even = jax.random.split(key, 3)
    start = time.monotonic()
    sweeps = 0

    def elapsed() -> float:
        return time.monotonic() - start

    def report() -> None:
        progress(min(1.0, max(sweeps / wanted, elapsed() / SECONDS)))

    population = _started(rbm, key=key_start)
    t = 0.0  # the place on the path from the base to the model
    while t < 1.0:
        by_time = 0.0
        if sweeps:  # the first stride also compiles, so its time says nothing
            by_time = elapsed() / (SECONDS / 2)
        end = min(1.0, max((sweeps + STRIDE) / ANNEALING, by_time))
        key_stride = jax.random.fold_in(key_move, sweeps)
        population = _moved(rbm, population, jnp.float32(t), jnp.float32(end), key=key_stride)
        population = jax.block_until_ready(population)
        t = end
        sweeps += STRIDE
        report()
    v, families = _evened(population, key=key_even)
    while sweeps < wanted and elapsed() < SECONDS:
        v = jax.block_until_ready(_swept(rbm, v, key=jax.random.fold_in(key_move, sweeps)))
        sweeps += STRIDE
        report()
    rows = rbm.visible.decode(v)
    if not np.isfinite(rows).all():
        raise NotMeasuredError("the model's draws overflow: its parameters are too large")
    states = np.asarray(v).reshape(*families.shape, -1)
    averages = averages_of(Swept(states, states, np.zeros_like(states[:, 0]), states, families))
    converged = bool(averages.mixed.all())
    origin = f"the samples are of {int(averages.families.min()):,} independent families of chains"
    message = f"Not converged: {origin}, or these differ."
    if converged:
        message = f"Converged: {origin}."
    if not rbm.visible.n_totals:
        # Relatives are neighbours, so the samples are shuffled.
        rows = rows[np.random.default_rng(0).permutation(len(rows))]
    return Drawn(rows, sweeps, wanted, converged, message)


@eqx.filter_jit
def _started(rbm: RBM, *, key: PRNGKeyArray) -> Population:
    rows, chains = (SAMPLES, 1) if rbm.visible.n_totals else (1, SAMPLES)
    groups, _ = whole_groups(chains)
    return begun_population(path_to(rbm), rows, groups, chains // groups, key=key)


@eqx.filter_jit
def _moved(
    rbm: RBM, population: Population, begin: Array, end: Array, *, key: PRNGKeyArray
) -> Population:
    return moved_population(path_to(rbm), begin, end, STRIDE, population, key=key)


@eqx.filter_jit
def _evened(population: Population, *, key: PRNGKeyArray) -> tuple[Array, Array]:
    return evened(population, key=key)


@eqx.filter_jit
def _swept(rbm: RBM, v: Array, *, key: PRNGKeyArray) -> Array:
    return after_sweeps(rbm, v, STRIDE, key=key)
