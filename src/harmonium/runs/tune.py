"""Search for the best options by many runs on one source, in one or several processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import jax
from rich.console import Console

from .._base.hardware import cores
from .._base.signals import Asked
from .._base.threefry import key_of
from ..errors import InputError
from ..io.convert.base import optional
from ..io.storage import load
from ..likelihood.scoring import log_likelihood
from ..training import Report
from .display import Display, nats
from .ensemble import mean_of
from .failures import failure_of
from .final_score import finite_score, scored_by_run
from .folder import METRICS, RunFolder
from .leftovers import STUDY, STUDY_BEFORE_0_1
from .options import EVALUATION_SEED, check_count
from .rows import own_rows, rows_of_run
from .study import (
    OPTUNA,
    PROBLEM,
    AbstractResult,
    Problem,
    Study,
    TrialResult,
    TrialScore,
    has_ended,
)
from .summaries import DIVERGED, DONE, INTERRUPTED, ScoreSummary, Summary
from .train import EndedEarly, resume, train
from .tune_spec import SearchSpec, read_spec
from .writing import check_folder

PRUNED = "pruned"
UNFINISHED = "unfinished"
SCORE = "log_likelihood"
SECONDS_TO_SCORE = 120.0  # time limit for log Z if the run's own estimate has not converged
SECONDS_BETWEEN_LOOKS = 0.5
FRACTION_BEFORE_PRUNING = 0.2  # of a trial's updates, since learning curves cross early
MOST_SHAPES = 8  # compiled programs kept: each takes some 50 MB and 500 of 65,530 memory maps
SAME_SHAPE = ("lr", "seed", "penalty")  # options that do not require recompilation
ENDED = (DONE, DIVERGED, PRUNED)
# -P: no module in the folder where a search is started may shadow a standard module.
OWN_COMMAND = (sys.executable, "-P", "-m", "harmonium")
ENDS_OF_WORK = (0, 2, 3)  # exit statuses of a process that found no more work


def tune(path: str, out: str | None, processes: int, display: Display) -> Search:
    """Run the unfinished trials of a search; return all its trials, the best first.

    Args:
        path: the file that describes the search.
        out: the folder of the search; None for the folder named in the file.
        processes: number of processes to start for the search; 1 to use only this process.
        display: where progress is shown.

    Raises:
        InputError: the file, its options or its source cannot be used; nothing is written.
        MissingDependencyError: Optuna is not installed.
        KeyboardInterrupt: the user interrupted the search; running trials are saved.
    """
    check_count("--processes", processes)
    spec = read_spec(path, out)
    optional(*OPTUNA)
    if processes > 1:  # no process may reserve all of a GPU's memory
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    check_source(spec)
    study = Study(spec)
    news = News(study, display)
    study.retry_failed()
    if processes > 1 and len(news.ended()) < spec.trials:
        work_together(news, path, processes)
    else:
        work(news)
    return summary_of(study)


def check_source(spec: SearchSpec) -> None:
    """Raise InputError if the folder cannot be used, or if no rows are held out to rank trials.

    A search that has begun is not checked again.

    Raises:
        InputError: the folder or the source cannot be used.
    """
    name = str(spec.folder)
    check_folder(name, spec.folder)
    if any((spec.folder / study).is_file() for study in (STUDY, STUDY_BEFORE_0_1)):
        return
    if spec.folder.is_dir() and any(path.is_dir() for path in spec.folder.iterdir()):
        raise InputError(
            f"{name}: expected a new or empty folder; got a folder that holds other folders and no"
            " study; choose another name."
        )
    firsts = {key: values.to_check[0] for key, values in spec.search.items()}
    rows = rows_of_run(spec.config(firsts))
    if "validation" not in rows.parts and not rows.exhaustive:
        raise InputError(
            f"{spec.path}: source: expected held-out rows, by which trials are ranked; got none;"
            " give more rows, or write validation = 0.2 in [options]."
        )


def work(news: News) -> None:
    """Run trials until all have ended; wait for other processes, whose trials may be requeued."""
    study = news.study
    shapes: set[tuple[Any, ...]] = set()
    waits = False

    def objective(trial: Any, number: int) -> TrialResult | Problem:
        values = {name: option.suggest(trial, name) for name, option in study.spec.search.items()}
        shapes.add(tuple(values[name] for name in values if name not in SAME_SHAPE))
        try:
            return carried_out(study, trial, number, values)
        except Exception as error:
            problem = failure_of(error)
            news.display.say(f"{study.spec.run(number).name}  could not be run: {problem}")
            return Problem(problem)

    while True:
        news.print()
        states = {number: trial.state.name for number, trial in study.trials().items()}
        running = [number for number, state in states.items() if state == "RUNNING"]
        if "WAITING" in states.values() or len(states) < study.spec.trials:
            study.run_one(objective)
            waits = False
        elif running:
            if not waits:
                names = ", ".join(study.spec.run(number).name for number in running[:5])
                news.display.say(f"waiting for other processes: {names}")
            waits = True
            time.sleep(SECONDS_BETWEEN_LOOKS)
            study.fail_stale()
        else:
            return
        if len(shapes) > MOST_SHAPES:
            jax.clear_caches()
            shapes.clear()


def carried_out(study: Study, trial: Any, number: int, values: dict[str, Any]) -> TrialResult:
    """Train a trial, or resume it where its process stopped; return its result.

    Raises:
        KeyboardInterrupt: the user interrupted the run, which is saved.
    """
    spec = study.spec
    path = spec.run(number)
    folder = RunFolder(path)
    summary = _summary_at_end(folder)
    if summary is None:
        silent = Display(Console(quiet=True))
        callbacks = [Pruner(trial)] if spec.prune else []
        if folder.checkpoints.exist:
            summary = resume(str(path), None, silent, None, callbacks)
        else:
            if path.is_dir():  # the trial's process ended before the first checkpoint
                shutil.rmtree(path)
            summary = train(spec.config(values), str(path), False, silent, None, callbacks)
    if summary.status == INTERRUPTED:
        raise KeyboardInterrupt
    study.check_rows(folder)
    return TrialResult(
        status=summary.status,
        message=summary.message,
        updates=summary.updates,
        seconds=summary.seconds,
        log_likelihood=score_of(folder, summary),
    )


class Pruner:
    """A callback that reports log-likelihoods to Optuna, and ends a run that Optuna prunes.

    Trials are compared at the same epoch, since the number of updates depends on the batch size.
    """

    def __init__(self, trial: Any):
        self.trial = trial

    def __call__(self, report: Report) -> None:
        """Report the log-likelihood of a run to Optuna.

        Raises:
            EndedEarly: the best value so far is below the median of other trials at this epoch.
        """
        value = report.metrics.get(SCORE)
        if value is None:
            return
        # Optuna requires whole numbers as steps.
        self.trial.report(float(value), round(report.epoch))
        is_early = report.updates < FRACTION_BEFORE_PRUNING * report.total
        # At the end of a trial, pruning would save no time, so the trial is scored.
        if is_early or report.updates >= report.total or not self.trial.should_prune():
            return
        said = f"pruned after {report.updates:,} updates: held-out log-likelihood"
        median = "never above the median of other trials at this epoch"
        raise EndedEarly(PRUNED, f"{said} {nats(float(value))}, {median}")


def _summary_at_end(folder: RunFolder) -> Summary | None:
    """Return the summary of a trial that has ended; None if the trial has to continue.

    A trial whose summary is damaged continues from its last checkpoint and is scored again.
    """
    try:
        summary = folder.summary()
    except InputError:
        return None
    if summary is None or summary.status not in ENDED:
        return None
    has_score = summary.log_likelihood is not None or summary.status != DONE
    return summary if has_score else None


def score_of(folder: RunFolder, summary: Summary) -> TrialScore | None:
    """Return the log-likelihood of the rows that a run held out, never of test rows.

    If the rows are a whole distribution, all rows are scored. A pruned run gets the best value
    measured during training; an ensemble gets the mean over its models.
    """
    if summary.status == PRUNED:
        values = [record[SCORE] for record in folder.metrics() if record.get(SCORE) is not None]
        if not values:
            raise InputError(
                f"{folder.file(METRICS)}: expected log-likelihoods; got none; remove the folder of"
                " this trial, and start the search again."
            )
        return TrialScore(value=max(values))
    score = summary.log_likelihood
    if score is None:
        return None
    ensemble = summary.ensemble
    if score.rows != "test":
        return TrialScore.of(score if ensemble is None else ensemble.mean)
    rows = own_rows(folder)
    name = "validation" if "validation" in rows.parts else "train"
    held_out = rows.parts[name]
    settings = {"seconds": SECONDS_TO_SCORE, "key": key_of(EVALUATION_SEED)}
    likelihoods = [scored_by_run(folder, load(folder.path), held_out, **settings)]
    for file in [] if ensemble is None else ensemble.models[1:]:  # their log Z differs
        rbm = load(file)
        estimate = partial(log_likelihood, rbm, held_out, **settings)
        likelihoods.append(finite_score(rbm, estimate))
    scores = [
        ScoreSummary.of(
            likelihood,
            rows=name,
            n_rows=len(held_out),
            n_units=held_out.columns,
        )
        for likelihood in likelihoods
    ]
    return TrialScore.of(scores[0] if ensemble is None else mean_of(scores))


class News:
    """Prints a line for each trial that has ended, whichever process ran the trial."""

    def __init__(self, study: Study, display: Display):
        self.study = study
        self.display = display
        self.known = set(self.ended())
        if self.known:
            spec = study.spec
            display.say(f"{len(self.known)} of {spec.trials} trials in {spec.folder} are finished")

    def ended(self) -> dict[int, Any]:
        """Return the trials that have ended, keyed by folder number."""
        trials = self.study.trials().items()
        return {number: trial for number, trial in trials if has_ended(trial)}

    def print(self) -> None:
        """Print a line for each trial that has ended since the last call."""
        for number, trial in self.ended().items():
            if number not in self.known:
                self.known.add(number)
                result = self.study.result(trial)
                outcome = result.message
                if result.status == DONE and result.log_likelihood is not None:
                    outcome = f"log-likelihood {with_error(result.log_likelihood)}"
                values = " ".join(f"{name}={short(value)}" for name, value in trial.params.items())
                run = self.study.spec.run(number).name
                count = f"{len(self.known)} of {self.study.spec.trials}"
                self.display.say(f"{run}  {outcome}  {values}  ({count})")


def short(value: Any) -> str:
    """Format the value of an option in few characters."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def with_error(score: TrialScore) -> str:
    """Format a log-likelihood with its standard error over models or rows, if known."""
    spread = "" if score.stderr is None else f" ± {nats(score.stderr, 3)}"
    return nats(score.value, 3) + spread


