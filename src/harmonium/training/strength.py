"""The strength of a penalty that the run sets: from the rows' number, and the free-energy gap."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._base.numerics import from_numpy
from ..rbm import RBM
from .schedules import RateState

LARGEST_FACTOR = 100.0  # of a strength set by the free-energy gap over that of the prior


class PenaltyState(NamedTuple):
    """The state of `proximal`: that of the rate, and the strength of penalties set by the run.

    `strength` is empty if no penalty is set by the run.
    """

    rate: RateState
    strength: Any


def prior_strength(rbm: RBM, rows: float) -> float:
    """Return the strength of a prior on the weights for this many rows: s_v s_h / n.

    s is twice the standard deviation of a unit without bias, as a mean over the layer: 1 for 0/1
    units, 2 for ±1 units, so that codings of the same units agree.
    """
    return float(_spreads(rbm)) / rows


@eqx.filter_jit
def _spreads(rbm: RBM) -> Float[Array, ""]:
    """Return s_v s_h."""
    free = [layer.base() for layer in (rbm.visible, rbm.hidden)]
    spreads = [2.0 * jnp.sqrt(layer.variance(layer.zero_inputs)).mean() for layer in free]
    return spreads[0] * spreads[1]


def evidence_strength(gap: float, stderr: float, size: float) -> float:
    """Return the strength that a free-energy gap calls for: (gap − stderr) / R(W).

    For a model with γ well-determined parameters the gap between training and held-out rows is
    about γ/n nats, and the scale b of a prior e^(−R(W)/b) that maximises the evidence is R(W)/γ.
    So 1/(b n) = gap / R(W). A standard error is subtracted, so that chance does not call for it.

    Args:
        gap: mean free energy of held-out rows less that of training rows, nats.
        stderr: its standard error.
        size: R(W), the penalty at strength 1.

    Source: MacKay 1992; Akaike 1973 (the gap).
    """
    return max(gap - stderr, 0.0) / size if size > 0 else 0.0


def next_strength(strength: float, prior: float, gap: float, stderr: float, size: float) -> float:
    """Return the strength after a record: the geometric mean of the present one and its target.

    The target is `evidence_strength`, but at least that of the prior and at most 100 times it.

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
    """Return whether an optimiser's state, or its shapes, hold a strength that the run sets."""
    return bool(_strengths(state))


def with_strength(state: Any, strength: float) -> Any:
    """Return an optimiser's state with this strength of the penalties that are set by the run."""

    def renewed(node: Any) -> Any:
        if not _is_penalty_state(node) or isinstance(node.strength, tuple):
            return node
        array = np.full(node.strength.shape, strength, node.strength.dtype)
        return node._replace(strength=from_numpy(array))

    return jax.tree.map(renewed, state, is_leaf=_is_penalty_state)


def _strengths(state: Any) -> list[Any]:
    nodes = jax.tree.leaves(state, is_leaf=_is_penalty_state)
    strengths = [node.strength for node in nodes if _is_penalty_state(node)]
    return [strength for strength in strengths if not isinstance(strength, tuple)]


def _is_penalty_state(node: Any) -> bool:
    return isinstance(node, PenaltyState)
