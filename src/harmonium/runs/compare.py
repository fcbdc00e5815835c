"""Compare the log-likelihoods of runs on the same rows, and list the cost of each run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base.statistics import effective_size
from .._base.threefry import key_of
from ..data import Dataset
from ..errors import InputError, count_of
from ..io.formats.base import write_whole
from ..io.storage import load
from ..layers.capabilities import takes_lengths
from ..likelihood.partition_function.annealed import Annealed
from ..likelihood.partition_function.by_length import lengths_of_rows, log_z_of_rows
from ..likelihood.scoring import Automatic, free_energies
from ..rbm import RBM
from ..report import page_of
from .folder import RunFolder
from .jsonable import jsonable
from .leftovers import is_run, trials_in
from .options import EVALUATION_SEED
from .rows import Rows, own_rows
from .summaries import NORMAL, ScoreSummary, Summary

SECONDS = 30.0  # time limit for log Z of documents of different lengths


class Compared(NamedTuple):
    """A run compared with the best one.

    Attributes:
        run: the run's folder.
        value: its log-likelihood, in nats per row.
        low: lower end of the 95 % interval of `value`, which accounts for the error of log Z alone;
            None if it is not finite.
        high: upper end of this interval; None if it is not finite.
        converged: whether log Z is trusted.
        behind: the best run's log-likelihood minus this run's, in nats per row.
        behind_low: lower end of the 95 % interval of `behind`. The interval accounts for the errors
            of log Z and for the choice of rows; it is computed from the difference in log p of each
            row, in which fluctuations common to both runs cancel.
        behind_high: upper end of this interval.
        seconds: training time; None if unknown.
        updates: number of updates; None if unknown.
        weights: number of weights.
        command: the command that made the run.
    """

    run: str
    value: float
    low: float | None
    high: float | None
    converged: bool
    behind: float
    behind_low: float
    behind_high: float
    seconds: float | None
    updates: int | None
    weights: int
    command: str


class _Scored(NamedTuple):
    """A run with the rows on which it was scored, and log p of each of these rows.

    Attributes:
        run: the run's folder, as the user named it.
        source: the rows of the run's source.
        rows: the rows that the run was scored on, shape (n, columns).
        weights: the weights of these rows, shape (n,), which sum to 1.
        log_p: log p of each row, in nats, shape (n,).
        log_z_error: standard error of log Z, in nats.
        size: the number of weights of the model.
        summary: the summary that the run reported.
        score: the run's log-likelihood, with its interval.
    """

    run: str
    source: Rows
    rows: np.ndarray
    weights: np.ndarray
    log_p: np.ndarray
    log_z_error: float
    size: int
    summary: Summary
    score: ScoreSummary

    @property
    def folder(self) -> RunFolder:
        """The folder of the run."""
        return RunFolder(self.run)

    @property
    def columns(self) -> set[str]:
        """The names of the modelled columns of a table; empty if the rows are not a table."""
        columns = () if self.source.columns is None else self.source.columns.columns
        return {column.name for column in columns if column.parts}

    @property
    def mean(self) -> float:
        """The weighted mean of log p over the rows, in nats."""
        return float(self.log_p @ self.weights)


def runs_in(paths: list[str]) -> list[str]:
    """Return these folders, with the folder of each search replaced by the folders of its runs."""
    return [str(run) for path in paths for run in trials_in(path) or [path]]


def compare(runs: list[str], out: str | None, source: str | None = None) -> list[Compared]:
    """Compare runs on the rows on which they were scored; return them in order, the best first.

    Runs that have not ended are left out if at least two others remain.

    Args:
        runs: the run folders, at least two.
        out: a page to write; None to write none.
        source: a file of rows named by the user, which replaces the runs' own source.

    Raises:
        InputError: fewer than two runs have ended, the runs were scored on different rows, or they
            model different columns.
    """
    if len(set(runs)) < 2:
        count = count_of(len(set(runs)), "run")
        raise InputError(f"RUN: expected two or more runs; got {count}; name their folders.")
    finished = [run for run in runs if not is_run(run) or _has_score(run)]
    if len(finished) > 1:  # `runs/*` may include unfinished ones
        runs = finished
    known: dict[tuple[Any, ...], Rows] = {}
    scored = sorted((_scored(run, source, known) for run in runs), key=lambda run: -run.mean)
    best = scored[0]
    for other in scored[1:]:
        _check_same_rows(best, other)
    compared = [_beside(run, best) for run in scored]
    if out is not None:
        content = {
            "kind": "comparison",
            "title": f"{best.source.name}: {len(scored)} runs",
            "rows": count_of(len(best.rows), f"{best.score.rows} row"),
            "runs": [jsonable(run._asdict()) for run in compared],
            "histories": [jsonable(run.folder.metrics()) for run in scored],
        }
        write_whole(Path(out), page_of(content, str(content["title"])).encode())
    return compared


def _has_score(run: str) -> bool:
    summary = RunFolder(run).summary()
    return summary is not None and summary.log_likelihood is not None


def _check_same_rows(best: _Scored, other: _Scored) -> None:
    """Raise InputError if two runs were scored on different rows, or model different columns."""
    differing = sorted(best.columns.symmetric_difference(other.columns))
    if differing:
        raise InputError(
            f"{other.run}: expected the columns that {best.run} models; got columns that only one"
            f" of the runs models: {', '.join(differing[:5])}; train both on the same columns."
        )
    if not np.array_equal(best.rows, other.rows, equal_nan=True):
        raise InputError(
            f"{other.run}: expected the rows that {best.run} was scored on; got other rows; train"
            " both runs on the same source, with the same --validation and --seed or --split."
        )


def _rows_of(folder: RunFolder, source: str | None, known: dict[tuple[Any, ...], Rows]) -> Rows:
    """Return the rows of a run's source; read the source only once for runs on the same rows.

    Args:
        folder: the folder of the run.
        source: a file of rows named by the user, which replaces the run's own source.
        known: rows of other runs, keyed by their hashes; the rows of this run are added.
    """
    # Hashes depend only on codes: two tables may have equal codes but different column names.
    hashes = tuple(folder.rows().hashes.values())
    if source is not None or not any(hashes) or folder.columns() is not None:
        return own_rows(folder, source)
    if hashes not in known:
        known[hashes] = own_rows(folder)
    return known[hashes]


def _scored(run: str, source: str | None, known: dict[tuple[Any, ...], Rows]) -> _Scored:
    folder = RunFolder(run)
    summary = folder.summary() if is_run(run) else None
    if summary is None or summary.log_likelihood is None or summary.log_z is None:
        content = "no run"
        advice = "check the name"
        if is_run(run):
            content = "a run without a score"
            advice = "finish it with harmonium resume"
        raise InputError(
            f"{run}: expected the folder of a run that has ended; got {content}; {advice}."
        )
    rows = _rows_of(folder, source, known)
    part: Dataset = summary.log_likelihood.part_of(rows.parts, folder.path)
    key = key_of(EVALUATION_SEED)
    values = np.asarray(part.rows(key=key))
    rbm = load(run)
    log_p = -free_energies(rbm, values, key=key).astype(float) - summary.log_z.value
    log_p = log_p - _log_z_deviations(rbm, values, part.weights)
    if part.log_density is not None:
        log_p = log_p + np.asarray(part.log_density)
    weights = np.ones(len(part))
    if part.weights is not None:
        weights = np.asarray(part.weights, float)
    return _Scored(
        run,
        rows,
        values,
        weights / weights.sum(),
        log_p,
        summary.log_z.stderr,
        int(np.prod(rbm.dense_weights.shape)),
        summary,
        summary.log_likelihood,
    )


def _log_z_deviations(rbm: RBM, rows: np.ndarray, weights: Any) -> np.ndarray:
    """Return the log Z of each row minus the mean log Z over rows, in nats, shape (n,).

    The deviations are 0 for models with a single log Z. For a model of documents, log Z depends on
    the length of the document, and the summary of the run contains only the mean of log Z.
    """
    if not takes_lengths(rbm.visible):
        return np.zeros(len(rows))
    weights = None if weights is None else np.asarray(weights, float)
    method = Automatic(Annealed(seconds=SECONDS))
    key = key_of(EVALUATION_SEED)
    log_z = log_z_of_rows(rbm, lengths_of_rows(rbm, rows), weights, method, key=key)
    return log_z.of_row - log_z.mean.value


def _beside(run: _Scored, best: _Scored) -> Compared:
    """Return a run's difference from the best run, with an interval, and the cost of the run."""
    differences = best.log_p - run.log_p
    behind = float(differences @ run.weights)
    half_width = 0.0
    if run.run != best.run:
        variance = float((differences - behind) ** 2 @ run.weights)
        freedom = max(effective_size(run.weights) - 1.0, 1.0)
        log_z_variance = run.log_z_error**2 + best.log_z_error**2
        half_width = NORMAL * math.sqrt(variance / freedom + log_z_variance)
    return Compared(
        run=run.run,
        value=run.score.value,
        low=run.score.low,
        high=run.score.high,
        converged=bool(run.score.converged),
        behind=behind,
        behind_low=behind - half_width,
        behind_high=behind + half_width,
        seconds=run.summary.seconds,
        updates=run.summary.updates,
        weights=run.size,
        command=run.folder.config().command,
    )
