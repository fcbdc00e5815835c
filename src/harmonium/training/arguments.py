"""The start of a run: check its arguments, fill in the defaults and make the initial state."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PRNGKeyArray

from .._base.checks import checked_key, described, positive_integer
from .._base.numerics import scalar, shapes_of
from .._base.programs import compiled
from .._base.sharding import HIDDEN, ROWS, check_divisible, size_of_axis, with_weights_spread
from ..data import Dataset, Stream
from ..data.stored import padded_size
from ..data.stream import rows_to_train_on
from ..errors import InputError
from ..gradients import AbstractGradient, Marginal
from ..gradients.completing import columns_to_complete
from ..gradients.conditional import ConditionalLikelihood
from ..layers import AbstractLayer
from ..layers.capabilities import is_conditional, takes_lengths
from ..likelihood.missing.marginal import CHEAP_SUMS, QUICK_SUMS, SLOW_SUMS
from ..likelihood.partition_function.by_length import check_lengths_known
from ..rbm import RBM, checked_rbm
from ..transforms.precision import SHORT, check_precision, is_worth_rounding
from ..weights.base import multiplies_arrays
from .base import same_shapes
from .methods import method_named
from .optimizers import Recipe
from .penalties import Huber, has_strength, prior_strength, with_strength
from .schedules import reschedule
from .state import TrainState
from .update import Method, batch_of, run_keys

USUAL_BATCH = 200
# The default number of epochs, see `usual_epochs`.
FEWEST_UPDATES = 10_000
MOST_UPDATES = 40_000
FEWEST_EPOCHS = 20
MANY_EPOCHS = 1_000
FEW_WEIGHTS = 2**16
MOST_COMPLETED = 2**26  # the most entries of completed rows that are kept between epochs
Rows = Dataset | Stream


class Plan(NamedTuple):
    """The settings of a run, with every default filled in."""

    rows: Rows
    method: Method
    optimizer: Any
    per_epoch: int
    total: int
    auto_strength: float  # first strength of an "auto" penalty, set by the number of rows; else 0
    layer: AbstractLayer  # the visible layer
    may_slow: bool = False  # whether a run that diverges restarts at a lower rate
    may_stop: bool = False  # whether cross-validation may end the run before its last update

    @property
    def dataset(self) -> Dataset:
        """The rows, which must be in memory."""
        return self.rows.in_memory


def plan_run(
    rbm: RBM,
    data: Any,
    weights: Any = None,
    gradient: AbstractGradient | str | None = None,
    optimizer: Any = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    precision: str | None = None,
    *,
    endless: bool = False,
) -> Plan:
    """Check the arguments of `fit` and fill in the defaults; `endless` means an unending stream."""
    rbm = checked_rbm(rbm)
    # A mask of held units is Boolean, so that no gradient with respect to the model exists.
    if not all(jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in jax.tree.leaves(rbm)):
        raise InputError(
            f"rbm: expected a model without held units; got {rbm}, a model given one row (from"
            " hm.condition); train the model first, or use hm.Conditional."
        )
    if gradient is None:
        gradient = "pcd"
    if isinstance(gradient, str):
        gradient = method_named(gradient, argument="gradient")
    if not isinstance(gradient, AbstractGradient):
        raise InputError(
            "gradient: expected a gradient method such as hm.Persistent(hm.Gibbs(1)), or a name"
            f' such as "auto"; got {described(gradient)}.'
        )
    rows = Dataset.of(data, weights) if endless else rows_to_train_on(data, weights)
    dataset = rows.checked_for(rbm.visible)
    _check_lengths(gradient, rbm, dataset)
    if is_conditional(rbm.visible) and not gradient.about.takes_given_units:
        gradient = _given_units(gradient, rbm, _rows_to_keep(rbm, dataset, None, endless))
    if dataset.missing and not gradient.about.takes_missing:
        missing = dataset.missing
        rows_to_keep = _rows_to_keep(rbm, dataset, missing, endless)
        gradient = _summing_out(gradient, missing, rows_to_keep)
    if batch_size is None:
        batch_size = USUAL_BATCH
    batch = min(positive_integer(batch_size, "batch_size"), len(dataset))
    per_epoch = math.ceil(len(dataset) / batch)
    may_slow = optimizer is None
    may_stop = epochs is None and not endless
    if epochs is None:
        epochs = usual_epochs(rbm, per_epoch)
    total = positive_integer(epochs, "epochs") * per_epoch
    if optimizer is None:
        penalties = (Huber(),) if may_stop else ()
        optimizer = Recipe(rate=gradient.about.rate(rbm), penalties=penalties)
    updates = total
    if endless:
        updates = math.inf
    optimizer = checked_optimizer(optimizer, updates)
    rounds = _rounds(precision, rbm, gradient, dataset, batch)
    if rounds:
        dataset = dataset.kept_exact()
    method = Method(gradient, optimizer.update, batch, len(dataset) % batch > 0, rounds)
    prior = 0.0
    if has_strength(shapes_of(optimizer.init, rbm)):
        prior = prior_strength(rbm, dataset.effective_rows)
    return Plan(
        dataset, method, optimizer, per_epoch, total, prior, rbm.visible, may_slow, may_stop
    )


def _check_lengths(gradient: AbstractGradient, rbm: RBM, dataset: Rows) -> None:
    """Raise InputError if the model needs each row's length, and it is unknown or would change."""
    check_lengths_known(rbm, dataset.missing)
    if takes_lengths(rbm.visible) and not gradient.about.keeps_given:
        raise InputError(
            f"gradient: expected a method that keeps the length of each row, as {rbm.visible}"
            f" requires; got {gradient.about.title}; choose CD or PCD with Gibbs sampling, such as"
            ' "pcd" or hm.Contrastive(hm.Gibbs(1)).'
        )


