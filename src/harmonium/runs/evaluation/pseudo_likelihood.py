"""The pseudo-log-likelihood of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...evaluation import pseudo_log_likelihoods
from ..display import nats
from ..failures import NotMeasuredError
from .base import AbstractBlock, Line, ReportProgress, RowMean, scored_rows
from .target import Target

WORK = 2**30  # rows × visible columns × hidden columns: about five seconds on two cores
FEWEST_ROWS, MOST_ROWS = 100, 4_000


@dataclass(frozen=True)
class PseudoLikelihood(AbstractBlock):
    """The mean over rows of Σ_i log p(v_i | all other units), exact.

    Attributes:
        mean: nats per row.
        per_unit: nats per visible unit.
    """

    name = "pseudo_log_likelihood"
    title = "pseudo-log-likelihood"
    group = "prediction"
    stage = "pseudo-likelihood"

    mean: RowMean
    per_unit: float

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> PseudoLikelihood:
        """Return it for the rows to score, or for as many as take about five seconds.

        Raises:
            NotMeasuredError: there are no rows, or the visible units are not discrete.
        """
        visible = target.rbm.visible
        if visible.n_states is None:
            raise NotMeasuredError(f"it needs discrete visible units, and {visible} has others")
        affordable = max(FEWEST_ROWS, WORK // (visible.size * target.rbm.hidden.size))
        rows, name = scored_rows(target, min(MOST_ROWS, affordable))
        mean = RowMean.of(pseudo_log_likelihoods(target.rbm, rows), name)
        return cls(mean, mean.value / visible.n_units)

    def to_json(self) -> dict[str, Any]:
        return self.mean.to_json() | {"per_unit": self.per_unit}

    def lines(self) -> list[Line]:
        explanation = "log p of each unit given all others, exact, summed over units"
        return [
            (
                "pseudo-log-likelihood",
                f"{nats(self.mean.value, 3)} nats per row",
                f"{explanation}; {self.mean.precision}",
            ),
            ("  per unit", f"{nats(self.per_unit, 4)} nats", ""),
        ]
