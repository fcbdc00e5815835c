"""Annealed importance sampling along any path of models, and a sampler based on it."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.loops import loop
from .._base.statistics import effective_size
from ..errors import InputError
from ..path import AbstractPath, path_to
from ..rbm import RBM
from .base import AbstractSampler

Number = Float[Array, ""] | float


class Annealing(NamedTuple):
    """Chains at some position on a path, with their importance weights.

    Attributes:
        v: visible states, shape (n, visible).
        log_weights: the log of each chain's importance weight so far, in nats, shape (n,).

    Example:
        >>> v = jnp.array([[0.0], [1.0]])
        >>> chains = hm.samplers.Annealing(v=v, log_weights=jnp.log(jnp.array([1.0, 3.0])))
        >>> jax.nn.softmax(chains.log_weights).round(2).tolist()  # the weight of each chain
        [0.25, 0.75]
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
    r"""Anneal chains along a path in equal steps; each step updates the weight, then the state.

    The chains move from the model at t = `begin` to the model at t = `end`, which may be smaller.
    Each step t → t′ performs

        log w += F_t(v) − F_t′(v),    then  v → h → v  under the model at t′.

    If the chains start as exact draws at `begin`, then E[w] = Z(end) / Z(begin), so the log of the
    mean of w is on average *below* the log of that ratio (a lower estimate). A run from t = 1 to 0
    that starts from exact draws of the model at t = 1 estimates Z(0)/Z(1) in the same way, so its
    estimate of log Z(1) is on average *above* log Z(1) (an upper estimate). All arguments except
    the path's structure are traced, so one compiled program serves every annealing run.

    Args:
        path: the models.
        begin: the position on the path at which the chains start.
        end: the position on the path at which the chains end.
        steps: number of steps.
        state: the chains and their weights at `begin`.
        key: a JAX random key.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> path, key = hm.path.Heating.from_neutral(rbm), jax.random.key(0)
        >>> chains = hm.samplers.start_annealing(path, 1_000, key=key)
        >>> chains = hm.samplers.anneal(path, 0.0, 1.0, 50, chains, key=key)
        >>> log_z = path.log_z_of_base + jnp.log(jnp.exp(chains.log_weights).mean())
        >>> bool(abs(log_z - hm.log_z(rbm).value) < 0.1)
        True

    Source: Neal 2001; Salakhutdinov & Murray 2008; Burda, Grosse & Salakhutdinov 2015 (reverse).
    """

    def step(s: Array, state: Annealing) -> Annealing:
        here = model_between(path, begin, end, s, steps)
        there = model_between(path, begin, end, s + 1, steps)
        gain = here.free_energy(state.v) - there.free_energy(state.v)
        v = there.gibbs_sweep(state.v, key=jax.random.fold_in(key, s))
        return Annealing(v, state.log_weights + gain)

    return loop(0, steps, step, state)


def model_between(
    path: AbstractPath, begin: Number, end: Number, step: Array, steps: Array | int
) -> RBM:
    """Return the model after step `step` of `steps` equal steps from `begin` to `end`."""
    fraction = step / steps  # so that the last model is exactly the model at `end`
    return path.at((1 - fraction) * begin + fraction * end)


def start_annealing(path: AbstractPath, chains: int, *, key: PRNGKeyArray) -> Annealing:
    """Draw chains from the model at t = 0, for a path that starts with zero weights.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> path = hm.path.Heating.from_neutral(rbm)
        >>> chains = hm.samplers.start_annealing(path, 3, key=jax.random.key(0))
        >>> chains.v.shape, chains.log_weights.tolist()
        ((3, 2), [0.0, 0.0, 0.0])
    """
    layer = path.at(0.0).visible
    v = layer.sample_without_inputs((chains,), key=key)
    return Annealing(v, jnp.zeros(chains, layer.dtype))


