"""`harmonium evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .base import DONE, INTERRUPTED, NOT_REACHED, complain, display, print_json, run_command
from .options import Header, Missing, Separator, Skip, Source, number, text_options, whole, word
from .train import Json, Seed

if TYPE_CHECKING:  # which takes JAX along
    from ..runs.evaluation.result import Evaluation

EVALUATE_HELP = """Evaluate a model: all scores in one table.

RUN is a run folder, a model file, an .npz with W (visible, hidden), a and b (the biases), an .h5
of the rbms package, or a .pt with a PyTorch state dict. DATA is a data set or a file, as SOURCE of
`train`. Without DATA, a run is scored on the test rows of its own source, or else on the rows that
it held out; for a model file, only log Z and mixing are measured.

The table holds the log-likelihood of the rows and log Z (in nats, with 95 % intervals; where log Z
cannot be exact, it is annealed forward and in reverse), the pseudo-likelihood, the reconstruction
error, the free energies of held-out against training rows, how fast chains mix, whether training
was at equilibrium, and how samples compare with data. What cannot be measured is listed with the
reason.

The table of a run on its own rows is added to its report. --pictures draws, as PNG files, the log
weights of the annealing runs, free energies, autocorrelations, the plane of the first two principal
components, and means of samples against data.

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
        str | None, typer.Argument(metavar="DATA", help="A built-in data set or a file.")
    ] = None,
    rows: Annotated[
        str, word("--rows", help="Rows to score: train, validation, test or auto.")
    ] = "auto",
    method: Annotated[
        str,
        word(
            "--method",
            help="How to compute log Z: auto, exact, annealed, or tempered (replica exchange).",
        ),
    ] = "auto",
    seconds: Annotated[
        float, number("--seconds", help="Time limit for log Z: later, no new round starts.")
    ] = 120.0,
    chains: Annotated[
        int | None,
        whole(
            "--chains",
            help="Annealing chains in each direction; with --method tempered, columns of"
            " replicas.  [default: 512; tempered: 64]",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        whole("--steps", help="Steps of each annealing run.  [default: as many as needed]"),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out mixing, equilibrium, samples and the report.")
    ] = False,
    pictures: Annotated[
        str | None,
        word(
            "--pictures", metavar="DIR", help="Folder for pictures as PNG files.  [default: none]"
        ),
    ] = None,
    seed: Seed = 0,
    binarize: Annotated[
        str | None,
        word(
            "--binarize",
            help="How to treat grey levels: none, threshold, or stochastic (one draw per row)."
            "  [default: as the run did]",
        ),
    ] = None,
    scale: Annotated[
        float | None,
        number("--scale", help="The grey level that means 1, if not 255."),
    ] = None,
    header: Header = None,
    separator: Separator = None,
    missing: Missing = None,
    skip: Skip = None,
    source: Source = None,
    must_converge: Annotated[
        bool, typer.Option("--must-converge", help="Exit with 3 if log Z did not converge.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Evaluate a model; its help text is EVALUATE_HELP."""
    options = dict(locals())
    for name in ("header", "separator", "missing", "skip", "must_converge", "as_json"):
        options.pop(name)
    options["text"] = text_options(header, separator, missing, skip)

    def command() -> int:
        from ..runs.evaluate import EvaluationConfig, evaluate

        # Standard output holds only the table or the JSON.
        evaluation = evaluate(EvaluationConfig(**options), display(as_json=True))
        return tell(evaluation, as_json, must_converge)

    raise typer.Exit(run_command(command))


def tell(evaluation: Evaluation, as_json: bool, must_converge: bool) -> int:
    """Print an evaluation, as JSON or as a table, and return the exit status."""
    if as_json:
        print_json(evaluation.to_json())
    else:
        evaluation.show(display(as_json=False))
    if evaluation.status == "interrupted":
        complain("interrupted; the remaining results are left out.")
        return INTERRUPTED
    if evaluation.log_z.converged:
        return DONE
    if evaluation.log_z.checked:
        complain("log Z did NOT converge: allow more --seconds, or try more --chains.")
    else:
        complain("log Z is unchecked: name rows as DATA, from which its chains are checked.")
    return NOT_REACHED if must_converge else DONE
