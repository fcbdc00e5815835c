"""The interface of gradient methods, and the free-energy gap between data and model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.device import is_cpu
from .._base.module import AbstractModule
from .._base.numerics import product
from .._base.programs import compiled
from .._base.sharding import summed_over_rows
from ..errors import InputError
from ..layers import AbstractLayer
from ..layers.capabilities import correlated, whitening
from ..rbm import RBM
from ..samplers import AbstractSampler, Cloud

USUAL_CHAINS = 500
# With a rate of 0.4, training on bars and stripes diverges; with 0.1, the log-likelihood of digits
# of 784 pixels is 3.5 nats lower than with 0.4: see `Persistent`.
USUAL_RATE = 0.1
# The variance that hidden units initially add, as a multiple of the variance of whitened columns.
USUALLY_ADDED = 2.0
ITERATIONS = 10  # steps of a power iteration, for an accuracy of a few per cent
BOTH_WIDE = 4.0  # s_v s_h of a model with one layer of ±1 units and one layer of 0/1 units


class PhaseInfo(NamedTuple):
    """Statistics that every method returns along with its gradient.

    Attributes:
        visible_mean: ⟨v⟩_data, shape (visible,).
        hidden_mean: ⟨h⟩_data, averaged analytically over h, shape (hidden,).
        gap: ⟨F⟩_data − ⟨F⟩_model, in nats.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> data = hm.samplers.Cloud.uniform(jnp.array([[0.0, 1.0], [1.0, 1.0]]))
        >>> grads, info = hm.gradients.cloud_gradient(rbm, data, data)
        >>> info.visible_mean.tolist(), info.hidden_mean.shape, float(info.gap)
        ([0.5, 1.0], (2,), 0.0)
    """

    visible_mean: Float[Array, " visible"]
    hidden_mean: Float[Array, " hidden"]
    gap: Float[Array, ""]


Estimate = tuple[RBM, Any, PhaseInfo]  # the gradient, the new state, the statistics


def usual_rate(rbm: RBM) -> float:
    """Return the default learning rate 0.1 · min(1, 4 / (s_v s_h)), where s is a layer's spread.

    The spread s of a layer is four times the mean variance of its units without inputs, and at
    least 1: it is 1 for 0/1 units, 4 for ±1 units and standardised columns, and more for columns
    with large numerical values. The gradient of W scales with the states of both layers. The best
    rate is about 0.4 if both layers have 0/1 units, and about 0.1 if one of the layers has a spread
    of 4; if both have a spread of 4, the chains lag behind the model at 0.1 (docs/practice.md,
    section 13).

    Correlated real columns are whitened, so their variance is 1. If the hidden units add a variance
    of more than 2, as in a mixture of well-separated classes, the rate is divided by the added
    variance, since a change in the precision then moves the classes correspondingly further.
    """
    return USUAL_RATE * min(1.0, BOTH_WIDE / float(_spread_of_both(rbm)))


@compiled
def _spread_of_both(rbm: RBM) -> Float[Array, ""]:
    """Return s_v s_h, the product of the layers' spreads; see `usual_rate`."""
    spread = _spread(rbm.visible) * _spread(rbm.hidden)
    columns = correlated(rbm.visible)
    if not len(columns):
        return spread
    # If rows are far apart, hidden units may vary far less without inputs than they do given the
    # rows, so the variance of the neutral layer is used.
    neutral = rbm.hidden.base()
    variance = neutral.variance(neutral.zero_inputs)
    added = whitening(rbm.visible).T @ rbm.dense_weights[columns] * jnp.sqrt(variance)
    direction = jnp.ones(len(columns), added.dtype)
    for _ in range(ITERATIONS):  # towards the direction in which hidden units add the most variance
        direction = added @ (added.T @ direction)
        direction /= jnp.maximum(jnp.linalg.norm(direction), jnp.finfo(added.dtype).tiny)
    most = ((direction @ added) ** 2).sum()
    return spread * jnp.where(most > USUALLY_ADDED, most, 1.0)


