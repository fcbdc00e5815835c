"""The fixed parts of a run: its arguments, checked, with every default filled in."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import optax

from .._base.checks import described, positive_integer
from .._base.numerics import shapes_of
from ..data import Dataset, Stream
from ..data.stored import padded_size
from ..data.stream import rows_to_train_on
from ..errors import InputError
from ..gradients import AbstractGradient, Marginal
from ..layers import AbstractLayer
from ..layers.capabilities import takes_lengths
from ..likelihood.missing.marginal import CHEAP_SUMS, QUICK_SUMS
from ..likelihood.partition_function.by_length import check_lengths_known
from ..rbm import RBM, checked_rbm
from ..transforms.precision import SHORT, check_precision, is_worth_rounding
from ..weights.base import is_plain
from .methods import method_named
from .optimizers import Recipe
from .penalties import Huber
from .strength import has_strength, prior_strength
from .update import Method

FEWEST_UPDATES = 10_000
MOST_UPDATES = 40_000
FEWEST_EPOCHS = 20
MANY_EPOCHS = 1_000
FEW_WEIGHTS = 2**16
MOST_COMPLETED = 2**26  # entries of completed rows
Rows = Dataset | Stream


class Plan(NamedTuple):
    """The fixed parts of a run, with every default filled in."""

    rows: Rows
    method: Method
    optimizer: Any
    per_epoch: int
    total: int
    prior: float  # strength of a penalty that the run sets, by the number of rows alone
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
    """Check the arguments of `fit` and fill in the defaults; `endless` is for a stream of rows."""
    rbm = checked_rbm(rbm)
    gradient = "pcd" if gradient is None else gradient
    if isinstance(gradient, str):
        gradient = method_named(gradient, argument="gradient")
    if not isinstance(gradient, AbstractGradient):
        expected = 'a gradient method such as hm.Persistent(hm.Gibbs(1)), or a name such as "auto"'
        raise InputError(f"gradient: expected {expected}; got {described(gradient)}.")
    rows = Dataset.of(data, weights) if endless else rows_to_train_on(data, weights)
    dataset = rows.checked_for(rbm.visible)
    _check_lengths(gradient, rbm, dataset)
    if dataset.missing and not gradient.about.takes_missing:
        gradient = _summing_out(gradient, rbm, dataset)
    batch = positive_integer(200 if batch_size is None else batch_size, "batch_size")
    batch = min(batch, len(dataset))
    per_epoch = math.ceil(len(dataset) / batch)
    may_slow = optimizer is None
    may_stop = epochs is None and not endless
    penalties = (Huber(),) if may_slow and may_stop else ()
    if epochs is None:
        epochs = usual_epochs(rbm, per_epoch)
    total = positive_integer(epochs, "epochs") * per_epoch
    usual = Recipe(rate=gradient.about.rate(rbm), penalties=penalties)
    optimizer = checked_optimizer(optimizer, usual, math.inf if endless else total)
    rounds = _rounds(precision, rbm, gradient, dataset, batch)
    dataset = dataset.kept_exact() if rounds else dataset
    method = Method(gradient, optimizer.update, batch, len(dataset) % batch > 0, rounds)
    prior = 0.0
    if has_strength(shapes_of(optimizer.init, rbm)):
        prior = prior_strength(rbm, dataset.effective_rows)
    return Plan(
        dataset, method, optimizer, per_epoch, total, prior, rbm.visible, may_slow, may_stop
    )


def _check_lengths(gradient: AbstractGradient, rbm: RBM, dataset: Rows) -> None:
    """Raise InputError if the model takes lengths as given that are unknown or not kept."""
    check_lengths_known(rbm, dataset.missing)
    if takes_lengths(rbm.visible) and not gradient.about.keeps_lengths:
        raise InputError(
            f"gradient: {rbm.visible} takes the length of each row as given, which"
            f" {gradient.about.title} does not keep; choose CD or PCD with Gibbs sampling, such as"
            ' "pcd" or hm.Contrastive(hm.Gibbs(1)).'
        )


def _summing_out(gradient: AbstractGradient, rbm: RBM, dataset: Rows) -> AbstractGradient:
    """Return the method for rows with missing values.

    Beside sampling, a sum is taken only where it costs no more than one sweep of the rows does.
    Completions are kept if they fit into memory.
    """
    most = QUICK_SUMS if gradient.about.sweeps is None else CHEAP_SUMS
    rows = padded_size(len(dataset))
    if not dataset.is_whole or rows * rbm.visible.size > MOST_COMPLETED:
        rows = 0
    return Marginal(gradient, missing=dataset.missing, rows=rows, most=most)


def usual_epochs(rbm: RBM, per_epoch: int) -> int:
    """Return the default number of epochs: at least 20, and at least 10,000 updates.

    A small model of many rows gains by more, and its updates cost little: up to 1,000 epochs, but
    at most 10,000 · 2¹⁶ / weights updates, and 40,000.
    """
    affordable = min(MOST_UPDATES, FEWEST_UPDATES * FEW_WEIGHTS // math.prod(rbm.weights.shape))
    updates = max(FEWEST_UPDATES, min(affordable, MANY_EPOCHS * per_epoch))
    return max(FEWEST_EPOCHS, math.ceil(updates / per_epoch))


def checked_optimizer(optimizer: Any, usual: Recipe, total: int | float) -> Any:
    """Return the optax transformation for a run of `total` updates; that of `usual` if None.

    Raises:
        InputError: it is neither a transformation nor a function that returns one.
    """
    optimizer = usual if optimizer is None else optimizer
    optimizer = optimizer(total) if callable(optimizer) else optimizer
    if not (hasattr(optimizer, "init") and hasattr(optimizer, "update")):
        expected = "an optax transformation or a Recipe"
        raise InputError(f"optimizer: expected {expected}; got {described(optimizer)}.")
    return _with_extra_args(*optimizer)


def _rounds(
    precision: str | None, rbm: RBM, gradient: AbstractGradient, dataset: Rows, batch: int
) -> bool:
    """Return whether to multiply in bfloat16; possible if only the weights are then rounded.

    Raises:
        InputError: bfloat16 was chosen, but cannot be used.
    """
    check_precision(precision)
    obstacle = _obstacle_to_rounding(rbm, gradient, dataset)
    if precision == SHORT and obstacle:
        raise InputError(
            "precision: expected products of the weights with small whole numbers only for"
            f" {SHORT}; found that {obstacle}; choose float32."
        )
    if precision is None:  # measured only where the answer matters
        return not obstacle and is_worth_rounding(rbm, batch)
    return precision == SHORT


def _obstacle_to_rounding(rbm: RBM, gradient: AbstractGradient, dataset: Rows) -> str:
    """Return why products in bfloat16 would not be those of rounded weights; empty if they are."""
    layers = [layer for layer in (rbm.visible, rbm.hidden) if not layer.is_exact_in_bfloat16]
    about = gradient.about
    if not about.multiplies_states:
        return f"{about.title} multiplies weights with other numbers too"
    if layers:
        return f"{' and '.join(map(str, layers))} may have other values"
    if not dataset.is_exact_in_bfloat16:
        return "the rows hold fractions, or numbers of more than a byte"
    if not is_plain(rbm.weights):
        return "the weights are not stored as a plain array"
    if rbm.visible.dtype != jnp.float32:
        return f"the parameters are of {rbm.visible.dtype}"
    return ""


@functools.lru_cache(maxsize=64)
def _with_extra_args(init: Callable, update: Callable) -> optax.GradientTransformationExtraArgs:
    """Let a transformation accept extra arguments; cached, as a new function would compile anew."""
    pair: Any = optax.GradientTransformationExtraArgs(init, update)
    takes_all = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(update).parameters.values())
    return pair if takes_all else optax.with_extra_args_support(optax.GradientTransformation(*pair))


def checked_callbacks(callbacks: Any) -> Sequence[Callable]:
    """Return the callbacks, or raise InputError unless they are a sequence of functions."""
    if not isinstance(callbacks, Sequence) or not all(map(callable, callbacks)):
        raise InputError(f"callbacks: expected a list of functions; got {described(callbacks)}.")
    return callbacks
