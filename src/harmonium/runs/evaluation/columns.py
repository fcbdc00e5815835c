"""How well each column of a table follows from the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...evaluation import ColumnScore, column_scores
from ..display import nats
from ..failures import NotMeasuredError
from .base import MOST_ROWS, AbstractBlock, Line, ReportProgress
from .target import Target

MOST_ROWS_SCORED = 1_000


@dataclass(frozen=True)
class PredictedColumns(AbstractBlock):
    """How well each column of a table is predicted from the others of its row.

    Attributes:
        rows: the name of the rows.
        columns: the score of each column.
    """

    name = "columns"
    title = ""  # most rows are no table, so the table of results has no line on it
    group = "columns"
    stage = "columns"

    rows: str
    columns: list[ColumnScore]

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> PredictedColumns:
        """Return it for the rows to score.

        Raises:
            NotMeasuredError: the rows are not those of a table.
        """
        columns = None if target.data is None else target.data.columns
        if columns is None or target.name is None:
            raise NotMeasuredError("the rows are plain numbers, not a table with named columns")
        rows = target.parts[target.name]
        codes = rows.some(MOST_ROWS_SCORED).rows()
        learned = target.parts.get("train", rows).some(MOST_ROWS).rows()
        scores = column_scores(target.rbm, columns, codes, learned, key=target.key_of(5))
        return cls(target.name, scores)

    def to_json(self) -> dict[str, Any]:
        return {"rows": self.rows, "columns": [score._asdict() for score in self.columns]}

    def lines(self) -> list[Line]:
        explanation = "log p of a cell given the others of its row, and of the column by itself"
        head = ("columns", "given the others", explanation)
        return [head, *(_line_of(score) for score in self.columns)]


def _line_of(score: ColumnScore) -> Line:
    value = f"{nats(score.log_p, 2)} ± {nats(score.stderr, 2)} nats"
    comparison = f"by itself {nats(score.alone, 2)}"
    if score.correct is not None:
        comparison += f"; {score.correct:.0%} right, {score.commonest:.0%} by the commonest"
    if score.error is not None:
        comparison += f"; error {score.error:.3g} of a spread of {score.spread:.3g}"
    return f"  {score.name}", value, comparison
