"""RAISE: a conservative log-likelihood of rows, computed for the annealed model."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..._base.checks import checked_key, positive_integer
from ..._base.numerics import whole_number
from ..._base.sharding import fetched
from ..._base.statistics import log_mean_exp
from ..._base.threefry import split
from ...errors import InputError
from ...path import AbstractPath
from ...rbm import RBM
from .schedule import SEGMENTS, AnnealingSchedule, base_from_moments, swept

# For the forward runs that space the schedule.
PILOT_CHAINS = 256
PILOT_STEPS = 3  # number of steps per segment


class Raised(NamedTuple):
    """Log-likelihood of rows under the annealed model, in nats per row.

    Attributes:
        value: mean over rows.
        stderr_rows: standard error of this mean over rows.
        rows: the estimate for each row, shape (n,).
        method: a description of the computation.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> rows = [[1, 1, 1, 0], [1, 1, 1, 1]]
        >>> found = hm.likelihood.raise_log_likelihood(rbm, rows, key=jax.random.key(0), steps=64)
        >>> found.rows.shape, found.method
        ((2,), 'RAISE, 16 chains × 64 steps, low on average')
    """

    value: float
    stderr_rows: float
    rows: np.ndarray
    method: str

    def __str__(self) -> str:
        """Return a summary in one sentence."""
        return (
            f"log-likelihood of the annealed model = {self.value:.4f} nats per row,"
            f" ± {self.stderr_rows:.4f} over rows ({self.method})"
        )


def raise_log_likelihood(
    rbm: RBM,
    rows: Any,
    *,
    key: PRNGKeyArray,
    chains: int = 16,
    steps: int = 1_024,
    path: AbstractPath | None = None,
) -> Raised:
    """Return the log-likelihood of rows under the distribution that forward annealing generates.

    Forward annealing is itself a generative model, the annealed model: draws of a base model are
    annealed to the RBM by one sweep per step. The log-likelihood of a row under this model is
    estimated by reverse runs from the row, after one sweep at t = 1,

        log p̂(v) = −F(v) + log mean e^w.

    Here w is the log weight of a reverse run, which estimates −log Z. The estimate is on average
    *below* log p of the annealed model, which is close to the RBM if annealing is slow enough. The
    estimate is thus, on average, a conservative score of test rows, but not a bound on the RBM's
    own log-likelihood.

    Args:
        rbm: the model.
        rows: rows to score, in the user's coding, shape (n, visible units); a few hundred are
            usual.
        key: a JAX random key.
        chains: number of reverse runs from each row.
        steps: number of steps of each run.
        path: a path from a model with zero weights; if None, a path from the independent-units
            model with the moments of short chains of `rbm`.

    Raises:
        InputError: rows are outside the visible layer's domain, `chains` or `steps` is not
            positive, or the path starts with nonzero weights.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> rows = [[1, 1, 1, 0], [1, 1, 1, 1]]
        >>> found = hm.likelihood.raise_log_likelihood(rbm, rows, key=jax.random.key(0), steps=64)
        >>> bool(abs(found.value - hm.log_likelihood(rbm, rows).value) < 0.1)
        True

    Source: Burda, Grosse & Salakhutdinov 2015.
    """
    array = rbm.visible.validate(rows)
    chains = positive_integer(chains, "chains")
    steps = positive_integer(steps, "steps")
    keys = split(checked_key(key), 5)
    if path is None:
        path = base_from_moments(rbm, key=keys[0])
    if not path.begins_uncoupled:
        raise InputError("path: expected a path that starts at a model with zero weights.")
    segments = min(SEGMENTS, steps)
    schedule = AnnealingSchedule.even(path, segments)
    starts = schedule.start(PILOT_CHAINS, key=keys[1])
    _, gains = schedule.run(starts, PILOT_STEPS, key=keys[2])
    schedule = schedule.respaced(gains)
    v = rbm.visible.encode(array)
    starts = swept(rbm, jnp.repeat(v, chains, axis=0), whole_number(1), key=keys[3])
    steps_of_segment = max(1, round(steps / segments))
    _, back = schedule.run(starts, steps_of_segment, key=keys[4], reverse=True)
    log_weights = (back.sum(0) - float(path.log_z_of_base)).reshape(len(array), chains)
    log_p = -fetched(rbm.free_energy(v)).astype(np.float64) + log_mean_exp(log_weights, 1)
    stderr = float("nan")
    if len(log_p) > 1:
        stderr = float(log_p.std(ddof=1) / np.sqrt(len(log_p)))
    method = f"RAISE, {chains} chains × {steps_of_segment * segments:,} steps, low on average"
    return Raised(float(log_p.mean()), stderr, log_p, method)
