"""Fast persistent contrastive divergence: the chains' model runs ahead of the one that learns."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..checks import positive_integer
from ..errors import InputError
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud
from .base import About, AbstractGradient, PhaseInfo, Status, check_sampler, cloud_gradient


class FastState(NamedTuple):
    """What goes on from update to update.

    Attributes:
        chains: the sampler's state.
        fast: what is added to each parameter where the chains move.
    """

    chains: Any
    fast: RBM


class FastPersistent(AbstractGradient):
    """FPCD-k: persistent chains under parameters that learn quickly and forget quickly.

    The chains move under θ + θ_fast, and θ_fast ← decay · θ_fast − rate · ∂(⟨F⟩_data − ⟨F⟩_model).
    Where the chains stay for long, energies rise under them until they leave. What is learned is θ,
    by a model cloud that is not quite its own: the estimate is biased by about the size of θ_fast.

    Attributes:
        sampler: what moves the chains.
        chains: number of chains.
        rate: of the fast parameters; that of PCD where it is 0.
        decay: what is left of the fast parameters after an update.

    Source: Tieleman & Hinton 2009.
    """

    sampler: AbstractSampler
    chains: int = eqx.field(static=True, default=500)
    rate: float = 0.01
    decay: float = 0.95

    def __check_init__(self):
        check_sampler(self.sampler)
        positive_integer(self.chains, "FastPersistent chains")
        if not self.rate >= 0:
            raise InputError(f"FastPersistent rate: expected 0 or more; got {self.rate}.")
        if not 0 <= self.decay < 1:
            raise InputError(f"FastPersistent decay: expected from 0 to below 1; got {self.decay}.")

    @property
    def about(self) -> About:
        """FPCD-k, which follows the likelihood only without fast parameters."""
        about = About.by(self.sampler, "FPCD", follows_likelihood=self.rate == 0)
        return about._replace(multiplies_states=False)

    def status(self, rbm: RBM, state: Any) -> Status:
        """The chains."""
        chains = None if state is None else self.sampler.cloud(state.chains)
        return Status(chains, self.sampler.base_kernel)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> FastState:
        """Start the chains from the model without its weights."""
        chains = self.sampler.init(rbm, self.chains, key=key)
        return FastState(chains, jax.tree.map(jnp.zeros_like, rbm))

    def estimate(
        self, rbm: RBM, batch: Cloud, state: FastState, *, key: PRNGKeyArray
    ) -> tuple[RBM, FastState, PhaseInfo]:
        """Move the chains under the sum of both, and take the gap of the model that learns."""
        ahead = jax.tree.map(jnp.add, rbm, state.fast).project()
        chains, _ = self.sampler.step(ahead, state.chains, key=key)
        grads, info = cloud_gradient(rbm, batch, self.sampler.cloud(chains))
        fast = jax.tree.map(lambda f, g: self.decay * f - self.rate * g, state.fast, grads)
        return grads, FastState(chains, fast), info
