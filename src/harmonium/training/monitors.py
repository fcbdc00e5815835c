"""The monitors: measurements of the model during a run, for the records described in `Fit`.

Each measurement uses the same evenly spaced rows: at most 2,000 training rows and 2,000 held-out
rows, fewer for a model with more than two million weights, and fewer still for the
pseudo-log-likelihood of a wide model.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.numerics import from_numpy, whole_number
from .._base.programs import compiled
from .._base.sharding import clock, whole
from .._base.statistics import Z_95, effective_size, student_95
from .._base.threefry import key_of
from ..data import Dataset, Stream
from ..evaluation import pseudo_log_likelihoods
from ..evaluation.reconstruction import errors_of_states
from ..layers.capabilities import given_units, is_conditional
from ..likelihood.missing.annealed import ROUGH, SeenEnergies, independent_energies, seen_energies
from ..likelihood.missing.marginal import (
    QUICK_SUMS,
    cheapest_sum,
    completed,
    draw,
    encoded_rows,
)
from ..path import Line
from ..rbm import RBM
from ..samplers import Cloud
from .update import batch_of

MONITORED_ROWS = 2_000  # the most rows; the error of ⟨F⟩ is then 2 % of F's standard deviation
MANY_ROWS = 100  # number of rows for which Student's t and the normal distribution differ by 1 %
FEWEST_ROWS = 100  # fewest rows monitored, however large the model
WORK = 2**32  # rows × visible columns × hidden columns: about 0.1 s on two cores
DRAWING = 512  # drawing a column takes as long as this many multiplications
PSEUDO_WORK = 2**23  # takes less than 0.1 s
FILLING_SWEEPS = 10  # sweeps that fill in missing values, with the observed units clamped
# For annealing the missing values of each row; few, since there are many records; see `ROUGH`.
CHAINS = 8
STEPS = 8
MOST_ENTRIES = 2**23  # largest array in a sum over missing values, for all rows
FRACTION_OF_TIME = 0.02  # fraction of a run that pseudo-likelihoods may take


class RowStatistics(NamedTuple):
    """Statistics of a model over rows: of its free energy F, and of F of independent units.

    Attributes:
        energy: ⟨F⟩, nats.
        variance: the variance of F over rows, nats².
        reference: ⟨F⟩ of independent units.
        reference_variance: the variance over rows of F of independent units.
        covariance: the covariance over rows of F and F of independent units.
        effective_size: the effective number of rows.
        reconstruction: the mean of `reconstruction_errors`.
        half_width: the possible error of ⟨F⟩, 0 unless missing units were sampled; ∞ if ⟨F⟩ is too
            imprecise to base a choice on.
        least: a lower bound on log Z, since no state has a probability above 1: the largest −F(v)
            of the rows, or −F(h) of h given a row, if the layer is discrete; −∞ if neither is.
    """

    energy: float
    variance: float
    reference: float
    reference_variance: float
    covariance: float
    effective_size: float
    reconstruction: float
    half_width: float = 0.0
    least: float = -math.inf

    @property
    def energy_to_choose_by(self) -> float:
        """⟨F⟩, or NaN if it is too imprecise to base the choice of a model or a penalty on."""
        if math.isfinite(self.half_width):
            return self.energy
        return math.nan


class Monitors:
    """Measurements of a model, on the same few rows each time."""

    def __init__(self, rbm: RBM, train: Dataset | Stream, held_out: Dataset | None):
        sets: list[Dataset | Stream] = [train]
        if held_out is not None:
            sets.append(held_out)
        work = rbm.visible.size * rbm.hidden.size
        if is_conditional(rbm.visible) or any(rows.missing for rows in sets):
            work = rbm.visible.size * (rbm.hidden.size + DRAWING) * CHAINS * STEPS
        affordable = max(FEWEST_ROWS, WORK // work)
        samples = [rows.some(min(MONITORED_ROWS, affordable)) for rows in sets]
        self.watching = sum(map(len, samples))
        self.watched = [(rows.padded(), whole_number(len(rows))) for rows in samples]
        self.reference = rbm.uncoupled
        # Taken before the first update, since another thread reads a stream later.
        affordable = max(1, PSEUDO_WORK // (rbm.visible.size * rbm.hidden.size))
        self.few = sets[-1].some(min(MONITORED_ROWS, affordable))
        self.spent = 0.0
        self.is_first = True
        self.key = key_of(0)  # the same random numbers each time, so that curves are smooth

    @functools.cached_property
    def log_z_of_reference(self) -> float:
        """Log Z of the starting model with its weights set to 0."""
        return log_z_of_units(self.reference)

    def measured(self, rbm: RBM) -> list[RowStatistics]:
        """Return the statistics of the training rows, and of the held-out rows if there are any."""
        return [
            RowStatistics(*np.asarray(_measured(rbm, self.reference, *rows, self.key)).tolist())
            for rows in self.watched
        ]

    def bounds(self, statistics: list[RowStatistics]) -> tuple[float, float]:
        """Return a strict lower bound and a plausible upper bound on log Z, for `Tracker.track`.

        If log Z were above the upper bound, the rows would have a lower likelihood than under
        independent units, which hardly ever happens in training. The upper bound is NaN if ⟨F⟩ is
        too imprecise.
        """
        last = statistics[-1]
        independent = -last.reference - self.log_z_of_reference
        least = max(rows.least for rows in statistics)
        return least, -last.energy_to_choose_by - independent

    def measured_to_choose_by(self, rbm: RBM) -> tuple[float, float]:
        """Return ⟨F⟩ of held-out rows, NaN if too imprecise, and a strict lower bound on log Z."""
        statistics = self.measured(rbm)
        return statistics[-1].energy_to_choose_by, self.bounds(statistics)[0]

    def described(
        self, rbm: RBM, statistics: list[RowStatistics], seconds: float, *, last: bool
    ) -> dict[str, float]:
        """Return the metrics described in `Fit` whose values are finite.

        Args:
            rbm: the model.
            statistics: its statistics, from `measured`.
            seconds: time since the run began.
            last: whether this is the last measurement, in which no metric is left out.
        """
        train = statistics[0]
        held_out = statistics[-1]  # the training rows if none are held out
        metrics = {"free_energy": train.energy}
        if len(statistics) > 1:
            metrics["free_energy_gap"] = held_out.energy_to_choose_by - train.energy_to_choose_by
            parts = [(rows.variance, rows.effective_size) for rows in statistics]
            metrics["free_energy_gap_stderr"] = _stderr(parts)
        metrics["reconstruction"] = held_out.reconstruction
        is_discrete = rbm.visible.n_states is not None and not rbm.visible.n_latent
        if is_discrete and (last or self.spent <= FRACTION_OF_TIME * seconds):
            metrics["pseudo_log_likelihood"] = self._pseudo_log_likelihood(rbm)
        return {name: float(value) for name, value in metrics.items() if math.isfinite(value)}

    def _pseudo_log_likelihood(self, rbm: RBM) -> float:
        """Return the mean over a few rows; the first call, which compiles, is not timed."""
        is_first = self.is_first
        self.is_first = False
        started = clock()
        rows = self.few.rows(key=self.key)
        if self.few.missing:
            filled = _filled(rbm, encoded_rows(rbm.visible, from_numpy(rows)), key_of(1))
            rows = np.where(np.isnan(rows), rbm.visible.decode(whole(filled)), rows)
        values = pseudo_log_likelihoods(rbm, rows)
        if not is_first:
            self.spent += clock() - started
        return float(np.average(values, weights=self.few.weights))


def log_z_of_units(rbm: RBM) -> float:
    """Return log Z of a model without weights; 0 for a model of targets given other units."""
    if is_conditional(rbm.visible):
        return 0.0
    return float(Line(rbm, rbm).log_z_of_base)


@compiled
def _filled(rbm: RBM, v: Array, key: PRNGKeyArray) -> Array:
    """Fill in missing values by a few Gibbs sweeps; long chains would take longer than training."""
    return completed(rbm, v, FILLING_SWEEPS, key=key)


def adjusted_gap(train: RowStatistics, held_out: RowStatistics) -> tuple[float, float]:
    """Return the free-energy gap and its standard error, with a control variate to reduce noise.

    A row that is improbable under one model tends to be improbable under all. The free energy is
    therefore regressed on that of independent units, which can serve as a control variate because
    its own gap between the two sets is due to chance alone.

    The rows of a small set may be similar by chance, or copies of one row. The variance of each set
    is therefore taken to be at least the pooled variance of both, and the error is widened as in
    Student's t for the number of rows in the smaller set.
    """
    both = (train, held_out)
    spread = sum(rows.effective_size * rows.reference_variance for rows in both)
    covariance = sum(rows.effective_size * rows.covariance for rows in both)
    slope = 0.0
    if spread > 0:
        slope = covariance / spread
    raw = held_out.energy_to_choose_by - train.energy_to_choose_by
    gap = raw - slope * (held_out.reference - train.reference)
    residuals = [
        rows.variance - 2.0 * slope * rows.covariance + slope**2 * rows.reference_variance
        for rows in both
    ]
    sizes = [rows.effective_size for rows in both]
    pooled = sum(n * variance for n, variance in zip(sizes, residuals, strict=True)) / sum(sizes)
    variances = [max(variance, pooled) for variance in residuals]
    stderr = _stderr(list(zip(variances, sizes, strict=True)))
    return gap, stderr * _few_rows(min(sizes))


def _few_rows(size: float) -> float:
    """Return the factor by which Student's t widens the error of a mean over this many rows."""
    freedom = math.floor(size) - 1
    if 1 <= freedom < MANY_ROWS:
        return student_95(freedom) / Z_95
    return 1.0


