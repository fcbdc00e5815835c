"""Compute the final score of a model; raise an error if huge parameters make it overflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ..data import Dataset
from ..errors import HarmoniumError, NotFiniteError
from ..layers.capabilities import takes_lengths
from ..likelihood.partition_function.base import LogZ
from ..likelihood.scoring import LogLikelihood, log_likelihood
from ..rbm import RBM
from .folder import RunFolder


def finite_score(rbm: RBM, estimate: Callable[[], Any]) -> Any:
    """Call `estimate` and return its result, a LogZ or LogLikelihood with a finite value.

    Raises:
        NotFiniteError: the result is not finite, since huge parameters make float32 overflow.
    """
    try:
        with np.errstate(all="ignore"):
            result = estimate()
            value = float(result.value)
    except HarmoniumError:
        raise
    except (ValueError, ArithmeticError):  # raised by root finding if it meets NaN
        value = math.nan
    if math.isfinite(value):
        return result
    largest = max(float(abs(np.asarray(leaf)).max()) for leaf in jax.tree.leaves(rbm))
    raise NotFiniteError(
        f"{rbm}: expected parameters with a finite score; got some as large as"
        f" {largest:.2g}, which overflow; lower the learning rate."
    )


def known_log_z(folder: RunFolder, rbm: RBM) -> LogZ | None:
    """Return the log Z that the run reported at its end; None if unknown or not converged."""
    summary = folder.summary()
    if summary is None or summary.log_z is None or takes_lengths(rbm.visible):
        return None
    return summary.log_z.trusted


def scored_by_run(
    folder: RunFolder, rbm: RBM, rows: Dataset, seconds: float, *, key: Any, progress: Any = None
) -> LogLikelihood:
    """Return the log-likelihood of rows, with the run's log Z or, if unknown, a new estimate.

    Args:
        folder: the run.
        rbm: the run's model.
        rows: the rows.
        seconds: time limit for refining a new estimate of log Z.
        key: a JAX random key.
        progress: a function called with the fraction done.
    """
    log_z = known_log_z(folder, rbm)
    settings: dict[str, Any] = {"key": key, "progress": progress}
    if log_z is None:
        settings["seconds"] = seconds
    else:
        settings["log_z"] = log_z
    return finite_score(rbm, lambda: log_likelihood(rbm, rows, **settings))
