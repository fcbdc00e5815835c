"""Tables of words, numbers and dates: columns with names, whose meaning is not decided here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np


class CellKind(StrEnum):
    """What the cells of a column were read as: its type of array, in a word."""

    NUMBERS = "numbers"
    DATES = "dates"
    WORDS = "words"


CELL_KINDS = {"f": CellKind.NUMBERS, "M": CellKind.DATES, "O": CellKind.WORDS}  # by kind of dtype
MISSING_CELLS = {
    CellKind.NUMBERS: np.nan,
    CellKind.DATES: np.datetime64("NaT", "us"),
    CellKind.WORDS: None,
}


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as it was read.

    Attributes:
        name: its name.
        values: float64 with NaN where a cell is missing, datetime64 with NaT, or an object array of
            text with None; shape (rows,).
        form: how text stands for the numbers or dates: a format of `datetime.strftime`; for numbers
            "$#" or "# %" for signs around all of them, "#," or "," for a decimal comma; else "".
        note: what a person should know about how it was read, or "".
        digits: after the point of each number as it is written; None if that differs from number to
            number.
        is_category: whether the source declared its cells as categories.
    """

    name: str
    values: np.ndarray
    form: str = ""
    note: str = ""
    digits: int | None = None
    is_category: bool = False

    @property
    def cell_kind(self) -> CellKind:
        """What its cells are: numbers, dates or words."""
        return CELL_KINDS[self.values.dtype.kind]

    @property
    def is_missing(self) -> np.ndarray:
        """Which cells are missing."""
        if self.cell_kind is CellKind.WORDS:
            return np.array([value is None for value in self.values], bool)
        if self.cell_kind is CellKind.NUMBERS:
            return np.isnan(self.values)
        return np.isnat(self.values)

    @property
    def known(self) -> np.ndarray:
        """The cells that are not missing."""
        return self.values[~self.is_missing]

    def taken(self, rows: np.ndarray) -> RawColumn:
        """Return the column of some rows."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of equal length, with different names.

    Attributes:
        columns: the columns, in order.
        has_names: whether the names are those of the source; else they are "column 1" and so on.
    """

    columns: tuple[RawColumn, ...]
    has_names: bool = True

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].values)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The names of the source; none if it has none."""
        return self.names if self.has_names else ()

    def named(self, names: tuple[str, ...]) -> Frame:
        """Return the same columns with other names."""
        pairs = zip(self.columns, names, strict=True)
        return Frame(tuple(replace(column, name=name) for column, name in pairs), self.has_names)

    def taken(self, rows: np.ndarray) -> Frame:
        """Return some rows."""
        return Frame(tuple(column.taken(rows) for column in self.columns), self.has_names)

    def without(self, name: str) -> Frame:
        """Return the columns but for one."""
        others = (column for column in self.columns if column.name != name)
        return Frame(tuple(others), self.has_names)

    def numbers(self) -> np.ndarray | None:
        """Return the columns side by side, integers if all are whole; None unless all are complete.

        Infinite numbers count as numbers.
        """
        matrix = self.with_gaps()
        if matrix is None or np.isnan(matrix).any():
            return None
        return as_whole_numbers(matrix)

    def with_gaps(self) -> np.ndarray | None:
        """Return the columns side by side, NaN where missing; None unless they are numbers."""
        if any(column.cell_kind is not CellKind.NUMBERS for column in self.columns):
            return None
        return np.stack([column.values for column in self.columns], axis=1)


def as_whole_numbers(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix of real numbers as integers if all are whole, else as it is."""
    is_whole = np.isfinite(matrix).all() and (matrix == np.rint(matrix)).all()
    # A float64 holds every whole number below 2⁵³.
    if is_whole and np.abs(matrix).max() < 2**53:
        return matrix.astype(np.int64)
    return matrix


def numbered_names(count: int) -> tuple[str, ...]:
    """Return the names of columns that have none: "column 1" and so on."""
    return tuple(f"column {i + 1}" for i in range(count))


def frame_of_array(array: np.ndarray, names: tuple[str, ...]) -> Frame:
    """Return the columns of numbers as a frame; columns without names are numbered."""
    pairs = zip(names or numbered_names(array.shape[1]), array.T, strict=True)
    columns = (RawColumn(name, values.astype(float)) for name, values in pairs)
    return Frame(tuple(columns), bool(names))


def with_gaps(values: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return a copy of cells, of words, dates or numbers, with some of them missing."""
    cells = values.copy()
    cells[missing] = MISSING_CELLS[CELL_KINDS[values.dtype.kind]]
    return cells


def words_of(raw: RawColumn) -> np.ndarray:
    """Return the cells as words, whole numbers without a point; None where one is missing."""
    cells = raw.values.tolist()
    if raw.cell_kind is CellKind.NUMBERS:
        cells = [_shortest(number) for number in np.nan_to_num(raw.values).tolist()]
    words = np.empty(len(cells), object)
    pairs = zip(cells, raw.is_missing, strict=True)
    words[:] = [None if is_missing else str(cell) for cell, is_missing in pairs]
    return words


def _shortest(number: float) -> str:
    if number == np.rint(number):
        return str(int(number))
    return repr(number)
