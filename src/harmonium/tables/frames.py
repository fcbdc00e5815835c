"""Tables of words, numbers and dates: columns with names, whose meaning is not decided here."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


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
    def is_missing(self) -> np.ndarray:
        """Which cells are missing."""
        if self.values.dtype.kind == "O":
            return np.array([value is None for value in self.values], bool)
        return np.isnan(self.values) if self.values.dtype.kind == "f" else np.isnat(self.values)

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

    def named(self, names: tuple[str, ...]) -> Frame:
        """Return the same columns with other names."""
        pairs = zip(self.columns, names, strict=True)
        return Frame(tuple(replace(column, name=name) for column, name in pairs), self.has_names)

    def taken(self, rows: np.ndarray) -> Frame:
        """Return some rows."""
        return Frame(tuple(column.taken(rows) for column in self.columns), self.has_names)

    def numbers(self) -> np.ndarray | None:
        """Return the columns side by side, integers if all are whole; None unless all are complete.

        Infinite numbers count as numbers.
        """
        found = self.with_gaps()
        if found is None or np.isnan(found).any():
            return None
        is_whole = np.isfinite(found).all() and (found == np.rint(found)).all()
        return found.astype(np.int64) if is_whole and abs(found).max() < 2**53 else found

    def with_gaps(self) -> np.ndarray | None:
        """Return the columns side by side, NaN where missing; None unless they are numbers."""
        if any(column.values.dtype.kind != "f" for column in self.columns):
            return None
        return np.stack([column.values for column in self.columns], axis=1)


def frame_of_array(array: np.ndarray, names: tuple[str, ...]) -> Frame:
    """Return the columns of numbers as a frame."""
    given = names or tuple(f"column {i + 1}" for i in range(array.shape[1]))
    columns = (RawColumn(n, c.astype(float)) for n, c in zip(given, array.T, strict=True))
    return Frame(tuple(columns), bool(names))


def with_gaps(values: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Return a copy of cells, of words, dates or numbers, with some of them missing."""
    found = values.copy()
    found[missing] = {"O": None, "M": np.datetime64("NaT", "us")}.get(values.dtype.kind, np.nan)
    return found


def words_of(raw: RawColumn) -> np.ndarray:
    """Return the cells as words, whole numbers without a point; None where one is missing."""
    cells = raw.values.tolist()
    if raw.values.dtype.kind == "f":
        cells = [
            str(int(x)) if x == np.rint(x) else repr(x) for x in np.nan_to_num(raw.values).tolist()
        ]
    found = np.empty(len(cells), object)
    found[:] = [None if gap else str(x) for x, gap in zip(cells, raw.is_missing, strict=True)]
    return found
