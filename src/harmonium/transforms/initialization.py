"""Initialisation of a model's parameters before training."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.checks import check_positive, checked_key, positive_integer
from .._base.images import evenly_spaced
from .._base.linalg import inverse, orthogonal_basis
from .._base.numerics import from_numpy, product
from .._base.parameters import map_parameters
from .._base.programs import compiled
from .._base.statistics import weights_of
from .._base.threefry import fold_in, key_of, split
from ..data import Dataset
from ..data.stream import rows_to_train_on
from ..errors import InputError
from ..layers import AbstractLayer, Mixture
from ..layers.base import independent_states
from ..layers.capabilities import (
    AbstractClassed,
    along,
    correlated,
    has_classes,
    takes_given,
    whitening,
)
from ..rbm import RBM
from ..weights import AbstractWeights, MaskedWeights
from ..weights.base import is_plain, projected
from ..weights.masked import Pattern
from .low_rank import check_rank, low_rank
from .mixture import as_rbm, can_be_mixture, mixture_of, spread_out

__all__ = ["initialize"]

MOST_OF_LOW_RANK = 20_000  # rows to which a low-rank start is fitted
SCALE = 0.01  # the standard deviation of the weights, as in Hinton 2010, section 8
MOST_ROWS = 50_000  # enough rows to estimate moments
MOST_ENTRIES = 2**26  # most entries of the rows used: a limit for wide rows, which may be sparse
# If the visible layer models all of the covariance, the weights start near a saddle point with
# almost no gradient. Training on iris then ends at −3.1 nats; it ends at −2.6 nats if the hidden
# units start with half of the covariance.
HIDDEN_FRACTION = 0.5  # the hidden units' initial fraction of the covariance of correlated columns
# The most hidden units that start with this fraction: with more than 8, models fit 30 columns
# worse; with 4, they fit 9 columns worse.
MOST_CORRELATING = 8


def initialize(
    visible: AbstractLayer,
    hidden: AbstractLayer,
    data: Any = None,
    *,
    key: PRNGKeyArray,
    weights: Any = None,
    scale: float = SCALE,
    connections: int | None = None,
    pattern: Any = None,
    rank: int | None = None,
) -> RBM:
    """Return a model with small random weights, W_ij ~ N(0, scale²).

    With data, the visible layer is fitted to the data's moments, so that the model starts near the
    independent-units model of the data (Hinton 2010, section 8). The biases of each layer then
    compensate for the inputs that the weights produce at the other layer's means: the model starts
    centred (Melchior, Fischer & Wiskott 2016). Exchanging zeros and ones in the data therefore
    exchanges them in the model.

    A single hidden unit of K states, `hm.Potts(1, K)`, makes the model a mixture of K product
    distributions, for which W = 0 is a saddle point. If there are enough rows, such a model is
    therefore fitted by EM.

    Args:
        visible: the visible layer.
        hidden: the hidden layer.
        data: rows in the user's coding, shape (n, visible.n_units), a `Dataset` or a `Stream`. NaN
            marks a missing value; each column's moments are computed from its observed values.
        key: a JAX random key.
        weights: sample weights of the rows, shape (n,).
        scale: standard deviation of the weights.
        connections: number of randomly chosen visible units to which each hidden unit is initially
            connected; other weights are 0 (Martens 2010: 15, with a larger scale). If None, all
            units are connected. A Potts site counts as one unit, with all its states.
        pattern: the pairs of units that may ever be connected: a 0/1 matrix of shape (visible
            units, hidden units), which makes the weights `MaskedWeights`; or weights such as
            `BlockWeights`, whose class the model's weights then have. If None, all pairs may be
            connected.
        rank: for data in clusters, the number of leading directions of the data, 1 to 3, along
            which the weights are first fitted: on a grid, without chains, so that the clusters have
            the right masses from the start (Béreux et al. 2024). `data` is then required. Train
            by a method with a ladder, such as "ptt": chains of PCD do not move between clusters.

    Raises:
        InputError: data are outside the visible layer's domain, the scale is not positive, or there
            are more connections than visible units, or `connections` is given although the pattern
            is given as weights.

    Example:
        >>> rows = hm.bars_and_stripes(2)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=jax.random.key(0))
        >>> rbm.weights.shape
        (4, 3)
        >>> round(hm.log_likelihood(rbm, rows).value, 2)  # of nearly independent units: −4 log 2
        -2.77
    """
    for name, layer in (("visible", visible), ("hidden", hidden)):
        if not isinstance(layer, AbstractLayer):
            raise InputError(f"{name}: expected a layer such as hm.Bernoulli(10); got {layer!r}.")
    check_positive(scale=scale)
    if takes_given(hidden):
        raise InputError(f"hidden: expected a layer of which no part is given; got {hidden}.")
    if connections is not None and positive_integer(connections, "connections") > visible.n_units:
        raise InputError(
            f"connections: expected at most {visible.n_units}, the number of units of {visible};"
            f" got {connections}."
        )
    key_weights, key_rows = split(checked_key(key))
    fitted_to = None
    if data is not None:
        fitted_to = _rows_to_fit(visible, data, weights, key=key_rows)
    if connections is not None and isinstance(pattern, AbstractWeights):
        raise InputError(
            f"connections: expected None, since the pattern is given as weights; got {connections};"
            " give the pattern as a matrix of zeros and ones."
        )
    like = None
    if pattern is not None:
        like = _like_pattern(pattern, visible, hidden)
    elif (
        fitted_to is not None
        and connections is None
        and _is_mixture(visible, hidden, len(fitted_to[0]))
    ):
        return _mixture(visible, hidden, *fitted_to, key=key_weights)
    if rank is not None:
        if fitted_to is None or like is not None or connections is not None or has_classes(visible):
            raise InputError(
                "rank: expected data, and neither connections, a pattern nor a layer of classes;"
                " got another combination; leave rank out."
            )
        return _from_low_rank(visible, hidden, scale, *fitted_to, rank, key=key_weights)
    if fitted_to is not None and has_classes(visible):
        visible = _begun(visible, *fitted_to, key=fold_in(key_weights, 3))
    return _coupled(visible, hidden, scale, connections, like, fitted_to, key=key_weights)


def initialized_again(rbm: RBM, data: Dataset, *, seen: np.ndarray, key: PRNGKeyArray) -> RBM:
    """Return a model initialised like `rbm`, but fitted only to some of the rows.

    Args:
        rbm: a model initialised from all rows.
        data: the rows.
        seen: a mask of the rows that the new model may use, shape (n,).
        key: a JAX random key.
    """
    key_weights, key_rows = split(key)
    mean_v = fitted_units(rbm.visible, data, key=key_rows).mean(rbm.visible.zero_inputs)
    hidden = rbm.hidden.shift(product(mean_v, rbm.dense_weights))
    # Unseen rows get weight 0; removing them would require compiling another program.
    weighted = data.weighted(from_numpy(seen.astype(np.float32)))
    fitted_to = _rows_to_fit(rbm.visible, weighted, None, key=key_rows)
    like = None if is_plain(rbm.weights) else rbm.weights
    if like is None and _is_mixture(rbm.visible, hidden, len(fitted_to[0])):
        return _mixture(rbm.visible, hidden, *fitted_to, key=key_weights)
    visible = rbm.visible
    if has_classes(visible):
        visible = _refitted(visible, *_spread(visible, *fitted_to))
    return _coupled(visible, hidden, SCALE, None, like, fitted_to, key=key_weights)


def fitted_units(visible: AbstractLayer, data: Any, *, key: PRNGKeyArray) -> AbstractLayer:
    """Return the visible layer with the moments of the data, as in a model with zero weights."""
    return _fitted(visible, *_rows_to_fit(visible, data, None, key=key))


@compiled
def _fitted(visible: AbstractLayer, rows: Array, row_weights: Array | None) -> AbstractLayer:
    return visible.fit_observed(rows, row_weights)


def _rows_to_fit(
    visible: AbstractLayer, data: Any, weights: Any, *, key: PRNGKeyArray
) -> tuple[Array, Array | None]:
    """Return rows in the user's coding, with missing values filled in, and their weights."""
    dataset = rows_to_train_on(data, weights).checked_for(visible)
    sample = dataset.some(max(1, min(MOST_ROWS, MOST_ENTRIES // dataset.columns)))
    rows = sample.rows(key=key)  # grey levels are drawn as 0 or 1
    if sample.missing:
        rows = _imputed(visible, rows, sample.weights)
    return from_numpy(rows), sample.weights


def _like_pattern(pattern: Any, visible: AbstractLayer, hidden: AbstractLayer) -> AbstractWeights:
    """Return weights with the class and the connections that a pattern prescribes."""
    if isinstance(pattern, AbstractWeights):
        if pattern.shape != (visible.size, hidden.size):
            raise InputError(
                f"pattern: expected weights of shape {(visible.size, hidden.size)}, for the columns"
                f" of {visible} and {hidden}; got shape {pattern.shape}; for these weights, choose"
                f" layers of {pattern.shape[0]} and {pattern.shape[1]} columns."
            )
        return pattern
    entries = Pattern(pattern).entries
    expected = (visible.n_units, hidden.n_units)
    if entries.shape != expected:
        raise InputError(
            f"pattern: expected a matrix of zeros and ones of shape {expected}, with a row for each"
            f" unit of {visible}; got shape {entries.shape}."
        )
    columns = visible.spread(hidden.spread(entries).T).T
    return MaskedWeights(columns.astype(visible.dtype), columns)


def _imputed(visible: AbstractLayer, rows: np.ndarray, weights: Any) -> np.ndarray:
    """Replace each column's missing values by quantiles of its observed values.

    This preserves the column's moments. A column without observed values is filled with draws from
    the given layer.
    """
    missing = np.isnan(rows)
    row_weights = weights_of(len(rows), weights)
    is_unobserved = row_weights @ ~missing <= 0
    draws: Any = 0.0
    if is_unobserved.any():  # otherwise nothing is drawn, and no program is compiled for it
        draws = visible.decode(independent_states(visible, (len(rows),), key=key_of(0)))
    imputed = np.where(missing, draws, rows)
    order = np.random.default_rng(0).permutation(len(rows))
    for column in np.flatnonzero(missing.any(0) & ~is_unobserved):
        empty = order[missing[order, column]]
        observed = np.flatnonzero(~missing[:, column])
        observed = observed[np.argsort(rows[observed, column], kind="stable")]
        # Quantiles are evenly spaced, so that even a few filled-in values are typical.
        cumulative = np.cumsum(row_weights[observed]) / row_weights[observed].sum()
        quantiles = (np.arange(len(empty)) + 0.5) / len(empty)
        places = np.minimum(np.searchsorted(cumulative, quantiles), len(observed) - 1)
        imputed[empty, column] = rows[observed[places], column]
    return imputed


def _is_mixture(visible: AbstractLayer, hidden: AbstractLayer, rows: int) -> bool:
    """Return whether a model is a mixture whose classes are the states of its one hidden unit."""
    is_choice = hidden.n_units == 1 and hidden.n_states == hidden.size
    return is_choice and can_be_mixture(visible, hidden.size, rows)


@compiled
def _mixture(
    visible: AbstractLayer,
    hidden: AbstractLayer,
    rows: Array,
    row_weights: Array | None,
    *,
    key: PRNGKeyArray,
) -> RBM:
    """Return a mixture fitted by EM, with one class for each state of the hidden unit."""
    classes = hidden.size
    mixture = mixture_of(visible, visible.encode(rows), row_weights, classes, key=key)
    return as_rbm(mixture, hidden)


def _begun(
    visible: AbstractClassed, rows: Array, row_weights: Array | None, *, key: PRNGKeyArray
) -> AbstractLayer:
    """Return the visible layer with classes fitted by EM, starting at rows that are far apart.

    Raises:
        InputError: there are fewer rows than classes, or EM cannot be applied to the units.
    """
    classes = visible.n_classes
    if not can_be_mixture(visible.prototype, classes, len(rows)):
        raise InputError(
            f"{visible}: expected more rows than classes, and units whose inputs can be computed"
            f" from their means; got {len(rows)} rows."
        )
    spread = _spread(visible, rows, row_weights)
    return _classes(visible.prototype, classes, *spread, key=key)


def _spread(
    visible: AbstractLayer, rows: Array, row_weights: Array | None
) -> tuple[Array, Array | None]:
    """Return the rows for EM, with rounded numbers dithered, and their weights."""
    return from_numpy(spread_out(visible, np.asarray(rows))), row_weights


@compiled
def _classes(
    prototype: AbstractLayer,
    classes: int,
    rows: Array,
    row_weights: Array | None,
    *,
    key: PRNGKeyArray,
) -> Mixture:
    """Return the mixture fitted by EM."""
    return mixture_of(prototype, prototype.encode(rows), row_weights, classes, key=key)


@compiled
def _refitted(visible: AbstractClassed, rows: Array, row_weights: Array | None) -> AbstractClassed:
    return visible.refitted(visible.encode(rows), row_weights)


def begins_with_hidden_covariance(visible: AbstractLayer) -> bool:
    """Return whether hidden units initially model part of the covariance of correlated columns.

    In layers with classes, the visible layer keeps the full covariance of each class.
    """
    return len(correlated(visible)) > 0 and not has_classes(visible)


def _from_low_rank(
    visible: AbstractLayer,
    hidden: AbstractLayer,
    scale: float,
    rows: Array,
    row_weights: Array | None,
    rank: int,
    *,
    key: PRNGKeyArray,
) -> RBM:
    """Return the model of a low-rank start, with small random weights added."""
    check_rank(visible, rank, len(rows))
    layer = _fitted(visible, rows, row_weights)
    # Evenly spaced, since rows may be sorted by class.
    states = _encoded(layer, from_numpy(evenly_spaced(np.asarray(rows), MOST_OF_LOW_RANK)))
    shares = None
    if row_weights is not None:
        shares = evenly_spaced(np.asarray(row_weights), MOST_OF_LOW_RANK)
    start = low_rank(layer, hidden, states, shares, rank, key=fold_in(key, 4))
    noise = _random_like(start.weights, scale, key=fold_in(key, 5))
    # Columns with large values would make the noise larger than the start.
    deviations = np.asarray(states).std(0)
    noise = noise / np.maximum(1.0, deviations)[:, None].astype(np.float32)
    return RBM(start.visible, start.hidden, start.weights + noise)


@compiled
def _encoded(visible: AbstractLayer, rows: Array) -> Array:
    return visible.encode(rows)


@compiled
def _coupled(
    visible: AbstractLayer,
    hidden: AbstractLayer,
    scale: float,
    connections: int | None,
    like: AbstractWeights | None,
    fitted_to: tuple[Array, Array | None] | None,
    *,
    key: PRNGKeyArray,
) -> RBM:
    """Return a model with random weights, centred at the means of both layers if rows are given.

    The visible layer is then fitted to the weighted rows, and the inputs at the other layer's means
    are subtracted from each layer's biases. If `like` is given, the weights have its structure, and
    all their parameters are drawn at random.
    """
    centred = fitted_to is not None
    if fitted_to is not None:
        rows, row_weights = fitted_to
        visible = visible.fit_observed(rows, row_weights)
    couplings: Any = like
    if like is None:
        couplings = jnp.zeros((visible.size, hidden.size), visible.dtype)
    couplings = projected(_random_like(couplings, scale, key=key))
    if connections is not None:
        first = jnp.arange(visible.n_units)[:, None] < connections
        chosen = jnp.broadcast_to(first, (visible.n_units, hidden.n_units))
        chosen = jax.random.permutation(fold_in(key, 1), chosen, independent=True)
        chosen = visible.spread(hidden.spread(chosen).T).T
        # With connections, the weights are an array or masked, and have one parameter per entry.
        couplings = map_parameters(lambda w: jnp.where(chosen, w, 0.0), couplings)
    takes_covariance = connections is None and like is None
    if centred and takes_covariance and begins_with_hidden_covariance(visible):
        key_directions = fold_in(key, 2)
        visible, couplings = _with_hidden_covariance(visible, hidden, couplings, key=key_directions)
    if centred:
        mean_v = visible.mean(visible.zero_inputs)
        mean_h = hidden.mean(hidden.zero_inputs)
        visible = visible.shift(-product(mean_h, couplings.T))
        hidden = hidden.shift(-product(mean_v, couplings))
    return RBM(visible, hidden, couplings)


def _random_like(weights: Any, scale: float, *, key: PRNGKeyArray) -> Any:
    """Return weights with every parameter drawn from N(0, scale²)."""
    count = len(jax.tree.leaves(weights))
    keys = iter([key] if count == 1 else jax.random.split(key, count))

    def drawn(array: Array) -> Array:
        return scale * jax.random.normal(next(keys), array.shape, array.dtype)

    return map_parameters(drawn, weights)


def _with_hidden_covariance(
    visible: AbstractLayer, hidden: AbstractLayer, weights: Array, *, key: PRNGKeyArray
) -> tuple[AbstractLayer, Array]:
    r"""Move a fraction s of the covariance of correlated columns to the hidden units.

    The columns are first whitened to unit variance. In each of up to eight random orthogonal
    directions w, one for each hidden unit, the visible layer then keeps the variance 1 − s, and the
    hidden unit adds the variance (1 − s)² |w|² Var h = s.
    """
    columns = correlated(visible)
    dtype = visible.dtype
    visible_fraction = 1.0 - HIDDEN_FRACTION
    dimension = len(columns)
    count = min(hidden.size, dimension, MOST_CORRELATING)
    normals = jax.random.normal(key, (dimension, dimension), dtype)
    directions = orthogonal_basis(normals)[:, :count]
    projection = product(directions, directions.T)
    basis = whitening(visible)
    unwhitening = inverse(basis)
    mean = product(projection, product(unwhitening, visible.mean(visible.zero_inputs)[columns]))
    widening = jnp.eye(dimension, dtype=dtype) + (visible_fraction**-0.5 - 1.0) * projection
    visible = along(visible, product(basis, product(widening, unwhitening)))
    # The narrower layer has a different mean along these directions; this shift restores the old
    # mean.
    shift = product(unwhitening.T, mean) * (1.0 - visible_fraction**0.5) / visible_fraction
    visible = visible.shift(visible.zero_inputs.at[columns].set(shift))
    low, high = hidden.coding.support
    # The variance of real hidden units grows with their coupling; the variance of bounded units
    # does not.
    power = np.where(np.isfinite(low) & np.isfinite(high), 2.0, 1.0).astype(dtype)
    variance = hidden.variance(hidden.zero_inputs)
    squared_norms = HIDDEN_FRACTION / (visible_fraction**power * variance)
    by_hidden = jnp.pad(directions, ((0, 0), (0, hidden.size - count)))
    whitened_weights = weights[columns] + by_hidden * jnp.sqrt(squared_norms)
    return visible, weights.at[columns].set(product(unwhitening.T, whitened_weights))
