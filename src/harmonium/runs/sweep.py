"""Many runs of one source: their options drawn or taken from a grid, shared among processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from typing import IO, Any

import jax
from rich.console import Console

from .._threefry import key_of
from ..errors import InputError, input_error
from ..io.convert.base import optional
from ..io.storage import load
from ..likelihood import log_likelihood
from ..precision import cores
from ..signals import Asked
from .display import Display, nats
from .ensemble import mean_of
from .failures import failure_of
from .folder import METRICS, RunFolder
from .leftovers import STUDY
from .options import EVALUATION_SEED, check_count, check_folder
from .pruning import PRUNED, SCORE, Curves, Pruner
from .rows import own_rows, rows_of_run
from .score import finite_score, scored_by_run
from .study import OPTUNA, PROBLEM, RESULT, Study, Taken
from .sweep_spec import SweepSpec, read_spec
from .train import DIVERGED, DONE, INTERRUPTED, resume, train

SECONDS_TO_SCORE = 120.0  # where log Z of a run is not sure
SECONDS_BETWEEN_LOOKS = 0.5
MOST_SHAPES = 8  # whose programs are kept: each holds some 50 MB and 500 of 65,530 memory maps
SAME_SHAPE = ("lr", "seed", "penalty")  # options that need no programs of their own
ENDED = (DONE, DIVERGED, PRUNED)
# -P: no module of the folder where a sweep is started takes the place of one of Python's.
OWN_COMMAND = (sys.executable, "-P", "-m", "harmonium")
ENDS_OF_WORK = (0, 2, 3)  # exit statuses of a process that found nothing more to do


def sweep(path: str, out: str | None, processes: int, display: Display) -> dict[str, Any]:
    """Make the trials of a sweep that are not made yet; return all of them, the best first.

    Args:
        path: the file that describes the sweep.
        out: its folder; None for the one that the file names.
        processes: how many processes to start for it; 1 for this one alone.
        display: where progress is shown.

    Raises:
        InputError: the file, its options or its source cannot be used; nothing is written.
        MissingDependencyError: Optuna is not installed.
        KeyboardInterrupt: the user's; trials under way are saved.
    """
    check_count("--processes", processes)
    spec = read_spec(path, out)
    optional(*OPTUNA)
    if processes > 1:  # of which none may take a GPU's memory in advance
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    check_source(spec)
    with Study(spec) as study:
        news = News(study, display)
        if processes > 1 and len(news.finished()) < spec.trials:
            work_together(study, news, path, processes)
        else:
            work(study, news)
        return summary_of(study)


def check_source(spec: SweepSpec) -> None:
    """Refuse a folder of something else, or a source whose trials could not be compared.

    A sweep that has begun was checked then.

    Raises:
        InputError: says what was expected and what was found.
    """
    name = str(spec.folder)
    check_folder(name, spec.folder)
    if (spec.folder / STUDY).is_file():
        return
    if spec.folder.is_dir() and any(each.is_dir() for each in spec.folder.iterdir()):
        found = "a folder that holds other folders and no study"
        raise input_error(name, "a new or empty folder", found, "choose another name")
    firsts = {key: one.to_check[0] for key, one in spec.search.items()}
    rows = rows_of_run(spec.config(firsts))
    if "validation" not in rows.parts and not rows.exhaustive:
        expected, found = "rows to hold out, by which the best trial is chosen", "none"
        advice = "give more rows, or validation = 0.2 in [options]"
        raise input_error(f"{spec.path}: source", expected, found, advice)


def work(study: Study, news: News) -> None:
    """Take trials until all are finished; wait for those that other processes work on."""
    aside: dict[int, str] = {}
    curves, waits = Curves(), False
    shapes: set[tuple[Any, ...]] = set()
    while True:
        news.tell()
        taken = study.take(set(aside))
        if taken is None:
            left = [one for one in study.unfinished() if one.number not in aside]
            if not left:
                return
            if not waits:
                others = ", ".join(study.spec.run(one.number).name for one in left[:5])
                news.display.say(f"waiting for other processes: {others}")
            waits = True
            time.sleep(SECONDS_BETWEEN_LOOKS)
            continue
        waits = False
        try:
            objective, record = carried_out(study, taken, curves)
        except Exception as error:
            reason = failure_of(error)
            aside[taken.number] = reason
            study.put_aside(taken, reason)
            news.display.say(f"{study.spec.run(taken.number).name}  put aside: {reason}")
        else:
            study.tell(taken, objective, record)
        shapes.add(tuple(taken.values[name] for name in taken.values if name not in SAME_SHAPE))
        if len(shapes) > MOST_SHAPES:
            jax.clear_caches()
            shapes.clear()


def carried_out(study: Study, taken: Taken, curves: Curves) -> tuple[float | None, dict[str, Any]]:
    """Train a trial, or go on with it where its process left it; return its objective and record.

    Raises:
        KeyboardInterrupt: the user's; the run is saved.
    """
    spec, path = study.spec, study.spec.run(taken.number)
    folder = RunFolder(path)
    summary = _summary_at_end(folder)
    if summary is None:
        silent = Display(Console(quiet=True))
        callbacks = [Pruner(path, curves)] if spec.prune else []
        if folder.checkpoints.exist:
            summary = resume(str(path), None, silent, None, callbacks)
        else:
            if path.is_dir():  # its process ended before there was anything to go on with
                shutil.rmtree(path)
            summary = train(spec.config(taken.values), str(path), False, silent, None, callbacks)
    if summary["status"] == INTERRUPTED:
        raise KeyboardInterrupt
    study.check_rows(folder)
    score = score_of(folder, summary)
    result = {name: summary[name] for name in ("status", "message", "updates", "seconds")}
    return score.get("value"), result | {SCORE: score}


def _summary_at_end(folder: RunFolder) -> dict[str, Any] | None:
    """Return the summary of a trial that has ended; None if it has to go on.

    One whose summary is damaged goes on from its last checkpoint, which scores it again.
    """
    try:
        summary = folder.summary()
    except InputError:
        return None
    if summary is None or summary.status not in ENDED:
        return None
    has_score = summary.log_likelihood is not None or summary.status != DONE
    return summary.to_json() if has_score else None


def score_of(folder: RunFolder, summary: dict[str, Any]) -> dict[str, Any]:
    """Return the log-likelihood of rows that a run held out, never that of test rows.

    Of rows that are a whole distribution it is that of all of them. A run that was pruned has the
    best that it had measured. Of an ensemble it is the mean over its models.
    """
    if summary["status"] == PRUNED:
        known = [each[SCORE] for each in folder.metrics() if each.get(SCORE) is not None]
        if not known:
            found, advice = "none", "remove the folder, and sweep again"
            raise input_error(str(folder.file(METRICS)), "log-likelihoods", found, advice)
        return {"value": max(known)}
    record, several = summary[SCORE] or {}, summary.get("ensemble")
    if several is not None:
        record = several["mean"]
    if record.get("rows") == "test":
        rows = own_rows(folder)
        name = "validation" if "validation" in rows.parts else "train"
        given = {"seconds": SECONDS_TO_SCORE, "key": key_of(EVALUATION_SEED)}
        score = scored_by_run(folder, load(folder.path), rows.parts[name], **given)
        scores = [score._asdict() | {"rows": name}]
        for file in [] if several is None else several["models"][1:]:  # of other log Z
            rbm = load(file)
            found = finite_score(rbm, lambda m=rbm: log_likelihood(m, rows.parts[name], **given))
            scores.append(found._asdict() | {"rows": name})
        record = scores[0] if several is None else mean_of(scores)
    names = ("value", "low", "high", "stderr_rows", "stderr_models", "converged", "rows")
    return {name: record[name] for name in names if name in record}


class News:
    """Says each trial that has finished, whichever process made it."""

    def __init__(self, study: Study, display: Display):
        self.study, self.display = study, display
        self.told = {one.number for one in self.finished()}
        if self.told:
            spec = study.spec
            display.say(f"{len(self.told)} of {spec.trials} trials in {spec.folder} are finished")

    def finished(self) -> list[Any]:
        """Return the trials that are finished."""
        return [one for one in self.study.trials() if one.state.is_finished()]

    def tell(self) -> None:
        """Print a line for each trial that has finished since the last look."""
        done = self.finished()
        for one in done:
            if one.number not in self.told:
                self.told.add(one.number)
                result = one.user_attrs[RESULT]
                said = result["message"]
                if result["status"] == DONE:
                    said = f"log-likelihood {with_error(result[SCORE])}"
                values = " ".join(f"{name}={short(value)}" for name, value in one.params.items())
                run = self.study.spec.run(one.number).name
                count = f"{len(self.told)} of {self.study.spec.trials}"
                self.display.say(f"{run}  {said}  {values}  ({count})")


def short(value: Any) -> str:
    """Return the value of an option in few characters."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def with_error(score: dict[str, Any]) -> str:
    """Return a log-likelihood with its standard error over models or rows, if that is known."""
    spread = score.get("stderr_models", score.get("stderr_rows"))
    return nats(score["value"], 3) + ("" if spread is None else f" ± {nats(spread, 3)}")


