"""A gradient method that monitors its chains and adapts its sampler if they mix too slowly."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.threefry import fold_in, split
from ..gradients import About, PhaseInfo, Status, cloud_gradient
from ..gradients.tempering import RENEWAL, WAIT, AbstractTempering, chains_at_end
from ..rbm import RBM
from ..samplers import Cloud, Gibbs
from ..samplers.gibbs import after_sweeps

DIRECTIONS = 2  # leading directions of the weights, along which chains are monitored
FORGOTTEN = math.exp(-2.0)  # the fraction of a correlation that remains after one relaxation time
MOST_ACTS = 32  # most changes that are recorded, since arrays cannot grow in a compiled loop
NO_CHANGE, SWEEPS, EXCHANGE, GIVEN_UP = range(4)  # kinds of changes
LONGER = 16  # factor by which `most_sweeps` is multiplied with a ladder
STUCK = 1e4  # relaxation time, in sweeps, above which chains count as stuck


class AutopilotState(NamedTuple):
    """The autopilot's measurements, and the changes that it has made so far.

    Attributes:
        ladder: the chains, and the ladder on which they may be placed later.
        sweeps: k, the number of sweeps per update.
        engaged: whether chains are exchanged along the ladder.
        directions: leading directions of the weights, shape (visible, few).
        moments: running means of each observable's covariance with its own value one update before,
            and of its variance, shape (2, observables); values of single chains come first, then
            means over groups of chains.
        updates: number of updates made.
        since: updates since the last change.
        acts: update, kind, new value and relaxation time of each change, shape (32, 4).
        n_acts: number of changes.
    """

    ladder: Any
    sweeps: Int[Array, ""]
    engaged: Bool[Array, ""]
    directions: Float[Array, "visible few"]
    moments: Float[Array, "2 observables"]
    updates: Int[Array, ""]
    since: Int[Array, ""]
    acts: Float[Array, "acts 4"]
    n_acts: Int[Array, ""]


class Autopilot(AbstractTempering):
    r"""PCD that keeps its chains at equilibrium: `hm.fit(..., gradient="auto")`.

    The method starts as PCD-1 with `models · chains` chains. At every update, observables of all
    chains (the free energy, and v along leading directions of the weights) are compared before and
    after k sweeps. If ρ is the largest autocorrelation of these observables, the relaxation time is

        relaxation = −2k / log ρ   sweeps,

    and the chains keep up with learning as long as this time is at most k, that is, ρ ≤ e^(−2). If
    the relaxation time approaches k, k is doubled, up to `most_sweeps`. If that is not enough, the
    chains are put on a ladder of temperatures, as in `Tempering`, and k may grow to sixteen times
    `most_sweeps`. On the ladder, the means of the observables over groups of chains, one chain at
    each temperature, have to decorrelate too: otherwise chains that merely take turns at
    temperature 1 would make mixing seem faster than it is. If each chain stays in its own mode, ρ
    is near 1, and the slow mixing is detected; a mode that no chain has found cannot be detected.
    A run that starts at a model with several modes starts on the ladder.

    The `notes` of the `Fit` report each change and its reason, as does `harmonium train`.

    Attributes:
        models: as in `Tempering`.
        chains: as in `Tempering`.
        acceptance: as in `Tempering`.
        sweeps: the initial k.
        most_sweeps: the largest k without a ladder; with a ladder, k may be sixteen times as large.
            It bounds the cost of an update.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.training.Autopilot(models=3, chains=10)
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> int(fit.history[-1]["k"]), int(fit.history[-1]["ladder"]), fit.notes
        (1, 1, ())

    Source: Decelle, Furtlehner & Seoane 2021 (why k must reach the relaxation time).
    """

    models: int = eqx.field(static=True, default=10)
    chains: int = eqx.field(static=True, default=50)
    most_sweeps: int = eqx.field(static=True, default=16)

    def __check_init__(self):
        positive_integer(self.most_sweeps, "Autopilot most_sweeps")

    @property
    def about(self) -> About:
        """The properties of the method, except the number of sweeps, which changes during a run."""
        return About("autopilot", multiplies_states=True)

    def status(self, rbm: RBM, state: Any) -> Status:
        """Return the chains, the sampler that moves the chains at present, and the changes made."""
        if state is None:
            return Status()
        sampler = Gibbs(1)
        if bool(state.engaged):
            sampler = self.sampler(rbm, state.ladder)
        notes = [_in_words(*act) for act in state.acts[: int(state.n_acts)].tolist()]
        return Status(chains_at_end(state.ladder), (sampler, int(state.sweeps)), notes)

    def metrics(self, state: AutopilotState) -> dict[str, Array]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return k, the relaxation time in sweeps, and the number of temperatures in the ladder."""
        relaxation = _relaxation(_correlation(state), state.sweeps)
        length = jnp.where(state.engaged, 1 + (~state.ladder.at_end).sum(), 1)
        return {"k": state.sweeps, "relaxation": relaxation, "ladder": length}

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> AutopilotState:
        key_ladder, key_directions = split(key)
        ladder = super().init(rbm, batch, key=key_ladder)
        # Sweeps alone do not move chains between the modes of a model that starts with some.
        engaged = (~ladder.at_end).sum() > 1
        ladder = ladder._replace(at_end=ladder.at_end | ~engaged)
        shape = (rbm.visible.size, DIRECTIONS)
        dtype = rbm.visible.dtype
        none = jnp.zeros((), jnp.int32)
        return AutopilotState(
            ladder,
            jnp.asarray(self.sweeps, jnp.int32),
            engaged,
            jax.random.normal(key_directions, shape, dtype),
            jnp.zeros((2, 2 * (1 + DIRECTIONS)), dtype),
            none,
            none,
            jnp.zeros((MOST_ACTS, 4), dtype),
            none,
        )

    def estimate(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, rbm: RBM, batch: Cloud, state: AutopilotState, *, key: PRNGKeyArray
    ) -> tuple[RBM, AutopilotState, PhaseInfo]:
        """Move the chains, return the gradient, and adapt k or the ladder to the correlation."""
        before = self._observables(rbm, state)
        ladder = jax.lax.cond(
            state.engaged,
            lambda: self._exchanged(rbm, state, key=key),
            lambda: self._swept(rbm, state, key=key),
        )
        state = state._replace(ladder=ladder, updates=state.updates + 1, since=state.since + 1)
        moments = self._moments(before, self._observables(rbm, state), state)
        state = state._replace(
            moments=state.moments + RENEWAL * (moments - state.moments),
            directions=_power_iteration(rbm, state.directions),
        )
        grads, info = cloud_gradient(rbm, batch, chains_at_end(state.ladder))
        return grads, self._adapted(rbm, state), info

    def _swept(self, rbm: RBM, state: AutopilotState, *, key: PRNGKeyArray) -> Any:
        """Make k Gibbs sweeps of all chains, none of which is on the ladder yet."""
        v = state.ladder.replicas.v
        # k is usually 1, so most of the sweeps in a longer block would be computed for nothing.
        flat = v.reshape(-1, v.shape[-1])
        moved = after_sweeps(rbm, flat, state.sweeps, key=key, turns=1)
        replicas = state.ladder.replicas._replace(v=moved.reshape(v.shape))
        return state.ladder._replace(replicas=replicas)

    def _exchanged(self, rbm: RBM, state: AutopilotState, *, key: PRNGKeyArray) -> Any:
        """Swap and sweep k times along the ladder, and adapt the temperatures."""

        def step(i: Array, ladder: Any) -> Any:
            return self.moved(rbm, ladder, key=fold_in(key, i))

        return self.changed(rbm, jax.lax.fori_loop(0, state.sweeps, step, state.ladder))

    def _observables(
        self, rbm: RBM, state: AutopilotState
    ) -> Float[Array, "observables models columns"]:
        """Return observables of the chains: F(v), and the projections of v on the directions."""
        v = state.ladder.replicas.v
        overlaps = jnp.moveaxis(v @ state.directions, -1, 0)
        return jnp.concatenate([rbm.free_energy(v)[None], overlaps])

    def _moments(
        self,
        before: Float[Array, "observables models columns"],
        after: Float[Array, "observables models columns"],
        state: AutopilotState,
    ) -> Float[Array, "2 twice_observables"]:
        """Return the moments of observables over chains at temperature 1 and groups of chains."""
        weights = chains_at_end(state.ladder).weights
        flat = (len(before), -1)
        single = _weighted(before.reshape(flat), after.reshape(flat), weights)
        uniform = jnp.full(before.shape[-1], state.engaged / before.shape[-1], weights.dtype)
        columns = _weighted(before.mean(1), after.mean(1), uniform)
        return jnp.concatenate([single, columns], axis=1)

    def _adapted(self, rbm: RBM, state: AutopilotState) -> AutopilotState:
        """Double k, or put the chains on the ladder, if the correlation is too large."""
        correlation = _correlation(state)
        most = jnp.where(state.engaged, LONGER * self.most_sweeps, self.most_sweeps)
        change = _change(state, correlation, most)
        doubles = change == SWEEPS
        engages = change == EXCHANGE
        sweeps = jnp.where(doubles, jnp.minimum(2 * state.sweeps, most), state.sweeps)
        # Doubling the sweeps squares the correlation.
        moments = state.moments.at[0].multiply(jnp.where(doubles, correlation, 1.0))
        # The first place moves to inverse temperature 0; the others leave 1 later, one by one.
        is_first = (jnp.arange(self.models) == 0) & engages
        times = jnp.where(is_first, 0.0, state.ladder.ladder.times)
        ladder = state.ladder._replace(
            at_end=state.ladder.at_end & ~is_first, ladder=state.ladder.ladder._replace(times=times)
        )
        value = jnp.where(engages, self.models, sweeps)
        act = (state.updates, change, value, _relaxation(correlation, state.sweeps))
        row = jnp.stack([jnp.asarray(x, rbm.visible.dtype) for x in act])
        is_noted = (change != NO_CHANGE) & (state.n_acts < MOST_ACTS)
        is_row = (jnp.arange(MOST_ACTS) == state.n_acts)[:, None] & is_noted
        return state._replace(
            ladder=ladder,
            sweeps=sweeps,
            engaged=state.engaged | engages,
            moments=moments,
            since=jnp.where(doubles | engages, 0, state.since),
            acts=jnp.where(is_row, row, state.acts),
            n_acts=state.n_acts + is_noted,
        )


