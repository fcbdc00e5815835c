"""Replica exchange: chains at the models of a ladder, which swap states with their neighbours."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from .._base.checks import as_array, positive_integer
from .._base.numerics import from_numpy
from ..errors import InputError
from ..path import AbstractPath, path_to
from ..rbm import RBM
from .base import AbstractSampler

# The direction in which a replica is moving; 0 until the replica has visited the first model.
RISING = 1
FALLING = 2


class ExchangeState(NamedTuple):
    """Replicas between steps: n independent columns, each with one replica at every model.

    Attributes:
        v: visible states, shape (models, n, visible).
        heading: 1 for a replica moving from the first model to the last, 2 for a returning replica,
            0 for a replica that has not yet visited the first model. Swaps exchange headings too.
        trips: number of round trips of each replica, from the first model to the last and back.
        steps: number of steps made; its parity determines which pairs swap next.
    """

    v: Float[Array, "models n visible"]
    heading: Int[Array, "models n"]
    trips: Int[Array, "models n"]
    steps: Int[Array, ""]


class ExchangeInfo(NamedTuple):
    """Statistics of the ladder, computed from the states before a step.

    Attributes:
        acceptance: mean acceptance probability of a swap for each neighbouring pair, whether or not
            the pair was due to swap, shape (models − 1,).
        up: F_k(v_k) − F_{k+1}(v_k), the log importance weights of states of model k under model
            k + 1, shape (models − 1, n), nats.
        down: F_{k+1}(v_{k+1}) − F_k(v_{k+1}), the log importance weights in the other direction,
            from model k + 1 to model k.
    """

    acceptance: Float[Array, " pairs"]
    up: Float[Array, "pairs n"]
    down: Float[Array, "pairs n"]


class ReplicaExchange(AbstractSampler):
    r"""Replica exchange: chains at models along a path swap states with their neighbours.

    Every step first swaps the states v of neighbouring models k and k + 1 with probability
    min(1, α), even pairs and odd pairs in alternate steps,

        log α = F_k(v_k) + F_{k+1}(v_{k+1}) − F_k(v_{k+1}) − F_{k+1}(v_k).

    The step then runs `sweeps` sweeps v → h → v, each replica under its new model. The product of
    all models' distributions is left invariant. Along `Heating` this is parallel tempering; along a
    `History`, parallel trajectory tempering. Chains mix fast in the hot models, and the swaps carry
    their states to the last model.

    After a swap, h is drawn from the inputs already computed for the free energies, and all
    replicas on a `Heating` path share one product with W. A step thus needs no more products than a
    step of block Gibbs sampling with the same number of chains.

    Attributes:
        path: the path of models, whose end is replaced by the sampled model. If None, the path is
            that of temperatures from the neutral model (zero biases and weights).
        times: positions of the models on the path, shape (models,), increasing to 1.
        sweeps: number of sweeps between swaps.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> ladder = hm.ReplicaExchange(times=3)
        >>> ladder.times.tolist()
        [0.0, 0.5, 1.0]
        >>> hm.sample(rbm, 5, sampler=ladder, steps=10, key=jax.random.key(0)).shape
        (5, 2)

    Source: Swendsen & Wang 1986; Geyer 1991; Okabe, Kawata, Okamoto & Mikami 2001 (even and odd
    pairs); Syed, Bouchard-Côté, Deligiannidis & Doucet 2022 (alternating); Desjardins et al. 2010
    (in training); Béreux, Decelle, Furtlehner, Rosset & Seoane 2025 (trajectories).
    """

    path: AbstractPath | None
    times: Float[Array, " models"]
    sweeps: int = eqx.field(static=True)

    def __init__(self, path: Any = None, times: Any = 16, sweeps: int = 1):
        """Set the fields; `times` may also be the number of evenly spaced models."""
        if path is not None and not isinstance(path, AbstractPath):
            raise InputError(
                f"path: expected a path such as hm.path.Heating, or None; got {path!r}."
            )
        self.path = path
        self.times = _checked_times(times)
        self.sweeps = positive_integer(sweeps, "ReplicaExchange sweeps")

    @property
    def unit(self) -> str:
        return "steps of replica exchange"

    @property
    def sweeps_per_step(self) -> int:
        return self.sweeps

    def path_to(self, rbm: RBM) -> AbstractPath:
        """Return the sampler's path with its end replaced by this model."""
        return path_to(rbm, self.path)

    def models(self, rbm: RBM) -> Sequence[RBM]:
        """Return the models of the ladder; the last is `rbm`."""
        path = self.path_to(rbm)
        return [path.at(t) for t in self.times]

    def init_independent(self, rbm: RBM, n: int, *, key: PRNGKeyArray) -> ExchangeState:
        """Draw every replica from its own model with the weights set to zero."""
        path = self.path_to(rbm)

        def draw(t: Array, key: PRNGKeyArray) -> Array:
            return path.at(t).visible.sample_without_inputs((n,), key=key)

        key_draw, _ = jax.random.split(key)
        keys = jax.random.split(key_draw, len(self.times))
        return self.init_each(jax.vmap(draw)(self.times, keys))

    def init(self, rbm: RBM, v: Float[Array, "n visible"], *, key: PRNGKeyArray) -> ExchangeState:
        """Start all replicas of a column at the same state."""
        return self.init_each(jnp.broadcast_to(v, (len(self.times), *v.shape)))

    def init_each(self, v: Float[Array, "models n visible"]) -> ExchangeState:
        """Start the replicas of each model at the given states for that model."""
        zeros = jnp.zeros(v.shape[:2], jnp.int32)
        return ExchangeState(v, zeros.at[0].set(RISING), zeros, jnp.zeros((), jnp.int32))

    def step(
        self, rbm: RBM, state: ExchangeState, *, key: PRNGKeyArray
    ) -> tuple[ExchangeState, ExchangeInfo]:
        """Swap states between neighbours, then run the sweeps."""
        path = self.path_to(rbm)
        times = self.times
        v = state.v
        key_swap, key_h, key_v, key_sweeps = jax.random.split(key, 4)
        above = jnp.append(times[1:], times[-1])
        below = jnp.append(times[0], times[:-1])
        own, over, under = (self._free_energies(path, t, v) for t in (times, above, below))
        up = (own[0] - over[0])[:-1]
        down = (own[0] - under[0])[1:]
        log_alpha = up + down
        mine = jnp.arange(len(times) - 1) % 2 == state.steps % 2
        uniforms = jax.random.uniform(key_swap, log_alpha.shape, log_alpha.dtype)
        swap = _Swap.of(mine[:, None] & (jnp.log(uniforms) < log_alpha))

        where = swap.chosen(
            *(jnp.broadcast_to(t[:, None], v.shape[:2]) for t in (times, above, below))
        )
        hidden = jax.vmap(jax.vmap(lambda t: path.at(t).hidden))(where)
        h = swap.moved(hidden.sample(swap.chosen(own[1], over[1], under[1]), key=key_h))
        v = _each(lambda here, h, key: here.sample_v_from_h(h, key=key), path, times, h, key=key_v)
        if self.sweeps > 1:
            v = self._swept(path, v, key=key_sweeps)
        heading, trips = _arrived(swap.moved(state.heading), swap.moved(state.trips))
        info = ExchangeInfo(jnp.exp(jnp.minimum(log_alpha, 0.0)).mean(1), up, down)
        return ExchangeState(v, heading, trips, state.steps + 1), info

    def positions(self, state: ExchangeState) -> Float[Array, "n visible"]:
        return state.v[-1]

    def replicas(self, state: ExchangeState) -> Float[Array, "models n visible"]:
        return state.v

    def _free_energies(self, path: AbstractPath, times: Array, v: Array) -> tuple[Array, Array]:
        """Return the replicas' free energies under the models at these times, and the inputs to h.

        If the models share their weights, XLA computes the product with W only once.
        """

        def look(t: Array, v: Array) -> tuple[Array, Array]:
            here = path.at(t)
            inputs = here.inputs_to_h(v)
            return here.visible.energy(v) - here.hidden.cgf(inputs), inputs

        return jax.vmap(look)(times, v)

    def _swept(self, path: AbstractPath, v: Array, *, key: PRNGKeyArray) -> Array:
        """Run the remaining sweeps of a step, after the first."""

        def sweep(here: RBM, v: Array, key: PRNGKeyArray) -> Array:
            return here.gibbs_sweep(v, key=key)

        def again(i: Array, v: Array) -> Array:
            return _each(sweep, path, self.times, v, key=jax.random.fold_in(key, i))

        return jax.lax.fori_loop(0, self.sweeps - 1, again, v)


