"""The reconstruction error of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...evaluation import reconstruction_errors
from .base import MOST_ROWS, AbstractBlock, Line, ReportProgress, RowMean, figures, scored_rows
from .target import Target


@dataclass(frozen=True)
class Reconstruction(AbstractBlock):
    """The mean squared difference of rows after v → mean h → mean v.

    Attributes:
        error: of the rows to score, per column.
        variance: the mean variance of the columns of the same rows.
    """

    name = "reconstruction"
    title = "reconstruction error"
    group = "prediction"
    stage = "reconstruction"

    error: RowMean
    variance: float

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> Reconstruction:
        rows, name = scored_rows(target, MOST_ROWS)
        states = np.asarray(target.rbm.visible.encode(rows), np.float64)
        error = RowMean.of(reconstruction_errors(target.rbm, rows), name)
        return cls(error, float(states.var(axis=0).mean()))

    def to_json(self) -> dict[str, Any]:
        fields = {"kind": "mean squared difference", "variance": self.variance}
        return self.error.to_json() | fields

    def lines(self) -> list[Line]:
        explanation = "mean squared difference after v → mean h → mean v"
        return [
            (
                "reconstruction error",
                figures(self.error.value),
                f"{explanation}; {self.error.precision}",
            ),
            (
                "  rows' variance",
                figures(self.variance),
                "the error of a model that only knows the column means",
            ),
        ]
