"""`harmonium info`."""

from __future__ import annotations

from typing import Annotated

import typer

from .base import console, print_json, run_command
from .train import Json

INFO_HELP = """Say what a run folder, a model or a data source holds.

\b
Examples:
  harmonium info runs/digits
  harmonium info model.safetensors --json
  harmonium info rows.csv
"""


def info_cli(
    path: Annotated[str, typer.Argument(help="A run folder, a model, or a data source.")],
    as_json: Json = False,
) -> None:
    """Say what something is; its help text is INFO_HELP."""

    def command() -> None:
        from ..runs.info import info

        found = info(path)
        if as_json:
            print_json(found)
            return
        from rich.table import Table

        table = Table(show_header=False, box=None, pad_edge=False)
        for name, value in found.items():
            shown = "\n".join(value) if isinstance(value, list) else str(value)
            table.add_row(name.replace("_", " "), shown)
        console(False).print(table, highlight=False, markup=False)

    raise typer.Exit(run_command(command))
