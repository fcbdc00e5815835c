"""Annealed importance sampling along any path of models, and the sampler made of it."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from ..checks import positive_integer
from ..errors import InputError
from ..path import AbstractPath, Heating
from ..rbm import RBM
from ..statistics import effective_size
from .base import AbstractSampler, Cloud

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

    From the model at t = begin to that at t = end, in either direction, at each step t → t′

        log w += F_t(v) − F_t′(v),    then  v → h → v  under the model at t′.

    If the chains start as exact draws at `begin`, then E[w] = Z(end) / Z(begin), so log of the mean
    of w is on average *below* log of that ratio. Run from t = 1 to 0 with exact draws of the
    model at 1, the same gives Z(0)/Z(1), so the estimate of log Z(1) is on average *above* it.
    All arguments but the path's structure are dynamic: one compilation serves every annealing run.

    Args:
        path: the models.
        begin: where on the path the chains stand.
        end: where to carry them.
        steps: number of steps.
        state: the chains.
        key: a JAX random key.

    Source: Neal 2001; Salakhutdinov & Murray 2008; Burda, Grosse & Salakhutdinov 2015 (reverse).
    """

    def model(s: Array) -> RBM:
        part = s / steps  # so that the last model is exactly that at `end`
        return path.at((1 - part) * begin + part * end)

    def step(s: Array, state: Annealing) -> Annealing:
        here, there = model(s), model(s + 1)
        gain = here.free_energy(state.v) - there.free_energy(state.v)
        v = there.gibbs_sweep(state.v, key=jax.random.fold_in(key, s))
        return Annealing(v, state.log_weights + gain)

    return jax.lax.fori_loop(0, steps, step, state)


def start_annealing(path: AbstractPath, chains: int, *, key: PRNGKeyArray) -> Annealing:
    """Draw chains from the model at t = 0 of a path whose start has no weights."""
    layer = path.at(0.0).visible
    return Annealing(
        layer.sample_without_inputs((chains,), key=key), jnp.zeros(chains, layer.dtype)
    )


class ClusterState(NamedTuple):
    """Where the chains stand: visible states, shape (n, visible)."""

    v: Float[Array, "n visible"]


class ClusterInfo(NamedTuple):
    """How clusters did.

    Attributes:
        moved: part of the chains that a newly annealed member of its cluster replaced.
        effective: mean effective size of a cluster, (Σw)² / Σw².
    """

    moved: Float[Array, ""]
    effective: Float[Array, ""]


class AnnealedClusters(AbstractSampler):
    r"""Each step anneals a cluster of fresh chains from the base model, and one of them goes on.

    A cluster has the present state and `size` − 1 new ones, each carried from the path's start to
    the model by `steps` steps of annealed importance sampling. The present one is annealed back
    to find its own weight, and the one that goes on is chosen by the weights. Whatever the length
    of the annealing run, the model's distribution is left unchanged; the longer it is, the more often
    a new state is chosen, which owes nothing to the one before. So chains leave modes that no sweep
    would take them out of, at the price of `size · steps` sweeps a step.

    Attributes:
        path: from models without weights to the model; its end is replaced by the model at
            hand. None for temperatures from the model without any preference.
        steps: steps of an annealing run.
        size: members of a cluster, at least 2.

    Source: Andrieu, Doucet & Holenstein 2010 (iterated sampling importance resampling on paths);
    Neal 2001.
    """

    path: AbstractPath | None = None
    steps: int = eqx.field(static=True, default=100)
    size: int = eqx.field(static=True, default=8)

    def __check_init__(self):
        positive_integer(self.steps, "AnnealedClusters steps")
        if positive_integer(self.size, "AnnealedClusters size") < 2:
            raise InputError("AnnealedClusters size: expected at least 2; got 1.")

    def path_to(self, rbm: RBM) -> AbstractPath:
        """Return the path that ends at a model."""
        return Heating.from_neutral(rbm) if self.path is None else self.path.ending_at(rbm)

    def init(self, rbm: RBM, n: int, *, key: PRNGKeyArray) -> ClusterState:
        """Anneal n chains."""
        return ClusterState(self._annealed(self.path_to(rbm), n, key=key).v)

    def start(self, rbm: RBM, v: Float[Array, "n visible"], *, key: PRNGKeyArray) -> ClusterState:
        """Begin at these states."""
        return ClusterState(v)

    def step(
        self, rbm: RBM, state: ClusterState, *, key: PRNGKeyArray
    ) -> tuple[ClusterState, ClusterInfo]:
        """Anneal the present states back and new ones forth, and choose."""
        path, n = self.path_to(rbm), len(state.v)
        key_back, key_forth, key_choose = jax.random.split(key, 3)
        new = self._annealed(path, n * (self.size - 1), key=key_forth)
        members = new.v.reshape(n, self.size - 1, -1)
        own = self._weight_of(path, state.v, key=key_back)
        others = new.log_weights.reshape(n, self.size - 1)
        log_weights = jnp.concatenate([own[:, None], others], axis=1)
        chosen = jax.random.categorical(key_choose, log_weights)
        cluster = jnp.concatenate([state.v[:, None], members], axis=1)
        shares = jax.nn.softmax(log_weights, axis=1)
        info = ClusterInfo((chosen > 0).mean(), effective_size(shares).mean())
        return ClusterState(cluster[jnp.arange(n), chosen]), info

    def cloud(self, state: ClusterState) -> Cloud:
        """Return the states, equally weighted."""
        return Cloud.uniform(state.v)

    def _annealed(self, path: AbstractPath, n: int, *, key: PRNGKeyArray) -> Annealing:
        key_start, key_anneal = jax.random.split(key)
        begun = start_annealing(path, n, key=key_start)
        return anneal(path, 0.0, 1.0, self.steps, begun, key=key_anneal)

    def _weight_of(self, path: AbstractPath, v: Array, *, key: PRNGKeyArray) -> Array:
        """Draw the annealing run that led to each state, and return its log weight.

        An annealing run weighs and then moves, so its reverse moves and then weighs.
        """
        key_sweep, key_back = jax.random.split(key)
        before = path.at(1.0).gibbs_sweep(v, key=key_sweep)
        begun = Annealing(before, jnp.zeros(len(v), v.dtype))
        return -anneal(path, 1.0, 0.0, self.steps, begun, key=key_back).log_weights
