"""Mixtures from rows, by expectation maximisation: classes, or the states of one hidden unit.

W = 0 is a saddle point of the likelihood of a hidden unit of K states, and classes that are alike
stay alike; EM climbs from K rows that are far apart.

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

# Further rows of each class, which are like all rows: without them, a column that is always 0 in a
# class would be impossible there. The best number depends on the rows, from a tenth (haplotypes) to
# three (rows drawn from a mixture).
PRIORS = (0.1, 0.3, 1.0, 3.0)
STARTS = 4  # of which the one that ends with the most likely rows is taken
ONE_IN = 5  # rows says which prior is best
DRAWS = 4  # of a row to start from, the best of which is taken
FAR = 1e30  # squared, from rows before there are any


def can_be_mixture(visible: AbstractLayer, classes: int, rows: int) -> bool:
    """Return whether `mixture_of` can find so many classes of such units in so many rows."""
    # Each class begins with a row of its own, among those that do not judge the prior.
    return classes <= rows - rows // ONE_IN and has_inputs_at(visible)


def spread_out(visible: AbstractLayer, rows: np.ndarray) -> np.ndarray:
    """Return rows whose rounded numbers are drawn anew, from all that are rounded to them.

    A density of rounded numbers has no bound: classes that each hold one of their values gain on
    new rows too, without end. Of 640 salaries in thousands, 96 classes did. Numbers of which no two
    are equal stay as they are.

    Args:
        visible: the visible layer.
        rows: in the user's coding.

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
    """Return a model with one hidden unit, whose states stand for the classes of a mixture.

    Its p(v) = Σ_k p(k) p(v | k) is that of the mixture, but that real numbers have in all classes
    the mean of their precisions: a hidden unit changes inputs alone. Of the ways to divide inputs
    between W and the biases, the model has the one in which the mean of W over the classes is 0.
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
    """Return a mixture of so many classes, by EM from as many rows.

    The number of further rows of each class is the one of `PRIORS` under which a fifth of the rows
    is most likely, given the others.

    Args:
        visible: a layer of the classes' type, of any parameters.
        x: states; one of weight 0 says nothing.
        weights: of the rows; equal ones if None.
        most: the number of classes that it has room for.
        classes: the number of classes, which may be traced, so that one program serves all; the
            others are never taken. All of them if None.
        key: a JAX random key.
    """
    if weights is None:
        weights = jnp.ones(len(x), x.dtype)
    is_seen = jnp.arange(len(x)) % ONE_IN > 0
    learned = jnp.where(is_seen, weights, 0.0)
    judged = jnp.where(is_seen, 0.0, weights)
    is_used = jnp.arange(most) < (most if classes is None else classes)
    priors = jnp.asarray(PRIORS, x.dtype)
    last = STARTS + len(PRIORS)  # the climb of all rows, after those of the starts and priors
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
    # One loop, so that one program of a climb is compiled.
    return jax.lax.fori_loop(0, last + 1, climb, (nothing, alike))[1]


def _start(
    visible: AbstractLayer,
    x: Float[Array, "rows columns"],
    weights: Float[Array, " rows"],
    is_used: Bool[Array, " classes"],
    *,
    key: PRNGKeyArray,
) -> Float[Array, "rows classes"]:
    """Return which of K rows each row is nearest to, as memberships of 0 and 1.

    Each of these rows is drawn with a probability in proportion to its squared distance from the
    nearest one before it, and of a few such draws the one is taken that leaves the least distances
    (Arthur & Vassilvitskii 2007). Of rows drawn alike, EM of 64 classes of haplotypes ended two to
    four nats lower.
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
        # Once each different row is a centre, any row may be drawn again.
        left = jnp.clip(distances, jnp.finfo(x.dtype).eps, nearest[:, None])
        best = jnp.argmin(weights @ left)
        return left[:, best], centres.at[k].set(scaled[places[best]])

    count = len(is_used)
    far = jnp.full(len(x), FAR, x.dtype)  # the first row is drawn by the weights alone
    begin = (far, jnp.zeros((count, x.shape[1]), x.dtype))
    _, centres = jax.lax.fori_loop(0, count, with_centre, begin)
    nearness = product(scaled, centres.T) - 0.5 * (centres**2).sum(1)
    nearest = jnp.where(is_used, nearness, -jnp.inf).argmax(1)
    return jax.nn.one_hot(nearest, count, dtype=x.dtype)