def annealed_draws(
    path: AbstractPath, chains: int, steps: Integer[Array, ""] | int, *, key: PRNGKeyArray
) -> Annealing:
    """Draw chains from the model at t = 0 and anneal them to the model at t = 1."""
    key_start, key_anneal = jax.random.split(key)
    start = start_annealing(path, chains, key=key_start)
    return anneal(path, 0.0, 1.0, steps, start, key=key_anneal)


class ClusterState(NamedTuple):
    """The chains of `AnnealedClusters`: visible states, shape (n, visible)."""

    v: Float[Array, "n visible"]


class ClusterInfo(NamedTuple):
    """Statistics of one step, averaged over the clusters.

    Attributes:
        moved: fraction of the chains whose state was replaced by a newly annealed state.
        effective: mean effective size of a cluster, (Σw)² / Σw², with w the weights of its states.
    """

    moved: Float[Array, ""]
    effective: Float[Array, ""]


class AnnealedClusters(AbstractSampler):
    r"""A sampler that chooses between a chain's current state and newly annealed states.

    In each step, a chain's cluster consists of its current state and `size` − 1 new states. Each
    new state is annealed from the path's start to the model in `steps` steps of annealed importance
    sampling. The weight of the current state comes from a reverse annealing run. The next state is
    then chosen in proportion to the weights. The step leaves the model's distribution invariant for
    any length of the annealing run. The longer the run, the more often a new, independent state is
    chosen. Chains can thus leave modes in which Gibbs chains are trapped, at a cost per step of
    about `size · steps` sweeps.

    Attributes:
        path: a path that starts at a model with zero weights; its end is replaced by the sampled
            model. If None, the path is that of temperatures from the neutral model (zero biases and
            weights).
        steps: number of steps of an annealing run.
        size: number of states in a cluster, at least 2.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> sampler = hm.AnnealedClusters(steps=10, size=4)
        >>> hm.sample(rbm, 5, sampler=sampler, steps=10, key=jax.random.key(0)).shape
        (5, 2)

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
        """Return the sampler's path with its end replaced by this model."""
        return path_to(rbm, self.path)

    def init_independent(self, rbm: RBM, n: int, *, key: PRNGKeyArray) -> ClusterState:
        """Return n chains annealed from the start of the path."""
        return ClusterState(annealed_draws(self.path_to(rbm), n, self.steps, key=key).v)

    def init(self, rbm: RBM, v: Float[Array, "n visible"], *, key: PRNGKeyArray) -> ClusterState:
        return ClusterState(v)

    def step(
        self, rbm: RBM, state: ClusterState, *, key: PRNGKeyArray
    ) -> tuple[ClusterState, ClusterInfo]:
        """Anneal current states in reverse and new states forward; choose states by weight."""
        path = self.path_to(rbm)
        n = len(state.v)
        key_back, key_forth, key_choose = jax.random.split(key, 3)
        new = annealed_draws(path, n * (self.size - 1), self.steps, key=key_forth)
        members = new.v.reshape(n, self.size - 1, -1)
        own = self._weight_of(path, state.v, key=key_back)
        others = new.log_weights.reshape(n, self.size - 1)
        log_weights = jnp.concatenate([own[:, None], others], axis=1)
        chosen = jax.random.categorical(key_choose, log_weights)
        cluster = jnp.concatenate([state.v[:, None], members], axis=1)
        weights = jax.nn.softmax(log_weights, axis=1)
        info = ClusterInfo((chosen > 0).mean(), effective_size(weights).mean())
        return ClusterState(cluster[jnp.arange(n), chosen]), info

    def _weight_of(self, path: AbstractPath, v: Array, *, key: PRNGKeyArray) -> Array:
        """Return the log weight of each state, from a reverse annealing run that starts at it.

        A forward step updates the weight and then the state; a reverse step does the opposite.
        """
        key_sweep, key_back = jax.random.split(key)
        before = path.at(1.0).gibbs_sweep(v, key=key_sweep)
        start = Annealing(before, jnp.zeros(len(v), v.dtype))
        return -anneal(path, 1.0, 0.0, self.steps, start, key=key_back).log_weights
