"""The complete result of an evaluation, and its forms: JSON, a printed table, and a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from ...errors import count_of
from ..display import Display
from ..summaries import DONE, EvaluationTable, LogZSummary, ScoreSummary
from .base import AbstractBlock, Line, NotKnown, row_noun
from .chains import Equilibrium, Mixing
from .likelihood import likelihood_lines, log_z_lines
from .pictures import Pictures
from .prediction import FreeEnergyGap, PredictedColumns, PseudoLikelihood, Reconstruction
from .samples import SampleQuality
from .target import Target

# In the order of measurement and printing: first the blocks that are most useful for the time they
# take. The blocks of a group are printed together in the table.
GROUPS: tuple[tuple[type[AbstractBlock], ...], ...] = (
    (PseudoLikelihood, Reconstruction, FreeEnergyGap),
    (PredictedColumns,),
    (Mixing, Equilibrium),
    (SampleQuality,),
)
BLOCKS = tuple(block for group in GROUPS for block in group)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The evaluation of a model.

    Attributes:
        target: the model and its rows.
        status: "done", or "interrupted".
        log_z: log Z.
        log_likelihood: the log-likelihood of the rows; None if there are no rows.
        blocks: the result of each block, or the reason for its absence, by name of the block.
        pictures: the pictures that were drawn.
        seconds: running time of each stage by its name.
    """

    target: Target
    status: str = DONE
    log_z: LogZSummary
    log_likelihood: ScoreSummary | None = None
    blocks: Mapping[str, AbstractBlock | NotKnown]
    pictures: Pictures
    seconds: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation in JSON types; a missing result is {"not_known": its reason}."""
        rows = None
        if self.target.scored is not None:
            count = len(self.target.scored)
            rows = {"name": self.target.name, "count": count, "notes": self.target.notes}
        score = self.log_likelihood
        return {
            "run": self.target.options.run,
            "data": self.target.options.data,
            "model": str(self.target.rbm),
            "status": self.status,
            "rows": rows,
            "log_z": asdict(self.log_z),
            "log_likelihood": None if score is None else asdict(score),
            **{name: result.to_json() for name, result in self.blocks.items()},
            "pictures": self.pictures.written,
            "pictures_left_out": self.pictures.left_out,
            "seconds": self.seconds,
        }

    def heads(self) -> list[str]:
        """Return the lines above the table: the model, and the rows that are scored."""
        head = f"{self.target.options.run}: {self.target.rbm}"
        if self.target.scored is None:
            return [head, "no rows: name rows as DATA to score them"]
        rows = count_of(len(self.target.scored), row_noun(str(self.target.name)))
        return [head, f"scored on {rows}", *(f"  {note}" for note in self.target.notes)]

    def sections(self) -> list[list[Line]]:
        """Return the table as lists of lines, one list for each group of blocks."""
        sections = [likelihood_lines(self.log_likelihood), log_z_lines(self.log_z)]
        for group in GROUPS:
            results = [self.blocks[block.name] for block in group]
            sections.append([line for result in results for line in result.lines()])
        return [section for section in sections if section]

    @property
    def table(self) -> EvaluationTable:
        """The table in the form in which the report of the run shows it."""
        return EvaluationTable(heads=self.heads()[1:], sections=self.sections())

    def show(self, display: Display) -> None:
        """Print the evaluation as a table, with the lines above it and the list of pictures."""
        for line in self.heads():
            display.say(line)
        grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        for _ in range(3):
            grid.add_column(overflow="fold")
        for section in self.sections():
            grid.add_row()
            for line in section:
                grid.add_row(*map(Text, line))
        display.console.print(grid, highlight=False)
        for line in self.pictures.lines():
            display.say(line)
