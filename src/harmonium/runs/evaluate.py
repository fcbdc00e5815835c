"""Evaluate a model stored in a file or a run folder."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import NotFiniteError
from ..io.storage import load
from ..likelihood.partition_function.enumerated import LARGEST_LOG2_STATES
from ..rbm import RBM
from ..samplers.finite import finite_z
from .checks import refuse_many_states
from .display import Display
from .evaluation.base import AbstractBlock, NotKnown
from .evaluation.likelihood import annealing_picture, likelihood
from .evaluation.options import EvaluationConfig
from .evaluation.pictures import Pictures
from .evaluation.progress import EvaluationProgress
from .evaluation.result import BLOCKS, Evaluation
from .evaluation.target import target_of
from .failures import failure_of
from .folder import RunFolder
from .report import report_with
from .rows import Rows
from .summaries import DONE, INTERRUPTED

QUICK = "left out by --quick"


def evaluate(options: EvaluationConfig, display: Display) -> Evaluation:
    """Evaluate a model; if a run is scored on its own rows, save the result in the run's folder.

    Log Z is computed first; if it is not finite, NotFiniteError is raised. A later block of scores
    may fail without affecting the others. An interruption skips the remaining blocks and keeps the
    results obtained so far. An interrupted or quick evaluation is not saved.

    Raises:
        InputError: the model or the rows cannot be read, or are incompatible.
        NotFiniteError: the model has no finite score.
    """
    rbm = load(options.run)
    if not finite_z(rbm):
        raise NotFiniteError(
            f"{options.run}: expected a model with a finite Z; got {rbm}, whose Z may be infinite,"
            " since its couplings are too strong for its precisions; train it with smaller weights."
        )
    settings = _settings(options, rbm)
    target = target_of(rbm, options)
    blocks: dict[str, AbstractBlock | NotKnown] = {}
    pictures = Pictures()
    with EvaluationProgress(display) as stages:
        log_z, score = stages.run("log Z", partial(likelihood, target, settings), options.seconds)
        for block in BLOCKS:
            if options.quick and block.is_slow:
                blocks[block.name] = NotKnown(block.title, QUICK)
                continue
            measure = partial(block.measure, target)
            blocks[block.name] = stages.attempt(block.stage, measure, block.seconds, block.title)
        if options.pictures is not None:
            available = [("log_z", annealing_picture)]
            available += [picture for block in BLOCKS for picture in block.pictures]
            draw = partial(pictures.draw, available, target, Path(options.pictures))
            stages.attempt("pictures", draw)
        evaluation = Evaluation(
            target=target,
            status=INTERRUPTED if stages.interrupted else DONE,
            log_z=log_z,
            log_likelihood=score,
            blocks=blocks,
            pictures=pictures,
            seconds=stages.seconds,
        )
        if target.own and target.data is not None and not options.quick:
            given = (evaluation, RunFolder(options.run), target.data, display)
            stages.attempt("report", lambda _: _add_to_report(*given))
    return evaluation


def _add_to_report(evaluation: Evaluation, folder: RunFolder, rows: Rows, display: Display) -> None:
    """Save an evaluation in the folder of its run, and rewrite the run's report to include it.

    If a file cannot be written (for example, the disk is full), only the reason is printed.
    """
    try:
        folder.write_evaluation(evaluation.to_json() | {"table": asdict(evaluation.table)})
        report_with(folder, rows)
    except Exception as error:
        display.say(f"no report: {failure_of(error)}")


def _settings(options: EvaluationConfig, rbm: RBM) -> dict[str, Any]:
    """Return the arguments of `log_z`; raise InputError if a requested exact sum is infeasible."""
    if options.method == "exact":
        advice = "leave the method out, or choose annealed"
        refuse_many_states(rbm, LARGEST_LOG2_STATES, advice)
        return {"method": "exact"}
    return {
        "method": options.method,
        "chains": options.chains,
        "steps": options.steps,
        "seconds": options.seconds,
    }
