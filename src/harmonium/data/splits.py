"""Splitting a table into datasets of training, validation and test rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from ..errors import InputError, count_of
from .dataset import Dataset, entries_of
from .kinds import Kind
from .table import Table

__all__ = ["split_off"]

BINARIZE = ("stochastic", "threshold", "none")
FEWEST_ROWS_TO_SPLIT = 10
FEWEST_ROWS_TO_HOLD_OUT = 50  # with fewer rows, all are used for training
FEW_ROWS = 500  # data sets with fewer rows are cross-validated by default instead of split
USUAL_FRACTION = 0.1
# If whole groups provide less than this fraction of the rows to hold out, single rows are held out.
SMALLEST_SHARE = 0.5


def split_off(table: Table, fraction: float, *, seed: int) -> tuple[Table, np.ndarray | None]:
    """Hold out a random part of the training rows for validation.

    Args:
        table: The table; it is not changed.
        fraction: The fraction of the rows to hold out, in [0, 1); at least one row is held out.
        seed: The random seed for the choice of the rows.

    Returns:
        The table of the remaining rows, and the held-out rows, both in the original order and
        coding. If `fraction` is 0 or the table is exhaustive, the held-out rows are None and the
        table is unchanged. If the source has its own validation rows, these are returned as the
        held-out rows.

    Raises:
        InputError: `fraction` is outside [0, 1), or there are fewer than 10 rows.

    Example:
        >>> table = hm.data.as_table(np.eye(20), name="eye")
        >>> rest, held_out = hm.data.split_off(table, 0.1, seed=0)
        >>> rest.train.shape, held_out.shape
        ((18, 20), (2, 20))
    """
    _check_fraction(table, fraction)
    if fraction == 0 or table.exhaustive:
        return table, None
    if table.validation is not None:
        return table, table.validation
    train, held_out, note = _split(table, fraction, seed=seed)
    remaining = replace(
        table,
        train=table.train[train],
        labels=entries_of(table.labels, train),
        weights=entries_of(table.weights, train),
        groups=entries_of(table.groups, train),
        notes=(*table.notes, note),
    )
    return remaining, table.train[held_out]


def datasets_of(
    table: Table, *, validation: float | Literal["auto"], binarize: str, seed: int
) -> tuple[dict[str, Dataset], tuple[str, ...]]:
    """Store a table's rows in datasets: "train" and, if present, "validation" and "test".

    Args:
        table: the table; only the stored rows are copied.
        validation: the fraction of the training rows to hold out, in [0, 1), or "auto" for
            `usual_fraction`; with fewer than fifty rows, none are held out.
        binarize: how grey levels are binarised: "stochastic", "threshold" or "none".
        seed: the seed for the choice of the held-out rows.

    Returns:
        A dictionary of the datasets by name, and notes: one sentence for each step taken.

    Raises:
        InputError: `validation` is outside [0, 1).
    """
    few = ""
    if validation == "auto":
        is_weighted = table.weights is not None
        validation = usual_fraction(len(table.train), can_cross_validate=not is_weighted)
        if not validation:
            few = "too few to hold any out: they are cross-validated"
    _check_fraction(table, validation)
    given: dict[str, tuple[np.ndarray, np.ndarray | None]] = {"train": (table.train, None)}
    notes: tuple[str, ...] = ()
    if table.validation is not None and not table.exhaustive and few:
        validation = USUAL_FRACTION
        few = ""
    if few and not table.exhaustive:
        notes = (f"{table.name}: {count_of(len(table.train), 'row')}, {few}.",)
    if validation and not table.exhaustive:
        if table.validation is not None:
            given["validation"] = (table.validation, None)
        elif len(table.train) >= FEWEST_ROWS_TO_HOLD_OUT:
            train, held_out, note = _split(table, validation, seed=seed)
            given["train"] = (table.train, train)
            given["validation"] = (table.train, held_out)
            notes = (note,)
        else:
            rows = count_of(len(table.train), "row")
            notes = (f"{table.name}: {rows}, too few to hold any out.",)
    if table.test is not None:
        given["test"] = (table.test, None)
    parts = {}
    for name, (rows, which) in given.items():
        weights = None
        # Training rows and held-out rows both keep their weights, since held-out clusters vary in
        # size as much as training clusters do, and the weight of a row is the same in either part.
        if rows is table.train:
            weights = table.weights
        parts[name] = dataset_of(table, rows, binarize, which, weights, table.log_density)
    return parts, (*notes, *note_on_levels(table, binarize))


def usual_fraction(rows: int, *, can_cross_validate: bool) -> float:
    """Return the fraction of rows to hold out by default, given the number of rows.

    A tenth of a few hundred rows is too few to base a decision on, yet too many to lose for
    training. Such small data sets are cross-validated instead, if rows have no weights.
    """
    if can_cross_validate and rows < FEW_ROWS:
        return 0.0
    return USUAL_FRACTION


def dataset_of(
    table: Table,
    rows: np.ndarray,
    binarize: str,
    which: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    log_density: np.ndarray | None = None,
) -> Dataset:
    """Return a dataset of all or some rows, with grey levels treated according to `binarize`."""
    if binarize not in BINARIZE:
        expected = f"one of {', '.join(BINARIZE)}"
        raise InputError(f"{table.name}: binarize: expected {expected}; got {binarize!r}.")
    scale = 1.0
    if table.kind == Kind.GREY and binarize == "threshold":
        rows = rows >= 0.5 * table.scale
    elif table.kind == Kind.GREY:
        scale = table.scale
    return Dataset(
        rows,
        entries_of(weights, which),
        scale=scale,
        stochastic=binarize == "stochastic" and table.kind == Kind.GREY,
        which=which,
        log_density=entries_of(log_density, which),
        name=table.name,
    )


def note_on_levels(table: Table, binarize: str) -> tuple[str, ...]:
    """Return a note on how grey levels are used, as a tuple; () if the table has no grey levels."""
    said = {
        "threshold": "grey levels of at least one half count as 1, others as 0.",
        "stochastic": "pixels are drawn as 0 or 1 from their grey level at each visit.",
    }
    plain = "grey levels are used unchanged; scores of such rows are not probabilities."
    if table.kind != Kind.GREY:
        return ()
    return (f"{table.name}: {said.get(binarize, plain)}",)


def _check_fraction(table: Table, fraction: float) -> None:
    if not 0 <= fraction < 1:
        raise InputError(
            f"{table.name}: expected a validation fraction in [0, 1); got {fraction}; give a"
            " fraction of the rows such as 0.1, or 0 to hold out none."
        )


def _split(table: Table, fraction: float, *, seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the indices of the training rows and of the held-out rows, and a note on the split."""
    rows = len(table.train)
    if table.groups is not None:
        held_out = held_out_groups(table.groups, fraction, seed=seed)
        if len(held_out) >= SMALLEST_SHARE * fraction * rows:
            words = "sequences held out for validation, none of them similar to a training sequence"
            if table.is_series:
                words = "rows held out for validation, in blocks of successive rows"
            note = f"{table.name}: {len(held_out):,} of {rows:,} {words}."
            return np.setdiff1d(np.arange(rows), held_out), held_out, note
    if rows < FEWEST_ROWS_TO_SPLIT:
        raise InputError(
            f"{table.name}: expected at least {FEWEST_ROWS_TO_SPLIT} rows to hold some out for"
            f" validation; got {rows}; give more rows, or a validation fraction of 0."
        )
    rarity = None
    if table.columns is not None:
        rarity = rarity_of(table.train, fraction)
    train, held_out = held_out_rows(rows, fraction, seed=seed, rarity=rarity)
    note = f"{table.name}: {len(held_out):,} of {rows:,} rows held out for validation"
    if table.groups is not None:
        note += "; most sequences are alike, so some resemble training sequences"
    return train, held_out, f"{note}."


