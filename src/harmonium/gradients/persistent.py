"""Persistent contrastive divergence: chains that continue from update to update."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._base.threefry import split
from ..layers import AbstractLayer
from ..layers.capabilities import is_binary, takes_lengths
from ..rbm import RBM
from ..samplers import Cloud
from .base import (
    USUAL_CHAINS,
    About,
    AbstractChains,
    Estimate,
    cloud_gradient,
    usual_rate,
)
from .starting import chosen_rows, start_states

FEW_UNITS = 64  # the largest number of visible units for which the rate is 0.1
MOST_TIMES = 4.0  # the largest factor by which this rate is raised


class Persistent(AbstractChains):
    """PCD-k, or stochastic maximum likelihood: persistent chains represent the model.

    `Persistent(Gibbs(k), chains=n)` is PCD-k with n chains, for any batch size. The chains are
    never reset. The estimate stays close to the likelihood gradient as long as the chains mix
    faster than the parameters change.

    Attributes:
        sampler: the sampler that moves the chains.
        chains: number of chains.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.Persistent(hm.Gibbs(1), chains=10)
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> method.about.title, fit.state.gradient.v.shape
        ('PCD-1', (10, 4))

    Source: Younes 1989; Tieleman 2008.
    """

    @property
    def about(self) -> About:
        """The properties of PCD-k, or of PCD with another sampler, and its default rate."""
        keeps_given = self.sampler.keeps_given
        about = About.for_sampler(
            self.sampler, "PCD", rate=self.usual_rate, keeps_given=keeps_given
        )
        kernel, _ = self.sampler.base_kernel
        if kernel.unit == "sweeps":
            return about
        return about._replace(title=f"PCD by {kernel.unit}")

    def usual_rate(self, rbm: RBM) -> float:
        """Return the default rate, which grows with the number of 0/1 visible units beyond 64.

        With 10,000 updates and 500 chains, a rate of 0.4 or more is best for most data sets of up
        to 800 columns (docs/decisions/mnist_search.md), and the default is at most 0.4. But on data
        that a model can fit almost perfectly, such as bars and stripes, the chains lag behind the
        model at this rate. One-hot sites of sequences are also learned better at higher rates
        (docs/sequences.md). At high rates, parameters are noisier with fewer chains. With fewer
        than 500 chains, and for other units, the default rate is therefore the same as for other
        methods.
        """
        rate = usual_rate(rbm)
        if self.chains < USUAL_CHAINS or not (is_binary(rbm.visible) and is_binary(rbm.hidden)):
            return rate
        return rate * min(MOST_TIMES, max(1.0, rbm.visible.n_units / FEW_UNITS))

    def cloud_of(self, state: Any) -> Cloud:
        """Return the chains, with equal weights."""
        return Cloud.uniform(self.sampler.positions(state))

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Start the chains from the model with zero weights, with the rows' lengths, if any.

        If the weights are so large that chains may stay in the mode in which they start, the chains
        start at rows of the batch, which visit the modes in the right proportions.
        """
        rbm = rbm.with_given_of(chosen_rows(batch, self.chains))
        key_draw, key_init = split(key)
        v, _ = start_states(rbm, batch, (self.chains,), key=key_draw)
        return self.sampler.init(rbm, v, key=key_init)

    def estimate(self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray) -> Estimate:
        """Move the chains by one step and return the gradient of the free-energy gap."""
        state, _ = self.sampler.step(rbm, state, key=key)
        chains = with_mean_length(rbm.visible, self.cloud_of(state), batch)
        grads, info = cloud_gradient(rbm, batch, chains)
        return grads, state, info


def with_mean_length(layer: AbstractLayer, model: Cloud, data: Cloud) -> Cloud:
    """Return chains weighted so that their mean length equals the mean length of the data.

    The weights of the C chains are 1/C plus a linear function of a chain's length, so that chance
    differences in length between chains and batch do not affect the parameters. Chains of layers
    without lengths keep equal weights.
    """
    if not takes_lengths(layer):
        return model
    lengths = layer.lengths(model.states)
    centred = lengths - lengths.mean()
    deficit = data.mean_of(layer.lengths(data.states)) - lengths.mean()
    variance = centred @ centred / len(centred)
    # If all chains have the same length, the slope is undefined; the ridge term makes it 0.
    ridge = jnp.finfo(variance.dtype).eps * (1.0 + variance)
    slope = deficit / (variance + ridge)
    return model._replace(weights=model.weights * (1.0 + centred * slope))
