"""The choice of a run's final model among its records, and a check of whether it is good.

During a run, log Z is tracked from record to record, and the tracked values resolve small
differences between the models. But if the chains of a run miss part of a model's probability mass,
these values can be wrong by hundreds of nats without any sign of the error. So log Z of each
candidate model is estimated afresh at the end, by annealing. If the fresh estimates agree with the
tracked values, the tracked values decide; if not, the fresh estimates decide; and if these are too
uncertain, the last model is the result.

Chains that do not move between modes can keep agreeing with the data while the model does not: for
example, each of two clusters keeps its chains, whatever probability the model gives each cluster.
Then the means of the model are wrong, and its log-likelihood may be below the value for independent
units. Means and log-likelihood are known exactly for a model with few states; otherwise they are
estimated from the tracked log Z and the chains.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base.programs import compiled
from .._base.sharding import fetched
from .._base.statistics import effective_size
from .._base.threefry import fold_in, key_of
from ..data import Dataset
from ..likelihood.partition_function.enumerated import chunk_of_states, enumerable
from ..rbm import RBM
from ..samplers import Cloud
from .monitors import Monitors, RowStatistics
from .tracking import TOLERANCE, HeldOut, Tracker, fresh_log_z
from .update import batch_of

WORK = 2.0  # work of all annealing at the end, as a multiple of the work of tracking
HIGHEST = "held-out rows had their highest log-likelihood"


class Choice(NamedTuple):
    """The model that a run ends with.

    Attributes:
        rbm: the model.
        update: the number of updates at which the model was recorded.
        why: the reason for the choice, phrased to continue a message; empty if there was no choice.
    """

    rbm: RBM
    update: int
    why: str = ""


class _Candidate(NamedTuple):
    """A model, and the log-likelihood of held-out rows under this model, in nats per row.

    Attributes:
        rbm: the model.
        update: the number of updates at which the model was recorded.
        value: the log-likelihood with the tracked log Z; None if this log Z is unknown.
        variance: the variance of the tracked log Z.
        low: the lower end of an interval for the log-likelihood, from a fresh estimate of log Z.
        high: the upper end of this interval.
    """

    rbm: RBM
    update: int
    value: float | None
    variance: float
    low: float
    high: float

    @property
    def is_confirmed(self) -> bool:
        """Whether the tracked value is in the fresh estimate's interval, within both errors."""
        margin = 2.0 * self.variance**0.5 + TOLERANCE
        return self.value is not None and self.low - margin <= self.value <= self.high + margin

    def advantage(self, last: _Candidate) -> float:
        """Return how much better this model is than the last one, minus all errors, in nats.

        With tracked values of log Z, the errors common to both models cancel.
        """
        if not self.is_tracked(last) or self.value is None or last.value is None:
            advantage = self.low - last.high
        else:
            advantage = self.value - last.value - 2.0 * abs(last.variance - self.variance) ** 0.5
        return float(np.nan_to_num(advantage, nan=-np.inf, posinf=np.inf, neginf=-np.inf))

    def is_tracked(self, last: _Candidate) -> bool:
        """Whether the tracked values of this model and the last are confirmed, and so decide."""
        return self.is_confirmed and last.is_confirmed

    def __str__(self) -> str:
        return f"[{self.low:.2f}, {self.high:.2f}] nats"


def in_updates(update: int) -> str:
    """Return a phrase that identifies a record's model by its update."""
    return f"after update {update:,}"