def held_out_groups(groups: np.ndarray, fraction: float, *, seed: int) -> np.ndarray:
    """Return the sorted indices of the rows to hold out: whole groups, chosen in random order.

    A group is skipped if holding it out would exceed the given fraction of the rows.
    """
    sizes = np.bincount(groups)
    left = round(fraction * len(groups))
    taken = np.zeros(len(sizes), bool)
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        if sizes[group] <= left:
            taken[group] = True
            left -= sizes[group]
    return np.flatnonzero(taken[groups])


def held_out_rows(
    rows: int, fraction: float, *, seed: int, rarity: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the training rows and of the held-out rows, at least one of each.

    Both arrays are sorted, so that files are read sequentially. If rarities are given, the choice
    is stratified by rarity: a purely random choice might hold out all or none of the rows with a
    rare word.

    Args:
        rows: the number of rows.
        fraction: the fraction to hold out.
        seed: the random seed for the choice.
        rarity: the rarity of each row, from `rarity_of`; None for a purely random choice.
    """
    count = min(max(1, round(fraction * rows)), rows - 1)
    rng = np.random.default_rng(seed)
    order = rng.permutation(rows)
    chosen = order[:count]
    if rarity is not None:
        order = order[np.argsort(rarity[order], kind="stable")]
        ends = np.linspace(0, rows, count + 1).astype(int)
        chosen = order[rng.integers(ends[:-1], ends[1:])]
    return np.setdiff1d(np.arange(rows), chosen), np.sort(chosen)


def rarity_of(rows: np.ndarray, fraction: float) -> np.ndarray:
    """Return the rarity of each row, −Σ log(number of rows with its value in a column), shape (n,).

    The sum is over columns. A column is ignored if it has so many different values, such as numbers
    with many digits, that fewer than one row per value would be held out.
    """
    total = np.zeros(len(rows))
    for column in rows.T:
        _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
        if len(counts) <= fraction * len(rows):
            total -= np.log(counts[places])
    return total
