"""log Z of one model by annealing anew, from units by themselves and back.

It knows nothing of what was followed until then: neither where the run's chains stay nor what
earlier models were worth. A forward run is an unbiased estimate of Z whatever it misses, so what it
finds is a lower bound with a known probability; the reverse runs say how much it may have missed.
Others start from the run's chains, and say whether these are where annealing hardly comes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._numerics import from_numpy
from ..partition_function.agreement import TAIL, AnnealingRuns, ReferenceRuns
from ..partition_function.schedule import (
    FinalStates,
    base_from_data,
    groups_of,
    resampled_states,
)
from ..path import Line
from ..rbm import RBM
from ..samplers import Cloud, start_annealing
from ..sharding import fetched
from ..statistics import lower_mean_bound, relative_weights, resampled
from .following import (
    APART,
    CONTRADICTED,
    NO_DOUBT,
    PARTICLES,
    TOLERANCE,
    TRUSTED,
    Followed,
    annealed,
    bennett_of,
    doubted,
    number,
    settled,
)

WIDE = 1.0  # nats, half an interval that annealing anew may replace by a narrower one
WIDEST = 5.0  # nats, half an interval that is of use
SWEEPS_A_STEP = 3.5  # forward and in reverse from two starts, with a quarter before each of these


class Anew(NamedTuple):
    """log Z of a model, by annealing in both directions.

    Attributes:
        v: visible states of the model, equally weighted.
        log_z: Bennett's ratio, nats; NaN if weights were not finite.
        variance: its estimated variance.
        part: the effective fraction of the runs.
        low: a lower bound on log Z, wrong with a probability of 2.5 % at most.
        high: an upper end, as far as reverse runs can tell.
        is_checked: whether reverse runs from the run's chains are in `high`.
    """

    v: Float[Array, "particles visible"]
    log_z: float
    variance: float
    part: float
    low: float
    high: float
    is_checked: bool = False

    @property
    def is_known(self) -> bool:
        """Whether both directions overlap enough to rely on `log_z`."""
        return self.part >= TRUSTED and self.reach <= WIDEST

    @property
    def reach(self) -> float:
        """Two standard errors of `log_z`, nats."""
        return 2.0 * self.variance**0.5


def independent_start(
    rbm: RBM, v: Array, *, keys: PRNGKeyArray
) -> tuple[RBM, Float[Array, "particles visible"], float]:
    """Return a model without weights that has the moments of v, draws of it, and its log Z."""
    path = base_from_data(rbm, v, key=keys[0])
    base = RBM(path.visible, path.hidden, rbm.uncoupled.weights)
    begun = start_annealing(path, PARTICLES, key=keys[1])
    return base, begun.v, float(path.log_z_of_base)


def found_anew(
    rbm: RBM,
    begun: RBM,
    allowed: float,
    chains: Float[Array, "particles visible"] | None = None,
    *,
    key: PRNGKeyArray,
) -> Anew:
    """Anneal from independent units, and back again.

    They have the moments of states that the model itself makes of draws of `begun` in a few sweeps.
    Those of the run's chains serve worse: where the chains miss what the model says elsewhere, so
    do units with their moments. The program is that which follows log Z, so nothing is compiled.

    Args:
        rbm: the model.
        begun: a model without weights, near that from which the run began.
        allowed: sweeps of the particles that it may take.
        chains: states where the run's chains are, under this model or one close to it.
        key: a JAX random key.
    """
    keys = jax.random.split(key, 9)
    steps = max(1, int(allowed / SWEEPS_A_STEP))
    broad = begun.visible.sample_without_inputs((PARTICLES,), key=keys[5])
    near = settled(rbm, Cloud.uniform(broad), key=keys[6])
    base, drawn, offset = independent_start(rbm, near, keys=keys[:2])

    def ran(line: Line, v: Array, count: int, key: PRNGKeyArray) -> tuple[Array, Any]:
        v, log_w = annealed(line, v, number(max(1, count), np.int32), key=key)
        return v, fetched(log_w).astype(np.float64)

    v, forward = ran(Line(base, rbm), drawn, steps, keys[2])
    forward = forward + offset
    if not np.isfinite(forward).all():
        return _unknown(v)
    groups = groups_of(forward)
    v, log_shares = resampled_states([FinalStates(v, forward)], PARTICLES, groups, seed=0)
    v, _ = ran(Line(rbm, rbm), from_numpy(v), steps // 4, keys[3])
    reverse = ran(Line(rbm, base), v, steps, keys[4])[1] - offset
    if not np.isfinite(reverse).all():
        return _unknown(v)
    references = []
    if chains is not None:
        moved, _ = ran(Line(rbm, rbm), chains, steps // 4, keys[7])
        back = ran(Line(rbm, base), moved, steps, keys[8])[1] - offset
        equal = np.full(len(back), 1.0 / len(back))
        references.append(ReferenceRuns("the run's chains", back, equal, None, float(len(back))))
    runs = AnnealingRuns(forward, reverse, log_shares, references)
    together = runs.sandwich(groups)
    _, high = runs.wide_interval(together, TOLERANCE)
    log_z, variance, part = bennett_of(runs, groups)
    if runs.unreached(together.value, TOLERANCE):  # they may be of much mass, or of hardly any
        variance = max(variance, ((high - log_z) / 2.0) ** 2)
    low = lower_mean_bound(forward, TAIL)
    # Groups of particles stand for different shares of the model; afterwards all count alike.
    chosen = resampled(relative_weights(log_shares), len(log_shares), 0.5).astype(np.int32)
    return Anew(v[from_numpy(chosen)], log_z, variance, part, low, high, chains is not None)


def held_against(way: Followed, anew: Anew, most: float) -> Followed:
    """Return a way, with a doubt if annealing anew contradicts its log Z, or knows it far better.

    Where annealing was held against the run's chains, what it may have missed is in its error. Else
    a larger log Z is contradicted only if the model would be worth less than its units by
    themselves.
    """
    value = float(way.log_z)
    if anew.low > value + way.reach + TOLERANCE:
        return doubted(way, CONTRADICTED)
    if not anew.is_known:
        return way
    reach = way.reach + anew.reach + TOLERANCE
    may_miss = not anew.is_checked and not value > most
    is_too_large = value > anew.log_z + reach and not may_miss
    if is_too_large or value < anew.log_z - reach:
        return doubted(way, CONTRADICTED)
    return doubted(way, APART) if way.reach > max(WIDE, 2.0 * anew.reach) else way


def renewed(way: Followed, anew: Anew) -> Followed:
    """Return a way with what was found anew, if it was lost and that can be relied on."""
    if way.is_known or not anew.is_known:
        return way
    return way._replace(
        v=anew.v,
        log_z=number(anew.log_z, way.log_z.dtype),
        variance=number(anew.variance, way.variance.dtype),
        doubt=number(NO_DOUBT, np.int32),
    )


def _unknown(v: Array) -> Anew:
    return Anew(v, np.nan, np.inf, 0.0, -np.inf, np.inf)
