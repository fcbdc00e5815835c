"""Counts of words, or of other items, with a given total for each row."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._base.numerics import chosen_counts
from .._base.parameters import data_field
from ..errors import InputError
from .arrays import AllColumns, AllUnits, Columns, Rows, RowWeights, Units, parameter, weighted_mean
from .base import AbstractUnits
from .capabilities import AbstractBlocked, AbstractDocuments
from .coding import AbstractCoding, Numbers
from .registry import register_layer

MOST_WORDS = 2**24  # the largest count that is exact in float32; drawing time grows with the count


@register_layer("replicated_softmax")
class ReplicatedSoftmax(AbstractUnits, AbstractBlocked, AbstractDocuments):
    r"""Counts of K words in a document of D words, which are D draws from one softmax.

    With U, Γ and the inputs I as in `AbstractLayer`, the counts x_k have

        U(x) = −log(D! / Π_k x_k!) − b·x,      Γ(I) = D log Σ_k e^(I_k + b_k),      Σ_k x_k = D

    A model with this visible layer is the replicated softmax, a topic model: each hidden unit
    favours some words, and all words of a document share the hidden units. The length D is not
    random but given with each row, so the model defines p(x | D), and log Z depends on D. Training
    by CD or PCD keeps the length of each row or chain; `hm.log_likelihood` uses the log Z for each
    row's length. The biases of hidden units do not grow with D. Salakhutdinov & Hinton multiply
    these biases by D, which corresponds to adding a constant to the weights of each hidden unit.

    log p(x | D) is the log probability of the counts. Subtract `log_arrangements(x)` to obtain
    the log probability of the words in a given order.

    A length D = m + s, with m a whole number and 0 < s < 1, means m words and one further word,
    which counts as s words and whose inputs and biases are scaled by s:
    Γ(I) = m L(I + b) + L(s (I + b)) − (1 − s) log K, with L(t) = log Σ_k e^(t_k). The models
    for all D thus form a path from empty to long documents, along which a single annealing run
    yields the log Z of every length.

    Attributes:
        size: K, the number of words.
        bias: b, the log frequencies of words up to a constant, shape (size,), in nats.
        length: D, as used for samples and `hm.log_z` if no rows determine it. `hm.initialize` sets
            `length` to the rounded mean length of the rows. `with_lengths` sets one per row.

    Example:
        >>> layer = hm.ReplicatedSoftmax(4, length=8)
        >>> layer.mean(layer.zero_inputs).tolist()
        [2.0, 2.0, 2.0, 2.0]
        >>> document = np.array([1, 1, 0, 0])
        >>> round(float(layer.log_arrangements(document)), 3)  # log 2: two words, two orders
        0.693

    Source: Salakhutdinov & Hinton 2009 (replicated softmax: an undirected topic model).
    """

    length: Float[Array, "*rows"] = data_field()

    def __init__(self, size: int, length: Any = 100, bias: Any = None):
        super().__init__(size, bias)
        self.length = parameter(length, np.shape(length), "ReplicatedSoftmax length")
        if not isinstance(length, Tracer):
            lengths = np.asarray(length, float)
            wrong = (lengths < 0) | (lengths != np.floor(lengths)) | (lengths > MOST_WORDS)
            if wrong.any():
                examples = lengths[wrong][:3].tolist()
                raise InputError(
                    "ReplicatedSoftmax length: expected a whole number of words from 0 to"
                    f" {MOST_WORDS:,}; got {', '.join(map(str, examples))}."
                )

    @property
    def coding(self) -> AbstractCoding:
        """The coding of units that take non-negative whole numbers; their bound differs by row."""
        words = "a ReplicatedSoftmax unit takes whole numbers of 0 or more"
        return Numbers(self.size, words, low=0.0, is_whole=True, stored=np.int32)

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The index of each unit's block; all units form one block, as their sum is given."""
        return np.zeros(self.size, int)

    def lengths(self, x: Columns) -> Float[Array, "*batch"]:
        """Return the sum of the counts of each document."""
        return x.sum(-1)

    def with_lengths(self, lengths: Float[Array, "*batch"]) -> "ReplicatedSoftmax":
        return eqx.tree_at(lambda layer: layer.length, self, lengths)

    def log_arrangements(self, x: Any) -> Float[Array, "*batch"]:
        """Return log(D! / Π_k x_k!), the log number of ways to order a document's words."""
        x = jnp.asarray(x, self.dtype)
        log_factorial = jax.scipy.special.gammaln
        return log_factorial(x.sum(-1) + 1.0) - log_factorial(x + 1.0).sum(-1)

    @property
    def _parts(self) -> tuple[Float[Array, "*rows"], Float[Array, "*rows"]]:
        """Return the integer and fractional parts of D; a fraction close to 1 is rounded up.

        XLA may compute D twice, with different rounding. Where D is a whole number, as it is at
        many steps of a path, an exact split could then lose a word between the two parts.
        """
        whole = jnp.floor(self.length + _NEARLY)
        return whole, jnp.maximum(self.length - whole, 0.0)

    def _at_first(self, value: Float[Array, "*batch"]) -> Units:
        """Return values of the units: the block's value for the first unit, 0 for the others."""
        return jnp.zeros((*value.shape, self.size), value.dtype).at[..., 0].set(value)

    def energy(self, x: Columns) -> Float[Array, "*batch"]:
        """Return −log(D! / Π_k x_k!) − b·x, in nats, where D is the sum of `x`."""
        return -(self.log_arrangements(x) + (self.bias * x).sum(-1))

    def unit_energies(self, x: Columns) -> Units:
        """Return log x_k! − b_k x_k; the entry of the first unit also includes −log D!."""
        log_factorial = jax.scipy.special.gammaln
        return log_factorial(x + 1.0) - self.bias * x - self._at_first(log_factorial(x.sum(-1) + 1))

    def cgf(self, inputs: Columns) -> Float[Array, "*all"]:
        """Return D log Σ_k e^(I_k + b_k), in nats, for a whole number D."""
        logits = inputs + self.bias
        whole, rest = self._parts
        last = jax.nn.logsumexp(rest[..., None] * logits, axis=-1)
        last = last - (1.0 - rest) * math.log(self.size)
        return whole * jax.nn.logsumexp(logits, axis=-1) + jnp.where(rest > 0, last, 0.0)

    def unit_cgfs(self, inputs: Columns) -> AllUnits:
        """Return Γ in the entry of the first unit, and 0 in the others."""
        return self._at_first(self.cgf(inputs))

    def unit_cgfs_given(self, inputs: Array, known: Array, values: Array) -> AllUnits:
        """Return the cgfs with the known counts held fixed; the other units share the other words.

        If r = D − Σ (known counts) ≥ 0, the other units contribute log(D!/r!) + r log Σ e^(I + b),
        stored in the entry of the first of these units. If r is negative, they contribute −∞.
        """
        log_factorial = jax.scipy.special.gammaln
        values = jnp.where(known, values, 0.0)
        logits = inputs + self.bias
        left = self.length - values.sum(-1)
        possible = (left >= 0) & ((left == 0) | ~known.all(-1))
        left = jnp.maximum(left, 0.0)
        shares = jax.nn.logsumexp(jnp.where(known, _NEVER, logits), axis=-1)
        of_rest = log_factorial(self.length + 1.0) - log_factorial(left + 1.0)
        of_rest = jnp.where(possible, of_rest + left * shares, -jnp.inf)
        numbers = jnp.where(known, self.size, 0) + np.arange(self.size)
        at_first = numbers == numbers.min(-1, keepdims=True)  # a known unit if all are known
        held = jnp.where(known, logits * values - log_factorial(values + 1.0), 0.0)
        return held + jnp.where(at_first, of_rest[..., None], 0.0)

    def mean(self, inputs: Columns) -> AllColumns:
        """Return D p_k for a whole number D, where p is the softmax of I + b."""
        logits = inputs + self.bias
        whole, rest = (part[..., None] for part in self._parts)
        last = jax.nn.softmax(rest * logits, axis=-1)
        return whole * jax.nn.softmax(logits, axis=-1) + rest * last

    def variance(self, inputs: Columns) -> AllColumns:
        """Return D p_k (1 − p_k) for a whole number D, where p is the softmax of I + b."""

        def spread(logits: Array) -> Array:
            p = jax.nn.softmax(logits, axis=-1)
            likeliest = logits.argmax(-1, keepdims=True) == np.arange(self.size)
            others = jnp.where(likeliest, 0.0, p).sum(-1, keepdims=True)  # 1 − p of the likeliest
            return p * jnp.where(likeliest, others, 1.0 - p)

        logits = inputs + self.bias
        whole, rest = (part[..., None] for part in self._parts)
        return whole * spread(logits) + rest**2 * spread(rest * logits)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> AllColumns:
        """Draw D words for each document and count them."""
        key_whole, key_rest = jax.random.split(key)
        logits = inputs + self.bias
        whole, rest = self._parts
        counts = chosen_counts(logits, whole, key=key_whole)

        def with_rest(counts: Array) -> Array:
            single = jnp.ones_like(rest)
            last = chosen_counts(rest[..., None] * logits, single, key=key_rest)
            return counts + rest[..., None] * last

        return jax.lax.cond((rest > 0).any(), with_rest, lambda counts: counts, counts)

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> AllColumns:
        """Draw the counts of the unknown units given the known counts."""
        values = jnp.where(known, values, 0.0)
        logits = jnp.where(known, _NEVER, inputs + self.bias)
        left = jnp.maximum(self.length - values.sum(-1), 0.0) * ~known.all(-1)
        return values + chosen_counts(logits, left, key=key)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "ReplicatedSoftmax":
        """Set b to the log frequencies of the words, and `length` to the rounded mean length.

        Half an occurrence is added to the total count of each word, so that no frequency is 0.
        """
        mean, n = weighted_mean(x, weights)
        frequencies = mean + 0.5 / n
        fitted = (jnp.log(frequencies / frequencies.sum()), jnp.round(mean.sum()))
        return eqx.tree_at(lambda layer: (layer.bias, layer.length), self, fitted)


_NEARLY = 1e-4  # the rounding tolerance, in words, of `ReplicatedSoftmax._parts`
_NEVER = -1e30  # the logit of a word that is never drawn; unlike −∞, it can be multiplied by 0
