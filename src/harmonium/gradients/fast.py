"""Fast persistent contrastive divergence: chains with additional, fast-learning parameters."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from ..errors import InputError
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractChains, Estimate, cloud_gradient


class FastState(NamedTuple):
    """The chains and the fast parameters, kept from update to update.

    Attributes:
        chains: the sampler's state.
        fast: θ_fast, which is added to the parameters when the chains move.
    """

    chains: Any
    fast: RBM


class FastPersistent(AbstractChains):
    """FPCD-k: persistent chains with additional parameters that learn and decay fast.

    The chains move under θ + θ_fast, and θ_fast ← decay · θ_fast − rate · ∂(⟨F⟩_data −
    ⟨F⟩_model)/∂θ. The fast parameters raise the energy of states at which chains stay, until the
    chains leave. The learned parameters are θ, but the chains move under θ + θ_fast, so the
    estimate has a bias of the order of θ_fast.

    Attributes:
        sampler: the sampler that moves the chains.
        chains: number of chains.
        rate: learning rate of the fast parameters; a rate of 0 makes the method PCD.
        decay: factor by which the fast parameters are multiplied at each update.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.FastPersistent(hm.Gibbs(1), chains=10, rate=0.01)
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> method.about.title, fit.message
        ('FPCD-1', 'finished after 2 updates (2 epochs)')

    Source: Tieleman & Hinton 2009.
    """

    rate: float = 0.01
    decay: float = 0.95

    def __check_init__(self):
        if not self.rate >= 0:
            raise InputError(
                f"FastPersistent rate: expected a number of at least 0; got {self.rate}."
            )
        if not 0 <= self.decay < 1:
            raise InputError(
                "FastPersistent decay: expected a number of at least 0 and below 1;"
                f" got {self.decay}."
            )

    @property
    def about(self) -> About:
        """The properties of FPCD-k, which follows the likelihood gradient only if `rate` is 0."""
        about = About.for_sampler(self.sampler, "FPCD", follows_likelihood=self.rate == 0)
        return about._replace(multiplies_states=False)

    def cloud_of(self, state: FastState) -> Cloud:
        """Return the chains, with equal weights."""
        return Cloud.uniform(self.sampler.positions(state.chains))

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> FastState:
        """Start the chains from the model with zero weights."""
        chains = self.sampler.init_independent(rbm, self.chains, key=key)
        return FastState(chains, jax.tree.map(jnp.zeros_like, rbm))

    def estimate(self, rbm: RBM, batch: Cloud, state: FastState, *, key: PRNGKeyArray) -> Estimate:
        """Move the chains under θ + θ_fast; return the gradient with respect to θ."""
        ahead = jax.tree.map(jnp.add, rbm, state.fast).project()
        chains, _ = self.sampler.step(ahead, state.chains, key=key)
        state = state._replace(chains=chains)
        grads, info = cloud_gradient(rbm, batch, self.cloud_of(state))
        fast = jax.tree.map(lambda f, g: self.decay * f - self.rate * g, state.fast, grads)
        return grads, state._replace(fast=fast), info
