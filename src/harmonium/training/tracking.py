"""Log Z tracked from record to record of a run, and the model with the best held-out likelihood.

1. A `Track` extends log Z from the averaged model of a record to the averaged model of the next.
   The two models are close to each other, so states of the first are annealed to the second in a
   few steps, and states of the second back to the first; Bennett's acceptance ratio of both
   directions gives the ratio of the partition functions. This costs far less than estimating log Z
   from scratch at each record, and differences between records are known much more precisely than
   log Z itself.
2. `FreshLogZ` is an estimate of log Z by annealing from independent units and back, independently
   of the tracks. Forward runs give an unbiased estimate of Z even if they miss modes, and hence a
   lower bound that holds with a known probability; reverse runs show how much mass the forward runs
   may have missed.
3. `HeldOut` contains a run's tracks, and the best models so far. A `Tracker` updates these from
   record to record, and checks the tracks against fresh estimates of log Z and bounds on it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._base.numerics import from_numpy, scalar, whole_number
from .._base.programs import compiled
from .._base.sharding import fetched
from .._base.statistics import (
    effective_size,
    log_mean_exp,
    lower_mean_bound,
    relative_weights,
    resampled,
    sigmoid,
)
from .._base.threefry import fold_in, split
from ..layers.base import independent_states
from ..likelihood.partition_function.agreement import TAIL, AnnealingRuns, ReferenceRuns
from ..likelihood.partition_function.bridge import bennett, bennett_stderr
from ..likelihood.partition_function.enumerated import Enumerated
from ..likelihood.partition_function.schedule import (
    FinalStates,
    base_from_data,
    groups_of,
    resampled_states,
)
from ..likelihood.scoring import is_exact_cheap
from ..path import AbstractPath, Heating, Line
from ..rbm import RBM
from ..samplers import Annealing, Cloud, anneal, start_annealing
from ..samplers.finite import finite_z
from ..samplers.gibbs import after_sweeps
from ..transforms.initialization import begins_with_hidden_covariance
from .base import same_shapes, with_values
from .state import TrainState
from .update import Method

PARTICLES = 256  # particles of each track; the error of log Z from n particles falls as 1/√n
GOOD = 0.8  # effective fraction of the particles above which no more annealing steps are needed
TRUSTED = 0.02  # effective fraction below which log Z is lost
SETTLING = 4  # sweeps of the run's chains under the averaged model
TOLERANCE = 0.1  # nats of log Z; a mode that few particles reach and that adds less does not matter
FAR = 0.3  # effective fraction below which far more steps are needed

# Why log Z is not relied on. A run's state stores indices into this tuple.
NO_DOUBT, APART, BELOW, CONTRADICTED, INFINITE, TOO_ROUGH = range(6)
DOUBTS = (
    "",
    "two records were too far apart",
    "rows would have had a probability above 1",
    "fresh annealing did not confirm it",
    "Z may be infinite",
    "the missing values of the rows were annealed with too few chains",
)


class Track(NamedTuple):
    """Log Z tracked by annealing from record to record; run folders use the names of its fields.

    Attributes:
        v: visible states of the record's model, shape (particles, visible); empty if log Z is
            exact.
        log_z: log Z of the record's model, nats.
        variance: estimated variance of `log_z` from sampling.
        doubt: why `log_z` is unreliable, an index into `DOUBTS`; 0 if it is reliable.
        steps: annealing steps that the last extension needed.
        sweeps: sweeps of the states made so far.
    """

    v: Float[Array, "particles visible"]
    log_z: Float[Array, ""]
    variance: Float[Array, ""]
    doubt: Int[Array, ""]
    steps: Int[Array, ""]
    sweeps: Int[Array, ""]

    @property
    def is_known(self) -> bool:
        """Whether `log_z` is reliable."""
        return int(self.doubt) == NO_DOUBT

    @property
    def half_width(self) -> float:
        """Two standard errors of `log_z`, nats."""
        return 2.0 * float(self.variance) ** 0.5


def extended(
    track: Track,
    ends: tuple[RBM, RBM],
    end_states: Array | None,
    allowed: int,
    *,
    key: PRNGKeyArray,
) -> Track:
    """Extend a track to the next record, with at most `allowed` sweeps since the first record.

    States are annealed from the last model to the next and, if states of the next model are given,
    back.

    Args:
        track: the track at the last record.
        ends: the models of the last record and of the next.
        end_states: states of the next model, from the run's chains; None for forward runs only.
        allowed: sweeps, counted from the first record.
        key: a JAX random key.
    """
    steps = int(track.steps)
    spent = int(track.sweeps)
    attempt = 0
    directions = 1 if end_states is None else 2
    while True:
        steps = max(1, min(steps, (allowed - spent) // directions))
        spent += directions * steps
        attempt += 1
        key_attempt = fold_in(key, attempt)
        bridge = _bridged(*ends, track.v, end_states, steps, key=key_attempt)
        is_affordable = spent + 2 * directions * steps <= allowed
        if bridge.fraction >= GOOD or not is_affordable or not track.is_known:
            break
        steps *= 2 if bridge.fraction > FAR else 4
    track = with_values(track._replace(v=bridge.v), steps=max(1, steps // 2), sweeps=spent)
    if not bridge.fraction >= TRUSTED:
        return doubted(track, APART)
    log_z = float(track.log_z) + bridge.log_ratio
    return with_values(track, log_z=log_z, variance=float(track.variance) + bridge.variance)


class _Bridge(NamedTuple):
    """The result of annealing between two models.

    Attributes:
        v: visible states of the second model, equally weighted.
        log_ratio: log Z of the second model minus log Z of the first.
        variance: the estimated variance of `log_ratio`.
        fraction: the effective fraction of the particles, that is, the fraction at which forward
            runs alone would have this variance.
    """

    v: Any
    log_ratio: float
    variance: float
    fraction: float


def _bridged(
    first: RBM, second: RBM, v: Array, end_states: Array | None, steps: int, *, key: PRNGKeyArray
) -> _Bridge:
    """Anneal v from the first model to the second, and `end_states` from the second to the first.

    Without `end_states`, the states of the second model are the resampled final states of the
    forward runs.
    """
    keys = split(key)
    count = whole_number(steps)
    annealed_v, log_w = annealed(Line(first, second), v, count, key=keys[0])
    forward = np.asarray(log_w, np.float64)
    fraction = _effective_fraction(forward)
    if not fraction > 0.0:
        return _Bridge(annealed_v, 0.0, 0.0, 0.0)
    if end_states is None:
        chosen = resampled(relative_weights(forward), len(forward), 0.5).astype(np.int32)
        variance = (1.0 / fraction - 1.0) / len(forward)
        return _Bridge(annealed_v[from_numpy(chosen)], log_mean_exp(forward), variance, fraction)
    back = np.asarray(annealed(Line(second, first), end_states, count, key=keys[1])[1], np.float64)
    if not np.isfinite(back).all():
        return _Bridge(end_states, 0.0, 0.0, 0.0)
    return _Bridge(end_states, *bennett_ratio(AnnealingRuns(forward, back), 1))


def bennett_ratio(runs: AnnealingRuns, groups: int) -> tuple[float, float, float]:
    """Return Bennett's estimate of a log ratio, its variance, and the runs' effective fraction.

    The variance is the larger of two estimates that agree if both directions see the same states.
    One comes from the spread of the acceptance probabilities f, the other from their mean A
    alone: (1/A − 2)/n for n runs in each direction. If forward and reverse runs are each narrow but
    far apart, as when they reach different modes, f hardly varies, but A is as small as e^(−g/2)
    for log weights g nats apart.

    Args:
        runs: the annealing runs in both directions.
        groups: number of independent groups among the runs.
    """
    forward = runs.forward
    back = runs.reverse
    log_shares = runs.shares
    log_ratio = bennett(forward, back, log_shares)
    count = len(forward)
    accepted = sigmoid(forward - log_ratio).mean()
    accepted_back = np.average(sigmoid(back + log_ratio), weights=relative_weights(log_shares))
    overlap = max(float(accepted + accepted_back) / 2.0, 1e-300)
    # For votes in exclusive groups, chains and particles agreed on a log Z that was 232 nats too
    # small, with a standard error of 0.05: only the overlap shows that the runs are far apart.
    variance = max(bennett_stderr(forward, back, log_shares) ** 2, (1.0 / overlap - 2.0) / count)
    fraction = 1.0 / (1.0 + count * variance)
    if fraction < FAR:  # the runs hardly overlap, so the standard error is too small
        low, high = runs.wide_interval(runs.sandwich(groups), TOLERANCE)
        variance = max(variance, (max(high - log_ratio, log_ratio - low) / 2.0) ** 2)
    return log_ratio, variance, fraction


@compiled
def settled(rbm: RBM, chains: Cloud, *, key: PRNGKeyArray) -> Array:
    """Return states of a model, reached from the chains of a run whose model is close to it."""
    places = resampled(jnp.abs(chains.weights), PARTICLES, 0.5)
    return after_sweeps(rbm, chains.states[places], SETTLING, key=key)


def doubted(track: Track, doubt: int) -> Track:
    """Return the track with its log Z marked as unreliable, unless it was marked before."""
    return with_values(track, doubt=doubt) if track.is_known else track


def _effective_fraction(log_weights: np.ndarray) -> float:
    """Return the effective fraction of weighted particles; 0 if any weight is not finite."""
    if not np.isfinite(log_weights).all():
        return 0.0
    return float(effective_size(relative_weights(log_weights))) / len(log_weights)


@compiled
def annealed(
    path: AbstractPath, v: Array, steps: Array, *, key: PRNGKeyArray
) -> tuple[Array, Array]:
    """Return states annealed along a path in this many steps, and their log weights."""
    start = Annealing(v, jnp.zeros(len(v), v.dtype))
    end = anneal(path, 0.0, 1.0, steps, start, key=key)
    return end.v, end.log_weights


# ------------------------------------------------------------------ log Z from independent units

WIDE = 1.0  # nats, half-width above which a narrower fresh interval may replace one
WIDEST = 5.0  # nats, largest useful half-width
SWEEPS_A_STEP = 3.5  # one forward run, and two reverse runs, each after a quarter of a run


class FreshLogZ(NamedTuple):
    """Log Z of a model, estimated by annealing in both directions.

    Attributes:
        v: visible states of the model, equally weighted.
        log_z: Bennett's estimate, in nats; NaN if weights were not finite.
        variance: its estimated variance.
        fraction: the effective fraction of the runs.
        low: a lower bound on log Z, wrong with a probability of 2.5 % at most.
        high: the upper end of an interval for log Z. It allows for probability mass that forward
            runs missed, as far as reverse runs reveal this mass.
        is_checked: whether `high` accounts for reverse runs from the run's chains.
    """

    v: Float[Array, "particles visible"]
    log_z: float
    variance: float
    fraction: float
    low: float
    high: float
    is_checked: bool = False

    @property
    def is_known(self) -> bool:
        """Whether both directions overlap enough to rely on `log_z`."""
        return self.fraction >= TRUSTED and self.half_width <= WIDEST

    @property
    def half_width(self) -> float:
        """Two standard errors of `log_z`, nats."""
        return 2.0 * self.variance**0.5


def independent_start(
    rbm: RBM, v: Array, *, keys: PRNGKeyArray
) -> tuple[RBM, Float[Array, "particles visible"], float]:
    """Return a model without weights that has the moments of v, draws from it, and its log Z."""
    path = base_from_data(rbm, v, key=keys[0])
    base = RBM(path.visible, path.hidden, rbm.uncoupled.weights)
    start = start_annealing(path, PARTICLES, key=keys[1])
    return base, start.v, float(path.log_z_of_base)


def fresh_log_z(
    rbm: RBM,
    independent: RBM,
    allowed: float,
    chains: Float[Array, "particles visible"] | None = None,
    *,
    key: PRNGKeyArray,
) -> FreshLogZ:
    """Estimate log Z by annealing from independent units to the model and back.

    The independent units have the moments of states that the model itself reaches from draws of
    `independent` in a few sweeps. Lower bounds were then 1 to 3 nats below log Z, compared with 11
    to 16 nats for independent units with the moments of the run's chains: if the chains miss part
    of the model's mass, so do these units. `extended` uses the same programs, so nothing more is
    compiled.

    Args:
        rbm: the model.
        independent: a model without weights, close to the first model of the run.
        allowed: the number of sweeps of the particles that may be made.
        chains: states of the run's chains, under this model or a model close to it.
        key: a JAX random key.
    """
    keys = split(key, 9)
    steps = max(1, int(allowed / SWEEPS_A_STEP))
    broad = independent_states(independent.visible, (PARTICLES,), key=keys[5])
    near = settled(rbm, Cloud.uniform(broad), key=keys[6])
    base, drawn, offset = independent_start(rbm, near, keys=keys[:2])

    def ran(line: Line, v: Array, count: int, key: PRNGKeyArray) -> tuple[Array, Any]:
        v, log_w = annealed(line, v, whole_number(max(1, count)), key=key)
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
    log_z, variance, fraction = bennett_ratio(runs, groups)
    if runs.unreached(together.value, TOLERANCE):  # unreached states may have much mass or little
        variance = max(variance, ((high - log_z) / 2.0) ** 2)
    low = lower_mean_bound(forward, TAIL)
    # Groups of particles represent different fractions of the model; afterwards all are equal.
    chosen = resampled(relative_weights(log_shares), len(log_shares), 0.5).astype(np.int32)
    v = v[from_numpy(chosen)]
    return FreshLogZ(v, log_z, variance, fraction, low, high, chains is not None)


def checked(track: Track, fresh: FreshLogZ, most: float) -> Track:
    """Return a track, marked as unreliable if a fresh log Z contradicts it or is far more precise.

    If chains do not move between modes, the fractions of the chains in the modes are wrong, and
    Bennett's estimate from such chains drifted to 6 nats above log Z. If reverse runs also started
    from the run's chains, the error of the fresh log Z includes mass that annealing may have
    missed, and the fresh log Z contradicts any track whose log Z is significantly larger. Without
    such runs, it contradicts such a track only if the model would have a lower likelihood than
    independent units, that is, if the tracked log Z is above `most`.
    """
    value = float(track.log_z)
    if fresh.low > value + track.half_width + TOLERANCE:
        return doubted(track, CONTRADICTED)
    if not fresh.is_known:
        return track
    margin = track.half_width + fresh.half_width + TOLERANCE
    may_miss = not fresh.is_checked and not value > most
    is_too_large = value > fresh.log_z + margin and not may_miss
    if is_too_large or value < fresh.log_z - margin:
        return doubted(track, CONTRADICTED)
    if track.half_width > max(WIDE, 2.0 * fresh.half_width):
        return doubted(track, APART)
    return track


def renewed(track: Track, fresh: FreshLogZ) -> Track:
    """Return a lost track restarted from the fresh log Z, if the fresh log Z is reliable."""
    if track.is_known or not fresh.is_known:
        return track
    track = track._replace(v=fresh.v)
    return with_values(track, log_z=fresh.log_z, variance=fresh.variance, doubt=NO_DOUBT)


def _unknown(v: Array) -> FreshLogZ:
    return FreshLogZ(v, np.nan, np.inf, 0.0, -np.inf, np.inf)


# ------------------------------------------------------------------ along a run

EXACT_WORK = 2**22  # number of states × width; 20 ms on two cores
FRACTION_OF_WORK = 0.05  # work of tracking, as a fraction of the products in the run's updates
SWEEPS_A_RECORD = 16  # additional sweeps at each record, so that a small model is tracked well
FRACTIONS = (2 / 3, 1 / 3)  # of this work, for tracking by the run's chains and by particles
FRACTION_AFRESH = 1 / 2  # additional work for fresh estimates, as a fraction of this work
FEWEST_SWEEPS = 16  # fewest sweeps of a fresh estimate
# A fresh estimate is due when it may take at least this fraction of the sweeps of all fresh
# estimates before it; the fraction is smaller while log Z is lost.
GROWTH = 1 / 4
GROWTH_IF_LOST = 1 / 8
UNBOUNDED = (-np.inf, np.inf)  # bounds on log Z if there are no rows to bound it
TRACKING = 3  # folded into a run's key, whose parts 0 to 2 are used otherwise


class LogZEstimate(NamedTuple):
    """Log Z of a record's model, on which all decisions are based.

    Attributes:
        value: log Z, nats.
        half_width: two standard errors of `value`, nats.
        doubt: the reason not to rely on the value, in words; empty if there is none.
        low: lower end of an interval that contains the intervals of all known tracks.
    """

    value: float
    half_width: float
    doubt: str
    low: float


class HeldOut(NamedTuple):
    """What a run knows about log Z at the last record, and the best models so far.

    Run folders store this state by the names of its fields.

    Attributes:
        ways: the tracks: first the track by the run's chains, if any, then the track by particles.
        model: the averaged model of the last record.
        records: number of records so far.
        anew: sweeps spent on fresh estimates.
        doubts: the number of records at which log Z was unknown, for each of the `DOUBTS`.
        best: the model with the highest log-likelihood of the held-out rows since log Z was lost.
        value: the log-likelihood of the held-out rows under `best`, nats per row.
        variance: the variance of the log Z in `value`.
        update: the update of `best`; −1 if no model has a log-likelihood.
        earlier: the best model from before log Z was lost.
        earlier_value: the log-likelihood that `earlier` had then, which is not comparable with
            `value`.
        earlier_update: the update of `earlier`; −1 if there is none.
    """

    ways: tuple[Track, ...]
    model: RBM
    records: Int[Array, ""]
    anew: Int[Array, ""]
    doubts: Int[Array, " doubts"]
    best: RBM
    value: Float[Array, ""]
    variance: Float[Array, ""]
    update: Int[Array, ""]
    earlier: RBM
    earlier_value: Float[Array, ""]
    earlier_update: Int[Array, ""]

    @property
    def trusted(self) -> int:
        """The index of the track that is used: the first, or another track with a larger log Z.

        Modes that a track misses make its log Z too small. Particles miss modes that grow later, so
        that log Z was 4 nats too small on MNIST's fixed binarisation. Chains miss modes that they
        never visited, so that log Z was 1.2 nats too small on mushrooms. Therefore the larger log Z
        is used, which is still not a bound. If the first track is found to be wrong, another track
        that passed the same checks is used. If the first track cannot be extended, no other track
        is used, since this would miss modes that only the chains have visited.
        """
        first = int(self.ways[0].doubt)
        if first not in (NO_DOUBT, BELOW, CONTRADICTED):
            return 0
        known = [i for i, track in enumerate(self.ways) if track.is_known]
        return max(known, key=lambda i: float(self.ways[i].log_z), default=0)

    @property
    def estimate(self) -> LogZEstimate:
        """Log Z of the last record's model, and any reason not to rely on it."""
        best = self.ways[self.trusted]
        # The interval covers all tracks, since the largest one may be too large: chains that do not
        # move between modes represent wrong fractions of the modes.
        tracks = [track for track in self.ways if track.is_known or track is best]
        low = min(float(track.log_z) - track.half_width for track in tracks)
        return LogZEstimate(float(best.log_z), best.half_width, DOUBTS[int(best.doubt)], low)

    @property
    def disagrees(self) -> bool:
        """Whether the known tracks contradict each other."""
        known = [track for track in self.ways if track.is_known]
        if len(known) < 2:
            return False
        highest = max(float(track.log_z) - track.half_width for track in known)
        return highest > min(float(track.log_z) + track.half_width for track in known) + TOLERANCE

    @property
    def has_candidates(self) -> bool:
        """Whether any model has a known log-likelihood."""
        return int(self.update) >= 0 or int(self.earlier_update) >= 0

    @property
    def note(self) -> str:
        """The number of records with unknown log Z and the reasons, in words; empty if none."""
        counts = np.asarray(self.doubts).tolist()
        total = sum(counts)
        if not total:
            return ""
        pairs = zip(DOUBTS, counts, strict=True)
        reasons = ", ".join(f"{words} ({count})" for words, count in pairs if count)
        records = f"{total} of {int(self.records)} records"
        return f"at {records} the log-likelihood was not known: {reasons}"


