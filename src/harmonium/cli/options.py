"""Options shared by several commands."""

from __future__ import annotations

from typing import Annotated

from ..runs.options import Argument, Option

Json = Annotated[bool, Option("Print one JSON object and nothing else.", names=("--json",))]
Guard = Annotated[
    bool,
    Option(
        "Write ' before text cells that begin with =, +, - or @, which a spreadsheet would treat"
        " as formulas."
    ),
]
MustConverge = Annotated[bool, Option("Exit with status 3 if the chains did not converge.")]
Open = Annotated[bool, Option("Open the page in a browser.", names=("--open",))]
Overwrite = Annotated[bool, Option("Replace the file.")]
Model = Annotated[str, Argument("A run folder or a model.", "RUN")]
TableRun = Annotated[str, Argument("The folder of a run on a table.", "RUN")]
