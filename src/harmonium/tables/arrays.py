"""Arrays of numbers or objects, read as tables and given back as such arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .base_container import AbstractContainer
from .frames import Frame, RawColumn, frame_of_array
from .objects import Objects, column_of


def frame_in_array(array: np.ndarray, names: tuple[str, ...]) -> Frame:
    """Return the columns of an array of numbers, or of objects or words."""
    if array.dtype.kind not in "OUS":
        return frame_of_array(array, names)
    pairs = zip(names, array.T, strict=True)
    return Frame(tuple(column_of(name, cells.tolist()) for name, cells in pairs))


@dataclass(frozen=True, eq=False)
class ArrayLike(AbstractContainer):
    """An array.

    Attributes:
        dtype: its type of cell.
        objects: of an array of objects, what the cells of each column are.
    """

    dtype: np.dtype
    objects: tuple[Objects, ...] = ()

    @classmethod
    def of(cls, array: np.ndarray) -> ArrayLike:
        """Return the container of an array."""
        if array.dtype.kind not in "OUS":
            return cls(array.dtype)
        return cls(array.dtype, tuple(Objects.of(column.tolist()) for column in array.T))

    def rows(self, frame: Frame) -> np.ndarray:
        """Return an array of the same type; whole numbers for an array of integers."""
        return self._array(frame, self.dtype)

    def means(self, frame: Frame) -> np.ndarray:
        """Return an array of the same type; of real numbers for one of integers."""
        return self._array(frame, np.dtype(float) if self.dtype.kind in "biu" else self.dtype)

    def filled(self, data: Any, before: Frame, after: Frame) -> np.ndarray:
        """Return an array of the type of the data."""
        array = np.asarray(data)
        own = ArrayLike.of(array)
        filled = replace(own, objects=self.objects or own.objects)._array(after, own.dtype)
        for place, column in enumerate(before.columns):
            is_known = ~column.is_missing
            filled[is_known, place] = array[is_known, place]
        return filled

    def _array(self, frame: Frame, dtype: np.dtype) -> np.ndarray:
        if dtype.kind in "OUS" or not all(map(_is_of_numbers, frame.columns)):
            return self._array_of_objects(frame, dtype)
        numbers = np.stack([_numbers(column) for column in frame.columns], axis=1)
        if dtype.kind == "b":
            return numbers > 0.5
        if dtype.kind in "iu":
            ends = np.iinfo(dtype)
            return np.clip(np.rint(numbers), ends.min, ends.max).astype(dtype)
        return numbers.astype(dtype)

    def _array_of_objects(self, frame: Frame, dtype: np.dtype) -> np.ndarray:
        more = [Objects()] * (len(frame.columns) - len(self.objects))
        cells = np.empty((len(frame), len(frame.columns)), object)
        for place, objects in enumerate([*self.objects, *more]):
            cells[:, place] = objects.cells(frame.columns[place])
            # a missing cell is NaN in arrays, as scikit-learn takes it
            cells[frame.columns[place].is_missing, place] = np.nan
        return cells.astype(dtype.kind) if dtype.kind in "US" else cells


def _is_of_numbers(column: RawColumn) -> bool:
    return column.values.dtype.kind == "f" or bool(column.is_missing.all())


def _numbers(column: RawColumn) -> np.ndarray:
    """Return numbers, NaN for a column without a cell."""
    is_float = column.values.dtype.kind == "f"
    return column.values if is_float else np.full(len(column.values), np.nan)
