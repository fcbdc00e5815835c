"""`harmonium info`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import printable
from .base import print_json, run_command, typed
from .options import Header, Missing, Separator, Skip, number, text_options, word
from .train import Json

INFO_HELP = """Describe what a run folder, a model or a data source holds.

\b
Examples:
  harmonium info runs/digits
  harmonium info model.safetensors --json
  harmonium info rows.csv
  harmonium info codes.csv --visible potts
"""


def info_cli(
    path: Annotated[
        str, typer.Argument(metavar="PATH", help="A run folder, a model, or a data source.")
    ],
    visible: Annotated[
        str, word("--visible", help="Kind of visible units to read the data for, as in train.")
    ] = "auto",
    scale: Annotated[
        float | None,
        number("--scale", help="The grey level that means 1, if not 255."),
    ] = None,
    header: Header = None,
    separator: Separator = None,
    missing: Missing = None,
    skip: Skip = None,
    as_json: Json = False,
) -> None:
    """Describe a run, a model or a data source; its help text is INFO_HELP."""

    def command() -> None:
        from ..runs.info import UNFINISHED, info

        found = info(path, visible, scale, text_options(header, separator, missing, skip))
        if as_json:
            print_json(found)
            return
        if found.get("state") == UNFINISHED:
            found["state"] = f"{UNFINISHED}; go on with: {typed('resume', found['run'])}"
        for name, value in found.items():
            _print_entry(name.replace("_", " "), value)

    raise typer.Exit(run_command(command))


def _print_entry(name: str, value: Any) -> None:
    """Print a name and its value; the items of a list on separate lines."""
    for line in value if isinstance(value, list) else [value]:
        print(f"{name:<12}  {printable(str(line))}")  # a line break in a name begins no entry
        name = ""