def summary_of(study: Study) -> dict[str, Any]:
    """Return all trials: those with a result first, the best of them at the head."""
    spec, rows = study.spec, []
    for one in study.trials():
        result = one.user_attrs.get(RESULT) or {
            "status": "unfinished",
            "message": one.user_attrs.get(PROBLEM, "it has not ended"),
            SCORE: {},
        }
        about = {"trial": one.number, "run": str(spec.run(one.number)), "options": one.params}
        rows.append(about | result)
    order = {DONE: 0, PRUNED: 1}
    rows.sort(key=lambda row: (order.get(row["status"], 2), -(row[SCORE].get("value") or 0.0)))
    return {
        "sweep": spec.path,
        "folder": str(spec.folder),
        "sampler": spec.sampler,
        "searched": list(spec.search),
        "wanted": spec.trials,
        "best": rows[0]["run"] if rows and rows[0]["status"] == DONE else None,
        "trials": rows,
    }


def work_together(study: Study, news: News, path: str, processes: int) -> None:
    """Start processes that take trials, and follow them until they end.

    They are in sessions of their own, so that Ctrl-C reaches this one only, which then ends each of
    them once: they save their trials.

    Raises:
        InputError: none of them could go on.
    """
    command = [*OWN_COMMAND, "sweep", path, "--out", str(study.spec.folder)]
    shared: dict[str, Any] = {"stdout": subprocess.DEVNULL, "env": environment(processes)}
    with ExitStack() as stack:
        logs = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(processes)]
        children = [
            subprocess.Popen(command, stderr=log, start_new_session=True, **shared) for log in logs
        ]
        try:
            while any(child.poll() is None for child in children):
                news.tell()
                Asked.act_on(Asked.number)
                time.sleep(SECONDS_BETWEEN_LOOKS)
        finally:
            for child in children:
                child.terminate()  # which does nothing to those that have ended
            for child in children:
                child.wait()
        news.tell()
        both = zip(children, map(last_line, logs), strict=True)
        failed = [(child, said) for child, said in both if child.returncode not in ENDS_OF_WORK]
    for child, said in failed:
        news.display.say(f"process {child.pid} ended with {child.returncode}: {said or 'killed'}")
    if len(news.finished()) < study.spec.trials and len(failed) == processes:
        found, advice = "that all have ended", "start the sweep again: it goes on"
        raise input_error("--processes", "processes that take trials", found, advice)


def last_line(log: IO[bytes]) -> str:
    """Return the last line of what a process wrote."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("harmonium: ") if lines else ""


def environment(processes: int) -> dict[str, str]:
    """Return the environment of one of several processes, which share the cores.

    `NPROC` is the number of threads of XLA's pools, the others those of linear algebra; what the
    user has set stays.
    """
    threads = str(max(1, cores() // processes))
    names = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return dict.fromkeys(names, threads) | os.environ
