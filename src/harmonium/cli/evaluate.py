"""`harmonium evaluate`."""

from __future__ import annotations

from typing import Annotated

import typer

from .base import NOT_REACHED, console, print_json, run_command
from .train import Json, score_line

EVALUATE_HELP = """Score a machine: log Z, and the log-likelihood of rows where there are any.

RUN is a run folder, a model file, or an .npz with W (visible, hidden), a and b (the biases).
Without DATA, a run folder is scored on the test rows of its own source, or on held-out rows.

\b
Examples:
  harmonium evaluate runs/digits
  harmonium evaluate model.npz
  harmonium evaluate model.npz rows.npz:test --chains 1000 --steps 10000
"""


def evaluate_cli(
    run: Annotated[str, typer.Argument(help="A run folder or a model.")],
    data: Annotated[str | None, typer.Argument(help="A built-in set or a file.")] = None,
    part: Annotated[
        str, typer.Option("--rows", help="Which rows: auto, train, validation or test.")
    ] = "auto",
    method: Annotated[str, typer.Option(help="auto, exact or annealed.")] = "auto",
    chains: Annotated[int, typer.Option(help="Chains of an annealed estimate, each way.")] = 512,
    steps: Annotated[
        int | None, typer.Option(help="Machines on the way. Default: 1,000, then 4,000 if needed.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.")] = 0,
    binarize: Annotated[
        str, typer.Option(help="Grey levels: none, threshold, or stochastic (one draw a row).")
    ] = "stochastic",
    scale: Annotated[float | None, typer.Option(help="The grey level that means 1.")] = None,
    must_converge: Annotated[
        bool, typer.Option("--must-converge", help="Exit with 3 if the estimate did not converge.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Score a machine; its help text is EVALUATE_HELP."""

    def command() -> int:
        from ..runs.display import Display
        from ..runs.evaluate import evaluate

        display = Display(console(as_json))
        settings = {"method": method, "chains": chains, "steps": steps}
        summary = evaluate(run, data, part, binarize, scale, seed, settings, display)
        if as_json:
            print_json(summary)
        else:
            log_z = summary["log_z"]
            interval = f"in [{log_z['low']:.4f}, {log_z['high']:.4f}]"
            display.say(f"log Z {log_z['value']:.4f} {interval} ({log_z['method']})")
            if "log_likelihood" in summary:
                display.say(score_line(summary["log_likelihood"]))
            if not log_z["converged"]:
                display.say("NOT converged: try more --chains and --steps.")
        return 0 if log_z_converged(summary) or not must_converge else NOT_REACHED

    raise typer.Exit(run_command(command))


def log_z_converged(summary: dict) -> bool:
    """Say whether the estimate can be relied on."""
    return bool(summary["log_z"]["converged"])
