"""Completion of rows with missing values: all completions of a row if there are few, or a draw."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.module import AbstractModule
from ..layers import AbstractLayer
from ..layers.capabilities import given_units
from ..likelihood.missing.annealed import ascended, mean_field_of
from ..likelihood.missing.marginal import (
    QUICK_SUMS,
    Limits,
    Posterior,
    cheapest_sum,
    completed,
    draw,
    given_seen,
    posterior,
)
from ..rbm import RBM
from ..samplers import Cloud


def columns_to_complete(visible: AbstractLayer, missing: int | None) -> np.ndarray:
    """Return the indices of the columns that may be missing in some row.

    Args:
        visible: the visible layer.
        missing: the largest number of missing units in a row, if known; if this number equals the
            number of latent units, no other units are missing.
    """
    may_be_missing = ~np.asarray(visible.spread(given_units(visible)))
    if missing == visible.n_latent:
        may_be_missing = ~visible.observed_columns
    return np.flatnonzero(may_be_missing)


class Completing(AbstractModule):
    """How the missing units of rows are completed in an update.

    Attributes:
        sweeps: Gibbs sweeps of the missing units, if completions are not kept.
        missing: the largest number of missing units in a row, if known.
        rows: number of rows whose completions are kept; 0 if no completions are kept.
        most: limits on the number of terms of an exact sum.
        mean_field: whether missing units take their mean-field means instead of states, by as many
            sweeps of coordinate ascent; no sum is then exact.
    """

    sweeps: int = eqx.field(static=True, default=10)
    missing: int | None = eqx.field(static=True, default=None)
    rows: int = eqx.field(static=True, default=0)
    most: Limits = eqx.field(static=True, default=QUICK_SUMS)
    mean_field: bool = eqx.field(static=True, default=False)

    def first(self, visible: AbstractLayer, *, key: PRNGKeyArray) -> Array:
        """Return completions of all rows, drawn without inputs; small integers become int16.

        With `mean_field`, they are the means without inputs.
        """
        if self.mean_field:
            means = visible.mean(visible.zero_inputs)[columns_to_complete(visible, self.missing)]
            return jnp.tile(means, (self.rows, 1))
        states = visible.sample_without_inputs((self.rows,), key=key)
        states = states[:, columns_to_complete(visible, self.missing)]
        # bfloat16 is not used: on a CPU, XLA would convert all rows in order to write a few.
        return states.astype(jnp.int16 if visible.is_exact_in_bfloat16 else visible.dtype)

    def can_sum(self, rbm: RBM) -> bool:
        """Return whether a sum over hidden states or completions is short enough."""
        if self.mean_field:
            return False
        return cheapest_sum(rbm, self.missing or rbm.visible.n_units, self.most) is not None

    def summed(self, rbm: RBM, v: Array) -> Posterior | None:
        """Return the sum over hidden states or completions; None if both sums are too long."""
        if not self.can_sum(rbm):
            return None
        return posterior(rbm, v, self.missing or rbm.visible.n_units, self.most)

    def filled(
        self, rbm: RBM, batch: Cloud, completions: Array | None, *, key: PRNGKeyArray
    ) -> tuple[Cloud, Array | None, Posterior | None]:
        """Return the completed rows, the completions to keep, and the terms of any exact sum.

        A row contributes either all its completions, weighted by probability, or a single draw.
        """
        terms = jax.lax.stop_gradient(self.summed(rbm, batch.states))
        if terms is None:  # there are too many terms
            v, completions = self._drawn(rbm, batch, completions, key=key)
            return batch._replace(states=v), completions, None
        if terms.v is None:  # a sum over h; the missing units are drawn given one of its states
            v = draw(rbm, terms, key=key, seen=batch.states)
            return batch._replace(states=v), completions, terms
        v = terms.v.reshape(-1, rbm.visible.size)
        weights = batch.weights[:, None] * jnp.exp(terms.log_share)
        return Cloud(v, weights.reshape(-1)), completions, terms

    def _drawn(
        self, rbm: RBM, batch: Cloud, completions: Array | None, *, key: PRNGKeyArray
    ) -> tuple[Array, Array | None]:
        """Draw the missing units, by one sweep from kept completions or by several sweeps."""
        if completions is None or batch.rows is None:
            if self.mean_field:
                return mean_field_of(rbm, batch.states, self.sweeps), completions
            return completed(rbm, batch.states, self.sweeps, key=key), completions
        columns = columns_to_complete(rbm.visible, self.missing)
        before = completions[jnp.minimum(batch.rows, self.rows - 1)].astype(batch.states.dtype)
        before = batch.states.at[:, columns].set(before)
        before = jnp.where(jnp.isnan(batch.states), before, batch.states)
        if self.mean_field:
            v = ascended(rbm, batch.states, before)
        else:
            v = given_seen(rbm, batch.states).gibbs_sweep(before, key=key)
        states = v[:, columns].astype(completions.dtype)
        return v, completions.at[batch.rows].set(states, mode="drop")
