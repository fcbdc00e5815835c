"""log Z by replica exchange: ratios between neighbouring models, estimated from the replicas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..._base.checks import check_positive, checked_key, positive_integer
from ..._base.programs import compiled
from ..._base.sharding import clock, fetched
from ..._base.statistics import Estimate, log_mean_exp
from ..._base.threefry import split
from ...data.parts import in_parts
from ...errors import InputError
from ...path import AbstractPath
from ...rbm import RBM
from ...samplers import ReplicaExchange
from ...samplers.ladder_tuning import LadderReport, LadderRun, checked_ladder, pilot
from .base import AbstractLogZ, LogZ, broken, message_of
from .bridge import ladder_log_z, mbar
from .schedule import base_from_moments

FIRST_STEPS = 256  # steps of the first run, which is doubled until convergence
# The pilot run that spaces a ladder: number of rounds, and target acceptance of swaps.
ROUNDS = 5
ACCEPTANCE = 0.5
FEWEST_CHAINS = 8  # fewest columns; the error is estimated from their differences
LEAST_ACCEPTANCE = 0.1  # lowest acceptance probability allowed for a pair of neighbours
FEWEST_TRIPS = 5.0  # fewest mean round trips per column in the part of a run that is not discarded
# p-values below which two estimates may differ, and certainly differ.
LEVEL = 1e-3
CERTAIN = 1e-5
ROUNDING = 1e-4  # rounding error of free energies in float32, in nats


class _Ladder(NamedTuple):
    """The result of one ladder.

    Attributes:
        estimate: log Z.
        warnings: reasons not to rely on the estimate.
        ends: other estimates from the same replicas: lower, upper, and one from each half of the
            run.
        report: statistics of the replicas' movement along the ladder.
    """

    estimate: Estimate
    warnings: list[str]
    ends: list[float]
    report: LadderReport


@dataclass(frozen=True)
class Exchanged(AbstractLogZ):
    """log Z by replica exchange from independent models, with Bennett's ratios between neighbours.

    log Z of the model minus log Z of the base is the sum of Bennett's ratios between neighbouring
    models. Columns of replicas are independent, so the 95 % interval comes from a jackknife that
    leaves out one column at a time. The first half of a run is discarded. Runs are doubled until

        the interval is narrower than ± tolerance,
        every pair accepts at least a tenth of its swaps,
        the replicas of a column made at least five round trips on average in the second half,
        the third and the fourth quarter of the run agree, at a level of 0.001,

    or the time limit is reached. Two ladders run side by side, both spaced by a pilot run: one of
    temperatures from the neutral model (zero biases and weights), and one from the
    independent-units model with the moments of short chains. The second ladder usually has the
    smaller barrier, but it misses all modes that short chains miss, even though its replicas move
    freely along the ladder. A missed mode makes a ladder's log Z too small. If the two ladders
    clearly disagree (p < 0.00001), the result is therefore from the ladder with the larger log Z;
    if they agree (p > 0.001), from the ladder with the smaller barrier; in between, the runs
    continue.

    A mode that the replicas of neither ladder find cannot be detected.

    Attributes:
        chains: number of independent columns of replicas, at least 8.
        sampler: a ladder from an independent model, used unchanged instead of both ladders.
        tolerance: nats, the largest accepted half-width of the interval.
        seconds: time limit after which the run is not doubled again.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> method = hm.Exchanged(chains=16)
        >>> found = hm.log_z(rbm, method=method, key=jax.random.key(0))
        >>> found.converged, bool(abs(found.value - np.log(432)) < 0.1)
        (True, True)

    Source: Bennett 1976; Syed, Bouchard-Côté, Deligiannidis & Doucet 2022; Krause, Fischer & Igel
    2020 (for such models).
    """

    chains: int = 64
    sampler: ReplicaExchange | None = None
    tolerance: float = 0.1
    seconds: float = 120.0

    def __post_init__(self):
        _check_numbers(self.chains, self.tolerance, self.seconds)

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z.

        Raises:
            InputError: the key is missing, or the ladder starts with nonzero weights.
            NotFiniteError: free energies are not finite.
        """
        deadline = clock() + self.seconds
        key_base, *keys = split(key, 3)
        if self.sampler is not None:
            runs = [LadderRun.fresh(rbm, _based(rbm, self.sampler), self.chains, key=keys[0])]
        else:
            bases = [ReplicaExchange(), ReplicaExchange(base_from_moments(rbm, key=key_base))]
            runs = []
            for base, key_run in zip(bases, keys, strict=True):
                runs.append(pilot(rbm, base, self.chains, ROUNDS, ACCEPTANCE, key=key_run))
                progress(0.1 * len(runs))
        steps = FIRST_STEPS
        while True:
            started = clock()
            for run in runs:
                run.until(steps)
            answer = _concluded([_judged(run, self.tolerance) for run in runs])
            steps = 2 * steps
            spent = clock() - started
            progress(float(np.clip(1.0 - (deadline - clock()) / self.seconds, 0.2, 1.0)))
            if answer.converged or clock() + spent >= deadline:
                break
        progress(1.0)
        return answer if answer.converged else answer.out_of_time(self.seconds)