def chosen(
    tracker: Tracker,
    state: HeldOut,
    last: RBM,
    updates: int,
    measured: Callable[[RBM], tuple[float, float]],
    base: tuple[RBM, float],
    named: Callable[[int], str] = in_updates,
) -> Choice:
    """Return the model of a run that has ended: the last, or an earlier one if clearly better.

    If the model chosen in this way is clearly worse than the visible units alone, the model without
    weights is returned.

    Args:
        tracker: the tracker of log Z.
        state: the tracker's state at the end.
        last: the averaged model at the end.
        updates: updates made.
        measured: a function that returns the mean free energy of the held-out rows under a model
            (nats, NaN if it is too imprecise to base a choice on) and a strict lower bound on log Z
            of this model.
        base: the model of the visible units alone, and the log-likelihood of the held-out rows
            under this model, in nats per row; NaN if it is too imprecise.
        named: a function that returns a phrase for the model at an update.
    """
    best_so_far = [(state.best, int(state.update)), (state.earlier, int(state.earlier_update))]
    others = [(rbm, update) for rbm, update in best_so_far if 0 <= update < updates]
    now = state.estimate
    if tracker.is_exact or not (others or now.doubt):
        return _best_known(state, others, last, updates, measured, base, named)
    sweeps = WORK / (1 + len(others)) * tracker.allowed(state, updates)
    candidates = []
    for i, (rbm, update) in enumerate([(last, updates), *others]):
        key = fold_in(fold_in(tracker.key, 0), i)
        fresh = fresh_log_z(rbm, tracker.base, sweeps, tracker.chains_of(state), key=key)
        energy, least = measured(rbm)
        value = None
        variance = 0.0
        if update == updates and not now.doubt:
            value = -energy - now.value
            variance = (now.half_width / 2.0) ** 2
        elif update == int(state.update):
            value = float(state.value)
            variance = float(state.variance)
        low = -energy - max(fresh.high, least)
        high = -energy - max(fresh.low, least)
        candidates.append(_Candidate(rbm, update, value, variance, low, high))
    end = candidates[0]
    earlier = candidates[1:]
    # A run that never knew log Z has no earlier models; the last is still compared with `base`.
    best = max(earlier, key=lambda candidate: candidate.advantage(end), default=end)
    is_better = best is not end and best.advantage(end) > 0.0
    result = best if is_better else end
    if result.high < base[1] - TOLERANCE:
        words = f"held-out rows have a log-likelihood of {result} {named(result.update)}"
        return _base_instead(base, words)
    if not earlier:
        return Choice(last, updates)
    if not is_better:
        doubtful = " or ".join(named(candidate.update) for candidate in earlier)
        why = (
            "the last model is kept: annealing in both directions did not confirm that held-out"
            f" rows had a higher log-likelihood {doubtful}"
        )
        return Choice(last, updates, why)
    if best.is_tracked(end):
        why = f"{HIGHEST} by the tracked log Z, which fresh annealing does not contradict"
    else:
        why = (
            f"held-out rows have a log-likelihood of {best} by fresh annealing, and of {end} with"
            " the last model"
        )
    return Choice(best.rbm, best.update, f"the model is the one {named(best.update)}, where {why}")


def _best_known(
    state: HeldOut,
    others: list[tuple[RBM, int]],
    last: RBM,
    updates: int,
    measured: Callable[[RBM], tuple[float, float]],
    base: tuple[RBM, float],
    named: Callable[[int], str],
) -> Choice:
    """Return the choice if log Z needs no fresh estimate: an earlier model, or the last one."""
    rbm = last
    update = updates
    value = math.nan
    why = ""
    now = state.estimate
    if others:
        rbm, update = others[0]
        value = float(state.value)
        why = f"the model is the one {named(update)}, where {HIGHEST}"
    elif not now.doubt:
        # The upper end of its interval: only a model that is surely worse is replaced by the base.
        value = now.half_width - measured(last)[0] - now.value
    if value < base[1] - TOLERANCE:
        words = f"held-out rows have a log-likelihood of {value:.2f} nats {named(update)}"
        return _base_instead(base, words)
    return Choice(rbm, update, why)


def _base_instead(base: tuple[RBM, float], why: str) -> Choice:
    """Return the model of the visible units alone as the choice, with the reason."""
    rbm, value = base
    return Choice(rbm, 0, f"the model is the one without weights: {why}, and {value:.2f} without")


# ------------------------------------------------------------------ is it any good?

# Shorter runs have hardly left their start: from biases of 0, as in scikit-learn, a model is often
# still worse after a hundred updates than independent units with the means of the rows.
FEWEST_UPDATES = 1_000
LEAST_LOSS = 0.05  # nats below independent units; short runs differ from these by chance
ERRORS = 3.0  # number of standard errors of the mean over rows that may likewise be due to chance
# With two equal clusters, a model this far off has a seventh or less of its mass in one of them.
# Good models of digits with ten chains, BernoulliRBM's default, were off by up to 0.19 in twenty
# seeds and by 0.35 in another.
FAR_OFF = 0.5
# Means over n independent chains are off by 1/n on average, by ten times that once in a thousand.
CHANCE = 10.0
ADVICE = (
    "lower the learning rate, keep chains mixing (gradient or method 'auto'), or leave out the"
    " number of epochs and hold rows out, so that the best model of the run is kept"
)


class PoorModelWarning(RuntimeWarning):
    """A run ended with a model that is worse than independent units, or has means unlike its rows.

    Example:
        >>> import warnings
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", hm.PoorModelWarning)  # then it is an error
        ...     fit = hm.fit(rbm, rows, key=key, epochs=2)
        >>> fit.notes
        ()
    """