def _spread(layer: AbstractLayer) -> Float[Array, ""]:
    variance = layer.variance(layer.zero_inputs)
    variance = variance.at[..., correlated(layer)].set(1.0)  # these columns are whitened
    return jnp.maximum(1.0, 4.0 * variance.mean())


# The properties are one value instead of attributes of the method, so that a method that wraps
# another can replace some of them. With attributes, each wrapper would have to list them all.
class About(NamedTuple):
    """The properties of a gradient method; a wrapper replaces some properties of its inner method.

    Attributes:
        title: the name of the method, such as "PCD-1".
        sweeps: number of Gibbs sweeps per chain and update, the k of CD-k; None if not applicable.
        follows_likelihood: whether the estimate converges to the gradient of the negative
            log-likelihood as the chains get longer.
        multiplies_states: whether the weights are used only in products `@` with states, so that
            `Rounded` weights can take their place.
        takes_missing: whether a batch may contain missing values (NaN); if not, `fit` wraps the
            method in `Marginal`.
        keeps_given: whether each chain keeps the length of a row, for models that take lengths as
            given.
        takes_given_units: whether each chain has the given units of its own row of the batch; if
            not, `fit` uses `ConditionalLikelihood` for layers with given units.
        is_exact: whether the result is the exact gradient, not an estimate.
        data_share: the factor of ∇⟨F⟩_data in the gradient; 1 if two clouds are compared.
        rate: a function that returns the default learning rate for an RBM.

    Example:
        >>> about = hm.Contrastive(hm.Gibbs(5)).about
        >>> about.title, about.sweeps, about.follows_likelihood, about.takes_missing
        ('CD-5', 5, True, False)
    """

    title: str
    sweeps: int | None = None
    follows_likelihood: bool = True
    multiplies_states: bool = False
    takes_missing: bool = False
    keeps_given: bool = False
    takes_given_units: bool = False
    is_exact: bool = False
    data_share: float = 1.0
    rate: Callable[[RBM], float] = usual_rate

    @classmethod
    def for_sampler(cls, sampler: AbstractSampler, name: str, **others: Any) -> About:
        """Return the properties of a method with one sampler step per update, such as CD-k."""
        k = sampler.sweeps_per_step
        if k is not None:
            name = f"{name}-{k}"
        return cls(name, k, multiplies_states=sampler.multiplies_states, **others)


class Status(NamedTuple):
    """Information extracted from a method's state.

    Attributes:
        chains: the persistent chains; None if there are none.
        kernel: the sampler that moves the chains, and the number of its steps per update; None if
            there are no chains.
        notes: warnings, and changes that the method made automatically, one line each.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> method = hm.Persistent(hm.Gibbs(1), chains=10)
        >>> fit = hm.fit(rbm, rows, key=key, gradient=method, epochs=2)
        >>> method.status(fit.state.rbm, fit.state.gradient).chains.states.shape
        (10, 4)
    """

    chains: Cloud | None = None
    kernel: tuple[AbstractSampler, int] | None = None
    notes: Sequence[str] = ()


class AbstractGradient(AbstractModule):
    """A method that estimates the gradient of the negative log-likelihood, for use with optax.

    `batch` is a `Cloud`, a weighted set of data states, whose weights sum to 1. The gradient has
    the same tree structure as the model. The following method is a complete example. Each update
    runs new, short chains, which start from the model with zero weights:

    ```python
    >>> import jax
    >>> from harmonium.gradients import AbstractGradient, cloud_gradient
    >>> from harmonium.samplers import AbstractSampler, Cloud
    >>> class Restarted(AbstractGradient):
    ...     sampler: AbstractSampler
    ...     chains: int
    ...     def estimate(self, rbm, batch, state, *, key):
    ...         start, move = jax.random.split(key)
    ...         chains = self.sampler.init_independent(rbm, self.chains, key=start)
    ...         chains, _ = self.sampler.step(rbm, chains, key=move)
    ...         model = Cloud.uniform(self.sampler.positions(chains))
    ...         grads, info = cloud_gradient(rbm, batch, model)
    ...         return grads, state, info

    ```
    """

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Return the method's state before the first update, or () if the method has no state."""
        return ()

    @abstractmethod
    def estimate(self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray) -> Estimate:
        """Return the gradient of the negative log-likelihood, the new state, and a `PhaseInfo`."""

    @property
    def about(self) -> About:
        """The properties of the method, the same for every model."""
        return About(type(self).__name__)

    def status(self, rbm: RBM, state: Any) -> Status:
        """Return the chains in the method's state, the sampler that moves them, and notes.

        Args:
            rbm: the model.
            state: the method's state, or None before a run, when only the kernel is known.
        """
        return Status()

    def metrics(self, state: Any) -> dict[str, Array]:
        """Return named metrics from the state, to be recorded in the training history."""
        return {}