@dataclass(frozen=True, kw_only=True)
class Trial(AbstractResult):
    """A trial, with its number, folder, values of the searched options, and result."""

    trial: int
    run: str
    options: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Search:
    """All trials of a search: completed trials first, then pruned ones, the best of each first."""

    spec: str
    folder: str
    sampler: str
    searched: list[str]
    wanted: int
    best: str | None
    trials: list[Trial]


def summary_of(study: Study) -> Search:
    """Return a summary of all trials of a study."""
    spec = study.spec
    trials = []
    for number, trial in study.trials().items():
        problem = trial.user_attrs.get(PROBLEM, "it has not ended")
        result = TrialResult(status=UNFINISHED, message=problem)
        if has_ended(trial):
            result = study.result(trial)
        run = str(spec.run(number))
        trials.append(Trial(trial=number, run=run, options=trial.params, **vars(result)))
    order = {DONE: 0, PRUNED: 1}
    trials.sort(key=lambda trial: (order.get(trial.status, 2), -trial.value))
    has_best = bool(trials) and trials[0].status == DONE
    return Search(
        spec=spec.path,
        folder=str(spec.folder),
        sampler=spec.sampler,
        searched=list(spec.search),
        wanted=spec.trials,
        best=trials[0].run if has_best else None,
        trials=trials,
    )


