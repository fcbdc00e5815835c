"""Rows with missing values: missing units are summed out, or left out of the model."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.numerics import product
from ..errors import InputError
from ..layers import Masked
from ..layers.capabilities import are_bounded
from ..likelihood.missing.marginal import QUICK_SUMS, Limits, missing_units
from ..rbm import RBM
from ..samplers import Cloud
from .base import (
    About,
    AbstractGradient,
    AbstractSampled,
    Estimate,
    Status,
    contrasted,
    mean_free_energy,
)
from .completing import Completing, columns_to_complete


class MarginalState(NamedTuple):
    """The state of the inner method, and the latest completions of the rows.

    Attributes:
        inner: the state of the inner method.
        completed: states of the columns that are missing in some row, shape (rows, columns), drawn
            without inputs for rows not yet visited; None if no completions are kept.
    """

    inner: Any
    completed: Float[Array, "rows columns"] | None


class Marginal(AbstractGradient):
    r"""Ascent on log p(v_seen) of rows with missing values; the missing units are summed out.

        log p(v_seen) = log Σ_h exp(−U(h) + Σ_seen (v_i·I_i − U_i(v_i)) + Σ_missing Γ_i(I_i))
                        − log Z

    Here I = hWᵀ are the inputs of the visible units, U and U_i the energies of units, and Γ_i the
    cumulant-generating functions. The gradient is the inner method's gradient, with the missing
    units of the data drawn from p(v_missing | v_seen); the model phase is unchanged. This gradient
    is correct if missingness does not depend on the missing values themselves (missing at random).

    With `mean_field`, the missing units take their means under the mean field of their row, which
    is found by sweeps of coordinate ascent: `sweeps` of them, or one from the kept means of the
    row. The gradient is then that of a lower bound on log p(v_seen), as in Salakhutdinov & Hinton
    2009.

    If a sum over hidden states or over a row's completions has few enough terms (limits `most`),
    the data phase is computed as that sum; with `Exact` as the inner method, the whole gradient is
    then exact. Otherwise the missing units are drawn by Gibbs sampling with the seen units fixed. A
    run keeps each row's latest completion and moves it by one sweep each time the row is in a
    batch, as PCD moves its chains. If completions are not kept, each update draws new completions
    by a few sweeps; with too few sweeps, the learned correlations between missing units are too
    weak. `fit` wraps its method in `Marginal` if the rows have missing values.

    Attributes:
        inner: the method whose gradient on the completed rows is used; its model phase is
            unchanged.
        sweeps: Gibbs sweeps of the missing units, if completions are not kept.
        missing: the largest number of missing units in a row, if known.
        rows: number of rows whose completions are kept; 0 if no completions are kept.
        most: limits on the number of terms of an exact sum.
        mean_field: whether the missing units take their mean-field means; their values must be
            bounded.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> method, key = hm.Marginal(hm.Exact()), jax.random.key(0)
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, jnp.nan]]))
        >>> _, _, info = method.estimate(rbm, batch, method.init(rbm, batch, key=key), key=key)
        >>> round(float(info.gap), 3)  # −log p(v_0 = 1)
        0.708

    Source: Ghahramani & Jordan 1994, for any likelihood; the gradient is Fisher's identity.
    Kept completions: Delyon, Lavielle & Moulines 1999; Tieleman 2008, for the model phase.
    """

    inner: AbstractGradient
    sweeps: int = eqx.field(static=True, default=10)
    missing: int | None = eqx.field(static=True, default=None)
    rows: int = eqx.field(static=True, default=0)
    most: Limits = eqx.field(static=True, default=QUICK_SUMS)
    mean_field: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if not isinstance(self.inner, AbstractGradient):
            raise InputError(
                "Marginal inner: expected a gradient method such as hm.Persistent(hm.Gibbs(1));"
                f" got {self.inner!r}."
            )
        positive_integer(self.sweeps, "Marginal sweeps")
        if self.missing is not None:
            positive_integer(self.missing, "Marginal missing")

    @property
    def _completing(self) -> Completing:
        return Completing(self.sweeps, self.missing, self.rows, self.most, self.mean_field)

    @property
    def about(self) -> About:
        about = self.inner.about
        if self.mean_field:
            title = f"{about.title}, missing units at their mean field"
            return about._replace(
                title=title, takes_missing=True, follows_likelihood=False, multiplies_states=False
            )
        title = f"{about.title}, missing units summed out"
        return about._replace(title=title, takes_missing=True)

    def status(self, rbm: RBM, state: Any) -> Status:
        if state is not None:
            state = state.inner
        return self.inner.status(rbm, state)

    def metrics(self, state: MarginalState) -> dict[str, Array]:
        return self.inner.metrics(state.inner)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> MarginalState:
        """Initialise the inner method, and the completions of all rows.

        Raises:
            InputError: `mean_field` is chosen for missing units whose energy depends on more than
                their means.
        """
        may_be_missing = columns_to_complete(rbm.visible, self.missing)
        if self.mean_field and not are_bounded(rbm.visible)[may_be_missing].all():
            raise InputError(
                "Marginal mean_field: expected bounded values of all units that may be missing; got"
                f" {rbm.visible}; leave mean_field out, or pass missing= the number of latent units"
                " if the rows are complete."
            )
        key_fill, key_inner, key_rows = jax.random.split(key, 3)
        completions = None
        completing = self._completing
        if self.rows and not completing.can_sum(rbm):
            completions = completing.first(rbm.visible, key=key_rows)
        filled, _, _ = completing.filled(rbm, batch, None, key=key_fill)
        return MarginalState(self.inner.init(rbm, filled, key=key_inner), completions)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: MarginalState, *, key: PRNGKeyArray
    ) -> Estimate:
        """Complete the rows, and return the inner method's gradient on them.

        A single draw per row is noisy. If the sum over h is available, its contribution to the
        gradient therefore replaces the contribution of the draws.
        """
        key_fill, key_inner = jax.random.split(key)
        completing = self._completing
        filled, completions, terms = completing.filled(rbm, batch, state.completed, key=key_fill)
        grads, inner, info = self.inner.estimate(rbm, filled, state.inner, key=key_inner)
        state = MarginalState(inner, completions)
        factor = self.inner.about.data_share
        if terms is None or not factor:
            return grads, state, info
        if terms.h is None:  # the sum was over completions, whose entropy is ⟨F⟩ − F(v_seen)
            entropy = -(jnp.exp(terms.log_share) * jnp.nan_to_num(terms.log_share)).sum(-1)
            return grads, state, info._replace(gap=info.gap - factor * (batch.weights @ entropy))

        def exchanged(rbm: RBM) -> Array:
            summed = completing.summed(rbm, batch.states)
            assert summed is not None
            return -batch.weights @ summed.log_z_seen - mean_free_energy(rbm, filled)

        value, more = eqx.filter_value_and_grad(exchanged)(rbm)
        grads = jax.tree.map(lambda g, m: g + factor * m, grads, more)
        return grads, state, info._replace(gap=info.gap + factor * value)


class PerPattern(AbstractSampled):
    """CD-k with a separate RBM for each pattern of missing values, as in collaborative filtering.

    A row in which only the units of the set m are observed has an RBM of these units alone,

        p_m(v_m) ∝ ∫ exp(−U(h) − Σ_{i ∈ m} (U_i(v_i) − v_i·(Wh)_i)) dh.

    These RBMs share their parameters. Missing units are not summed out; the RBM of a row does not
    contain them. Missing units send no input to the hidden units, and the chain of a row has the
    same missing units. Each pattern has its own Z, and p_m is not a marginal of p_m′ for a larger
    m′: removing a unit from such an RBM changes the distribution of the others. There is thus no
    single distribution over whole rows, and `hm.sample` draws from the RBM with all units, although
    possibly no training row has all units. The method is meant for rows with few seen units among
    very many, such as the films that a person has rated: in principle a missing unit needs no
    computation. (In harmonium, rows are dense arrays, so a missing unit costs as much as a seen
    unit.) `Marginal`, by contrast, follows the likelihood of a single model.

    Attributes:
        sampler: the sampler that moves the chains away from the data.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, jnp.nan]]))
        >>> method = hm.PerPattern(hm.Gibbs(1))
        >>> grads, _, _ = method.estimate(rbm, batch, (), key=jax.random.key(0))
        >>> grads.weights[1].tolist()  # of the missing unit
        [0.0, 0.0]

    Source: Salakhutdinov, Mnih & Hinton 2007.
    """

    @property
    def about(self) -> About:
        """The properties of CD-k for this family of models, which has no single likelihood."""
        about = About.for_sampler(self.sampler, "CD", takes_missing=True, follows_likelihood=False)
        title = f"{about.title}, one model for each pattern"
        return about._replace(title=title, multiplies_states=False)

    def estimate(self, rbm: RBM, batch: Cloud, state: tuple[()], *, key: PRNGKeyArray) -> Estimate:
        """Run a chain from each row of the batch, in the row's own RBM, and return the gradient."""
        present = ~missing_units(rbm.visible, batch.states)
        data = Cloud(jnp.nan_to_num(batch.states), batch.weights)
        masked = Masked(layer=rbm.visible, present=present)  # pyright: ignore[reportCallIssue]
        family = RBM(masked, rbm.hidden, rbm.weights)
        grads, info = contrasted(family, data, self.sampler, key=key)
        of_all: Any = grads.visible  # this gradient has the structure of the masked layer
        grads = eqx.tree_at(lambda model: model.visible, grads, of_all.layer)
        seen = product(batch.weights, rbm.visible.spread(present.astype(data.states.dtype)))
        tiny = jnp.finfo(seen.dtype).tiny  # the mean is 0 for a unit that is missing in every row
        return grads, state, info._replace(visible_mean=info.visible_mean / jnp.maximum(seen, tiny))
