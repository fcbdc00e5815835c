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
from ..path import path_to
from ..rbm import RBM
from ..samplers.annealing import Annealing, anneal, start_annealing
from ..sampling import DEFAULT_SWEEPS
from .progress import NotMeasuredError, ReportProgress

SAMPLES = 1_000
SECONDS = 30.0
LENGTH_IN_RELAXATIONS = 10  # e^(−20) of the slowest mode is left
STRIDE = 50  # sweeps between checks of the time
ANNEALING = DEFAULT_SWEEPS // 2  # sweeps in which a chain is annealed


class Drawn(NamedTuple):
    """Samples in the user's coding, the sweeps of each chain, and how many were wanted."""

    rows: np.ndarray
    sweeps: int
    wanted: int


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
    some = rows(SAMPLES)
    some = some[np.arange(SAMPLES) * len(some) // SAMPLES]
    return rbm.with_totals_of(rbm.visible.encode(from_numpy(np.asarray(some))))


def draw(rbm: RBM, wanted: int, progress: ReportProgress, *, key: PRNGKeyArray) -> Drawn:
    """Draw samples, each from its own chain, annealed for 500 sweeps or half of the time.

    Raises:
        NotMeasuredError: the draws overflow.
    """
    key_start, key_move = jax.random.split(key)
    began, sweeps, annealed = time.monotonic(), 0, 0.0
    v = _started(rbm, key=key_start)
    while annealed < 1.0 or (sweeps < wanted and time.monotonic() - began < SECONDS):
        elapsed = time.monotonic() - began if sweeps else 0.0  # the first one is compiled
        to = min(1.0, max((sweeps + STRIDE) / ANNEALING, elapsed / (SECONDS / 2)))
        ends = jnp.float32(annealed), jnp.float32(to)
        moved = _moved(rbm, v, *ends, key=jax.random.fold_in(key_move, sweeps))
        v, annealed = jax.block_until_ready(moved), to
        sweeps += STRIDE
        progress(min(1.0, max(sweeps / wanted, (time.monotonic() - began) / SECONDS)))
    rows = rbm.visible.decode(v)
    if not np.isfinite(rows).all():
        raise NotMeasuredError("the model's draws overflow: its parameters are too large")
    return Drawn(rows, sweeps, wanted)


@eqx.filter_jit
def _started(rbm: RBM, *, key: PRNGKeyArray) -> Array:
    return start_annealing(path_to(rbm), SAMPLES, key=key).v


@eqx.filter_jit
def _moved(rbm: RBM, v: Array, begin: Array, end: Array, *, key: PRNGKeyArray) -> Array:
    begun = Annealing(v, jnp.zeros(len(v), v.dtype))
    return anneal(path_to(rbm), begin, end, STRIDE, begun, key=key).v
