"""Annealed importance sampling along any path of machines, in either direction."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from ..path import AbstractPath
from ..rbm import RBM

Number = Float[Array, ""] | float


class Annealing(NamedTuple):
    """Chains on their way along a path.

    Attributes:
        v: visible states, shape (n, visible).
        log_weights: log of each chain's importance weight so far, shape (n,), nats.
    """

    v: Float[Array, "n visible"]
    log_weights: Float[Array, " n"]


def anneal(
    path: AbstractPath,
    begin: Number,
    end: Number,
    steps: Integer[Array, ""] | int,
    state: Annealing,
    *,
    key: PRNGKeyArray,
) -> Annealing:
    r"""Carry chains along a path in equal steps, weighing before moving.

    From the machine at t = begin to that at t = end, in either direction, at each step t → t′

        log w += F_t(v) − F_t′(v),    then  v → h → v  under the machine at t′.

    If the chains start as exact draws at `begin`, then E[w] = Z(end) / Z(begin), so log of the mean
    of w is on average *below* log of that ratio. Run from t = 1 to 0 with exact draws of the
    machine at 1, the same gives Z(0)/Z(1), so the estimate of log Z(1) is on average *above* it.
    All arguments but the path's structure are dynamic: one compilation serves every journey.

    Args:
        path: the machines.
        begin: where on the path the chains stand.
        end: where to carry them.
        steps: number of steps.
        state: the chains.
        key: a JAX random key.

    Source: Neal 2001; Salakhutdinov & Murray 2008; Burda, Grosse & Salakhutdinov 2015 (reverse).
    """

    def machine(s: Array) -> RBM:
        part = s / steps  # so that the last machine is exactly that at `end`
        return path.at((1 - part) * begin + part * end)

    def step(s: Array, state: Annealing) -> Annealing:
        here, there = machine(s), machine(s + 1)
        gain = here.free_energy(state.v) - there.free_energy(state.v)
        key_h, key_v = jax.random.split(jax.random.fold_in(key, s))
        h = there.sample_h_from_v(state.v, key=key_h)
        return Annealing(there.sample_v_from_h(h, key=key_v), state.log_weights + gain)

    return jax.lax.fori_loop(0, steps, step, state)


def start_annealing(path: AbstractPath, chains: int, *, key: PRNGKeyArray) -> Annealing:
    """Draw chains from the machine at t = 0 of a path whose start has no weights."""
    layer = path.at(0.0).visible
    resting = jnp.broadcast_to(layer.resting, (chains, layer.size))
    return Annealing(layer.sample(resting, key=key), jnp.zeros(chains, layer.dtype))