def work_together(news: News, path: str, processes: int) -> None:
    """Start processes that run trials, and report progress until all processes have ended.

    The processes run in separate sessions, so Ctrl-C reaches only the present process, which then
    sends one signal to each of the others, so that they save their trials and exit.

    Raises:
        InputError: none of the processes could continue.
    """
    spec = news.study.spec
    command = [*OWN_COMMAND, "tune", path, "--out", str(spec.folder)]
    shared: dict[str, Any] = {"stdout": subprocess.DEVNULL, "env": environment(processes)}
    with ExitStack() as stack:
        logs = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(processes)]
        children = [
            subprocess.Popen(command, stderr=log, start_new_session=True, **shared) for log in logs
        ]
        try:
            while any(child.poll() is None for child in children):
                news.print()
                Asked.act_on(Asked.number)
                time.sleep(SECONDS_BETWEEN_LOOKS)
        finally:
            for child in children:
                child.terminate()  # has no effect on a process that has ended
            for child in children:
                child.wait()
        news.print()
        lines = zip(children, map(last_line, logs), strict=True)
        failed = [(child, line) for child, line in lines if child.returncode not in ENDS_OF_WORK]
    for child, line in failed:
        news.display.say(f"process {child.pid} ended with {child.returncode}: {line or 'killed'}")
    if len(news.ended()) < spec.trials and len(failed) == processes:
        raise InputError(
            "--processes: expected processes that run trials; got a failure of every process; start"
            " the search again to continue it."
        )


def last_line(log: IO[bytes]) -> str:
    """Return the last line in the log of a process."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("harmonium: ") if lines else ""


def environment(processes: int) -> dict[str, str]:
    """Return the environment variables for each of several processes that share the cores.

    `NPROC` sets the number of threads in XLA's pools; the other variables set the number of threads
    for linear algebra. Values set by the user are kept.
    """
    threads = str(max(1, cores() // processes))
    names = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, threads) | os.environ
