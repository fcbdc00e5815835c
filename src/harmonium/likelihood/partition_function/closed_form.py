"""log Z of a model with two Gaussian layers, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.sharding import fetched
from ...errors import InputError, NotFiniteError
from ...layers.capabilities import gaussian_parameters
from ...rbm import RBM
from .base import AbstractLogZ, LogZ, exact_result


def has_closed_form(rbm: RBM) -> bool:
    """Return whether both layers are Gaussian, so that the joint density is Gaussian.

    Example:
        >>> hm.likelihood.has_closed_form(hm.RBM(hm.Gaussian(1), hm.Gaussian(1), [[0.6]]))
        True
        >>> hm.likelihood.has_closed_form(hm.RBM(hm.Gaussian(1), hm.Bernoulli(1), [[0.6]]))
        False
    """
    return None not in (gaussian_parameters(rbm.visible), gaussian_parameters(rbm.hidden))


@dataclass(frozen=True)
class ClosedForm(AbstractLogZ):
    """log Z = ½ [N log 2π − log det Λ + θᵀ Λ⁻¹ θ] of a model with two Gaussian layers.

    θ contains the biases of both layers, and Λ is the joint precision matrix of their N units,

        Λ = [[diag(γ_v), −W], [−Wᵀ, diag(γ_h)]].

    Example:
        >>> rbm = hm.RBM(hm.Gaussian(1), hm.Gaussian(1), [[0.6]])
        >>> round(hm.log_z(rbm, method=hm.ClosedForm()).value, 3)  # log 2π − ½ log(1 − 0.6²)
        2.061
    """

    def is_estimate(self, rbm: RBM) -> bool:
        return False

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z.

        Raises:
            InputError: a layer is not Gaussian.
            NotFiniteError: Λ is not positive definite, so Z is infinite.
        """
        visible = gaussian_parameters(rbm.visible)
        hidden = gaussian_parameters(rbm.hidden)
        if visible is None or hidden is None:
            raise InputError(f"log Z in closed form: expected two Gaussian layers; got {rbm}.")
        theta, gamma = (
            np.concatenate([np.asarray(of_layer, np.float64) for of_layer in parameters])
            for parameters in zip(visible, hidden, strict=True)
        )
        n = rbm.visible.size
        matrix = np.diag(gamma)
        matrix[:n, n:] = -fetched(rbm.dense_weights).astype(np.float64)
        matrix[n:, :n] = matrix[:n, n:].T
        if not (np.isfinite(matrix).all() and np.isfinite(theta).all()):
            raise NotFiniteError("log Z: the model's parameters are not finite.")
        lowest = float(np.linalg.eigvalsh(matrix)[0])
        if lowest <= 0:
            raise NotFiniteError(
                f"log Z of {rbm} is infinite: its couplings are too strong for its precisions (the"
                f" joint precision matrix has the eigenvalue {lowest:.3g}). Scale the weights down."
            )
        log_det = np.linalg.slogdet(matrix)[1]
        value = 0.5 * (
            len(theta) * np.log(2 * np.pi) - log_det + theta @ np.linalg.solve(matrix, theta)
        )
        return exact_result(float(value), "exact, closed form")
