"""`harmonium impute`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..runs.options import Argument, Choice, Option, Seed, TextOptions, Whole
from .base import display, print_json, status_of_chains
from .options import Guard, Json, MustConverge, Overwrite, TableRun

if TYPE_CHECKING:  # these import JAX
    from ..runs.impute import FilledColumn, UnfilledColumn

SHOWN = 5  # how many of the columns that are not modelled are listed


def impute(
    table: Annotated[str, Argument("A text or Parquet file.", "TABLE")],
    run: TableRun,
    *,
    out: Annotated[str, Option("File to write: .csv or .tsv.", "FILE")],
    guess: Annotated[
        str,
        Choice(
            "How to fill in a number: mean, median or mode (the most probable value); or draw, to"
            " draw all missing cells of a row jointly.",
            "GUESS",
            names=("--as",),
            allowed=("mean", "median", "mode", "draw"),
        ),
    ] = "mean",
    draws: Annotated[
        int | None,
        Whole("Draw this many tables instead of filling in best guesses.", names=("-m", "--draws")),
    ] = None,
    sweeps: Annotated[int, Whole("Initial number of Gibbs sweeps per chain.")] = 64,
    text: TextOptions,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    guard: Guard = False,
    must_converge: MustConverge = False,
    as_json: Json = False,
) -> int:
    """Fill in the missing cells of a table.

    RUN is the folder of a run on this table, or on another table with the same columns. Each
    missing cell gets the best single guess given the observed cells of its row: the most probable
    category or, for a number, the mean (which minimises the expected squared error), unless --as
    selects another estimate. With -m, several completed tables are drawn instead (multiple
    imputation); their differences show how uncertain the guesses are. The tables are stacked in one
    file, with the number of each table in an added first column. Columns that the run left out are
    unchanged, and are listed if they have empty cells.

    Examples:
      harmonium train titanic.csv
      harmonium impute titanic.csv runs/titanic --out filled.csv
      harmonium impute titanic.csv runs/titanic --out five.csv -m 5
    """
    from ..runs.impute import fill

    filling = fill(
        table,
        run,
        out,
        guess=guess,
        draws=draws,
        sweeps=sweeps,
        seed=seed,
        overwrite=overwrite,
        text=text,
        guard=guard,
    )
    if as_json:
        print_json(filling)
        return status_of_chains(filling.converged, filling.message, must_converge)
    show = display(as_json)
    width = max((len(column.name) for column in filling.columns), default=0)
    if not filling.columns:
        show.say("nothing to impute: no modelled column has a missing cell")
    for column in filling.columns:
        show.say(f"{column.name:<{width}}  {column.missing:,} filled{_certainty(column)}")
    if filling.not_filled:
        show.say(f"not modelled, so left unchanged: {_listed(filling.not_filled)}")
    show.say(f"{filling.rows:,} rows written to {out}")
    return status_of_chains(filling.converged, filling.message, must_converge)


def _listed(columns: list[UnfilledColumn]) -> str:
    """List a few unfilled columns, each with its number of empty cells and why it is not filled."""
    shown = [f"{column.name} ({column.missing:,} empty; {column.why})" for column in columns]
    text = ", ".join(shown[:SHOWN])
    if len(shown) > SHOWN:
        text += f" and {len(shown) - SHOWN:,} others"
    return text


def _certainty(column: FilledColumn) -> str:
    if column.probability is not None:
        return f", mean probability {column.probability:.2f}"
    if column.standard_deviation is not None:
        return f", standard deviation {column.standard_deviation:.3g}"
    return ""
