"""Partial fit: learning from a stream of rows in portions, with one pass over each."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._base.checks import checked_key
from ..errors import InputError, count_of, warn_user
from ..gradients import AbstractGradient
from ..rbm import RBM
from .arguments import plan_run
from .chunks import DivergenceWarning, Models, growth_limit
from .optimizers import averaged_model
from .start import first_state, resumable
from .state import Fit, TrainState


def partial_fit(
    rbm: RBM,
    data: Any,
    *,
    key: PRNGKeyArray,
    weights: Any = None,
    gradient: AbstractGradient | str | None = None,
    optimizer: Any = None,
    batch_size: int | None = None,
    precision: str | None = None,
    state: TrainState | None = None,
) -> Fit:
    """Learn from one portion of a stream of rows: each of its rows is seen once.

    Chains, momentum, centring and the averaged model continue from portion to portion, which may be
    of any size. Since the length of a stream is unknown, the learning rate is constant.

    Args:
        rbm: the model to start from, or the model of the state.
        data: rows in the user's coding, shape (n, visible units), or a `Dataset`.
        key: a JAX random key, a new one for each portion.
        weights: sample weights, shape (n,), relative to one another within the portion.
        gradient: as in `fit`.
        optimizer: as in `fit`; a function of the number of updates is called with ∞.
        batch_size: rows in an update; all rows of the portion if there are fewer.
        precision: as in `fit`.
        state: the state after the previous portion.

    Returns:
        A `Fit` with the model and the state to continue from. If the model diverges, they are those
        from before this portion, with a `DivergenceWarning`.

    Raises:
        InputError: an invalid argument, or data outside the visible layer's domain.

    Example:
        >>> rows, keys = hm.bars_and_stripes(2), jax.random.split(jax.random.key(0))
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=keys[0])
        >>> fit = hm.partial_fit(rbm, rows, key=keys[0])
        >>> fit = hm.partial_fit(fit.rbm, rows, key=keys[1], state=fit.state)
        >>> fit.message, int(fit.state.updates)
        ('learned from 8 rows in 1 update', 2)
    """
    plan = plan_run(rbm, data, weights, gradient, optimizer, 1, batch_size, precision, endless=True)
    key = checked_key(key)
    if plan.prior:
        raise InputError(
            "penalties: expected a number as the strength, since a stream has no number of rows to"
            ' set it by; got "auto".'
        )
    if state is None:
        state = first_state(rbm, plan, key=key)
    else:
        state = resumable(state, rbm, plan, key=key)
    # A portion is an epoch of its own, whose updates are counted from 0.
    first = state._replace(updates=jnp.zeros_like(state.updates))
    model = Models(plan, [key])
    last, sizes = model.advance(first, plan.total)
    rows = count_of(len(plan.dataset), "row")
    updates = count_of(plan.total, "update")
    message = f"learned from {rows} in {updates}"
    diverged = not (sizes < growth_limit(model.largest(state))).all()
    if diverged:
        message = "diverged: the model before this portion is kept; lower the learning rate"
        warn_user(message, DivergenceWarning)
    else:
        state = last._replace(updates=state.updates + plan.total)
    rbm = averaged_model(state.optimizer, state.rbm)
    notes = plan.method.notes(state.rbm, state.gradient)
    return Fit(rbm, [], state, message, diverged, notes)
