"""An evaluation as a whole: what is written as JSON, printed, and shown in a run's report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from rich.table import Table
from rich.text import Text

from ...errors import count_of
from ..display import Display
from ..summaries import EvaluationTable, LogZSummary, ScoreSummary
from .base import AbstractBlock, NotKnown, row_noun
from .blocks import BLOCKS
from .likelihood import likelihood_lines, log_z_lines
from .pictures import Pictures
from .target import Target

DONE, INTERRUPTED = "done", "interrupted"


@dataclass(frozen=True, kw_only=True)
class ScoredRows:
    """The rows of an evaluation: which part is scored, how many they are, what was done to them."""

    name: str
    count: int
    notes: list[str]

    @classmethod
    def of(cls, target: Target) -> ScoredRows | None:
        """Return it for the rows of a target; None where there are none."""
        if target.data is None or target.name is None:
            return None
        notes = [target.data.about, *target.data.notes]
        return cls(name=target.name, count=len(target.parts[target.name]), notes=notes)


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The evaluation of a model.

    Attributes:
        run: the run folder or file, as the user named it.
        data: the rows, as the user named them; None for those of the run.
        model: the model in words.
        status: "done", or "interrupted".
        rows: the rows that are scored; None where there are none.
        log_z: log Z.
        log_likelihood: the log-likelihood of the rows; None where there are none.
        blocks: the result of each block by its name, or why there is none.
        pictures: the pictures that were drawn.
        seconds: running time of each stage by its name.
    """

    run: str
    data: str | None = None
    model: str
    status: str = DONE
    rows: ScoredRows | None = None
    log_z: LogZSummary
    log_likelihood: ScoreSummary | None = None
    blocks: Mapping[str, AbstractBlock | NotKnown]
    pictures: Pictures
    seconds: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the evaluation as a value of JSON, what is not known under "not_known"."""
        return {
            "run": self.run,
            "data": self.data,
            "model": self.model,
            "status": self.status,
            "rows": None if self.rows is None else asdict(self.rows),
            "log_z": asdict(self.log_z),
            "log_likelihood": None if self.log_likelihood is None else asdict(self.log_likelihood),
            **{name: result.to_json() for name, result in self.blocks.items()},
            "pictures": self.pictures.written,
            "pictures_left_out": self.pictures.left_out,
            "seconds": dict(self.seconds),
        }

    def heads(self) -> list[str]:
        """Return the lines above the table: the model, and the rows that are scored."""
        head = f"{self.run}: {self.model}"
        if self.rows is None:
            return [head, "no rows: name them as DATA to have them scored"]
        scored = f"scored on {count_of(self.rows.count, row_noun(self.rows.name))}"
        return [head, scored, *(f"  {note}" for note in self.rows.notes)]

    def sections(self) -> list[list[tuple[str, ...]]]:
        """Return the lines of the table, grouped."""
        sections: list[list[tuple[str, ...]]] = []
        sections.append([*likelihood_lines(self.log_likelihood)])
        sections.append([*log_z_lines(self.log_z)])
        for _, blocks in groupby(BLOCKS, lambda block: block.group):
            sections.append([line for b in blocks for line in self.blocks[b.name].lines()])
        return [section for section in sections if section]

    @property
    def table(self) -> EvaluationTable:
        """What the report of the run shows."""
        return EvaluationTable(heads=self.heads()[1:], sections=self.sections())

    def show(self, display: Display) -> None:
        """Print the evaluation as a table that a person can read and cite."""
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
