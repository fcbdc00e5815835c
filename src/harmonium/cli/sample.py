"""`harmonium sample`."""

from __future__ import annotations

from typing import Annotated

from ..runs.options import Option, Seed, TextOptions, Whole
from .base import display, print_json, status_of_chains
from .options import Guard, Json, Model, MustConverge, Overwrite
from .terminal import print_data


def sample(
    run: Model,
    *,
    n: Annotated[
        int, Whole("Number of rows to draw; with --given, per given row.", names=("-n", "--count"))
    ] = 64,
    sweeps: Annotated[
        int | None,
        Whole(
            "Gibbs sweeps per chain, a third of them annealed.  [default: none if an exact sum is"
            " feasible; else 1,000, and more if the chains have not converged]"
        ),
    ] = None,
    seed: Seed = 0,
    given: Annotated[
        str | None,
        Option(
            "Rows to complete: a file with nan for each value to be drawn; for a table, also cells"
            " and ranges such as sex=female,age=30..40; for an alignment, a file with X for each"
            " letter to be drawn, or letters by column, such as 12=A,45=G.",
            "FILE|CELLS",
        ),
    ] = None,
    text: TextOptions,
    beta: Annotated[
        int,
        Whole(
            "Inverse temperature, a whole number: a row v is drawn with a probability proportional"
            " to p(v)^beta, so that values above 1 favour probable rows."
        ),
    ] = 1,
    with_missing: Annotated[
        bool,
        Option("Leave cells of the drawn rows empty, as often as in the run's source."),
    ] = False,
    out: Annotated[str | None, Option("File to write.", "FILE")] = None,
    overwrite: Overwrite = False,
    guard: Guard = False,
    must_converge: MustConverge = False,
    as_json: Json = False,
) -> int:
    """Draw rows (samples) from a model, exactly or by annealed Gibbs chains.

    Rows are printed as CSV or, with --out, written to a file: .npy, .npz or .csv, or a picture
    (.png). For a run on a table, table rows are drawn (.csv or .tsv); --given then also accepts
    cells, and ranges of numbers and dates. For a run on an alignment, sequences are drawn (.fasta);
    --given then also accepts letters.

    Examples:
      harmonium sample runs/digits -n 100 --out samples.npy
      harmonium sample runs/digits -n 64 --out samples.png
      harmonium sample model.npz -n 5 --sweeps 10000
      harmonium sample runs/digits -n 3 --given half.csv
      harmonium sample runs/titanic --given sex=female,age=30..40 --out women.csv
      harmonium sample runs/family --given 12=A,45=G --beta 2 --out new.fasta
    """
    from ..runs.sample import draw_rows

    draws = draw_rows(
        run,
        n,
        sweeps=sweeps,
        seed=seed,
        given=given,
        beta=beta,
        text=text,
        with_missing=with_missing,
        out=out,
        overwrite=overwrite,
    )
    if out is not None:
        draws.write(out, run, guard)
    if as_json:
        summary = {
            "run": run,
            "rows": len(draws.rows),
            "columns": draws.columns,
            "out": out,
            "converged": draws.converged,
            "message": draws.message,
        }
        if out is None:
            summary["values"] = draws.values
        print_json(summary)
    elif out is not None:
        display(as_json).say(f"{len(draws.rows):,} {draws.noun} written to {out}")
    else:
        for part in draws.text(guard):
            print_data(part)
    return status_of_chains(draws.converged, draws.message, must_converge)
