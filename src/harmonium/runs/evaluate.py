"""Evaluate a model that is stored in a file or a run folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import jax

from .._files import inside
from ..errors import NotFiniteError, input_error
from ..io.storage import load
from ..likelihood import log_likelihood, log_z
from ..partition_function import finite_z
from ..partition_function.base import LogZ
from ..partition_function.enumerated import LARGEST_LOG2_STATES
from ..rbm import RBM
from .checks import refuse_many_states
from .display import Display
from .figures import Material, Pictures, illustrate
from .folder import EVALUATION, check_folder
from .memory import refuse_beyond_memory
from .metrics import (
    MIXING_SECONDS,
    MOST_ROWS,
    NO_ROWS,
    equilibrium_report,
    free_energy_gap,
    measured_mixing,
    predicted_columns,
    pseudo_likelihood,
    quality,
    reconstruction,
)
from .options import (
    BINARIZE,
    EVALUATION_SEED,
    PARTS,
    SCORES,
    check_choice,
    check_count,
    check_number,
    check_seed,
)
from .prepare import BYTES, COPIES_IN_FLIGHT
from .progress import EvaluationProgress, NotMeasuredError, Unknown
from .records import (
    columns_record,
    equilibrium_record,
    gap_record,
    mixing_record,
    pictures_record,
    pseudo_likelihood_record,
    quality_record,
    reconstruction_record,
    record,
)
from .sampling import SECONDS, Drawn, draw, sweeps_for, with_lengths_like
from .score import finite_score, log_z_record, score_record, without_hidden_units
from .target import Target, is_run, target_of

DEFAULT_CHAINS = 512
QUICK = Unknown("left out by --quick")
DONE, INTERRUPTED = "done", "interrupted"


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
        quick: whether mixing, samples and pictures are left out.
        pictures: folder for the pictures; None for the run's own (no pictures of a model file).
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


def evaluate(wanted: EvaluationConfig, display: Display) -> dict[str, Any]:
    """Return the full evaluation of a model; write nothing but pictures.

    Log Z comes first; without a finite log Z there is no evaluation. Each later block may fail
    without affecting the others. An interruption skips the remaining blocks and keeps the results
    so far.

    Raises:
        InputError: a model or rows that cannot be read or do not fit each other.
        NotFiniteError: the model has no finite score.
    """
    rbm = load(wanted.run)
    if not finite_z(rbm):
        raise NotFiniteError(
            f"{wanted.run}: expected a model with a finite Z; found {rbm}, whose Z is not known"
            " to be finite: its couplings are too strong for its precisions; train it with smaller"
            " weights."
        )
    settings = _settings(wanted, rbm)
    how = (wanted.rows, wanted.binarize, wanted.scale, wanted.seed, wanted.source)
    target = target_of(wanted.run, wanted.data, rbm, *how, text=wanted.text)
    with EvaluationProgress(display) as stages:
        found, scores = _scored(target, settings, wanted, stages)
        blocks = _blocks(target, found, wanted, stages)
    return {
        "run": wanted.run,
        "data": wanted.data,
        "model": str(rbm),
        "status": INTERRUPTED if stages.interrupted else DONE,
        "rows": _rows_record(target),
        **scores,
        **blocks,
        "seconds": stages.seconds,
    }


def _settings(wanted: EvaluationConfig, rbm: RBM) -> dict[str, Any]:
    """Return the arguments of `log_z`; refuse those that do not fit the model or the memory."""
    if wanted.method == "exact":
        advice = "leave the method out, or choose annealed"
        refuse_many_states(rbm, LARGEST_LOG2_STATES, advice)
        return {"method": "exact"}
    chains, steps = wanted.chains, wanted.steps
    count = chains or DEFAULT_CHAINS
    states = count * (rbm.visible.size + rbm.hidden.size)
    sizes = {"--chains": count / DEFAULT_CHAINS, "--steps": (steps or 0) / 4_000}
    needed = BYTES * COPIES_IN_FLIGHT * states + 16 * (steps or 0)
    refuse_beyond_memory(needed, sizes, "this estimate")
    chosen = {"method": wanted.method, "chains": chains, "steps": steps}
    return chosen | {"seconds": wanted.seconds}


def _scored(
    target: Target, settings: dict[str, Any], wanted: EvaluationConfig, stages: EvaluationProgress
) -> tuple[LogZ, dict[str, Any]]:
    """Return log Z, and the records of log Z and of the log-likelihood of rows, if any."""
    rbm, rows = target.rbm, target.scored
    settings = settings | {"key": jax.random.key(wanted.seed)}

    def estimate(progress: Any) -> Any:
        if rows is None:
            return finite_score(rbm, lambda: log_z(rbm, progress=progress, **settings))
        return finite_score(rbm, lambda: log_likelihood(rbm, rows, progress=progress, **settings))

    found = stages.run("log Z", estimate, wanted.seconds)
    if rows is None:
        return found, {"log_z": log_z_record(found), "log_likelihood": None}
    train, without = target.parts.get("train"), None
    if target.own and train is not None:
        without = without_hidden_units(rbm.visible, train, rows)
    likelihood = score_record(found, str(target.name), len(rows), without)
    likelihood["per_unit"] = found.value / rbm.visible.n_units
    return found.log_z, {"log_z": log_z_record(found.log_z), "log_likelihood": likelihood}


def _blocks(
    target: Target, found: LogZ, wanted: EvaluationConfig, stages: EvaluationProgress
) -> dict[str, Any]:
    """Return the records of the other blocks, the most useful for their time first."""
    predicted = stages.attempt("pseudo-likelihood", lambda _: pseudo_likelihood(target))
    reconstructed = stages.attempt("reconstruction", lambda _: reconstruction(target))
    gap = stages.attempt("free-energy gap", lambda _: free_energy_gap(target))
    of_columns = stages.attempt("columns", lambda _: predicted_columns(target))
    write = partial(pseudo_likelihood_record, units=target.rbm.visible.n_units)
    records = {
        "pseudo_log_likelihood": record(predicted, write),
        "reconstruction": record(reconstructed, reconstruction_record),
        "free_energy_gap": record(gap, gap_record),
        "columns": record(of_columns, columns_record),
    }
    mixing: Any = QUICK
    reports, samples, compared, pictures = mixing, mixing, mixing, Pictures([], {})
    if not wanted.quick:
        limit = MIXING_SECONDS
        mixing = stages.attempt("mixing", partial(measured_mixing, target), limit)
        reports = stages.attempt("equilibrium", partial(equilibrium_report, target), limit)
        samples = _drawn(target, mixing, stages)
        compared = _compared(target, samples, wanted, stages)
        pictures = _illustrated(target, found, mixing, samples, wanted, stages)
    records |= {
        "mixing": record(mixing, mixing_record),
        "equilibrium": record(reports, equilibrium_record),
        "sample_quality": record(compared, partial(quality_record, drawn=samples)),
    }
    return records | pictures_record(pictures)


def _drawn(target: Target, mixing: Any, stages: EvaluationProgress) -> Any:
    """Draw samples, if there are rows to compare them with."""

    def compute(progress: Any) -> Drawn:
        if target.name is None:
            raise NotMeasuredError(NO_ROWS)
        sweeps = sweeps_for(None if isinstance(mixing, Unknown) else mixing)
        rbm = with_lengths_like(target.rbm, partial(target.rows, target.name))
        return draw(rbm, sweeps, progress, key=target.key_of(3))

    return stages.attempt("samples", compute, SECONDS)


def _compared(
    target: Target, samples: Any, wanted: EvaluationConfig, stages: EvaluationProgress
) -> Any:
    if isinstance(samples, Unknown):
        return samples
    return stages.attempt("sample quality", lambda _: quality(target, samples.rows, wanted.seed))


def _illustrated(
    target: Target,
    found: LogZ,
    mixing: Any,
    samples: Any,
    wanted: EvaluationConfig,
    stages: EvaluationProgress,
) -> Pictures:
    """Write the pictures to the folder in the options, or to that of the run."""
    pictures = Pictures([], {})
    if wanted.pictures is None and not is_run(wanted.run):
        return pictures
    own = inside(Path(wanted.run), EVALUATION)
    folder = own if wanted.pictures is None else Path(wanted.pictures)
    names = target.learned_and_held_out or (target.name, None)
    drawn: Any = samples if isinstance(samples, Unknown) else samples.rows
    data: Any = Unknown(NO_ROWS) if names[0] is None else target.rows(names[0], MOST_ROWS)
    material = Material(target.rbm, found, mixing, drawn, data)
    stages.attempt("pictures", partial(illustrate, material, folder, pictures))
    if folder == own:  # remove pictures of an earlier evaluation
        for name in pictures.left_out:
            (own / name).unlink(missing_ok=True)
    return pictures


def _rows_record(target: Target) -> dict[str, Any] | None:
    """Return which rows are scored, how many there are and what was done to them."""
    if target.scored is None:
        return None
    return {"name": target.name, "count": len(target.scored), "notes": target.notes}
