"""`harmonium evaluate`."""

from __future__ import annotations

from typing import Annotated

import typer

from .base import DONE, NOT_REACHED, complain, display, log_z_line, print_json, run_command
from .options import number, whole, word
from .train import Json, Seed, score_line

EVALUATE_HELP = """Score a machine: log Z, and the log-likelihood of rows where there are any.

RUN is a run folder, a model file, an .npz with W (visible, hidden), a and b (the biases), an .h5
of the rbms package, or a .pt with a PyTorch state dict.
DATA is what `train` takes as SOURCE. Without it, a run is scored on the test rows of its own
source, else on the rows that it held out.

\b
Examples:
  harmonium evaluate runs/digits
  harmonium evaluate model.npz
  harmonium evaluate model.npz rows.npz:test --chains 1000 --steps 10000
"""


def evaluate_cli(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model.")],
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="A built-in set or a file.")
    ] = None,
    part: Annotated[str, word("--rows", help="Rows: train, validation, test, or auto.")] = "auto",
    method: Annotated[str, word("--method", help="auto, exact, annealed or tempered.")] = "auto",
    chains: Annotated[int, whole("--chains", help="Annealed chains, each way.")] = 512,
    steps: Annotated[
        int | None, whole("--steps", help="Machines on the way.  [default: 1000, 4000 if needed]")
    ] = None,
    seed: Seed = 0,
    binarize: Annotated[
        str | None,
        word(
            "--binarize",
            help="Grey levels: none, threshold, or stochastic, one draw a row."
            "  [default: as the run did]",
        ),
    ] = None,
    scale: Annotated[
        float | None,
        number("--scale", help="The grey level that means 1, if not 255."),
    ] = None,
    must_converge: Annotated[
        bool, typer.Option("--must-converge", help="Exit with 3 if the estimate did not converge.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Score a machine; its help text is EVALUATE_HELP."""

    def command() -> int:
        from ..runs.evaluate import evaluate

        show = display(as_json)
        settings = {"method": method, "chains": chains, "steps": steps}
        summary = evaluate(run, data, part, binarize, scale, seed, settings, show)
        log_z = summary["log_z"]
        if as_json:
            print_json(summary)
        else:
            show.say(log_z_line(log_z))
            if summary["log_likelihood"] is not None:
                show.say(score_line(summary["log_likelihood"]))
        if log_z["converged"]:
            return DONE
        complain("the estimate did NOT converge: try more --chains and --steps.")
        return NOT_REACHED if must_converge else DONE

    raise typer.Exit(run_command(command))
