"""`harmonium score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..errors import InputError
from ..runs.options import Argument, Number, Option, Seed, TextOptions
from .base import display, nats, print_json
from .options import Guard, Json, Overwrite

if TYPE_CHECKING:  # these import JAX
    from ..runs.score import AlignmentScores, TableScores


def score(
    table: Annotated[str, Argument("A text or Parquet file, or aligned sequences.", "FILE")],
    run: Annotated[str, Argument("The folder of a run on such data.", "RUN")],
    *,
    out: Annotated[
        str | None, Option("File for the scores of all rows: .csv or .tsv.", "FILE")
    ] = None,
    seconds: Annotated[
        float,
        Number(
            "Time limit for estimating log Z, in seconds, if the run has no converged value.",
            below=1e9,
            advice="give 60",
        ),
    ] = 60.0,
    text: TextOptions,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    guard: Guard = False,
    as_json: Json = False,
) -> None:
    """Score the rows of a table and show which are unusual and why; or score aligned sequences.

    RUN is the folder of a run on this table, or on another table with the same columns. Each row
    gets log p, the logarithm of its probability under the model (for real numbers, of its density
    in the table's own units), and a list of the cells that are least expected given the rest of the
    row, each with its own log p. For a row with missing cells, log p is that of its observed cells.

    Each aligned sequence (FASTA, A3M, Stockholm, Clustal …) gets log p under the model of a run on
    an alignment with the same columns.

    Examples:
      harmonium train titanic.csv
      harmonium score titanic.csv runs/titanic
      harmonium score new.csv runs/titanic --out scores.csv
      harmonium score new.fasta runs/family --out scores.csv
    """
    from ..runs.score import score_sequences, score_table
    from ..sequences import file_and_family, is_alignment

    show = display(as_json)
    settings = {"out": out, "seconds": seconds, "seed": seed, "overwrite": overwrite}
    scores: TableScores | AlignmentScores
    if is_alignment(file_and_family(table)[0]):
        if text.given:
            raise InputError(
                f"--{next(iter(text.given))}: expected a table; got an alignment; leave out this"
                " option, which is only for tables."
            )
        scores = score_sequences(table, run, **settings, guard=guard)
        lines = _lines_of_sequences(scores)
    else:
        scores = score_table(table, run, **settings, display=show, text=text, guard=guard)
        lines = _lines_of_rows(scores)
    if as_json:
        print_json(scores)
        return
    for line in lines:
        show.say(line)


def _lines_of_rows(scores: TableScores) -> list[str]:
    """Return the scores of the rows of a table as text."""
    mean = nats(scores.log_likelihood.value, 3)
    lines = [
        f"{scores.rows:,} rows, {mean} nats per row ({_method(scores)})",
        "the least probable rows, and their least expected cells given the other cells:",
        *(
            f"  row {row.row:,}: {nats(row.log_p, 2)} nats: {row.least_expected}"
            for row in scores.least_probable
        ),
    ]
    if scores.out is not None:
        lines.append(
            f"scores of all rows written to {scores.out}; row 1 is the first after the header"
        )
    return lines


def _lines_of_sequences(scores: AlignmentScores) -> list[str]:
    """Return the scores of aligned sequences as text."""
    mean = scores.log_likelihood.value
    lines = [
        f"{scores.sequences:,} sequences of {scores.sites:,} sites, {nats(mean, 3)} nats per"
        f" sequence, {nats(mean / scores.sites, 4)} per site ({_method(scores)})",
        *(f"  {note}" for note in scores.notes),
        "the least probable sequences:",
        *(f"  {row.name}: {nats(row.log_p, 2)} nats" for row in scores.least_probable),
    ]
    if scores.out is not None:
        lines.append(f"scores of all sequences written to {scores.out}")
    return lines


def _method(scores: TableScores | AlignmentScores) -> str:
    """Describe how log Z was computed, with a note if it has not converged."""
    if scores.converged:
        return scores.method
    return f"{scores.method}, NOT converged"
