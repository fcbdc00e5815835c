"""A weighted sum of objectives, such as the hybrid of a discriminative and a generative one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..errors import InputError
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, PhaseInfo, Status


class WeightedSum(AbstractGradient):
    """A weighted sum of methods: the gradient is Σ_i s_i g_i, with shares s_i and gradients g_i.

    For a model whose last unit is a label,

        WeightedSum(Discriminative(), Contrastive(Gibbs(1)), shares=(1.0, 0.1))

    is the hybrid objective log p(y | v) + 0.1 log p(v, y): its small generative part is a
    regulariser learned from the data. With rows without a label it is semi-supervised.

    Attributes:
        methods: the methods whose gradients are added.
        shares: the weight of each method, positive numbers.

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
        given = tuple(shares) if isinstance(shares, list | tuple) else (shares,)
        are_numbers = all(isinstance(s, int | float) and 0 < s < float("inf") for s in given)
        if len(given) != len(methods) or not are_numbers:
            expected = f"{len(methods)} positive numbers, one for each method"
            raise InputError(f"WeightedSum shares: expected {expected}; got {shares!r}.")
        self.methods = methods
        self.shares = tuple(float(share) for share in given)

    @property
    def about(self) -> About:
        each = [method.about for method in self.methods]
        pairs = list(zip(each, self.shares, strict=True))
        title = " + ".join(a.title if s == 1.0 else f"{s:g} {a.title}" for a, s in pairs)
        return About(
            title,
            next((a.sweeps for a in each if a.sweeps is not None), None),
            abs(sum(self.shares) - 1.0) < 1e-6 and all(a.follows_likelihood for a in each),
            all(a.multiplies_states for a in each),
            all(a.takes_missing for a in each),
            all(a.keeps_lengths for a in each),
            sum(s * a.data_share for a, s in pairs),
        )

    def status(self, rbm: RBM, state: Any) -> Status:
        """Return chains and kernel of the first method that has any, and the notes of all."""
        states = [None] * len(self.methods) if state is None else state
        pairs = zip(self.methods, states, strict=True)
        found = [method.status(rbm, each) for method, each in pairs]
        return Status(
            next((each.chains for each in found if each.chains is not None), None),
            next((each.kernel for each in found if each.kernel is not None), None),
            [note for each in found for note in each.notes],
        )

    def metrics(self, state: Any) -> dict[str, Array]:
        pairs = zip(self.methods, state, strict=True)
        found = [method.metrics(each) for method, each in pairs]
        return {name: value for each in found for name, value in each.items()}

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> tuple[Any, ...]:
        keys = jax.random.split(key, len(self.methods))
        pairs = zip(self.methods, keys, strict=True)
        return tuple(method.init(rbm, batch, key=each) for method, each in pairs)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: tuple[Any, ...], *, key: PRNGKeyArray
    ) -> tuple[RBM, tuple[Any, ...], PhaseInfo]:
        keys = jax.random.split(key, len(self.methods))
        found = [
            method.estimate(rbm, batch, each, key=one)
            for method, each, one in zip(self.methods, state, keys, strict=True)
        ]
        grads, states, infos = zip(*found, strict=True)

        def total(*parts: Any) -> Any:
            return sum(jnp.multiply(s, part) for s, part in zip(self.shares, parts, strict=True))

        info = infos[0]._replace(gap=total(*(each.gap for each in infos)))
        return jax.tree.map(total, *grads), states, info
