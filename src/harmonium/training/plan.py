"""A run's fixed parts: arguments checked, defaults filled in, and the first state."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Key, PRNGKeyArray

from ..checks import checked_key, positive_integer
from ..data import Dataset
from ..errors import InputError
from ..gradients import AbstractGradient, Marginal, PhaseInfo
from ..holes import with_holes
from ..layers import AbstractLayer
from ..rbm import RBM
from ..rounding import is_worth_rounding, rounded
from ..samplers import Cloud
from ..weights.base import is_plain
from .methods import method_named
from .optimizers import Recipe
from .schedules import reschedule
from .state import TrainState

FEWEST_UPDATES = 10_000
FEWEST_EPOCHS = 20
ROWS_AT_ONCE = 8_192
ENTRIES_AT_ONCE = 2**24
SHORT = "bfloat16"
PRECISIONS = ("float32", SHORT)


class Method(eqx.Module):
    """What an update does: the parts of a run that are fixed when it is compiled."""

    gradient: AbstractGradient
    update: Callable
    batch_size: int = eqx.field(static=True)
    short_last: bool = eqx.field(static=True)  # whether an epoch's last batch is not full
    rounds: bool = eqx.field(static=True)  # whether products are taken in bfloat16

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> Any:
        """Give what the gradient method carries before the first update."""
        return self.gradient.init(rounded(rbm) if self.rounds else rbm, batch, key=key)

    def estimate(
        self, rbm: RBM, batch: Cloud, state: Any, *, key: PRNGKeyArray
    ) -> tuple[RBM, Any, PhaseInfo]:
        """Give (gradient, new state, info): those of the rounded machine, in the shape of this."""
        if not self.rounds:
            return self.gradient.estimate(rbm, batch, state, key=key)
        grads, state, info = self.gradient.estimate(rounded(rbm), batch, state, key=key)
        return jax.tree.unflatten(jax.tree.structure(rbm), jax.tree.leaves(grads)), state, info

    def notes(self, rbm: RBM, state: Any) -> tuple[str, ...]:
        """Give what a user is told of a run whose gradient method carries this."""
        rounds = ("products were taken in bfloat16, in which the states are exact",)
        return tuple(self.gradient.standing(rbm, state).notes) + rounds * self.rounds


class Plan(NamedTuple):
    """A run's fixed parts, with every default filled in."""

    dataset: Dataset
    method: Method
    optimizer: Any
    per_epoch: int
    total: int


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
    """Check the arguments of `fit` and fill in the defaults; a stream's run has no last update."""
    if not isinstance(rbm, RBM):
        raise InputError(f"rbm: expected a machine, as hm.initialize gives it; got {_kind(rbm)}.")
    gradient = "pcd" if gradient is None else gradient
    if isinstance(gradient, str):
        gradient = method_named(gradient, argument="gradient")
    if not isinstance(gradient, AbstractGradient):
        expected = 'a gradient method such as hm.Persistent(hm.Gibbs(1)), or a name such as "auto"'
        raise InputError(f"gradient: expected {expected}; got {_kind(gradient)}.")
    dataset = checked_dataset(rbm, data, weights, "data")
    if dataset.absent and not gradient.about.takes_missing:
        gradient = Marginal(gradient, absent=dataset.absent)
    batch = positive_integer(200 if batch_size is None else batch_size, "batch_size")
    batch = min(batch, len(dataset))
    per_epoch = math.ceil(len(dataset) / batch)
    if epochs is None:
        epochs = max(FEWEST_EPOCHS, math.ceil(FEWEST_UPDATES / per_epoch))
    total = positive_integer(epochs, "epochs") * per_epoch
    usual = Recipe(rate=gradient.about.rate(rbm))
    optimizer = checked_optimizer(optimizer, usual, math.inf if endless else total)
    rounds = _rounds(precision, rbm, gradient, dataset, batch)
    method = Method(gradient, optimizer.update, batch, len(dataset) % batch > 0, rounds)
    return Plan(dataset, method, optimizer, per_epoch, total)


def checked_optimizer(optimizer: Any, usual: Recipe, total: int | float) -> Any:
    """Give the transformation of a run of so many updates; of the usual recipe if None.

    Raises:
        InputError: it is neither a transformation nor a function that gives one.
    """
    optimizer = usual if optimizer is None else optimizer
    optimizer = optimizer(total) if callable(optimizer) else optimizer
    if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
        expected = "an optax transformation or a Recipe"
        raise InputError(f"optimizer: expected {expected}; got {_kind(optimizer)}.")
    return _with_extra_args(*optimizer)


def _rounds(
    precision: str | None, rbm: RBM, gradient: AbstractGradient, dataset: Dataset, batch: int
) -> bool:
    """Whether products are to be taken in bfloat16: where that changes only the machine's rounding.

    Raises:
        InputError: bfloat16 is asked for and cannot be had.
    """
    if precision not in (None, *PRECISIONS):
        raise InputError(f"precision: expected None or one of {PRECISIONS}; got {precision!r}.")
    about = gradient.about
    layers = [str(each) for each in (rbm.visible, rbm.hidden) if not each.is_exact_in_bfloat16]
    reasons = {
        f"{about.title} multiplies weights with other numbers too": about.multiplies_states,
        f"{' and '.join(layers)} may have other values": not layers,
        "the rows hold fractions, or numbers of more than a byte": dataset.is_exact_in_bfloat16,
        "the weights are kept in another form than an array": is_plain(rbm.weights),
        f"the machine's numbers are of {rbm.visible.dtype}": rbm.visible.dtype == jnp.float32,
    }
    reason = next((reason for reason, is_right in reasons.items() if not is_right), None)
    if precision == SHORT and reason:
        expected = f"products of nothing but small whole numbers for {SHORT}"
        raise InputError(f"precision: expected {expected}; found that {reason}; choose float32.")
    wanted = is_worth_rounding(rbm, batch) if precision is None else precision == SHORT
    return wanted and not reason


