"""Where persistent chains start: at independent units, or at rows if there are several modes."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..layers.capabilities import correlated
from ..rbm import RBM
from .base import ITERATIONS

LARGE = 1.0  # largest singular value of W above which chains start at rows; see `is_ordered`


def start_states(
    rbm: RBM, rows: Float[Array, "chains visible"], *, key: PRNGKeyArray
) -> Float[Array, "chains visible"]:
    """Return draws from the model with zero weights, or the rows if its modes are far apart.

    In a low-rank start or a trained model, the modes of the rows have the right fractions, whereas
    chains from independent units may stay in whichever mode they reach first. Traceable.

    Args:
        rbm: the model.
        rows: states of as many rows as there are chains.
        key: a JAX random key.
    """
    v = rbm.visible.sample_without_inputs((len(rows),), key=key)
    return jnp.where(is_ordered(rbm, rows), rows, v)


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
