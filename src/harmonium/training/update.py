"""One update: estimate the gradient on a batch, transform it, and step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..gradients import AbstractGradient, PhaseInfo
from ..parameters import map_parameters
from ..precision import rounded
from ..rbm import RBM
from ..samplers import Cloud
from .state import TrainState


class Method(eqx.Module):
    """The parts of an update that are fixed when it is compiled."""

    gradient: AbstractGradient
    update: Callable
    batch_size: int = eqx.field(static=True)
    short_last: bool = eqx.field(static=True)  # whether an epoch's last batch is not full
    rounds: bool = eqx.field(static=True)  # whether products are taken in bfloat16

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Return the gradient method's state before the first update."""
        return self.gradient.init(rounded(rbm) if self.rounds else rbm, batch, key=key)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray
    ) -> tuple[RBM, Any, PhaseInfo]:
        """Return (gradient, new state, info), from rounded weights if `rounds`."""
        if not self.rounds:
            return self.gradient.estimate(rbm, batch, state, key=key)
        grads, state, info = self.gradient.estimate(rounded(rbm), batch, state, key=key)
        return jax.tree.unflatten(jax.tree.structure(rbm), jax.tree.leaves(grads)), state, info

    def notes(self, rbm: RBM, state: Any) -> tuple[str, ...]:
        """Return the notes on a run, from the state of its gradient method."""
        rounds = ("products were taken in bfloat16, in which the states are exact",)
        return tuple(self.gradient.status(rbm, state).notes) + rounds * self.rounds


def make_update(
    method: Method, batch: Cloud, mass: Array | None, state: TrainState, *, key: PRNGKeyArray
) -> TrainState:
    """Make one update: estimate the gradient on a batch, transform it, and step."""
    rbm = state.rbm
    grads, gradient_state, info = method.estimate(rbm, batch, state.gradient, key=key)
    extra: dict[str, Any] = {"info": info}
    if mass is not None:
        grads, extra["mass"] = jax.tree.map(lambda g: mass * g, grads), mass
    updates, optimizer_state = method.update(grads, state.optimizer, rbm, **extra)
    moved = map_parameters(jnp.add, rbm, updates).project()
    return TrainState(moved, gradient_state, optimizer_state, state.updates + 1)
