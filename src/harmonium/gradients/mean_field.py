"""Mean-field and TAP learning: model averages from fixed points, without chains."""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.numerics import product
from ..errors import InputError
from ..layers import AbstractLayer
from ..layers.capabilities import has_independent_units
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, Estimate, mean_free_energy, phase_info


class MeanFieldState(NamedTuple):
    """Fixed-point solutions, kept from update to update.

    Attributes:
        visible: inputs I_v of the visible units, shape (solutions, visible).
        hidden: inputs I_h of the hidden units, shape (solutions, hidden).
        residual: mean of |Δm_h| in the last iteration.
    """

    visible: Float[Array, "solutions visible"]
    hidden: Float[Array, "solutions hidden"]
    residual: Float[Array, ""]


class MeanField(AbstractGradient):
    r"""Mean-field or TAP learning: the gradient of log Z, expanded to first or second order in W.

    Under inputs I, units with the cumulant-generating function Γ have means m = Γ′(I) and variances
    V = Γ″(I), and the expansion is

        −log Z ≈ Σ_v [I m − Γ(I)] + Σ_h [I m − Γ(I)] − m_vᵀ W m_h − ½ V_vᵀ W∘W V_h

    A solution is a pair of inputs I_v and I_h at which this sum is stationary. `order=1` omits the
    last term (mean field); `order=2` includes it, which adds the Onsager reaction terms (Thouless,
    Anderson & Palmer). Several solutions are kept from update to update. Each update refines them
    by `iterations` fixed-point iterations, damped by averaging the old and new inputs. All
    solutions have equal weight. After the start no sampling is needed, but the truncated expansion
    is biased; the bias grows with the weights, and more iterations do not remove it.

    Attributes:
        order: 1 or 2; 2 requires layers whose units have one column each.
        solutions: number of solutions to track.
        iterations: fixed-point iterations per update.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> batch, key = hm.samplers.Cloud.uniform(jnp.array([[1.0, 1.0]])), jax.random.key(0)
        >>> tap = hm.MeanField(solutions=4, iterations=50)
        >>> _, _, info = tap.estimate(rbm, batch, tap.init(rbm, batch, key=key), key=key)
        >>> round(float(info.gap), 3), round(-hm.log_likelihood(rbm, [[1, 1]]).value, 3)  # −log p
        (0.926, 0.931)

    Source: Gabrié, Tramel & Krzakala 2015; Tramel, Gabrié, Manoel, Caltagirone & Krzakala 2018 (any
    layers); Welling & Hinton 2002 (mean field).
    """

    order: int = eqx.field(static=True, default=2)
    solutions: int = eqx.field(static=True, default=100)
    iterations: int = eqx.field(static=True, default=5)

    def __check_init__(self):
        positive_integer(self.solutions, "MeanField solutions")
        positive_integer(self.iterations, "MeanField iterations")
        if self.order not in (1, 2):
            raise InputError(f"MeanField order: expected 1 or 2; got {self.order!r}.")

    @property
    def about(self) -> About:
        """The properties of the method, whose gradient belongs to an approximate likelihood."""
        title = "TAP" if self.order == 2 else "mean field"
        return About(title, follows_likelihood=False)

    def metrics(self, state: MeanFieldState) -> dict[str, Array]:
        """Return the mean change |Δm_h| of the solutions in the last iteration."""
        return {"mean_field_residual": state.residual}

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> MeanFieldState:
        """Start the solutions near samples of the model with zero weights."""
        for layer in (rbm.visible, rbm.hidden):
            is_simple = has_independent_units(layer) and layer.n_units == layer.size
            if self.order == 2 and not is_simple:
                raise InputError(
                    f"TAP: expected units with one column each, not one-hot; got {layer}; choose"
                    " hm.MeanField(order=1), or another method."
                )
        hidden = rbm.inputs_to_h(rbm.visible.sample_without_inputs((self.solutions,), key=key))
        visible = rbm.inputs_to_v(rbm.hidden.mean(hidden))
        return MeanFieldState(visible, hidden, jnp.zeros((), hidden.dtype))

    def estimate(
        self, rbm: RBM, batch: Cloud, state: MeanFieldState, *, key: PRNGKeyArray
    ) -> Estimate:
        """Refine the solutions and return the gradient; the key is not used."""
        squares = self._squares(rbm)

        def again(_: Array, state: MeanFieldState) -> MeanFieldState:
            return _iterated(rbm, squares, state)

        state = jax.lax.fori_loop(0, self.iterations, again, state)

        def loss(rbm: RBM) -> Array:
            minus_log_z = _expansion(rbm, self._squares(rbm), state.visible, state.hidden).mean()
            return mean_free_energy(rbm, batch) - minus_log_z

        gap, grads = eqx.filter_value_and_grad(loss)(rbm)
        return grads, state, phase_info(rbm, batch, gap)

    def _squares(self, rbm: RBM) -> Array | None:
        """Return W∘W for order 2, or None for order 1."""
        if self.order == 1:
            return None
        return rbm.dense_weights**2