class Tracker:
    """Tracks log Z from record to record, which takes a small fraction of a run's work."""

    def __init__(self, start: RBM, batch_size: int, chains: Cloud | None, *, key: PRNGKeyArray):
        """Fix the settings.

        Args:
            start: the model before the first update.
            batch_size: rows in an update; with the chains, they determine the work of an update.
            chains: the chains that are moved in an update; None if there are none.
            key: the run's random key.
        """
        rows_an_update = batch_size
        self.fractions = (1.0,)
        if chains is not None:
            rows_an_update += len(chains.states)
            self.fractions = FRACTIONS
        self.is_exact = is_exact_cheap(start, EXACT_WORK)
        self.sweeps_an_update = FRACTION_OF_WORK * rows_an_update / PARTICLES
        self.key = fold_in(key, TRACKING)
        self.base, self.drawn, self.log_z_of_base = self._base_of(start)

    def _base_of(self, start: RBM) -> tuple[RBM, Array | None, float]:
        """Return a model without weights near `start`, draws from it or None, and its log Z.

        If hidden units start with part of the covariance of correlated columns, the model without
        weights has to have this covariance too. It is therefore given the moments of states that
        `start` reaches in a few sweeps.
        """
        base = start.uncoupled
        if self.is_exact or not begins_with_hidden_covariance(start.visible):
            path = Heating(base.visible, base.hidden, base)
            return base, None, float(path.log_z_of_base)
        keys = split(fold_in(self.key, 1), 3)
        drawn = independent_states(base.visible, (PARTICLES,), key=self.key)
        moved = settled(start, Cloud.uniform(drawn), key=keys[0])
        return independent_start(start, moved, keys=keys[1:])

    @classmethod
    def of_run(cls, start: RBM, method: Method, state: TrainState, *, key: PRNGKeyArray) -> Tracker:
        """Return the tracker of a run, from any of its states."""
        chains = method.gradient.status(state.rbm, state.gradient).chains
        return cls(start, method.batch_size, chains, key=key)

    def begin(self) -> HeldOut:
        """Return the state before the first record: the independent model, whose log Z is known."""
        drawn = self.drawn
        if drawn is None:
            count = 0 if self.is_exact else PARTICLES
            drawn = independent_states(self.base.visible, (count,), key=self.key)
        zero = scalar(0.0, self.base.visible.dtype)
        none = scalar(0, np.int32)
        track = Track(drawn, zero, variance=zero, doubt=none, steps=none, sweeps=none)
        track = with_values(track, log_z=self.log_z_of_base, doubt=NO_DOUBT, steps=1)
        n_tracks = len(self.fractions)
        if self.is_exact:
            n_tracks = 1
        state = HeldOut(
            ways=(track,) * n_tracks,
            model=self.base,
            records=none,
            anew=none,
            doubts=from_numpy(np.zeros(len(DOUBTS), np.int32)),
            best=self.base,
            value=zero,
            variance=zero,
            update=none,
            earlier=self.base,
            earlier_value=zero,
            earlier_update=none,
        )
        return with_values(state, update=-1, earlier_update=-1)

    def continues(self, state: Any) -> bool:
        """Return whether the tracker can continue from this stored state."""
        return same_shapes(state, jax.eval_shape(self.begin))

    def track(
        self,
        state: HeldOut,
        rbm: RBM,
        updates: int,
        chains: Cloud | None = None,
        bounds: tuple[float, float] = UNBOUNDED,
    ) -> HeldOut:
        """Return the state after a record, with log Z of the record's averaged model.

        Args:
            state: the state after the last record.
            rbm: the averaged model.
            updates: updates made so far.
            chains: the run's chains, if it has any.
            bounds: a strict lower bound on log Z, and a value that log Z hardly ever exceeds, since
                the model would then have a lower likelihood than independent units; see
                `Monitors.bounds`.
        """
        before = state
        state = state._replace(records=scalar(int(state.records) + 1, np.int32), model=rbm)
        if not finite_z(rbm):
            ways = tuple(doubted(track, INFINITE) for track in state.ways)
            return _counted(_set_aside(before, state._replace(ways=ways)))
        if self.is_exact:
            log_z = Enumerated().estimate(rbm).value
            return state._replace(ways=(with_values(state.ways[0], log_z=log_z, doubt=NO_DOUBT),))
        least, most = bounds
        tracks, end_states = self._extended(before, state, updates, chains)
        state = state._replace(ways=tuple(_doubted_below(track, least) for track in tracks))
        state, fresh = self._with_fresh(state, end_states, updates, most)
        if fresh is not None:
            state = state._replace(ways=tuple(checked(track, fresh, most) for track in state.ways))
        state = _set_aside(before, state)
        if fresh is not None and fresh.log_z + fresh.half_width > least:
            state = state._replace(ways=tuple(renewed(track, fresh) for track in state.ways))
        return _counted(state)

    def _extended(
        self, before: HeldOut, state: HeldOut, updates: int, chains: Cloud | None
    ) -> tuple[list[Track], Array | None]:
        """Return the tracks extended to this record, and states of chains under `state.model`."""
        key = fold_in(self.key, int(state.records))
        end_states: list[Array | None] = [None] * len(state.ways)
        if chains is not None:
            end_states[0] = settled(state.model, chains, key=fold_in(key, 2))
        ends = (before.model, state.model)
        tracks = []
        for i, track in enumerate(state.ways):
            allowed = int(self.fractions[i] * self.allowed(state, updates))
            key_track = fold_in(key, 3 + i)
            tracks.append(extended(track, ends, end_states[i], allowed, key=key_track))
        return tracks, end_states[0]

    def _with_fresh(
        self, state: HeldOut, end_states: Array | None, updates: int, most: float
    ) -> tuple[HeldOut, FreshLogZ | None]:
        """Estimate log Z afresh if due, which is more often if log Z is lost or hardly credible."""
        spent = int(state.anew)
        is_lost = state.disagrees or any(
            not track.is_known or float(track.log_z) - track.half_width > most
            for track in state.ways
        )
        growth = GROWTH_IF_LOST if is_lost else GROWTH
        due = max(FEWEST_SWEEPS, growth * spent)
        # Sweeps are counted, not time, so that a resumed run makes the same decisions.
        left = int(FRACTION_AFRESH * self.allowed(state, updates)) - spent
        if left < due:
            return state, None
        key = fold_in(fold_in(self.key, int(state.records)), 1)
        fresh = fresh_log_z(state.model, self.base, left, end_states, key=key)
        return with_values(state, anew=spent + left), fresh

    def chains_of(self, state: HeldOut) -> Array | None:
        """Return states of the run's chains at the last record; None if the run has none."""
        if len(self.fractions) == 1:
            return None
        return state.ways[0].v

    def allowed(self, state: HeldOut, updates: int) -> float:
        """Return the sweeps that a run may spend on tracking up to this many updates."""
        return self.sweeps_an_update * updates + SWEEPS_A_RECORD * int(state.records)


