"""Transformations that depend on the model: centred, whitened and sparse gradients.

Each transformation takes the gradient of a model, and either passes the gradient of an equivalent
model to another transformation or adds the gradient of a penalty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from .._base.linalg import inverse
from .._base.numerics import product, scalar
from .._base.parameters import map_parameters
from .._base.programs import compiled
from ..errors import InputError
from ..gradients import PhaseInfo
from ..gradients.base import shift_gradient
from ..layers import AbstractLayer
from ..layers.capabilities import (
    along,
    confined,
    correlated,
    ordered_columns,
    smoothing,
    whitening,
)
from ..rbm import RBM
from ..weights.base import copies_of, differentiable, is_plain

MOST_VARIANCE = 10.0  # largest variance of a whitened direction, relative to the start


def transformation(init: Callable, update: Callable) -> optax.GradientTransformationExtraArgs:
    """Make an optax transformation; optax's type hints do not accept a model as a pytree."""
    return optax.GradientTransformationExtraArgs(init, update)


def running_fraction(rate: float, count: Array, mass: Any) -> Array:
    """Return a new batch's weight in a running mean: max(rate, 1/(t + 1)) times the batch's mass.

    Here t is `count`, the number of batches before. The weight is at most 1. The running mean
    starts as a plain mean and continues as an exponential moving average.
    """
    return jnp.minimum(jnp.maximum(rate, 1.0 / (count + 1)) * mass, 1.0)


def add_shift(layer: AbstractLayer, updates: AbstractLayer, delta: Array) -> AbstractLayer:
    """Add to a layer's update the change of its parameters that shifts its inputs by `delta`."""
    tangent = jax.jvp(layer.shift, (layer.zero_inputs,), (delta,))[1]
    return jax.tree.map(jnp.add, updates, tangent)


def add_outer(weights: Any, grads: Any, left: Array, right: Array) -> Any:
    """Return `grads` plus the gradient G = left rightᵀ of W, in terms of W's parameters."""
    if is_plain(weights):  # elementwise, so that XLA fuses it with other terms
        return grads + jnp.outer(left, right)
    # G is the derivative of left·W right; W as an array may be much larger than its parameters.
    pullback = jax.vjp(lambda w: product(left, differentiable(w)), weights)[1]
    return jax.tree.map(jnp.add, grads, pullback(right)[0])


def products_of_change(
    weights: Any, updates: Any, left: Array, right: Array
) -> tuple[Array, Array]:
    """Return left · ΔW and ΔW · right, where ΔW is the change of W that `updates` makes."""
    if is_plain(weights):
        return product(left, updates), product(updates, right)

    def products(weights: Any) -> tuple[Array, Array]:
        exact = differentiable(weights)
        return product(left, exact), product(right, exact.T)

    return jax.jvp(products, (weights,), (updates,))[1]


# ---------------------------------------------------------------- centring


class CentredState(NamedTuple):
    """The state of `inner`, the number of updates made, and the offsets of both layers."""

    inner: Any
    count: Array
    visible_offset: Float[Array, " visible"]
    hidden_offset: Float[Array, " hidden"]


