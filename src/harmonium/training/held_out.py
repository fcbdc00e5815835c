"""The log-likelihood of held-out rows along a run, and the model for which it is highest.

The averaged models of successive records are close to each other. So states of one of them are
annealed to the next in a few steps, and states of the next one back; Bennett's acceptance ratio of
both gives the ratio of the two partition functions. The states are the run's own chains, after a
few sweeps under the averaged model. Beside them go forward runs of particles, which are resampled
(Jarzynski's equality). Chains miss modes that they never visited, and particles miss modes that
grow later. What is missed makes log Z too small, so the larger one is taken. But chains that do not
go from mode to mode have wrong shares in them, and can say too much as well: so the interval that
is shown holds what either says. That costs far less than log Z anew at each record, and
differences between records are known much better than log Z itself.

Chains and particles may both stay where the model's mass is not, and agree with each other. So what
they say is held against what they do not know: states whose probability would exceed 1, and, every
few records, annealing anew from units by themselves. Where log Z is lost it is not used until it is
found again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._numerics import from_numpy
from ..layers.capabilities import correlated
from ..likelihood import is_exact_cheap
from ..partition_function.enumerated import Enumerated
from ..partition_function.finite import finite_z
from ..path import Heating
from ..rbm import RBM
from ..samplers import Cloud
from .anew import Anew, found_anew, held_against, independent_start, renewed
from .base import same_shapes
from .following import (
    APART,
    BELOW,
    CONTRADICTED,
    DOUBTS,
    INFINITE,
    NO_DOUBT,
    PARTICLES,
    TOLERANCE,
    TOO_ROUGH,
    Followed,
    doubted,
    next_record,
    number,
    settled,
)
from .state import TrainState
from .update import Method

EXACT_WORK = 2**22  # states × width: 20 ms on two cores
SHARE_OF_WORK = 0.05  # of the run's own products
SWEEPS_A_RECORD = 16  # allowed in addition, so that a small model is tracked well
SHARES = (2 / 3, 1 / 3)  # of that work: following by the run's chains, and by particles
SHARE_ANEW = 1 / 2  # of that work in addition, for annealing anew
FEWEST_SWEEPS = 16  # of annealing anew
GROWTH = (1 / 4, 1 / 8)  # of the sweeps spent anew, by the next time; and where log Z is lost
UNBOUNDED = (-np.inf, np.inf)


class LogZNow(NamedTuple):
    """log Z of a record's model, as all that decides asks for it.

    Attributes:
        value: log Z, nats.
        reach: two standard errors, of what is believed.
        doubt: why it is not relied on, in words; empty if it is.
        low: lower end of its interval, which holds that of every way that is known.
    """

    value: float
    reach: float
    doubt: str
    low: float


class HeldOut(NamedTuple):
    """What is known of the partition function at the last record, and the best models so far.

    Attributes:
        ways: by the run's chains if it has any, then by particles.
        model: the averaged model of the last record.
        records: number of records so far.
        anew: sweeps spent on annealing anew.
        doubts: at how many records log Z was not known for each of the `DOUBTS`.
        best: the model with the highest log-likelihood of the held-out rows since log Z was lost.
        value: that log-likelihood, nats per row.
        variance: of its log Z.
        update: the update of `best`; −1 if no model has a log-likelihood.
        earlier: the best model from before log Z was lost.
        earlier_value: the log-likelihood that it had then; it is not comparable with `value`.
        earlier_update: its update; −1 if there is none.
    """

    ways: tuple[Followed, ...]
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
    def believed(self) -> int:
        """The place of the way that is believed: the first, or one that knows a larger log Z.

        Where the first is found to be wrong, another one that passed the same checks is believed.
        Where it cannot be followed, modes that only the chains know would be missed.
        """
        first = int(self.ways[0].doubt)
        if first not in (NO_DOUBT, BELOW, CONTRADICTED):
            return 0
        known = [i for i, one in enumerate(self.ways) if one.is_known]
        return max(known, key=lambda i: float(self.ways[i].log_z), default=0)

    @property
    def found(self) -> LogZNow:
        """What is known of log Z of the last record's model, and what speaks against it."""
        way = self.ways[self.believed]
        low = min(float(one.log_z) - one.reach for one in self.ways if one.is_known or one is way)
        return LogZNow(float(way.log_z), way.reach, DOUBTS[int(way.doubt)], low)

    @property
    def disagrees(self) -> bool:
        """Whether the ways that are known say different things."""
        known = [one for one in self.ways if one.is_known]
        if len(known) < 2:
            return False
        highest = max(float(one.log_z) - one.reach for one in known)
        return highest > min(float(one.log_z) + one.reach for one in known) + TOLERANCE

    @property
    def has_candidates(self) -> bool:
        """Whether a model has a log-likelihood that is known."""
        return int(self.update) >= 0 or int(self.earlier_update) >= 0

    @property
    def note(self) -> str:
        """At how many records log Z was not known and why, in words; empty if at none."""
        counts = [int(count) for count in self.doubts]
        if not sum(counts):
            return ""
        why = ", ".join(
            f"{words} ({count})" for words, count in zip(DOUBTS, counts, strict=True) if count
        )
        records = f"{sum(counts)} of {int(self.records)} records"
        return f"at {records} the log-likelihood was not known: {why}"


