"""Low-rank starts: a first model along the leading directions of the data, fitted on a grid."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.linalg import inverse_factor
from .._base.numerics import from_numpy, product
from .._base.parameters import map_parameters
from .._base.programs import compiled
from .._base.statistics import weights_of
from .._base.threefry import key_of
from ..errors import InputError
from ..layers import AbstractLayer
from ..layers.capabilities import has_independent_units

MOST_RANK = 3
POINTS = {1: 401, 2: 61, 3: 25}  # points of the grid along each direction, by rank
MARGIN = 0.3  # the grid extends beyond the rows by this fraction of their range on either side
SMALLEST_SPREAD = 1e-4  # of the projections on a direction, relative to the largest
MOST_UNITS = 64  # hidden units that begin with weights of this rank
ITERATIONS = 50  # of the search for the leading directions
NEWTON_STEPS = 40
LARGEST_STEP = 3.0  # nats by which a Newton step may change any input
AT_ONCE = 2**22  # numbers in memory at a time
TOLERANCE = 1e-2  # largest error of a mean, as a fraction of the spacing of the grid
IMPOSSIBLE = -1e9  # log density of projections that no states have; −∞ has no gradient
FITTING_STEPS = 1_000
RATE = 0.03
SPREAD = 0.5  # initial standard deviation of a hidden unit's inputs over the rows, nats


class LowRank(NamedTuple):
    """A model whose weights have a low rank, and the density of its projections on a grid.

    Attributes:
        visible: the visible layer.
        hidden: the hidden layer.
        weights: W, shape (visible, hidden).
        grid: projections (x − x̄)U on the orthonormal directions U, shape (points, rank).
        log_p: the log probability of each point of the grid under the model.
    """

    visible: AbstractLayer
    hidden: AbstractLayer
    weights: Float[Array, "visible hidden"]
    grid: Float[Array, "points rank"]
    log_p: Float[Array, " points"]


def low_rank(
    visible: AbstractLayer,
    hidden: AbstractLayer,
    rows: Float[Array, "rows columns"],
    row_weights: Any,
    rank: int,
    *,
    key: PRNGKeyArray,
) -> LowRank:
    r"""Return the model of highest likelihood with W = UQ, where U are leading directions of data.

    The free energy of such a model depends on the visible states x only through the energy of the
    visible layer and the projections m = (x − x̄)U on at most three directions, so that

        p(m) ∝ e^(S(m) + λ·m + Γ_h(mQ)),

    where x̄ is the mean of the rows, e^S the density of m under the visible layer alone, λ a change
    of the visible biases along U, and Γ_h the cumulant generating function of the hidden layer. S
    is computed at each point of a grid by a saddle-point approximation with Γ, the cumulant
    generating function of the visible layer: S(m) = min_θ [Γ(Uθ) − θ·(m + x̄U)] − ½ log det(2π Γ″).
    On the grid, the likelihood of Q, λ and the biases of the hidden units can be computed without
    chains, so that the masses of clusters are right from the start, however rarely chains move
    between them.

    Args:
        visible: the visible layer, fitted to the moments of the rows.
        hidden: the hidden layer.
        rows: states of the visible layer.
        row_weights: weights of the rows; equal if None.
        rank: the number of directions, 1 to 3.
        key: a JAX random key.

    Raises:
        InputError: the rank is too large, or the visible units are not independent.

    Source: Béreux, Decelle, Furtlehner & Seoane 2024 (arXiv:2405.15376); Decelle & Furtlehner 2021.
    """
    check_rank(visible, rank, len(rows))
    shares = weights_of(len(rows), row_weights)
    shares = from_numpy((shares / shares.sum()).astype(np.float32))
    mean = product(shares, rows)
    directions = _directions(rows - mean, shares, rank)
    projections = product(rows - mean, directions)
    deviations = np.sqrt(np.asarray(product(shares, projections**2)))
    varies = deviations > SMALLEST_SPREAD * max(1.0, float(deviations.max()))
    if not varies.all():
        raise InputError(
            f"rank: expected rows that vary along {rank} directions; got rows that vary along"
            f" {varies.sum()}; lower the rank, or leave it out."
        )
    grid, spacing = _grid(np.asarray(projections))
    log_density = _log_density(visible, directions, from_numpy(grid), mean, spacing)
    return _fitted(
        visible,
        hidden,
        directions,
        projections,
        shares,
        from_numpy(grid),
        log_density,
        mean,
        key=key,
    )


def check_rank(visible: AbstractLayer, rank: Any, rows: int) -> None:
    """Raise InputError unless a model of this rank can be fitted to this many rows."""
    most = min(MOST_RANK, visible.size, rows - 1)
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= most:
        raise InputError(f"rank: expected a whole number from 1 to {most}; got {rank!r}.")
    if not has_independent_units(visible):
        raise InputError(
            f"rank: expected a layer of independent visible units; got {visible}; leave rank out."
        )


@compiled
def _directions(
    centred: Float[Array, "rows columns"], shares: Array, rank: int
) -> Float[Array, "columns rank"]:
    """Return the leading principal directions, which are orthonormal, by subspace iteration."""
    # The covariance matrix is not formed, since there may be many thousands of columns.
    start = jax.random.normal(key_of(0), (centred.shape[1], rank), centred.dtype)

    def step(_: Any, directions: Array) -> Array:
        scores = shares[:, None] * product(centred, directions)
        return _orthonormal(product(centred.T, scores))

    return jax.lax.fori_loop(0, ITERATIONS, step, _orthonormal(start))


def _orthonormal(vectors: Float[Array, "n few"]) -> Float[Array, "n few"]:
    """Return the vectors after the Gram-Schmidt process."""
    results: list[Array] = []
    for vector in vectors.T:
        for other in results:
            vector = vector - (vector @ other) * other
        results.append(vector / jnp.maximum(jnp.linalg.norm(vector), 1e-30))
    return jnp.stack(results, axis=1)


def _grid(projections: Float[np.ndarray, "rows rank"]) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a grid around the projections, and its spacing in each direction."""
    low = projections.min(0)
    high = projections.max(0)
    margin = MARGIN * np.maximum(high - low, 1e-6)
    count = POINTS[projections.shape[1]]
    axes = [
        np.linspace(*ends, count, dtype=np.float32)
        for ends in zip(low - margin, high + margin, strict=True)
    ]
    spacing = np.array([axis[1] - axis[0] for axis in axes])
    return np.array(list(itertools.product(*axes)), np.float32), spacing


