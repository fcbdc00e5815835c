"""One update: form a batch of rows, estimate and transform the gradient, and take a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PRNGKeyArray

from .._base.module import AbstractModule
from .._base.parameters import map_parameters
from .._base.sharding import with_weights_spread
from ..data import Dataset
from ..gradients import AbstractGradient, PhaseInfo
from ..layers import AbstractLayer
from ..layers.capabilities import is_conditional
from ..rbm import RBM
from ..samplers import Cloud
from ..transforms.precision import rounded
from .state import TrainState


class Method(AbstractModule):
    """The parts of an update that are fixed when it is compiled."""

    gradient: AbstractGradient
    update: Callable
    batch_size: int = eqx.field(static=True)
    short_last: bool = eqx.field(static=True)  # whether an epoch's last batch is not full
    rounds: bool = eqx.field(static=True)  # whether products are taken in bfloat16

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Return the gradient method's state before the first update."""
        if self.rounds:
            rbm = rounded(rbm)
        return self.gradient.init(rbm, batch, key=key)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray
    ) -> tuple[RBM, Any, PhaseInfo]:
        """Return the gradient, the new state and statistics, using rounded weights if `rounds`."""
        if not self.rounds:
            return self.gradient.estimate(rbm, batch, state, key=key)
        grads, state, info = self.gradient.estimate(rounded(rbm), batch, state, key=key)
        # A gradient has the structure of its model, whose weights are of the class `Rounded`.
        grads = jax.tree.unflatten(jax.tree.structure(rbm), jax.tree.leaves(grads))
        return grads, state, info

    def notes(self, rbm: RBM, state: Any) -> tuple[str, ...]:
        """Return notes on the run from the state of its gradient method."""
        notes = tuple(self.gradient.status(rbm, state).notes)
        if not self.rounds:
            return notes
        return (*notes, "products were taken in bfloat16, in which the states are exact")


def make_update(
    method: Method, batch: Cloud, mass: Array | None, state: TrainState, *, key: PRNGKeyArray
) -> TrainState:
    """Make one update: estimate the gradient on a batch, transform it, and step."""
    rbm = state.rbm
    grads, gradient_state, info = method.estimate(rbm, batch, state.gradient, key=key)
    extra: dict[str, Any] = {"info": info}
    if mass is not None:
        grads = jax.tree.map(lambda g: mass * g, grads)
        extra["mass"] = mass
    updates, optimizer_state = method.update(grads, state.optimizer, rbm, **extra)
    moved = map_parameters(jnp.add, rbm, updates).project()
    moved, optimizer_state = with_weights_spread((moved, optimizer_state), rbm.weights.shape)
    return state._replace(
        rbm=moved, gradient=gradient_state, optimizer=optimizer_state, updates=state.updates + 1
    )


def batch_of(
    visible: AbstractLayer,
    dataset: Dataset,
    indices: Array,
    count: Any = None,
    *,
    key: PRNGKeyArray,
) -> tuple[Cloud, Array | None]:
    """Return rows as a cloud whose weights sum to 1, and their mass: the mean weight of a row.

    The gradient times the mass is an unbiased gradient of the weighted log-likelihood, for any
    batch size. A mass of None stands for 1. If rows have missing values, the columns of missing
    units are NaN, and the cloud also contains the rows' indices. Indices after the first `count`
    only pad a short batch.
    """
    rows = dataset.take(indices, key=key)
    weights, mass = dataset.weights_of(indices, count)
    if not dataset.missing and not is_conditional(visible):  # no state is kept for each row
        states = visible.encode(rows)
        return Cloud(states, weights.astype(states.dtype)), mass
    states = visible.encode_seen(rows)
    places = indices
    if count is not None:
        places = jnp.where(jnp.arange(len(indices)) < count, indices, len(dataset))
    return Cloud(states, weights.astype(states.dtype), places), mass


def run_keys(key: PRNGKeyArray) -> Key[Array, " 3"]:
    """Split a run's key into keys for the initial state, the shuffling of rows and the updates."""
    return jax.random.split(key, 3)
