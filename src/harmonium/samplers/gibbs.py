"""Block Gibbs sampling, which alternates between drawing h given v and v given h."""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.loops import TURNS
from ..rbm import RBM
from .base import AbstractSampler


class GibbsState(NamedTuple):
    """Chains between sweeps: the last visible states, and the hidden states drawn given them."""

    v: Float[Array, "n visible"]
    h: Float[Array, "n hidden"]


class GibbsInfo(NamedTuple):
    """The absolute change |v − v′| in a step, averaged over chains and columns."""

    moved: Float[Array, ""]


class Gibbs(AbstractSampler):
    """Block Gibbs sampling: `sweeps` rounds of v ~ p(v | h), h ~ p(h | v) for every chain.

    The state also keeps the hidden states, so that training computes each product with W only once:
    the gradient reuses the inputs from which the next h is drawn.

    Attributes:
        sweeps: number of rounds in one step, the k of CD-k and PCD-k.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> hm.sample(rbm, 5, sampler=hm.Gibbs(), steps=10, key=jax.random.key(0)).shape
        (5, 2)
        >>> hm.Contrastive(hm.Gibbs(5)).about.title, hm.Persistent(hm.Gibbs(1)).about.title
        ('CD-5', 'PCD-1')

    Source: Geman & Geman 1984; Hinton 2002.
    """

    sweeps: int = eqx.field(static=True, default=1)
    multiplies_states: ClassVar[bool] = True
    keeps_given: ClassVar[bool] = True

    def __check_init__(self):
        positive_integer(self.sweeps, "Gibbs sweeps")

    @property
    def sweeps_per_step(self) -> int:
        return self.sweeps

    @property
    def base_kernel(self) -> tuple[AbstractSampler, int]:
        return Gibbs(1), self.sweeps

    @property
    def unit(self) -> str:
        """The unit in which steps are counted, as text: sweeps, or steps of several sweeps."""
        if self.sweeps == 1:
            return "sweeps"
        return f"steps of {self.sweeps} sweeps"

    def init(self, rbm: RBM, v: Float[Array, "n visible"], *, key: PRNGKeyArray) -> GibbsState:
        return GibbsState(v, rbm.sample_h_from_v(v, key=key))

    def step(
        self, rbm: RBM, state: GibbsState, *, key: PRNGKeyArray
    ) -> tuple[GibbsState, GibbsInfo]:
        keys = jax.random.split(key, (self.sweeps, 2))

        def sweep(i: Array | int, state: GibbsState) -> GibbsState:
            key_v, key_h = keys[i]
            v = rbm.with_given_of(state.v).sample_v_from_h(state.h, key=key_v)
            return GibbsState(v, rbm.sample_h_from_v(v, key=key_h))

        last = state
        # The last sweep runs outside the loop, so that XLA can share its product with the gradient.
        if self.sweeps > 1:
            last = jax.lax.fori_loop(0, self.sweeps - 1, sweep, state)
        last = sweep(self.sweeps - 1, last)
        return last, GibbsInfo(abs(last.v - state.v).mean())


def after_sweeps(
    rbm: RBM,
    v: Float[Array, "n visible"],
    sweeps: Array | int,
    *,
    key: PRNGKeyArray,
    turns: int = TURNS,
) -> Float[Array, "n visible"]:
    """Return the visible states after `sweeps` Gibbs sweeps that start from `v`."""
    sampler = Gibbs(1)
    key_start, key_step = jax.random.split(key)
    chains = sampler.init(rbm, v, key=key_start)
    return sampler.run(rbm, chains, sweeps, key=key_step, turns=turns).v
