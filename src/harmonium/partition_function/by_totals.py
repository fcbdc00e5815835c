"""log Z where it differs from row to row: where a model takes totals of its rows as given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from ..data.parts import in_parts
from ..errors import InputError
from ..rbm import RBM
from .base import AbstractLogZ, LogZ


class LogZOfRows(NamedTuple):
    """log Z of the rows.

    Attributes:
        mean: their weighted mean, with its interval.
        each: that of each row, nats, shape (n,).
    """

    mean: LogZ
    each: np.ndarray


def log_z_of_rows(
    rbm: RBM,
    totals: np.ndarray,
    weights: np.ndarray | None,
    way: AbstractLogZ,
    *,
    key: PRNGKeyArray | None,
    progress: Callable[[float], Any] | None = None,
) -> LogZOfRows:
    """Return log Z of the model given each row's totals: found once for each that occurs.

    Errors of different totals may have a common cause, so the ends of their intervals are averaged
    as if they all erred in the same direction.

    Args:
        rbm: the model.
        totals: what the model takes as given of each row, shape (n, totals).
        weights: weights of the rows; equal if None.
        way: the method for log Z.
        key: a JAX random key; None where no estimate is needed.
        progress: called with the fraction done, from 0 to 1.
    """
    kinds, place = np.unique(totals, axis=0, return_inverse=True)
    share = np.bincount(place.ravel(), weights, minlength=len(kinds))
    share = share / share.sum()
    found = way.estimate_each(rbm, kinds, key=key, progress=progress)
    doubtful = [one for one in found if not one.converged]
    shown = (doubtful or found)[0]
    mean = LogZ(
        value=float(share @ [one.value for one in found]),
        low=float(share @ [one.low for one in found]),
        high=float(share @ [one.high for one in found]),
        method=f"{shown.method}, for each of {len(kinds)} lengths of rows",
        converged=not doubtful,
        ess=min(one.ess for one in found),
        gap=float(share @ [one.gap for one in found]),
        message=shown.message,
    )
    return LogZOfRows(mean, np.array([one.value for one in found])[place.ravel()])


def check_totals_known(rbm: RBM, missing: int) -> None:
    """Raise InputError if rows have missing values and the model takes totals of them as given."""
    if missing and rbm.visible.n_totals:
        raise InputError(
            f"data: {rbm.visible} takes the length of a row as given, which is not known where"
            " counts are missing (NaN)."
        )


def check_same_totals(totals: np.ndarray) -> None:
    """Raise InputError if a single log Z is given for rows that have several."""
    if totals.size and (totals != totals[0]).any():
        raise InputError(
            "log_z: expected None: rows of several lengths have a log Z each; got one."
        )


def totals_of(rbm: RBM, rows: np.ndarray) -> np.ndarray:
    """Return what the model takes as given of rows in the user's coding, shape (n, totals)."""
    if not rbm.visible.n_totals:
        return np.zeros((len(rows), 0))
    return in_parts(lambda some, _: _totals(rbm, some), rows, rbm.widest)


@eqx.filter_jit
def _totals(rbm: RBM, rows: Array) -> Array:
    return rbm.visible.totals(rbm.visible.encode(rows))
