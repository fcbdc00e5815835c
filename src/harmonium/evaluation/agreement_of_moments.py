"""Agreement between samples and data: a correlation coefficient for each order of moments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._base.checks import checked_rows
from ..errors import InputError
from .moments import check_codes, cumulants, groups, pearson, variables_of

__all__ = ["MomentAgreement", "moment_agreement"]

MOST_GROUPS = 20_000  # largest number of pairs or triples of columns
NAMES = {1: "means", 2: "pair correlations", 3: "triple correlations"}


class MomentAgreement(NamedTuple):
    """Pearson's correlation coefficient between the moments of samples and of data.

    Attributes:
        name: "means", "pair correlations" or "triple correlations" (the latter two connected).
        samples: the coefficient between samples and data; NaN if either set of moments is constant.
        slope: slope of a regression through the origin of the samples' moments on the data's; below
            1 if the samples' correlations are too weak.
        others: the coefficient between the data and as many other rows of data as there are
            samples, which a perfect sampler would reach; None if no other rows were given.
        count: number of moments compared.

    Example:
        >>> data = hm.bars_and_stripes(2)
        >>> pairs = hm.moment_agreement(data, data)[1]
        >>> pairs.name, round(pairs.samples, 3), round(pairs.slope, 3), pairs.count
        ('pair correlations', 1.0, 1.0, 6)
    """

    name: str
    samples: float
    slope: float
    others: float | None
    count: int


def moment_agreement(
    samples: Any, data: Any, *, states: Any = None, others: Any = None
) -> list[MomentAgreement]:
    """Compare the means and the connected pair and triple correlations of samples and data.

    Args:
        samples: rows drawn from a model, in the user's coding.
        data: rows of data that the model was not trained on.
        states: number of states of each column, or one number for all columns; 1 or None for
            numeric columns.
        others: other rows of data, for comparison; a random subset as large as the samples is used.

    Returns:
        One entry for each order of moments, computed from at most 20,000 randomly chosen pairs or
        triples of columns.

    Raises:
        InputError: the numbers of columns differ, or the rows do not match the states.

    Example:
        >>> data = np.repeat(np.random.default_rng(0).integers(0, 2, (500, 2)), 2, axis=1)
        >>> means, pairs, triples = hm.moment_agreement(data[:250], data[250:])
        >>> pairs.count, bool(pairs.samples > 0.9)  # 0 and 1, as 2 and 3, are equal in both
        (6, True)
    """
    sets = {"samples": checked_rows(samples, "samples"), "data": checked_rows(data, "data")}
    if others is not None:
        rows = checked_rows(others, "others")
        order = np.random.default_rng(0).permutation(len(rows))  # a file may be sorted
        sets["others"] = rows[order[: len(sets["samples"])]]
    columns = sets["data"].shape[1]
    variables = variables_of(states, columns)
    for name, rows in sets.items():
        if rows.shape[1] != columns:
            raise InputError(
                f"{name}: expected {columns} columns, as in data; got {rows.shape[1]}."
            )
        check_codes(rows, name, variables)
    values = {name: variables.of(rows) for name, rows in sets.items()}
    agreements = []
    for order, title in NAMES.items():
        if columns < order:
            continue
        groups_of_order = groups(variables, order, MOST_GROUPS)
        x = _moments(values["data"], groups_of_order)
        y = _moments(values["samples"], groups_of_order)
        perfect = None
        if others is not None:
            perfect = pearson(x, _moments(values["others"], groups_of_order))
        slope = np.nan
        if x.any():
            slope = float(x @ y / (x @ x))
        agreements.append(
            MomentAgreement(title, pearson(x, y), slope, perfect, len(groups_of_order))
        )
    return agreements


def _moments(values: np.ndarray, which: np.ndarray) -> np.ndarray:
    return cumulants(values, np.full((1, len(values)), 1.0 / len(values)), which)[0]
