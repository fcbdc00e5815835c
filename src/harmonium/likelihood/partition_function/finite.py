"""What is asked of a model before its log Z is estimated."""

from __future__ import annotations

from ...errors import NotFiniteError
from ...rbm import RBM
from ...samplers.finite import UNCONFINED
from ...samplers.finite import finite_z as finite_z
from .base import AbstractLogZ


def check_finite(rbm: RBM, way: AbstractLogZ) -> None:
    """Raise NotFiniteError if log Z would be estimated and is not known to be finite."""
    if way.is_estimate(rbm) and not finite_z(rbm):
        raise NotFiniteError(f"{rbm}: {UNCONFINED}")
