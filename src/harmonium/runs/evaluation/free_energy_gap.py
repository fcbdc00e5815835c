"""The free energies of held-out rows against those of training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...likelihood import free_energies
from ..display import nats
from ..failures import NotMeasuredError
from .base import (
    MOST_ROWS,
    AbstractBlock,
    Line,
    ReportProgress,
    RowMean,
    row_noun,
)
from .target import Target

STANDARD_ERRORS = 2.0  # beyond which a gap is reported as one


@dataclass(frozen=True)
class FreeEnergyGap(AbstractBlock):
    """⟨F⟩ of held-out rows minus ⟨F⟩ of training rows.

    Attributes:
        learned: the mean over training rows, nats.
        held_out: the mean over rows that the model has not seen, nats.
    """

    name = "free_energy_gap"
    title = "free-energy gap"
    group = "prediction"
    stage = "free-energy gap"

    learned: RowMean
    held_out: RowMean

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> FreeEnergyGap:
        """Return it for the rows of a run.

        Raises:
            NotMeasuredError: training rows or held-out rows are not available.
        """
        names = target.learned_and_held_out
        if names is None:
            reason = "held out" if target.own else "that the model is known to have learned from"
            raise NotMeasuredError(f"there are no rows {reason}")

        def mean_over(name: str) -> RowMean:
            rows = target.rows(name, MOST_ROWS)
            return RowMean.of(free_energies(target.rbm, rows), name)

        return cls(mean_over(names[0]), mean_over(names[1]))

    @property
    def value(self) -> float:
        """The gap, nats per row."""
        return self.held_out.value - self.learned.value

    @property
    def stderr(self) -> float:
        """Its standard error: those of two means over independent rows."""
        return float(np.hypot(self.held_out.stderr_rows, self.learned.stderr_rows))

    def to_json(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "stderr": self.stderr,
            "rows": self.held_out.rows,
            "n_rows": self.held_out.n_rows,
            "learned_from": self.learned.rows,
            "n_learned_from": self.learned.n_rows,
        }

    def lines(self) -> list[Line]:
        if self.value > STANDARD_ERRORS * self.stderr:
            verdict = "the model favours rows that it has seen"
        elif self.value < -STANDARD_ERRORS * self.stderr:
            verdict = "the rows differ: the model favours those that it has not seen"
        else:
            verdict = "no sign that it favours rows that it has seen"
        difference = f"{self.held_out.rows} minus {row_noun(self.learned.rows)}s"
        value = f"{nats(self.value, 3)} ± {nats(self.stderr, 3)} nats"
        return [("free-energy gap", value, f"{difference}: {verdict}")]
