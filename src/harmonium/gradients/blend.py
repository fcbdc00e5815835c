"""A weighted sum of objectives, such as the hybrid of a discriminative and a generative one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..errors import InputError
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud
from .base import AbstractGradient, PhaseInfo


class Blend(AbstractGradient):
    """Several methods at once: the gradient is Σ_i s_i g_i of their gradients g_i, s_i the shares.

    Of a machine whose last unit is a label,

        Blend(Discriminative(), Contrastive(Gibbs(1)), shares=(1.0, 0.1))

    is the hybrid objective log p(y | v) + 0.1 log p(v, y): its small generative part is a
    regulariser learned from the data. Rows without a label make it a semi-supervised one.

    Attributes:
        methods: what is added up.
        shares: how much of each, positive numbers.

    Source: Larochelle & Bengio 2008.
    """

    methods: tuple[AbstractGradient, ...]
    shares: tuple[float, ...]

    def __init__(self, *methods: AbstractGradient, shares: Any):
        """Take the methods, and their shares in the same order."""
        wrong = [method for method in methods if not isinstance(method, AbstractGradient)]
        if not methods or wrong:
            raise InputError(f"Blend: expected gradient methods; got {methods!r}.")
        given = tuple(shares) if isinstance(shares, list | tuple) else (shares,)
        are_numbers = all(isinstance(s, int | float) and 0 < s < float("inf") for s in given)
        if len(given) != len(methods) or not are_numbers:
            expected = f"{len(methods)} positive numbers, one for each method"
            raise InputError(f"Blend shares: expected {expected}; got {shares!r}.")
        self.methods, self.shares = methods, tuple(float(share) for share in given)

    @property
    def sweeps_per_update(self) -> int | None:
        """Those of the first method that makes any."""
        sweeps = [method.sweeps_per_update for method in self.methods]
        return next((k for k in sweeps if k is not None), None)

    @property
    def follows_likelihood(self) -> bool:
        """Where all methods do and their shares add up to 1."""
        together = abs(sum(self.shares) - 1.0) < 1e-6
        return together and all(method.follows_likelihood for method in self.methods)

    @property
    def multiplies_states(self) -> bool:
        """Where all methods do no more."""
        return all(method.multiplies_states for method in self.methods)

    @property
    def takes_holes(self) -> bool:
        """Where all methods do."""
        return all(method.takes_holes for method in self.methods)

    @property
    def data_share(self) -> float:
        """That of all methods together."""
        pairs = zip(self.methods, self.shares, strict=True)
        return sum(share * method.data_share for method, share in pairs)

    @property
    def title(self) -> str:
        """The titles with their shares, such as "discriminative + 0.01 PCD-1"."""
        pairs = zip(self.methods, self.shares, strict=True)
        return " + ".join(m.title if s == 1.0 else f"{s:g} {m.title}" for m, s in pairs)

    def carried(self, state: Any) -> Cloud | None:
        """Give the chains of the first method that has any."""
        pairs = zip(self.methods, state, strict=True)
        clouds = (method.carried(each) for method, each in pairs)
        return next((cloud for cloud in clouds if cloud is not None), None)

    def kernel(self, rbm: RBM, state: Any) -> tuple[AbstractSampler, int] | None:
        """Give that of the first method that has any."""
        states = [None] * len(self.methods) if state is None else state
        pairs = zip(self.methods, states, strict=True)
        kernels = (method.kernel(rbm, each) for method, each in pairs)
        return next((kernel for kernel in kernels if kernel is not None), None)

    def measures(self, state: Any) -> dict[str, Array]:
        """Give what all methods know of themselves."""
        pairs = zip(self.methods, state, strict=True)
        found = [method.measures(each) for method, each in pairs]
        return {name: value for each in found for name, value in each.items()}

    def notes(self, state: Any) -> list[str]:
        """Say what all methods did."""
        pairs = zip(self.methods, state, strict=True)
        return [note for method, each in pairs for note in method.notes(each)]

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> tuple[Any, ...]:
        """Start every method."""
        keys = jax.random.split(key, len(self.methods))
        pairs = zip(self.methods, keys, strict=True)
        return tuple(method.init(rbm, batch, key=each) for method, each in pairs)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: tuple[Any, ...], *, key: PRNGKeyArray
    ) -> tuple[RBM, tuple[Any, ...], PhaseInfo]:
        """Add up the gradients, and the gaps with them."""
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