def _stderr(parts: list[tuple[float, float]]) -> float:
    """Return the standard error of a sum of means, given variances and numbers of rows.

    The result is NaN if any mean is taken over a single row.
    """
    if any(size <= 1.0 for _, size in parts):
        return math.nan
    return math.sqrt(max(0.0, sum(variance / (size - 1.0) for variance, size in parts)))


@compiled
def _measured(rbm: RBM, reference: RBM, dataset: Dataset, n: Array, key: PRNGKeyArray) -> Array:
    """Return the entries of `RowStatistics` for the first n rows.

    Weighted rows count by their effective number (`effective_size`).
    """
    indices = jnp.arange(len(dataset))
    cloud, _ = batch_of(rbm.visible, dataset, indices, n, key=key)
    weights = cloud.weights
    half_width = jnp.zeros(())
    if dataset.missing:
        seen = _energies_of_seen(rbm, cloud.states, dataset.missing, key=key)
        energies = seen.value
        half_width = _error(seen, weights)
        references = independent_energies(reference.visible, reference.hidden, cloud.states)
        cloud = cloud._replace(states=seen.completed)
    else:
        energies = rbm.free_energy(cloud.states)
        references = reference.free_energy(cloud.states)
    least = jnp.asarray(-jnp.inf)
    if is_conditional(rbm.visible):
        given, of_given, error = _energies_of_given(rbm, reference, cloud, key=key)
        energies = energies - given
        references = references - of_given
        half_width = half_width + error
    else:
        least = _largest(rbm, cloud.states, weights > 0.0, key=key)
    mean = weights @ energies
    mean_reference = weights @ references
    centred = energies - mean
    centred_reference = references - mean_reference
    return jnp.stack(
        [
            mean,
            weights @ centred**2,
            mean_reference,
            weights @ centred_reference**2,
            weights @ (centred * centred_reference),
            effective_size(weights),
            weights @ errors_of_states(rbm, cloud.states),
            half_width,
            least,
        ]
    )


