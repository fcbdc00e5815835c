"""Ladders of models: replica exchange runs, reports on them, and adaptive spacing."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.checks import checked_key, positive_integer
from .._base.loops import loop
from .._base.programs import compiled
from .._base.threefry import fold_in, split
from ..errors import InputError, NotFiniteError
from ..rbm import RBM
from .replica_exchange import ReplicaExchange

__all__ = ["LadderReport", "adapted_ladder", "ladder_report"]

FIRST_STEPS = 16  # steps of the pilot's first round; each later round is twice as long
LADDER_SIZES = sorted(n * 2**k for n in (2, 3) for k in range(8))  # a program is compiled for each
ROOM = 64  # number of records per dispatch
MOST_RECORDS = 1_024  # largest number of records of a run; longer runs are thinned


class LadderReport(NamedTuple):
    """Swap rates and round trips, which measure how well replicas move along a ladder.

    Attributes:
        acceptance: mean acceptance probability of a swap for each neighbouring pair, starting with
            the first model, shape (models − 1,).
        round_trips: number of round trips per replica, from the first model to the last and back,
            in 1,000 steps.
        steps: number of steps over which these numbers were measured.
        chains: number of independent columns of replicas.

    Example:
        >>> acceptance = np.array([0.5, 0.7])
        >>> report = hm.samplers.LadderReport(acceptance, round_trips=12.0, steps=1_000, chains=64)
        >>> round(report.barrier, 2), round(report.trips, 1)
        (0.8, 36.0)
        >>> print(report)  # doctest: +NORMALIZE_WHITESPACE
        3 models, swaps accepted from 0.50 to 0.70, barrier 0.8,
        12 round trips of a replica in 1,000 steps
    """

    acceptance: np.ndarray
    round_trips: float
    steps: int
    chains: int

    @property
    def models(self) -> int:
        """The number of models on the ladder."""
        return len(self.acceptance) + 1

    @property
    def barrier(self) -> float:
        """The communication barrier Σ (1 − acceptance), the sum of the rejection probabilities.

        The barrier hardly depends on the spacing of the models as long as neighbours accept most
        swaps. The replicas of a column together make at most one round trip per 2 + 2·barrier
        steps.
        """
        return float((1.0 - self.acceptance).sum())

    @property
    def trips(self) -> float:
        """The number of round trips of all replicas of a column, averaged over columns."""
        return self.round_trips * self.models * self.steps / 1_000

    def __str__(self) -> str:
        """Return a one-line summary of the report."""
        accepted = f"{self.acceptance.min():.2f} to {self.acceptance.max():.2f}"
        return (
            f"{self.models} models, swaps accepted from {accepted}, barrier {self.barrier:.1f},"
            f" {self.round_trips:.2g} round trips of a replica in 1,000 steps"
        )


class LadderRun:
    """A run of replica exchange that records the log weights between neighbouring models."""

    def __init__(self, rbm: RBM, sampler: ReplicaExchange, state: Any, *, key: PRNGKeyArray):
        self.rbm = rbm
        self.sampler = sampler
        self.state = state
        self.key = key
        self.steps = 0
        self.every = 1
        self.parts: list[tuple[np.ndarray, ...]] = []
        self.trips_before = int(state.trips.sum())

    @classmethod
    def fresh(
        cls, rbm: RBM, sampler: ReplicaExchange, chains: int, *, key: PRNGKeyArray
    ) -> LadderRun:
        """Start a run with every replica drawn from its own model with zero weights."""
        key_init, key_run = split(key)
        return cls(rbm, sampler, _independent(rbm, sampler, chains, key=key_init), key=key_run)

    def until(self, steps: int) -> None:
        """Continue the run up to this total number of steps, rounded down to complete records."""
        while self.steps + self.every <= steps:
            most = max(1, ROOM // self.every)
            records = int(np.clip((steps - self.steps) // self.every, 1, most))
            counts = (self.steps, self.every, records)
            first, every, number = (jnp.asarray(count, jnp.int32) for count in counts)
            chains = (self.rbm, self.sampler, self.state)
            self.state, *seen = _watched(*chains, first, every, number, ROOM, key=self.key)
            part = tuple(np.asarray(x)[:records] for x in seen)
            if not (np.isfinite(part[0]).all() and np.isfinite(part[1]).all()):
                raise NotFiniteError(
                    f"Replicas of {self.rbm}: free energies are not finite; the model diverged, or"
                    " its Z is not finite (see hm.likelihood.finite_z)."
                )
            self.parts.append(part)
            self.steps += records * self.every
            if sum(len(up) for up, *_ in self.parts) >= MOST_RECORDS:
                self.parts = [tuple(x[1::2] for x in self._all())]
                self.every = 2 * self.every

    def gains(self, first: float = 0.5, last: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Return `up` and `down` from fraction `first` to `last` of the run.

        Both arrays contain log weights and have shape (records, pairs, chains).
        """
        up, down, _ = self._all()
        part = slice(int(first * len(up)), math.ceil(last * len(up)))
        return up[part], down[part]

    def report(self, first: float = 0.5) -> LadderReport:
        """Return a report on the run, excluding the fraction `first` at its start."""
        up, down = self.gains(first)
        trips = np.append(self.trips_before, self._all()[2])
        chains = up.shape[2]
        models = up.shape[1] + 1
        begin = int(first * (len(trips) - 1))
        steps = (len(trips) - 1 - begin) * self.every
        count = float(trips[-1] - trips[begin])
        acceptance = np.exp(np.minimum(up.astype(np.float64) + down, 0.0)).mean((0, 2))
        return LadderReport(acceptance, 1_000 * count / (steps * chains * models), steps, chains)

    def _all(self) -> list[np.ndarray]:
        return [np.concatenate(parts) for parts in zip(*self.parts, strict=True)]


