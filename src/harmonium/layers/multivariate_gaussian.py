"""Real units with a full precision matrix."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._base.linalg import eigh, inverse_factor
from .._base.numerics import LOG_2PI, normals, product
from ..errors import InputError
from .arrays import Columns, Rows, RowWeights, Units, parameter, weighted_mean
from .base import AbstractLayer, AbstractUnits
from .capabilities import AbstractAffine, AbstractBlocked, AbstractCorrelated, AbstractMatched
from .coding import AbstractCoding, Numbers
from .registry import layer_named

SMALLEST_EIGENVALUE = 1e-6  # relative to the norm of the matrix
# Candidate fractions by which the covariance is shrunk to its diagonal; float32 resolves them all.
FRACTIONS = np.array([1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0])
USUAL_FRACTION = 0.1  # used if there are too few rows for cross-validation
FOLDS = 5  # each fold is scored with the covariance of the other four folds


class MultivariateGaussian(
    AbstractUnits, AbstractBlocked, AbstractAffine, AbstractCorrelated, AbstractMatched
):
    r"""Real units that depend on one another through a full precision matrix Λ.

    With U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = ½ xᵀΛx − b·x,                                  ⟨x⟩ = Λ⁻¹(I + b),
        Γ(I) = ½ (I + b)ᵀΛ⁻¹(I + b) + ½ log det(2πΛ⁻¹).

    Λ represents the linear dependences of the units, so hidden units need only model what a
    covariance matrix cannot represent, such as clusters and dependences on units of other types.
    All units form one block and are drawn together. Each training step factorises Λ, in O(size³)
    operations.

    Attributes:
        size: number of units.
        bias: b, shape (size,), in nats per unit of x.
        precision: Λ, shape (size, size), symmetric and positive definite; the identity by default.

    Example:
        >>> precision = np.linalg.inv([[1.0, 0.5], [0.5, 1.0]])
        >>> layer = hm.MultivariateGaussian(2, precision=precision)
        >>> known, values = jnp.array([True, False]), jnp.array([2.0, 0.0])
        >>> layer.mean_given(layer.zero_inputs, known, values).round(2).tolist()  # 0.5 · 2
        [2.0, 1.0]

    Source: Lauritzen 1996, section 6.1, the homogeneous conditional Gaussian distribution.
    """

    precision: Float[Array, "*models size size"]

    def __init__(self, size: int, bias: Any = None, precision: Any = None):
        super().__init__(size, bias)
        if precision is None:
            precision = np.eye(size)
        self.precision = parameter(precision, (size, size), "MultivariateGaussian precision")
        if not isinstance(self.precision, Tracer):
            given = np.asarray(self.precision, float)
            if not np.allclose(given, given.T, rtol=1e-4) or np.linalg.eigvalsh(given)[0] <= 0:
                raise InputError(
                    "MultivariateGaussian precision: expected a symmetric, positive definite"
                    " matrix."
                )

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take any finite number."""
        return Numbers(self.size, "a MultivariateGaussian unit takes finite numbers")

    # ------------------------------------------------------------------ Λ and its factor

    def _symmetric(self) -> Float[Array, "*models size size"]:
        return 0.5 * (self.precision + jnp.swapaxes(self.precision, -1, -2))

    def _inverse_factor(self) -> Float[Array, "*models size size"]:
        return inverse_factor(self._symmetric())

    def unit_energies(self, x: Columns) -> Units:
        """Return ½ x_i (Λx)_i − b_i x_i; only the sum over all units is meaningful."""
        return x * (0.5 * _times(x, self._symmetric()) - self.bias)

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return ½ y_i² + ½ log 2π − log L_ii, where Λ = LLᵀ and y = L⁻¹(I + b).

        Only the sum over all units is meaningful.
        """
        return _cgfs(inputs + self.bias, self._inverse_factor())

    def mean(self, inputs: Columns) -> Columns:
        """Return the mean Λ⁻¹(I + b)."""
        return _solved(inputs + self.bias, self._inverse_factor())

    def variance(self, inputs: Columns) -> Columns:
        """Return the diagonal of Λ⁻¹, which does not depend on the inputs."""
        return _variances(inputs, self._inverse_factor())

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw from the normal distribution with mean Λ⁻¹(I + b) and covariance Λ⁻¹."""
        noise = normals(inputs.shape, inputs.dtype, key=key)
        return _drawn(inputs + self.bias, self._inverse_factor(), noise)

    # ------------------------------------------------------------------ given some units

    def apart(self) -> AbstractLayer:
        """Return a layer of independent Gaussian units."""
        return layer_named("gaussian", "apart").make(self.size)

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The index of each unit's block; all units form one block."""
        return np.zeros(self.size, int)

    def _field_given(self, inputs: Array, known: Array, values: Array) -> Array:
        """Return the fields I + b − Λv, where v is the value of a known unit, and otherwise 0."""
        return inputs + self.bias - _times(jnp.where(known, values, 0.0), self._symmetric())

    def _of_unknown(
        self, known: Array, field: Array, statistic: Callable[..., Array], *more: Array
    ) -> Array:
        """Return a statistic of each row's unknown units, and 0 for its known units.

        Most rows have few missing cells, so only the rows and columns of Λ that belong to unknown
        units are factorised. The matrices have the smallest of the `_sizes` that suffices for every
        row.

        Args:
            known: a mask of the known units.
            field: the field on each unit.
            statistic: a function of the field, the inverse factor and `more`.
            more: additional numbers for each unit.
        """
        precision = self._symmetric()
        shape = jnp.broadcast_shapes(known.shape, field.shape)
        order = jnp.argsort(known, axis=-1, stable=True)  # unknown units first, order preserved
        place = jnp.argsort(order, axis=-1)

        def padded_to(size: int) -> Callable[[], Array]:
            def result() -> Array:
                first = order[..., :size]
                is_free = ~jnp.take_along_axis(known, first, -1)
                both = is_free[..., :, None] & is_free[..., None, :]
                block = precision[first[..., :, None], first[..., None, :]]
                factor = inverse_factor(jnp.where(both, block, jnp.eye(size, dtype=block.dtype)))
                columns = jnp.broadcast_to(first, (*shape[:-1], size))
                taken = [jnp.take_along_axis(x, columns, -1) for x in (field, *more)]
                # Known units in the block get a row of the identity and a field of 0.
                taken[0] = jnp.where(is_free, taken[0], 0.0)
                of_first = statistic(taken[0], factor, *taken[1:])
                back = jnp.broadcast_to(jnp.minimum(place, size - 1), shape)
                return jnp.where(known, 0.0, jnp.take_along_axis(of_first, back, -1))

            return result

        sizes = _sizes(self.size)
        largest = (~known).sum(-1).max()
        index = jnp.searchsorted(jnp.asarray(sizes), largest)
        return jax.lax.switch(index, [padded_to(size) for size in sizes])

    def unit_cgfs_given(self, inputs: Array, known: Array, values: Array) -> Units:
        """Return the cgfs with the known units held; only the sum of the cgfs is meaningful."""
        values = jnp.where(known, values, 0.0)
        held = values * (inputs + self.bias - 0.5 * _times(values, self._symmetric()))
        return held + self._of_unknown(known, self._field_given(inputs, known, values), _cgfs)

    def mean_given(self, inputs: Array, known: Array, values: Array) -> Columns:
        """Return the conditional means of the unknown units."""
        field = self._field_given(inputs, known, values)
        return jnp.where(known, values, self._of_unknown(known, field, _solved))

    def variance_given(self, inputs: Array, known: Array, values: Array) -> Columns:
        """Return the conditional variances of the unknown units."""
        field = jnp.broadcast_to(inputs, jnp.broadcast_shapes(inputs.shape, known.shape))
        return self._of_unknown(known, field, _variances)

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> Columns:
        """Draw the unknown units jointly, given the known ones."""
        field = self._field_given(inputs, known, values)
        noise = normals(field.shape, field.dtype, key=key)
        return jnp.where(known, values, self._of_unknown(known, field, _drawn, noise))

    # ------------------------------------------------------------------ parameters

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "MultivariateGaussian":
        """Fit mean and covariance to the rows, shrinking the covariance towards its diagonal.

        The amount of shrinkage is chosen from `FRACTIONS` by five-fold cross-validated likelihood.
        Shrinkage keeps the precision finite, and avoids spurious correlations when there are only
        a few more rows than columns.
        """
        mean, _ = weighted_mean(x, weights)
        if weights is None:
            weights = jnp.ones(len(x), x.dtype)
        fraction = jnp.asarray(USUAL_FRACTION, x.dtype)
        if len(x) >= 2 * FOLDS:
            fraction = _likeliest_fraction(x, weights)
        precision = _precision(_covariance(x, weights, mean), fraction)
        return MultivariateGaussian(self.size, _times(mean, precision), precision)

    def inputs_at(self, mean: Columns) -> Columns:
        """Return Λm − b, the inputs at which the means are m."""
        return _times(mean, self._symmetric()) - self.bias

    def fit_with_prior(
        self, x: Rows, weights: Float[Array, " rows"], prior: Array
    ) -> "MultivariateGaussian":
        """Fit mean and covariance to rows plus `prior` pseudo-rows with the layer's moments.

        The covariance has ½(size + 1) distinct entries per column, so it is given ½(size + 1) times
        as many pseudo-rows as the mean.
        """
        n = weights.sum()
        factor = self._inverse_factor()
        mean = (product(weights, x) + prior * _solved(self.bias, factor)) / (n + prior)
        rows = 0.5 * (self.size + 1) * prior
        away = x - mean
        moments = _times((away * weights[:, None]).T, away) + rows * _times(factor.T, factor)
        precision = _precision(moments / (n + rows), jnp.zeros((), x.dtype))
        return MultivariateGaussian(self.size, _times(mean, precision), precision)

    def project(self) -> "MultivariateGaussian":
        """Return the layer with a precision that is safely positive definite in float32.

        The eigenvalues of the matrix Λ_ij / √(Λ_ii Λ_jj), which does not depend on the units of
        measurement, are raised to at least 10⁻⁶ of its norm.
        """
        precision = self._symmetric()
        diagonal = jnp.diagonal(precision, axis1=-2, axis2=-1)
        scale = jnp.sqrt(jnp.where(diagonal > 0.0, diagonal, 1.0))
        scales = scale[..., :, None] * scale[..., None, :]
        relative = precision / scales
        least = SMALLEST_EIGENVALUE * jnp.linalg.norm(relative, axis=(-2, -1))
        return self._with(_raised(relative, least, precision, scales))

    def confined(self, variance: float) -> "MultivariateGaussian":
        """Return the layer with the eigenvalues of Λ raised to at least 1/variance."""
        least = jnp.asarray(1.0 / variance, self.dtype)
        precision = self._symmetric()
        return self._with(_raised(precision, least, precision))

    def _with(self, precision: Array) -> "MultivariateGaussian":
        return eqx.tree_at(lambda layer: layer.precision, self, precision)

    def rescaled(self, scale: np.ndarray, offset: np.ndarray) -> "MultivariateGaussian":
        """Return the layer whose states are s · x + m, for scales s and offsets m.

        Its precision is Λ′ with the entries Λ_ij/(s_i s_j), and its bias is b/s + Λ′m.
        """
        s = jnp.asarray(scale, self.dtype)
        m = jnp.asarray(offset, self.dtype)
        precision = self._symmetric() / (s[:, None] * s)
        new = self.bias / s + _times(m, precision), precision
        return eqx.tree_at(lambda layer: (layer.bias, layer.precision), self, new)

    @property
    def correlated(self) -> np.ndarray:
        return np.arange(self.size)

    @property
    def whitening(self) -> Float[Array, "*models size size"]:
        """The matrix S = L⁻ᵀ, where Λ = LLᵀ, so that SSᵀ is the covariance matrix."""
        return jnp.swapaxes(self._inverse_factor(), -1, -2)

    def along(self, basis: Float[Array, "size size"]) -> "MultivariateGaussian":
        """Return the layer of y, where x = S y and S = `basis`; its parameters are SᵀΛS and Sᵀb."""
        new = _times(self.bias, basis), _times(basis.T, _times(self.precision, basis))
        return eqx.tree_at(lambda layer: (layer.bias, layer.precision), self, new)

    @property
    def curvature(self) -> Float[Array, " columns"]:
        """The smallest eigenvalue of Λ, repeated for each column."""
        values, _ = eigh(self._symmetric())
        return jnp.broadcast_to(values[..., :1], self.bias.shape)