def _change(state: AutopilotState, correlation: Array, most: Array) -> Int[Array, ""]:
    """Return which change is due, if any: more sweeps if allowed, else the ladder, else a note."""
    has_noted = state.acts[state.n_acts - 1, 1] == GIVEN_UP
    cases = [
        ((state.since < WAIT) | ~(correlation > FORGOTTEN / 2), NO_CHANGE),
        (state.sweeps < most, SWEEPS),
        (~(correlation > FORGOTTEN), NO_CHANGE),
        (~state.engaged, EXCHANGE),
        (has_noted, NO_CHANGE),
    ]
    conditions, changes = zip(*cases, strict=True)
    return jnp.select(list(conditions), [jnp.asarray(c) for c in changes], GIVEN_UP)


def _in_words(update: float, kind: float, value: float, relaxation: float) -> str:
    """Return a sentence that describes one change, a row of `acts`."""
    why = f"the relaxation time of the chains was {relaxation:.3g} sweeps"
    if relaxation > STUCK:
        why = "the chains did not mix"
    what = "the chains lag behind (allow more sweeps, or lower the learning rate)"
    if kind == SWEEPS:
        what = f"{value:.0f} sweeps per update"
    elif kind == EXCHANGE:
        what = f"a ladder of up to {value:.0f} temperatures"
    return f"from update {update:,.0f} on: {what}, because {why}"