@compiled
def _independent(rbm: RBM, sampler: ReplicaExchange, chains: int, *, key: PRNGKeyArray) -> Any:
    return sampler.init_independent(rbm, chains, key=key)


@compiled
def _watched(
    rbm: RBM,
    sampler: ReplicaExchange,
    state: Any,
    first: Array,
    every: Array,
    records: Array,
    room: int,
    *,
    key: PRNGKeyArray,
) -> tuple[Any, Array, Array, Array]:
    """Run `records · every` steps, recording log weights and trips every `every` steps.

    Step s uses the key fold_in(key, s), so a run in several parts gives the same results as a
    single run.
    """
    shape = (state.v.shape[0] - 1, state.v.shape[1])
    gain = jnp.zeros((room, *shape), state.v.dtype)

    def record(i: Array, carry: tuple) -> tuple:
        def step(j: Array, both: tuple) -> tuple:
            here = fold_in(key, first + i * every + j)
            state, info = sampler.step(rbm, both[0], key=here)
            return state, info.up, info.down

        state, up, down = loop(0, every, step, (carry[0], gain[0], gain[0]))
        seen = (up, down, state.trips.sum(dtype=jnp.int32))
        pairs = zip(carry[1:], seen, strict=True)
        return (state, *(table.at[i].set(entry) for table, entry in pairs))

    start = (state, gain, gain, jnp.zeros(room, jnp.int32))
    return jax.lax.fori_loop(0, records, record, start)


def ladder_report(
    rbm: RBM,
    sampler: ReplicaExchange,
    *,
    key: PRNGKeyArray,
    chains: int = 64,
    steps: int = 1_000,
) -> LadderReport:
    """Run replicas along a ladder and report on the second half of the run.

    Args:
        rbm: the model at the end of the ladder.
        sampler: the ladder.
        key: a JAX random key.
        chains: number of independent columns of replicas.
        steps: number of steps of the run.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> ladder = hm.ReplicaExchange(times=3)
        >>> key = jax.random.key(0)
        >>> report = hm.samplers.ladder_report(rbm, ladder, key=key, chains=8, steps=100)
        >>> report.models, bool(report.acceptance.min() > 0.5)
        (3, True)
    """
    chains = positive_integer(chains, "chains")
    steps = positive_integer(steps, "steps")
    run = LadderRun.fresh(rbm, checked_ladder(sampler), chains, key=checked_key(key))
    run.until(steps)
    return run.report()