def _raised(relative: Array, least: Array, precision: Array, scales: Any = 1.0) -> Array:
    """Return `precision` with the eigenvalues of precision/scales raised to at least `least`.

    Eigenvalues are computed only if a Cholesky factorisation shows that one is too small; otherwise
    the precision is returned unchanged.

    Args:
        relative: the precision divided by the scales.
        least: the smallest eigenvalue that is allowed.
        precision: the precision.
        scales: the scale of each entry.
    """

    def raised() -> Array:
        values, vectors = eigh(relative)
        values = jnp.maximum(values, least[..., None])
        both = _times(vectors * values[..., None, :], jnp.swapaxes(vectors, -1, -2))
        return both * scales

    identity = jnp.eye(relative.shape[-1], dtype=relative.dtype)
    above = inverse_factor(relative - least[..., None, None] * identity)
    return jax.lax.cond(jnp.isfinite(above).all(), lambda: precision, raised)


def _times(x: Array, matrix: Array) -> Array:
    """Return x M for each row x, where M is `matrix`, at the highest floating-point precision."""
    return jnp.einsum("...i,...ij->...j", x, matrix, precision="highest")


def _solved(field: Array, factor: Array) -> Array:
    """Return Λ⁻¹f for the field f; `factor` is L⁻¹, the inverse of the Cholesky factor of Λ."""
    return _times(_times(field, jnp.swapaxes(factor, -1, -2)), factor)


