"""Samples from chains as long as the mixing of the model requires, or as the time allows."""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..diagnostics.base import Mixing
from ..rbm import RBM
from ..samplers import Gibbs
from ..sampling import DEFAULT_SWEEPS
from .progress import NotMeasuredError, ReportProgress

SAMPLES = 1_000
SECONDS = 30.0
LENGTH_IN_RELAXATIONS = 10  # e^(−20) of the slowest mode is left
STRIDE = 50  # sweeps between checks of the time


class Drawn(NamedTuple):
    """Samples in the user's coding, the sweeps of each chain, and how many were wanted."""

    rows: np.ndarray
    sweeps: int
    wanted: int


def sweeps_for(mixing: Mixing | None) -> int:
    """Return the sweeps after which a chain is a draw from the model, at least the default."""
    relaxation = 0.0 if mixing is None else mixing.relaxation
    return max(DEFAULT_SWEEPS, math.ceil(LENGTH_IN_RELAXATIONS * relaxation))


def draw(rbm: RBM, wanted: int, progress: ReportProgress, *, key: PRNGKeyArray) -> Drawn:
    """Draw samples, each from its own chain, which starts from the model without its weights.

    Raises:
        NotMeasuredError: the draws overflow.
    """
    key_start, key_move = jax.random.split(key)
    sampler, began, sweeps = Gibbs(STRIDE), time.monotonic(), 0
    state = _started(rbm, sampler, key=key_start)
    while sweeps < wanted and time.monotonic() - began < SECONDS:
        moved = _moved(rbm, sampler, state, key=jax.random.fold_in(key_move, sweeps))
        state = jax.block_until_ready(moved)
        sweeps += STRIDE
        progress(min(1.0, max(sweeps / wanted, (time.monotonic() - began) / SECONDS)))
    rows = rbm.visible.decode(state.v)
    if not np.isfinite(rows).all():
        raise NotMeasuredError("the model's draws overflow: its parameters are too large")
    return Drawn(rows, sweeps, wanted)


@eqx.filter_jit
def _started(rbm: RBM, sampler: Gibbs, *, key: PRNGKeyArray) -> Any:
    return sampler.init(rbm, SAMPLES, key=key)


@eqx.filter_jit
def _moved(rbm: RBM, sampler: Gibbs, state: Any, *, key: PRNGKeyArray) -> Any:
    return sampler.step(rbm, state, key=key)[0]
