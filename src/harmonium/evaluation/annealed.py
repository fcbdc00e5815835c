"""log Z between two annealed estimates: one from below, one from above."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..bridge import bennett, bennett_stderr, jackknife, log_mean_exp
from ..courses import (
    STRETCHES,
    Arrivals,
    Course,
    drawn_by_weight,
    moment_base,
    neutral_base,
    settled,
)
from ..errors import InputError, NotFiniteError
from ..path import AbstractPath
from ..rbm import RBM
from ..samplers import start_annealing
from ..statistics import effective_sample_size
from .base import TRUSTED_ESS, LogZ

GROUPS = (16, 8, 4, 2, 1)  # independent groups of chains, from which the interval comes
ESS_OF_GROUP = 8.0  # with fewer chains that count, what a group resamples is no draw of the machine
FEWEST_GROUPS = 8
PILOT = (3, 6)  # steps a stretch: to find the spacing, then to choose among the bases
AIM, MOST_LOST = 0.5, 2.5  # nats lost there and back: a plan's aim; what more chains can bear
FEWEST_STEPS, MOST_STEPS = 4, 2**20  # a stretch
Z_95 = 1.959964
MARKOV_BOUND = -float(np.log(0.025))  # P(log Ẑ > log Z + b) ≤ e^(−b), whatever the weights


class Settings(NamedTuple):
    """What a search for log Z was asked for; None is left to it."""

    chains: int
    steps: int | None
    burn_in: int | None
    tolerance: float
    seconds: float


class Journeys(NamedTuple):
    """Log weights of journeys in both directions along one course.

    Attributes:
        forward: shape (n,); the mean of e^w estimates Z.
        reverse: the way back, shape (n,); the mean of e^w estimates 1/Z.
        other: the way back from the starts that the user gave; empty if none.
    """

    forward: np.ndarray
    reverse: np.ndarray
    other: np.ndarray

    @property
    def lost(self) -> float:
        """Work lost on the way there and back, nats, which is 0 only if nothing is irreversible."""
        return -float(self.forward.mean() + self.reverse.mean())


def annealed_log_z(
    rbm: RBM,
    *,
    key: PRNGKeyArray,
    chains: int = 512,
    steps: int | None = None,
    paths: Sequence[AbstractPath] = (),
    starts: Any = None,
    burn_in: int | None = None,
    tolerance: float = 0.1,
    seconds: float = 120.0,
    progress: Callable[[float], Any] | None = None,
) -> LogZ:
    """Estimate log Z by annealed importance sampling in both directions.

    Forward, from exact draws of a base machine, the estimate is on average below log Z and so
    over-rates the model. Reverse, from draws of the machine itself, it is on average above, as far
    as those draws are exact: they are the forward chains of all bases, resampled by their weights,
    after `burn_in` sweeps more. The value is Bennett's acceptance ratio between both, an estimate
    and no bound.

    A pilot tries several bases, spaces the machines on the way by the work that the chains lose
    there, and takes the base that loses least. Then steps and chains grow until the two directions
    meet within `tolerance` and the interval is as narrow, or the time is up. The 95 % interval is
    that of independent groups of chains, left out one at a time. Where the answer has not
    converged, it reaches from the lowest to the highest estimate and by what Markov's inequality
    allows, log 40 = 3.7 nats, beyond them.

    What no journey can see is a mode that no chain of any base ever finds: all then agree on log Z
    of what was found. `starts` from elsewhere, such as the data, would show it.

    Args:
        rbm: the machine.
        key: a JAX random key.
        chains: chains in each direction.
        steps: steps of each journey; as many as it takes if None.
        paths: paths that begin at an independent machine, to be tried beside our own two.
        starts: visible states to travel back from as a check, shape (n, visible).
        burn_in: sweeps that resampled chains make first; a quarter of the steps if None.
        tolerance: nats that the two directions may lie apart, and the interval's half width.
        seconds: time after which no new round begins.
        progress: called with the part done, from 0 to 1.

    Raises:
        InputError: an impossible number, or a path that begins with weights.
        NotFiniteError: weights are not finite, as for parameters out of all bounds.

    Source: Neal 2001; Bennett 1976; Salakhutdinov & Murray 2008; Burda et al. 2015.
    """
    asked = _checked(Settings(chains, steps, burn_in, tolerance, seconds), paths)
    key_base, key_search = jax.random.split(key)
    candidates = [*paths, moment_base(rbm, key=key_base), neutral_base(rbm)]
    search = _Search(rbm, asked, starts, progress, key=key_search)
    course, plan = search.pilot(candidates)
    return search.rounds(course, plan)


class _Search:
    """A search for log Z: a pilot that chooses the course, then rounds until both sides meet."""

    def __init__(self, rbm: RBM, asked: Settings, starts: Any, progress: Any, *, key: PRNGKeyArray):
        self.rbm, self.asked, self.key, self.keys_used = rbm, asked, key, 0
        self.groups = 1
        # Chains from the starts given travel along, a quarter as many.
        many = max(1, asked.chains // 4)
        self.starts = None if starts is None else jnp.asarray(starts)[np.arange(many) % len(starts)]
        self.told, self.done = progress or (lambda part: None), 0.0
        self.began, self.pace = (
            time.perf_counter(),
            0.0,
        )  # seconds that a step costs, there and back
        self.witnesses: list[Arrivals] = []

    def pilot(self, candidates: Sequence[AbstractPath]) -> tuple[Course, int]:
        """Space the machines of each candidate by its losses; give the best, and how many steps."""
        courses, there = [], []
        for path in candidates:
            course = Course.even(path)
            _, gains = self._depart(course, PILOT[0])
            courses.append(course.respaced(gains))
        for course in courses:
            arrivals, gains = self._depart(course, PILOT[1])
            self.witnesses.append(arrivals)
            there.append(gains)
            self._tell(0.1 * len(there) / len(courses))
        lost, spaced = [], []
        for course, gains, arrivals in zip(courses, there, self.witnesses, strict=True):
            started = time.perf_counter()
            back = self._return(course, self.witnesses, PILOT[1])
            self.pace = 2 * (time.perf_counter() - started) / PILOT[1]
            n = self.asked.chains
            spaced.append(course.respaced(gains, back[::-1, :n]))
            lost.append(_journeys(arrivals, back, course, n).lost)
            self._tell(0.1 + 0.1 * len(lost) / len(courses))
        best = int(np.argmin(lost))
        del self.witnesses[best]  # whose place every round takes with its own
        if self.asked.steps is not None:
            return spaced[best], max(1, round(self.asked.steps / STRETCHES))
        needed = min(PILOT[1] * lost[best] / AIM, self._left() / self.pace)
        return spaced[best], int(np.clip(needed, FEWEST_STEPS, MOST_STEPS))

    def rounds(self, course: Course, steps: int) -> LogZ:
        """Travel there and back, longer or with more chains each time, until both sides meet."""
        kept: list[Journeys] = []
        while True:
            arrivals, gains = self._depart(course, steps)
            self.groups = self.groups if kept else _groups_of(arrivals.log_weights)
            self._tell(self.done + 0.4 * (1 - self.done))
            back = self._return(course, [arrivals, *self.witnesses], steps)
            self._tell(self.done + 0.5 * (1 - self.done))
            kept.append(_journeys(arrivals, back, course, self.asked.chains))
            found = self._conclude(kept, steps * STRETCHES)
            if found.converged or self.asked.steps is not None:
                break
            longer = kept[-1].lost > MOST_LOST  # else more chains gain as much, and all are kept
            if (2 if longer else 1) * steps * self.pace > self._left():
                late = f" The {self.asked.seconds:g} s allowed are up; allow more with `seconds`."
                found = found._replace(message=found.message + late)
                break
            if longer:
                kept, steps = [], 2 * steps
                course = course.respaced(gains, back[::-1, : self.asked.chains])
        self._tell(1.0)
        return found

    def _depart(self, course: Course, steps: int) -> tuple[Arrivals, np.ndarray]:
        """Travel from the base to the machine."""
        begun = _begun(course.path, self.asked.chains, key=self._next_key())
        v, gains = course.travel(begun, steps, key=self._next_key())
        return Arrivals(v, gains.sum(0) + float(course.path.log_z_of_base)), gains

    def _return(self, course: Course, arrivals: Sequence[Arrivals], steps: int) -> np.ndarray:
        """Travel back, from arrivals drawn by their weights and left to themselves for a while."""
        for one in arrivals:
            if not np.isfinite(one.log_weights).all():
                raise NotFiniteError(
                    "log Z: annealing weights are not finite; the machine diverged."
                )
        v = drawn_by_weight(arrivals, self.asked.chains, self.groups, seed=self.keys_used)
        if self.starts is not None:
            v = jnp.concatenate([v, self.starts.astype(v.dtype)])
        sweeps = (
            max(1, steps * STRETCHES // 4) if self.asked.burn_in is None else self.asked.burn_in
        )
        v = settled(self.rbm, v, jnp.asarray(sweeps, jnp.int32), key=self._next_key())
        return course.travel(v, steps, key=self._next_key(), backwards=True)[1]

    def _conclude(self, kept: Sequence[Journeys], steps: int) -> LogZ:
        """Combine rounds into an answer; neither side is ever given without the other."""
        forward, reverse, other = (np.concatenate(parts) for parts in zip(*kept, strict=True))
        if not (np.isfinite(forward).all() and np.isfinite(reverse).all()):
            raise NotFiniteError("log Z: annealing weights are not finite; the machine diverged.")
        groups, tolerance = self.groups * len(kept), self.asked.tolerance
        middle = jackknife(bennett, forward, reverse, groups=groups)
        # Sixteen groups know their spread to a fifth; it cannot be less than independence gives.
        half = max(middle.half_width, Z_95 * bennett_stderr(forward, reverse))
        below = log_mean_exp(forward)
        sides = [below, -log_mean_exp(reverse)]
        ess = min(float(effective_sample_size(jnp.asarray(w))) for w in (forward, reverse))
        doubts = [
            (
                abs(sides[1] - below) < tolerance,
                f"the two directions lie {sides[1] - below:.2f} apart",
            ),
            (half < tolerance, f"the interval is ± {half:.2f} wide"),
            (ess >= TRUSTED_ESS, f"{ess:.1f} chains carry the weight"),
            (groups >= FEWEST_GROUPS, f"{groups} independent groups of chains are too few"),
        ]
        for one in self.witnesses:
            seen = jackknife(log_mean_exp, one.log_weights, groups=GROUPS[0])
            worth = float(effective_sample_size(jnp.asarray(one.log_weights)))
            margin = 4 * seen.stderr if worth >= TRUSTED_ESS else MARKOV_BOUND
            agrees = seen.value - margin < middle.value + half
            doubts.append((agrees, f"from another base log Z is at least {seen.value:.2f}"))
            sides += [] if agrees else [seen.value]
        if len(other):
            # Forward chains end in a region of mass p with probability p e^(−apart): a mass of
            # 3 e^apart / n would have been seen (rule of three), and less does not matter.
            apart = -log_mean_exp(other) - middle.value
            unseen = 3.0 * np.exp(apart) / len(forward)
            doubts.append(
                (
                    unseen < tolerance,
                    f"the way back from the starts given costs {apart:.1f} nats more: they may be"
                    " where no chain came",
                )
            )
            sides += [] if unseen < tolerance else [middle.value + apart]
        wrong = [why for fine, why in doubts if not fine]
        reach = MARKOV_BOUND if wrong else 0.0
        ends = [*sides, middle.value] if wrong else [middle.value]
        width = half + reach
        chains = self.asked.chains * len(kept)
        return LogZ(
            value=middle.value,
            low=min(ends) - width,
            high=max(ends) + width,
            method=f"annealed both ways, {chains:,} chains × {steps:,} machines",
            converged=not wrong,
            ess=ess,
            gap=sides[1] - below,
            message=f"Not converged: {'; '.join(wrong)}." if wrong else "The two directions meet.",
            forward=forward,
            reverse=reverse,
        )

    def _next_key(self) -> PRNGKeyArray:
        self.keys_used += 1
        return jax.random.fold_in(self.key, self.keys_used)

    def _left(self) -> float:
        return self.asked.seconds - (time.perf_counter() - self.began)

    def _tell(self, part: float) -> None:
        self.done = part
        self.told(part)


def _journeys(arrivals: Arrivals, back: np.ndarray, course: Course, n: int) -> Journeys:
    """Give whole journeys' weights in terms of Z from those of the stretches."""
    reverse = back.sum(0) - float(course.path.log_z_of_base)
    return Journeys(arrivals.log_weights, reverse[:n], reverse[n:])


