"""Columns that no unit models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import AbstractUnmodelled
from .frames import RawColumn
from .moments import is_date


@dataclass(frozen=True, kw_only=True)
class LeftOut(AbstractUnmodelled):
    """A column without a unit: a constant, an identifier, free text, or one without cells.

    Attributes:
        value: the value of all cells of a constant column, a date with the year first; else None.
    """

    kind = "left out"
    value: Any = None

    @classmethod
    def constant(cls, raw: RawColumn) -> LeftOut:
        """Return a column of which all cells that are there have one value."""
        missing = raw.is_missing
        value = raw.values[~missing].tolist()[0]
        if raw.values.dtype.kind == "M":
            value = str(raw.values[~missing][0])
        why = f"always {str(value)[:40]}"
        if raw.values.dtype.kind == "O" and missing.any():
            # An empty cell beside "yes" alone mostly means "no", so the value of all is not known.
            return cls(name=raw.name, form=raw.form, why=f"{why}, or empty")
        return cls(name=raw.name, form=raw.form, digits=raw.digits, why=why, value=value)

    @property
    def is_number(self) -> bool:
        """Whether the column is constant, and its value a number."""
        return isinstance(self.value, int | float)

    def merged(
        self, cells: Sequence[np.ndarray], rows: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the constant, or missing cells."""
        if self.is_number:
            return np.full(rows, float(self.value))
        if self.value is not None and is_date(self.form):
            return np.full(rows, np.datetime64(self.value, "us"))
        return np.full(rows, self.value, object)
