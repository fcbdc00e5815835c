"""Penalties on the weights, applied as proximal steps, which can give exact zeros or bound norms.

A penalty R acts after the gradient step of size η:

    W ← argmin_U  ½ |U − W|² + η R(U)

Only weights are penalised: W, and by penalties that act on each weight by itself also those from
given units to targets in a `Conditional` layer. Inside `centred` the biases are adjusted, so that a
penalty on W_ij weakens the dependence of v_i and h_j but leaves their means unchanged.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base.checks import positive_integer
from .._base.programs import compiled
from ..errors import InputError
from ..layers import AbstractLayer
from ..layers.capabilities import couplings
from ..rbm import RBM
from ..weights.base import copies_of
from .base import nodes_in, with_nodes, with_values
from .schedules import RateState

Members = str | tuple[int, ...]
NEWTON_STEPS = 50  # a few suffice, as each step is exact on a piece of a piecewise linear function


@dataclass(frozen=True)
class AbstractPenalty(ABC):
    """A penalty on the weights, with its proximal step.

    Example:
        >>> class Ridge(hm.training.AbstractPenalty):
        ...     def value(self, weights, rbm):
        ...         return 0.5 * (weights**2).sum()
        ...     def proximal(self, weights, step, rbm):
        ...         return weights / (1.0 + step)
        >>> rbm = hm.RBM.from_arrays([[3.0, 1.5]], [0.0], [0.0, 0.0])
        >>> Ridge().proximal(rbm.weights, 0.5, rbm).tolist()
        [[2.0, 1.0]]
        >>> recipe = hm.Recipe(penalties=(Ridge(), hm.MaxNorm(5.0)))
    """

    @abstractmethod
    def value(self, weights: Array, rbm: RBM) -> Float[Array, ""]:
        """Return R(W)."""

    @abstractmethod
    def proximal(self, weights: Array, step: Array, rbm: RBM) -> Array:
        """Return argmin_U ½ |U − W|² + step · R(U); `rbm` defines the units."""

    @property
    def is_elementwise(self) -> bool:
        """Whether each weight is penalised by itself; R then also applies to weights in a layer."""
        return False

    def check(self, rbm: RBM) -> None:  # noqa: B027  (most penalties fit any model)
        """Raise InputError if the penalty is incompatible with the model."""

    @property
    def is_set_by_run(self) -> bool:
        """Whether the strength is "auto"; R then has strength 1 and is scaled by the run."""
        return False


@dataclass(frozen=True)
class L1(AbstractPenalty):
    """The penalty strength · Σ |W_ij|, which sets small weights to 0 and shrinks large ones.

    Each step makes all weights smaller in size by the same amount, but not smaller than 0.
    Weights near 0 must grow against the penalty, so a strong penalty can keep a model from
    learning.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.25, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> hm.L1(1.0).proximal(rbm.weights, 0.5, rbm).tolist()
        [[0.5, -0.5], [0.0, 1.5]]
        >>> recipe = hm.Recipe(penalties=(hm.L1(1e-4),))  # hm.fit(..., optimizer=recipe)

    Source: Tibshirani 1996; Hinton 2010, section 10.
    """

    strength: float

    def __post_init__(self):
        _check_number("L1 strength", self.strength)

    @property
    def is_elementwise(self) -> bool:
        return True

    def value(self, weights: Array, rbm: RBM) -> Float[Array, ""]:
        """Return strength · Σ |W|."""
        return self.strength * abs(weights).sum()

    def proximal(self, weights: Array, step: Array, rbm: RBM) -> Array:
        """Return sign(W) · max(|W| − step · strength, 0)."""
        return _soft(weights, step * self.strength)


@dataclass(frozen=True)
class Huber(AbstractPenalty):
    r"""The penalty strength · Σ r(W_ij), where r is quadratic for small weights, else linear.

    r(w) = w²/(2d) for |w| ≤ d, and |w| − d/2 for larger |w|, where d is the width. A weight near 0
    shrinks in proportion to its size, so weights can grow from 0, whereas L1 would hold them at 0.

    With strength "auto" the run sets the strength. For n rows of 0/1 units the strength starts at
    1/n, which corresponds to a prior e^(−r(w)/b) of scale b = 1. If rows are held out, the strength
    then follows the free-energy gap (`evidence_strength`). `Huber("auto")` is the penalty of the
    default recipe.

    Example:
        >>> rbm = hm.RBM.from_arrays([[0.5, 2.0]], [0.0], [0.0, 0.0])
        >>> penalty = hm.Huber(1.0, width=0.5)
        >>> penalty.proximal(rbm.weights, 0.5, rbm).tolist()  # half as large; smaller by 0.5
        [[0.25, 1.5]]

    Source: Huber 1964 (r); MacKay 1992 (the strength).
    """

    # Not L1 by default: at W = 0 the likelihood has no slope, so L1 holds small weights at 0.
    strength: float | Literal["auto"] = "auto"
    width: float = 0.1

    def __post_init__(self):
        if self.strength != "auto":
            _check_number("Huber strength", self.strength, ' or "auto"')
        if not 0 < self.width < math.inf:
            raise InputError(f"Huber width: expected a positive number; got {self.width!r}.")

    @property
    def is_elementwise(self) -> bool:
        return True

    @property
    def is_set_by_run(self) -> bool:
        return self.strength == "auto"

    def value(self, weights: Array, rbm: RBM) -> Float[Array, ""]:
        """Return strength · Σ r(W), with strength 1 in place of "auto"."""
        sizes = abs(weights)
        near = sizes**2 / (2.0 * self.width)
        return self._factor * jnp.where(sizes <= self.width, near, sizes - self.width / 2.0).sum()

    def proximal(self, weights: Array, step: Array, rbm: RBM) -> Array:
        """Return W · d/(d + a) for |W| ≤ d + a, else W − a sign(W), where d is the width.

        Here a = step · strength.
        """
        a = step * self._factor
        near = weights * (self.width / (self.width + a))
        return jnp.where(abs(weights) <= self.width + a, near, weights - a * jnp.sign(weights))

    @property
    def _factor(self) -> float:
        return 1.0 if self.strength == "auto" else self.strength


@dataclass(frozen=True)
class AbstractGroups(AbstractPenalty):
    """A penalty on groups of weights, each of which joins some visible and some hidden units.

    `visible` and `hidden` define how the units of a layer are grouped: "each" for one group per
    unit, "all" for a single group, or a label for each unit, where units with equal labels form a
    group. A unit with several columns, such as a Potts site, is never divided. So ("all", "each")
    gives a group for each hidden unit, ("each", "all") a group for each visible unit, ("each",
    "each") a group for each pair, and `tiles((28, 28), (7, 7))` with "each" divides every hidden
    unit's filter into 16 patches.
    """

    @property
    @abstractmethod
    def grouping(self) -> tuple[Members, Members]:
        """The groupings of the visible units and of the hidden units."""

    def check(self, rbm: RBM) -> None:
        for members, layer in zip(self.grouping, (rbm.visible, rbm.hidden), strict=True):
            if not isinstance(members, str) and len(members) != layer.n_units:
                raise InputError(
                    f"{type(self).__name__}: expected {layer.n_units} labels, one for each unit of"
                    f" {layer}; got {len(members)}."
                )

    def totals(self, entries: Array, rbm: RBM) -> Array:
        """Return, for each weight, the sum of `entries` over its group, up to broadcasting."""
        visible, hidden = self.grouping
        return _total(_total(entries.T, rbm.visible, visible).T, rbm.hidden, hidden)

    def sizes(self, rbm: RBM) -> Array:
        """Return, for each weight, the number of weights in its group."""
        visible, hidden = self.grouping
        down = _total(jnp.ones_like(rbm.visible.zero_inputs), rbm.visible, visible)
        along = _total(jnp.ones_like(rbm.hidden.zero_inputs), rbm.hidden, hidden)
        return jnp.outer(down, along)


@dataclass(frozen=True)
class GroupLasso(AbstractGroups):
    """The penalty strength · Σ_g √n_g |W_g|, which sets groups of n_g weights to 0 as a whole.

    Example:
        >>> rbm = hm.RBM.from_arrays([[3.0, 0.3], [4.0, 0.4]], [0.0, 0.0], [0.0, 0.0])
        >>> shrunk = hm.GroupLasso(0.5).proximal(rbm.weights, 1.0, rbm)
        >>> (shrunk == 0).tolist()  # the second hidden unit is switched off
        [[False, True], [False, True]]

    Source: Yuan & Lin 2006.
    """

    strength: float
    visible: Members = "all"
    hidden: Members = "each"

    def __post_init__(self):
        _check_number("GroupLasso strength", self.strength)
        _check_grouping("GroupLasso", self.grouping)

    @property
    def grouping(self) -> tuple[Members, Members]:
        return self.visible, self.hidden

    def value(self, weights: Array, rbm: RBM) -> Float[Array, ""]:
        """Return strength · Σ_g √n_g |W_g|, of which each weight of a group adds an equal part."""
        norms = jnp.sqrt(self.totals(weights**2, rbm))
        return (
            self.strength * jnp.broadcast_to(norms / jnp.sqrt(self.sizes(rbm)), weights.shape).sum()
        )

    def proximal(self, weights: Array, step: Array, rbm: RBM) -> Array:
        """Return W_g · max(1 − step · strength · √n_g / |W_g|, 0)."""
        norms = jnp.sqrt(self.totals(weights**2, rbm))
        threshold = step * self.strength * jnp.sqrt(self.sizes(rbm))
        return weights * jnp.maximum(1.0 - threshold / _above_zero(norms), 0.0)


@dataclass(frozen=True)
class SquaredL1(AbstractGroups):
    """The penalty strength/2 · Σ_j (Σ_i |W_ij|)², which makes hidden units j similarly sparse.

    Each weight is pulled to 0 as by L1, but with a force proportional to Σ|W| of its hidden unit.
    Units with large weights thus become sparse, and units with small weights can grow, whereas L1
    would set these weights to 0.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, 0.5], [1.0, 0.5]], [0.0, 0.0], [0.0, 0.0])
        >>> float(hm.SquaredL1(1.0).value(rbm.weights, rbm))  # (2² + 1²) / 2
        2.5
        >>> hm.SquaredL1(1.0).proximal(rbm.weights, 0.5, rbm).tolist()  # less 0.5 Σ|W|
        [[0.5, 0.25], [0.5, 0.25]]

    Source: Tubiana, Cocco & Monasson 2019; their λ₁²/q is this strength, up to a factor that
        depends on the number of rows.
    """

    strength: float

    def __post_init__(self):
        _check_number("SquaredL1 strength", self.strength)

    @property
    def grouping(self) -> tuple[Members, Members]:
        return "all", "each"

    def value(self, weights: Array, rbm: RBM) -> Float[Array, ""]:
        """Return strength/2 · Σ_j (Σ_i |W_ij|)²."""
        sums = rbm.hidden.fold(abs(weights).sum(0))
        return 0.5 * self.strength * (sums**2).sum()

    def proximal(self, weights: Array, step: Array, rbm: RBM) -> Array:
        """Return each unit's weights soft-thresholded at a·S, with a = step · strength.

        S is Σ|W| after the step, and solves S = Σ max(|W| − aS, 0). Since the right side is convex
        in S, Newton's method increases from S = 0 to the solution in a few steps: each sets S to
        Σ_k |W_k| / (1 + a·K), summed over the K weights above aS.
        """
        a = step * self.strength
        sizes = abs(weights)

        def newton(now: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            _, s, count = now
            above = (sizes > a * s).astype(sizes.dtype)
            new = self.totals(above * sizes, rbm) / (1.0 + a * self.totals(above, rbm))
            return s, jnp.maximum(s, new), count + 1

        def goes_on(now: tuple[Array, Array, Array]) -> Array:
            before, s, count = now
            return (s > before).any() & (count < NEWTON_STEPS)

        zero = jnp.zeros_like(self.totals(sizes, rbm))
        first = newton((zero, zero, jnp.zeros((), jnp.int32)))
        return _soft(weights, a * jax.lax.while_loop(goes_on, newton, first)[1])


@dataclass(frozen=True)
class MaxNorm(AbstractGroups):
    """A bound on each group's norm |W_g|: groups with a larger norm are scaled down to the bound.

    By default, the weights of each hidden unit form a group. Weights then cannot diverge at any
    learning rate.

    Example:
        >>> rbm = hm.RBM.from_arrays([[3.0, 0.25], [4.0, 0.5]], [0.0, 0.0], [0.0, 0.0])
        >>> hm.MaxNorm(2.5).proximal(rbm.weights, 1.0, rbm).tolist()  # norms 5 and 0.56
        [[1.5, 0.25], [2.0, 0.5]]

    Source: Srebro & Shraibman 2005; Hinton, Srivastava, Krizhevsky, Sutskever & Salakhutdinov 2012.
    """

    bound: float
    visible: Members = "all"
    hidden: Members = "each"

    def __post_init__(self):
        if not 0 < self.bound < math.inf:
            raise InputError(f"MaxNorm bound: expected a positive number; got {self.bound}.")
        _check_grouping("MaxNorm", self.grouping)

    @property
    def grouping(self) -> tuple[Members, Members]:
        return self.visible, self.hidden

    def value(self, weights: Array, rbm: RBM) -> Float[Array, ""]:
        """Return 0 if all norms are within the bound, up to rounding, else ∞."""
        worst = jnp.sqrt(self.totals(weights**2, rbm).max())
        return jnp.where(worst <= self.bound * (1.0 + 1e-5), 0.0, jnp.inf)

    def proximal(self, weights: Array, step: Array, rbm: RBM) -> Array:
        """Return W_g · min(1, bound / |W_g|)."""
        norms = jnp.sqrt(self.totals(weights**2, rbm))
        return weights * jnp.minimum(1.0, self.bound / _above_zero(norms))


@compiled
def size_of_weights(rbm: RBM) -> Float[Array, ""]:
    """Return R(W) of `Huber` at strength 1 and the default width d, but at least d/2 per weight.

    The result is at least R(W) of weights that are all of size d. As W goes to 0, the part of the
    free-energy gap that is due to chance decreases in proportion to W, but R(W) in proportion to
    W²; without this bound, the ratio of gap to R(W) would call for a penalty that keeps W at 0.
    """
    penalty = Huber(1.0)
    arrays = (rbm.dense_weights, *weights_in_layers(rbm))
    size = sum(penalty.value(weights, rbm) for weights in arrays)
    count = sum((weights != 0).sum() for weights in arrays)  # entries that are masked do not count
    return jnp.maximum(size, count * (penalty.width / 2.0))


def weights_in_layers(rbm: RBM) -> tuple[Any, ...]:
    """Return the weights between units of one layer, as from given units to targets."""
    return couplings(rbm.visible) + couplings(rbm.hidden)


def tiles(picture: tuple[int, int], tile: tuple[int, int]) -> tuple[int, ...]:
    """Return the tile index of each pixel of a picture: labels for groups of visible units.

    Args:
        picture: height and width; pixels come row by row.
        tile: height and width of a tile; tiles at the far edges may be smaller.

    Example:
        >>> hm.training.tiles((2, 4), (2, 2))
        (0, 0, 1, 1, 0, 0, 1, 1)
        >>> tiles = hm.training.tiles((28, 28), (7, 7))
        >>> patches = hm.GroupLasso(1e-3, visible=tiles, hidden="each")
    """
    names = ("height", "width")
    for what, pair in (("picture", picture), ("tile", tile)):
        for name, number in zip(names, pair, strict=True):
            positive_integer(number, f"tiles {what} {name}")
    down, along = (np.arange(n) // size for n, size in zip(picture, tile, strict=True))
    return tuple((down[:, None] * (along[-1] + 1) + along).ravel().tolist())


def checked_penalties(penalties: Any) -> tuple[AbstractPenalty, ...]:
    """Return the penalties, or raise InputError unless they are a tuple of penalties."""
    if not isinstance(penalties, tuple) or not all(
        isinstance(penalty, AbstractPenalty) for penalty in penalties
    ):
        raise InputError(
            f"penalties: expected a tuple of penalties such as (hm.L1(0.001),); got {penalties!r}."
        )
    return penalties


def _soft(weights: Array, threshold: Array) -> Array:
    return jnp.sign(weights) * jnp.maximum(abs(weights) - threshold, 0.0)


def _above_zero(norms: Array) -> Array:
    return jnp.maximum(norms, jnp.finfo(norms.dtype).tiny)


def _total(entries: Array, layer: AbstractLayer, members: Members) -> Array:
    """Sum the last axis, a layer's columns, over groups of units; its length stays or becomes 1."""
    if members == "all":
        return entries.sum(-1, keepdims=True)
    units = layer.fold(entries)
    if not isinstance(members, str):
        labels = jnp.asarray(np.unique(members, return_inverse=True)[1])
        sums = jax.ops.segment_sum(jnp.moveaxis(units, -1, 0), labels, len(set(members)))
        units = jnp.moveaxis(sums[labels], 0, -1)
    return layer.spread(units)


