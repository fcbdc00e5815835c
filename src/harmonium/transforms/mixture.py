"""A mixture of products, by expectation maximisation: the start of one hidden unit of K states.

With one hidden unit that takes one of K states, p(v) = Σ_k p(k) p(v | k), and all visible units are
independent in a class k (or hang together as those of their layer do). log Z, draws and gradients
of such a model are exact. W = 0 is a saddle point of its likelihood, from which small random
weights take very long; EM climbs from K rows that are far apart.

Source: Dempster, Laird & Rubin 1977; Bishop 2006, section 9.3.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._base.numerics import product
from .._base.threefry import fold_in
from ..layers import AbstractLayer
from ..layers.capabilities import has_inputs_at, inputs_at
from ..rbm import RBM

# Further rows of each class, which are like all rows: without them, a column that is always 0 in a
# class would be impossible there. The best number depends on the rows, from a tenth (haplotypes) to
# three (rows drawn from a mixture).
PRIORS = (0.1, 0.3, 1.0, 3.0)
USUAL_PRIOR = 1.0  # for the choice of a start
STARTS = 4  # of which the one that ends with the most likely rows is taken
ONE_IN = 5  # rows says which prior is best
DRAWS = 4  # of a row to start from, the best of which is taken
FAR = 1e30  # squared, from rows before there are any
MOST_STEPS = 100
TOLERANCE = 1e-4  # nats per row, which a step must gain


class Mixture(NamedTuple):
    """A mixture of products.

    Attributes:
        visible: the units, whose inputs differ from class to class.
        inputs: of each class.
        log_shares: log probabilities of the classes.
    """

    visible: AbstractLayer
    inputs: Float[Array, "classes columns"]
    log_shares: Float[Array, " classes"]

    def log_joint(self, x: Float[Array, "rows columns"]) -> Float[Array, "rows classes"]:
        """Return log p(v, k) of states, without −U(v), which all classes share."""
        return product(x, self.inputs.T) + self.log_shares - self.visible.cgf(self.inputs)

    def log_p(self, x: Float[Array, "rows columns"]) -> Float[Array, " rows"]:
        """Return log p(v) of states, in nats."""
        return jax.nn.logsumexp(self.log_joint(x), axis=1) - self.visible.energy(x)

    def first(self, classes: int) -> Mixture:
        """Return the mixture of the first classes, where the others are never taken."""
        return self._replace(inputs=self.inputs[:classes], log_shares=self.log_shares[:classes])

    def as_rbm(self, hidden: AbstractLayer) -> RBM:
        """Return the mixture as a model with a hidden unit that has a state for each class.

        Of the ways to divide the inputs between W and the biases, it has the one in which the mean
        of W over the classes is 0.
        """
        mean = product(jnp.exp(self.log_shares), self.inputs)
        fields = self.log_shares - self.visible.cgf(self.inputs)
        hidden = eqx.tree_at(lambda layer: layer.bias, hidden, fields - fields.mean())
        return RBM(self.visible.shift(mean), hidden, (self.inputs - mean).T)


def is_mixture(visible: AbstractLayer, hidden: AbstractLayer, rows: int) -> bool:
    """Return whether a model is a mixture that `mixture_of` can fit to so many rows."""
    # Each class begins with a row of its own, among those that do not judge the prior.
    is_choice = hidden.n_units == 1 and hidden.n_states == hidden.size <= rows - rows // ONE_IN
    return is_choice and has_inputs_at(visible)


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
    is most likely, given the others. Columns of real numbers have one covariance in all classes.

    Args:
        visible: the visible layer, of any parameters.
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

    def climb(i: Array, state: tuple[Array, Mixture]) -> tuple[Array, Mixture]:
        scores, _ = state
        of_seen, of_judged = scores
        number = jnp.where(i < STARTS, i, of_seen[:STARTS].argmax())
        chosen = jnp.where(i < last, i - STARTS, of_judged[STARTS:last].argmax())
        prior = jnp.where(i < STARTS, USUAL_PRIOR, priors[chosen])
        start = _start(visible, x, learned, is_used, key=fold_in(key, number))
        taken = jnp.where(i < last, learned, weights)
        # As many equal rows as the weights are worth (Kish 1965).
        taken = taken * taken.sum() / (taken @ taken)
        fitted = visible.fit_moments(x, taken)
        climb_by = _Climb(fitted, x, taken, is_used, prior, key)
        mixture = climb_by.from_memberships(start)
        log_p = mixture.log_p(x)
        both = jnp.stack([learned @ log_p, judged @ log_p])
        return scores.at[:, i].set(jnp.where(jnp.isfinite(both), both, -jnp.inf)), mixture

    nothing = jnp.full((2, last + 1), -jnp.inf, x.dtype)
    inputs = jnp.zeros((most, x.shape[1]), x.dtype)
    begin = (nothing, Mixture(visible.fit_moments(x, weights), inputs, jnp.zeros(most, x.dtype)))
    # One loop, so that one program of a climb is compiled.
    return jax.lax.fori_loop(0, last + 1, climb, begin)[1]


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
    variance = jnp.where(_is_real(visible), x.var(0), 1.0)
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


class _Climb(NamedTuple):
    """What EM climbs by, the same at every step.

    Attributes:
        visible: the visible layer, with the moments of the rows.
        x: the rows.
        weights: of the rows, as many as these are worth.
        is_used: which classes may be taken.
        prior: further rows of each class, which are like all rows.
        key: a JAX random key.
    """

    visible: AbstractLayer
    x: Float[Array, "rows columns"]
    weights: Float[Array, " rows"]
    is_used: Bool[Array, " classes"]
    prior: Array
    key: PRNGKeyArray

    def from_memberships(self, memberships: Float[Array, "rows classes"]) -> Mixture:
        """Return the mixture that EM reaches from these memberships of classes."""

        def goes_on(state: tuple[Mixture, Array, Array, Array, Array]) -> Array:
            _, _, now, last, step = state
            return (now - last > TOLERANCE) & (step < MOST_STEPS)

        def stepped(
            state: tuple[Mixture, Array, Array, Array, Array],
        ) -> tuple[Mixture, Array, Array, Array, Array]:
            _, memberships, now, _, step = state
            mixture = self.maximised(memberships)
            return mixture, *self.expected(mixture), now, step + 1

        first = self.maximised(memberships)
        nothing = jnp.asarray(-jnp.inf, self.x.dtype)
        state = (first, *self.expected(first), nothing, jnp.zeros((), jnp.int32))
        return jax.lax.while_loop(goes_on, stepped, state)[0]

    def expected(self, mixture: Mixture) -> tuple[Float[Array, "rows classes"], Float[Array, ""]]:
        """Return the memberships of the rows, and their mean log-likelihood."""
        log_joint = mixture.log_joint(self.x)
        log_p = jax.nn.logsumexp(log_joint, axis=1) - mixture.visible.energy(self.x)
        return jax.nn.softmax(log_joint, axis=1), self.weights @ log_p / self.weights.sum()

    def maximised(self, memberships: Float[Array, "rows classes"]) -> Mixture:
        """Return the mixture for given memberships, with further rows of each class."""
        x = self.x
        weighted = memberships * self.weights[:, None]
        counts = weighted.sum(0)
        is_real = _is_real(self.visible)
        inside = self.visible
        # The moments of the layer have one further row, so no column is impossible.
        typical = jnp.where(
            is_real,
            product(self.weights, x) / self.weights.sum(),
            inside.mean(inside.zero_inputs),
        )
        means = (product(weighted.T, x) + self.prior * typical) / (counts + self.prior)[:, None]
        if is_real.any():
            # The covariance within a class is that of the rows around the mean of a class of
            # theirs, drawn by their memberships: around the mean of all it would be too small.
            noise = jax.random.gumbel(self.key, memberships.shape, x.dtype)
            drawn = (jnp.log(memberships) + noise).argmax(1)
            around = jnp.where(is_real, x - means[drawn], x)
            inside = inside.fit_moments(around, self.weights)
        is_used = self.is_used
        shares = jnp.where(is_used, counts + 1.0 / is_used.sum(), 0.0) / (counts.sum() + 1.0)
        return Mixture(inside, inputs_at(inside, means), jnp.log(shares))


def _is_real(visible: AbstractLayer) -> Bool[np.ndarray, " columns"]:
    """Return which columns are real numbers without bounds."""
    low, high = visible.coding.support
    return np.isinf(low) & np.isinf(high)
