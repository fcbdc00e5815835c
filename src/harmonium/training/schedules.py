"""Schedules of the learning rate and the momentum over a run.

The learning rate and the run's length are kept in the optimiser's state, not in the compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from .._base.numerics import scalar
from ..rbm import RBM
from .base import nodes_in, with_nodes, with_values
from .transformations import transformation

Schedule = Callable[[Array], Any]


class RateState(NamedTuple):
    """The learning rate before the schedule, the run's length, and the number of updates made."""

    rate: Array
    total: Array
    count: Array


def scheduled(
    rate: float, total: int, hold: float = 0.5, schedule: Schedule | None = None
) -> optax.GradientTransformationExtraArgs:
    """Turn a gradient into a descent step: multiply it by −rate · `hold_then_fall`.

    The rate and the length of the run are arrays in the state, not constants of the compiled loop.
    Each model of an ensemble can therefore have its own rate, and runs of different lengths share
    one compiled program.

    Args:
        rate: learning rate.
        total: number of updates of the run.
        hold: fraction of the run at full rate, before the fall to zero; 1 for a constant rate.
        schedule: an optax schedule in place of `hold`; its value multiplies the rate.

    Example:
        >>> grads = hm.RBM.from_arrays([[1.0]], [0.0], [0.0])
        >>> optimizer = hm.training.scheduled(rate=0.5, total=4)
        >>> steps, state = [], optimizer.init(grads)
        >>> for _ in range(4):
        ...     updates, state = optimizer.update(grads, state)
        ...     steps.append(float(updates.weights[0, 0]))
        >>> steps
        [-0.5, -0.5, -0.5, -0.25]
    """

    def init(rbm: RBM) -> RateState:
        return first_rate_state(rbm, rate, total)

    def update(
        grads: RBM, state: RateState, rbm: RBM | None = None, **extra: Any
    ) -> tuple[RBM, RateState]:
        step = -step_size(state, hold, schedule)
        return jax.tree.map(lambda g: step * g, grads), state._replace(count=state.count + 1)

    return transformation(init, update)


def first_rate_state(rbm: RBM, rate: float, total: int) -> RateState:
    """Return the state before the first update."""
    dtype = rbm.visible.dtype
    return RateState(scalar(rate, dtype), scalar(total, dtype), scalar(0, np.int32))


def step_size(state: RateState, hold: float, schedule: Schedule | None) -> Array:
    """Return the learning rate of the present update."""
    if schedule is not None:
        return state.rate * jnp.asarray(schedule(state.count), state.rate.dtype)
    return state.rate * hold_then_fall(state.count, state.total, hold)


def hold_then_fall(count: Array, total: Array, hold: float) -> Array:
    """Return 1 for the first fraction `hold` of a run, then a linear fall to 0 at its end.

    Example:
        >>> count, total = jnp.array([0, 50, 75, 100]), jnp.array(100.0)
        >>> hm.training.hold_then_fall(count, total, 0.5).tolist()
        [1.0, 1.0, 0.5, 0.0]
    """
    if hold == 1.0:
        return jnp.ones_like(total)
    return jnp.clip((total - count) / (total * (1.0 - hold)), 0.0, 1.0)


class MomentumState(NamedTuple):
    """The velocity, the run's length, and the number of updates made."""

    velocity: Any
    total: Array
    count: Array


def ramped_momentum(
    start: float = 0.5, end: float = 0.9, total: int = 10_000, ramp: float = 0.1
) -> optax.GradientTransformationExtraArgs:
    """Accumulate gradients g in m ← g + α m, with a momentum α that grows at the start of a run.

    α grows linearly from `start` to `end` over the first fraction `ramp` of `total` updates, since
    a high momentum makes a run oscillate while the gradients are large (Hinton 2010, section 9). A
    constant gradient is multiplied by 1/(1 − α), so at the same rate, learning with momentum 0.9 is
    five times as fast as with momentum 0.5.

    Example:
        >>> grads = hm.RBM.from_arrays([[1.0]], [0.0], [0.0])
        >>> momentum = hm.training.ramped_momentum(start=0.5, end=0.5, total=100)
        >>> state = momentum.init(grads)
        >>> for _ in range(3):
        ...     velocity, state = momentum.update(grads, state)
        >>> float(velocity.weights[0, 0])  # 1 + 0.5 + 0.25
        1.75
    """

    def init(rbm: RBM) -> MomentumState:
        velocity = jax.tree.map(jnp.zeros_like, rbm)
        return MomentumState(velocity, scalar(total, rbm.visible.dtype), scalar(0, np.int32))

    def update(
        grads: RBM, state: MomentumState, rbm: RBM | None = None, **extra: Any
    ) -> tuple[RBM, MomentumState]:
        done = jnp.minimum(state.count / (ramp * state.total), 1.0)
        momentum = start + (end - start) * done
        velocity = jax.tree.map(lambda g, m: g + momentum * m, grads, state.velocity)
        return velocity, state._replace(velocity=velocity, count=state.count + 1)

    return transformation(init, update)


def rate_of(state: Any) -> float | None:
    """Return the learning rate in an optimiser's state, before its schedule, or None."""
    return next((float(node.rate) for node in nodes_in(state, RateState)), None)


def reschedule(state: Any, total: int | float, rate: float | None = None) -> Any:
    """Return an optimiser's state with this run length and, unless `rate` is None, this rate."""
    for kind in (RateState, MomentumState):
        state = with_nodes(state, kind, lambda node: with_values(node, total=total))
    if rate is None:
        return state
    return with_nodes(state, RateState, lambda node: with_values(node, rate=rate))
