"""Rows with missing values: any method, on what a row shows of itself."""

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
    r"""A method on rows with missing values: ascent on log p(v_seen), the missing units summed out.

        log p(v_seen) = log Σ_h exp(−U(h) + Σ_seen (v_i·I_i − U_i(v_i)) + Σ_absent Γ_i(I_i)) − log Z

    with I = hWᵀ. Its gradient is the inner method's with the missing units of the data drawn from
    p(v_absent | v_seen): the model's side is that of the whole model, as ever. That is so for
    absence that does not depend on the missing values themselves.

    With at most 2^12 hidden states, or 2^6 completions of a row, the data's side is summed exactly;
    with `Exact` inside, so is all. Otherwise the missing units are drawn by Gibbs sweeps with the
    seen ones held, started afresh in each update: with too few of them, correlations between missing
    units are learned as too weak. `fit` wraps its method in this one by itself where the rows have
    missing values.

    Attributes:
        inner: what learns from the completed rows; its model's side is left as it is.
        sweeps: Gibbs sweeps of the missing units, where they are not summed.
        missing: the most missing units that a row has, if it is known.

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
        """That of the inner method, with missing values."""
        about = self.inner.about
        title = f"{about.title}, missing units summed out"
        return about._replace(title=title, takes_missing=True, multiplies_states=False)

    def status(self, rbm: RBM, state: Any) -> Status:
        """That of the inner method."""
        return self.inner.status(rbm, state)

    def metrics(self, state: Any) -> dict[str, Array]:
        """Return those of the inner method."""
        return self.inner.metrics(state)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Start the inner method."""
        key_fill, key_inner = jax.random.split(key)
        filled, _ = self._filled(rbm, batch, key=key_fill)
        return self.inner.init(rbm, filled, key=key_inner)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray
    ) -> tuple[RBM, Any, PhaseInfo]:
        """Complete the rows, and let the inner method learn from them.

        One draw for each row would be noisy where a sum over h can be had: its part of the
        gradient is then exchanged for that sum's.
        """
        key_fill, key_inner = jax.random.split(key)
        filled, found = self._filled(rbm, batch, key=key_fill)
        grads, state, info = self.inner.estimate(rbm, filled, state, key=key_inner)
        share = self.inner.about.data_share
        if found is None or not share:
            return grads, state, info
        if found.h is None:  # already summed; ⟨F⟩ differs from F(v_seen) by the entropy
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
        """Return completed rows: every completion with its probability, or one draw of each."""
        found = jax.lax.stop_gradient(self._summed(rbm, batch.states))
        if found is None:
            v = completed(rbm, batch.states, self.sweeps, key=key)
            return Cloud(v, batch.weights), None
        if found.v is None:
            return Cloud(draw(rbm, found, key=key, seen=batch.states), batch.weights), found
        weights = batch.weights[:, None] * jnp.exp(found.log_share)
        return Cloud(found.v.reshape(-1, rbm.visible.size), weights.reshape(-1)), found
