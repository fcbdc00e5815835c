"""Samples from chains as long as the mixing of the model requires, or as the time allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._numerics import from_numpy
from ..diagnostics.base import Mixing
from ..layers.capabilities import takes_lengths
from ..path import path_to
from ..rbm import RBM
from ..samplers.gibbs import after_sweeps
from ..samplers.population import (
    Population,
    Swept,
    averages_of,
    begun_population,
    evened,
    moved_population,
    whole_groups,
)
from ..sampling import DEFAULT_SWEEPS
from .progress import NotMeasuredError, ReportProgress

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
    converged: bool = True
    message: str = ""


def sweeps_for(mixing: Mixing | None) -> int:
    """Return the sweeps after which a chain is a draw from the model, at least the default."""
    relaxation = 0.0 if mixing is None else mixing.relaxation
    return max(DEFAULT_SWEEPS, math.ceil(LENGTH_IN_RELAXATIONS * relaxation))


def with_lengths_like(rbm: RBM, rows: Callable[[int], np.ndarray]) -> RBM:
    """Return the model of chains that have the lengths of rows, if the model takes them as given.

    Args:
        rbm: the model.
        rows: returns at most so many rows in the user's coding.
    """
    if not takes_lengths(rbm.visible):
        return rbm
    some = rows(SAMPLES)
    some = some[np.arange(SAMPLES) * len(some) // SAMPLES]
    return rbm.with_lengths_of(rbm.visible.encode(from_numpy(np.asarray(some))))


def draw(rbm: RBM, wanted: int, progress: ReportProgress, *, key: PRNGKeyArray) -> Drawn:
    """Draw samples, by a population of chains that is annealed for 500 sweeps or half of the time.

    Chains with lengths of their own are no population: each keeps its own.

    Raises:
        NotMeasuredError: the draws overflow.
    """
    key_start, key_move, key_even = jax.random.split(key, 3)
    began, sweeps, annealed = time.monotonic(), 0, 0.0
    here = _started(rbm, key=key_start)
    while annealed < 1.0:
        elapsed = time.monotonic() - began if sweeps else 0.0  # the first one is compiled
        to = min(1.0, max((sweeps + STRIDE) / ANNEALING, elapsed / (SECONDS / 2)))
        ends = jnp.float32(annealed), jnp.float32(to)
        moved = _moved(rbm, here, *ends, key=jax.random.fold_in(key_move, sweeps))
        here, annealed = jax.block_until_ready(moved), to
        sweeps += STRIDE
        progress(min(1.0, max(sweeps / wanted, (time.monotonic() - began) / SECONDS)))
    v, families = _evened(here, key=key_even)
    while sweeps < wanted and time.monotonic() - began < SECONDS:
        v = jax.block_until_ready(_swept(rbm, v, key=jax.random.fold_in(key_move, sweeps)))
        sweeps += STRIDE
        progress(min(1.0, max(sweeps / wanted, (time.monotonic() - began) / SECONDS)))
    rows = rbm.visible.decode(v)
    if not np.isfinite(rows).all():
        raise NotMeasuredError("the model's draws overflow: its parameters are too large")
    states = np.asarray(v).reshape(*families.shape, -1)
    found = averages_of(Swept(states, states, np.zeros_like(states[:, 0]), states, families))
    converged, effective = bool(found.mixed.all()), int(found.families.min())
    worth = f"the samples are of {effective:,} independent families of chains"
    message = f"Converged: {worth}." if converged else f"Not converged: {worth}, or these differ."
    # Relatives are neighbours, so the samples are shuffled.
    order = np.random.default_rng(0).permutation(len(rows))
    order = np.arange(len(rows)) if takes_lengths(rbm.visible) else order
    return Drawn(rows[order], sweeps, wanted, converged, message)


@eqx.filter_jit
def _started(rbm: RBM, *, key: PRNGKeyArray) -> Population:
    rows, chains = (SAMPLES, 1) if takes_lengths(rbm.visible) else (1, SAMPLES)
    groups, _ = whole_groups(chains)
    return begun_population(path_to(rbm), rows, groups, chains // groups, key=key)


@eqx.filter_jit
def _moved(
    rbm: RBM, here: Population, begin: Array, end: Array, *, key: PRNGKeyArray
) -> Population:
    return moved_population(path_to(rbm), begin, end, STRIDE, here, key=key)


@eqx.filter_jit
def _evened(here: Population, *, key: PRNGKeyArray) -> tuple[Array, Array]:
    return evened(here, key=key)


@eqx.filter_jit
def _swept(rbm: RBM, v: Array, *, key: PRNGKeyArray) -> Array:
    return after_sweeps(rbm, v, STRIDE, key=key)
