"""What happens to a gradient on its way to an update: centring, averaging, decay, schedules.

All are optax transformations, so they combine with one another and with optax's own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from ..errors import InputError
from ..gradients import PhaseInfo
from ..layers import AbstractLayer
from ..rbm import RBM


def _transformation(init: Callable, update: Callable) -> optax.GradientTransformationExtraArgs:
    """Wrap a pair for optax, whose types do not know that a machine is a tree of arrays."""
    return optax.GradientTransformationExtraArgs(init, update)


class CentredState(NamedTuple):
    """Offsets of both layers, the number of updates in them, and the inner state."""

    inner: Any
    count: Array
    visible_offset: Float[Array, " visible"]
    hidden_offset: Float[Array, " hidden"]


def centred(
    inner: optax.GradientTransformation, rate: float = 0.01
) -> optax.GradientTransformationExtraArgs:
    r"""Let `inner` see the gradient of the centred machine, whose states are v − μ and h − λ.

    With g_b and g_c the gradients of the visible and hidden inputs' shifts,

        gW~ = gW − μ g_cᵀ − g_b λᵀ,   gb~ = g_b,   gc~ = g_c   →  inner  →
        ΔW,  Δb = Δb~ − ΔW λ,  Δc = Δc~ − ΔWᵀ μ

    so it stays exact whatever `inner` does: momentum, Adam, decay. The offsets follow the data's
    means, μ ← (1 − r) μ + r ⟨v⟩_data with r = max(rate, 1/(t + 1)) at update t, so that they start
    as a plain mean; a batch counts by its `mass`, the mean weight of its rows. A run on data with
    zeros and ones exchanged is then the exchanged run.

    Source: Montavon & Müller 2012; Cho, Raiko & Ilin 2013; Melchior, Fischer & Wiskott 2016.
    """
    transformation: Any = optax.with_extra_args_support(inner)

    def init(rbm: RBM) -> CentredState:
        inner_state, count = transformation.init(rbm), jnp.zeros((), jnp.int32)
        return CentredState(inner_state, count, rbm.visible.resting, rbm.hidden.resting)

    def update(
        grads: RBM, state: CentredState, rbm: RBM, *, info: PhaseInfo, mass: Any = 1.0, **extra: Any
    ) -> tuple[RBM, CentredState]:
        share = jnp.minimum(jnp.maximum(rate, 1.0 / (state.count + 1)) * mass, 1.0)
        mu = state.visible_offset + share * (info.visible_mean - state.visible_offset)
        lam = state.hidden_offset + share * (info.hidden_mean - state.hidden_offset)
        g_b = _shift_gradient(rbm.visible, grads.visible)
        g_c = _shift_gradient(rbm.hidden, grads.hidden)
        weights = grads.weights - jnp.outer(mu, g_c) - jnp.outer(g_b, lam)
        grads = eqx.tree_at(lambda machine: machine.weights, grads, weights)
        updates, inner_state = transformation.update(
            grads, state.inner, rbm, info=info, mass=mass, **extra
        )
        visible = _add_shift(rbm.visible, updates.visible, -(updates.weights @ lam))
        hidden = _add_shift(rbm.hidden, updates.hidden, -(mu @ updates.weights))
        updates = RBM(visible, hidden, updates.weights)
        return updates, CentredState(inner_state, state.count + 1, mu, lam)

    return _transformation(init, update)


def _shift_gradient(layer: AbstractLayer, grads: AbstractLayer) -> Array:
    """Give the derivative along a constant input: Jᵀ g, with J the derivative of `shift`."""
    return jax.vjp(layer.shift, layer.resting)[1](grads)[0]


def _add_shift(layer: AbstractLayer, updates: AbstractLayer, delta: Array) -> AbstractLayer:
    """Add to a layer's update what shifting it by `delta` does: J δ."""
    tangent = jax.jvp(layer.shift, (layer.resting,), (delta,))[1]
    return jax.tree.map(jnp.add, updates, tangent)


class AveragedState(NamedTuple):
    """The averaged machine, the number of updates in it, and the inner state."""

    inner: Any
    average: RBM
    count: Array


def averaged(
    inner: optax.GradientTransformation, forgetting: float = 0.1
) -> optax.GradientTransformationExtraArgs:
    r"""Keep an average of the parameters beside them, without touching the updates.

    After t earlier updates, θ̄ ← θ̄ + (θ − θ̄)/(forgetting·t + 1): with 1 the plain mean of all
    parameters so far (Polyak & Juditsky 1992), with 0 the last ones; in between, a mean that
    forgets the start of the run (Shamir & Zhang 2013).
    """
    transformation: Any = optax.with_extra_args_support(inner)

    def init(rbm: RBM) -> AveragedState:
        return AveragedState(transformation.init(rbm), rbm, jnp.zeros((), jnp.int32))

    def update(
        grads: RBM, state: AveragedState, rbm: RBM, **extra: Any
    ) -> tuple[RBM, AveragedState]:
        updates, inner_state = transformation.update(grads, state.inner, rbm, **extra)
        share = 1.0 / (forgetting * state.count + 1.0)
        average = jax.tree.map(
            lambda mean, x, dx: mean + share * (x + dx - mean), state.average, rbm, updates
        )
        return updates, AveragedState(inner_state, average, state.count + 1)

    return _transformation(init, update)