def adapted_ladder(
    rbm: RBM,
    sampler: Any = None,
    *,
    key: PRNGKeyArray,
    chains: int = 64,
    rounds: int = 5,
    acceptance: float = 0.5,
) -> ReplicaExchange:
    """Return a ladder with enough models, spaced so that all neighbours swap equally often.

    Each round of a pilot run is twice as long as the previous one. A round measures acceptance
    rates, which define the length of the ladder, and respaces the models evenly along this length.
    A pair that accepts swaps with probability a is assigned the length

        ℓ = −√2 Φ⁻¹(a/2),    a = 2 Φ(−ℓ/√2).

    This length is the standard deviation of the difference in F between the two models if this
    difference is normally distributed. For small 1 − a, ℓ ≈ √π (1 − a), so the ladder's length is
    proportional to its barrier.

    Args:
        rbm: the model at the ladder's end.
        sampler: the initial ladder, whose path and sweeps are kept; if None, sixteen temperatures
            from the neutral model (zero biases and weights).
        key: a JAX random key.
        chains: number of independent columns of replicas in the pilot.
        rounds: number of rounds of the pilot.
        acceptance: the target for the mean acceptance probability of a swap. It determines the
            number of models, which is one of 2, 3, 4, 6, 8, 12, …, 384.

    Raises:
        InputError: an argument is invalid.
        NotFiniteError: free energies of replicas are not finite.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> three, key = hm.ReplicaExchange(times=3), jax.random.key(0)
        >>> ladder = hm.samplers.adapted_ladder(rbm, three, key=key, chains=8, rounds=1)
        >>> ladder.times.tolist()  # an easy model: two temperatures are enough
        [0.0, 1.0]

    Source: Kofke 2002; Syed, Bouchard-Côté, Deligiannidis & Doucet 2022.
    """
    if sampler is None:
        sampler = ReplicaExchange()
    sampler = checked_ladder(sampler)
    if not 0 < acceptance < 1:
        raise InputError(f"acceptance: expected a number between 0 and 1; got {acceptance}.")
    chains = positive_integer(chains, "chains")
    rounds = positive_integer(rounds, "rounds")
    return pilot(rbm, sampler, chains, rounds, acceptance, key=checked_key(key)).sampler


def pilot(
    rbm: RBM,
    sampler: ReplicaExchange,
    chains: int,
    rounds: int,
    acceptance: float,
    *,
    key: PRNGKeyArray,
) -> LadderRun:
    """Return a run on an adapted ladder, starting from the final states of the pilot run."""
    key, key_first = split(key)
    run = LadderRun.fresh(rbm, sampler, chains, key=key_first)
    for r in range(rounds):
        run.until(FIRST_STEPS * 2**r)
        old = np.asarray(run.sampler.times)
        new = _respaced(old, run.report().acceptance, acceptance)
        nearest = abs(old[None, :] - new[:, None]).argmin(1)
        spaced = ReplicaExchange(sampler.path, new, sampler.sweeps)
        state = spaced.init_each(run.state.v[nearest])
        run = LadderRun(rbm, spaced, state, key=fold_in(key, r))
    return run


def _respaced(times: np.ndarray, accepted: np.ndarray, aim: float) -> np.ndarray:
    """Return positions at equal distances, enough for neighbours to reach the target acceptance."""
    from scipy.special import ndtri  # imported here because it takes a fifth of a second

    lengths = -ndtri(np.clip(accepted, 1e-9, 1.0) / 2)
    needed = 1 + math.ceil(lengths.sum() / -ndtri(aim / 2))
    models = next((n for n in LADDER_SIZES if n >= needed), LADDER_SIZES[-1])
    along = np.append(0.0, np.cumsum(lengths + 0.05 * lengths.mean() + 1e-6))
    new = np.interp(np.linspace(0.0, along[-1], models), along, times)
    new[0] = times[0]
    new[-1] = 1.0
    return new


def checked_ladder(sampler: Any) -> ReplicaExchange:
    """Return the sampler if it is a ladder; otherwise raise InputError."""
    if not isinstance(sampler, ReplicaExchange):
        raise InputError(f"sampler: expected an hm.ReplicaExchange; got {sampler!r}.")
    return sampler
