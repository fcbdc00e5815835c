"""The base class of all samplers, and `Cloud`, a weighted set of states."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .._base.loops import TURNS, loop
from .._base.module import AbstractModule
from .._base.numerics import filled
from .._base.threefry import fold_in, split
from ..errors import InputError
from ..layers.capabilities import is_conditional
from ..rbm import RBM


class Cloud(NamedTuple):
    """A weighted set of visible states, which represents one phase of the likelihood gradient.

    Attributes:
        states: shape (n, visible.size).
        weights: shape (n,); they may be negative and are never renormalised.
        rows: for a batch of data, the index of each state's row in the data set, shape (n,); an
            index beyond the last row marks a state without a row. None if the rows are unknown.

    Example:
        >>> cloud = hm.samplers.Cloud.uniform(jnp.array([[0.0, 1.0], [1.0, 1.0]]))
        >>> cloud.weights.tolist(), cloud.mean_of(cloud.states).tolist()
        ([0.5, 0.5], [0.5, 1.0])
    """

    states: Float[Array, "n columns"]
    weights: Float[Array, " n"]
    rows: Int[Array, " n"] | None = None

    @classmethod
    def uniform(cls, states: Array) -> Cloud:
        """Return the cloud in which each of n states has weight 1/n."""
        count = states.shape[0]
        return cls(states, filled((count,), 1.0 / count, states))

    def mean_of(self, values: Float[Array, "n ..."]) -> Float[Array, "*rest"]:
        """Return the weighted sum Σ w_i x_i over the rows x_i of an array."""
        return jnp.tensordot(self.weights, values, axes=1, precision="highest")


class AbstractSampler(AbstractModule):
    """A Markov kernel over states of a model that leaves the model's distribution invariant.

    A sampler may move states of several models at once; the last of these models is the RBM. The
    sampler then leaves the product of the models' distributions invariant.

    Hyperparameters are fields. A step returns the new state, which is carried from step to step,
    and the statistics of the step; in this library both are NamedTuples, defined in the sampler's
    file. A state never contains a random key.

    Example:
        >>> class Sweeps(hm.samplers.AbstractSampler):
        ...     def init(self, rbm, v, *, key):
        ...         return v
        ...     def step(self, rbm, v, *, key):
        ...         return rbm.gibbs_sweep(v, key=key), ()
        ...     def positions(self, v):
        ...         return v
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> hm.sample(rbm, 5, sampler=Sweeps(), steps=10, key=jax.random.key(0)).shape
        (5, 2)
    """

    # ---------------------------------------------------------------- what a sampler defines

    @abstractmethod
    def init(self, rbm: RBM, v: Float[Array, "n visible"], *, key: PRNGKeyArray) -> Any:
        """Return the state of n chains that start at these visible states."""

    @abstractmethod
    def step(self, rbm: RBM, state: Any, *, key: PRNGKeyArray) -> tuple[Any, Any]:
        """Move every chain; return the new state and the statistics of the step."""

    def positions(self, state: Any) -> Float[Array, "n visible"]:
        """Return the chains' visible states, a sample of the model; by default, `state.v`."""
        return state.v

    # ------------------------------------------------- properties of the steps, if known

    multiplies_states: ClassVar[bool] = False
    """Whether weights are used only in products `@` with states, as `Rounded` weights require."""

    keeps_given: ClassVar[bool] = False
    """Whether each chain keeps its length, for models that take lengths as given."""

    @property
    def sweeps_per_step(self) -> int | None:
        """The number of Gibbs sweeps in one step, or None if steps do not consist of sweeps."""
        return None

    @property
    def unit(self) -> str:
        """The unit in which steps are counted, as text."""
        return f"steps of {type(self).__name__}"

    @property
    def base_kernel(self) -> tuple[AbstractSampler, int]:
        """This sampler with the smallest possible step, and how many of these make up one step."""
        return self, 1

    # ---------------------------------------------------------------- derived methods

    def init_independent(self, rbm: RBM, n: int, *, key: PRNGKeyArray) -> Any:
        """Return the state of n chains drawn from the model with zero weights.

        Raises:
            InputError: some units are given in every row, so the model cannot draw them.
        """
        if is_conditional(rbm.visible):
            raise InputError(
                f"rbm: expected a model of all its units; got {rbm.visible}, whose given units it"
                " does not model; condition on a row first: hm.condition(rbm, row)."
            )
        key_draw, key_init = split(key)
        v = rbm.visible.sample_without_inputs((n,), key=key_draw)
        return self.init(rbm, v, key=key_init)

    def run(
        self,
        rbm: RBM,
        state: Any,
        count: Array | int,
        *,
        key: PRNGKeyArray,
        first: Array | int = 0,
        turns: int = TURNS,
    ) -> Any:
        """Return the state after `count` steps; `count` may be traced.

        Step s uses the key fold_in(key, s), so a run in several parts gives the same states as a
        single run.

        Args:
            rbm: the model.
            state: the chains.
            count: number of steps.
            key: a JAX random key.
            first: the index of the first step.
            turns: number of steps per block of the loop on a GPU; use 1 if `count` is traced and
                small.
        """

        def step(i: Array, state: Any) -> Any:
            return self.step(rbm, state, key=fold_in(key, first + i))[0]

        return loop(0, count, step, state, turns=turns)

    def replicas(self, state: Any) -> Float[Array, "models n visible"]:
        """Return the visible states of every model of the sampler; the last model is the RBM."""
        return self.positions(state)[None]