TRACKING = 3  # folded into a run's key, whose parts 0 to 2 are used otherwise


class Tracker:
    """Follows log Z from record to record, within a small share of a run's work."""

    def __init__(self, start: RBM, batch_size: int, chains: Cloud | None, *, key: PRNGKeyArray):
        """Fix the settings.

        Args:
            start: the model before the first update.
            batch_size: rows in an update; with the chains they say how much work it is.
            chains: the chains that are moved in an update; None if there are none.
            key: the run's random key.
        """
        rows_an_update = batch_size + (0 if chains is None else len(chains.states))
        self.shares = SHARES if chains is not None else (1.0,)
        self.is_exact = is_exact_cheap(start, EXACT_WORK)
        self.sweeps_an_update = SHARE_OF_WORK * rows_an_update / PARTICLES
        self.key = jax.random.fold_in(key, TRACKING)
        self.base, self.drawn, self.log_z_of_base = self._base_of(start)

    def _base_of(self, start: RBM) -> tuple[RBM, Array | None, float]:
        """Return a model without weights that is near the first one, and its log Z.

        Hidden units that begin with a share of the covariance of correlated columns need a base
        that has it: one with the moments of states after a few sweeps. Draws of it are returned
        too.
        """
        base = start.uncoupled
        if self.is_exact or not len(correlated(start.visible)):
            path = Heating(base.visible, base.hidden, base)
            return base, None, float(path.log_z_of_base)
        keys = jax.random.split(jax.random.fold_in(self.key, 1), 3)
        drawn = base.visible.sample_without_inputs((PARTICLES,), key=self.key)
        moved = settled(start, Cloud.uniform(drawn), key=keys[0])
        return independent_start(start, moved, keys=keys[1:])

    @classmethod
    def of_run(cls, start: RBM, method: Method, state: TrainState, *, key: PRNGKeyArray) -> Tracker:
        """Return the tracker of a run, from any of its states."""
        chains = method.gradient.status(state.rbm, state.gradient).chains
        return cls(start, method.batch_size, chains, key=key)

    def begin(self) -> HeldOut:
        """Return the state before the first record: the model without weights, its log Z known."""
        drawn, count = self.drawn, 0 if self.is_exact else PARTICLES
        if drawn is None:
            drawn = self.base.visible.sample_without_inputs((count,), key=self.key)
        real, whole = self.base.visible.dtype, np.int32
        way = Followed(
            v=drawn,
            log_z=number(self.log_z_of_base, real),
            variance=number(0.0, real),
            doubt=number(NO_DOUBT, whole),
            steps=number(1, whole),
            sweeps=number(0, whole),
        )
        return HeldOut(
            ways=(way,) * (1 if self.is_exact else len(self.shares)),
            model=self.base,
            records=number(0, whole),
            anew=number(0, whole),
            doubts=from_numpy(np.zeros(len(DOUBTS), whole)),
            best=self.base,
            value=number(0.0, real),
            variance=number(0.0, real),
            update=number(-1, whole),
            earlier=self.base,
            earlier_value=number(0.0, real),
            earlier_update=number(-1, whole),
        )

    def continues(self, state: Any) -> bool:
        """Return whether a state is one of this tracker, to go on from."""
        return same_shapes(state, jax.eval_shape(self.begin))

    def followed(
        self,
        state: HeldOut,
        rbm: RBM,
        updates: int,
        chains: Cloud | None = None,
        bounds: tuple[float, float] = UNBOUNDED,
    ) -> HeldOut:
        """Return the state with log Z of the averaged model at a record.

        Args:
            state: the state after the last record.
            rbm: the averaged model.
            updates: updates made so far.
            chains: the run's chains, if it has any.
            bounds: a number that log Z exceeds for certain, and one that it hardly exceeds, as the
                model would then be worth less than its units by themselves; `Monitors.bounds`.
        """
        before, state = state, state._replace(records=state.records + 1)
        if not finite_z(rbm):
            ways = tuple(doubted(way, INFINITE) for way in state.ways)
            return _counted(_parted(before, state._replace(model=rbm, ways=ways)))
        if self.is_exact:
            way = state.ways[0]
            log_z = number(Enumerated().estimate(rbm).value, way.log_z.dtype)
            known = number(NO_DOUBT, np.int32)
            return state._replace(model=rbm, ways=(way._replace(log_z=log_z, doubt=known),))
        state, here = self._stepped(state, rbm, updates, chains)
        least, most = bounds
        ways = tuple(_doubted_below(way, least) for way in state.ways)
        state, anew = self._anew(state._replace(ways=ways), here, updates, most)
        if anew is not None:
            ways = tuple(held_against(way, anew, most) for way in state.ways)
        state = _parted(before, state._replace(ways=ways))
        if anew is not None and anew.log_z + anew.reach > least:
            state = state._replace(ways=tuple(renewed(way, anew) for way in state.ways))
        return _counted(state)

    def _stepped(
        self, state: HeldOut, rbm: RBM, updates: int, chains: Cloud | None
    ) -> tuple[HeldOut, Array | None]:
        """Return the state with every way followed to this record, and states of the chains."""
        key = jax.random.fold_in(self.key, int(state.records))
        here: list[Array | None] = [None] * len(state.ways)
        if chains is not None:
            here[0] = settled(rbm, chains, key=jax.random.fold_in(key, 2))
        work = self.allowed(state, updates)
        ways = []
        for i, way in enumerate(state.ways):
            ends, allowed = (state.model, rbm), int(self.shares[i] * work)
            ways.append(
                next_record(way, ends, here[i], allowed, key=jax.random.fold_in(key, 3 + i))
            )
        return state._replace(model=rbm, ways=tuple(ways)), here[0]

    def _anew(
        self, state: HeldOut, here: Array | None, updates: int, most: float
    ) -> tuple[HeldOut, Anew | None]:
        """Anneal anew if that is due: more often where log Z is lost, or hardly believable."""
        spent, (usual, lost) = int(state.anew), GROWTH
        is_asked = state.disagrees or any(
            not way.is_known or float(way.log_z) - way.reach > most for way in state.ways
        )
        due = max(FEWEST_SWEEPS, (lost if is_asked else usual) * spent)
        left = int(SHARE_ANEW * self.allowed(state, updates)) - spent
        if left < due:
            return state, None
        key = jax.random.fold_in(jax.random.fold_in(self.key, int(state.records)), 1)
        found = found_anew(state.model, self.base, left, here, key=key)
        return state._replace(anew=number(spent + left, np.int32)), found

    def chains_of(self, state: HeldOut) -> Array | None:
        """Return states of the run's chains at the last record; None if the run has none."""
        return state.ways[0].v if len(self.shares) > 1 else None

    def allowed(self, state: HeldOut, updates: int) -> float:
        """Return the sweeps that a run may spend on following until so many updates."""
        return self.sweeps_an_update * updates + SWEEPS_A_RECORD * int(state.records)


