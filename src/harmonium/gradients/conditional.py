"""The gradient of log p(y | u), where u are the given units of a row and y its targets."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from .._base.checks import positive_integer
from ..errors import InputError
from ..layers.capabilities import given_units, is_conditional, n_targets
from ..likelihood.missing.marginal import QUICK_SUMS, Limits
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, Estimate, cloud_gradient, mean_free_energy, phase_info
from .completing import Completing


class ConditionalLikelihood(AbstractGradient):
    r"""Ascent on log p(y | u), for a `Conditional` visible layer of given units u and targets y.

        log p(y | u) = F(u) − F(u, y),     F(u) = −log of the sum of e^(−F(u, y)) over the targets y

    The gradient of −log p(y | u) is therefore the gradient of F(u, y) at the row minus the mean of
    this gradient over y drawn from p(y | u). If a sum over hidden states or over the targets has at
    most as many terms as `most` allows, F(u) is computed by that sum, and the gradient is exact.
    Otherwise a run keeps a state of the targets of each row, and moves it by one Gibbs sweep with u
    fixed each time the row is in a batch. This is PCD with one chain for each row. If no states are
    kept, each update draws the targets by a few sweeps that start from independent units. `fit`
    uses this method for such a layer in place of PCD and of the exact gradient.

    Attributes:
        sweeps: Gibbs sweeps of the targets, if their states are not kept.
        rows: number of rows whose states are kept; 0 if no states are kept.
        most: limits on the number of terms of an exact sum.
        is_exact: whether models are rejected for which both sums have too many terms.

    Example:
        >>> layer = hm.Conditional(hm.Bernoulli(2), given=[0], weights=[[3.0]])
        >>> rbm = hm.RBM(layer, hm.Bernoulli(2), np.zeros((2, 2)))
        >>> method, key = hm.gradients.ConditionalLikelihood(), jax.random.key(0)
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, 1.0]]))
        >>> _, _, info = method.estimate(rbm, batch, method.init(rbm, batch, key=key), key=key)
        >>> round(float(info.gap), 3)  # −log p(y = 1 | u = 1) = log(1 + e^−3)
        0.049

    Source: Lafferty, McCallum & Pereira 2001, for any conditional model; Mnih, Larochelle & Hinton
    2011, for conditional RBMs.
    """

    sweeps: int = eqx.field(static=True, default=10)
    rows: int = eqx.field(static=True, default=0)
    most: Limits = eqx.field(static=True, default=QUICK_SUMS)
    is_exact: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        positive_integer(self.sweeps, "ConditionalLikelihood sweeps")

    @property
    def about(self) -> About:
        title = "conditional likelihood"
        if self.is_exact:
            title += ", exact gradient"
            return About(title, is_exact=True, follows_likelihood=False, takes_given_units=True)
        title += ", a chain for each row" if self.rows else f", {self.sweeps} sweeps"
        sweeps = 1 if self.rows else self.sweeps
        return About(
            title, sweeps, follows_likelihood=False, multiplies_states=True, takes_given_units=True
        )

    def _completing(self, rbm: RBM) -> Completing:
        targets = n_targets(rbm.visible)
        return Completing(self.sweeps, targets, self.rows, self.most)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Array | tuple[()]:
        """Return states of the targets of all rows, or () if none are kept.

        Raises:
            InputError: no units are given, or `is_exact` is True and the gradient would not be.
        """
        if not is_conditional(rbm.visible):
            raise InputError(
                "ConditionalLikelihood: expected a visible layer with given units, such as"
                f" hm.Conditional(hm.Bernoulli(3), given=[0]); got {rbm.visible}."
            )
        completing = self._completing(rbm)
        if completing.can_sum(rbm):
            return ()
        if self.is_exact:
            raise InputError(
                f"Exact learning: expected at most {self.most.hidden:,} hidden states or"
                f" {self.most.completions:,} states of the targets; got more for {rbm}; choose pcd."
            )
        return completing.first(rbm.visible, key=key) if self.rows else ()

    def estimate(self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray) -> Estimate:
        """Return the difference of the two phases, and states of the targets after a sweep."""
        completing = self._completing(rbm)
        given = _without_targets(rbm, batch)

        def mean_loss(rbm: RBM) -> Array:
            summed = completing.summed(rbm, given.states)
            assert summed is not None
            return mean_free_energy(rbm, batch) + batch.weights @ summed.log_z_seen

        if completing.can_sum(rbm):
            loss, grads = eqx.filter_value_and_grad(mean_loss)(rbm)
            return grads, state, phase_info(rbm, batch, loss)
        targets = state if self.rows else None
        drawn, targets, _ = completing.filled(rbm, given, targets, key=key)
        grads, info = cloud_gradient(rbm, batch, drawn)
        return grads, targets if self.rows else state, info


def _without_targets(rbm: RBM, batch: Cloud) -> Cloud:
    """Return the rows with NaN in all columns of the targets."""
    is_given = rbm.visible.spread(given_units(rbm.visible))
    return batch._replace(states=jnp.where(is_given, batch.states, jnp.nan))
