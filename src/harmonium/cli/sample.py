"""`harmonium sample`."""

from __future__ import annotations

from typing import Annotated

import typer

from .base import console, print_json, run_command
from .train import Json

SAMPLE_HELP = """Draw rows from a machine.

Without --out they are printed as CSV; its suffix says how they are written: .npy, .npz, .csv, or
.png for a picture.

\b
Examples:
  harmonium sample runs/digits -n 100 --out samples.npy
  harmonium sample runs/digits -n 64 --out samples.png
  harmonium sample model.npz -n 5 --sweeps 10000
"""


def sample_cli(
    run: Annotated[str, typer.Argument(help="A run folder or a model.")],
    n: Annotated[int, typer.Option("-n", "--count", help="Number of rows.")] = 64,
    sweeps: Annotated[int, typer.Option(help="Gibbs sweeps of each chain.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.")] = 0,
    given: Annotated[
        str | None,
        typer.Option(help="A .csv or .npy of rows to complete, nan where a value is to be drawn."),
    ] = None,
    out: Annotated[str | None, typer.Option(help="File to write.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    as_json: Json = False,
) -> None:
    """Draw rows; its help text is SAMPLE_HELP."""

    def command() -> None:
        from ..runs.sample import draw_rows, write_rows

        rows, shape = draw_rows(run, n, sweeps, seed, given, out, overwrite)
        summary = {"run": run, "rows": len(rows), "columns": rows.shape[1], "out": out}
        if out is not None:
            write_rows(rows, out, shape)
            console(as_json).print(f"{len(rows)} rows written to {out}", highlight=False)
        elif not as_json:
            for row in rows.tolist():
                print(",".join(f"{value:g}" for value in row))
        if as_json:
            print_json(summary if out else summary | {"values": rows.tolist()})

    raise typer.Exit(run_command(command))
