"""log Z where it differs from row to row: where a model takes the lengths of its rows as given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..._base.numerics import from_numpy
from ...data.parts import in_parts
from ...errors import InputError
from ...layers.capabilities import lengths_of, takes_lengths
from ...rbm import RBM
from .base import AbstractLogZ, LogZ
from .lengthening import AbstractAlongLengths


class LogZOfRows(NamedTuple):
    """log Z of the rows.

    Attributes:
        mean: their weighted mean, with its interval.
        of_row: that of each row, nats, shape (n,).
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
    """Return log Z of the model of each of these lengths, which rise.

    A method that anneals finds all of them in one run; others take one length after the other.

    Args:
        rbm: the model.
        lengths: without repetition.
        method: the method for log Z.
        key: a JAX random key; None where no estimate is needed.
        progress: called with the fraction done, from 0 to 1.
    """
    progress = progress or (lambda fraction: None)
    chosen = method.for_model(rbm)
    key = chosen.checked_key(rbm, key)
    if isinstance(chosen, AbstractAlongLengths) and chosen.is_along_lengths(rbm):
        return chosen.along_lengths(rbm, lengths, key, progress)
    results = []
    for i, length in enumerate(lengths):
        model = rbm.with_lengths(from_numpy(np.asarray(length, rbm.visible.dtype)))
        own_key = None if key is None else jax.random.fold_in(key, i)

        def part(fraction: float, i: int = i) -> None:
            progress((i + fraction) / len(lengths))

        results.append(chosen.compute(model, own_key, part))
    return results


def log_z_of_rows(
    rbm: RBM,
    lengths: Float[np.ndarray, " n"],
    weights: np.ndarray | None,
    method: AbstractLogZ,
    *,
    key: PRNGKeyArray | None,
    progress: Callable[[float], Any] | None = None,
) -> LogZOfRows:
    """Return log Z of the model of each row's length: found once for each length that occurs.

    Errors of different lengths may have a common cause, so the ends of their intervals are averaged
    as if they all erred in the same direction.

    Args:
        rbm: the model.
        lengths: of the rows.
        weights: weights of the rows; equal if None.
        method: the method for log Z.
        key: a JAX random key; None where no estimate is needed.
        progress: called with the fraction done, from 0 to 1.
    """
    kinds, place = np.unique(lengths, return_inverse=True)
    fractions = np.bincount(place, weights, minlength=len(kinds))
    fractions = fractions / fractions.sum()
    results = log_z_by_length(rbm, kinds, method, key=key, progress=progress)
    doubtful = [result for result in results if not result.converged]
    shown = (doubtful or results)[0]
    values = np.array([result.value for result in results])
    mean = LogZ(
        value=float(fractions @ values),
        low=float(fractions @ [result.low for result in results]),
        high=float(fractions @ [result.high for result in results]),
        method=f"{shown.method}, for each of {len(kinds)} lengths of rows",
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
            f"data: {rbm.visible} takes the length of a row as given, which is not known where"
            " counts are missing (NaN)."
        )


def check_one_length(lengths: np.ndarray) -> None:
    """Raise InputError if a single log Z is given for rows that have several."""
    if (lengths != lengths[:1]).any():
        raise InputError(
            "log_z: expected None: rows of several lengths have a log Z each; got one."
        )


def lengths_of_rows(rbm: RBM, rows: np.ndarray) -> Float[np.ndarray, " n"]:
    """Return the lengths of rows in the user's coding."""
    return in_parts(lambda part, _: _lengths(rbm, part), rows, rbm.widest)


@eqx.filter_jit
def _lengths(rbm: RBM, rows: Array) -> Array:
    return lengths_of(rbm.visible, rbm.visible.encode(rows))
