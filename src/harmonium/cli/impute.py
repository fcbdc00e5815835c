"""`harmonium impute`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .base import display, print_json, run_command, status_of_chains
from .options import (
    Guard,
    Header,
    Missing,
    MustConverge,
    Separator,
    Skip,
    text_options,
    whole,
    word,
)
from .train import Json, Seed

SHOWN = 5  # columns that are not modelled, in the line about them
IMPUTE_HELP = """Fill in the missing cells of a table.

RUN is the folder of a run on this table, or on another one with the same columns. Each missing
cell gets the best single guess given the seen cells of its row. With --draws, complete tables are
drawn instead, whose differences show how uncertain the guesses are (multiple imputation); they are
written one below the other, numbered in a first column. Columns that the run left out stay as they
are; a line says which of them have empty cells.

\b
Examples:
  harmonium train titanic.csv
  harmonium impute titanic.csv runs/titanic --out filled.csv
  harmonium impute titanic.csv runs/titanic --out five.csv --draws 5
"""


def impute_cli(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A text or Parquet file.")],
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run on a table.")],
    out: Annotated[str, word("--out", metavar="FILE", help="File to write: .csv or .tsv.")],
    draws: Annotated[
        int | None, whole("--draws", help="Draw so many tables instead of the best guesses.")
    ] = None,
    sweeps: Annotated[int, whole("--sweeps", help="Gibbs sweeps per chain at first.")] = 64,
    header: Header = None,
    separator: Separator = None,
    missing: Missing = None,
    skip: Skip = None,
    seed: Seed = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    guard: Guard = False,
    must_converge: MustConverge = False,
    as_json: Json = False,
) -> None:
    """Fill in missing cells; its help text is IMPUTE_HELP."""

    def command() -> int:
        from ..runs.impute import fill

        told = text_options(header, separator, missing, skip)
        summary = fill(table, run, out, draws, sweeps, seed, overwrite, told, guard)
        if as_json:
            print_json(summary)
            return status_of_chains(summary["converged"], summary["message"], must_converge)
        show = display(as_json)
        width = max((len(line["name"]) for line in summary["columns"]), default=0)
        if not summary["columns"]:
            show.say("no cell of a column with a unit is missing")
        for line in summary["columns"]:
            show.say(f"{line['name']:<{width}}  {line['missing']:,} filled{_sureness(line)}")
        if summary["not_filled"]:
            show.say(f"not modelled, so left as they are: {_named(summary['not_filled'])}")
        show.say(f"{summary['rows']:,} rows written to {out}")
        return status_of_chains(summary["converged"], summary["message"], must_converge)

    raise typer.Exit(run_command(command))


def _named(columns: list[dict[str, Any]]) -> str:
    """Return the first columns with the number of their empty cells, and the reason."""
    shown = [f"{c['name']} ({c['missing']:,} empty; {c['why']})" for c in columns[:SHOWN]]
    return ", ".join(shown) + (f" and {len(columns) - SHOWN:,} others" * (len(columns) > SHOWN))


def _sureness(line: dict[str, Any]) -> str:
    if "probability" in line:
        return f", each with probability {line['probability']:.2f} on average"
    if "standard_deviation" in line:
        return f", standard deviation {line['standard_deviation']:.3g}"
    return ""