def _check_number(name: str, value: Any, other: str = "") -> None:
    if isinstance(value, str) or not 0 <= value < math.inf:
        raise InputError(f"{name}: expected a number of at least 0{other}; got {value!r}.")


def _check_grouping(name: str, grouping: tuple[Members, Members]) -> None:
    for layer, members in zip(("visible", "hidden"), grouping, strict=True):
        if members not in ("each", "all") and not isinstance(members, tuple):
            raise InputError(
                f'{name} {layer}: expected "each", "all" or a tuple of labels; got {members!r}.'
            )


# ------------------------------------------------ strengths that the run sets

LARGEST_FACTOR = 100.0  # largest strength that the gap can set, as a multiple of the prior strength


class PenaltyState(NamedTuple):
    """The state of `proximal`: the state of the rate, and the strength of penalties set by the run.

    `strength` is an empty tuple if no penalty is set by the run.
    """

    rate: RateState
    strength: Any


def prior_strength(rbm: RBM, rows: float) -> float:
    """Return the strength of a prior on the weights for this many rows: s_v s_h / (n k).

    Here n is the number of rows, k is the number of entries of W that share a parameter, and s is
    twice the standard deviation of a unit without bias, averaged over the visible (s_v) or hidden
    layer (s_h): 1 for 0/1 units and 2 for ±1 units, so that the penalty is the same in both
    codings.
    """
    return float(_spreads(rbm)) / (rows * copies_of(rbm.weights))


