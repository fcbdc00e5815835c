"""Persistent contrastive divergence: chains that go on from update to update."""

from typing import Any

import equinox as eqx
from jaxtyping import PRNGKeyArray

from ..checks import positive_integer
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud
from .base import AbstractGradient, PhaseInfo, check_sampler, cloud_gradient


class Persistent(AbstractGradient):
    """PCD-k, or stochastic maximum likelihood: the model cloud is chains that are never reset.

    `Persistent(Gibbs(k), chains=n)` is PCD-k with n chains, whatever the batch size. It follows the
    likelihood as long as the chains forget faster than the parameters move.

    Attributes:
        sampler: what moves the chains.
        chains: number of chains.

    Source: Younes 1989; Tieleman 2008.
    """

    sampler: AbstractSampler
    chains: int = eqx.field(static=True, default=500)

    def __check_init__(self):
        check_sampler(self.sampler)
        positive_integer(self.chains, "Persistent chains")

    @property
    def multiplies_states(self) -> bool:
        """If the sampler does no more."""
        return self.sampler.multiplies_states

    @property
    def title(self) -> str:
        """PCD-k, or by what other moves."""
        kernel, _ = self.sampler.moves
        return self.with_sweeps("PCD") if kernel.unit == "sweeps" else f"PCD by {kernel.unit}"

    def carried(self, state: Any) -> Cloud:
        """Give the chains."""
        return self.sampler.cloud(state)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Start the chains from the machine without its weights."""
        return self.sampler.init(rbm, self.chains, key=key)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray
    ) -> tuple[RBM, Any, PhaseInfo]:
        """Move the chains by one step and take the gap."""
        state, _ = self.sampler.step(rbm, state, key=key)
        grads, info = cloud_gradient(rbm, batch, self.sampler.cloud(state))
        return grads, state, info
