"""One batch: rows of a dataset as a weighted cloud of states."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PRNGKeyArray

from ..data import Dataset
from ..layers import AbstractLayer
from ..missing.marginal import with_missing
from ..samplers import Cloud


def batch_of(
    visible: AbstractLayer,
    dataset: Dataset,
    indices: Array,
    present: Array | None = None,
    *,
    key: PRNGKeyArray,
) -> tuple[Cloud, Array | None]:
    """Return rows as a cloud whose weights sum to 1, and their mass: the mean weight of a row.

    A gradient times the mass is unbiased for the weighted likelihood, for any batch size. A mass of
    None stands for 1. The columns of missing units are NaN.
    """
    encode = functools.partial(with_missing, visible) if dataset.missing else visible.encode
    rows = encode(dataset.take(indices, key=key))
    weights, mass = dataset.weights_of(indices, present)
    return Cloud(rows, weights.astype(rows.dtype)), mass


def padded(dataset: Dataset) -> tuple[Dataset, Array]:
    """Return a dataset with padding rows added, and the number of its own rows."""
    return dataset.padded(), jnp.asarray(len(dataset), jnp.int32)


def run_keys(key: PRNGKeyArray) -> Key[Array, " 3"]:
    """Split a run's key into those for the start, the shuffling of rows and the updates."""
    return jax.random.split(key, 3)