def _error(seen: SeenEnergies, weights: Array) -> Array:
    """Return the possible error of the mean of estimated free energies; ∞ if it is too rough."""
    error = 2.0 * jnp.sqrt(weights**2 @ seen.variance) + 0.5 * weights @ seen.variance
    # Chains that miss a mode may have a small variance, but they dissipate much work before that.
    return jnp.where(weights @ seen.lost > ROUGH, jnp.inf, error)


def _energies_of_given(
    rbm: RBM, reference: RBM, cloud: Cloud, *, key: PRNGKeyArray
) -> tuple[Array, Array, Array]:
    """Return F of each row's given units under both models, and the error of its mean for `rbm`."""
    is_given = given_units(rbm.visible)
    states = jnp.where(rbm.visible.spread(is_given), cloud.states, jnp.nan)
    seen = _energies_of_seen(rbm, states, int((~is_given).sum()), key=key)
    of_reference = independent_energies(reference.visible, reference.hidden, states)
    return seen.value, of_reference, _error(seen, cloud.weights)


def _largest(rbm: RBM, v: Array, counts: Array, *, key: PRNGKeyArray) -> Array:
    """Return the largest −F(v) of the rows, or −F(h) of h drawn given v, of discrete layers."""
    h = rbm.sample_h_from_v(v, key=key)
    bounds = [jnp.asarray(-jnp.inf)]
    for model, states in ((rbm, v), (rbm.T, h)):
        if model.visible.n_states is not None:
            bounds.append(jnp.where(counts, -model.free_energy(states), -jnp.inf).max())
    return jnp.stack(bounds).max()


def _energies_of_seen(rbm: RBM, v: Array, missing: int, *, key: PRNGKeyArray) -> SeenEnergies:
    """Return F of the observed units, by an exact sum or by annealing, whichever is less work."""
    terms = cheapest_sum(rbm, missing, QUICK_SUMS)
    if terms is None or terms.entries(rbm, len(v)) > MOST_ENTRIES:
        return seen_energies(rbm, v, CHAINS, STEPS, key=key)
    summed = terms.posterior(rbm, v)
    filled = draw(rbm, summed, key=key, seen=v)
    nothing = jnp.zeros(len(v))
    return SeenEnergies(-summed.log_z_seen, nothing, filled, nothing)