def _groups_of(log_weights: np.ndarray) -> int:
    """Give as many groups as still have enough chains that count, at most sixteen."""
    ess = float(effective_sample_size(jnp.asarray(log_weights)))
    fitting = [g for g in GROUPS if ess / g >= ESS_OF_GROUP and len(log_weights) >= 4 * g]
    return fitting[0] if fitting else 1


@eqx.filter_jit
def _begun(path: AbstractPath, chains: int, *, key: PRNGKeyArray) -> Array:
    return start_annealing(path, chains, key=key).v


def _checked(asked: Settings, paths: Sequence[AbstractPath]) -> Settings:
    least = {"chains": 2, "steps": 1, "burn_in": 1}
    for name, lowest in least.items():
        number = getattr(asked, name)
        if number is not None and number < lowest:
            raise InputError(f"{name}: expected a whole number of at least {lowest}; got {number}.")
    for name in ("tolerance", "seconds"):
        number = getattr(asked, name)
        if not number > 0:
            raise InputError(f"{name}: expected a positive number; got {number}.")
    for path in paths:
        base = path.at(0.0)
        if abs(np.asarray(base.inputs_to_h(jnp.eye(base.visible.size)))).max() > 0:
            raise InputError(
                "path: expected one that begins at a machine without weights, as Heating does;"
                " begin a History with one."
            )
    return asked
