"""The state before the first update, and a state to continue from."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from .._base.checks import checked_key, described
from .._base.numerics import shapes_of
from .._base.sharding import HIDDEN, ROWS, check_divisible, size_of_axis, with_weights_spread
from ..data import Dataset
from ..errors import InputError
from ..rbm import RBM
from .arguments import Plan, plan_run
from .base import same_shapes
from .schedules import reschedule
from .state import TrainState
from .strength import with_strength
from .update import Method, batch_of, run_keys


def begin(rbm: RBM, data: Any, *, key: PRNGKeyArray, **options: Any) -> TrainState:
    """Return the state before the first update of `fit` with the same arguments.

    It has the structure that is needed to load a stored state.

    Args:
        rbm: the model to begin from.
        data: the rows, as for `fit`.
        key: a JAX random key.
        options: other arguments of `fit`.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> state = hm.training.begin(rbm, rows, key=key, epochs=2)
        >>> int(state.updates), hm.fit(rbm, rows, key=key, epochs=2, state=state).message
        (0, 'finished after 2 updates (2 epochs)')
    """
    return first_state(rbm, plan_run(rbm, data, **options), key=key)


def first_state(rbm: RBM, plan: Plan, *, key: PRNGKeyArray) -> TrainState:
    """Return the initial state, with those of the method and the optimiser."""
    rbm = with_weights_spread(rbm, rbm.weights.shape)  # so that moments of W are born spread
    return spread(_whole_state(rbm, *_parts(plan), key=checked_key(key)), plan)


def _parts(plan: Plan) -> tuple:
    """Return what the first state of a run depends on: some rows, not all of them."""
    return plan.method, plan.optimizer, plan.prior, plan.rows.head


def _whole_state(
    rbm: RBM, method: Method, optimizer: Any, prior: float, rows: Dataset, *, key: PRNGKeyArray
) -> TrainState:
    chains = _carried(method, rbm, rows, key=key)
    optimizer = with_strength(optimizer.init(rbm), prior)
    return TrainState(rbm, chains, optimizer, jnp.zeros((), jnp.int32))


@eqx.filter_jit
def _carried(method: Method, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> Any:
    """Return a method's state before the first update, computed by one compiled program."""
    key_rows, key_gradient = jax.random.split(run_keys(key)[0])
    batch = batch_of(rbm.visible, dataset, jnp.arange(method.batch_size), key=key_rows)[0]
    return method.init(rbm, batch, key=key_gradient)


def continued(
    state: Any, rbm: RBM, plan: Plan, *, key: PRNGKeyArray, name: str = "state"
) -> TrainState:
    """Return the state to continue from, with a schedule of this run's length.

    Raises:
        InputError: it is not a state, or is that of another model, method or optimiser.
    """
    state = resumable(state, rbm, plan, key=key, name=name)
    return spread(state._replace(optimizer=reschedule(state.optimizer, plan.total)), plan)


def spread(state: TrainState, plan: Plan) -> TrainState:
    """Return the state with W spread over the devices of the mesh in use, if there is one.

    Raises:
        InputError: rows, chains or hidden units cannot be shared equally.
    """
    if size_of_axis(ROWS) == size_of_axis(HIDDEN) == 1:
        return state
    check_divisible("batch_size", plan.method.batch_size, ROWS)
    chains = plan.method.gradient.status(state.rbm, state.gradient).chains
    if chains is not None:
        check_divisible("chains", len(chains.states), ROWS)
    check_divisible("hidden units", state.rbm.hidden.n_units, HIDDEN)
    return with_weights_spread(state, state.rbm.weights.shape)


def resumable(
    state: Any, rbm: RBM, plan: Plan, *, key: PRNGKeyArray, name: str = "state"
) -> TrainState:
    """Return the state, or raise InputError unless it is one of such a run."""
    if not isinstance(state, TrainState):
        raise InputError(f"{name}: expected the `state` of a Fit; got {described(state)}.")
    like = shapes_of(_whole_state, rbm, *_parts(plan), key=checked_key(key))
    # What is known of held-out rows is begun anew where it does not fit.
    if not same_shapes(state._replace(held_out=None, folds=None), like):
        raise InputError(
            f"{name}: expected the state of a run with the same model, gradient method and"
            " optimiser; got other arrays."
        )
    return state
