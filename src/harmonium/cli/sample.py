"""`harmonium sample`."""

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
from .terminal import print_data
from .train import Json, Seed

SAMPLE_HELP = """Draw rows (samples) from a model, exactly or by annealed Gibbs chains.

They are printed as CSV, or written to --out: .npy, .npz, .csv, or .png for a picture. A run on a
table draws rows of such a table (.csv or .tsv); --given then also takes cells, and ranges of
numbers and dates. A run on an alignment draws sequences (.fasta); --given then also takes letters.

\b
Examples:
  harmonium sample runs/digits -n 100 --out samples.npy
  harmonium sample runs/digits -n 64 --out samples.png
  harmonium sample model.npz -n 5 --sweeps 10000
  harmonium sample runs/digits -n 3 --given half.csv
  harmonium sample runs/titanic --given sex=female,age=30..40 --out women.csv
  harmonium sample runs/family --given 12=A,45=G --beta 2 --out new.fasta
"""


def sample_cli(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model.")],
    n: Annotated[
        int, whole("-n", "--count", help="Rows to draw; with --given, for each given row.")
    ] = 64,
    sweeps: Annotated[
        int | None,
        whole(
            "--sweeps",
            help="Gibbs sweeps per chain, a third of them annealed.  [default: none where a sum"
            " is feasible; else 1,000, and more where chains have not converged]",
        ),
    ] = None,
    seed: Seed = 0,
    given: Annotated[
        str | None,
        word(
            "--given",
            metavar="FILE|CELLS",
            help="Rows to complete: a file with nan where a value is to be drawn, or for a table"
            " cells and ranges as in sex=female,age=30..40; for an alignment a file with X, or"
            " letters by column, 12=A,45=G.",
        ),
    ] = None,
    header: Header = None,
    separator: Separator = None,
    missing: Missing = None,
    skip: Skip = None,
    beta: Annotated[
        int,
        whole(
            "--beta",
            help="Inverse temperature, a whole number: rows of p(v)^beta; likelier ones from 2 on.",
        ),
    ] = 1,
    with_missing: Annotated[
        bool,
        typer.Option(
            "--with-missing",
            help="Leave cells of the drawn rows empty, as often as those of the run's source are.",
        ),
    ] = False,
    out: Annotated[str | None, word("--out", metavar="FILE", help="File to write.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    guard: Guard = False,
    must_converge: MustConverge = False,
    as_json: Json = False,
) -> None:
    """Draw rows from a model; its help text is SAMPLE_HELP."""

    def command() -> int:
        from ..runs.sample import csv_lines, draw_rows, write_rows
        from ..runs.sequences import fasta_of, write_fasta
        from ..runs.writing import write_table
        from ..tables.writing import plain, text_of

        text = text_options(header, separator, missing, skip)
        drawn = draw_rows(run, n, sweeps, seed, given, out, overwrite, beta, text, with_missing)
        rows, table, words, converged, message = drawn
        summary = {"run": run, "rows": len(rows), "columns": rows.shape[1], "out": out}
        summary |= {"converged": converged, "message": message}
        values: Any = rows
        if table is not None:
            summary["columns"] = len(table.names)
            values = {column.name: plain(column) for column in table.columns}
        if words is not None:
            values = words
        if out is not None and words is not None:
            write_fasta(words, out)
        elif out is not None and table is not None:
            write_table(table, out, guard)
        elif out is not None:
            write_rows(rows, out, run)
        if as_json:
            print_json(summary if out is not None else summary | {"values": values})
        elif out is not None:
            what = "rows" if words is None else "sequences"
            display(as_json).say(f"{summary['rows']:,} {what} written to {out}")
        elif words is not None:
            print_data(fasta_of(words))
        elif table is not None:
            print_data(text_of(table, "rows.csv", guard))
        else:
            for line in csv_lines(rows):
                print(line)
        return status_of_chains(converged, message, must_converge)

    raise typer.Exit(run_command(command))
