"""`harmonium tune`."""

from __future__ import annotations

import functools
from typing import Annotated, Any

from ..runs.options import Option, Whole
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

SHOWN = 20


def tune(
    spec: Annotated[str, Option("A TOML file, as above.", "SPEC", is_argument=True)],
    processes: Annotated[
        int, Whole("Processes to start here; they share the cores and take trials.")
    ] = 1,
    out: Annotated[
        str | None, Option("Folder of the search.  [default: as SPEC says]", "FOLDER")
    ] = None,
    as_json: Json = False,
) -> int:
    """Train many models of one source, and find the options that serve best.

    SPEC is a small file that says what is fixed and what is searched:

      source = "digits"
      folder = "tuned/digits"
      trials = 64
      [options]
      epochs = 300
      [search]
      hidden = [32, 64, 128]
      lr = {low = 0.02, high = 0.4, log = true}
      seed = [0, 1, 2]

    Each trial is a run folder in the search's folder. Trials are judged by the log-likelihood of
    held-out rows, never of test rows. The same command again, in other shells or on other computers
    that share the folder, joins in; after an interruption or a crash it goes on, and a finished
    search shows its table. Needs Optuna: pip install 'harmonium[tune]'.

    Examples:
      harmonium tune digits.toml
      harmonium tune digits.toml --processes 4
      harmonium tune digits.toml --out tuned/again --json
    """
    from ..runs.tune import tune

    again = ["tune", spec, *(() if out is None else ("--out", out))]
    try:
        summary = tune(spec, out, processes, display(as_json))
    except KeyboardInterrupt:
        complain(f"interrupted; trials under way are saved. Go on with: {typed(*again)}")
        return INTERRUPTED
    if as_json:
        print_json(summary)
    else:
        for line in lines_of(summary):
            print(line)
    return ending(summary)


@functools.wraps(tune)
def sweep(*arguments: Any, **options: Any) -> int:
    """Do the same under the name of development versions."""
    complain("`harmonium sweep` is `harmonium tune` now; 0.2 will not know the old name.")
    return tune(*arguments, **options)


def ending(summary: dict[str, Any]) -> int:
    """Return the exit status, and say which trials could not be run."""
    unfinished = [trial for trial in summary["trials"] if trial["status"] == "unfinished"]
    if unfinished:
        first = unfinished[0]
        count = f"{len(unfinished)} of {summary['wanted']} trials"
        complain(f"{count} could not be run. {first['run']}: {first['message']}.")
        return USERS_MISTAKE
    return DONE if summary["best"] is not None else NOT_REACHED


def lines_of(summary: dict[str, Any]) -> list[str]:
    """Return the table of a search, the best first, and what to do next."""
    names = summary["searched"]
    trials = summary["trials"]
    are_ensembles = any("stderr_models" in trial["log_likelihood"] for trial in trials)
    spread = "± over seeds" if are_ensembles else "± over rows"
    heads = ["run", "nats per row", spread, *names, "status"]
    cells = [
        [
            trial["run"],
            _value(trial["log_likelihood"]),
            _spread(trial["log_likelihood"]),
            *(_option(trial["options"].get(name, "")) for name in names),
            trial["status"],
        ]
        for trial in trials[:SHOWN]
    ]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" if k == 0 else f"{cell:>{width}}" for k, (cell, width) in row)
        for row in (enumerate(zip(texts, widths, strict=True)) for texts in (heads, *cells))
    ]
    if len(trials) > SHOWN:
        lines.append(f"and {len(trials) - SHOWN} more: --json has all")
    if any(trial["log_likelihood"].get("converged") is False for trial in trials[:SHOWN]):
        lines.append("(?) log Z has not converged: do not quote this value.")
    if summary["best"] is not None:
        best = [trial["run"] for trial in trials if trial["status"] == "done"]
        lines.append(f"best      {best[0]}")
        if len(best) > 1:
            lines.append(f"next      {typed('compare', *best[:3])}")
        lines.append(f"{'next' if len(best) == 1 else '':<10}{typed('report', best[0], '--open')}")
    return lines


def _value(score: dict[str, Any]) -> str:
    mark = " (?)" if score.get("converged") is False else ""
    return nats(score["value"]) + mark if "value" in score else ""


def _spread(score: dict[str, Any]) -> str:
    spread = score.get("stderr_models", score.get("stderr_rows"))
    return "" if spread is None else nats(spread)


def _option(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