class _Swap(NamedTuple):
    """Masks of the models that swap with the next and the previous model, shape (models, n)."""

    above: Bool[Array, "models n"]
    below: Bool[Array, "models n"]

    @classmethod
    def of(cls, accepted: Bool[Array, "pairs n"]) -> "_Swap":
        no = jnp.zeros_like(accepted[:1])
        return cls(jnp.concatenate([accepted, no]), jnp.concatenate([no, accepted]))

    def chosen(self, own: Array, above: Array, below: Array) -> Array:
        """Return each model's own entry, or the entry of its swap partner above or below."""
        from_above, from_below = (x.reshape(*x.shape, *[1] * (own.ndim - 2)) for x in self)
        return jnp.where(from_above, above, jnp.where(from_below, below, own))

    def moved(self, x: Array) -> Array:
        """Apply the swaps to values attached to the replicas, shape (models, n, …)."""
        return self.chosen(x, jnp.roll(x, -1, axis=0), jnp.roll(x, 1, axis=0))


def _each(move: Any, path: AbstractPath, times: Array, x: Array, *, key: PRNGKeyArray) -> Array:
    """Move the replicas of every model, with a separate key for each model."""
    keys = jax.random.split(key, len(times))
    return jax.vmap(lambda t, x, key: move(path.at(t), x, key))(times, x, keys)


def _arrived(heading: Array, trips: Array) -> tuple[Array, Array]:
    """Reverse the heading of replicas at both ends, and count completed round trips."""
    trips = trips.at[0].add(heading[0] == FALLING)
    top = jnp.where(heading[-1] == RISING, FALLING, heading[-1])
    return heading.at[-1].set(top).at[0].set(RISING), trips


def _checked_times(times: Any) -> Array:
    """Return positions as an array; a number of models stands for evenly spaced positions."""
    if isinstance(times, Tracer):
        return times
    if isinstance(times, int | np.integer) and times > 1:
        return from_numpy(np.linspace(0.0, 1.0, times))
    array = as_array(times, "times")
    good = array.ndim == 1 and len(array) > 1 and array.dtype.kind in "uif"
    if not good or array[0] < 0 or array[-1] != 1 or not (np.diff(array) > 0).all():
        raise InputError(
            "times: expected a number of models, at least 2, or two or more positions that"
            f" increase from 0 (or more) to 1; got {times!r}."
        )
    return from_numpy(np.array(array, float))
