"""Persistent chains with replica exchange, on a ladder that grows during training."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import ndtri
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._base.checks import positive_integer
from ..errors import InputError
from ..layers import AbstractLayer
from ..path import AbstractPath, Heating, History, Line
from ..rbm import RBM
from ..samplers import Cloud, ReplicaExchange
from .base import About, AbstractGradient, Estimate, Status, cloud_gradient
from .starting import start_states

RENEWAL = 0.02  # weight of a new step in the running mean of acceptance, which covers ~50 steps
PACE = 0.05  # fraction of the distance to its target that a temperature moves per update
WAIT = 100  # steps between changes of the ladder, in which the acceptance is measured


class LadderState(NamedTuple):
    """The replicas and their ladder, kept from update to update.

    Attributes:
        replicas: the sampler's state, whose v has shape (models, chains, visible).
        ladder: temperatures or models, one for each place on the ladder.
        at_end: a mask of the places that hold the current model, shape (models,).
        acceptance: running mean of the swap probability of neighbours, shape (models − 1,).
        since: number of steps since the ladder last changed.
    """

    replicas: Any
    ladder: Any
    at_end: Bool[Array, " models"]
    acceptance: Float[Array, " pairs"]
    since: Array


class AbstractLadder(AbstractGradient):
    r"""Persistent chains moved by replica exchange, on a ladder built during the run.

    A run starts with independent units, which need no ladder, and ends with a model that may need a
    long ladder. There are `models` places. Places not yet used hold the current model, and their
    replicas serve as additional chains of it. A place is added to the ladder when adjacent models
    would otherwise swap with a probability below `acceptance`.

    Attributes:
        models: number of places, the maximum length of the ladder.
        chains: number of replicas at each place.
        acceptance: target for the mean acceptance probability of a swap.
        sweeps: Gibbs sweeps between swaps.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> method = hm.Trajectory(models=12, chains=5)
        >>> batch = hm.samplers.Cloud.uniform(jnp.ones((1, 2)))
        >>> state = method.init(rbm, batch, key=jax.random.key(0))
        >>> isinstance(method, hm.gradients.AbstractLadder), state.replicas.v.shape
        (True, (12, 5, 2))
        >>> int(method.metrics(state)["ladder"])  # the base and the present model
        2
    """

    models: int = eqx.field(static=True, default=12)
    chains: int = eqx.field(static=True, default=100)
    acceptance: float = eqx.field(static=True, default=0.5)
    sweeps: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        name = type(self).__name__
        for field in ("models", "chains", "sweeps"):
            positive_integer(getattr(self, field), f"{name} {field}")
        if self.models < 3:
            raise InputError(f"{name} models: expected at least 3; got {self.models}.")
        if not 0 < self.acceptance < 1:
            raise InputError(
                f"{name} acceptance: expected a probability between 0 and 1; got {self.acceptance}."
            )

    @abstractmethod
    def first_ladder(self, path: Heating, times: Float[Array, " models"]) -> Any:
        """Return the ladder before the first update.

        Args:
            path: the path from the base to the model.
            times: the position of each place on this path, from 0 to 1.
        """

    @abstractmethod
    def on(self, rbm: RBM, state: LadderState) -> tuple[AbstractPath | None, Array]:
        """Return the path from the base to the model, and each place's position on this path."""

    @abstractmethod
    def changed(self, rbm: RBM, state: LadderState) -> LadderState:
        """Return the state after adding, removing or moving places of the ladder."""

    def status(self, rbm: RBM, state: Any) -> Status:
        if state is None:
            return Status()
        return Status(chains_at_end(state), (self.sampler(rbm, state), 1))

    def sampler(self, rbm: RBM, state: LadderState) -> ReplicaExchange:
        """Return the replica-exchange sampler for the current ladder."""
        path, times = self.on(rbm, state)
        blank = ReplicaExchange(path, 2, self.sweeps)
        return eqx.tree_at(lambda sampler: sampler.times, blank, times)

    def metrics(self, state: Any) -> dict[str, Array]:
        """Return the number of models on the ladder, and the smallest swap probability."""
        length = 1 + (~state.at_end).sum()
        return {"ladder": length, "acceptance": jnp.append(state.acceptance, 1.0).min()}

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> LadderState:
        """Draw all replicas from the model with zero weights, on a ladder of two models.

        If the model has several modes, as a low-rank start or a trained model has, the replicas
        start at rows of the batch instead, and half of the places are on the ladder: only on a
        complete ladder do replicas pass from mode to mode.
        """
        key_draw, _ = jax.random.split(key)
        v, are_rows = start_states(rbm, batch, (self.models, self.chains), key=key_draw)
        # The other half holds the model itself: many chains of it, and places for a longer ladder.
        on_ladder = jnp.where(are_rows, max(2, self.models // 2), 1)
        times = jnp.minimum(jnp.arange(self.models, dtype=v.dtype) / on_ladder, 1.0)
        accepted = jnp.ones(self.models - 1, v.dtype)
        replicas = ReplicaExchange(None, 2).init_each(v)
        ladder = self.first_ladder(_path_to(rbm, are_rows), times)
        return LadderState(replicas, ladder, times == 1.0, accepted, jnp.zeros((), jnp.int32))

    def moved(self, rbm: RBM, state: LadderState, *, key: PRNGKeyArray) -> LadderState:
        """Run one step of replica exchange, and update the running mean acceptance rates."""
        replicas, info = self.sampler(rbm, state).step(rbm, state.replicas, key=key)
        accepted = state.acceptance + RENEWAL * (info.acceptance - state.acceptance)
        return state._replace(replicas=replicas, acceptance=accepted, since=state.since + 1)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: LadderState, *, key: PRNGKeyArray
    ) -> Estimate:
        """Run a step of replica exchange, return the gradient, and adapt the ladder."""
        state = self.moved(rbm, state, key=key)
        grads, info = cloud_gradient(rbm, batch, chains_at_end(state))
        return grads, self.changed(rbm, state), info


def _path_to(rbm: RBM, has_modes: Bool[Array, ""]) -> Heating:
    """Return the path from independent units to the model, on which the ladder begins.

    In a model of small weights the independent units have the means of the data. A model with modes
    is reached from zero biases and weights: on the way from units with the data's means, which are
    near the largest mode, all other modes have almost no mass until t is nearly 1.
    """
    neutral = Heating.from_neutral(rbm)
    own = Heating(rbm.visible, rbm.hidden, rbm)

    def chosen(of_neutral: Array, of_model: Array) -> Array:
        return jnp.where(has_modes, of_neutral, of_model)

    path: Any = jax.tree.map(chosen, neutral, own)
    return path


def chains_at_end(state: LadderState) -> Cloud:
    """Return the replicas at all places that hold the current model."""
    v = state.replicas.v
    n = v.shape[1]
    weights = jnp.repeat(state.at_end / (state.at_end.sum() * n), n)
    return Cloud(v.reshape(-1, v.shape[-1]), weights.astype(v.dtype))


class Temperatures(NamedTuple):
    """A ladder of temperatures from the initial independent units (t = 0) to the model (t = 1).

    Attributes:
        times: t of each place.
        visible: the visible layer at t = 0.
        hidden: the hidden layer at t = 0.
    """

    times: Float[Array, " models"]
    visible: AbstractLayer
    hidden: AbstractLayer


class AbstractTempering(AbstractLadder):
    r"""Parallel tempering at temperatures adapted so that adjacent models swap equally often.

    The models of the ladder interpolate linearly between the initial layers, with zero weights, and
    the current model. Adjacent models that swap with probability a are assigned the distance ℓ =
    −Φ⁻¹(a/2), where Φ is the normal distribution function. The ladder has as many temperatures as
    are needed to divide its total length into steps with the target `acceptance`. In each update
    the temperatures move only a small fraction of the distance to their new values, so that the
    replicas can equilibrate.

    Source: Desjardins, Courville & Bengio 2010 (adaptive tempering in training); Kofke 2002; Syed,
    Bouchard-Côté, Deligiannidis & Doucet 2022.
    """

    def first_ladder(self, path: Heating, times: Float[Array, " models"]) -> Temperatures:
        """Return a ladder of these temperatures."""
        return Temperatures(times, path.visible, path.hidden)

    def on(self, rbm: RBM, state: LadderState) -> tuple[AbstractPath | None, Array]:
        """Return the path from the initial layers to the model, and the temperatures."""
        return Heating(state.ladder.visible, state.ladder.hidden, rbm), state.ladder.times

    def changed(self, rbm: RBM, state: LadderState) -> LadderState:
        """Move the temperatures towards steps of equal length."""
        lengths = -ndtri(jnp.clip(state.acceptance, 1e-6, 1.0) / 2)
        along = jnp.append(0.0, jnp.cumsum(lengths + 1e-6))
        steps = jnp.clip(along[-1] / -ndtri(self.acceptance / 2), 1.0, self.models - 1.0)
        times = state.ladder.times
        wanted = jnp.interp(jnp.arange(self.models) / steps * along[-1], along, times)
        moved = times + PACE * (wanted - times)
        moved = jnp.where(moved > 1.0 - 1e-3, 1.0, moved).at[0].set(0.0)
        return state._replace(ladder=state.ladder._replace(times=moved), at_end=moved == 1.0)


class Tempering(AbstractTempering):
    """PCD with chains from parallel tempering, as described in `AbstractTempering`.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.Tempering(models=3, chains=10)
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> method.about.title, int(fit.history[-1]["ladder"])
        ('PT-1', 2)
    """

    @property
    def about(self) -> About:
        return About(f"PT-{self.sweeps}", self.sweeps, multiplies_states=True)


class Trajectory(AbstractLadder):
    r"""Parallel trajectory tempering: the ladder consists of earlier models of the same run.

    The current model is added to the ladder whenever it and the last added model swap with a
    probability below `acceptance`. When all places are taken, the place whose neighbours are
    nearest to each other is freed. Successive models of a run can be close to one another even if
    successive temperatures are not: a phase that appears during training at a second-order
    transition is reached continuously from earlier models, whereas a ladder of temperatures may
    cross a discontinuity.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.Trajectory(models=3, chains=10)
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> method.about.title, int(fit.history[-1]["ladder"])
        ('PTT-1', 2)

    Source: Béreux, Decelle, Furtlehner, Rosset & Seoane 2025.
    """

    @property
    def about(self) -> About:
        return About(f"PTT-{self.sweeps}", self.sweeps)

    def first_ladder(self, path: Heating, times: Float[Array, " models"]) -> RBM:
        """Return a ladder of the models at these positions, in place of earlier models."""
        base = RBM(path.visible, path.hidden, path.rbm.uncoupled.weights)
        models: Any = jax.vmap(Line(base, path.rbm).at)(times)
        return models

    def on(self, rbm: RBM, state: LadderState) -> tuple[AbstractPath | None, Array]:
        """Return the path through the kept models and the current model, and their positions."""

        def present(past: Array, now: Array) -> Array:
            return jnp.where(state.at_end.reshape(-1, *[1] * now.ndim), now, past)

        models: Any = jax.tree.map(present, state.ladder, rbm)
        return History(models), jnp.linspace(0.0, 1.0, self.models, dtype=rbm.visible.dtype)

    def changed(self, rbm: RBM, state: LadderState) -> LadderState:
        """Add the current model to the ladder if due, after freeing a place if none is left."""
        first = (~state.at_end).sum()  # the first place that holds the current model
        is_far = state.acceptance[first - 1] < self.acceptance
        due = is_far & (state.since >= WAIT)
        is_full = first >= self.models - 1
        state = jax.lax.cond(due & is_full, _thinned, lambda state: state, state)
        first = jnp.where(due & is_full, first - 1, first)
        place = jnp.arange(self.models) == first

        def keep(old: Array, now: Array) -> Array:
            return jnp.where(place.reshape(-1, *[1] * now.ndim) & due, now, old)

        return state._replace(
            ladder=jax.tree.map(keep, state.ladder, rbm),
            at_end=state.at_end & ~(place & due),
            acceptance=jnp.where(place[:-1] & due, 1.0, state.acceptance),
            since=jnp.where(due, 0, state.since),
        )


def _thinned(state: LadderState) -> LadderState:
    """Free the place with the nearest neighbours, and give its replicas to the current model."""
    places = len(state.at_end)
    lengths = -ndtri(jnp.clip(state.acceptance, 1e-6, 1.0) / 2)
    out = 1 + jnp.argmin(lengths[:-1] + lengths[1:])
    order = jnp.arange(places)
    order = jnp.where(order < out, order, order + 1).at[-1].set(out)
    joined = 2.0 * jax.scipy.stats.norm.cdf(-(lengths[out - 1] + lengths[out]))
    pairs = order[:-1]
    accepted = jnp.where(pairs < places - 1, state.acceptance[pairs.clip(max=places - 2)], 1.0)
    accepted = accepted.at[out - 1].set(joined)
    replicas = state.replicas
    return state._replace(
        replicas=replicas._replace(
            v=replicas.v[order], heading=replicas.heading[order], trips=replicas.trips[order]
        ),
        ladder=jax.tree.map(lambda leaf: leaf[order], state.ladder),
        at_end=state.at_end[order].at[-1].set(True),
        acceptance=accepted,
    )
