"""Whether Z of a model is certain to be finite."""

from __future__ import annotations

import numpy as np

from ..errors import NotFiniteError
from ..rbm import RBM
from ..sharding import fetched
from .base import AbstractLogZ


def finite_z(rbm: RBM) -> bool:
    """Return whether Z is certain to be finite, by a sufficient test, sharp for Gaussian layers.

    With the curvatures c of both layers (∞ for bounded units), the energy grows in every direction
    if the largest singular value of W / √(c_v c_h) is below 1.

    Example:
        >>> weak = hm.RBM(hm.Gaussian(1), hm.Gaussian(1), [[0.9]])
        >>> strong = hm.RBM(hm.Gaussian(1), hm.Gaussian(1), [[1.1]])
        >>> hm.finite_z(weak), hm.finite_z(strong)
        (True, False)
    """
    curvatures = [np.asarray(layer.curvature) for layer in (rbm.visible, rbm.hidden)]
    unbounded = np.outer(*map(np.isfinite, curvatures))
    weights = np.where(unbounded, fetched(rbm.dense_weights), 0.0)  # others add a bounded input
    joint = np.sqrt(np.outer(*(np.where(np.isfinite(c), c, 1.0) for c in curvatures)))
    if (weights[joint == 0] != 0).any():
        return False  # along these columns no known curvature bounds what W adds
    strength = weights / np.where(joint == 0, 1.0, joint)
    return not strength.any() or float(np.linalg.norm(strength, 2)) < 1.0


def check_finite(rbm: RBM, way: AbstractLogZ) -> None:
    """Raise NotFiniteError if log Z would be estimated and is not known to be finite."""
    if way.is_estimate(rbm) and not finite_z(rbm):
        raise NotFiniteError(
            f"{rbm}: Z is not known to be finite. Its continuous units are not confined: the matrix"
            " of their precisions and couplings is not positive definite."
        )