class Known(NamedTuple):
    """What a run knows about log Z and the means of its model.

    Attributes:
        log_z: log Z, nats; None if unknown.
        error: the amount by which log Z may be too small, nats.
        states: all states of the model, or chains, whose mean is ⟨v⟩; None if there are none.
        chance: the squared deviation of means expected by chance, as a fraction of the variance.
    """

    log_z: float | None
    error: float
    states: Cloud | None
    chance: float


def known_exactly(rbm: RBM) -> Known:
    """Return log Z and all states by enumeration, for a model of few states whose Z is finite."""
    log_z, states = _enumerated(rbm)
    return Known(float(log_z), 0.0, states, 0.0)


def known_of_chains(chains: Cloud | None, log_z: float | None, error: float) -> Known:
    """Return what the run's own chains reveal, with the tracked log Z if there is one."""
    if chains is None:
        return Known(log_z, error, None, 0.0)
    size = float(effective_size(fetched(chains.weights)))
    return Known(log_z, error, chains, CHANCE / size)


def reason_against(rbm: RBM, monitors: Monitors, known: Known) -> str:
    """Return a sentence on why the model is poor and what to do, or "" if it is not poor."""
    return _worth_less(rbm, monitors, known) or _far_off(rbm, monitors, known)


def _worth_less(rbm: RBM, monitors: Monitors, known: Known) -> str:
    """Return a sentence if the log-likelihood is below its value without weights, else "".

    Without weights, a starting model that `initialize` made has the means of the data.
    """
    if known.log_z is None or not np.isfinite(known.log_z):
        return ""
    names = ("training rows", "held-out rows")
    for name, rows in zip(names, monitors.measured(rbm), strict=False):
        value = -rows.energy - known.log_z
        without = -rows.reference - monitors.log_z_of_reference
        margin = max(LEAST_LOSS, known.error + rows.half_width + ERRORS * _stderr(rows))
        if value < without - margin:
            return (
                f"the model is worse than its units alone: the log-likelihood of {name} is"
                f" {value:.2f} nats, and {without:.2f} without weights; {ADVICE}"
            )
    return ""


def _far_off(rbm: RBM, monitors: Monitors, known: Known) -> str:
    """Return a sentence if ⟨v⟩ is far from the mean of complete training rows, else ""."""
    if known.states is None or monitors.watched[0][0].missing:
        return ""
    distances = np.asarray(_distance(rbm, *monitors.watched[0], known.states))
    bounded, distance = distances.tolist()
    if not bounded > FAR_OFF + known.chance:
        return ""
    return (
        f"the means of the model differ from the means of the rows by {distance:.2f} standard"
        f" deviations of a column (root mean square); {ADVICE}"
    )


def _stderr(rows: RowStatistics) -> float:
    """Return the standard error of the mean over rows of F minus the F of independent units."""
    variance = rows.variance + rows.reference_variance - 2.0 * rows.covariance
    return float(np.sqrt(max(0.0, variance) / max(1.0, rows.effective_size - 1.0)))


@compiled
def _enumerated(rbm: RBM) -> tuple[Float[Array, ""], Cloud]:
    """Return log Z, and all states v, or the means of v given each h, with their probabilities."""
    summed = enumerable(rbm)  # the model itself, or its transpose
    assert summed is not None
    count = summed.visible.n_states or 0
    states, minus_f = chunk_of_states(summed, jnp.zeros((), jnp.uint32), count)
    log_z = jax.nn.logsumexp(minus_f)
    means = states
    if summed is not rbm:
        means = rbm.mean_v_from_h(states)
    return log_z, Cloud(means, jnp.exp(minus_f - log_z))


@compiled
def _distance(rbm: RBM, dataset: Dataset, n: Array, of_model: Cloud) -> Float[Array, " 2"]:
    """Return the mean over columns of (Δ/σ)² capped at 1, and the square root of the uncapped mean.

    Δ is the mean of the model minus the mean of the rows, and σ the standard deviation of the rows.
    The cap keeps a few columns with a tiny σ from dominating the mean.
    """
    indices = jnp.arange(len(dataset))
    cloud, _ = batch_of(rbm.visible, dataset, indices, n, key=key_of(0))
    of_rows = cloud.weights @ cloud.states
    mean = of_model.weights @ of_model.states
    variance = cloud.weights @ (cloud.states - of_rows) ** 2
    varies = variance > 0.0
    ratios = jnp.where(varies, (mean - of_rows) ** 2 / jnp.where(varies, variance, 1.0), 0.0)
    count = jnp.maximum(varies.sum(), 1)
    return jnp.stack([jnp.minimum(ratios, 1.0).sum() / count, jnp.sqrt(ratios.sum() / count)])
