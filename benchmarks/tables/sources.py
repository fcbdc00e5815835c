"""Tables as they come and made ones: complete rows, and parts to learn from and to be judged by."""

from __future__ import annotations

import csv
import functools
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from made import MADE
from reference_data import reference

from harmonium import InputError
from harmonium.tables import Columns, Frame
from harmonium.tables.columns import AbstractColumn
from harmonium.tables.frames import RawColumn
from harmonium.tables.inference import columns_of
from harmonium.tables.text import open_text
from sklearn import datasets

MOST_MISSING = 0.5  # a column with a larger fraction of missing cells is dropped
TEST_FRACTION = 0.2


class Split(NamedTuple):
    """A table cut in two, and what its columns mean, as the training rows alone say.

    Attributes:
        train, test: the rows to learn from and to be judged by, all of their cells known.
        test_rows: the number of each test row in the table.
        columns: the columns.
        unknown: how many test rows were dropped for a word that no training row has.
    """

    train: Frame
    test: Frame
    test_rows: np.ndarray
    columns: Columns
    unknown: int


def file_of_reference(name: str) -> Frame:
    """Return a file of the reference data."""
    return open_text(reference(f"tables/{name}"), name).frame()


def of_sklearn(loaded: datasets.Bunch) -> Frame:
    """Return features and target of a data set of scikit-learn, by way of text."""
    target = loaded.target
    if "target_names" in loaded:
        target = np.array(loaded.target_names, object)[target]
    pairs = zip(loaded.data.tolist(), target.tolist(), strict=True)
    return of_cells([*loaded.feature_names, "target"], ([*cells, last] for cells, last in pairs))


def of_made(name: str) -> Frame:
    """Return a table that is made, the same one each time."""
    cells = MADE[name](np.random.default_rng(0))
    columns = [column.tolist() for column in cells.values()]
    return of_cells(list(cells), zip(*columns, strict=True))


def of_cells(names: list[str], rows: Iterable[Iterable[object]]) -> Frame:
    """Return a table by way of text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            writer.writerows(rows)
        return open_text(path, "rows.csv").frame()


TABLES: dict[str, Callable[[], Frame]] = {
    "wine": lambda: of_sklearn(datasets.load_wine()),
    "breast_cancer": lambda: of_sklearn(datasets.load_breast_cancer()),
    "diabetes": lambda: of_sklearn(datasets.load_diabetes(scaled=False)),
    "penguins": lambda: file_of_reference("penguins.csv"),
    "titanic": lambda: file_of_reference("titanic.csv"),
    "adult": lambda: file_of_reference("adult.data"),
    **{name: functools.partial(of_made, name) for name in MADE},
}


def mostly_known(frame: Frame) -> Frame:
    """Return the columns that are not mostly missing."""
    kept = tuple(raw for raw in frame.columns if raw.is_missing.mean() <= MOST_MISSING)
    return Frame(kept, frame.has_names)


def complete(frame: Frame, most_rows: int) -> Frame:
    """Return rows without missing cells, of columns that are not mostly missing.

    Of more than `most_rows`, so many are chosen at random.
    """
    reduced = mostly_known(frame)
    rows = np.flatnonzero(~np.any([raw.is_missing for raw in reduced.columns], axis=0))
    if len(rows) > most_rows:
        rows = np.sort(np.random.default_rng(0).choice(rows, most_rows, replace=False))
    return reduced.taken(rows)


def split(frame: Frame, seed: int) -> Split:
    """Hold a fifth of the rows out at random, and decide by the others what the columns are."""
    order = np.random.default_rng(seed).permutation(len(frame))
    held = round(TEST_FRACTION * len(frame))
    test_rows = np.sort(order[:held])
    train_rows = np.sort(order[held:])
    train = frame.taken(train_rows)
    test = frame.taken(test_rows)
    columns = columns_of(train)
    raw = {column.name: column for column in test.columns}
    bad = np.zeros(len(test), bool)
    for column in columns.modelled:
        bad |= _unknown(column, raw[column.name])
    known = np.flatnonzero(~bad)
    return Split(train, test.taken(known), test_rows[known], columns, int(bad.sum()))


def _unknown(column: AbstractColumn, raw: RawColumn) -> np.ndarray:
    """Return which cells the column has no code for."""
    _, first, place = np.unique(raw.values, return_index=True, return_inverse=True)
    bad = np.zeros(len(first), bool)
    for i, row in enumerate(first):
        try:
            column.codes(raw.taken(np.array([row])), "test")
        except InputError:
            bad[i] = True
    return bad[place]


def orders_of(columns: Columns) -> list[np.ndarray | None]:
    """Return the states of each modelled column of numbers by size; None for any other column."""
    return [np.array(part.order) if part.order else None for part in columns.modelled]
