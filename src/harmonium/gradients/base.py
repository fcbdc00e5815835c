"""How the likelihood climbs: the gap between two clouds, and the contract of every method."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from ..errors import InputError
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud

USUAL_RATE = 0.1


class PhaseInfo(NamedTuple):
    """What every method reports besides its gradient.

    Attributes:
        visible_mean: ⟨v⟩_data, shape (visible,).
        hidden_mean: ⟨h⟩_data with the analytic average over h, shape (hidden,).
        gap: ⟨F⟩_data − ⟨F⟩_model, in nats.
    """

    visible_mean: Float[Array, " visible"]
    hidden_mean: Float[Array, " hidden"]
    gap: Float[Array, ""]


def usual_rate(rbm: RBM) -> float:
    """Return the learning rate for a `Recipe` that has served most models."""
    return USUAL_RATE


class About(NamedTuple):
    """What a method says of itself; a method around another one replaces a part of it.

    Attributes:
        title: its name in words, such as "PCD-1".
        sweeps: Gibbs sweeps of a chain in one update, the k of CD-k; None where none are made.
        follows_likelihood: whether the estimate tends to the gradient of −log likelihood as its
            chains get long.
        multiplies_states: whether weights are used in no other way than by `@`, and of states, so
            that `Rounded` ones serve.
        takes_missing: whether a batch may have missing values, NaN; `fit` sees to them if not.
        data_share: how much of ∇⟨F⟩_data is in the gradient: all of it, where two clouds are
            compared.
        rate: from a model to the usual learning rate.
    """

    title: str
    sweeps: int | None = None
    follows_likelihood: bool = True
    multiplies_states: bool = False
    takes_missing: bool = False
    data_share: float = 1.0
    rate: Callable[[RBM], float] = usual_rate

    @classmethod
    def by(cls, sampler: AbstractSampler, name: str, **others: Any) -> About:
        """Return that of a method whose chains make one step of a sampler: "CD" becomes CD-k."""
        k = sampler.sweeps_per_step
        title = name if k is None else f"{name}-{k}"
        return cls(title, k, multiplies_states=sampler.multiplies_states, **others)


class Status(NamedTuple):
    """What a method's state shows.

    Attributes:
        chains: those that go on from update to update; None where there are none.
        kernel: what moves the chains, and its steps in an update; None where there are no chains.
        notes: what the method changed by itself, and why, a line each.
    """

    chains: Cloud | None = None
    kernel: tuple[AbstractSampler, int] | None = None
    notes: Sequence[str] = ()


class AbstractGradient(eqx.Module):
    """A way to estimate the gradient of −log likelihood, in the shape of an optax update.

    `batch` is a cloud of data whose weights sum to 1. The gradient has the model's own structure.
    A complete method, whose model cloud is short chains started afresh from the model without its
    weights, at every update:

    ```python
    >>> import jax
    >>> from harmonium.gradients import AbstractGradient, cloud_gradient
    >>> from harmonium.samplers import AbstractSampler
    >>> class Restarted(AbstractGradient):
    ...     sampler: AbstractSampler
    ...     chains: int
    ...     def init(self, rbm, batch, *, key):
    ...         return ()
    ...     def estimate(self, rbm, batch, state, *, key):
    ...         start, move = jax.random.split(key)
    ...         chains = self.sampler.init(rbm, self.chains, key=start)
    ...         chains, _ = self.sampler.step(rbm, chains, key=move)
    ...         grads, info = cloud_gradient(rbm, batch, self.sampler.cloud(chains))
    ...         return grads, state, info

    ```
    """

    @abstractmethod
    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Return the method's state before the first update."""

    @abstractmethod
    def estimate(
        self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray
    ) -> tuple[RBM, Any, PhaseInfo]:
        """Return (gradient of −log likelihood, new state, info)."""

    @property
    def about(self) -> About:
        """What the method says of itself, whatever the model."""
        return About(type(self).__name__)

    def status(self, rbm: RBM, state: Any) -> Status:
        """Return what the method's state shows: chains, what moves them, notes.

        Args:
            rbm: the model.
            state: the method's state; None before a run, when there is only the kernel to tell.
        """
        return Status()

    def metrics(self, state: Any) -> dict[str, Array]:
        """Return numbers of the state by name, for each record of the run's history."""
        return {}


def check_sampler(sampler: Any) -> None:
    """Raise InputError unless this is a sampler."""
    if not isinstance(sampler, AbstractSampler):
        raise InputError(f"sampler: expected one such as hm.Gibbs(1); got {sampler!r}.")


def free_energy_gap(rbm: RBM, data: Cloud, model: Cloud) -> Float[Array, ""]:
    """Return ⟨F⟩_data − ⟨F⟩_model, whose gradient is that of the negative log-likelihood.

    The model cloud is held constant. F(v) has the hidden units summed out, so its gradient carries
    their analytic average, ∂F/∂W_ij = −v_i ⟨h_j⟩, in both phases. To enter a cloud of *hidden*
    states, give F(h) of the turned model: `mean_free_energy(rbm.T, cloud)`.
    """
    return mean_free_energy(rbm, data) - mean_free_energy(rbm, model)


def mean_free_energy(rbm: RBM, cloud: Cloud) -> Float[Array, ""]:
    """Return Σ_i w_i F(v_i) over a cloud."""
    states, weights = jax.lax.stop_gradient(cloud)
    return weights @ rbm.free_energy(states)


def cloud_gradient(rbm: RBM, data: Cloud, model: Cloud) -> tuple[RBM, PhaseInfo]:
    """Return the gradient of `free_energy_gap` and the data's means."""
    gap, grads = eqx.filter_value_and_grad(free_energy_gap)(rbm, data, model)
    return grads, phase_info(rbm, data, gap)


def contrasted(
    rbm: RBM, batch: Cloud, sampler: AbstractSampler, *, key: PRNGKeyArray
) -> tuple[RBM, PhaseInfo]:
    """Return the gradient whose model cloud is the batch after one step, weighted as its rows are."""
    key_start, key_step = jax.random.split(key)
    chains: Any = sampler.start(rbm, batch.states, key=key_start)
    chains, _ = sampler.step(rbm, chains, key=key_step)
    return cloud_gradient(rbm, batch, Cloud(sampler.cloud(chains).states, batch.weights))


def phase_info(rbm: RBM, data: Cloud, gap: Float[Array, ""]) -> PhaseInfo:
    """Return the means of both layers over the data; XLA merges the product with the gradient's."""
    hidden_mean = data.mean_of(rbm.mean_h_from_v(data.states))
    return PhaseInfo(data.mean_of(data.states), hidden_mean, gap)