class AbstractSampled(AbstractGradient):
    """A method that estimates averages over the model with a sampler.

    Attributes:
        sampler: the sampler that moves the chains.
    """

    sampler: AbstractSampler

    def __check_init__(self):
        if not isinstance(self.sampler, AbstractSampler):
            raise InputError(
                f"sampler: expected a sampler such as hm.Gibbs(1); got {self.sampler!r}."
            )

    def cloud_of(self, state: Any) -> Cloud | None:
        """Return the chains in a state, or None if the method keeps no chains."""
        return None

    def status(self, rbm: RBM, state: Any) -> Status:
        """Return the chains, if any are kept, and the sampler that moves them."""
        chains = None
        if state is not None:
            chains = self.cloud_of(state)
        return Status(chains, self.sampler.base_kernel)


class AbstractChains(AbstractSampled):
    """A method whose chains persist from update to update.

    Attributes:
        sampler: the sampler that moves the chains.
        chains: number of chains.
    """

    chains: int = eqx.field(static=True, default=USUAL_CHAINS)

    def __check_init__(self):
        positive_integer(self.chains, f"{type(self).__name__} chains")


def free_energy_gap(rbm: RBM, data: Cloud, model: Cloud) -> Float[Array, ""]:
    """Return ⟨F⟩_data − ⟨F⟩_model, whose gradient is the gradient of the negative log-likelihood.

    The model cloud is held constant. In F(v) the hidden units are summed out, so the gradient
    contains their analytic averages, ∂F/∂W_ij = −v_i ⟨h_j⟩, in both phases. For a cloud of *hidden*
    states, use F(h) of the transposed model: `mean_free_energy(rbm.T, cloud)`.

    Example:
        >>> rbm = hm.RBM.from_arrays([[0.0]], [1.0], [0.0])  # F(v) = −v − log 2
        >>> data = hm.samplers.Cloud.uniform(jnp.array([[1.0], [1.0]]))
        >>> model = hm.samplers.Cloud.uniform(jnp.array([[0.0], [1.0]]))
        >>> float(hm.gradients.free_energy_gap(rbm, data, model))
        -0.5
    """
    return mean_free_energy(rbm, data) - mean_free_energy(rbm, model)


def mean_free_energy(rbm: RBM, cloud: Cloud) -> Float[Array, ""]:
    """Return the weighted sum of free energies Σ_i w_i F(v_i) over a weighted set of states.

    Example:
        >>> rbm = hm.RBM.from_arrays([[0.0]], [1.0], [0.0])  # F(v) = −v − log 2
        >>> cloud = hm.samplers.Cloud.uniform(jnp.array([[0.0], [1.0]]))
        >>> round(float(hm.gradients.mean_free_energy(rbm, cloud)), 3)
        -1.193
    """
    states, weights, _ = jax.lax.stop_gradient(cloud)
    return weights @ rbm.free_energy(states)


def cloud_gradient(rbm: RBM, data: Cloud, model: Cloud) -> tuple[RBM, PhaseInfo]:
    """Return the gradient of `free_energy_gap`, and the statistics of the data phase.

    Example:
        >>> rbm = hm.RBM.from_arrays([[0.0]], [0.0], [0.0])
        >>> data = hm.samplers.Cloud.uniform(jnp.array([[1.0], [1.0]]))
        >>> model = hm.samplers.Cloud.uniform(jnp.array([[0.0], [1.0]]))
        >>> grads, info = hm.gradients.cloud_gradient(rbm, data, model)
        >>> grads.visible.bias.tolist(), grads.weights.tolist()  # ⟨v⟩ and ⟨vh⟩ of model − data
        ([-0.5], [[-0.25]])
    """
    clouds = (data._replace(rows=None), model._replace(rows=None))
    return summed_over_rows(_phases, rbm, *clouds)


