"""The gradient of the centred model, and its special case, the enhanced gradient."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from .._base.numerics import product
from ..gradients import PhaseInfo
from ..rbm import RBM
from .base import (
    add_gradient,
    add_shift,
    change_of,
    running_fraction,
    shift_gradient,
    transformation,
)


class CentredState(NamedTuple):
    """The inner state, the number of updates made, and the offsets of both layers."""

    inner: Any
    count: Array
    visible_offset: Float[Array, " visible"]
    hidden_offset: Float[Array, " hidden"]


def centred(
    inner: optax.GradientTransformation, rate: float = 0.01, model_share: float = 0.0
) -> optax.GradientTransformationExtraArgs:
    r"""Apply `inner` to the gradient of the centred model, whose states are v − μ and h − λ.

    With g_b and g_c the gradients with respect to shifts of the visible and hidden inputs,

        gW~ = gW − μ g_cᵀ − g_b λᵀ,   gb~ = g_b,   gc~ = g_c   →  inner  →
        ΔW,  Δb = Δb~ − ΔW λ,  Δc = Δc~ − ΔWᵀ μ

    so the transformation is exact for any `inner`: momentum, Adam, decay, proximal steps. The
    offsets follow the means of both layers, μ ← (1 − r) μ + r ((1 − s) ⟨v⟩_data + s ⟨v⟩_model),
    with r = max(rate, 1/(t + 1)) at update t, so that they start as a plain mean. Batches are
    weighted by their `mass`, the mean weight of their rows. If zeros and ones are exchanged in the
    data, the run is the same with the units exchanged.

    The model's means need not be passed, since g_b = ⟨v⟩_model − ⟨v⟩_data. For objectives that do
    not compare two clouds, such as `PseudoLikelihood`, g_b has only an analogue of them.

    Args:
        inner: the transformation applied to the gradient of the centred model.
        rate: the smallest share of a batch in the offsets.
        model_share: s, the share of the model's means in the offsets; ½ is `enhanced`.

    Example:
        >>> import optax
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> optimizer = hm.training.averaged(hm.training.centred(optax.sgd(0.1, momentum=0.5)))
        >>> fit = hm.fit(rbm, rows, key=key, gradient="exact", optimizer=optimizer, epochs=2)
        >>> fit.state.optimizer.inner.visible_offset.tolist()  # ⟨v⟩ of the data
        [0.5, 0.5, 0.5, 0.5]

    Source: Montavon & Müller 2012; Cho, Raiko & Ilin 2013; Melchior, Fischer & Wiskott 2016.
    """
    wrapped: Any = optax.with_extra_args_support(inner)

    def init(rbm: RBM) -> CentredState:
        count = jnp.zeros((), jnp.int32)
        offsets = (rbm.visible.zero_inputs, rbm.hidden.zero_inputs)
        return CentredState(wrapped.init(rbm), count, *offsets)

    def update(
        grads: RBM, state: CentredState, rbm: RBM, *, info: PhaseInfo, mass: Any = 1.0, **extra: Any
    ) -> tuple[RBM, CentredState]:
        g_b = shift_gradient(rbm.visible, grads.visible)
        g_c = shift_gradient(rbm.hidden, grads.hidden)
        fraction = running_fraction(rate, state.count, mass)
        mu = state.visible_offset + fraction * (info.visible_mean - state.visible_offset)
        lam = state.hidden_offset + fraction * (info.hidden_mean - state.hidden_offset)
        if model_share:  # the gradients carry the mass of their batch
            of_model = model_share * fraction / jnp.maximum(mass, jnp.finfo(mu.dtype).tiny)
            mu = mu + of_model * g_b
            lam = lam + of_model * g_c
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
    r"""Apply `inner` to the enhanced gradient: Cov_data(v, h) − Cov_model(v, h) for the weights.

    It is `centred` with offsets half-way between data and model, since

        ⟨vh⟩_d − ⟨vh⟩_m − μ(⟨h⟩_d − ⟨h⟩_m) − (⟨v⟩_d − ⟨v⟩_m)λ  =  ⟨vh⟩_d − ⟨v⟩_d⟨h⟩_d − (the same)_m

    for μ = ½(⟨v⟩_d + ⟨v⟩_m) and λ = ½(⟨h⟩_d + ⟨h⟩_m). With a rate of 1 these are the means of the
    present batch, as in the paper; a smaller rate averages out their noise.

    Example:
        >>> import optax
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> optimizer = hm.training.averaged(hm.training.enhanced(optax.sgd(0.1)))
        >>> hm.fit(rbm, rows, key=key, gradient="exact", optimizer=optimizer, epochs=2).message
        'finished after 2 updates (2 epochs)'

    Source: Cho, Raiko & Ilin 2011 and 2013; as centring: Melchior, Fischer & Wiskott 2016.
    """
    return centred(inner, rate, model_share=0.5)
