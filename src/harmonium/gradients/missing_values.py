"""Rows with missing values: any gradient method, on the seen units of each row."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..checks import positive_integer
from ..errors import InputError
from ..missing.marginal import Posterior, completed, draw, posterior
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, PhaseInfo, Status, mean_free_energy


class Marginal(AbstractGradient):
    r"""Ascent on log p(v_seen) of rows with missing values; the missing units are summed out.

        log p(v_seen) = log Σ_h exp(−U(h) + Σ_seen (v_i·I_i − U_i(v_i)) + Σ_missing Γ_i(I_i))
                        − log Z

    with I = hWᵀ. Its gradient is that of the inner method, with the missing units of the data drawn
    from p(v_missing | v_seen); the model phase is unchanged. This is correct if whether a value is
    missing does not depend on the missing values themselves (missing at random).

    With at most 2^12 hidden states, or 2^6 completions of a row, the data phase is summed exactly;
    with `Exact` as the inner method, the whole gradient is exact. Otherwise the missing units are
    drawn by Gibbs sweeps with the seen units held, started anew in each update: with too few
    sweeps, the learned correlations between missing units are too weak. `fit` wraps its method in
    `Marginal` automatically if the rows have missing values.

    Attributes:
        inner: the method that learns from the completed rows; its model phase is unchanged.
        sweeps: Gibbs sweeps of the missing units, if they are not summed.
        missing: the largest number of missing units in a row, if known.

    Source: Ghahramani & Jordan 1994, for any likelihood; the gradient is Fisher's identity.
    """

    inner: AbstractGradient
    sweeps: int = eqx.field(static=True, default=10)
    missing: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        if not isinstance(self.inner, AbstractGradient):
            expected = "a gradient method such as hm.Persistent(hm.Gibbs(1))"
            raise InputError(f"Marginal inner: expected {expected}; got {self.inner!r}.")
        positive_integer(self.sweeps, "Marginal sweeps")
        if self.missing is not None:
            positive_integer(self.missing, "Marginal missing")

    @property
    def about(self) -> About:
        """The properties of the inner method, extended to missing values."""
        about = self.inner.about
        title = f"{about.title}, missing units summed out"
        return about._replace(title=title, takes_missing=True, multiplies_states=False)

    def status(self, rbm: RBM, state: Any) -> Status:
        """Return the status of the inner method."""
        return self.inner.status(rbm, state)

    def metrics(self, state: Any) -> dict[str, Array]:
        """Return the metrics of the inner method."""
        return self.inner.metrics(state)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Start the inner method."""
        key_fill, key_inner = jax.random.split(key)
        filled, _ = self._filled(rbm, batch, key=key_fill)
        return self.inner.init(rbm, filled, key=key_inner)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray
    ) -> tuple[RBM, Any, PhaseInfo]:
        """Complete the rows, and return the gradient of the inner method on them.

        One draw for each row would be noisy. If the sum over h is feasible, the contribution of
        the draws to the gradient is therefore replaced by that of the sum.
        """
        key_fill, key_inner = jax.random.split(key)
        filled, found = self._filled(rbm, batch, key=key_fill)
        grads, state, info = self.inner.estimate(rbm, filled, state, key=key_inner)
        share = self.inner.about.data_share
        if found is None or not share:
            return grads, state, info
        if found.h is None:  # already summed: ⟨F⟩ differs from F(v_seen) by the entropy
            entropy = -(jnp.exp(found.log_share) * jnp.nan_to_num(found.log_share)).sum(-1)
            return grads, state, info._replace(gap=info.gap - share * (batch.weights @ entropy))

        def exchanged(rbm: RBM) -> Array:
            summed = self._summed(rbm, batch.states)
            assert summed is not None
            return -batch.weights @ summed.log_z_seen - mean_free_energy(rbm, filled)

        value, more = eqx.filter_value_and_grad(exchanged)(rbm)
        grads = jax.tree.map(lambda g, m: g + share * m, grads, more)
        return grads, state, info._replace(gap=info.gap + share * value)

    def _summed(self, rbm: RBM, v: Array) -> Posterior | None:
        return posterior(rbm, v, rbm.visible.n_units if self.missing is None else self.missing)

    def _filled(
        self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray
    ) -> tuple[Cloud, Posterior | None]:
        """Return completed rows: every completion with its probability, or one draw per row."""
        found = jax.lax.stop_gradient(self._summed(rbm, batch.states))
        if found is None:
            v = completed(rbm, batch.states, self.sweeps, key=key)
            return Cloud(v, batch.weights), None
        if found.v is None:
            return Cloud(draw(rbm, found, key=key, seen=batch.states), batch.weights), found
        weights = batch.weights[:, None] * jnp.exp(found.log_share)
        return Cloud(found.v.reshape(-1, rbm.visible.size), weights.reshape(-1)), found