def _phases(rbm: RBM, data: Cloud, model: Cloud) -> tuple[RBM, PhaseInfo]:
    """Return the difference of the two phases' gradients, and the statistics of the data phase."""
    of_data = _phase(rbm, data)
    of_model = _phase(rbm, model)
    visible, hidden = jax.tree.map(jnp.subtract, of_data.layers, of_model.layers)
    pairs = [(data.states, of_data.inputs), (model.states, -of_model.inputs)]
    if not is_cpu():  # a single product over the rows of both clouds writes the gradient only once
        pairs = [tuple(map(jnp.concatenate, zip(*pairs, strict=True)))]
    products = [_gradient_by_weights(rbm.weights, *pair) for pair in pairs]
    weights = jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *products)
    # The derivative of ⟨F⟩ with respect to a constant input of a unit is minus the unit's mean.
    # Computing the means from the states would need two more sums over rows per layer, which are
    # separate kernels on a GPU.
    info = PhaseInfo(
        -shift_gradient(rbm.visible, of_data.layers[0]),
        -shift_gradient(rbm.hidden, of_data.layers[1]),
        of_data.energy - of_model.energy,
    )
    return RBM(visible, hidden, weights), info


class _Phase(NamedTuple):
    """⟨F⟩ over weighted states, and its gradients with respect to layers and hidden inputs."""

    energy: Float[Array, ""]
    layers: tuple[AbstractLayer, AbstractLayer]
    inputs: Float[Array, "n hidden"]


def _phase(rbm: RBM, cloud: Cloud) -> _Phase:
    @eqx.filter_value_and_grad
    def differentiated(parts: tuple[AbstractLayer, AbstractLayer, Array]) -> Array:
        visible, hidden, inputs = parts
        return cloud.weights @ (visible.energy(cloud.states) - hidden.cgf(inputs))

    inputs = rbm.inputs_to_h(cloud.states)
    energy, (visible, hidden, by_inputs) = differentiated((rbm.visible, rbm.hidden, inputs))
    return _Phase(energy, (visible, hidden), by_inputs)


def _gradient_by_weights(weights: Any, states: Array, by_inputs: Array) -> Any:
    """Return the gradient with respect to the weights, via the inputs `states @ weights`."""
    pullback = eqx.filter_vjp(lambda weights: product(states, weights), weights)[1]
    return pullback(by_inputs)[0]


def shift_gradient(layer: AbstractLayer, grads: AbstractLayer) -> Float[Array, " columns"]:
    """Return Jᵀ `grads`, the gradient by constant inputs; J is the Jacobian of `layer.shift`."""

    def shifted(delta: Array) -> AbstractLayer:
        return eqx.filter(layer.shift(delta), eqx.is_inexact_array)  # masks have no gradient

    return jax.vjp(shifted, layer.zero_inputs)[1](eqx.filter(grads, eqx.is_inexact_array))[0]


def contrasted(
    rbm: RBM, batch: Cloud, sampler: AbstractSampler, *, key: PRNGKeyArray
) -> tuple[RBM, PhaseInfo]:
    """Return the gradient in which the batch after one sampler step represents the model."""
    key_start, key_step = jax.random.split(key)
    chains: Any = sampler.init(rbm, batch.states, key=key_start)
    chains, _ = sampler.step(rbm, chains, key=key_step)
    return cloud_gradient(rbm, batch, Cloud(sampler.positions(chains), batch.weights))


def phase_info(rbm: RBM, data: Cloud, gap: Float[Array, ""]) -> PhaseInfo:
    """Return the gap and the statistics of the data phase; XLA shares products with gradients."""
    hidden_mean = data.mean_of(rbm.mean_h_from_v(data.states))
    return PhaseInfo(data.mean_of(data.states), hidden_mean, gap)
