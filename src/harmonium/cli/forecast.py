"""`harmonium forecast`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..runs.options import Argument, Option, Seed, TextOptions, Whole
from .base import display, print_json, status_of_chains
from .options import Guard, Json, MustConverge, Overwrite

if TYPE_CHECKING:  # this imports JAX
    from ..runs.forecast import Expected, Forecast


def forecast(
    run: Annotated[str, Argument("The folder of a run with --past on a series.", "RUN")],
    series: Annotated[
        str | None,
        Argument("A file of the series up to now.  [default: the file of the run]", "SERIES"),
    ] = None,
    *,
    steps: Annotated[int, Whole("Number of rows to forecast.")] = 10,
    draws: Annotated[int, Whole("Number of continuations to draw.")] = 200,
    out: Annotated[str | None, Option("File for all draws: .csv or .tsv.", "FILE")] = None,
    text: TextOptions,
    seed: Seed = 0,
    overwrite: Overwrite = False,
    guard: Guard = False,
    must_converge: MustConverge = False,
    as_json: Json = False,
) -> int:
    """Forecast the next rows of a series, with intervals.

    RUN is the folder of a run that was trained with --past, whose model gives the distribution of
    a row given the rows before it. Continuations of the series are drawn row by row. For each step
    and column, the table has the median of the draws and the interval that holds 90 % of them or,
    for a column of categories, the most probable category and its probability.

    Examples:
      harmonium train bikes.csv --past 24
      harmonium forecast runs/bikes --steps 48
      harmonium forecast runs/bikes today.csv --out futures.csv
    """
    from ..runs.forecast import forecast_series

    result = forecast_series(
        run,
        series,
        steps=steps,
        draws=draws,
        out=out,
        seed=seed,
        overwrite=overwrite,
        text=text,
        guard=guard,
    )
    if as_json:
        print_json(result)
        return status_of_chains(result.converged, result.message, must_converge)
    show = display(as_json)
    for line in _lines(result):
        show.say(line)
    return status_of_chains(result.converged, result.message, must_converge)


def _lines(result: Forecast) -> list[str]:
    """Return the forecast as the lines of a table, with one line for each forecast step."""
    names = list(dict.fromkeys(expected.name for expected in result.expected))
    rows = [["step", *names]]
    for step in range(1, result.steps + 1):
        of_step = [expected for expected in result.expected if expected.step == step]
        rows.append([str(step), *map(_cell, of_step)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.append(f"{result.draws:,} draws after the end of {result.series}; intervals hold 90 %")
    if result.out is not None:
        lines.append(f"all draws written to {result.out}")
    return lines


def _cell(expected: Expected) -> str:
    if expected.probability is not None:
        return f"{expected.value} ({expected.probability:.0%})"
    return f"{expected.value} [{expected.low}, {expected.high}]"
