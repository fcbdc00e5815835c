"""Units with a mixture distribution, so that hidden units need not model its classes."""

from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray, Shaped

from .._base.numerics import product, zeros_like
from .._base.parameters import data_field
from .._base.threefry import key_of
from ..errors import InputError
from . import capabilities
from .arrays import Columns, Proposals, Rows, RowWeights, Units, parameter
from .base import AbstractBiased, AbstractLayer
from .capabilities import (
    AbstractAffine,
    AbstractBlocked,
    AbstractClassed,
    AbstractCorrelated,
    AbstractEnumerable,
)
from .coding import AbstractCoding

MOST_STEPS = 100
TOLERANCE = 1e-4  # the least gain of an EM step, in nats per row, for EM to continue
USUAL_PRIOR = 1.0


class Mixture(
    AbstractBiased,
    AbstractBlocked,
    AbstractClassed,
    AbstractAffine,
    AbstractCorrelated,
    AbstractEnumerable,
):
    r"""Units whose values fall into K classes, each with its own distribution.

    Class k is a layer with the density p_k(x) = exp(−U_k(x) − Γ_k(0)) and the mixing coefficient
    π_k, its share. All classes receive the same inputs I, which raise the probability of classes
    with means in the direction of the inputs. The energy and the cumulant generating function are

        U(x) = −b·x − log Σ_k π_k p_k(x),      Γ(I) = log Σ_k π_k exp(Γ_k(I + b) − Γ_k(0)).

    With W = 0, a model with this visible layer is the mixture itself, so hidden units need only
    model the dependences within classes. Each class of real units has its own means, variances and
    correlations, whereas discrete hidden units could only shift the means. Each draw chooses a new
    class, so chains move between classes however far apart the classes are.

    The classes are data, found by the EM algorithm; the only trainable parameter is b.

    Attributes:
        classes: the layers of the classes, as one layer whose arrays have an axis of classes first.
        log_shares: log π, the log mixing coefficients, shape (classes,).
        bias: b, one entry for each column, in nats.
        prior: the number of pseudo-rows that `refitted` adds to each class.

    Example:
        >>> low = hm.Gaussian(1, bias=[-5.0])
        >>> high = hm.Gaussian(1, bias=[50.0], precision=[10.0])
        >>> layer = hm.Mixture([low, high], log_shares=np.log([0.25, 0.75]))
        >>> mean = layer.mean(layer.zero_inputs)
        >>> variance = layer.variance(layer.zero_inputs)
        >>> round(mean.item(), 2), round(variance.item(), 2)  # 0.25 · 1 + 0.75 · 0.1, and between
        (2.5, 19.07)

    Source: Dempster, Laird & Rubin 1977; Bishop 2006, section 9.3.3.
    """

    bias: Float[Array, "*models columns"]
    classes: AbstractLayer = data_field()
    log_shares: Float[Array, "*models classes"] = data_field()
    prior: Float[Array, "*models"] = data_field()

    def __init__(
        self,
        classes: Iterable[AbstractLayer],
        log_shares: Any = None,
        bias: Any = None,
        prior: Any = USUAL_PRIOR,
    ):
        layers = tuple(classes)
        if not layers or len({jax.tree.structure(layer) for layer in layers}) > 1:
            raise InputError(
                "Mixture classes: expected one or more layers of equal type and size; got"
                f" {', '.join(map(str, layers)) or 'none'}."
            )
        if capabilities.takes_given(layers[0]):
            raise InputError(
                f"Mixture classes: expected layers that take nothing of a row as given; got"
                f" {layers[0]}."
            )
        self.classes = jax.tree.map(lambda *arrays: jnp.stack(arrays), *layers)
        logs = parameter(log_shares, (len(layers),), "Mixture log_shares")
        self.log_shares = jax.nn.log_softmax(logs)
        self.bias = parameter(bias, (layers[0].size,), "Mixture bias")
        self.prior = parameter(prior, (), "Mixture prior")

    # ------------------------------------------------------------------ stored arrays

    @property
    def size(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The number of columns of a state."""
        return self.bias.shape[-1]

    @property
    def coding(self) -> AbstractCoding:
        """The coding, which is the same for every class."""
        return self.classes.coding

    def __str__(self) -> str:
        return f"Mixture({self.log_shares.shape[-1]} × {self.classes})"

    def to_fields(self) -> dict[str, Any]:
        layers = tuple(self._class(k) for k in range(self.n_classes))
        return super().to_fields() | {"classes": layers}

    def _class(self, k: int) -> AbstractLayer:
        """Return the layer of class k, without the axis of classes."""
        return jax.tree.map(lambda array: array[k], self.classes)

    # ------------------------------------------------------------------ sums over the classes

    def _of_classes(self, function: Callable[..., Any], *arrays: Array) -> Any:
        """Map a function over the classes and over arrays with a leading axis of classes."""
        # If the layer has batch axes, these come before the axis of the classes.
        axis = self.log_shares.ndim - 1
        classes = jax.tree.map(lambda array: jnp.moveaxis(array, axis, 0), self.classes)
        return jax.vmap(function)(jax.lax.stop_gradient(classes), *arrays)

    def log_joint(self, x: Columns) -> Float[Array, "*batch classes"]:
        """Return log π_k p_k(x) for each class k."""
        log_joint = self._weighed(self._of_classes(lambda layer: -layer.energy(x)))
        return jnp.moveaxis(log_joint, 0, -1)

    def _weighed(self, logs: Float[Array, "classes ..."]) -> Float[Array, "classes ..."]:
        """Return log π_k − Γ_k(0) + `logs`, where `logs` is −U_k(x) or Γ_k(I) of each class k."""
        alone = self._of_classes(lambda layer: layer.cgf(jnp.zeros_like(self.bias)))
        before = jnp.moveaxis(self.log_shares, -1, 0) - alone
        of_rows = [1] * (logs.ndim - before.ndim)
        return logs + before.reshape(before.shape[0], *of_rows, *before.shape[1:])

    def _with_inputs(self, inputs: Array) -> Float[Array, "classes ..."]:
        """Return log π_k + Γ_k(I + b) − Γ_k(0) for each class k."""
        return self._weighed(self._of_classes(lambda layer: layer.cgf(inputs + self.bias)))

    def _given(self, inputs: Array, known: Array, values: Array) -> Float[Array, "classes ..."]:
        """Return each class's unnormalised log probability given the inputs and known units."""

        def cgf(layer: AbstractLayer) -> Array:
            held = capabilities.unit_cgfs_given(layer, inputs + self.bias, known, values)
            return held.sum(-1)

        return self._weighed(self._of_classes(cgf))

    def unit_energies(self, x: Columns) -> Units:
        """Return −b·x of each unit; the first entry also includes −log Σ_k π_k p_k(x)."""
        of_bias = -self.fold(self.bias * x)
        return of_bias.at[..., 0].add(-jax.nn.logsumexp(self.log_joint(x), axis=-1))

    def cgf(self, inputs: Columns) -> Float[Array, "*batch"]:
        """Return log Σ_k π_k exp(Γ_k(I + b) − Γ_k(0)), in nats."""
        return jax.nn.logsumexp(self._with_inputs(inputs), axis=0)

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return Γ in the entry of the first unit, and 0 in the others."""
        return self._at_first(self.cgf(inputs))

    def _at_first(self, total: Float[Array, "*batch"]) -> Units:
        others = jnp.zeros((*total.shape, self.n_units - 1), total.dtype)
        return jnp.concatenate([total[..., None], others], axis=-1)

    def _moments(
        self, log_weights: Array, means: Array, variances: Array | None = None
    ) -> Shaped[Array, "*batch columns"]:
        """Return the mixture's means, or its variances if the classes' `variances` are given."""
        shares = jax.nn.softmax(log_weights, axis=0)[..., None]
        mean = (shares * means).sum(0)
        if variances is None:
            return mean
        return (shares * (variances + (means - mean) ** 2)).sum(0)

    def mean(self, inputs: Columns) -> Columns:
        """Return the classes' means, weighted by the class probabilities given the inputs."""
        means = self._of_classes(lambda layer: layer.mean(inputs + self.bias))
        return self._moments(self._with_inputs(inputs), means)

    def variance(self, inputs: Columns) -> Columns:
        """Return the mean variance within classes plus the variance of the class means."""
        means = self._of_classes(lambda layer: layer.mean(inputs + self.bias))
        variances = self._of_classes(lambda layer: layer.variance(inputs + self.bias))
        return self._moments(self._with_inputs(inputs), means, variances)

    def _drawn(self, log_weights: Array, draw: Callable[..., Array], key: PRNGKeyArray) -> Columns:
        """Draw a class for each row, then its units by `draw`, a function of a class and a key."""
        key_class, key_units = jax.random.split(key)
        draws = self._of_classes(draw, jax.random.split(key_units, self.n_classes))
        chosen = jax.random.categorical(key_class, log_weights, axis=0)
        return jnp.take_along_axis(draws, chosen[None, ..., None], axis=0)[0]

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw a class for each row, then the units from that class."""

        def draw(layer: AbstractLayer, key: PRNGKeyArray) -> Array:
            return layer.sample(inputs + self.bias, key=key)

        return self._drawn(self._with_inputs(inputs), draw, key)

    # ------------------------------------------------------------------ given some units

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The index of each unit's block; all units form one block."""
        return np.zeros(self.n_units, int)

    def apart(self) -> AbstractLayer:
        """Return a layer of independent units of the classes' type."""
        return capabilities.apart(self.prototype)

    def unit_cgfs_given(self, inputs: Array, known: Array, values: Array) -> Units:
        """Return the cgf with the known units held, stored in the entry of the first unit."""
        return self._at_first(jax.nn.logsumexp(self._given(inputs, known, values), axis=0))

    def mean_given(self, inputs: Array, known: Array, values: Array) -> Columns:
        """Return the means of the unknown units, given the known units."""
        means = self._of_classes(
            lambda layer: capabilities.mean_given(layer, inputs + self.bias, known, values)
        )
        return self._moments(self._given(inputs, known, values), means)

    def variance_given(self, inputs: Array, known: Array, values: Array) -> Columns:
        """Return the variances of the unknown units, given the known units."""
        given = (inputs + self.bias, known, values)
        means = self._of_classes(lambda layer: capabilities.mean_given(layer, *given))
        variances = self._of_classes(lambda layer: capabilities.variance_given(layer, *given))
        return self._moments(self._given(inputs, known, values), means, variances)

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> Columns:
        """Draw the class given the known units, then the unknown units given the class."""

        def draw(layer: AbstractLayer, key: PRNGKeyArray) -> Array:
            return capabilities.sample_given(layer, inputs + self.bias, known, values, key=key)

        return self._drawn(self._given(inputs, known, values), draw, key)

    # ------------------------------------------------------------------ states

    @property
    def n_states(self) -> int | None:
        return self.prototype.n_states

    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states with these indices, which are the same for every class."""
        return capabilities.joint_states(self.prototype, indices)

    def proposals(self, x: Columns) -> Proposals:
        """Return the single-site proposals, which are the same for every class."""
        return capabilities.proposals_from(self.prototype, x)

    # ------------------------------------------------------------------ expectation maximisation

    def first(self, classes: int) -> "Mixture":
        """Return the layer with only the first `classes` classes; their shares are unchanged."""
        first = jax.tree.map(lambda array: array[:classes], (self.classes, self.log_shares))
        return eqx.tree_at(lambda layer: (layer.classes, layer.log_shares), self, first)

    @property
    def n_classes(self) -> int:
        return self.log_shares.shape[-1]

    @property
    def prototype(self) -> AbstractLayer:
        return self._class(0)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Mixture":
        """Return the layer with b = 0 and unchanged classes, which only `refitted` fits.

        The classes are data, which must not change, because annealing cannot interpolate between
        layers with different data.
        """
        return self.base()

    def base(self) -> "Mixture":
        """Return the layer with b = 0, which is the plain mixture of its classes."""
        return eqx.tree_at(lambda layer: layer.bias, self, zeros_like(self.bias))

    def refitted(self, x: Rows, weights: RowWeights = None) -> "Mixture":
        """Return the layer with b = 0 and with classes refined by EM from the present ones."""
        if weights is None:
            weights = jnp.ones(len(x), x.dtype)
        unbiased = self.base()
        return unbiased.climbed(x, weights, *unbiased._expected(x, weights))

    def climbed(
        self,
        x: Rows,
        weights: Float[Array, " rows"],
        memberships: Float[Array, "rows classes"],
        mean_log_p: Any = -jnp.inf,
    ) -> "Mixture":
        """Return the mixture to which EM converges from these responsibilities (`memberships`).

        Args:
            x: states.
            weights: the weights of the rows.
            memberships: the probability of each class for each row (the responsibilities).
            mean_log_p: the initial log-likelihood in nats per row, which a step must improve.
        """
        # Scale the weights to sum to Kish's effective number of rows (Kish 1965).
        weights = weights * weights.sum() / (weights @ weights)
        overall = self.prototype.fit_moments(x, weights)
        noise = jax.random.gumbel(key_of(0), memberships.shape, x.dtype)

        def goes_on(state: tuple[Mixture, Array, Array, Array, Array]) -> Array:
            _, _, now, last, step = state
            return (now - last > TOLERANCE) & (step < MOST_STEPS)

        def stepped(
            state: tuple[Mixture, Array, Array, Array, Array],
        ) -> tuple[Mixture, Array, Array, Array, Array]:
            mixture, memberships, now, _, step = state
            mixture = mixture._maximised(x, weights, memberships, overall, noise)
            return mixture, *mixture._expected(x, weights), now, step + 1

        now = jnp.asarray(mean_log_p, x.dtype)
        nothing = jnp.asarray(-jnp.inf, x.dtype)
        first = stepped((self, memberships, now, nothing, jnp.zeros((), jnp.int32)))
        return jax.lax.while_loop(goes_on, stepped, first)[0]

    def _expected(
        self, x: Rows, weights: Float[Array, " rows"]
    ) -> tuple[Float[Array, "rows classes"], Float[Array, ""]]:
        """Return the responsibilities (E step), and the mean log-likelihood of the rows."""
        log_joint = self.log_joint(x)
        log_p = jax.nn.logsumexp(log_joint, axis=1)
        return jax.nn.softmax(log_joint, axis=1), weights @ log_p / weights.sum()

    def _maximised(
        self,
        x: Rows,
        weights: Float[Array, " rows"],
        memberships: Float[Array, "rows classes"],
        overall: AbstractLayer,
        noise: Float[Array, "rows classes"],
    ) -> "Mixture":
        """Return the mixture fitted to the rows, given the responsibilities (the M step).

        Each class is fitted to rows weighted by their responsibilities, and to `prior` pseudo-rows.
        The pseudo-rows have the moments of all rows, except that their covariance is the pooled
        covariance within classes.

        Args:
            x: states.
            weights: the weights of the rows, scaled to sum to the effective number of rows.
            memberships: the probability of each class for each row (the responsibilities).
            overall: a layer fitted to all rows.
            noise: Gumbel noise, used to draw classes.
        """
        weighted = memberships * weights[:, None]
        counts = weighted.sum(0)
        typical = overall
        is_real = capabilities.are_unbounded(overall)
        if is_real.any():
            mean = product(weights, x) / weights.sum()
            means = (product(weighted.T, x) + self.prior * mean) / (counts + self.prior)[:, None]
            # Each row is centred at the mean of a class drawn from its memberships. If it were
            # centred at the weighted mean of all classes, the covariance would be too small.
            drawn = (jnp.log(memberships) + noise).argmax(1)
            around = jnp.where(is_real, x - means[drawn] + mean, x)
            typical = capabilities.fit_with_prior(overall, around, weights, self.prior)
        classes = jax.vmap(
            lambda own: capabilities.fit_with_prior(typical, x, own, self.prior), in_axes=1
        )(weighted)
        # One pseudo-row is shared among the classes in use.
        is_used = jnp.isfinite(self.log_shares)
        shares = jnp.where(is_used, counts + 1.0 / is_used.sum(), 0.0) / (counts.sum() + 1.0)
        return eqx.tree_at(
            lambda layer: (layer.classes, layer.log_shares), self, (classes, jnp.log(shares))
        )

    # ------------------------------------------------------------------ units of measurement

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """The smallest curvature over all classes, for each column."""
        return self._of_classes(capabilities.curvature).min(0)

    @property
    def is_rescalable(self) -> np.ndarray:
        """A mask of the units that can be rescaled in every class."""
        return capabilities.is_rescalable(self.prototype)

    @property
    def is_shiftable(self) -> np.ndarray:
        """A mask of the units that can be shifted in every class."""
        return capabilities.is_shiftable(self.prototype)

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "Mixture":
        """Return the layer whose states are scale · x + offset; its bias is b / scale."""
        classes = self._of_classes(lambda layer: capabilities.rescaled(layer, scale, offset))
        bias = self.bias / self.spread(jnp.asarray(scale, self.dtype))
        return eqx.tree_at(lambda layer: (layer.bias, layer.classes), self, (bias, classes))

    def project(self) -> "Mixture":
        """Return the layer itself, because any bias is valid."""
        return self

    @property
    def correlated(self) -> Integer[np.ndarray, " some"]:
        """The indices of the correlated columns, which are the same for every class."""
        return capabilities.correlated(self.classes)

    @property
    def whitening(self) -> Float[Array, "some some"]:
        """The mean of the whitening matrices of the classes, weighted by the shares."""
        return jnp.tensordot(
            jnp.exp(self.log_shares), self._of_classes(capabilities.whitening), axes=1
        )

    def along(self, basis: Float[Array, "some some"]) -> "Mixture":
        """Return the layer in terms of y, where x = S y and S = `basis`; its bias is Sᵀb."""
        columns = self.correlated
        classes = jax.vmap(lambda layer: capabilities.along(layer, basis))(self.classes)
        moved = product(basis.T, self.bias[columns])
        bias = self.bias.at[columns].set(moved, unique_indices=True)
        return eqx.tree_at(lambda layer: (layer.bias, layer.classes), self, (bias, classes))

    def confined(self, variance: float) -> "Mixture":
        """Return the layer itself, because training never changes the variance of its classes."""
        return self
