"""Contrastive divergence: chains that start at the data."""

from jaxtyping import PRNGKeyArray

from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractSampled, Estimate, contrasted


class Contrastive(AbstractSampled):
    """CD-k: the batch after one step of the sampler represents the model.

    `Contrastive(Gibbs(k))` is CD-k. Each chain starts at a row and has that row's weight. The
    estimate is biased towards the data unless k is large compared with the mixing time.

    Attributes:
        sampler: the sampler that moves the chains away from the data.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.Contrastive(hm.Gibbs(5))
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> method.about.title, fit.message
        ('CD-5', 'finished after 2 updates (2 epochs)')

    Source: Hinton 2002; the hidden average is analytic in both phases.
    """

    @property
    def about(self) -> About:
        keeps_given = self.sampler.keeps_given
        return About.for_sampler(
            self.sampler, "CD", keeps_given=keeps_given, takes_given_units=keeps_given
        )

    def estimate(self, rbm: RBM, batch: Cloud, state: tuple[()], *, key: PRNGKeyArray) -> Estimate:
        grads, info = contrasted(rbm, batch, self.sampler, key=key)
        return grads, state, info