def centred(
    inner: optax.GradientTransformation, rate: float = 0.01, model_share: float = 0.0
) -> optax.GradientTransformationExtraArgs:
    r"""Apply `inner` to the gradient of the centred model, whose states are v − μ and h − λ.

    Let g_b and g_c be the gradients with respect to shifts of the visible and hidden inputs. The
    gradient is converted to the centred model, and the update that `inner` returns is converted
    back:

        gW~ = gW − μ g_cᵀ − g_b λᵀ,   gb~ = g_b,   gc~ = g_c   →  inner  →
        ΔW,  Δb = Δb~ − ΔW λ,  Δc = Δc~ − ΔWᵀ μ

    The transformation is exact for any `inner`: momentum, Adam, decay, proximal steps. The offsets
    follow the means of both layers, μ ← (1 − r) μ + r ((1 − s) ⟨v⟩_data + s ⟨v⟩_model), where s is
    `model_share` and r = max(rate, 1/(t + 1)) at update t, so that they start as a plain mean.
    Batches are weighted by their `mass`, the mean weight of their rows. If zeros and ones are
    exchanged in the data, they are exchanged in the model, and the run is otherwise the same.

    The model's means need not be passed, since g_b = ⟨v⟩_model − ⟨v⟩_data. For objectives whose
    gradient is not a difference of two expectations, such as `PseudoLikelihood`, g_b is only an
    analogue of this.

    Args:
        inner: the transformation applied to the gradient of the centred model.
        rate: the smallest weight of a new batch in the offsets.
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
        count = scalar(0, np.int32)
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
        weights = add_outer(rbm.weights, grads.weights, -mu, g_c)
        weights = add_outer(rbm.weights, weights, -g_b, lam)
        grads = eqx.tree_at(lambda model: model.weights, grads, weights)
        updates, inner_state = wrapped.update(
            grads, state.inner, rbm, info=info, mass=mass, **extra
        )
        to_hidden, to_visible = products_of_change(rbm.weights, updates.weights, mu, lam)
        visible = add_shift(rbm.visible, updates.visible, -to_visible)
        hidden = add_shift(rbm.hidden, updates.hidden, -to_hidden)
        updates = RBM(visible, hidden, updates.weights)
        return updates, CentredState(inner_state, state.count + 1, mu, lam)

    return transformation(init, update)


def enhanced(
    inner: optax.GradientTransformation, rate: float = 1.0
) -> optax.GradientTransformationExtraArgs:
    r"""Apply `inner` to the enhanced gradient: Cov_data(v, h) − Cov_model(v, h) for the weights.

    This is `centred` with offsets half-way between the means of data and model, since

        ⟨vh⟩_d − ⟨vh⟩_m − μ(⟨h⟩_d − ⟨h⟩_m) − (⟨v⟩_d − ⟨v⟩_m)λ  =  ⟨vh⟩_d − ⟨v⟩_d⟨h⟩_d − (the same)_m

    for μ = ½(⟨v⟩_d + ⟨v⟩_m) and λ = ½(⟨h⟩_d + ⟨h⟩_m). With a rate of 1 these offsets are computed
    from the current batch alone, as in the paper; a smaller rate averages out their noise.

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


# ---------------------------------------------------------------- whitening


class WhitenedState(NamedTuple):
    """The state of `inner`, and S with its inverse, or None if no columns are whitened."""

    inner: Any
    basis: tuple[Array, Array] | None