def _rows_to_keep(rbm: RBM, dataset: Rows, missing: int | None, endless: bool) -> int:
    """Return the number of rows whose completions a run keeps, or 0 if it keeps none.

    The portions of an endless stream consist of different rows, and a stream's rows may not fit.
    """
    rows = padded_size(len(dataset))
    columns = columns_to_complete(rbm.visible, missing)
    if endless or not dataset.is_whole or rows * len(columns) > MOST_COMPLETED:
        return 0
    return rows


def _given_units(gradient: AbstractGradient, rbm: RBM, rows: int) -> AbstractGradient:
    """Return the method for targets given the other units, in place of CD, PCD or "exact".

    Args:
        gradient: the method that was chosen.
        rbm: the model.
        rows: number of rows whose completions are kept.

    Raises:
        InputError: another method was chosen, which would model the other units too.
    """
    about = gradient.about
    if about.is_exact:
        return ConditionalLikelihood(most=SLOW_SUMS, is_exact=True)
    if not about.keeps_given:  # of other methods, chains would not have the rows' given units
        raise InputError(
            f"gradient: {rbm.visible} models its targets given the other units, but {about.title}"
            ' models all units; choose "pcd", "cd" or "exact".'
        )
    return ConditionalLikelihood(rows=rows, most=CHEAP_SUMS)


def _summing_out(gradient: AbstractGradient, missing: int, rows: int) -> AbstractGradient:
    """Return the gradient method wrapped so that it can learn from rows with missing values.

    Missing values are summed out if that costs no more than one sweep over the rows; otherwise they
    are sampled, and kept between epochs.

    Args:
        gradient: the method that was chosen.
        missing: the largest number of missing units in a row.
        rows: number of rows whose completions are kept.
    """
    most = QUICK_SUMS if gradient.about.sweeps is None else CHEAP_SUMS
    return Marginal(gradient, missing=missing, rows=rows, most=most)


def usual_epochs(rbm: RBM, per_epoch: int) -> int:
    """Return the default number of epochs: at least 20, and enough for 10,000 updates.

    A small model trained on many rows gains from more updates, which cost little. Its default is
    therefore up to 1,000 epochs, but no more than 40,000 updates, nor more than 10,000 · 2¹⁶
    updates divided by the number of weights.
    """
    affordable = min(MOST_UPDATES, FEWEST_UPDATES * FEW_WEIGHTS // math.prod(rbm.weights.shape))
    updates = max(FEWEST_UPDATES, min(affordable, MANY_EPOCHS * per_epoch))
    return max(FEWEST_EPOCHS, math.ceil(updates / per_epoch))


def checked_optimizer(optimizer: Any, total: int | float) -> Any:
    """Return the optax transformation for a run of `total` updates.

    Raises:
        InputError: the optimiser is neither a transformation nor a function that returns one.
    """
    if callable(optimizer):
        optimizer = optimizer(total)
    if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
        raise InputError(
            f"optimizer: expected an optax transformation or a Recipe; got {described(optimizer)}."
        )
    return _with_extra_args(*optimizer)


def _rounds(
    precision: str | None, rbm: RBM, gradient: AbstractGradient, dataset: Rows, batch: int
) -> bool:
    """Return whether to multiply by W in bfloat16, which is allowed only if it rounds nothing else.

    Raises:
        InputError: bfloat16 was chosen, but cannot be used.
    """
    check_precision(precision)
    obstacle = _obstacle_to_rounding(rbm, gradient, dataset)
    if precision == SHORT and obstacle:
        raise InputError(
            "precision: expected products of the weights with small whole numbers only, as"
            f" {SHORT} requires; got a run in which {obstacle}; choose float32."
        )
    if precision is None:  # measured only if the answer matters
        return not obstacle and is_worth_rounding(rbm, batch)
    return precision == SHORT


def may_round(rbm: RBM, gradient: AbstractGradient, batch: int) -> bool:
    """Return whether bfloat16 would be used by default for rows that it represents exactly."""
    return not _obstacle_to_rounding(rbm, gradient) and is_worth_rounding(rbm, batch)


def _obstacle_to_rounding(rbm: RBM, gradient: AbstractGradient, dataset: Rows | None = None) -> str:
    """Return why bfloat16 would round more than the weights, or "" if it would not.

    Without a dataset, the rows are assumed to be exact in bfloat16.
    """
    layers = [layer for layer in (rbm.visible, rbm.hidden) if not layer.is_exact_in_bfloat16]
    about = gradient.about
    obstacles = [
        (not about.multiplies_states, f"{about.title} multiplies weights by other numbers too"),
        (bool(layers), f"{' and '.join(map(str, layers))} may have other values"),
        (
            dataset is not None and not dataset.is_exact_in_bfloat16,
            "the rows contain fractions, or numbers that do not fit into a byte",
        ),
        (not multiplies_arrays(rbm.weights), "the weights are not arrays"),
        (rbm.visible.dtype != jnp.float32, f"the parameters have dtype {rbm.visible.dtype}"),
    ]
    return next((obstacle for applies, obstacle in obstacles if applies), "")


@functools.lru_cache(maxsize=64)
def _with_extra_args(init: Callable, update: Callable) -> optax.GradientTransformationExtraArgs:
    """Let a transformation accept extra arguments; cached, since a copy would be compiled again."""
    takes_all = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(update).parameters.values())
    if takes_all:
        return optax.GradientTransformationExtraArgs(init, update)
    return optax.with_extra_args_support(optax.GradientTransformation(init, update))