def carried_log_z(
    rbm: RBM,
    sampler: ReplicaExchange,
    state: Any,
    *,
    key: PRNGKeyArray,
    steps: int = 64,
    tolerance: float = 0.1,
) -> LogZ:
    """Return log Z of a model from its training replicas, at little extra cost.

    If the replicas kept up with training, they follow the distributions of the models on the
    ladder, so a short continuation is enough for Bennett's ratios. Convergence is decided as in
    `Exchanged`, except that no part of the run is discarded and round trips during training count.

    Args:
        rbm: the model of these replicas, `fit.state.rbm`.
        sampler: the ladder of `Persistent(sampler, chains)` used in training.
        state: the replicas, `fit.state.gradient`.
        key: a JAX random key.
        steps: length of the continuation.
        tolerance: nats, the largest half-width of the interval that counts as converged.

    Raises:
        InputError: the ladder starts with nonzero weights, or the state is from another ladder.
        NotFiniteError: free energies are not finite.

    Example:
        >>> ladder, key = hm.ReplicaExchange(times=4), jax.random.key(0)
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> method = hm.Persistent(ladder, chains=16)
        >>> fit = hm.fit(rbm, hm.bars_and_stripes(2), key=key, gradient=method, epochs=20)
        >>> found = hm.likelihood.carried_log_z(fit.state.rbm, ladder, fit.state.gradient, key=key)
        >>> bool(abs(found.value - hm.log_z(fit.state.rbm).value) < 0.1)
        True
    """
    sampler = _based(rbm, sampler)
    steps = positive_integer(steps, "steps")
    expected = (len(sampler.times), rbm.visible.size)
    v = getattr(state, "v", jnp.zeros(()))
    if v.ndim != 3 or (v.shape[0], v.shape[2]) != expected:
        raise InputError(
            f"state: expected replicas of {expected[0]} models with {expected[1]} columns, as"
            f" in `fit.state.gradient` after training with this ladder; got shape {v.shape}."
        )
    _check_numbers(v.shape[1], tolerance, 1.0)
    run = LadderRun(rbm, sampler, state, key=checked_key(key))
    run.until(steps)
    return _concluded([_judged(run, tolerance, first=0.0)])


def mbar_log_z(
    rbm: RBM, sampler: ReplicaExchange, v: Float[Array, "models n visible"]
) -> np.ndarray:
    """Return log Z of each model of a ladder minus log Z of the first, from states of all models.

    The energy of every state is computed under every model, not only under its neighbours; see
    `bridge.mbar`.

    Args:
        rbm: the model at the end of the ladder.
        sampler: the ladder.
        v: states of each model, shape (models, n, visible).

    Returns:
        Shape (models,), nats.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> ladder = hm.ReplicaExchange(times=4)
        >>> state = ladder.init_independent(rbm, 256, key=jax.random.key(0))
        >>> state = ladder.run(rbm, state, 64, key=jax.random.key(1))
        >>> ratios = hm.likelihood.mbar_log_z(rbm, ladder, state.v)
        >>> bool(abs(ratios[-1] - np.log(432 / 128)) < 0.2)  # Z of the first model is 2⁷
        True

    Source: Shirts & Chodera 2008.
    """
    models = len(checked_ladder(sampler).times)
    if len(v) != models:
        raise InputError(
            f"v: expected states of each of the {models} models, shape (models, n, visible);"
            f" got shape {v.shape}."
        )
    states = v.reshape(-1, v.shape[-1])
    path = sampler.path_to(rbm)
    energies = in_parts(
        lambda part, _: _under_all(path, sampler.times, part).T, fetched(states), rbm.widest
    )
    return mbar(energies.T, np.full(models, v.shape[1]))


