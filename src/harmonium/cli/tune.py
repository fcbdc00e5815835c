"""`harmonium tune`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

from ..runs.options import Argument, Option, Whole
from .base import (
    DONE,
    INTERRUPTED,
    NOT_REACHED,
    USERS_MISTAKE,
    complain,
    display,
    nats,
    print_json,
    typed,
)
from .options import Json

if TYPE_CHECKING:  # these import JAX
    from ..runs.tune import Search, Trial

SHOWN = 20


def tune(
    spec: Annotated[str, Argument("A TOML file, as above.", "SPEC")],
    processes: Annotated[
        int, Whole("Processes to start here; they share the trials and this computer's cores.")
    ] = 1,
    out: Annotated[
        str | None, Option("Folder of the search.  [default: as in SPEC]", "FOLDER")
    ] = None,
    as_json: Json = False,
) -> int:
    """Train many models on one source, and find the best options.

    SPEC is a small file that lists which options are fixed and which are searched:

      source = "digits"
      folder = "tuned/digits"
      trials = 64
      [options]
      epochs = 300
      [search]
      hidden = [32, 64, 128]
      lr = {low = 0.02, high = 0.4, log = true}
      seed = [0, 1, 2]

    Each trial is a run in the folder of the search. Trials are ranked by the log-likelihood of
    held-out rows, never of test rows. Run the same command in other shells, or on other computers
    that share the folder, to join the search; run it again to continue after an interruption or a
    crash, or to see the table of a finished search. Needs Optuna: pip install 'harmonium[tune]'.

    Examples:
      harmonium tune digits.toml
      harmonium tune digits.toml --processes 4
      harmonium tune digits.toml --out tuned/again --json
    """
    from ..runs.tune import tune as search_options

    again = ["tune", spec]
    if out is not None:
        again += ["--out", out]
    try:
        search = search_options(spec, out, processes, display(as_json))
    except KeyboardInterrupt:
        complain(f"interrupted; trials under way are saved. Continue with: {typed(*again)}")
        return INTERRUPTED
    if as_json:
        print_json(search)
    else:
        for line in _lines_of(search):
            print(line)
    return _exit_status(search)


@functools.wraps(tune)
def sweep(*arguments: Any, **options: Any) -> int:
    """Run `tune` under its old name, `sweep`, which development versions used."""
    complain("`harmonium sweep` is now `harmonium tune`; version 0.2 will drop the old name.")
    return tune(*arguments, **options)


def _exit_status(search: Search) -> int:
    """Return the exit status, and report the trials that could not be run."""
    unfinished = [trial for trial in search.trials if trial.status == "unfinished"]
    if unfinished:
        first = unfinished[0]
        count = f"{len(unfinished)} of {search.wanted} trials"
        complain(f"{count} could not be run. {first.run}: {first.message}.")
        return USERS_MISTAKE
    return NOT_REACHED if search.best is None else DONE


def _lines_of(search: Search) -> list[str]:
    """Return a search's table as lines, the best trial first, and lines that suggest a command."""
    shown = search.trials[:SHOWN]
    scores = [trial.log_likelihood for trial in search.trials if trial.log_likelihood is not None]
    are_ensembles = any(score.stderr_models is not None for score in scores)
    spread = "± over seeds" if are_ensembles else "± over rows"
    table = [["run", "nats per row", spread, *search.searched, "status"]]
    table += [_cells_of(trial, search.searched) for trial in shown]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for first, *others in table:
        aligned = [f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([f"{first:<{widths[0]}}", *aligned]))
    if len(search.trials) > SHOWN:
        lines.append(f"and {len(search.trials) - SHOWN} more; --json lists all")
    if any(_is_unsure(trial) for trial in shown):
        lines.append("(?) log Z has not converged: do not quote this value.")
    best = [trial.run for trial in search.trials if trial.status == "done"]
    if best:
        lines.append(f"best      {best[0]}")
        report = typed("report", best[0], "--open")
        if len(best) > 1:
            lines.append(f"next      {typed('compare', *best[:3])}")
            lines.append(f"          {report}")
        else:
            lines.append(f"next      {report}")
    return lines


def _cells_of(trial: Trial, searched: list[str]) -> list[str]:
    """Return the cells of a trial's row in the table."""
    from ..runs.tune import short

    value = ""
    spread = ""
    score = trial.log_likelihood
    if score is not None:
        value = nats(score.value)
        if score.stderr is not None:
            spread = nats(score.stderr)
    if _is_unsure(trial):
        value += " (?)"
    options = [trial.options.get(name, "") for name in searched]
    return [trial.run, value, spread, *map(short, options), trial.status]


def _is_unsure(trial: Trial) -> bool:
    """Return whether a trial has a score whose log Z has not converged."""
    return trial.log_likelihood is not None and trial.log_likelihood.converged is False