def checked_callbacks(callbacks: Any) -> Sequence[Callable]:
    """Return the callbacks, or raise InputError unless they are a sequence of functions."""
    if not isinstance(callbacks, Sequence):
        raise InputError(f"callbacks: expected a list of functions; got {described(callbacks)}.")
    for callback in callbacks:
        if not callable(callback):
            raise InputError(
                f"callbacks: expected a list of functions; got {described(callback)} in the list."
            )
    return callbacks


# ------------------------------------------------ the first state, and one to continue from


def begin(rbm: RBM, data: Any, *, key: PRNGKeyArray, **options: Any) -> TrainState:
    """Return the state before the first update of `fit` with the same arguments.

    The structure of this state is needed to load a state from a file.

    Args:
        rbm: the model to start from.
        data: the rows, as for `fit`.
        key: a JAX random key.
        options: the other arguments of `fit`.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> state = hm.training.begin(rbm, rows, key=key, epochs=2)
        >>> int(state.updates), hm.fit(rbm, rows, key=key, epochs=2, state=state).message
        (0, 'finished after 2 updates (2 epochs)')
    """
    return first_state(rbm, plan_run(rbm, data, **options), key=key)


def first_state(rbm: RBM, plan: Plan, *, key: PRNGKeyArray) -> TrainState:
    """Return the initial state, including the states of the gradient method and the optimiser."""
    # Before the optimiser starts, so that its arrays of the shape of W are spread too.
    rbm = with_weights_spread(rbm, rbm.weights.shape)
    return spread(_whole_state(rbm, *_parts(plan), key=checked_key(key)), plan)


def _parts(plan: Plan) -> tuple:
    """Return what the initial state of a run depends on: settings, and a few of the rows."""
    return plan.method, plan.optimizer, plan.auto_strength, plan.rows.head


def _whole_state(
    rbm: RBM, method: Method, optimizer: Any, prior: float, rows: Dataset, *, key: PRNGKeyArray
) -> TrainState:
    chains = _carried(method, rbm, rows, key=key)
    optimizer = with_strength(optimizer.init(rbm), prior)
    return TrainState(rbm, chains, optimizer, scalar(0, np.int32))


@compiled
def _carried(method: Method, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> Any:
    """Return the gradient method's initial state, computed by one compiled program."""
    key_rows, key_gradient = jax.random.split(run_keys(key)[0])
    batch = batch_of(rbm.visible, dataset, jnp.arange(method.batch_size), key=key_rows)[0]
    return method.init(rbm, batch, key=key_gradient)


def continued(state: TrainState | None, rbm: RBM, plan: Plan, *, key: PRNGKeyArray) -> TrainState:
    """Return the given state with this run's schedule, or the initial state if it is None.

    The given state must match this run; `resumable` checks a state passed by a user.
    """
    if state is None:
        return first_state(rbm, plan, key=key)
    return spread(state._replace(optimizer=reschedule(state.optimizer, plan.total)), plan)


def spread(state: TrainState, plan: Plan) -> TrainState:
    """Return the state with W spread over the devices of the mesh in use, if there is one.

    Raises:
        InputError: rows, chains or hidden units cannot be divided equally among the devices.
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
    """Return the state; raise InputError unless it matches this run."""
    if not isinstance(state, TrainState):
        raise InputError(f"{name}: expected the `state` of a Fit; got {described(state)}.")
    like = shapes_of(_whole_state, rbm, *_parts(plan), key=checked_key(key))
    # The results for held-out rows need not match, since the recorder can begin them anew.
    if not same_shapes(state._replace(held_out=None, folds=None), like):
        raise InputError(
            f"{name}: expected the state of a run with the same model, gradient method and"
            " optimiser; got arrays whose structure or shapes differ; restart without a state."
        )
    return state
