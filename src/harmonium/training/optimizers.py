"""Transformations that turn a gradient into an update, and the recipe that combines them.

All are optax transformations, so they combine with one another and with optax's own
transformations.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from .._base.numerics import from_numpy, scalar
from .._base.parameters import map_parameters
from .._base.programs import compiled
from ..errors import InputError
from ..rbm import RBM
from .base import nodes_in
from .penalties import AbstractPenalty, PenaltyState, checked_penalties, weights_in_layers
from .schedules import Schedule, first_rate_state, ramped_momentum, reschedule, scheduled, step_size
from .transformations import centred, sparse_activity, transformation, whitened


class AveragedState(NamedTuple):
    """The state of `inner`, the averaged model, and the number of updates in the average."""

    inner: Any
    average: RBM
    count: Array


def averaged(
    inner: optax.GradientTransformation, forgetting: float = 0.1
) -> optax.GradientTransformationExtraArgs:
    r"""Keep an average of the parameters, without changing the updates.

    After t previous updates, the average of the parameters θ becomes
    θ̄ ← θ̄ + (θ − θ̄)/(forgetting·t + 1). With forgetting 1 this is the plain mean of all parameters
    so far (Polyak & Juditsky 1992), and with 0 the latest parameters; with values in between, the
    start of the run is gradually forgotten (Shamir & Zhang 2013).

    Args:
        inner: the optimiser whose updates are applied.
        forgetting: how fast early parameters are forgotten, as in the formula, from 0 to 1.

    Returns:
        An optimiser whose state has the average in its field `average`.

    Example:
        >>> import optax
        >>> rbm = hm.RBM.from_arrays([[0.0]], [0.0], [0.0])
        >>> grads = hm.RBM.from_arrays([[-1.0]], [0.0], [0.0])
        >>> optimizer = hm.training.averaged(optax.sgd(1.0), forgetting=1.0)
        >>> state = optimizer.init(rbm)
        >>> for _ in range(3):
        ...     updates, state = optimizer.update(grads, state, rbm)
        ...     rbm = optax.apply_updates(rbm, updates)
        >>> float(rbm.weights[0, 0]), float(state.average.weights[0, 0])  # 3; mean of 1, 2, 3
        (3.0, 2.0)
    """
    wrapped: Any = optax.with_extra_args_support(inner)

    def init(rbm: RBM) -> AveragedState:
        return AveragedState(wrapped.init(rbm), rbm, scalar(0, np.int32))

    def update(
        grads: RBM, state: AveragedState, rbm: RBM, **extra: Any
    ) -> tuple[RBM, AveragedState]:
        updates, inner_state = wrapped.update(grads, state.inner, rbm, **extra)
        fraction = 1.0 / (forgetting * state.count + 1.0)

        def averaged(mean: Array, x: Array, dx: Array) -> Array:
            return mean + fraction * (x + dx - mean)

        average = map_parameters(averaged, state.average, rbm, updates)
        return updates, AveragedState(inner_state, average, state.count + 1)

    return transformation(init, update)


def averaged_model(state: Any, otherwise: RBM) -> RBM:
    """Return the averaged model in an optimiser's state, or `otherwise` if there is none.

    Weights that a penalty holds at exactly 0 in the raw model are set to 0 in the average, since
    the mean of a path that ends at 0 is not exactly 0.
    """
    averages = nodes_in(state, AveragedState)
    if not averages:
        return otherwise
    return _with_zeros_of(averages[0].average, otherwise.weights)


@compiled
def _with_zeros_of(average: RBM, raw: Any) -> RBM:
    average = average.project()
    weights = map_parameters(lambda w, r: jnp.where(r == 0, 0.0, w), average.weights, raw)
    return eqx.tree_at(lambda model: model.weights, average, weights)


def proximal(
    *penalties: AbstractPenalty,
    rate: float,
    total: int = 1,
    hold: float = 1.0,
    schedule: Schedule | None = None,
) -> optax.GradientTransformationExtraArgs:
    """Apply penalties to the weights after the step, as the last transformation of a chain.

        optax.chain(optax.sgd(0.1), hm.training.proximal(hm.L1(0.001), rate=0.1))

    This transformation belongs inside `centred` and `averaged`. Several penalties act one after the
    other; in the order L1, group lasso, norm bound, the result equals the proximal step of their
    sum (Yu 2013). With momentum α, each gradient contributes 1/(1 − α) times its size in total,
    whereas a penalty, like weight decay, acts only once.

    Args:
        penalties: the penalties, in order.
        rate: the learning rate of the preceding step; `total`, `hold` and `schedule` as in
            `scheduled`.
        total: number of updates of the run.
        hold: fraction of the run at full rate, before the fall to zero.
        schedule: an optax schedule in place of `hold`.

    Raises:
        InputError: an argument is not a penalty, or a penalty is incompatible with the model.

    Example:
        >>> import optax
        >>> rbm = hm.RBM.from_arrays([[1.0, 0.25]], [0.0], [0.0, 0.0])
        >>> optimizer = optax.chain(optax.sgd(0.5), hm.training.proximal(hm.L1(1.0), rate=0.5))
        >>> no_gradient = jax.tree.map(jnp.zeros_like, rbm)
        >>> updates, _ = optimizer.update(no_gradient, optimizer.init(rbm), rbm)
        >>> (rbm.weights + updates.weights).tolist()  # smaller by 0.5, but not below 0
        [[0.5, 0.0]]
    """
    checked_penalties(penalties)

    elementwise = [penalty for penalty in penalties if penalty.is_elementwise]
    follows_run = any(penalty.is_set_by_run for penalty in penalties)

    def init(rbm: RBM) -> PenaltyState:
        for penalty in penalties:
            penalty.check(rbm)
        rate_state = first_rate_state(rbm, rate, total)
        if not follows_run:
            return PenaltyState(rate_state, ())
        return PenaltyState(rate_state, from_numpy(np.zeros((), rbm.visible.dtype)))

    def update(
        updates: RBM, state: PenaltyState, rbm: RBM, **extra: Any
    ) -> tuple[RBM, PenaltyState]:
        step = step_size(state.rate, hold, schedule)

        def stepped(update: Array, weights: Array, penalties: Any = penalties) -> Array:
            moved = weights + update
            for penalty in penalties:
                factor = state.strength if penalty.is_set_by_run else 1.0
                moved = penalty.proximal(moved, step * factor, rbm)
            return moved - weights

        weights = map_parameters(stepped, updates.weights, rbm.weights)
        updates = eqx.tree_at(lambda m: m.weights, updates, weights)
        pairs = zip(weights_in_layers(updates), weights_in_layers(rbm), strict=True)
        within = tuple(stepped(*pair, elementwise) for pair in pairs)
        updates = eqx.tree_at(weights_in_layers, updates, within)
        return updates, state._replace(rate=state.rate._replace(count=state.rate.count + 1))

    return transformation(init, update)


def weights_only(rbm: RBM) -> RBM:
    """Return a mask that is True for the weights only, for weight decay (Hinton 2010, section 10).

    Example:
        >>> import optax
        >>> rbm = hm.RBM.from_arrays([[2.0]], [1.0], [1.0])
        >>> decay = optax.add_decayed_weights(0.5, mask=hm.training.weights_only)
        >>> grads, _ = decay.update(jax.tree.map(jnp.zeros_like, rbm), decay.init(rbm), rbm)
        >>> float(grads.weights[0, 0]), float(grads.visible.bias[0])
        (1.0, 0.0)
    """
    mask = jax.tree.map(lambda _: False, rbm)
    count = len(weights_in_layers(rbm))
    return eqx.tree_at(lambda m: (m.weights, *weights_in_layers(m)), mask, (True,) * (1 + count))


@dataclass(frozen=True)
class Recipe:
    """A recipe for stochastic gradient ascent: a function from a run's length to an optimiser.

    A gradient passes through `sparsity`, and then, as a gradient of the centred model, through
    momentum, decay, the learning rate and the proximal steps of the penalties. The resulting
    parameters are averaged.

    Attributes:
        rate: learning rate, which multiplies the gradient of the mean log-likelihood of a row.
        momentum: weight of the previous step (0 for none); for a pair (start, end), it grows from
            start to end over the first tenth of the run.
        decay: strength of the L2 penalty decay/2 · |W|² on the weights only, whose gradient is not
            subject to the momentum.
        centring: rate at which the centring offsets follow the data; None for no centring.
        averaging: the coefficient `forgetting` of `averaged`; None for no averaging.
        hold: fraction of the run at full rate, before the fall to zero; 1 for a constant rate.
        penalties: penalties on the weights, applied in this order, such as `(L1(1e-4),
            MaxNorm(5))`.
        sparsity: (target, strength) of `sparse_activity`; None for none.
        model_share: share of the model's means in the centring offsets; ½ is the enhanced gradient.
        schedule: an optax schedule in place of `hold`; its value multiplies the rate.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> recipe = hm.Recipe(rate=0.05, momentum=0.5, decay=1e-4, penalties=(hm.MaxNorm(5.0),))
        >>> hm.fit(rbm, rows, key=key, gradient="exact", optimizer=recipe, epochs=2).message
        'finished after 2 updates (2 epochs)'
    """

    rate: float = 0.1
    momentum: float | tuple[float, float] = 0.0
    decay: float = 0.0
    centring: float | None = 0.01
    averaging: float | None = 0.1
    hold: float = 0.5
    penalties: tuple[AbstractPenalty, ...] = ()
    sparsity: tuple[float, float] | None = None
    model_share: float = 0.0
    schedule: Schedule | None = None

    def __post_init__(self):
        """Check the values.

        Raises:
            InputError: a value is out of range.
        """
        momenta = self.momentum
        if not isinstance(momenta, tuple):
            momenta = (momenta, momenta)
        are_momenta = len(momenta) == 2 and all(0 <= m < 1 for m in momenta)
        is_rate = self.centring is None or 0 < self.centring <= 1
        is_pair = self.sparsity is None or len(self.sparsity) == 2
        is_factor = self.schedule is None or callable(self.schedule)
        for name, is_right, expected in (
            ("rate", 0 < self.rate < math.inf, "a positive number"),
            ("momentum", are_momenta, "a number from 0 to below 1, or a pair (start, end)"),
            ("decay", 0 <= self.decay < math.inf, "a number of at least 0"),
            ("centring", is_rate, "None, or a number above 0 and up to 1"),
            ("averaging", self.averaging is None or self.averaging >= 0, "None or a number >= 0"),
            ("hold", 0 <= self.hold <= 1, "a number from 0 to 1"),
            ("sparsity", is_pair, "None, or a target and a strength"),
            ("model_share", 0 <= self.model_share <= 1, "a number from 0 to 1"),
            ("schedule", is_factor, "None, or a function of the number of updates"),
        ):
            if not is_right:
                raise InputError(f"{name}: expected {expected}; got {getattr(self, name)}.")
        checked_penalties(self.penalties)
        if self.sparsity is not None:
            sparse_activity(*self.sparsity)
        if self.centring is None and self.model_share:
            raise InputError(
                f"model_share: expected 0 without centring; got {self.model_share}; choose a rate"
                " for centring."
            )

    def __call__(self, total: int | float) -> optax.GradientTransformationExtraArgs:
        """Return the transformation for a run of `total` updates.

        If `total` is ∞, the rate never falls, and the momentum has its end value from the start.
        """
        recipe = replace(self, rate=float(self.rate))  # an array cannot be hashed
        if math.isinf(total):
            return _of_a_run(replace(recipe, hold=1.0), 1)
        return _of_a_run(recipe, total)


@functools.lru_cache(maxsize=64)
def _of_a_run(recipe: Recipe, total: int | float) -> optax.GradientTransformationExtraArgs:
    """Build the transformation once for a recipe and a run length, so that it is traced once."""
    shared: Any = _transformation_of(replace(recipe, rate=1.0))

    def init(rbm: RBM) -> Any:
        return reschedule(shared.init(rbm), total, recipe.rate)

    return transformation(init, shared.update)


@functools.lru_cache(maxsize=64)
def _transformation_of(recipe: Recipe) -> optax.GradientTransformationExtraArgs:
    """Build a recipe's transformation once, so that equal recipes share a compiled loop."""
    parts: list[Any] = []
    if isinstance(recipe.momentum, tuple):
        parts.append(ramped_momentum(*recipe.momentum, total=1))
    elif recipe.momentum:
        parts.append(optax.trace(recipe.momentum))
    if recipe.decay:
        parts.append(optax.add_decayed_weights(recipe.decay, mask=weights_only))  # pyright: ignore[reportArgumentType]
    pace: Any = {"rate": 1.0, "total": 1, "hold": recipe.hold, "schedule": recipe.schedule}
    parts.append(scheduled(**pace))
    if recipe.penalties:
        parts.append(proximal(*recipe.penalties, **pace))
    result: Any = whitened(optax.chain(*parts))
    if recipe.centring is not None:
        result = centred(result, recipe.centring, recipe.model_share)
    if recipe.averaging is not None:
        result = averaged(result, recipe.averaging)
    if recipe.sparsity is not None:
        result = optax.chain(sparse_activity(*recipe.sparsity), result)
    return result