@compiled
def _spreads(rbm: RBM) -> Float[Array, ""]:
    """Return the product s_v s_h, as defined in `prior_strength`."""
    free = [layer.base() for layer in (rbm.visible, rbm.hidden)]
    spreads = [2.0 * jnp.sqrt(layer.variance(layer.zero_inputs)).mean() for layer in free]
    return spreads[0] * spreads[1]


def evidence_strength(gap: float, stderr: float, size: float) -> float:
    """Return the strength that a free-energy gap calls for: (gap − stderr) / R(W).

    For a model with γ well-determined parameters and n training rows, the gap between training and
    held-out rows is about γ/n nats, and the scale b of a prior e^(−R(W)/b) that maximises the
    evidence is R(W)/γ. The strength of this prior is therefore 1/(b n) = gap / R(W). A standard
    error is subtracted, so that chance alone does not call for a penalty.

    Args:
        gap: mean free energy of held-out rows minus mean free energy of training rows, nats.
        stderr: its standard error.
        size: R(W), the penalty at strength 1.

    Source: MacKay 1992; Akaike 1973 (the gap).
    """
    if size <= 0:
        return 0.0
    return max(gap - stderr, 0.0) / size


def next_strength(strength: float, prior: float, gap: float, stderr: float, size: float) -> float:
    """Return the strength after a record: the geometric mean of the present strength and a target.

    The target is `evidence_strength`, but at least the strength of the prior and at most 100 times
    that strength.

    Args:
        strength: the present strength.
        prior: `prior_strength` of the run's rows.
        gap: as in `evidence_strength`.
        stderr: as in `evidence_strength`.
        size: as in `evidence_strength`.
    """
    target = evidence_strength(gap, stderr, size)
    if not math.isfinite(target):
        return strength
    return math.sqrt(strength * min(max(target, prior), LARGEST_FACTOR * prior))


def strength_of(state: Any) -> float | None:
    """Return the strength in an optimiser's state; None if no penalty is set by the run."""
    return next(map(float, _strengths(state)), None)


def has_strength(state: Any) -> bool:
    """Return whether an optimiser's state, or a tree of its shapes, has a strength set by a run."""
    return bool(_strengths(state))


def with_strength(state: Any, strength: float) -> Any:
    """Return an optimiser's state in which the penalties set by the run have this strength."""

    def renewed(node: PenaltyState) -> PenaltyState:
        if isinstance(node.strength, tuple):
            return node
        return with_values(node, strength=strength)

    return with_nodes(state, PenaltyState, renewed)


def _strengths(state: Any) -> list[Any]:
    strengths = [node.strength for node in nodes_in(state, PenaltyState)]
    return [strength for strength in strengths if not isinstance(strength, tuple)]
