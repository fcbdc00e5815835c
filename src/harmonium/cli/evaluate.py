"""`harmonium evaluate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..runs.evaluation.options import EvaluationConfig
from ..runs.options import Option
from .base import INTERRUPTED, complain, display, print_json, status_of_chains
from .options import Json

if TYPE_CHECKING:  # these import JAX
    from ..runs.evaluation.result import Evaluation


def evaluate(
    config: EvaluationConfig,
    must_converge: Annotated[bool, Option("Exit with status 3 if log Z did not converge.")] = False,
    as_json: Json = False,
) -> int:
    """Evaluate a model, and print all scores in one table.

    RUN is a run folder or a model file: .safetensors; .npz with the weights W, of shape (visible,
    hidden), and the biases a and b; .h5 of the rbms package; or .pt with a PyTorch state dict. DATA
    is a data set or a file, like SOURCE of `train`. Without DATA, a run is scored on the test rows
    of its own source or, if there are none, on its held-out rows; for a model file, only log Z and
    mixing are measured.

    The table holds the log-likelihood of the rows and log Z (in nats, with 95 % intervals), the
    pseudo-likelihood, the reconstruction error, the difference between the free energies of
    held-out and training rows, how fast chains mix, whether training was at equilibrium, and how
    samples compare with data. If log Z cannot be computed exactly, it is estimated by annealing
    forward and in reverse. Scores that cannot be measured are listed with the reason.

    If a run is scored on its own rows, the table is added to the run's report. --pictures draws, as
    PNG files, the log weights of the annealing runs, free energies, autocorrelations, the plane of
    the first two principal components, and means of samples against means of data.

    Examples:
      harmonium evaluate runs/digits
      harmonium evaluate runs/digits --quick --json
      harmonium evaluate model.npz rows.npz:test --seconds 600
      harmonium evaluate model.safetensors rows.csv --pictures figures
    """
    from ..runs.evaluate import evaluate as evaluate_model

    # Progress goes to standard error, so that standard output holds only the table or the JSON.
    evaluation = evaluate_model(config, display(as_json=True))
    return print_evaluation(evaluation, as_json, must_converge)


def print_evaluation(evaluation: Evaluation, as_json: bool, must_converge: bool) -> int:
    """Print an evaluation, as JSON or as a table, and return the exit status."""
    if as_json:
        print_json(evaluation.to_json())
    else:
        evaluation.show(display(as_json=False))
    if evaluation.status == "interrupted":
        complain("interrupted; the remaining results are left out.")
        return INTERRUPTED
    message = "log Z is unchecked: name rows as DATA, so that chains can start from them."
    if evaluation.log_z.checked:
        message = "log Z did NOT converge: allow more --seconds, or try more --chains."
    return status_of_chains(evaluation.log_z.converged, message, must_converge)
