"""Mixtures fitted by EM, whose components are classes or the states of one hidden unit.

For a hidden unit of K states, W = 0 is a saddle point of the likelihood: classes with equal
parameters would remain equal under EM. EM therefore starts at K rows that are far apart.

Source: Dempster, Laird & Rubin 1977; Bishop 2006, section 9.3.3.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._base.numerics import product
from .._base.threefry import fold_in
from ..layers import AbstractLayer, Mixture
from ..layers.capabilities import are_unbounded, has_inputs_at, inputs_at, unbounded_units
from ..rbm import RBM

# The number of pseudo-rows of each class, which have the moments of all rows. Without them, a 1
# would be impossible in a column that is 0 in all rows of a class. The best number depends on the
# data, from a tenth (haplotypes) to three (rows drawn from a mixture).
PRIORS = (0.1, 0.3, 1.0, 3.0)
STARTS = 4  # number of starts, of which the one with the highest likelihood is used
ONE_IN = 5  # one in this many rows is held out to choose the prior
DRAWS = 4  # candidates for each starting row, of which the best is used
FAR = 1e30  # the squared distance of every row before a starting row is chosen


def can_be_mixture(visible: AbstractLayer, classes: int, rows: int) -> bool:
    """Return whether `mixture_of` can fit this many classes to this many rows."""
    # Each class starts at its own row, which must not be held out for choosing the prior.
    return classes <= rows - rows // ONE_IN and has_inputs_at(visible)


def spread_out(visible: AbstractLayer, rows: np.ndarray) -> np.ndarray:
    """Return rows with rounded numbers dithered: redrawn from the numbers that round to them.

    A density of rounded numbers can have an unlimited likelihood, even on new rows, since classes
    that each contain a single value can become ever narrower. This happened with 96 classes fitted
    to 640 salaries rounded to thousands. Columns of distinct numbers are left unchanged.

    Args:
        visible: the visible layer.
        rows: rows in the user's coding.

    Source: Theis, van den Oord & Bethge 2016, section 3.1.
    """
    rng = np.random.default_rng(0)
    result = rows
    for column in np.flatnonzero(unbounded_units(visible)):
        values, places = np.unique(rows[:, column], return_inverse=True)
        if len(values) == len(rows) or len(values) == 1:
            continue
        gaps = np.diff(values)
        steps = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
        if result is rows:
            result = rows.astype(float)
        result[:, column] += (rng.random(len(rows)) - 0.5) * steps[places]
    return result


def as_rbm(mixture: Mixture, hidden: AbstractLayer) -> RBM:
    """Return a model with one hidden unit, whose states represent the classes of a mixture.

    The model's p(v) = Σ_k p(k) p(v | k) is the density of the mixture, except that all classes
    share the mean precision of real units, since a hidden unit changes only their inputs. The
    inputs are divided between W and the biases such that the mean of W over the classes is 0.
    """
    shares = jnp.exp(mixture.log_shares)
    visible = jax.tree.map(lambda array: jnp.tensordot(shares, array, axes=1), mixture.classes)
    means = jax.vmap(lambda layer: layer.mean(layer.zero_inputs))(mixture.classes)
    inputs = inputs_at(visible, means)
    mean = product(shares, inputs)
    fields = mixture.log_shares - visible.cgf(inputs)
    hidden = eqx.tree_at(lambda layer: layer.bias, hidden, fields - fields.mean())
    return RBM(visible.shift(mean), hidden, (inputs - mean).T)


def mixture_of(
    visible: AbstractLayer,
    x: Float[Array, "rows columns"],
    weights: Float[Array, " rows"] | None,
    most: int,
    classes: Any = None,
    *,
    key: PRNGKeyArray,
) -> Mixture:
    """Return a mixture fitted by EM, in which each class starts at a row of its own.

    The number of pseudo-rows of each class is chosen from `PRIORS` to maximise the likelihood of a
    held-out fifth of the rows.

    Args:
        visible: a layer of the classes' type, with any parameters.
        x: the rows as states of the layer; rows with weight 0 are ignored.
        weights: the weights of the rows; equal if None.
        most: the largest number of classes that the result may have.
        classes: the number of classes, which may be traced so that one program serves all numbers;
            the remaining classes stay unused. If None, all `most` classes are used.
        key: a JAX random key.
    """
    if weights is None:
        weights = jnp.ones(len(x), x.dtype)
    is_seen = jnp.arange(len(x)) % ONE_IN > 0
    learned = jnp.where(is_seen, weights, 0.0)
    judged = jnp.where(is_seen, 0.0, weights)
    is_used = jnp.arange(most) < (most if classes is None else classes)
    priors = jnp.asarray(PRIORS, x.dtype)
    last = STARTS + len(PRIORS)  # the EM run on all rows, after the runs for starts and priors
    alike = eqx.tree_at(
        lambda layer: layer.log_shares,
        Mixture([visible] * most),
        jnp.log(is_used.astype(x.dtype)),
    )

    def climb(i: Array, state: tuple[Array, Mixture]) -> tuple[Array, Mixture]:
        scores, _ = state
        of_seen, of_judged = scores
        number = jnp.where(i < STARTS, i, of_seen[:STARTS].argmax())
        chosen = jnp.where(i < last, i - STARTS, of_judged[STARTS:last].argmax())
        prior = jnp.where(i < STARTS, alike.prior, priors[chosen])
        start = _start(visible, x, learned, is_used, key=fold_in(key, number))
        taken = jnp.where(i < last, learned, weights)
        empty = eqx.tree_at(lambda layer: layer.prior, alike, prior)
        mixture = empty.climbed(x, taken, start)
        log_p = -mixture.energy(x)
        both = jnp.stack([learned @ log_p, judged @ log_p])
        return scores.at[:, i].set(jnp.where(jnp.isfinite(both), both, -jnp.inf)), mixture

    nothing = jnp.full((2, last + 1), -jnp.inf, x.dtype)
    # One loop, so that EM is compiled only once.
    return jax.lax.fori_loop(0, last + 1, climb, (nothing, alike))[1]


def _start(
    visible: AbstractLayer,
    x: Float[Array, "rows columns"],
    weights: Float[Array, " rows"],
    is_used: Bool[Array, " classes"],
    *,
    key: PRNGKeyArray,
) -> Float[Array, "rows classes"]:
    """Return 0/1 memberships that assign each row to the nearest of K starting rows (k-means++).

    Each starting row is drawn with probability proportional to its squared distance from the
    nearest previous one; of a few such draws, the row that leaves the smallest total distance is
    used (Arthur & Vassilvitskii 2007). For 64 classes of haplotypes, EM from uniformly drawn
    starting rows ended with a log-likelihood two to four nats lower.
    """
    variance = jnp.where(are_unbounded(visible), x.var(0), 1.0)
    scaled = x * jax.lax.rsqrt(variance + jnp.finfo(x.dtype).tiny)
    lengths = (scaled**2).sum(1)
    log_weights = jnp.log(weights)

    def with_centre(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        nearest, centres = state
        logits = log_weights + jnp.log(nearest)
        places = jax.random.categorical(fold_in(key, k), logits, shape=(DRAWS,))
        distances = lengths[:, None] - 2.0 * product(scaled, scaled[places].T) + lengths[places]
        # Once every distinct row is a centre, any row may be drawn again.
        left = jnp.clip(distances, jnp.finfo(x.dtype).eps, nearest[:, None])
        best = jnp.argmin(weights @ left)
        return left[:, best], centres.at[k].set(scaled[places[best]])

    count = len(is_used)
    far = jnp.full(len(x), FAR, x.dtype)  # the first row is drawn by weight only
    begin = (far, jnp.zeros((count, x.shape[1]), x.dtype))
    _, centres = jax.lax.fori_loop(0, count, with_centre, begin)
    nearness = product(scaled, centres.T) - 0.5 * (centres**2).sum(1)
    nearest = jnp.where(is_used, nearness, -jnp.inf).argmax(1)
    return jax.nn.one_hot(nearest, count, dtype=x.dtype)
