"""Measure how well a model predicts single units, reconstructs rows, and generalises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...evaluation import (
    ColumnScore,
    column_scores,
    pseudo_log_likelihoods,
    reconstruction_errors,
)
from ...layers.capabilities import n_targets
from ...likelihood.scoring import free_energies
from ..display import nats
from ..failures import NotMeasuredError
from .base import (
    MOST_ROWS,
    AbstractBlock,
    Line,
    ReportProgress,
    RowMean,
    figures,
    row_noun,
    scored_rows,
)
from .target import Target

WORK = 2**30  # rows × visible columns × hidden columns: about five seconds on two cores
# if each unit is predicted in turn
FEWEST_ROWS = 100
MOST_ROWS_IN_TURN = 4_000
MOST_ROWS_OF_COLUMNS = 1_000
STANDARD_ERRORS = 2.0  # a gap is reported only if it exceeds this many standard errors


@dataclass(frozen=True)
class PseudoLikelihood(AbstractBlock):
    """The pseudo-log-likelihood: the mean over rows of Σ_i log p(v_i | all other visible units).

    Attributes:
        mean: the mean over rows, in nats per row.
        per_unit: the mean per visible unit, in nats.
    """

    name = "pseudo_log_likelihood"
    title = "pseudo-log-likelihood"
    stage = "pseudo-likelihood"

    mean: RowMean
    per_unit: float

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> PseudoLikelihood:
        """Score the rows, or only as many rows as can be scored in about five seconds.

        Raises:
            NotMeasuredError: there are no rows, or the visible units are not discrete.
        """
        visible = target.rbm.visible
        if visible.n_states is None:
            raise NotMeasuredError(f"it needs discrete visible units, and {visible} has others")
        affordable = max(FEWEST_ROWS, WORK // (visible.size * target.rbm.hidden.size))
        rows, name = scored_rows(target, min(MOST_ROWS_IN_TURN, affordable))
        mean = RowMean.of(pseudo_log_likelihoods(target.rbm, rows), name)
        return cls(mean, mean.value / n_targets(visible))

    def to_json(self) -> dict[str, Any]:
        return self.mean.to_json() | {"per_unit": self.per_unit}

    def lines(self) -> list[Line]:
        value = f"{nats(self.mean.value, 3)} nats per row"
        explanation = "log p of each unit given all others, exact, summed over units"
        explanation += f"; {self.mean.precision}"
        per_unit = f"{nats(self.per_unit, 4)} nats"
        return [("pseudo-log-likelihood", value, explanation), ("  per unit", per_unit, "")]


@dataclass(frozen=True)
class Reconstruction(AbstractBlock):
    """The mean squared error of rows reconstructed as v → E[h | v] → E[v | h].

    Attributes:
        error: the mean over the scored rows of the squared error per column.
        variance: the variance of a column over the scored rows, averaged over columns.
    """

    name = "reconstruction"
    title = "reconstruction error"
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
        explanation = f"mean squared difference after v → mean h → mean v; {self.error.precision}"
        comparison = "the error of a model that only knows the column means"
        return [
            ("reconstruction error", figures(self.error.value), explanation),
            ("  rows' variance", figures(self.variance), comparison),
        ]


@dataclass(frozen=True)
class FreeEnergyGap(AbstractBlock):
    """The free-energy gap: mean free energy of held-out rows minus that of training rows.

    Attributes:
        learned: the mean free energy of training rows, in nats.
        held_out: the mean free energy of rows on which the model was not trained, in nats.
    """

    name = "free_energy_gap"
    title = "free-energy gap"
    stage = "free-energy gap"

    learned: RowMean
    held_out: RowMean

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> FreeEnergyGap:
        """Compute the mean free energies of the training rows and held-out rows of a run.

        Raises:
            NotMeasuredError: training rows or held-out rows are not available.
        """
        names = target.learned_and_held_out
        if names is None:
            reason = "held out" if target.own else "that the model is known to have learned from"
            raise NotMeasuredError(f"there are no rows {reason}")

        def mean_over(name: str) -> RowMean:
            rows = target.rows(name, MOST_ROWS)
            return RowMean.of(free_energies(target.rbm, rows, key=target.key_of(4)), name)

        return cls(mean_over(names[0]), mean_over(names[1]))

    @property
    def value(self) -> float:
        """The gap, in nats per row."""
        return self.held_out.value - self.learned.value

    @property
    def stderr(self) -> float:
        """The standard error of the gap, which is the difference of two independent means."""
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
            verdict = "the rows differ: the model favours rows that it has not seen"
        else:
            verdict = "no sign that the model favours rows that it has seen"
        difference = f"{self.held_out.rows} minus {row_noun(self.learned.rows)}s"
        value = f"{nats(self.value, 3)} ± {nats(self.stderr, 3)} nats"
        return [("free-energy gap", value, f"{difference}: {verdict}")]


@dataclass(frozen=True)
class PredictedColumns(AbstractBlock):
    """How well the model predicts each column of a table from the other columns.

    Attributes:
        rows: the name of the part of the rows that is scored, such as "test".
        columns: the score of each column.
    """

    name = "columns"
    title = ""  # most data are not tables, so no line reports a missing result
    stage = "columns"

    rows: str
    columns: list[ColumnScore]

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> PredictedColumns:
        """Measure how well each column is predicted, averaged over the rows to score.

        Raises:
            NotMeasuredError: the rows do not belong to a table.
        """
        columns = None if target.data is None else target.data.columns
        if columns is None or target.name is None:
            raise NotMeasuredError("the rows are plain numbers, not a table with named columns")
        rows = target.parts[target.name]
        codes = rows.some(MOST_ROWS_OF_COLUMNS).rows()
        learned = target.parts.get("train", rows).some(MOST_ROWS).rows()
        scores = column_scores(target.rbm, columns, codes, learned, key=target.key_of(5))
        return cls(target.name, scores)

    def to_json(self) -> dict[str, Any]:
        return {"rows": self.rows, "columns": [score._asdict() for score in self.columns]}

    def lines(self) -> list[Line]:
        explanation = "log p of a cell given the other cells of its row, and without them"
        head = ("columns", "given the others", explanation)
        return [head, *(_line_of(score) for score in self.columns)]


def _line_of(score: ColumnScore) -> Line:
    value = f"{nats(score.log_p, 2)} ± {nats(score.stderr, 2)} nats"
    comparison = f"without them {nats(score.alone, 2)}"
    if score.correct is not None:
        comparison += f"; {score.correct:.0%} right, {score.commonest:.0%} by the commonest"
    if score.error is not None:
        comparison += f"; error {score.error:.3g} of a spread of {score.spread:.3g}"
    return f"  {score.name}", value, comparison