def _cgfs(field: Array, factor: Array) -> Array:
    """Return ½ y_i² + ½ log 2π − log L_ii with y = L⁻¹f, for the field f and the factor L⁻¹."""
    y = _times(field, jnp.swapaxes(factor, -1, -2))
    return 0.5 * (y**2 + LOG_2PI) + jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1))


def _variances(field: Array, factor: Array) -> Array:
    """Return the diagonal of Λ⁻¹, which does not depend on the field."""
    return jnp.broadcast_to((factor**2).sum(-2), field.shape)


def _drawn(field: Array, factor: Array, noise: Array) -> Array:
    """Return Λ⁻¹f + L⁻ᵀε, a draw from N(Λ⁻¹f, Λ⁻¹) if the noise ε is standard normal."""
    y = _times(field, jnp.swapaxes(factor, -1, -2))
    return _times(y + noise, factor)


def _sizes(size: int) -> list[int]:
    """Return the block sizes for which programs are compiled; the largest of them is `size`."""
    return [power for power in (2, 8, 32) if power < size] + [size]


def _covariance(x: Array, weights: Array, centre: Array) -> Float[Array, "size size"]:
    """Return the weighted second moments of the rows about `centre`."""
    away = x - centre
    return _times((away * (weights / weights.sum())[:, None]).T, away)