def averaged_machine(state: Any, otherwise: RBM) -> RBM:
    """Find the averaged machine in an optimiser's state; `otherwise` if it keeps none."""
    is_average = lambda node: isinstance(node, AveragedState)  # noqa: E731
    nodes = jax.tree.leaves(state, is_leaf=is_average)
    return next((node.average.project() for node in nodes if is_average(node)), otherwise)


class RateState(NamedTuple):
    """Learning rate before the schedule, the run's length, and the number of updates made."""

    rate: Array
    total: Array
    count: Array


def scheduled(rate: float, total: int, hold: float = 0.5) -> optax.GradientTransformationExtraArgs:
    """Scale a gradient to a descent step that shrinks to zero: −rate · `hold_then_fall`.

    Rate and length are arrays in the state, not constants of the compiled loop, so that an ensemble
    of machines can have one each and a run of another length compiles to the same program.
    """

    def init(rbm: RBM) -> RateState:
        rate_now, length = (jnp.asarray(x, rbm.visible.dtype) for x in (rate, total))
        return RateState(rate_now, length, jnp.zeros((), jnp.int32))

    def update(
        grads: RBM, state: RateState, rbm: RBM | None = None, **extra: Any
    ) -> tuple[RBM, RateState]:
        step = -state.rate * hold_then_fall(state.count, state.total, hold)
        return jax.tree.map(lambda g: step * g, grads), state._replace(count=state.count + 1)

    return _transformation(init, update)


def hold_then_fall(count: Array, total: Array, hold: float) -> Array:
    """Give 1 for the first part of a run, then a straight fall to 0 at its end; 1 if hold is 1."""
    if hold == 1.0:
        return jnp.ones_like(total)
    return jnp.clip((total - count) / (total * (1.0 - hold)), 0.0, 1.0)


def weights_only(rbm: RBM) -> RBM:
    """Mark the weights and not the layers: the mask that decay takes (Hinton 2010, section 10)."""
    layers = jax.tree.map(lambda _: False, rbm)
    return eqx.tree_at(lambda machine: machine.weights, layers, True)


@dataclass(frozen=True)
class Recipe:
    """Stochastic ascent with the practice that makes it work; call it with the number of updates.

    Attributes:
        rate: learning rate, in units of the mean gradient of a row.
        momentum: weight of the previous step (0 for none).
        decay: L2 penalty, on the weights alone: the gradient of decay/2 · |W|². It does not go
            through the momentum.
        centring: rate at which the centring offsets follow the data; None for no centring.
        averaging: forgetting of the averaged machine; None for no averaging.
        hold: part of the run at full rate, before the fall to zero; 1 for a constant rate.
    """

    rate: float = 0.1
    momentum: float = 0.0
    decay: float = 0.0
    centring: float | None = 0.01
    averaging: float | None = 0.1
    hold: float = 0.5

    def __post_init__(self):
        """Check the numbers.

        Raises:
            InputError: naming the one that lies outside its range.
        """
        inside = {
            "rate": (0 < self.rate < float("inf"), "a positive number"),
            "momentum": (0 <= self.momentum < 1, "a number from 0 to below 1"),
            "decay": (0 <= self.decay < float("inf"), "a number of at least 0"),
            "centring": (self.centring is None or 0 < self.centring <= 1, "None, or 0 < rate <= 1"),
            "averaging": (self.averaging is None or self.averaging >= 0, "None, or at least 0"),
            "hold": (0 <= self.hold <= 1, "a number from 0 to 1"),
        }
        for name, (is_right, expected) in inside.items():
            if not is_right:
                raise InputError(f"{name}: expected {expected}; got {getattr(self, name)}.")

    def __call__(self, total: int | float) -> optax.GradientTransformationExtraArgs:
        """Give the transformation for a run of `total` updates; of ∞, the rate never falls."""
        if math.isinf(total):
            return replace(self, hold=1.0)(1)
        shared: Any = _transformation_of(replace(self, rate=1.0))

        def init(rbm: RBM) -> Any:
            return reschedule(shared.init(rbm), total, self.rate)

        return _transformation(init, shared.update)


@functools.lru_cache(maxsize=64)
def _transformation_of(recipe: Recipe) -> optax.GradientTransformationExtraArgs:
    """Build a recipe's transformation once, so that equal recipes share a compiled loop."""
    parts: list[Any] = [scheduled(1.0, 1, recipe.hold)]
    if recipe.decay:
        mask: Any = weights_only
        parts.insert(0, optax.add_decayed_weights(recipe.decay, mask=mask))
    if recipe.momentum:
        parts.insert(0, optax.trace(recipe.momentum))
    result = optax.with_extra_args_support(optax.chain(*parts))
    if recipe.centring is not None:
        result = centred(result, recipe.centring)
    return result if recipe.averaging is None else averaged(result, recipe.averaging)


def reschedule(state: Any, total: int | float, rate: float | None = None) -> Any:
    """Give an optimiser's state with another run length, and rate, where `scheduled` keeps them."""

    def renewed(node: Any) -> Any:
        if not isinstance(node, RateState):
            return node
        length = jnp.full_like(node.total, total)
        return node._replace(
            total=length, rate=node.rate if rate is None else jnp.full_like(node.rate, rate)
        )

    return jax.tree.map(renewed, state, is_leaf=lambda node: isinstance(node, RateState))
