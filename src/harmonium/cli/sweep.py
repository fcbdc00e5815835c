"""`harmonium sweep`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .base import (
    DONE,
    INTERRUPTED,
    NOT_REACHED,
    USERS_MISTAKE,
    complain,
    display,
    nats,
    print_json,
    run_command,
    typed,
)
from .options import whole, word
from .train import Json

SWEEP_HELP = """Train many models of one source, and find the options that serve best.

SPEC is a small file that says what is fixed and what is searched:

\b
  source = "digits"
  folder = "sweeps/digits"
  trials = 64
  [options]
  epochs = 300
  [search]
  hidden = [32, 64, 128]
  lr = {low = 0.02, high = 0.4, log = true}
  seed = [0, 1, 2]

Each trial is a run folder in the sweep's folder. Trials are judged by the log-likelihood of
held-out rows, never of test rows. The same command again, in other shells or on other computers
that share the folder, joins in; after an interruption or a crash it goes on, and a finished sweep
shows its table. Needs Optuna: pip install 'harmonium[sweep]'.

\b
Examples:
  harmonium sweep digits.toml
  harmonium sweep digits.toml --processes 4
  harmonium sweep digits.toml --out sweeps/again --json
"""
SHOWN = 20


def sweep_cli(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A TOML file, as above.")],
    processes: Annotated[
        int,
        whole("--processes", help="Processes to start here; they share the cores and take trials."),
    ] = 1,
    out: Annotated[
        str | None,
        word("--out", metavar="FOLDER", help="Folder of the sweep.  [default: as SPEC says]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Carry out a sweep; its help text is SWEEP_HELP."""

    def command() -> int:
        from ..runs.sweep import sweep

        again = ["sweep", spec, *(() if out is None else ("--out", out))]
        try:
            found = sweep(spec, out, processes, display(as_json))
        except KeyboardInterrupt:
            complain(f"interrupted; trials under way are saved. Go on with: {typed(*again)}")
            return INTERRUPTED
        if as_json:
            print_json(found)
        else:
            for line in lines_of(found):
                print(line)
        return ending(found)

    raise typer.Exit(run_command(command))


def ending(found: dict[str, Any]) -> int:
    """Return the exit status, and say which trials could not be run."""
    unfinished = [one for one in found["trials"] if one["status"] == "unfinished"]
    if unfinished:
        first, count = unfinished[0], f"{len(unfinished)} of {found['wanted']} trials"
        complain(f"{count} could not be run. {first['run']}: {first['message']}.")
        return USERS_MISTAKE
    return DONE if found["best"] is not None else NOT_REACHED


def lines_of(found: dict[str, Any]) -> list[str]:
    """Return the table of a sweep, the best first, and what to do next."""
    names, trials = found["searched"], found["trials"]
    several = any("stderr_models" in one["log_likelihood"] for one in trials)
    over = "± over seeds" if several else "± over rows"
    heads = ["run", "nats per row", over, *names, "status"]
    cells = [
        [
            one["run"],
            _value(one["log_likelihood"]),
            _spread(one["log_likelihood"]),
            *(_option(one["options"].get(name, "")) for name in names),
            one["status"],
        ]
        for one in trials[:SHOWN]
    ]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" if k == 0 else f"{cell:>{width}}" for k, (cell, width) in row)
        for row in (enumerate(zip(one, widths, strict=True)) for one in (heads, *cells))
    ]
    if len(trials) > SHOWN:
        lines.append(f"and {len(trials) - SHOWN} more: --json has all")
    if any(one["log_likelihood"].get("converged") is False for one in trials[:SHOWN]):
        lines.append("(?) log Z has not converged: do not quote this value.")
    if found["best"] is not None:
        best = [one["run"] for one in trials if one["status"] == "done"]
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