def _doubted_below(track: Track, least: float) -> Track:
    """Return a track, marked as unreliable if its log Z is below a strict lower bound."""
    if least > float(track.log_z) + track.half_width + TOLERANCE:
        return doubted(track, BELOW)
    return track


def _set_aside(before: HeldOut, state: HeldOut) -> HeldOut:
    """Return the state without a best model if log Z was lost, as later values are not comparable.

    The best model until then is set aside, unless a model that was set aside earlier seemed better.
    If log Z may have been wrong before it was lost, any other model that was set aside takes
    precedence.
    """
    doubt = int(state.ways[before.trusted].doubt)
    if doubt == NO_DOUBT or int(state.update) < 0:
        return state
    value = -np.inf
    if doubt in (APART, INFINITE):  # until then, log Z was right
        value = float(state.value)
    if int(state.earlier_update) < 0 or value > float(state.earlier_value):
        state = state._replace(earlier=state.best, earlier_update=state.update)
        state = with_values(state, earlier_value=value)
    return with_values(state._replace(best=state.model), update=-1)


def _counted(state: HeldOut, doubt: int | None = None) -> HeldOut:
    """Return the state with its record counted under `doubt`, or the doubt about log Z, if any."""
    if doubt is None:
        doubt = int(state.ways[state.trusted].doubt)
    doubts = np.asarray(state.doubts).copy()
    doubts[doubt] += int(doubt != NO_DOUBT)
    return state._replace(doubts=from_numpy(doubts))


