"""`harmonium score`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import input_error
from .base import display, nats, print_json, run_command
from .options import Guard, Header, Missing, Separator, Skip, number, text_options, word
from .train import Json, Seed

SCORE_HELP = """Score the rows of a table, which are unusual and why; or aligned sequences.

RUN is the folder of a run on this table, or on another one with the same columns. Each row gets
log p, the logarithm of its probability (for real numbers, of its density in the table's own units)
under the model, and the cells that are least expected given the other cells of the row, each with
its own log p. Rows with missing cells are scored by their seen cells.

Of aligned sequences (FASTA, A3M, Stockholm, Clustal …) each gets log p under a run on such
an alignment.

\b
Examples:
  harmonium train titanic.csv
  harmonium score titanic.csv runs/titanic
  harmonium score new.csv runs/titanic --out scores.csv
  harmonium score new.fasta runs/family --out scores.csv
"""


def score_cli(
    table: Annotated[
        str, typer.Argument(metavar="FILE", help="A text or Parquet file, or aligned sequences.")
    ],
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run on such a file.")],
    out: Annotated[
        str | None,
        word("--out", metavar="FILE", help="File for the scores of all rows: .csv or .tsv."),
    ] = None,
    seconds: Annotated[
        float,
        number("--seconds", help="Time limit for log Z, where the run has none that converged."),
    ] = 60.0,
    header: Header = None,
    separator: Separator = None,
    missing: Missing = None,
    skip: Skip = None,
    seed: Seed = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    guard: Guard = False,
    as_json: Json = False,
) -> None:
    """Score the rows of a table; its help text is SCORE_HELP."""

    def command() -> None:
        from ..runs.sequences import score_sequences
        from ..runs.unusual import score
        from ..sequences import file_and_family, is_alignment

        told = text_options(header, separator, missing, skip)
        if is_alignment(file_and_family(table)[0]):
            if told:
                advice = "leave it out: letters of sequences are codes"
                raise input_error(f"--{next(iter(told))}", "a table", "an alignment", advice)
            found = score_sequences(table, run, out, seconds, seed, overwrite, guard)
            print_json(found) if as_json else tell_sequences(found, display(as_json))
            return
        show = display(as_json)
        summary = score(table, run, out, seconds, seed, overwrite, show, told, guard)
        if as_json:
            print_json(summary)
            return
        show = display(as_json)
        mean = summary["log_likelihood"]
        warning = "" if summary["converged"] else ", NOT converged"
        show.say(
            f"{summary['rows']:,} rows, {nats(mean['value'], 3)} nats per row"
            f" ({summary['method']}{warning})"
        )
        show.say("the least probable rows, and their least expected cells given the others:")
        for line in summary["least_probable"]:
            value = nats(line["log_p"], 2)
            show.say(f"  row {line['row']:,}: {value} nats: {line['least_expected']}")
        if out is not None:
            show.say(f"scores of all rows written to {out}; row 1 is the first after the header")

    raise typer.Exit(run_command(command))


def tell_sequences(summary: dict[str, Any], show: Any) -> None:
    """Print the scores of aligned sequences."""
    mean = summary["log_likelihood"]
    warning = "" if summary["converged"] else ", NOT converged"
    show.say(
        f"{summary['sequences']:,} sequences of {summary['sites']:,} sites,"
        f" {nats(mean['value'], 3)} nats per sequence,"
        f" {nats(mean['value'] / summary['sites'], 4)} per site ({summary['method']}{warning})"
    )
    for note in summary["notes"]:
        show.say(f"  {note}")
    show.say("the least probable sequences:")
    for line in summary["least_probable"]:
        show.say(f"  {line['name']}: {nats(line['log_p'], 2)} nats")
    if summary["out"] is not None:
        show.say(f"scores of all sequences written to {summary['out']}")
