"""Checks that a model's Z is certainly finite, so that the model can be sampled."""

from __future__ import annotations

import numpy as np
from jaxtyping import Array

from .._base.programs import compiled
from .._base.sharding import fetched
from ..errors import NotFiniteError
from ..layers.capabilities import curvature, is_bounded
from ..rbm import RBM

UNCONFINED = (
    "Z is not known to be finite. The continuous units are not confined: the matrix of their"
    " precisions and couplings is not positive definite."
)


def finite_z(rbm: RBM) -> bool:
    """Return whether Z is known to be finite, by a sufficient test (exact for Gaussian layers).

    With the curvatures c of both layers (∞ for bounded units), the energy grows in every direction
    if the largest singular value of W / √(c_v c_h) is below 1. If a model is conditioned on several
    rows, the Z of every row must be finite.

    Example:
        >>> weak = hm.RBM(hm.Gaussian(1), hm.Gaussian(1), [[0.9]])
        >>> strong = hm.RBM(hm.Gaussian(1), hm.Gaussian(1), [[1.1]])
        >>> hm.likelihood.finite_z(weak), hm.likelihood.finite_z(strong)
        (True, False)
    """
    # If all units are bounded, the energy is finite whatever W is; no computation is needed.
    if is_bounded(rbm.visible) and is_bounded(rbm.hidden):
        return True
    curvatures = [np.asarray(c) for c in _curvatures(rbm)]
    by_row = [c.reshape(-1, c.shape[-1]) for c in curvatures]
    rows = max(map(len, by_row))
    both = np.concatenate([np.broadcast_to(c, (rows, c.shape[-1])) for c in by_row], axis=1)
    weights = fetched(rbm.dense_weights)
    n = rbm.visible.size
    # Rows with the same observed units have the same curvatures.
    return all(_is_confined(weights, row[:n], row[n:]) for row in np.unique(both, axis=0))


@compiled
def _curvatures(rbm: RBM) -> list[Array]:
    return [curvature(layer) for layer in (rbm.visible, rbm.hidden)]


def check_weights(rbm: RBM) -> None:
    """Raise NotFiniteError if a weight is not finite, as happens if training diverges."""
    if not np.isfinite(fetched(rbm.dense_weights)).all():
        raise NotFiniteError(f"{rbm}: its weights are not finite; the model diverged.")


def check_finite_z(rbm: RBM) -> None:
    """Raise NotFiniteError if Z may be infinite, since samples would then be meaningless."""
    check_weights(rbm)
    if not finite_z(rbm):
        raise NotFiniteError(f"{rbm}: {UNCONFINED}")


def _is_confined(weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray) -> bool:
    """Return whether the energy grows in every direction, given both layers' curvatures."""
    curvatures = (visible, hidden)
    # In float32, the lowest eigenvalue of a nearly singular precision may round to below 0.
    if not all((c >= 0.0).all() for c in curvatures):
        return False
    unbounded = np.outer(*map(np.isfinite, curvatures))
    weights = np.where(unbounded, weights, 0.0)  # bounded units add only a bounded input
    joint = np.sqrt(np.outer(*(np.where(np.isfinite(c), c, 1.0) for c in curvatures)))
    if (weights[joint == 0] != 0).any():
        return False  # columns without a known curvature do not bound the effect of W
    strength = weights / np.where(joint == 0, 1.0, joint)
    return not strength.any() or float(np.linalg.norm(strength, 2)) < 1.0
