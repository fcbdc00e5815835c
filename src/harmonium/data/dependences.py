"""The tree of the strongest dependences between 0/1 columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from .._base.trees import maximum_spanning_tree, with_root_at_centre
from ..errors import InputError
from .dataset import Dataset

__all__ = ["dependence_tree"]

MOST_COLUMNS = 4_000  # the table of all pairs is held in memory


def dependence_tree(rows: Any, weights: Any = None) -> tuple[int, ...]:
    """Return the maximum-information tree (Chow–Liu tree) of 0/1 columns, for `hm.Tree`.

    Of all distributions in which each column depends on at most one parent, the one with this tree
    has the highest likelihood. The counts are smoothed with one pseudo-row, in which all states of
    a pair of columns are equally likely, as in `hm.Tree.fit_moments`. The root is in the middle of
    the longest path, so that the tree has few levels.

    Args:
        rows: numbers from 0 to 1, shape (n, columns), or a `Dataset`. NaN means a missing value;
            the counts of each pair of columns include only the rows in which both are observed.
        weights: sample weights, shape (n,).

    Returns:
        The parent of each column, −1 for the root.

    Raises:
        InputError: a number is outside [0, 1], or there are more than 4,000 columns.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> chain = np.cumsum(rng.random((500, 4)) < 0.2, axis=1) % 2  # each flips the one before
        >>> hm.data.dependence_tree(chain)
        (1, 2, -1, 2)

    Source: Chow & Liu 1968.
    """
    data = Dataset.of(rows, weights)
    if data.columns > MOST_COLUMNS:
        raise InputError(
            f"rows: expected at most {MOST_COLUMNS:,} columns, since all pairs are compared;"
            f" got {data.columns:,}."
        )
    _, parents = maximum_spanning_tree(_information(data))
    return tuple(with_root_at_centre(parents).tolist())


def _information(data: Dataset) -> Float[np.ndarray, "columns columns"]:
    """Return the mutual information of each pair of columns, in nats, smoothed by a pseudo-row."""
    shape = (data.columns, data.columns)
    pair_counts = np.zeros(shape)  # rows in which both columns are observed
    first_counts = np.zeros(shape)  # of these, the rows in which the first column is 1
    joint_counts = np.zeros(shape)  # of these, the rows in which both columns are 1
    row_weights = np.ones(len(data)) if data.weights is None else np.asarray(data.weights)
    first = 0
    for part in data.parts():
        is_seen = ~np.isnan(part)
        x = np.where(is_seen, part, 0.0).astype(np.float32)
        if x.min() < 0.0 or x.max() > 1.0:
            raise InputError(
                f"rows: expected numbers from 0 to 1; got {part[(x < 0) | (x > 1)][0]:g}."
            )
        seen = is_seen.astype(np.float32)
        part_weights = row_weights[first : first + len(part), None].astype(np.float32)
        first += len(part)
        pair_counts += (seen * part_weights).T @ seen
        first_counts += (x * part_weights).T @ seen
        joint_counts += (x * part_weights).T @ x
    # The pseudo-row is divided among the four states of a pair, so that no probability is 0.
    n = pair_counts + 1.0
    p_both = (joint_counts + 0.25) / n
    p_on = (first_counts + 0.5) / n
    information = np.zeros(shape)
    for p, p_first, p_second in (
        (p_both, p_on, p_on.T),
        (p_on - p_both, p_on, 1.0 - p_on.T),
        (p_on.T - p_both, 1.0 - p_on, p_on.T),
        (1.0 - p_on - p_on.T + p_both, 1.0 - p_on, 1.0 - p_on.T),
    ):
        p = np.maximum(p, np.finfo(float).tiny)  # a difference may round below 0
        information += p * np.log(p / (p_first * p_second))
    return information
