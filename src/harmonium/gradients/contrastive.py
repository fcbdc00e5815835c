"""Contrastive divergence: chains that start at the data."""

from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud
from .base import AbstractGradient, PhaseInfo, check_sampler, cloud_gradient


class Contrastive(AbstractGradient):
    """CD-k: the model cloud is the batch itself after one step of the sampler.

    `Contrastive(Gibbs(k))` is CD-k. Its chains carry the weights of the rows that they start from.
    The estimate is biased towards the data unless k is long against the mixing time.

    Attributes:
        sampler: what moves the chains away from the data.

    Source: Hinton 2002; the hidden average is analytic in both phases.
    """

    sampler: AbstractSampler

    def __check_init__(self):
        check_sampler(self.sampler)

    @property
    def title(self) -> str:
        """CD-k."""
        return self.with_sweeps("CD")

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> tuple[()]:
        """Nothing is carried."""
        return ()

    def estimate(
        self, rbm: RBM, batch: Cloud, state: tuple[()], *, key: PRNGKeyArray
    ) -> tuple[RBM, tuple[()], PhaseInfo]:
        """Run the chains from the batch and take the gap."""
        key_start, key_step = jax.random.split(key)
        chains: Any = self.sampler.start(rbm, batch.states, key=key_start)
        chains, _ = self.sampler.step(rbm, chains, key=key_step)
        reached = self.sampler.cloud(chains).states
        grads, info = cloud_gradient(rbm, batch, Cloud(reached, batch.weights))
        return grads, state, info
