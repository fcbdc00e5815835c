"""`harmonium compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..errors import InputError
from ..runs.options import Argument, Option, Source
from .base import nats, print_json
from .options import Json, Open, Overwrite
from .report import open_page
from .terminal import print_data

if TYPE_CHECKING:  # these import JAX
    from ..runs.compare import Compared


def compare(
    runs: Annotated[list[str], Argument("Run folders, or a folder of harmonium tune.", "RUN...")],
    out: Annotated[str | None, Option("A page to write, with learning curves.", "FILE")] = None,
    overwrite: Overwrite = False,
    source: Source = None,
    is_opened: Open = False,
    as_json: Json = False,
) -> None:
    """Compare the log-likelihoods of runs on the same rows, and list the cost of each run.

    The runs must have been scored on the same rows, so train them on the same source with the same
    --seed or --split. A folder of `harmonium tune` stands for all runs in that folder. The interval
    of a difference is computed from the difference in log p of each row, in which fluctuations
    common to both runs cancel.

    Examples:
      harmonium compare runs/digits runs/digits-2
      harmonium compare runs/* --out compared.html --open
      harmonium compare tuned/digits
    """
    from ..runs.compare import compare as compare_runs
    from ..runs.compare import runs_in
    from ..runs.writing import check_target

    if out is not None:
        check_target(f"--out {out}", out, (".html",), overwrite)
    elif is_opened:
        raise InputError("--open: expected a page to open; got no --out; add --out compared.html.")
    named = runs_in(runs)
    compared = compare_runs(named, out, source)
    if as_json:
        print_json({"runs": [run._asdict() for run in compared], "page": out})
    else:
        _print_table(compared)
        for run in sorted(set(named) - {run.run for run in compared}):
            print(f"{run} is left out: it has no score")
        if out is not None:
            print_data(f"{out}\n")
    if is_opened and out is not None:
        open_page(out)


def _print_table(compared: list[Compared]) -> None:
    """Print the compared runs as a table, with the best run first."""
    width = max(len(run.run) for run in compared)
    heads = ("nats per row", "behind the best", "95 % interval", "updates", "seconds")
    print(f"{'run':<{width}}  " + "  ".join(f"{head:>16}" for head in heads))
    for number, run in enumerate(compared):
        cells = _cells_of(run, is_best=number == 0)
        print(f"{run.run:<{width}}  " + "  ".join(f"{cell:>16}" for cell in cells))
    if not all(run.converged for run in compared):
        print("(?) log Z has not converged: do not quote this value.")


def _cells_of(run: Compared, *, is_best: bool) -> list[str]:
    """Return the cells of a run's row in the table, except the run's name."""
    value = nats(run.value)
    if not run.converged:
        value += " (?)"
    difference = ["", ""]
    if not is_best:
        difference = [nats(run.behind), f"{nats(run.behind_low)} to {nats(run.behind_high)}"]
    updates = "unknown" if run.updates is None else f"{run.updates:,}"
    seconds = "unknown" if run.seconds is None else f"{run.seconds:,.0f}"
    return [value, *difference, updates, seconds]