def _doubted_below(way: Followed, least: float) -> Followed:
    """Return a way, with a doubt if its log Z is below what it certainly exceeds."""
    return doubted(way, BELOW) if least > float(way.log_z) + way.reach + TOLERANCE else way


def _parted(before: HeldOut, state: HeldOut) -> HeldOut:
    """Return the state without a best model if log Z was lost, as later ones do not compare.

    The best model until then is set aside, unless an earlier one seemed better. Where log Z may
    have been wrong before it was lost, the model gives way to any other that is set aside.
    """
    doubt = int(state.ways[before.believed].doubt)
    if doubt == NO_DOUBT or int(state.update) < 0:
        return state
    was_known = doubt in (APART, INFINITE)
    value = state.value if was_known else number(-np.inf, state.value.dtype)
    if int(state.earlier_update) < 0 or float(value) > float(state.earlier_value):
        state = state._replace(earlier=state.best, earlier_value=value, earlier_update=state.update)
    return state._replace(best=state.model, update=number(-1, np.int32))


def _counted(state: HeldOut, doubt: int | None = None) -> HeldOut:
    """Return the state with a count more if log Z of its model is not known, or for this doubt."""
    doubt = int(state.ways[state.believed].doubt) if doubt is None else doubt
    doubts = np.asarray(state.doubts).copy()
    doubts[doubt] += int(doubt != NO_DOUBT)
    return state._replace(doubts=from_numpy(doubts))


def judged(
    state: HeldOut, free_energy: float, updates: int, reach: float = 0.0
) -> tuple[HeldOut, dict[str, float]]:
    """Return the state with the better of two models, and the log-likelihood with its interval.

    Where log Z is not known, or ⟨F⟩ is too rough, there is no log-likelihood.

    Args:
        state: the state after `Tracker.followed`.
        free_energy: ⟨F⟩ of held-out rows under its model, nats.
        updates: updates made so far.
        reach: how far ⟨F⟩ may lie off, in nats; ∞ if it is too rough to choose by.
    """
    found = state.found
    if not found.doubt and not np.isfinite(reach):
        return _counted(state, TOO_ROUGH), {}
    value = -free_energy - found.value
    if found.doubt or not np.isfinite(value):
        return state, {}
    if int(state.update) < 0 or value >= float(state.value):
        state = state._replace(
            best=state.model,
            value=number(value, state.value.dtype),
            variance=number((found.reach / 2.0) ** 2, state.variance.dtype),
            update=number(updates, np.int32),
        )
    low = value - found.reach - reach
    high = -free_energy - found.low + reach
    names = ("log_likelihood", "log_likelihood_low", "log_likelihood_high")
    return state, dict(zip(names, (value, low, high), strict=True))
