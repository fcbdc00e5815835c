"""Drawing rows from a model, with or without some of their units held fixed."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ._numerics import from_numpy
from .checks import as_array, checked_key, positive_integer
from .errors import InputError
from .missing.marginal import check_finite_given, given_seen, with_missing
from .path import path_to
from .rbm import RBM, checked_type
from .samplers import AbstractSampler
from .samplers.annealing import annealed_draws
from .samplers.finite import check_finite_z
from .samplers.gibbs import after_sweeps
from .sharding import whole

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
    """Draw rows from a model, each from a separate chain.

    By default a chain makes 1,000 Gibbs sweeps. In the first half it is annealed: one sweep at each
    of equally spaced inverse temperatures up to 1, so that it moves between modes while that is
    easy. The second half are sweeps of the model. Whether they are enough depends on the model.

    Args:
        rbm: the model.
        n: number of rows; with `given`, rows for each given row (1 if None).
        key: a JAX random key.
        sampler: another sampler, whose chains start from the model without its weights: `Gibbs()`
            for sweeps without annealing.
        steps: sweeps, or steps of `sampler`. If None: as many as make 1,000 sweeps, or 1,000 steps
            for a sampler whose steps do not consist of sweeps.
        given: rows in the user's coding, with NaN where a unit is to be drawn; the others are held
            fixed.

    Returns:
        Rows in the user's coding, shape (n, visible units).

    Raises:
        InputError: n or steps is not positive, or the given rows do not fit.
        NotFiniteError: Z of the model is infinite, or not known to be finite, as for `log_z`.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> hm.sample(rbm, 100, key=jax.random.key(0)).shape
        (100, 2)
        >>> rows = hm.sample(rbm, 3, key=jax.random.key(1), given=[[1, np.nan]])
        >>> rows[:, 0].tolist()
        [1, 1, 1]
    """
    if n is None and given is None:
        raise InputError("n: expected the number of rows to draw.")
    count = positive_integer(1 if n is None else n, "n")
    rbm, key = checked_type(rbm), checked_key(key)
    if steps is None:
        per_step = None if sampler is None else sampler.sweeps_per_step
        steps = -(-DEFAULT_SWEEPS // (per_step or 1))
    number = jnp.asarray(positive_integer(steps, "steps"), jnp.int32)
    if given is not None:
        rows = np.repeat(np.atleast_2d(_with_gaps(given)), count, axis=0)
        model, rbm, count = rbm, condition(rbm, rows), len(rows)
        check_finite_given(model, rows)
    else:
        check_finite_z(rbm)
    return rbm.visible.decode(whole(_draw(rbm, sampler, count, number, key=key)))


def condition(rbm: RBM, rows: Any) -> RBM:
    """Return the model with visible units held fixed where `rows` is a number, free where NaN.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> given = hm.condition(rbm, [[1, np.nan]])
        >>> ratio = np.exp(hm.log_z(given).value - hm.log_z(rbm).value)
        >>> round(float(ratio), 3)  # p(v_0 = 1)
        0.493
    """
    rows = _with_gaps(rows)
    if rows.ndim != 2 or rows.shape[1] != rbm.visible.n_units:
        raise InputError(
            f"given: expected rows with {rbm.visible.n_units} columns; got shape {rows.shape}."
        )
    rows = rbm.visible.validate(rows, "given", missing=True)
    # A single row gives one model, without a batch axis.
    return _conditioned(rbm, from_numpy(np.array(rows[0] if len(rows) == 1 else rows)))


@eqx.filter_jit
def _conditioned(rbm: RBM, rows: Array) -> RBM:
    return given_seen(rbm, with_missing(rbm.visible, rows))


def _with_gaps(given: Any) -> np.ndarray:
    array = as_array(given, "given")
    if array.dtype.kind not in "buif":
        raise InputError(f"given: expected numbers, NaN where a unit is free; got {array.dtype}.")
    return array.astype(float)


@eqx.filter_jit
def _draw(
    rbm: RBM, sampler: AbstractSampler | None, n: int, steps: Array, *, key: PRNGKeyArray
) -> Array:
    key_init, key_step = jax.random.split(key)
    if sampler is None:
        begun = annealed_draws(path_to(rbm), n, steps // 2, key=key_init)
        return after_sweeps(rbm, begun.v, steps - steps // 2, key=key_step)
    state = sampler.init(rbm, n, key=key_init)
    return sampler.cloud(sampler.run(rbm, state, steps, key=key_step)).states