@compiled
def _log_density(
    visible: AbstractLayer,
    directions: Float[Array, "columns rank"],
    grid: Float[Array, "points rank"],
    mean: Float[Array, " columns"],
    spacing: np.ndarray,
) -> Float[Array, " points"]:
    """Return the log density of the projections at each point, under the visible layer alone."""
    rank = directions.shape[1]

    def cgf(theta: Array) -> Array:
        return visible.cgf(product(directions, theta))

    def at(point: Array) -> Array:
        target = point + mean @ directions

        def step(_: Any, theta: Array) -> Array:
            slope = target - jax.grad(cgf)(theta)
            curvature = jax.hessian(cgf)(theta) + 1e-6 * jnp.eye(rank)
            factor = inverse_factor(curvature)
            change = factor.T @ (factor @ slope)
            largest = abs(product(directions, change)).max()
            return theta + change * jnp.minimum(1.0, LARGEST_STEP / (largest + 1e-12))

        theta = jax.lax.fori_loop(0, NEWTON_STEPS, step, jnp.zeros(rank, point.dtype))
        error = abs(jax.grad(cgf)(theta) - target)
        factor = inverse_factor(2.0 * jnp.pi * jax.hessian(cgf)(theta))
        log_p = cgf(theta) - theta @ target + jnp.log(jnp.diagonal(factor)).sum()
        is_possible = (error < TOLERANCE * spacing).all() & jnp.isfinite(log_p)
        return jnp.where(is_possible, log_p, IMPOSSIBLE)

    size = max(1, AT_ONCE // (directions.shape[0] * (rank + 1)))
    return jax.lax.map(at, grid, batch_size=size)


@compiled
def _fitted(
    visible: AbstractLayer,
    hidden: AbstractLayer,
    directions: Float[Array, "columns rank"],
    projections: Float[Array, "rows rank"],
    shares: Float[Array, " rows"],
    grid: Float[Array, "points rank"],
    log_density: Float[Array, " points"],
    mean: Float[Array, " columns"],
    *,
    key: PRNGKeyArray,
) -> LowRank:
    """Return the model under which the projections are most likely, fitted by full-batch Adam."""
    rank = directions.shape[1]
    deviation = jnp.sqrt(product(shares, projections**2))
    chosen = hidden.spread(np.arange(hidden.n_units) < MOST_UNITS)
    start = SPREAD * jax.random.normal(key, (rank, hidden.size)) / deviation[:, None]
    linear = jnp.zeros(rank, grid.dtype)

    def energies(parameters: Any, m: Array) -> Array:
        layer, q, linear = parameters
        return -(layer.cgf(product(m, jnp.where(chosen, q, 0.0))) + product(m, linear))

    def loss(parameters: Any) -> Array:
        log_z = jax.nn.logsumexp(log_density - energies(parameters, grid))
        return shares @ energies(parameters, projections) + log_z

    optimizer = optax.adam(optax.cosine_decay_schedule(RATE, FITTING_STEPS))
    parameters: Any = (hidden, start, linear)
    # Steps are in units of the projections' deviations, so that one rate suits all directions.
    units = (
        map_parameters(jnp.ones_like, hidden),
        jnp.broadcast_to(1.0 / deviation[:, None], start.shape),
        1.0 / deviation,
    )

    def step(_: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
        parameters, state = carry
        grads = jax.grad(loss)(parameters)
        grads = jax.tree.map(jnp.multiply, grads, units)
        updates, state = optimizer.update(grads, state)
        updates = jax.tree.map(jnp.multiply, updates, units)
        layer = map_parameters(jnp.add, parameters[0], updates[0])
        return (layer, parameters[1] + updates[1], parameters[2] + updates[2]), state

    state = optimizer.init(parameters)
    parameters, _ = jax.lax.fori_loop(0, FITTING_STEPS, step, (parameters, state))
    log_p = jax.nn.log_softmax(log_density - energies(parameters, grid))
    layer, q, linear = parameters
    weights = product(directions, jnp.where(chosen, q, 0.0))
    shifted = layer.shift(-product(mean, weights))
    return LowRank(visible.shift(product(directions, linear)), shifted, weights, grid, log_p)
