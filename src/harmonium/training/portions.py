"""Learning from a stream of rows: `partial_fit`, and the plan that portions of one shape share."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import checked_key
from .._base.host import errors_as_raised
from .._base.numerics import from_numpy, whole_number
from .._base.programs import compiled
from .._base.threefry import quick
from ..data import Dataset
from ..data.stored import Numbers
from ..errors import InputError, count_of, warn_user
from ..gradients import AbstractGradient
from ..rbm import RBM
from .arguments import Plan, first_state, may_round, plan_run, resumable
from .chunks import DivergenceWarning, advanced, growth_limit, largest, largest_on_host
from .optimizers import averaged_model
from .state import Fit, TrainState
from .update import Method


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
    """Learn from one portion of a stream of rows, visiting each row of the portion once.

    Chains, momentum, centring and the averaged model continue from portion to portion. Portions may
    be of any size. Since the length of a stream is unknown, the learning rate is constant.

    Args:
        rbm: the model to start from or, with `state`, the model after the previous portion.
        data: rows in the user's coding, shape (n, visible units), or a `Dataset`.
        key: a JAX random key, a new one for each portion.
        weights: sample weights, shape (n,); only their ratios within the portion matter.
        gradient: as in `fit`.
        optimizer: as in `fit`; a function of the number of updates is called with ∞.
        batch_size: rows in an update; all rows of the portion if there are fewer.
        precision: as in `fit`.
        state: the state after the previous portion; None for the first portion.

    Returns:
        A `Fit` with the model and the state to continue from. If the model diverges, a
        `DivergenceWarning` is issued, and the model and the state before this portion are returned.

    Raises:
        InputError: an argument is invalid, or the data are outside the visible layer's domain.

    Example:
        >>> rows, keys = hm.bars_and_stripes(2), jax.random.split(jax.random.key(0))
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=keys[0])
        >>> fit = hm.partial_fit(rbm, rows, key=keys[0])
        >>> fit = hm.partial_fit(fit.rbm, rows, key=keys[1], state=fit.state)
        >>> fit.message, int(fit.state.updates)
        ('learned from 8 rows in 1 update', 2)
    """
    rest = (gradient, optimizer, 1, batch_size, precision)
    portions = Portions(rbm, plan_run(rbm, data, weights, *rest, endless=True))
    key = checked_key(key)
    learned = portions.learn(portions.begin(state, key=key), key)
    if learned.diverged:
        message = "diverged: the model before this portion is kept; lower the learning rate"
        warn_user(message, DivergenceWarning)
    else:
        rows = count_of(len(portions.plan.dataset), "row")
        updates = count_of(portions.plan.total, "update")
        message = f"learned from {rows} in {updates}"
    notes = portions.plan.method.notes(learned.state.rbm, learned.state.gradient)
    return Fit(learned.rbm, [], learned.state, message, learned.diverged, notes)


class Learned(NamedTuple):
    """The result of learning from a portion.

    Attributes:
        state: the state after the portion, or before it if the model diverged.
        rbm: the model to use, averaged if the optimiser averages.
        diverged: whether the parameters diverged.
    """

    state: TrainState
    rbm: RBM
    diverged: bool


class Portions:
    """Portions of equal shape from a stream, checked and planned only once, for the first portion.

    For a small portion, checking and planning take ten times as long as the updates.

    Args:
        rbm: the model before the first portion.
        plan: the plan of the first portion, for a run without an end.

    Raises:
        InputError: the strength of a penalty is set by the number of rows.
    """

    def __init__(self, rbm: RBM, plan: Plan):
        if plan.auto_strength:
            raise InputError(
                "penalties: expected a number as the strength, since a stream has no number of rows"
                ' from which to set it; got "auto".'
            )
        self.rbm = rbm
        self.plan = plan
        self.first = plan.dataset.padded()
        self.shape = (len(plan.dataset), plan.dataset.columns)
        # As in `fit`, parameters are compared with those at the start, not at the last portion.
        self.limit = growth_limit(largest_on_host(rbm)[0])

    def begin(self, state: TrainState | None, *, key: PRNGKeyArray) -> TrainState:
        """Return the state before the first portion: the given state, if it matches the run.

        Raises:
            InputError: the state does not match the run.
        """
        if state is None:
            return first_state(self.rbm, self.plan, key=key)
        return resumable(state, self.rbm, self.plan, key=key)

    # The next two properties are needed only if another portion follows the first one.

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether portions are plain rows: complete, unscaled and unweighted, used in float32."""
        meaning = self.first.meaning
        is_read_as_it_is = meaning.scale == 1.0 and not meaning.stochastic and not meaning.missing
        if self.first.weights is not None or not is_read_as_it_is:
            return False
        return not may_round(self.rbm, self.plan.method.gradient, self.plan.method.batch_size)

    @functools.cached_property
    def structure(self) -> Any:
        """The pytree structure of a dataset that consists of plain rows alone."""
        numbers = Numbers(self.shape[1], from_numpy(np.zeros(0)))
        return jax.tree.structure(self.first._with(stored=numbers))

    def takes(self, rows: Any) -> bool:
        """Return whether these rows are a valid next portion, with the shape of the first."""
        return (
            self.is_plain
            and isinstance(rows, np.ndarray)
            and rows.shape == self.shape
            and rows.dtype.kind == "f"
            and bool(np.isfinite(rows).all())
            and not self.plan.layer.coding.outside(rows).any()
        )

    def learn(
        self, state: TrainState, key: Any, rows: np.ndarray | None = None, number: int | None = None
    ) -> Learned:
        """Learn from a portion.

        Args:
            state: the state before the portion.
            key: a random key, or its key data.
            rows: rows for which `takes` is true; the first portion if None.
            number: the number of the portion if the key belongs to the whole stream, else None.
        """
        dataset = self.first
        if rows is not None:
            padded = np.zeros((len(self.first), self.shape[1]), rows.dtype)
            padded[: len(rows)] = rows
            dataset = jax.tree.unflatten(self.structure, [padded])
        place = None if number is None else whole_number(number)
        counts = whole_number(self.shape[0]), whole_number(self.plan.total)
        with errors_as_raised():
            after, rbm, size = _learn(self.plan.method, dataset, *counts, state, key, place)
            is_bounded = np.asarray(size) < self.limit
        if is_bounded:
            return Learned(after, rbm, False)
        return Learned(state, averaged_model(state.optimizer, state.rbm), True)


@compiled
def _learn(
    method: Method,
    dataset: Dataset,
    n: Array,
    total: Array,
    state: TrainState,
    key: PRNGKeyArray,
    number: Array | None,
) -> tuple[TrainState, RBM, Float[Array, ""]]:
    """Learn from a portion; return the state, the model to use, and the largest parameter.

    The largest parameter is that of the model before averaging, in absolute value. A portion is an
    epoch of its own, with updates counted from 0.
    """
    key = quick(key)
    if number is not None:
        key = jax.random.fold_in(key, number)
    first = state._replace(updates=jnp.zeros_like(state.updates))
    last = advanced(method, dataset, n, first, total, key=key)
    after = last._replace(updates=state.updates + total)
    return after, averaged_model(after.optimizer, after.rbm), largest(last.rbm)
