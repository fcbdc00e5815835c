"""`harmonium evaluate`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .base import DONE, INTERRUPTED, NOT_REACHED, complain, display, print_json, run_command
from .options import number, whole, word
from .train import Json, Seed

EVALUATE_HELP = """Say how good a model is, in one table.

RUN is a run folder, a model file, an .npz with W (visible, hidden), a and b (the biases), an .h5
of the rbms package, or a .pt with a PyTorch state dict. DATA is what `train` takes as SOURCE.
Without it, a run is scored on the test rows of its own source, else on the rows that it held out;
a model file has log Z and mixing only.

The table holds the log-likelihood of the rows and log Z (in nats, with 95 % intervals; estimated
from both sides where it cannot be exact), the pseudo-likelihood, the reconstruction error, the free
energies of held-out against training rows, how fast chains mix, whether training was at
equilibrium, and how samples compare with data. What cannot be said is listed with the reason.

A run's pictures go to its folder `evaluation`: annealing annealing runs, free energies, autocorrelations,
the principal plane, and means of samples against data.

\b
Examples:
  harmonium evaluate runs/digits
  harmonium evaluate runs/digits --quick --json
  harmonium evaluate model.npz rows.npz:test --seconds 600
  harmonium evaluate model.safetensors rows.csv --pictures figures
"""


def evaluate_cli(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder or a model.")],
    data: Annotated[
        str | None, typer.Argument(metavar="DATA", help="A built-in set or a file.")
    ] = None,
    rows: Annotated[str, word("--rows", help="Rows: train, validation, test, or auto.")] = "auto",
    method: Annotated[
        str, word("--method", help="How to find log Z: auto, exact, annealed or tempered.")
    ] = "auto",
    seconds: Annotated[
        float, number("--seconds", help="Time after which log Z takes no more steps or chains.")
    ] = 120.0,
    chains: Annotated[
        int | None,
        whole(
            "--chains",
            help="Annealed chains in each direction, or tempered ones.  [default: 512, or 64]",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        whole(
            "--steps", help="Steps of each annealing annealing run.  [default: as many as it takes]"
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out mixing, samples and pictures.")
    ] = False,
    pictures: Annotated[
        str | None,
        word("--pictures", metavar="DIR", help="Folder of pictures.  [default: a run's own]"),
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
        bool, typer.Option("--must-converge", help="Exit with 3 if log Z did not converge.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say how good a model is; its help text is EVALUATE_HELP."""
    options = dict(locals())
    for name in ("must_converge", "as_json"):
        options.pop(name)

    def command() -> int:
        from ..runs.evaluate import Wanted, evaluate

        # Standard output holds the table or the JSON alone.
        summary = evaluate(Wanted(**options), display(as_json=True))
        return tell(summary, as_json, must_converge)

    raise typer.Exit(run_command(command))


def tell(summary: dict[str, Any], as_json: bool, must_converge: bool) -> int:
    """Report an evaluation, to a program or to a person, and return the exit status."""
    if as_json:
        print_json(summary)
    else:
        from ..runs.table import show

        show(summary, display(as_json=False))
    if summary["status"] == "interrupted":
        complain("interrupted; what was not known by then is left out.")
        return INTERRUPTED
    if summary["log_z"]["converged"]:
        return DONE
    complain("log Z did NOT converge: allow more --seconds, or try more --chains.")
    return NOT_REACHED if must_converge else DONE
