"""Summaries of weighted samples that both learning and judging need."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def effective_sample_size(log_weights: Float[Array, " n"]) -> Float[Array, ""]:
    """Give Kish's (Σw)² / Σw² of weights known by their logarithms: n when all are equal."""
    return jnp.exp(2 * jax.nn.logsumexp(log_weights) - jax.nn.logsumexp(2 * log_weights))