def whitened(inner: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
    r"""Apply `inner` to the gradient of the model of whitened columns y, where x = S y.

    Here x are the columns of the visible layer that depend on one another linearly, and SSᵀ is
    their covariance at the start of the run, without inputs from hidden units. The model of y has
    the weights, biases and precision matrix

        W′ = SᵀW,   b′ = Sᵀb,   Λ′ = SᵀΛS

    and is passed to `inner` with its gradient; the update is transformed back. So neither strong
    correlations nor units of measurement slow learning down, and a penalty measures weights
    relative to the conditional spread of a column. Given the hidden units, no direction of y may
    have more than ten times its initial variance. A good model needs no more, since conditioning on
    hidden units reduces the variance; with more, chains that noise has driven away would not
    return. x also includes the columns of ordered states, for which (SSᵀ)⁻¹ is the expected
    covariance of their fields. Steps and penalties then favour weights that rise or fall steadily
    from state to state; the biases of these columns are unchanged. If the layer has no columns of
    either kind, or the weights are not an array, `whitened(inner)` is the same as `inner`,
    except that the gradient of a shared weight is divided by its copies (`over_copies`).

    Source: Desjardins, Simonyan, Pascanu & Kavukcuoglu 2015, here with a fixed basis.
    """
    wrapped: Any = optax.with_extra_args_support(inner)

    def init(rbm: RBM) -> WhitenedState:
        if not len(_dependent(rbm.visible)) or not is_plain(rbm.weights):
            return WhitenedState(wrapped.init(rbm), None)
        model, basis, inverse = _begun(rbm)
        return WhitenedState(wrapped.init(model), (basis, inverse))

    def update(grads: RBM, state: WhitenedState, rbm: RBM, **extra: Any) -> tuple[RBM, Any]:
        if state.basis is None:
            # Here, as a step of its own would change the structure of stored optimiser states.
            grads = over_copies(rbm, grads)
            updates, inner_state = wrapped.update(grads, state.inner, rbm, **extra)
            return updates, state._replace(inner=inner_state)

        basis, inverse = state.basis

        def restored(model: RBM) -> RBM:
            return _along(model, inverse)

        model = _along(rbm, basis)
        of_whitened = jax.linear_transpose(restored, model)(grads)[0]
        updates, inner_state = wrapped.update(of_whitened, state.inner, model, **extra)
        visible = map_parameters(jnp.add, model.visible, updates.visible)
        moved = confined(visible, MOST_VARIANCE)
        visible = map_parameters(jnp.subtract, moved, model.visible)
        updates = eqx.tree_at(lambda model: model.visible, updates, visible)
        return restored(updates), state._replace(inner=inner_state)

    return transformation(init, update)


def over_copies(rbm: RBM, grads: RBM) -> RBM:
    """Return the gradient with that of each shared weight divided by its number of copies in W.

    The curvature of the likelihood along a shared weight grows with the number of its copies as the
    gradient does, so that the mean over the copies suits the rates of weights that are not shared.
    """
    copies = copies_of(rbm.weights)
    if copies == 1:
        return grads
    mean = map_parameters(lambda g: g / copies, grads.weights)
    return eqx.tree_at(lambda model: model.weights, grads, mean)


@compiled
def _begun(rbm: RBM) -> tuple[RBM, Array, Array]:
    """Return the model of y, and S with its inverse, computed by one compiled program."""
    of_states = jnp.asarray(smoothing(rbm.visible), rbm.visible.dtype)
    basis = jax.scipy.linalg.block_diag(whitening(rbm.visible), of_states)
    return _along(rbm, basis), basis, inverse(basis)


def _dependent(layer: AbstractLayer) -> np.ndarray:
    """Return the columns that y replaces: correlated columns and columns of ordered states."""
    return np.concatenate([correlated(layer), ordered_columns(layer)])


def _along(rbm: RBM, basis: Array) -> RBM:
    """Return the model of y, whose parameters are a linear function of those of `rbm`."""
    columns = _dependent(rbm.visible)
    rows = product(basis.T, rbm.weights[columns])
    weights = rbm.weights.at[columns].set(rows, unique_indices=True)
    # The biases of ordered states are kept, since they represent any shares of the states.
    count = len(correlated(rbm.visible))
    return RBM(along(rbm.visible, basis[:count, :count]), rbm.hidden, weights)


# ---------------------------------------------------------------- sparse activity


class ActivityState(NamedTuple):
    """The running mean q of the hidden units over the data, and the number of batches averaged."""

    activity: Float[Array, " hidden"]
    count: Array


def sparse_activity(
    target: float = 0.1, strength: float = 0.01, memory: float = 0.95
) -> optax.GradientTransformationExtraArgs:
    r"""Penalise the distance of each hidden unit's mean over the data from a target p.

    The penalty is the cross-entropy between a unit of mean p and a unit of mean q; for a Bernoulli
    unit, −p log q − (1 − p) log(1 − q). The derivative of the cross-entropy with respect to a
    constant that is added to the unit's inputs is q − p in any exponential family, so

        g_c += strength · (q − p),     gW += strength · ⟨v⟩_data (q − p)ᵀ

    where q is a running mean, q ← memory · q + (1 − memory) ⟨h⟩_data, which starts as a plain
    mean. Two approximations are made, as in the source: q includes past batches, and in the term
    for the weights ⟨Γ″ v⟩ is replaced by ⟨Γ″⟩⟨v⟩, as if a unit's variance Γ″ did not depend on its
    inputs.

    Apply this before `centred`, which nearly cancels the term for the weights, so that mean
    activities are controlled by the biases, as they should be.

    Args:
        target: p, a mean of the hidden layer's columns: 0.01 to 0.1 for Bernoulli units.
        strength: factor that multiplies the penalty, in nats.
        memory: weight of the past in q.

    Raises:
        InputError: a number is out of range.

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
        return ActivityState(rbm.hidden.zero_inputs, scalar(0, np.int32))

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
        weights = add_outer(rbm.weights, grads.weights, info.visible_mean, pull)
        pulled = eqx.tree_at(lambda m: (m.hidden, m.weights), grads, (hidden, weights))
        return pulled, ActivityState(activity, state.count + 1)

    return transformation(init, update)
