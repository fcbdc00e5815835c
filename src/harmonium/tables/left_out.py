"""Columns that no unit models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import AbstractColumn
from .frames import RawColumn


@dataclass(frozen=True, kw_only=True)
class LeftOut(AbstractColumn):
    """A column without a unit: a constant, an identifier, free text, or one without cells.

    Attributes:
        why: the reason.
        value: the value of all cells of a constant column, else None.
    """

    kind = "left out"
    why: str = "left out as told"
    value: Any = None

    @property
    def states(self) -> int:
        """0: no unit models the column."""
        return 0

    @property
    def summary(self) -> str:
        """The reason."""
        return self.why

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        """Return nothing known."""
        return np.full(len(raw.values), np.nan)

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return zeros: the column has no part in probabilities."""
        return np.zeros(len(raw.values))

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the constant, or missing cells."""
        return np.full(len(codes), self.value, object)