def _weighted(
    before: Float[Array, "observables n"],
    after: Float[Array, "observables n"],
    weights: Float[Array, " n"],
) -> Float[Array, "2 observables"]:
    """Return each observable's covariance between before and after, and its variance."""
    first = before - (before @ weights)[:, None]
    second = after - (after @ weights)[:, None]
    return jnp.stack([(first * second) @ weights, 0.5 * (first**2 + second**2) @ weights])


def _correlation(state: AutopilotState) -> Float[Array, ""]:
    """Return the largest autocorrelation of any observable over one update."""
    covariance, variance = state.moments
    tiny = jnp.finfo(variance.dtype).tiny
    correlations = jnp.where(variance > tiny, covariance / jnp.maximum(variance, tiny), 0.0)
    return correlations.max().clip(1e-6, 1.0)


def _relaxation(correlation: Array, sweeps: Array) -> Array:
    """Return the relaxation time −2k / log ρ in sweeps, at most a million times k."""
    return -2.0 * sweeps / jnp.minimum(jnp.log(correlation), -2e-6)


def _power_iteration(
    rbm: RBM, directions: Float[Array, "visible few"]
) -> Float[Array, "visible few"]:
    """Turn directions towards the leading left singular vectors of W by one power iteration."""
    turned = ((directions.T @ rbm.weights) @ rbm.weights.T).T
    orthonormal = []
    for column in turned.T:
        for other in orthonormal:
            column = column - (column @ other) * other
        norm = jnp.linalg.norm(column)
        orthonormal.append(jnp.where(norm > 1e-30, column / jnp.maximum(norm, 1e-30), column))
    return jnp.stack(orthonormal, axis=1)
