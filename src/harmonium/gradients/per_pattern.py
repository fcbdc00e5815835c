"""Rows with missing values, otherwise: a family of models, one for each pattern of absence."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._numerics import product
from ..layers import Masked
from ..missing.marginal import missing_units
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud
from .base import About, AbstractGradient, PhaseInfo, Status, check_sampler, contrasted


class PerPattern(AbstractGradient):
    """CD-k on a model of its own for every pattern of absence: what collaborative filtering does.

    A row with the seen units m belongs to the model that has these visible units alone,

        p_m(v_m) ∝ ∫ exp(−U(h) − Σ_{i ∈ m} (U_i(v_i) − v_i·(Wh)_i)) dh,

    and the models share their parameters. Absent units are not summed out, they do not exist: the
    hidden units hear nothing from them, and the chains of a row stay within its pattern. Each
    pattern has its own Z, and p_m is no marginal of p_m′ for a larger m′: dropping a unit from such
    a model changes what the others do. So there is no one distribution over whole rows, and
    `hm.sample` draws from the model with all units, which no row may have trained. What it is for
    is rows of few seen units among very many, such as films that someone has rated: a missing unit
    needs no work at all. (Here rows are dense, and it costs what a seen one does.) `Marginal` is
    the likelihood of one model.

    Attributes:
        sampler: what moves the chains away from the data.

    Source: Salakhutdinov, Mnih & Hinton 2007.
    """

    sampler: AbstractSampler

    def __check_init__(self):
        check_sampler(self.sampler)

    @property
    def about(self) -> About:
        """CD-k of the family, whose likelihood is not that of one model."""
        about = About.by(self.sampler, "CD", takes_missing=True, follows_likelihood=False)
        title = f"{about.title}, one model for each pattern"
        return about._replace(title=title, multiplies_states=False)

    def status(self, rbm: RBM, state: Any) -> Status:
        """What moves the chains."""
        return Status(kernel=self.sampler.base_kernel)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> tuple[()]:
        """Nothing is carried."""
        return ()

    def estimate(
        self, rbm: RBM, batch: Cloud, state: tuple[()], *, key: PRNGKeyArray
    ) -> tuple[RBM, tuple[()], PhaseInfo]:
        """Run the chains from the batch, each in its row's pattern, and take the gap."""
        present = ~missing_units(rbm.visible, batch.states)
        data = Cloud(jnp.nan_to_num(batch.states), batch.weights)
        masked = Masked(layer=rbm.visible, present=present)  # pyright: ignore[reportCallIssue]
        family = RBM(masked, rbm.hidden, rbm.weights)
        grads, info = contrasted(family, data, self.sampler, key=key)
        of_all: Any = grads.visible  # in the structure of the masked layer
        grads = eqx.tree_at(lambda model: model.visible, grads, of_all.layer)
        seen = product(batch.weights, rbm.visible.spread(present.astype(data.states.dtype)))
        tiny = jnp.finfo(seen.dtype).tiny  # of a unit that no row has, the mean is 0
        return grads, state, info._replace(visible_mean=info.visible_mean / jnp.maximum(seen, tiny))
