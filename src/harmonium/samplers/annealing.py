"""Annealed importance sampling along any path of machines, in either direction."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from ..path import AbstractPath


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
    times: Float[Array, " steps"],
    state: Annealing,
    first: Integer[Array, ""] | int,
    last: Integer[Array, ""] | int,
    *,
    key: PRNGKeyArray,
) -> Annealing:
    r"""Carry chains from `times[first]` to `times[last]`, weighing before moving.

    At each s from first to last − 1

        log w += F_{t_s}(v) − F_{t_{s+1}}(v),    then  v → h → v  under the machine at t_{s+1}.

    If the chains start as exact draws at times[0], then E[w] = Z(times[−1]) / Z(times[0]), so log
    of the mean of w is on average *below* log of that ratio. Run from t = 1 to 0 with exact draws
    of the machine at 1, the same gives Z(0)/Z(1), so the estimate of log Z(1) is on average *above*
    it. The bounds are dynamic: one compilation serves every stretch, and `fold_in(key, s)` makes a
    journey in several stretches equal to one in a single stretch.

    Args:
        path: the machines.
        times: positions on the path, in the order of travel.
        state: where the chains stand.
        first: index of the position that the chains have reached.
        last: index of the position to carry them to.
        key: a JAX random key.

    Source: Neal 2001; Salakhutdinov & Murray 2008; Burda, Grosse & Salakhutdinov 2015 (reverse).
    """

    def step(s: Array, state: Annealing) -> Annealing:
        here, there = path.at(times[s]), path.at(times[s + 1])
        gain = here.free_energy(state.v) - there.free_energy(state.v)
        key_h, key_v = jax.random.split(jax.random.fold_in(key, s))
        h = there.sample_h_from_v(state.v, key=key_h)
        return Annealing(there.sample_v_from_h(h, key=key_v), state.log_weights + gain)

    return jax.lax.fori_loop(first, last, step, state)


def start_annealing(path: AbstractPath, chains: int, *, key: PRNGKeyArray) -> Annealing:
    """Draw chains from the machine at t = 0 of a path whose start has no weights."""
    layer = path.at(0.0).visible
    resting = jnp.broadcast_to(layer.resting, (chains, layer.size))
    return Annealing(layer.sample(resting, key=key), jnp.zeros(chains, layer.dtype))
