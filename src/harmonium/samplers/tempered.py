"""Sampling from a tempered p(v), as opposed to a tempered joint distribution p(v, h)."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.parameters import map_parameters
from ..errors import InputError
from ..rbm import RBM
from .base import AbstractSampler


class TemperedState(NamedTuple):
    """The chains of `Tempered`: visible states, shape (n, visible)."""

    v: Float[Array, "n visible"]


class TemperedInfo(NamedTuple):
    """The mean acceptance probability of the proposals in a step."""

    acceptance: Float[Array, ""]


class Tempered(AbstractSampler):
    r"""A sampler of p_β(v) ∝ e^(−βF(v)): the model's p(v) made sharper (β > 1) or flatter (β < 1).

    Parameter-free terms of the energy, such as the log x! of counts, belong to the base measure and
    are not multiplied by β.

    The RBM with all parameters multiplied by β does not have this distribution: its p(v) is the sum
    of e^(−βE(v, h)) over h, not the β-th power of the sum of e^(−E(v, h)). But a sweep v → h → v′
    of this RBM serves as a proposal, accepted with probability min(1, a),

        log a = β [F(v) − F(v′)] − F_β(v) + F_β(v′).

    Here F_β is the free energy of the RBM with multiplied parameters; the sweep is reversible with
    respect to the p(v) of that RBM. If the hidden units are nearly deterministic given v, this p(v)
    is close to p_β and hardly any proposal is rejected.

    Attributes:
        beta: β, positive.
        sweeps: number of proposals in one step.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> cold = hm.Tempered(beta=2.0)
        >>> hm.sample(rbm, 5, sampler=cold, steps=10, key=jax.random.key(0)).shape
        (5, 2)

    Source: Hastings 1970; Russ et al. 2020 and Tubiana, Cocco & Monasson 2019 for the use of low
        temperatures (there with the hidden layer copied β times, for integer β).
    """

    beta: float = eqx.field(static=True)
    sweeps: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        if not 0 < self.beta < float("inf"):
            raise InputError(f"Tempered beta: expected a positive number; got {self.beta}.")
        positive_integer(self.sweeps, "Tempered sweeps")

    @property
    def sweeps_per_step(self) -> int:
        return self.sweeps

    def init(self, rbm: RBM, v: Float[Array, "n visible"], *, key: PRNGKeyArray) -> TemperedState:
        return TemperedState(v)

    def step(
        self, rbm: RBM, state: TemperedState, *, key: PRNGKeyArray
    ) -> tuple[TemperedState, TemperedInfo]:
        proposing: Any = map_parameters(lambda leaf: self.beta * leaf, rbm)

        measure: Any = map_parameters(jnp.zeros_like, rbm.visible)

        def excess(v: Array) -> Array:
            sharper = self.beta * rbm.free_energy(v) - (self.beta - 1.0) * measure.energy(v)
            return sharper - proposing.free_energy(v)

        def sweep(i: Array, carry: tuple) -> tuple:
            v, here, accepted = carry
            key_sweep, key_u = jax.random.split(jax.random.fold_in(key, i))
            new = proposing.gibbs_sweep(v, key=key_sweep)
            there = excess(new)
            uniforms = jax.random.uniform(key_u, here.shape, here.dtype)
            taken = jnp.log(uniforms) < here - there
            probability = jnp.exp(jnp.minimum(here - there, 0.0)).mean()
            v = jnp.where(taken[:, None], new, v)
            return v, jnp.where(taken, there, here), accepted + probability

        start = (state.v, excess(state.v), jnp.zeros((), state.v.dtype))
        v, _, accepted = jax.lax.fori_loop(0, self.sweeps, sweep, start)
        return TemperedState(v), TemperedInfo(accepted / self.sweeps)