def _iterated(rbm: RBM, squares: Array | None, state: MeanFieldState) -> MeanFieldState:
    """Move I_v halfway to W m_h + ½ W∘W V_h · dV_v/dm_v, and then move I_h likewise."""
    means = rbm.hidden.mean(state.hidden)
    visible = rbm.inputs_to_v(means)
    if squares is not None:
        spread = product(rbm.hidden.variance(state.hidden), squares.T)
        visible += 0.5 * spread * _reaction(rbm.visible, state.visible)
    visible = 0.5 * (state.visible + visible)
    hidden = rbm.inputs_to_h(rbm.visible.mean(visible))
    if squares is not None:
        spread = product(rbm.visible.variance(visible), squares)
        hidden += 0.5 * spread * _reaction(rbm.hidden, state.hidden)
    hidden = 0.5 * (state.hidden + hidden)
    return MeanFieldState(visible, hidden, abs(rbm.hidden.mean(hidden) - means).mean())


def _reaction(layer: AbstractLayer, inputs: Array) -> Array:
    """Return dV/dm = Γ‴/Γ″ for units with one column each; 0 if a unit has no variance."""
    variance, pull = jax.jvp(layer.variance, (inputs,), (jnp.ones_like(inputs),))
    certain = variance < jnp.finfo(variance.dtype).tiny
    return jnp.where(certain, 0.0, pull / jnp.where(certain, 1.0, variance))


def _expansion(
    rbm: RBM,
    squares: Array | None,
    visible: Float[Array, "n visible"],
    hidden: Float[Array, "n hidden"],
) -> Float[Array, " n"]:
    """Return the expansion of −log Z at these inputs, in nats, with gradients at constant means.

    At a stationary point, the gradients at constant means and at constant inputs are equal.
    """
    visible, hidden = jax.lax.stop_gradient((visible, hidden))
    m_v = jax.lax.stop_gradient(rbm.visible.mean(visible))
    m_h = jax.lax.stop_gradient(rbm.hidden.mean(hidden))
    minus_log_z = (visible * m_v).sum(-1) - rbm.visible.cgf(visible)
    minus_log_z += (hidden * m_h).sum(-1) - rbm.hidden.cgf(hidden)
    minus_log_z -= (rbm.inputs_to_h(m_v) * m_h).sum(-1)
    if squares is not None:
        pull = product(_variance_at(m_v, rbm.visible, visible), squares)
        minus_log_z -= 0.5 * (pull * _variance_at(m_h, rbm.hidden, hidden)).sum(-1)
    return minus_log_z


def _variance_at(mean: Array, layer: AbstractLayer, inputs: Array) -> Array:
    """Return V, with its gradient with respect to the layer's parameters at constant mean."""
    reaction = jax.lax.stop_gradient(_reaction(layer, inputs))
    return layer.variance(inputs) - reaction * (layer.mean(inputs) - mean)
