"""Sparse activity of hidden units: a penalty that pulls mean activities towards a target."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from ..errors import InputError
from ..gradients import PhaseInfo
from ..rbm import RBM
from .base import add_gradient, add_shift, running_fraction, transformation


class ActivityState(NamedTuple):
    """The running mean q of the hidden units over the data, and the number of updates in it."""

    activity: Float[Array, " hidden"]
    count: Array


def sparse_activity(
    target: float = 0.1, strength: float = 0.01, memory: float = 0.95
) -> optax.GradientTransformationExtraArgs:
    r"""Penalise the distance of each hidden unit's mean over the data from a target p.

    The penalty is the cross-entropy between a unit of mean p and one of mean q; for a Bernoulli
    unit −p log q − (1 − p) log(1 − q). In any exponential family its derivative by a constant input
    is q − p, so

        g_c += strength · (q − p),     gW += strength · ⟨v⟩_data (q − p)ᵀ

    with q the running mean of ⟨h⟩_data, q ← memory · q + (1 − memory) ⟨h⟩_data, a plain mean at
    first. Two approximations are made, as in the source: q includes past batches, and in the term
    for the weights ⟨Γ″ v⟩ is replaced by ⟨Γ″⟩⟨v⟩, as if a unit's variance Γ″ did not depend on its
    inputs.

    Apply this before `centred`, which nearly cancels the term in the weights: mean activities are
    then controlled by the biases, as they should be.

    Args:
        target: p, a mean of the hidden layer's columns: 0.01 to 0.1 for Bernoulli units.
        strength: factor λ on the penalty, in nats.
        memory: weight of the past in q.

    Raises:
        InputError: a number out of its range.

    Example:
        >>> rbm = hm.RBM.from_arrays([[0.0]], [0.0], [0.0])  # a hidden unit with ⟨h⟩ = 0.5
        >>> data = hm.samplers.Cloud.uniform(jnp.array([[1.0]]))
        >>> grads, info = hm.gradients.cloud_gradient(rbm, data, data)
        >>> penalty = hm.training.sparse_activity(target=0.25, strength=2.0)
        >>> pulled, _ = penalty.update(grads, penalty.init(rbm), rbm, info=info)
        >>> float(pulled.hidden.bias[0])  # 2 · (0.5 − 0.25), which descent makes a lower bias
        0.5

    Source: Hinton 2010, section 11; Lee, Ekanadham & Ng 2008.
    """
    for name, value, is_right, expected in (
        ("target", target, math.isfinite(target), "a finite number"),
        ("strength", strength, 0 <= strength < math.inf, "a number of at least 0"),
        ("memory", memory, 0 <= memory < 1, "a number from 0 to below 1"),
    ):
        if not is_right:
            raise InputError(f"sparse_activity {name}: expected {expected}; got {value}.")

    def init(rbm: RBM) -> ActivityState:
        return ActivityState(rbm.hidden.zero_inputs, jnp.zeros((), jnp.int32))

    def update(
        grads: RBM,
        state: ActivityState,
        rbm: RBM,
        *,
        info: PhaseInfo,
        mass: Any = 1.0,
        **extra: Any,
    ) -> tuple[RBM, ActivityState]:
        fraction = running_fraction(1.0 - memory, state.count, mass)
        activity = state.activity + fraction * (info.hidden_mean - state.activity)
        pull = strength * (activity - target)
        hidden = add_shift(rbm.hidden, grads.hidden, pull)
        outer = jnp.outer(info.visible_mean, pull)
        weights = add_gradient(rbm.weights, grads.weights, outer)
        pulled = eqx.tree_at(lambda m: (m.hidden, m.weights), grads, (hidden, weights))
        return pulled, ActivityState(activity, state.count + 1)

    return transformation(init, update)
