"""Evaluate a model that is stored in a file or a run folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import NotFiniteError, input_error
from ..io.storage import load
from ..partition_function import finite_z
from ..partition_function.enumerated import LARGEST_LOG2_STATES
from ..rbm import RBM
from .checks import refuse_many_states
from .display import Display
from .evaluation.base import AbstractBlock, NotKnown
from .evaluation.blocks import BLOCKS
from .evaluation.likelihood import annealing_picture, likelihood
from .evaluation.pictures import Pictures
from .evaluation.progress import EvaluationProgress
from .evaluation.result import DONE, INTERRUPTED, Evaluation, ScoredRows
from .evaluation.target import target_of
from .failures import failure_of
from .folder import RunFolder
from .memory import refuse_beyond_memory
from .options import (
    BINARIZE,
    EVALUATION_SEED,
    PARTS,
    SCORES,
    check_choice,
    check_count,
    check_folder,
    check_number,
    check_seed,
)
from .prepare import BYTES, COPIES_IN_FLIGHT
from .report import report_with
from .rows import Rows

DEFAULT_CHAINS = 512
QUICK = "left out by --quick"
USUAL_STEPS = 4_000


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """The options of `harmonium evaluate`.

    Attributes:
        run: a run folder or a model.
        data: a built-in data set or a file; None for the run's own source.
        rows: which of the source's rows to score, one of `PARTS`.
        method: "auto", "exact", "annealed" or "tempered".
        chains: annealing chains in each direction, or tempered chains; None for the default of
            the method.
        steps: steps of each annealing run; None for as many as needed.
        seconds: time after which log Z takes no more steps or chains.
        quick: whether mixing, equilibrium and samples are left out.
        pictures: folder for pictures as PNG files; None for no pictures.
        seed: random seed of the evaluation.
        binarize: how grey levels are treated, one of `BINARIZE`; None for as the run did.
        scale: the grey level that means 1.
        text: how a text file is read, as `text_format_for` takes it.
        source: the file that has the rows of the run's own source, if that may not be used.
    """

    run: str
    data: str | None = None
    rows: str = "auto"
    method: str = "auto"
    chains: int | None = None
    steps: int | None = None
    seconds: float = 120.0
    quick: bool = False
    pictures: str | None = None
    seed: int = EVALUATION_SEED
    binarize: str | None = None
    scale: float | None = None
    text: dict[str, Any] = field(default_factory=dict)
    source: str | None = None

    def __post_init__(self):
        """Check each option on its own; options that depend on the model are checked later.

        Raises:
            InputError: names the option, what was expected, what was found and what to do.
        """
        if self.source is not None and self.data is not None:
            found, advice = f"DATA {self.data} too", "leave one of them out"
            raise input_error("--source", "the rows of the run's own source", found, advice)
        check_choice("--rows", self.rows, PARTS)
        if self.text and self.data is None:
            option = f"--{next(iter(self.text))}"
            advice = "leave it out: a run's own rows are read as the run did"
            raise input_error(option, "a file of rows as DATA", "none", advice)
        if self.binarize is not None:
            check_choice("--binarize", self.binarize, BINARIZE)
        check_seed(self.seed)
        check_choice("--method", self.method, SCORES)
        if self.chains is not None:
            check_count("--chains", self.chains, least=8 if self.method == "tempered" else 2)
        if self.steps is not None:
            check_count("--steps", self.steps, least=2)
            if self.method == "tempered":
                found = "a number of them"
                expected, advice = "no --steps with --method tempered", "give --seconds instead"
                raise input_error(f"--steps {self.steps}", expected, found, advice)
        check_number("--seconds", self.seconds, "a positive number", "give 120", below=1e9)
        if self.pictures is not None:
            name = f"--pictures {self.pictures}"
            if self.quick:
                advice = "leave out one of them"
                raise input_error(name, "no --quick, which draws none", "both", advice)
            check_folder(name, Path(self.pictures))


def evaluate(options: EvaluationConfig, display: Display) -> Evaluation:
    """Return the evaluation of a model; add it to the report of its run.

    Log Z comes first; without a finite log Z there is no evaluation. Each later block may fail
    without affecting the others. An interruption skips the remaining blocks and keeps the results
    so far. An evaluation of a run's own rows that is whole goes into the folder of the run and its
    report.

    Raises:
        InputError: a model or rows that cannot be read or do not fit each other.
        NotFiniteError: the model has no finite score.
    """
    rbm = load(options.run)
    if not finite_z(rbm):
        raise NotFiniteError(
            f"{options.run}: expected a model with a finite Z; found {rbm}, whose Z is not known"
            " to be finite: its couplings are too strong for its precisions; train it with smaller"
            " weights."
        )
    settings = _settings(options, rbm)
    target = target_of(
        options.run,
        options.data,
        rbm,
        part=options.rows,
        binarize=options.binarize,
        scale=options.scale,
        seed=options.seed,
        source=options.source,
        text=options.text,
    )
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
            run=options.run,
            data=options.data,
            model=str(rbm),
            status=INTERRUPTED if stages.interrupted else DONE,
            rows=ScoredRows.of(target),
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
    """Write an evaluation into the folder of its run, and the report that shows it.

    The folder may be read-only, or its disk full: the evaluation is printed all the same.
    """
    try:
        folder.write_evaluation(evaluation.to_json() | {"table": asdict(evaluation.table)})
        report_with(folder, rows)
    except Exception as error:
        display.say(f"no report: {failure_of(error)}")


def _settings(options: EvaluationConfig, rbm: RBM) -> dict[str, Any]:
    """Return the arguments of `log_z`; refuse those that do not fit the model or the memory."""
    if options.method == "exact":
        advice = "leave the method out, or choose annealed"
        refuse_many_states(rbm, LARGEST_LOG2_STATES, advice)
        return {"method": "exact"}
    chains = options.chains or DEFAULT_CHAINS
    steps = options.steps or 0
    states = chains * (rbm.visible.size + rbm.hidden.size)
    sizes = {"--chains": chains / DEFAULT_CHAINS, "--steps": steps / USUAL_STEPS}
    refuse_beyond_memory(BYTES * COPIES_IN_FLIGHT * states + 16 * steps, sizes, "this estimate")
    return {
        "method": options.method,
        "chains": options.chains,
        "steps": options.steps,
        "seconds": options.seconds,
    }
