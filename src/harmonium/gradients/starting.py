"""Where persistent chains start: at independent units, or at rows if there are several modes."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from .._base.statistics import resampled
from ..layers.capabilities import correlated
from ..rbm import RBM
from ..samplers import Cloud
from .base import ITERATIONS

LARGE = 1.0  # largest singular value of W above which chains start at rows; see `is_ordered`


def start_states(
    rbm: RBM, batch: Cloud, shape: tuple[int, ...], *, key: PRNGKeyArray
) -> tuple[Float[Array, "*shape visible"], Bool[Array, ""]]:
    """Return draws from the model with zero weights, or rows of the batch if there are modes.

    In a low-rank start or a trained model, the modes of the rows have the right fractions, whereas
    chains from independent units may stay in whichever mode they reach first. Traceable.

    Args:
        rbm: the model.
        batch: the rows, with their weights.
        shape: the shape of the chains, of which the last axis counts the chains of one model.
        key: a JAX random key.

    Returns:
        The states, and whether they are rows.
    """
    v = rbm.visible.sample_without_inputs(shape, key=key)
    rows = chosen_rows(batch, shape[-1])
    are_rows = is_ordered(rbm, rows)
    return jnp.where(are_rows, rows, v), are_rows


def chosen_rows(batch: Cloud, count: int) -> Float[Array, "count visible"]:
    """Return rows of the batch, in proportion to their weights."""
    return batch.states[resampled(jnp.abs(batch.weights), count, 0.5)]


def is_ordered(rbm: RBM, rows: Float[Array, "n visible"]) -> Bool[Array, ""]:
    """Return whether the weights are large enough for the model to have several modes.

    With W in units of the standard deviations of both layers over the rows, a model whose largest
    singular value is below 1 has one mode, which chains reach at once. Correlated real columns do
    not count, since hidden units start with part of their covariance. Traceable.
    """
    inputs = rbm.inputs_to_h(rows)
    of_hidden = rbm.hidden.mean(inputs).var(0) + rbm.hidden.variance(inputs).mean(0)
    of_visible = rows.var(0).at[correlated(rbm.visible)].set(0.0)
    deviations = (jnp.sqrt(of_visible), jnp.sqrt(of_hidden))

    def along(x: Array) -> Array:
        inputs = deviations[1] * rbm.inputs_to_h(deviations[0] * x)
        return deviations[0] * rbm.inputs_to_v(deviations[1] * inputs)

    direction = jnp.ones(rbm.visible.size, rbm.visible.dtype)
    for _ in range(ITERATIONS):
        image = along(direction)
        direction = image / jnp.maximum(jnp.linalg.norm(image), jnp.finfo(image.dtype).tiny)
    return jnp.linalg.norm(along(direction)) > LARGE**2