@functools.lru_cache(maxsize=64)
def _with_extra_args(init: Callable, update: Callable) -> optax.GradientTransformationExtraArgs:
    """Let a transformation take what it has no use for: a new function would compile anew."""
    pair: Any = optax.GradientTransformationExtraArgs(init, update)
    takes_all = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(update).parameters.values())
    return pair if takes_all else optax.with_extra_args_support(optax.GradientTransformation(*pair))


def begin(rbm: RBM, data: Any, *, key: PRNGKeyArray, **options: Any) -> TrainState:
    """Give the state before the first update of `fit` with the same arguments.

    It is also what tells how a stored state is built, so that one can be read back.
    """
    return first_state(rbm, plan_run(rbm, data, **options), key=key)


def first_state(rbm: RBM, plan: Plan, *, key: PRNGKeyArray) -> TrainState:
    """Start the method and the optimiser."""
    chains = _carried(plan.method, rbm, plan.dataset, key=checked_key(key))
    return TrainState(rbm, chains, plan.optimizer.init(rbm), jnp.zeros((), jnp.int32))


@eqx.filter_jit
def _carried(method: Method, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> Any:
    """Give what a method carries before the first update: one program, not one for each step."""
    key_rows, key_gradient = jax.random.split(run_keys(key)[0])
    batch = batch_of(rbm.visible, dataset, jnp.arange(method.batch_size), key=key_rows)[0]
    return method.init(rbm, batch, key=key_gradient)


def continued(state: Any, rbm: RBM, plan: Plan, *, key: PRNGKeyArray) -> TrainState:
    """Check a state to go on from, and give its schedule the length of this run.

    Raises:
        InputError: it is no state, or one of another machine, method or optimiser.
    """
    state = resumable(state)
    like = jax.eval_shape(lambda: first_state(rbm, plan, key=key))
    shapes = [[(x.shape, x.dtype) for x in jax.tree.leaves(tree)] for tree in (state, like)]
    if jax.tree.structure(state) != jax.tree.structure(like) or shapes[0] != shapes[1]:
        raise InputError(
            "state: expected one of the same machine, gradient method and optimiser as are given"
            " here; its arrays differ."
        )
    return state._replace(optimizer=reschedule(state.optimizer, plan.total))


def resumable(state: Any) -> TrainState:
    """Give the state, or raise InputError unless it is one."""
    if not isinstance(state, TrainState):
        raise InputError(f"state: expected the `state` of a Fit; got {_kind(state)}.")
    return state


def checked_callbacks(callbacks: Any) -> Sequence[Callable]:
    """Give the callbacks, or raise InputError unless they are a sequence of functions."""
    if not isinstance(callbacks, Sequence) or not all(callable(each) for each in callbacks):
        raise InputError(f"callbacks: expected a list of functions; got {_kind(callbacks)}.")
    return callbacks


def checked_dataset(rbm: RBM, data: Any, weights: Any, name: str) -> Dataset:
    """Give the data as a dataset whose every value lies in the visible layer's domain, or is NaN.

    Raises:
        InputError: naming the first entry that does not.
    """
    dataset = Dataset.of(data, weights, name)
    size = max(1, min(ROWS_AT_ONCE, ENTRIES_AT_ONCE // dataset.columns))
    for first in range(0, len(dataset), size):
        rows = np.asarray(dataset.values(first, first + size))
        rbm.visible.validate(rows, name, first, holes=dataset.absent > 0)
        if dataset.stored.is_binary:
            break  # bits are bits in every row: only the width and the domain are in question
    return dataset


def batch_of(
    visible: AbstractLayer,
    dataset: Dataset,
    indices: Array,
    present: Array | None = None,
    *,
    key: PRNGKeyArray,
) -> tuple[Cloud, Array | None]:
    """Give rows as a cloud whose weights sum to 1, and their mass: the mean weight of a row.

    A gradient times the mass is unbiased for the weighted likelihood, whatever the batch size; None
    stands for a mass of 1. The columns of absent units are NaN.
    """
    encode = functools.partial(with_holes, visible) if dataset.absent else visible.encode
    rows = encode(dataset.take(indices, key=key))
    weights, mass = dataset.weights_of(indices, present)
    return Cloud(rows, weights.astype(rows.dtype)), mass


def padded(dataset: Dataset) -> tuple[Dataset, Array]:
    """Give a dataset with rows of no meaning added, and how many count."""
    return dataset.padded(), jnp.asarray(len(dataset), jnp.int32)


def run_keys(key: PRNGKeyArray) -> Key[Array, " 3"]:
    """Split a run's key: for the start, for the orders of rows, for the updates."""
    return jax.random.split(key, 3)


def _kind(value: Any) -> str:
    return f"{value!r:.40}" if isinstance(value, int | float | str) else type(value).__name__
