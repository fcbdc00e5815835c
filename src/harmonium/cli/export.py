"""`harmonium export`."""

from __future__ import annotations

from typing import Annotated

import typer

from .base import display, print_json, run_command
from .train import Json

EXPORT_HELP = """Write a model in a format that other programs read.

The ending of OUT names the format: .safetensors (any model), .npz (W, a and b), .h5 (the rbms
package), .pt (a PyTorch state dict), .json (a quadratic model for annealers and p-bit hardware,
which dimod reads). RUN may be a file in any of these formats but the last; FILE.h5:update_100 picks
an update.

\b
Examples:
  harmonium export runs/digits digits.h5
  harmonium export runs/spins spins.json --overwrite
  harmonium export theirs.h5:update_1000 ours.safetensors
"""


def export_cli(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model.")],
    out: Annotated[str, typer.Argument(metavar="OUT", help="File to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    as_json: Json = False,
) -> None:
    """Write a model to a file; its help text is EXPORT_HELP."""

    def command() -> None:
        from ..runs.export import export

        summary = export(run, out, overwrite)
        if as_json:
            print_json(summary)
        else:
            written = f"{summary['model']} written to {out}, {summary['bytes']:,} bytes"
            display(as_json).say(written)

    raise typer.Exit(run_command(command))
