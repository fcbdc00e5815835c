"""Tables of words, numbers and dates: named columns before their types are inferred."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np


class CellKind(StrEnum):
    """The type of the cells of a column as read from its source: words, numbers or dates."""

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
    """A column as read from its source, before its type is inferred.

    Attributes:
        name: the name of the column.
        values: float64 with NaN for missing cells, datetime64 with NaT, or an object array of text
            with None; shape (rows,).
        form: the format of the cells in text. For dates, it is a format of `datetime.strftime`; for
            numbers, "$#" or "# %" if all have these symbols, and "#," or "," if they have a decimal
            comma; else "".
        note: a note for the user on how the column was read, or "".
        digits: the number of digits after the decimal point in text; None if it differs between
            numbers.
        is_category: whether the source declares the cells as categories.
    """

    name: str
    values: np.ndarray
    form: str = ""
    note: str = ""
    digits: int | None = None
    is_category: bool = False

    @property
    def cell_kind(self) -> CellKind:
        """The type of the cells: numbers, dates or words."""
        return CELL_KINDS[self.values.dtype.kind]

    @property
    def is_missing(self) -> np.ndarray:
        """A mask of the missing cells."""
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
        """Return the column restricted to the rows with these indices."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, eq=False)
class Frame:
    """A table: columns of equal length with distinct names.

    Attributes:
        columns: the columns, in order.
        has_names: whether the source has column names; otherwise they are "column 1" and so on.
        places: the indices of the rows in the source; None if all its rows are here.
    """

    columns: tuple[RawColumn, ...]
    has_names: bool = True
    places: np.ndarray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].values)

    @property
    def row_numbers(self) -> np.ndarray:
        """The numbers of the rows in the source, counted from 1."""
        return 1 + (np.arange(len(self)) if self.places is None else self.places)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def own_names(self) -> tuple[str, ...]:
        """The column names in the source, or () if it has none."""
        return self.names if self.has_names else ()

    def named(self, names: tuple[str, ...]) -> Frame:
        """Return the same columns with new names."""
        pairs = zip(self.columns, names, strict=True)
        return replace(self, columns=tuple(replace(column, name=name) for column, name in pairs))

    def taken(self, rows: np.ndarray) -> Frame:
        """Return the table restricted to the rows with these indices."""
        columns = tuple(column.taken(rows) for column in self.columns)
        return Frame(columns, self.has_names, self.row_numbers[rows] - 1)

    def without(self, name: str) -> Frame:
        """Return the table without the column of this name."""
        others = (column for column in self.columns if column.name != name)
        return replace(self, columns=tuple(others))

    def numbers(self) -> np.ndarray | None:
        """Return a matrix of the cells (integers if possible), or None if a cell is not a number.

        Infinite numbers count as numbers.
        """
        matrix = self.with_gaps()
        if matrix is None or np.isnan(matrix).any():
            return None
        return as_whole_numbers(matrix)

    def with_gaps(self) -> np.ndarray | None:
        """Return a matrix with NaN for missing cells, or None if any column is not numeric."""
        if any(column.cell_kind is not CellKind.NUMBERS for column in self.columns):
            return None
        return np.stack([column.values for column in self.columns], axis=1)


def as_whole_numbers(matrix: np.ndarray) -> np.ndarray:
    """Convert a matrix of real numbers to an integer dtype if all its entries are integers."""
    is_whole = np.isfinite(matrix).all() and (matrix == np.rint(matrix)).all()
    # float64 can represent every integer below 2⁵³.
    if is_whole and np.abs(matrix).max() < 2**53:
        return matrix.astype(np.int64)
    return matrix


def numbered_names(count: int) -> tuple[str, ...]:
    """Return names for unnamed columns: "column 1" and so on."""
    return tuple(f"column {i + 1}" for i in range(count))


def frame_of_array(array: np.ndarray, names: tuple[str, ...]) -> Frame:
    """Return a matrix of numbers as a table; columns without names are numbered."""
    pairs = zip(names or numbered_names(array.shape[1]), array.T, strict=True)
    columns = (RawColumn(name, values.astype(float)) for name, values in pairs)
    return Frame(tuple(columns), bool(names))


def with_gaps(values: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return a copy of cells (words, dates or numbers), with those in `missing` set to missing."""
    cells = values.copy()
    cells[missing] = MISSING_CELLS[CELL_KINDS[values.dtype.kind]]
    return cells


def words_of(raw: RawColumn) -> np.ndarray:
    """Convert cells to words; integers have no decimal point, and missing cells become None."""
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
