"""Check that rows are valid for a model's visible units, and that exact sums are feasible."""

from __future__ import annotations

import numpy as np

from ..data.parts import parts_of
from ..errors import InputError
from ..likelihood.partition_function.enumerated import enumerable
from ..rbm import RBM


def refuse_misfit(rows: np.ndarray, rbm: RBM, name: str, advice: str) -> None:
    """Raise InputError if rows have invalid values, or not one column for each visible unit.

    NaN marks a missing value; whether missing values are allowed is not checked here.

    Raises:
        InputError: the rows are invalid; the message names the rows and the first invalid
            value.
    """
    width = rbm.visible.n_units
    if rows.shape[1] != width:
        raise InputError(
            f"{name}: expected {width:,} columns, one for each visible unit of {rbm}; got"
            f" {rows.shape[1]:,}; {advice}."
        )
    done = 0
    for part in parts_of(rows):
        bad = (np.isinf(part) | rbm.visible.coding.outside(part)) & ~np.isnan(part)
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            raise InputError(
                f"{name}: expected that {rbm.visible.coding.describe(column)}; got"
                f" {part[row, column]:g} at row {done + row}, column {column} (counted from 0);"
                f" {advice}."
            )
        done += len(part)


def refuse_many_states(rbm: RBM, log2_limit: int, advice: str) -> None:
    """Raise InputError if the model's discrete layers are too large for `--method exact`.

    Raises:
        InputError: no discrete layer has at most 2^log2_limit joint states.
    """
    enumerated = enumerable(rbm)
    if enumerated is None or (enumerated.visible.n_states or 0) > 2**log2_limit:
        raise InputError(
            f"--method exact: expected a layer with at most 2^{log2_limit} joint states; got"
            f" {states_to_sum(rbm)} in {rbm}; {advice}."
        )


def states_to_sum(rbm: RBM) -> str:
    """Describe the length of an exact sum, for example "2^500 states" or "no discrete layer"."""
    enumerated = enumerable(rbm)
    count = None if enumerated is None else enumerated.visible.n_states
    if count is None:
        return "no discrete layer"
    return f"{count:,} states" if count < 2**20 else f"2^{(count - 1).bit_length()} states"
