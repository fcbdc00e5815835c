"""`harmonium compare`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .base import DONE, nats, print_json, run_command
from .options import Source, word
from .report import opened
from .terminal import print_data
from .train import Json

COMPARE_HELP = """Compare runs on the same rows: likelihoods with paired intervals, and cost.

The runs must have been scored on the same rows: train them on one source with the same --seed, or
the same --split. A folder of `harmonium tune` stands for all its runs. What is common to all models
of a row cancels in a difference, so its interval is much narrower than those of the two
likelihoods.

\b
Examples:
  harmonium compare runs/digits runs/digits-2
  harmonium compare runs/* --out compared.html --open
  harmonium compare tuned/digits
"""


def compare_cli(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run folders, or one of harmonium tune.")
    ],
    out: Annotated[
        str | None,
        word("--out", metavar="FILE", help="A page to write, with learning curves."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
    source: Source = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    as_json: Json = False,
) -> None:
    """Compare runs; its help text is COMPARE_HELP."""

    def command() -> int:
        from ..errors import input_error
        from ..runs.compare import compare, runs_in
        from ..runs.options import check_target

        if out is not None:
            check_target(f"--out {out}", out, (".html",), overwrite)
        elif show:
            raise input_error("--open", "a page", "none", "name one with --out compared.html")
        named = runs_in(runs)
        found = compare(named, out, source)
        if as_json:
            print_json({"runs": [one._asdict() for one in found], "page": out})
        else:
            _tell(found)
            for run in sorted(set(named) - {one.run for one in found}):
                print(f"{run} is left out: it has no score")
            if out is not None:
                print_data(f"{out}\n")
        if show and out is not None:
            opened(out)
        return DONE

    raise typer.Exit(run_command(command))


def _tell(found: list[Any]) -> None:
    """Print a table, the best run first."""
    width = max(len(one.run) for one in found)
    heads = ("nats per row", "behind the best", "95 % interval", "updates", "seconds")
    print(f"{'run':<{width}}  " + "  ".join(f"{head:>16}" for head in heads))
    for one in found:
        interval = f"{nats(one.behind_low)} to {nats(one.behind_high)}"
        first = one is found[0]
        cells = (
            nats(one.value) + ("" if one.converged else " (?)"),
            "" if first else nats(one.behind),
            "" if first else interval,
            "unknown" if one.updates is None else f"{one.updates:,}",
            "unknown" if one.seconds is None else f"{one.seconds:,.0f}",
        )
        print(f"{one.run:<{width}}  " + "  ".join(f"{cell:>16}" for cell in cells))
    if not all(one.converged for one in found):
        print("(?) log Z has not converged: do not quote this value.")
