"""log Z for each row, for models that take the lengths of rows as given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..._base.programs import compiled
from ...data.parts import in_parts
from ...errors import InputError
from ...layers.capabilities import takes_lengths
from ...rbm import RBM
from .base import AbstractLogZ, LogZ


class LogZOfRows(NamedTuple):
    """log Z of the model for each row's length, and its mean over the rows.

    Attributes:
        mean: the weighted mean over rows, with its interval.
        of_row: log Z for each row, in nats, shape (n,).
    """

    mean: LogZ
    of_row: np.ndarray


def log_z_by_length(
    rbm: RBM,
    lengths: Float[np.ndarray, " lengths"],
    method: AbstractLogZ,
    *,
    key: PRNGKeyArray | None = None,
    progress: Callable[[float], Any] | None = None,
) -> list[LogZ]:
    """Return log Z of the model for each of these lengths, in ascending order.

    Args:
        rbm: the model.
        lengths: distinct lengths.
        method: the method for log Z.
        key: a JAX random key; None if no estimate is needed.
        progress: a function called with the fraction done, from 0 to 1.
    """
    method = method.for_model(rbm)
    key = method.checked_key(rbm, key)
    return method.compute_by_length(rbm, lengths, key, progress or (lambda fraction: None))


def log_z_of_rows(
    rbm: RBM,
    lengths: Float[np.ndarray, " n"],
    weights: np.ndarray | None,
    method: AbstractLogZ,
    *,
    key: PRNGKeyArray | None,
    progress: Callable[[float], Any] | None = None,
) -> LogZOfRows:
    """Return log Z of the model for each row's length, computed once per distinct length.

    Errors of different lengths may have a common cause, so the ends of the intervals are averaged
    as if all errors had the same sign.

    Args:
        rbm: the model.
        lengths: lengths of the rows.
        weights: weights of the rows; None if all are equal.
        method: the method for log Z.
        key: a JAX random key; None if no estimate is needed.
        progress: a function called with the fraction done, from 0 to 1.
    """
    distinct, place = np.unique(lengths, return_inverse=True)
    fractions = np.bincount(place, weights, minlength=len(distinct))
    fractions = fractions / fractions.sum()
    results = log_z_by_length(rbm, distinct, method, key=key, progress=progress)
    doubtful = [result for result in results if not result.converged]
    shown = (doubtful or results)[0]
    values = np.array([result.value for result in results])
    mean = LogZ(
        value=float(fractions @ values),
        low=float(fractions @ [result.low for result in results]),
        high=float(fractions @ [result.high for result in results]),
        method=f"{shown.method}, for each of {len(distinct)} lengths of rows",
        converged=not doubtful,
        ess=min(result.ess for result in results),
        gap=float(fractions @ [result.gap for result in results]),
        message=shown.message,
    )
    return LogZOfRows(mean, values[place])


def check_lengths_known(rbm: RBM, missing: int) -> None:
    """Raise InputError if rows have missing values and the model takes their lengths as given."""
    if missing and takes_lengths(rbm.visible):
        raise InputError(
            f"data: expected rows without missing counts (NaN), since {rbm.visible} takes the"
            " length of a row as given; got missing counts."
        )


def lengths_of_rows(rbm: RBM, rows: np.ndarray) -> Float[np.ndarray, " n"]:
    """Return the lengths of rows in the user's coding."""
    return in_parts(lambda part, _: _lengths(rbm, part), rows, rbm.widest)


@compiled
def _lengths(rbm: RBM, rows: Array) -> Array:
    layer: Any = rbm.visible
    return layer.lengths(layer.encode(rows))
