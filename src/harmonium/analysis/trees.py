"""The best tree of dependences: a yardstick between independent units and a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.checks import checked_beside, checked_rows
from .._base.statistics import weights_of
from .._base.trees import maximum_spanning_tree
from ..errors import InputError

PSEUDO_COUNT = 1.0  # spread over the cells of a pair of units
MOST_VALUES = 6_000  # of all columns, whose square is held


def tree_log_likelihood(train: Any, rows: Any, weights: Any = None) -> float:
    """Return the mean log-likelihood of rows under the Chow-Liu tree of training rows, in nats.

    Of all distributions in which each column depends on one other column at most, it is the one
    with the highest likelihood of the training rows (but for a pseudo-count of one row for each
    pair). It needs no estimate, and so it is a yardstick for models that do.

    Args:
        train: rows of discrete values, such as codes, that the tree is made of.
        rows: rows to score. Values that occur neither here nor in `train` count as impossible.
        weights: sample weights of the training rows.

    Raises:
        InputError: too many different values, missing values, or rows that do not match.

    Example:
        >>> rows = hm.bars_and_stripes(3)
        >>> round(hm.analysis.tree_log_likelihood(rows, rows), 2)  # without a tree −9 log 2 = −6.24
        -5.2

    Source: Chow & Liu 1968.
    """
    rows = checked_rows(rows, "rows")
    train = checked_beside(train, "train", rows)
    codes, counts = _codes(np.concatenate([train, rows]))
    learned = codes[: len(train)]
    scored = codes[len(train) :]
    first = np.cumsum([0, *counts[:-1]])
    row_weights = weights_of(len(learned), weights)
    n = float(row_weights.sum())
    one_hot = np.zeros((len(learned), sum(counts)), np.float32)
    np.put_along_axis(one_hot, learned + first, 1.0, axis=1)
    pairs = (one_hot.T * row_weights.astype(np.float32)) @ one_hot
    size = np.repeat(np.asarray(counts, float), counts)
    p_pairs = (pairs + PSEUDO_COUNT / (size[:, None] * size)) / (n + PSEUDO_COUNT)
    p = (np.diag(pairs) + PSEUDO_COUNT / size) / (n + PSEUDO_COUNT)
    terms = p_pairs * np.log(p_pairs / (p[:, None] * p))
    mutual_information = np.add.reduceat(np.add.reduceat(terms, first, 0), first, 1)
    order, parents = maximum_spanning_tree(mutual_information)
    root = order[0]
    log_p = np.log(p[scored[:, root] + first[root]])
    for i in order[1:]:
        j = parents[i]
        joint = p_pairs[first[j] : first[j] + counts[j], first[i] : first[i] + counts[i]]
        conditional = np.log(joint / joint.sum(1, keepdims=True))
        log_p = log_p + conditional[scored[:, j], scored[:, i]]
    return float(log_p.mean())


def _codes(rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Return the number of each column's value in each row, and each column's number of values."""
    uniques = [np.unique(column, return_inverse=True) for column in rows.T]
    counts = [len(values) for values, _ in uniques]
    if sum(counts) > MOST_VALUES or not np.isfinite(rows).all():
        raise InputError(
            f"tree_log_likelihood: expected discrete values, at most {MOST_VALUES:,} in all"
            f" columns, none missing; got {sum(counts):,}."
        )
    return np.stack([codes for _, codes in uniques], axis=1), counts
