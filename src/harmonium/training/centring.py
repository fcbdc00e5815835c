"""The gradient of the centred model, and the enhanced gradient, which is one of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from .._numerics import product
from ..gradients import PhaseInfo
from ..rbm import RBM
from .base import add_gradient, add_shift, change_of, running_share, shift_gradient, transformation


class CentredState(NamedTuple):
    """Offsets of both layers, the number of updates in them, and the inner state."""

    inner: Any
    count: Array
    visible_offset: Float[Array, " visible"]
    hidden_offset: Float[Array, " hidden"]


def centred(
    inner: optax.GradientTransformation, rate: float = 0.01, model_share: float = 0.0
) -> optax.GradientTransformationExtraArgs:
    r"""Let `inner` see the gradient of the centred model, whose states are v − μ and h − λ.

    With g_b and g_c the gradients of the visible and hidden inputs' shifts,

        gW~ = gW − μ g_cᵀ − g_b λᵀ,   gb~ = g_b,   gc~ = g_c   →  inner  →
        ΔW,  Δb = Δb~ − ΔW λ,  Δc = Δc~ − ΔWᵀ μ

    so it stays exact whatever `inner` does: momentum, Adam, decay, proximal steps. The offsets
    follow the means of both layers, μ ← (1 − r) μ + r ((1 − s) ⟨v⟩_data + s ⟨v⟩_model), with
    r = max(rate, 1/(t + 1)) at update t, so that they start as a plain mean; a batch counts by its
    `mass`, the mean weight of its rows. A run on data with zeros and ones exchanged is then the
    exchanged run.

    The model's means need no report of their own: g_b = ⟨v⟩_model − ⟨v⟩_data. Objectives that
    compare no two clouds, such as `PseudoLikelihood`, have only a likeness of them in g_b.

    Args:
        inner: what the gradient of the centred model goes through.
        rate: the least share of a batch in the offsets.
        model_share: s, the share of the model's means in them; `enhanced` says what ½ is.

    Source: Montavon & Müller 2012; Cho, Raiko & Ilin 2013; Melchior, Fischer & Wiskott 2016.
    """
    wrapped: Any = optax.with_extra_args_support(inner)

    def init(rbm: RBM) -> CentredState:
        inner_state, count = wrapped.init(rbm), jnp.zeros((), jnp.int32)
        return CentredState(inner_state, count, rbm.visible.zero_inputs, rbm.hidden.zero_inputs)

    def update(
        grads: RBM, state: CentredState, rbm: RBM, *, info: PhaseInfo, mass: Any = 1.0, **extra: Any
    ) -> tuple[RBM, CentredState]:
        g_b = shift_gradient(rbm.visible, grads.visible)
        g_c = shift_gradient(rbm.hidden, grads.hidden)
        share = running_share(rate, state.count, mass)
        mu = state.visible_offset + share * (info.visible_mean - state.visible_offset)
        lam = state.hidden_offset + share * (info.hidden_mean - state.hidden_offset)
        if model_share:  # the gradients carry the mass of their batch
            of_model = model_share * share / jnp.maximum(mass, jnp.finfo(mu.dtype).tiny)
            mu, lam = mu + of_model * g_b, lam + of_model * g_c
        weights = add_gradient(
            rbm.weights, grads.weights, -jnp.outer(mu, g_c) - jnp.outer(g_b, lam)
        )
        grads = eqx.tree_at(lambda model: model.weights, grads, weights)
        updates, inner_state = wrapped.update(
            grads, state.inner, rbm, info=info, mass=mass, **extra
        )
        change = change_of(rbm.weights, updates.weights)
        visible = add_shift(rbm.visible, updates.visible, -product(change, lam))
        hidden = add_shift(rbm.hidden, updates.hidden, -product(mu, change))
        updates = RBM(visible, hidden, updates.weights)
        return updates, CentredState(inner_state, state.count + 1, mu, lam)

    return transformation(init, update)


def enhanced(
    inner: optax.GradientTransformation, rate: float = 1.0
) -> optax.GradientTransformationExtraArgs:
    r"""Let `inner` see the enhanced gradient: Cov_data(v, h) − Cov_model(v, h) for the weights.

    It is `centred` with offsets half-way between data and model, since

        ⟨vh⟩_d − ⟨vh⟩_m − μ(⟨h⟩_d − ⟨h⟩_m) − (⟨v⟩_d − ⟨v⟩_m)λ  =  ⟨vh⟩_d − ⟨v⟩_d⟨h⟩_d − (the same)_m

    for μ = ½(⟨v⟩_d + ⟨v⟩_m) and λ = ½(⟨h⟩_d + ⟨h⟩_m). With a rate of 1 these are the means of the
    batch at hand, as in the paper; a smaller one takes out their noise.

    Source: Cho, Raiko & Ilin 2011 and 2013; as centring: Melchior, Fischer & Wiskott 2016.
    """
    return centred(inner, rate, model_share=0.5)
