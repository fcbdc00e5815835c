"""Columns that no unit models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import AbstractColumn, AbstractPart
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
    def summary(self) -> str:
        """The reason."""
        return self.why

    @property
    def parts(self) -> tuple[AbstractPart, ...]:
        """None: no unit models the column."""
        return ()

    def split(self, raw: RawColumn, label: str) -> tuple[RawColumn, ...]:
        """Return nothing."""
        return ()

    def merged(
        self, cells: Sequence[np.ndarray], rows: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return the constant, or missing cells."""
        return np.full(rows, self.value, object)

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return zeros: the column has no part in probabilities."""
        return np.zeros(len(raw.values))
