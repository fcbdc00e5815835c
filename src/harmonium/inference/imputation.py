"""Imputation: filling in missing values with a model, together with their uncertainty."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import checked_key, positive_integer
from .._base.numerics import from_numpy
from .._base.programs import compiled
from .._base.threefry import key_of
from ..data.parts import rows_at_once
from ..layers import AbstractLayer
from ..layers.capabilities import proposals_from
from ..likelihood.missing.completing import complete
from ..likelihood.missing.marginal import check_finite_given, encoded_rows
from ..rbm import RBM, checked_rbm
from ..samplers.single_site import units_of_proposals

__all__ = ["Imputation", "impute"]

NOTHING_MISSING = "nothing is missing"


class Imputation(NamedTuple):
    """Rows with their missing values filled in, and the uncertainty of these values.

    Attributes:
        rows: the rows, with each missing value replaced by the unit's marginally most probable
            state, or by its mean if the unit is continuous, shape (n, observed units).
        mean: ⟨v⟩ given the seen units, with the columns of `visible.encode`, shape (n, columns):
            the probability of 1 for a Bernoulli unit, and of each state for a Potts unit.
        spread: the standard deviation of each column, 0 for observed units, shape (n, columns).
        stderr: the standard error of `mean`, from the differences between families of chains (those
            with a common ancestor), shape (n, columns); 0 if the mean is exact. The mean ± twice
            this error is a 95 % interval.
        draws: completed rows, whose missing units are drawn jointly from p(v_missing | v_seen),
            shape (draws, n, observed units).
        method: a description of the computation.
        converged: whether, for every row, the values are exact or the chains have mixed.
        message: a sentence that confirms convergence, or states the problem and its remedy.
        effective: a lower bound on the effective number of independent draws, shape (n,).

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> imputed = hm.impute(rbm, [[1, 1, np.nan, 0]], key=jax.random.key(0))
        >>> print(imputed.spread.round(3))  # √(2/3 · 1/3) where it is missing
        [[0.    0.    0.471 0.   ]]
        >>> imputed.draws.shape, imputed.method
        ((10, 1, 4), 'exact, 2 terms')
    """

    rows: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    stderr: np.ndarray
    draws: np.ndarray
    method: str
    converged: bool = True
    message: str = f"Converged: {NOTHING_MISSING}."
    effective: np.ndarray | None = None


def impute(
    rbm: RBM, rows: Any, *, key: PRNGKeyArray, draws: int = 10, sweeps: int = 64
) -> Imputation:
    """Fill in the missing values of rows from the model's p(v_missing | v_seen), with uncertainty.

    The mean and variance of a missing unit i with the cumulant-generating function Γ_i follow from
    p(v_i | h), averaged over h, with the inputs I = hWᵀ:

        ⟨v_i⟩ = ⟨Γ_i′(I)⟩,    var v_i = ⟨Γ_i″(I)⟩ + var Γ_i′(I),    over p(h | v_seen).

    With at most 2^16 hidden states or 2^12 completions of a row (up to 2^22 if there are few rows),
    both averages are computed as exact sums, and the draws are exact. Otherwise each row has a
    population of at least 32 Gibbs chains, with the seen units held fixed. The first third of the
    sweeps is annealed, with importance weights, so that modes are represented with the model's
    probabilities; averages are taken over the remaining sweeps. If the chains descend from too few
    ancestors, or independent groups of chains disagree, the chains restart with twice the sweeps,
    for about 30 s at most; if this fails, `converged` is False.

    Args:
        rbm: the model.
        rows: rows in the user's coding, with NaN for missing values, shape (n, visible units).
        key: a JAX random key.
        draws: number of completions per row.
        sweeps: initial number of Gibbs sweeps per chain, if the sums are not exact.

    Raises:
        InputError: `rbm` is not a model, rows are outside the visible layer's domain, or `draws` or
            `sweeps` is not positive.
        NotFiniteError: the missing units have no distribution given the seen units, since Z is
            infinite.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> imputed = hm.impute(rbm, [[1, 1, np.nan, 0]], key=jax.random.key(0))
        >>> imputed.rows.tolist()
        [[1.0, 1.0, 1.0, 0.0]]
        >>> print(imputed.mean.round(3))
        [[1.    1.    0.667 0.   ]]
    """
    checked_rbm(rbm)
    draws = positive_integer(draws, "draws")
    sweeps = positive_integer(sweeps, "sweeps")
    rows = rbm.visible.validate(rows, "rows", missing=True)
    key = checked_key(key)
    check_finite_given(rbm, rows)
    is_missing = np.isnan(rows)
    gaps = np.flatnonzero(is_missing.any(1))
    size = rows_at_once(rbm.visible.size)
    mean = np.concatenate(
        [
            np.asarray(encoded_rows(rbm.visible, from_numpy(rows[i : i + size])))
            for i in range(0, len(rows), size)
        ]
    )
    observed = rbm.visible.observed_columns
    mean = mean[:, observed]
    spread = np.zeros_like(mean)
    stderr = np.zeros_like(mean)
    effective = np.full(len(rows), float(draws))
    # The seen values are copied from the input, because encoding and decoding may round them.
    likely = rows.copy()
    drawn = np.repeat(rows[None], draws, axis=0)
    if not len(gaps):
        return Imputation(likely, mean, spread, stderr, drawn, NOTHING_MISSING, effective=effective)
    completions = complete(rbm, rows[gaps], draws, sweeps, key=key)
    averages = completions.averages
    variance = np.maximum(averages.variance[:, observed], 0.0)
    seen = ~np.isnan(mean[gaps])
    mean[gaps] = np.where(seen, mean[gaps], averages.mean[:, observed])
    spread[gaps] = np.where(seen, 0.0, np.sqrt(variance))
    stderr[gaps] = np.where(seen, 0.0, averages.stderr[:, observed])
    effective[gaps] = averages.families
    for i in range(0, len(gaps), size):
        which = gaps[i : i + size]
        states = np.swapaxes(completions.draws[i : i + size], 0, 1)
        means = averages.mean[i : i + size].copy()
        means[:, observed] = mean[which]
        best = rbm.visible.decode(_nearest_states(rbm.visible, from_numpy(means)))
        likely[which] = np.where(is_missing[which], best, rows[which])
        decoded = rbm.visible.decode(from_numpy(states))
        drawn[:, which] = np.where(is_missing[which], decoded, rows[which])
    return Imputation(
        likely,
        mean,
        spread,
        stderr,
        drawn,
        completions.method,
        converged=bool(averages.mixed.all()),
        message=completions.message,
        effective=effective,
    )


@compiled
def _nearest_states(visible: AbstractLayer, mean: Float[Array, "n columns"]) -> Array:
    """Return the state nearest to each unit's mean; for a continuous unit, the mean itself.

    For a unit with two states or one-hot columns, this is the most probable state.
    """
    state = visible.sample_without_inputs(mean.shape[:-1], key=key_of(0))
    columns, changes = proposals_from(visible, state)
    units = units_of_proposals(visible, columns)
    is_discrete = np.isin(np.arange(visible.n_units), units)
    state = jnp.where(visible.spread(jnp.asarray(is_discrete)), state, mean)
    if not len(columns):
        return state
    difference = (state - mean)[:, columns]
    # The increase in squared distance for each proposal: (row, proposal).
    costs = ((difference + changes) ** 2 - difference**2).sum(-1)

    def least_of_unit(values: Array) -> Array:
        """Return, for each proposal, the smallest value among its unit's proposals."""
        least = jax.ops.segment_min(values.T, jnp.asarray(units), visible.n_units)
        return least.T[:, units]

    is_best = (costs <= least_of_unit(costs)) & (costs < 0)
    number = jnp.arange(len(units))
    # Break ties between equally near states.
    chosen = number == least_of_unit(jnp.where(is_best, number, len(units)))
    rows = jnp.arange(len(mean))[:, None, None]
    return state.at[rows, columns].add(jnp.where(chosen[..., None], changes, 0.0))
