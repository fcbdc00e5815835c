"""How the likelihood climbs: the gap between two clouds, and the contract of every method."""

from __future__ import annotations

from abc import abstractmethod
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


class AbstractGradient(eqx.Module):
    """A way to estimate the gradient of −log likelihood, in the shape of an optax update.

    `batch` is a cloud of data whose weights sum to 1. The gradient has the machine's own structure.
    A complete method, whose model cloud is short chains started afresh from the machine without its
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
        """Give the method's state before the first update."""

    @abstractmethod
    def estimate(
        self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray
    ) -> tuple[RBM, Any, PhaseInfo]:
        """Give (gradient of −log likelihood, new state, info)."""

    @property
    def sweeps_per_update(self) -> int | None:
        """Gibbs sweeps of a chain in one update, the k of CD-k; None where no chains are swept.

        Of a method with a `sampler`, that is one step of it.
        """
        sampler = getattr(self, "sampler", None)
        return None if sampler is None else sampler.sweeps_per_step

    @property
    def follows_likelihood(self) -> bool:
        """Whether the estimate tends to the gradient of −log likelihood as its chains get long."""
        return True

    @property
    def multiplies_states(self) -> bool:
        """Whether weights are used in no other way than by `@`, and of states: for `Rounded`."""
        return False

    @property
    def takes_holes(self) -> bool:
        """Whether a batch may have absent units, whose columns are NaN; `fit` sees to it if not."""
        return False

    @property
    def data_share(self) -> float:
        """How much of ∇⟨F⟩_data is in the gradient: all of it, where two clouds are compared."""
        return 1.0

    @property
    def title(self) -> str:
        """The method's name in words, such as "PCD-1"."""
        return self.with_sweeps(type(self).__name__)

    def with_sweeps(self, name: str) -> str:
        """Give a name followed by the sweeps of an update, if they are known."""
        return name if self.sweeps_per_update is None else f"{name}-{self.sweeps_per_update}"

    def usual_rate(self, rbm: RBM) -> float:
        """Give a learning rate for a `Recipe` that has served such machines, to begin with."""
        return USUAL_RATE

    def carried(self, state: Any) -> Cloud | None:
        """Give the chains that go on from update to update; None where there are none."""
        return None

    def kernel(self, rbm: RBM, state: Any) -> tuple[AbstractSampler, int] | None:
        """Give what moves the chains, and its steps in an update; None where there are no chains.

        It may depend on the machine and the state; `state` may be None where it does not.
        """
        sampler = getattr(self, "sampler", None)
        return None if sampler is None else sampler.moves

    def measures(self, state: Any) -> dict[str, Array]:
        """Give what the method knows of itself, as numbers by name, for the run's history."""
        return {}

    def notes(self, state: Any) -> list[str]:
        """Say what the method did of its own accord, and why."""
        return []


def check_sampler(sampler: Any) -> None:
    """Raise InputError unless this is a sampler."""
    if not isinstance(sampler, AbstractSampler):
        raise InputError(f"sampler: expected one such as hm.Gibbs(1); got {sampler!r}.")


def free_energy_gap(rbm: RBM, data: Cloud, model: Cloud) -> Float[Array, ""]:
    """Give ⟨F⟩_data − ⟨F⟩_model, whose gradient is that of the negative log-likelihood.

    The model cloud is held constant. F(v) has the hidden units summed out, so its gradient carries
    their analytic average, ∂F/∂W_ij = −v_i ⟨h_j⟩, in both phases. To enter a cloud of *hidden*
    states, give F(h) of the turned machine: `mean_free_energy(rbm.T, cloud)`.
    """
    return mean_free_energy(rbm, data) - mean_free_energy(rbm, model)


def mean_free_energy(rbm: RBM, cloud: Cloud) -> Float[Array, ""]:
    """Give Σ_i w_i F(v_i) over a cloud."""
    states, weights = jax.lax.stop_gradient(cloud)
    return weights @ rbm.free_energy(states)


def cloud_gradient(rbm: RBM, data: Cloud, model: Cloud) -> tuple[RBM, PhaseInfo]:
    """Give the gradient of `free_energy_gap` and the data's means."""
    gap, grads = eqx.filter_value_and_grad(free_energy_gap)(rbm, data, model)
    return grads, phase_info(rbm, data, gap)


def contrasted(
    rbm: RBM, batch: Cloud, sampler: AbstractSampler, *, key: PRNGKeyArray
) -> tuple[RBM, PhaseInfo]:
    """Give the gradient whose model cloud is the batch after one step, weighted as its rows are."""
    key_start, key_step = jax.random.split(key)
    chains: Any = sampler.start(rbm, batch.states, key=key_start)
    chains, _ = sampler.step(rbm, chains, key=key_step)
    return cloud_gradient(rbm, batch, Cloud(sampler.cloud(chains).states, batch.weights))


def phase_info(rbm: RBM, data: Cloud, gap: Float[Array, ""]) -> PhaseInfo:
    """Give the means of both layers over the data; XLA merges the product with the gradient's."""
    hidden_mean = data.mean_of(rbm.mean_h_from_v(data.states))
    return PhaseInfo(data.mean_of(data.states), hidden_mean, gap)
