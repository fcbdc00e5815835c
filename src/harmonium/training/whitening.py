"""The gradient of a model of whitened columns."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from .._base.linalg import inverse
from .._base.numerics import product
from .._base.parameters import map_parameters
from ..layers.capabilities import along, confined, correlated, whitening
from ..rbm import RBM
from ..weights.base import is_plain
from .base import transformation

MOST_VARIANCE = 10.0


class WhitenedState(NamedTuple):
    """The inner state, and S of the correlated columns with its inverse; None if there are none."""

    inner: Any
    basis: tuple[Array, Array] | None


def whitened(inner: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
    r"""Apply `inner` to the gradient of the model of whitened columns y, where x = S y.

    x are the columns of the visible layer that depend on one another, and SSᵀ is their covariance
    at the start of the run, without inputs. The model of y has

        W′ = SᵀW,   b′ = Sᵀb,   Λ′ = SᵀΛS

    and is given to `inner` with its gradient; the update is turned back. So neither strong
    correlations nor units of measurement slow learning down, and a penalty compares weights with
    the conditional spread of a column. Given the hidden units, no direction of y may get more than
    ten times its variance at the start: where a model fits, hidden units only take variance from
    the layer, and chains that noise let run away would not come back. A visible layer of
    independent units, or weights that are not an array, make `whitened(inner)` the same as `inner`.

    Source: Desjardins, Simonyan, Pascanu & Kavukcuoglu 2015, of whom this is the fixed basis.
    """
    wrapped: Any = optax.with_extra_args_support(inner)

    def init(rbm: RBM) -> WhitenedState:
        if not len(correlated(rbm.visible)) or not is_plain(rbm.weights):
            return WhitenedState(wrapped.init(rbm), None)
        model, basis, inverse = _begun(rbm)
        return WhitenedState(wrapped.init(model), (basis, inverse))

    def update(grads: RBM, state: WhitenedState, rbm: RBM, **extra: Any) -> tuple[RBM, Any]:
        if state.basis is None:
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


@eqx.filter_jit
def _begun(rbm: RBM) -> tuple[RBM, Array, Array]:
    """Return the model of y, S and its inverse, by one compiled program."""
    basis = whitening(rbm.visible)
    return _along(rbm, basis), basis, inverse(basis)


def _along(rbm: RBM, basis: Array) -> RBM:
    """Return the model of y; linear in the parameters."""
    columns = correlated(rbm.visible)
    rows = product(basis.T, rbm.weights[columns])
    weights = rbm.weights.at[columns].set(rows, unique_indices=True)
    return RBM(along(rbm.visible, basis), rbm.hidden, weights)
