"""Weighted sums of objectives, such as a discriminative–generative hybrid."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..errors import InputError
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, Estimate, Status


class WeightedSum(AbstractGradient):
    """A weighted sum of methods: the gradient is Σ_i s_i g_i, with shares s_i and gradients g_i.

    For a model whose last unit is a label, a hybrid of discriminative and generative learning is

        WeightedSum(Discriminative(), Contrastive(Gibbs(1)), shares=(1.0, 0.1))

    Its objective is log p(y | v) + 0.1 log p(v, y), in which the small generative part acts as a
    regulariser. If some rows lack a label, learning is semi-supervised.

    Attributes:
        methods: the methods whose gradients are added.
        shares: the positive weight of each method.

    Example:
        >>> generative = hm.Contrastive(hm.Gibbs(1))
        >>> hybrid = hm.WeightedSum(hm.Discriminative(), generative, shares=(1.0, 0.1))
        >>> hybrid.about.title, hybrid.about.follows_likelihood  # hm.fit(..., gradient=hybrid)
        ('discriminative + 0.1 CD-1', False)

    Source: Larochelle & Bengio 2008.
    """

    methods: tuple[AbstractGradient, ...]
    shares: tuple[float, ...]

    def __init__(self, *methods: AbstractGradient, shares: Any):
        """Set the methods, and their shares in the same order."""
        wrong = [method for method in methods if not isinstance(method, AbstractGradient)]
        if not methods or wrong:
            raise InputError(f"WeightedSum: expected gradient methods; got {methods!r}.")
        numbers = tuple(shares) if isinstance(shares, list | tuple) else (shares,)
        are_positive = all(isinstance(s, int | float) and 0 < s < float("inf") for s in numbers)
        if len(numbers) != len(methods) or not are_positive:
            raise InputError(
                "WeightedSum shares: expected one positive number for each method,"
                f" {len(methods)} in all; got {shares!r}."
            )
        self.methods = methods
        self.shares = tuple(map(float, numbers))

    @property
    def about(self) -> About:
        """The properties of the sum, combined from the properties of its methods."""
        abouts = [method.about for method in self.methods]
        pairs = list(zip(abouts, self.shares, strict=True))
        are_whole = abs(sum(self.shares) - 1.0) < 1e-6
        return About(
            " + ".join(a.title if s == 1.0 else f"{s:g} {a.title}" for a, s in pairs),
            sweeps=next((a.sweeps for a in abouts if a.sweeps is not None), None),
            follows_likelihood=are_whole and all(a.follows_likelihood for a in abouts),
            multiplies_states=all(a.multiplies_states for a in abouts),
            takes_missing=all(a.takes_missing for a in abouts),
            keeps_given=all(a.keeps_given for a in abouts),
            takes_given_units=all(a.takes_given_units for a in abouts),
            data_share=sum(s * a.data_share for a, s in pairs),
        )

    def status(self, rbm: RBM, state: Any) -> Status:
        """Return the chains and the kernel of the first method that has chains, and all notes."""
        if state is None:
            state = [None] * len(self.methods)
        statuses = [
            method.status(rbm, own) for method, own in zip(self.methods, state, strict=True)
        ]
        return Status(
            next((status.chains for status in statuses if status.chains is not None), None),
            next((status.kernel for status in statuses if status.kernel is not None), None),
            [note for status in statuses for note in status.notes],
        )

    def metrics(self, state: Any) -> dict[str, Array]:
        """Return the metrics of all methods in one dictionary."""
        metrics = {}
        for method, own in zip(self.methods, state, strict=True):
            metrics |= method.metrics(own)
        return metrics

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> tuple[Any, ...]:
        keys = jax.random.split(key, len(self.methods))
        pairs = zip(self.methods, keys, strict=True)
        return tuple(method.init(rbm, batch, key=key) for method, key in pairs)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: tuple[Any, ...], *, key: PRNGKeyArray
    ) -> Estimate:
        """Return the weighted sum of the gradients, and of the gaps."""
        keys = jax.random.split(key, len(self.methods))
        estimates = [
            method.estimate(rbm, batch, own, key=key)
            for method, own, key in zip(self.methods, state, keys, strict=True)
        ]
        grads, states, infos = zip(*estimates, strict=True)

        def total(*parts: Any) -> Any:
            return sum(jnp.multiply(s, part) for s, part in zip(self.shares, parts, strict=True))

        info = infos[0]._replace(gap=total(*(info.gap for info in infos)))
        return jax.tree.map(total, *grads), states, info