def _precision(covariance: Array, fraction: Array) -> Float[Array, "size size"]:
    """Return the inverse of a covariance matrix after shrinking its correlations by `fraction`.

    A constant column is given the mean variance of all columns. The correlation matrix is
    inverted instead of the covariance matrix, because the scale of a correlation does not depend
    on the units of measurement.
    """
    variance = jnp.diagonal(covariance)
    typical = jnp.where(variance.mean() > 0, variance.mean(), 1.0)
    scale = jnp.sqrt(jnp.where(variance > 0, variance, typical))
    correlation = covariance / jnp.outer(scale, scale)
    identity = jnp.eye(len(scale), dtype=scale.dtype)
    factor = inverse_factor((1.0 - fraction) * correlation + fraction * identity) / scale
    return _times(factor.T, factor)


def _likeliest_fraction(x: Array, weights: Array) -> Float[Array, ""]:
    """Return the shrinkage fraction with the largest five-fold cross-validated likelihood."""
    fractions = jnp.asarray(FRACTIONS, x.dtype)

    def loss_of(fold: Array) -> Float[Array, " fractions"]:
        is_out = jnp.arange(len(x)) % FOLDS == fold
        inside = jnp.where(is_out, 0.0, weights)
        outside = jnp.where(is_out, weights, 0.0)
        mean, _ = weighted_mean(x, inside)
        moments = _covariance(x, outside, mean)

        def loss(fraction: Array) -> Float[Array, ""]:
            precision = _precision(_covariance(x, inside, mean), fraction)
            factor = inverse_factor(precision)
            return 0.5 * (precision * moments).sum() + jnp.log(jnp.diagonal(factor)).sum()

        return outside.sum() * jax.lax.map(loss, fractions)

    losses = jax.lax.map(loss_of, jnp.arange(FOLDS)).sum(0)
    return fractions[jnp.argmin(jnp.where(jnp.isfinite(losses), losses, jnp.inf))]