@compiled
def _under_all(path: AbstractPath, times: Array, v: Array) -> Float[Array, "models n"]:
    """Return free energies of states under every model, computed one model at a time."""
    return jax.lax.map(lambda t: path.at(t).free_energy(v), times)


def _judged(run: LadderRun, tolerance: float, first: float = 0.5) -> _Ladder:
    """Estimate log Z from a run after discarding the fraction `first`, and collect all warnings."""
    base = float(run.sampler.path_to(run.rbm).log_z_of_base)
    gains = run.gains(first)
    report = run.report(first)
    middle = (1.0 + first) / 2
    whole = ladder_log_z(*gains)
    halves = [ladder_log_z(*run.gains(first, middle)), ladder_log_z(*run.gains(middle))]
    values = [base + half.value for half in halves]
    trips = report.trips
    if first == 0:
        trips = float(run.state.trips.sum()) / report.chains
    least = float(report.acceptance.min())
    warnings = broken(
        (whole.half_width < tolerance, f"the interval is ± {whole.half_width:.2g} nats"),
        (
            least >= LEAST_ACCEPTANCE,
            f"a pair of neighbours accepts {100 * least:.1f} % of its swaps",
        ),
        (trips >= FEWEST_TRIPS, f"the replicas of a column made {trips:.1f} round trips"),
        (
            _p_value(*halves) > LEVEL,
            f"the halves of the run give {values[0]:.2f} and {values[1]:.2f}",
        ),
    )
    up, down = (x.astype(np.float64).swapaxes(0, 1) for x in gains)
    lower = base + float(sum(map(log_mean_exp, up)))
    upper = base - float(sum(map(log_mean_exp, down)))
    estimate = whole._replace(value=base + whole.value)
    return _Ladder(estimate, warnings, [lower, upper, *values], report)


def _concluded(ladders: Sequence[_Ladder]) -> LogZ:
    """Choose between the ladders, and return the resulting log Z."""
    best = min(ladders, key=lambda ladder: ladder.report.barrier)
    largest = max(ladders, key=lambda ladder: ladder.estimate.value)
    warnings = []
    note = ""
    p = _p_value(best.estimate, largest.estimate)
    if p < CERTAIN:
        note = f" The other ladder misses part of Z: log Z = {best.estimate.value:.2f}."
        best = largest
    elif p < LEVEL:
        values = " and ".join(f"{ladder.estimate.value:.2f}" for ladder in ladders)
        warnings.append(f"the two ladders give {values}")
    for ladder in ladders:
        where = "" if ladder is best else "on the other ladder "
        warnings += [where + reason for reason in ladder.warnings]
    report = best.report
    half = best.estimate.half_width
    ends = [best.estimate.value]
    if warnings:
        ends += [end for ladder in ladders for end in (*ladder.ends, ladder.estimate.value)]
    return LogZ(
        value=best.estimate.value,
        low=min(ends) - half,
        high=max(ends) + half,
        method=f"tempered, {report.chains} × {report.models} replicas × {report.steps:,} steps",
        converged=not warnings,
        ess=float(report.chains),
        gap=best.ends[1] - best.ends[0],
        message=message_of(warnings, f"Replicas move along the ladder: {report}.") + note,
    )


def _p_value(first: Estimate, second: Estimate) -> float:
    """Return the p-value of the difference between two estimates of the same number."""
    from scipy.special import stdtr  # imported here because it takes a fifth of a second

    error = float(np.hypot(first.stderr, second.stderr)) + ROUNDING
    return 2 * float(stdtr(first.groups - 1, -abs(first.value - second.value) / error))


def _based(rbm: RBM, sampler: Any) -> ReplicaExchange:
    """Return the ladder if log Z of its first model is known; otherwise raise InputError."""
    sampler = checked_ladder(sampler)
    if float(sampler.times[0]) > 0 or not sampler.path_to(rbm).begins_uncoupled:
        raise InputError(
            "sampler: expected a ladder that starts at t = 0 with a model with zero weights, such"
            " as hm.path.Heating; start a History with such a model."
        )
    return sampler


def _check_numbers(chains: Any, tolerance: float, seconds: float) -> None:
    if positive_integer(chains, "chains") < FEWEST_CHAINS:
        raise InputError(f"chains: expected at least {FEWEST_CHAINS}; got {chains}.")
    check_positive(tolerance=tolerance, seconds=seconds)
