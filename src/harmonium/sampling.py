"""Drawing rows from a machine, with or without some of their units given."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .checks import as_array, checked_key, positive_integer
from .errors import InputError
from .layers import Clamped
from .rbm import RBM
from .samplers import AbstractSampler, Gibbs

__all__ = ["condition", "sample"]

DEFAULT_SWEEPS = 1_000


def sample(
    rbm: RBM,
    n: int | None = None,
    *,
    key: PRNGKeyArray,
    sampler: AbstractSampler | None = None,
    steps: int | None = None,
    given: Any = None,
) -> np.ndarray:
    """Draw rows from a machine, each from a chain of its own.

    The chains start from the machine without its weights and make 1,000 sweeps unless told
    otherwise; whether that is long enough depends on the machine.

    Args:
        rbm: the machine.
        n: number of rows; with `given`, rows for each given row (1 if None).
        key: a JAX random key.
        sampler: what moves the chains; block Gibbs sampling if None.
        steps: steps of the sampler; as many as make 1,000 sweeps if None, and 1,000 of a sampler
            that does not count in sweeps.
        given: rows with NaN where a unit is to be drawn, in the user's coding; the others are held.

    Returns:
        Rows in the user's coding, shape (n, visible units).

    Raises:
        InputError: n or steps is not positive, or given rows that do not fit.
    """
    if n is None and given is None:
        raise InputError("n: expected the number of rows to draw.")
    count = positive_integer(1 if n is None else n, "n")
    key = checked_key(key)
    sampler = Gibbs(DEFAULT_SWEEPS) if sampler is None else sampler
    if steps is None:
        steps = -(-DEFAULT_SWEEPS // (sampler.sweeps_per_step or 1))
    number = jnp.asarray(positive_integer(steps, "steps"), jnp.int32)
    if given is not None:
        rows = np.repeat(np.atleast_2d(_with_gaps(given)), count, axis=0)
        rbm, count = condition(rbm, rows), len(rows)
    return rbm.visible.decode(_draw(rbm, sampler, count, number, key=key))


def condition(rbm: RBM, rows: Any) -> RBM:
    """Give the machine whose visible units are held where `rows` is a number and free where NaN."""
    rows = _with_gaps(rows)
    free = np.isnan(rows)
    if rows.ndim != 2 or rows.shape[1] != rbm.visible.n_units:
        raise InputError(
            f"given: expected rows with {rbm.visible.n_units} columns; got shape {rows.shape}."
        )
    # A free unit's value is never used, but it must be a state: any draw will do.
    resting = jnp.broadcast_to(rbm.visible.resting, (len(rows), rbm.visible.size))
    anything = rbm.visible.decode(rbm.visible.sample(resting, key=jax.random.key(0)))
    whole = rbm.visible.validate(np.where(free, anything, rows), "given")
    values = rbm.visible.encode(whole)
    if len(rows) == 1:  # a machine of its own, without a batch axis
        free, values = free[0], values[0]
    clamped = Clamped(layer=rbm.visible, known=jnp.asarray(~free), values=values)  # pyright: ignore
    return RBM(clamped, rbm.hidden, rbm.weights)


def _with_gaps(given: Any) -> np.ndarray:
    array = as_array(given, "given")
    if array.dtype.kind not in "buif":
        raise InputError(f"given: expected numbers, NaN where a unit is free; got {array.dtype}.")
    return array.astype(float)


@eqx.filter_jit
def _draw(rbm: RBM, sampler: AbstractSampler, n: int, steps: Array, *, key: PRNGKeyArray) -> Array:
    key_init, key_step = jax.random.split(key)
    state: Any = sampler.init(rbm, n, key=key_init)

    def step(i: Array, state: Any) -> Any:
        return sampler.step(rbm, state, key=jax.random.fold_in(key_step, i))[0]

    return sampler.cloud(jax.lax.fori_loop(0, steps, step, state)).states