def scored(
    state: HeldOut, free_energy: float, updates: int, half_width: float = 0.0
) -> tuple[HeldOut, dict[str, float]]:
    """Return the state with the best model so far, and the log-likelihood with its interval.

    If log Z is unknown, or ⟨F⟩ is too imprecise, no log-likelihood is returned.

    Args:
        state: the state after `Tracker.track`.
        free_energy: ⟨F⟩ of held-out rows under the model of the state, nats.
        updates: updates made so far.
        half_width: the possible error of ⟨F⟩, in nats; ∞ if ⟨F⟩ is too imprecise to base a choice
            on.
    """
    log_z = state.estimate
    if not log_z.doubt and not np.isfinite(half_width):
        return _counted(state, TOO_ROUGH), {}
    value = -free_energy - log_z.value
    if log_z.doubt or not np.isfinite(value):
        return state, {}
    if int(state.update) < 0 or value >= float(state.value):
        variance = (log_z.half_width / 2.0) ** 2
        state = state._replace(best=state.model)
        state = with_values(state, value=value, variance=variance, update=updates)
    metrics = {
        "log_likelihood": value,
        "log_likelihood_low": value - log_z.half_width - half_width,
        "log_likelihood_high": -free_energy - log_z.low + half_width,
    }
    return state, metrics
