"""Rows with missing values: a family of models, one for each pattern of missing values."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._base.numerics import product
from ..layers import Masked
from ..likelihood.missing.marginal import missing_units
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud
from .base import About, AbstractGradient, Estimate, Status, check_sampler, contrasted


class PerPattern(AbstractGradient):
    """CD-k with a separate RBM for each pattern of missing values, as in collaborative filtering.

    A row with the seen units m belongs to the RBM that has only these visible units,

        p_m(v_m) ∝ ∫ exp(−U(h) − Σ_{i ∈ m} (U_i(v_i) − v_i·(Wh)_i)) dh,

    and these RBMs share their parameters. Missing units are not summed out; the RBM of a row does
    not contain them. They send no input to the hidden units, and the chains of a row stay within
    its pattern. Each pattern has its own Z, and p_m is not a marginal of p_m′ for a larger m′:
    removing a unit from such an RBM changes the distribution of the others. So there is no single
    distribution over whole rows, and `hm.sample` draws from the RBM with all units, on which
    possibly no row was trained. The method is meant for rows with few seen units among very many,
    such as the films that a person has rated: in principle a missing unit needs no computation.
    (Here rows are dense, so it costs as much as a seen unit.) `Marginal` follows the likelihood of
    one model instead.

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

    sampler: AbstractSampler

    def __check_init__(self):
        check_sampler(self.sampler)

    @property
    def about(self) -> About:
        """The properties of CD-k for the family, whose likelihood is not that of one model."""
        about = About.for_sampler(self.sampler, "CD", takes_missing=True, follows_likelihood=False)
        title = f"{about.title}, one model for each pattern"
        return about._replace(title=title, multiplies_states=False)

    def status(self, rbm: RBM, state: Any) -> Status:
        return Status(kernel=self.sampler.base_kernel)

    def estimate(self, rbm: RBM, batch: Cloud, state: tuple[()], *, key: PRNGKeyArray) -> Estimate:
        present = ~missing_units(rbm.visible, batch.states)
        data = Cloud(jnp.nan_to_num(batch.states), batch.weights)
        masked = Masked(layer=rbm.visible, present=present)  # pyright: ignore[reportCallIssue]
        family = RBM(masked, rbm.hidden, rbm.weights)
        grads, info = contrasted(family, data, self.sampler, key=key)
        of_all: Any = grads.visible  # in the structure of the masked layer
        grads = eqx.tree_at(lambda model: model.visible, grads, of_all.layer)
        seen = product(batch.weights, rbm.visible.spread(present.astype(data.states.dtype)))
        tiny = jnp.finfo(seen.dtype).tiny  # the mean is 0 for a unit that no row has
        return grads, state, info._replace(visible_mean=info.visible_mean / jnp.maximum(seen, tiny))
