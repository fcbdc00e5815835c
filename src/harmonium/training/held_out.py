"""The log-likelihood of held-out rows along a run, and the model for which it is highest.

The averaged models of successive records are close to each other. So states of one of them are
annealed to the next in a few steps, and states of the next one back; Bennett's acceptance ratio of
both gives the ratio of the two partition functions. The states are the run's own chains, after a
few sweeps under the averaged model. Beside them go forward runs of particles, which are resampled
(Jarzynski's equality). Chains miss modes that they never visited, and particles miss modes that
grow later. What is missed makes log Z too small, so the larger one is taken. That costs far less
than log Z anew at each record, and differences between records are known much better than log Z
itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._numerics import from_numpy
from ..likelihood import is_exact_cheap
from ..partition_function.agreement import AnnealingRuns
from ..partition_function.enumerated import Enumerated
from ..partition_function.finite import finite_z
from ..partition_function.schedule import (
    FinalStates,
    groups_of,
    resampled_states,
)
from ..path import Heating, Line
from ..rbm import RBM
from ..samplers import Cloud
from ..sharding import fetched
from .base import same_shapes
from .following import (
    PARTICLES,
    TOLERANCE,
    Followed,
    annealed,
    independent_start,
    next_record,
    number,
    settled,
    unknown,
)
from .state import TrainState
from .update import Method

EXACT_WORK = 2**22  # states × width: 20 ms on two cores
SHARE_OF_WORK = 0.05  # of the run's own products
SWEEPS_A_RECORD = 16  # allowed in addition, so that a small model is tracked well
SHARES = (2 / 3, 1 / 3)  # of that work: following by the run's chains, and by particles


class HeldOut(NamedTuple):
    """What is known of the partition function at the last record, and the best model so far.

    Attributes:
        ways: by the run's chains if it has any, then by particles.
        model: the averaged model of the last record.
        records: number of records so far.
        best: the model with the highest log-likelihood of the held-out rows.
        value: that log-likelihood, nats per row.
        update: the update of `best`; −1 if no model has a log-likelihood.
    """

    ways: tuple[Followed, ...]
    model: RBM
    records: Int[Array, ""]
    best: RBM
    value: Float[Array, ""]
    update: Int[Array, ""]

    @property
    def found(self) -> Followed:
        """The way that is believed: the first, or a later one that knows of a larger log Z."""
        first, *others = self.ways
        known = [one for one in others if bool(first.is_known) and bool(one.is_known)]
        return max([first, *known], key=lambda way: float(way.log_z))


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
        if self.is_exact or not len(start.visible.correlated):
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
            is_known=number(True, bool),
            steps=number(1, whole),
            sweeps=number(0, whole),
            tried=number(0, whole),
        )
        return HeldOut(
            ways=(way,) * (1 if self.is_exact else len(self.shares)),
            model=self.base,
            records=number(0, whole),
            best=self.base,
            value=number(0.0, real),
            update=number(-1, whole),
        )

    def continues(self, state: Any) -> bool:
        """Return whether a state is one of this tracker, to go on from."""
        return same_shapes(state, jax.eval_shape(self.begin))

    def followed(
        self, state: HeldOut, rbm: RBM, updates: int, chains: Cloud | None = None
    ) -> HeldOut:
        """Return the state with log Z of the averaged model at a record.

        Args:
            state: the state after the last record.
            rbm: the averaged model.
            updates: updates made so far.
            chains: the run's chains, if it has any.
        """
        state = state._replace(records=state.records + 1)
        if not finite_z(rbm):
            return state._replace(model=rbm, ways=tuple(map(unknown, state.ways)))
        if self.is_exact:
            way = state.ways[0]
            log_z = number(Enumerated().estimate(rbm).value, way.log_z.dtype)
            way = way._replace(log_z=log_z, is_known=number(True, bool))
            return state._replace(model=rbm, ways=(way,))
        key = jax.random.fold_in(self.key, int(state.records))
        here: list[Array | None] = [None] * len(state.ways)
        if chains is not None:
            here[0] = settled(rbm, chains, key=jax.random.fold_in(key, 2))
        work = self._allowed(state, updates)
        ways = []
        for i, way in enumerate(state.ways):
            ends, allowed = (state.model, rbm), int(self.shares[i] * work)
            ways.append(
                next_record(way, ends, here[i], allowed, key=jax.random.fold_in(key, 3 + i))
            )
        return state._replace(model=rbm, ways=tuple(ways))

    def log_z_within(self, state: HeldOut, rbm: RBM, updates: int) -> tuple[float, float]:
        """Return an interval of log Z by annealing from independent units and back again.

        It is independent of what was followed: particles that miss a mode do not know it, but the
        two directions then disagree. The work is as much as a run of so many updates may spend on
        following. The runs use the program that followed log Z, so nothing is compiled for them.
        """
        keys = jax.random.split(jax.random.fold_in(self.key, 0), 5)
        allowed = self._allowed(state, updates)
        steps = max(1, int(allowed / 2.25))  # forward and in reverse, with a quarter between
        base, drawn, offset = independent_start(rbm, state.found.v, keys=keys[:2])

        def ran(line: Line, v: Array, count: int, key: PRNGKeyArray) -> tuple[Array, Any]:
            v, log_w = annealed(line, v, number(max(1, count), np.int32), key=key)
            return v, fetched(log_w).astype(np.float64)

        v, forward = ran(Line(base, rbm), drawn, steps, keys[2])
        forward = forward + offset
        if not np.isfinite(forward).all():
            return -np.inf, np.inf
        groups = groups_of(forward)
        v, log_shares = resampled_states([FinalStates(v, forward)], PARTICLES, groups, seed=0)
        v, _ = ran(Line(rbm, rbm), from_numpy(v), steps // 4, keys[3])
        reverse = ran(Line(rbm, base), v, steps, keys[4])[1] - offset
        if not np.isfinite(reverse).all():
            return -np.inf, np.inf
        runs = AnnealingRuns(forward, reverse, log_shares)
        return runs.wide_interval(runs.sandwich(groups), TOLERANCE)

    def refutes(
        self, state: HeldOut, last: RBM, updates: int, energy_of: Callable[[RBM], float]
    ) -> bool:
        """Return whether the last model is certainly better than the one that seemed best.

        Args:
            state: what is known at the end of a run.
            last: the model of the last record.
            updates: updates made so far.
            energy_of: the mean free energy of the held-out rows under a model, nats.
        """
        if self.is_exact:
            return False
        ends = []
        for rbm in (state.best, last):
            low, high = self.log_z_within(state, rbm, updates)
            ends.append((-energy_of(rbm) - high, -energy_of(rbm) - low))
        (_, most), (least, _) = ends
        return most < least

    def _allowed(self, state: HeldOut, updates: int) -> float:
        """Return the sweeps that a run may spend on following until so many updates."""
        return self.sweeps_an_update * updates + SWEEPS_A_RECORD * int(state.records)


def judged(
    state: HeldOut, free_energy: float, updates: int, reach: float = 0.0
) -> tuple[HeldOut, dict[str, float]]:
    """Return the state with the better of two models, and the log-likelihood with its interval.

    Where log Z could not be followed there is no log-likelihood, and earlier models no longer
    compete: their log Z is not comparable with later ones.

    Args:
        state: the state after `Tracker.followed`.
        free_energy: ⟨F⟩ of held-out rows under its model, nats.
        updates: updates made so far.
        reach: how far ⟨F⟩ may lie off, in nats.
    """
    found = state.found
    value = -free_energy - float(found.log_z)
    here = number(updates, np.int32)
    if not (found.is_known and np.isfinite(value)):
        return state._replace(best=state.model, update=number(-1, np.int32)), {}
    if int(state.update) < 0 or value >= float(state.value):
        reached = number(value, state.value.dtype)
        state = state._replace(best=state.model, value=reached, update=here)
    reach += 2.0 * float(found.variance) ** 0.5
    names = ("log_likelihood", "log_likelihood_low", "log_likelihood_high")
    return state, dict(zip(names, (value, value - reach, value + reach), strict=True))
