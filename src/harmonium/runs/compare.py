"""Runs side by side: their likelihoods of the same rows, with paired intervals, and their cost."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._threefry import key_of
from ..data import Dataset
from ..errors import count_of, input_error
from ..io.formats.base import write_whole
from ..io.storage import load
from ..layers.capabilities import takes_lengths
from ..likelihood import Automatic, free_energies
from ..partition_function.annealed import Annealed
from ..partition_function.by_length import lengths_of_rows, log_z_of_rows
from ..rbm import RBM
from ..report import page_of
from ..statistics import effective_size
from .folder import RunFolder, trials_in
from .jsonable import jsonable
from .options import EVALUATION_SEED
from .rows import own_rows
from .summaries import ScoreSummary, Summary
from .target import is_run

NORMAL = 1.96  # standard deviations on either side of a 95 % interval
SECONDS = 30.0  # after which log Z of the lengths of documents takes no more steps


class Compared(NamedTuple):
    """A run beside the best one.

    Attributes:
        run: its folder.
        value: its log-likelihood, nats per row.
        low: lower end of the 95 % interval from the error of log Z; None if it is not finite.
        high: upper end; None if it is not finite.
        converged: whether log Z is trusted.
        behind: how far it is behind the best run, nats per row.
        behind_low: lower end of the 95 % interval of that: rows are paired, so what they have in
            common cancels.
        behind_high: upper end.
        seconds: time of training; None if it is not known.
        updates: number of updates; None if it is not known.
        weights: number of weights.
        command: the command that made it.
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
    run: str
    rows: np.ndarray
    log_p: np.ndarray
    weights_of_rows: np.ndarray  # which sum to 1
    error: float  # standard error of log Z
    summary: Summary
    score: ScoreSummary
    command: str
    weights: int
    history: list[dict[str, Any]]
    name: str
    columns: set[str]


def runs_in(paths: list[str]) -> list[str]:
    """Return these folders of runs, with those of its trials in place of a sweep's folder."""
    return [str(run) for path in paths for run in trials_in(path) or [path]]


def compare(runs: list[str], out: str | None, source: str | None = None) -> list[Compared]:
    """Compare runs on the rows that they were scored on, the best one first.

    Runs that have not ended are left out, if two or more others are there.

    Args:
        runs: their folders, two or more.
        out: a page to write; None for none.
        source: the file of rows that the user names, if not the runs' own source.

    Raises:
        InputError: fewer than two, no finished runs, or runs scored on different rows.
    """
    if len(set(runs)) < 2:
        found = count_of(len(set(runs)), "run")
        raise input_error("RUN", "two or more runs", found, "name their folders")
    finished = [run for run in runs if not is_run(run) or _has_score(run)]
    if len(finished) > 1:  # `runs/*` may hold some that go on
        runs = finished
    found_scores = [_scored(run, source) for run in runs]
    scored = sorted(found_scores, key=lambda one: -one.log_p @ one.weights_of_rows)
    best = scored[0]
    for other in scored[1:]:
        apart = sorted(best.columns.symmetric_difference(other.columns))
        if apart:
            expected = f"the columns that {best.run} models"
            found = f"others: {', '.join(apart[:5])} in one of them only"
            raise input_error(other.run, expected, found, "train both on the same columns")
        if not np.array_equal(best.rows, other.rows, equal_nan=True):
            expected = f"the rows that {best.run} was scored on"
            advice = "train both on one source with one --validation, and one --seed or --split"
            raise input_error(other.run, expected, "other rows", advice)
    found = [_beside(one, best) for one in scored]
    if out is not None:
        content = {
            "kind": "comparison",
            "title": f"{best.name}: {len(found)} runs",
            "rows": count_of(len(best.rows), f"{best.score.rows} row"),
            "runs": [jsonable(one._asdict()) for one in found],
            "histories": [jsonable(one.history) for one in scored],
        }
        write_whole(Path(out), page_of(content, str(content["title"])).encode())
    return found


def _has_score(run: str) -> bool:
    summary = RunFolder(run).summary()
    return summary is not None and summary.log_likelihood is not None


def _scored(run: str, source: str | None) -> _Scored:
    folder = RunFolder(run)
    summary = folder.summary() if is_run(run) else None
    if summary is None or summary.log_likelihood is None or summary.log_z is None:
        found = "a run without a score" if is_run(run) else "no run"
        advice = "let it end, with harmonium resume"
        raise input_error(run, "the folder of a run that has ended", found, advice)
    config = folder.config()
    rows = own_rows(folder, source)
    score = summary.log_likelihood
    part: Dataset = score.part_of(rows.parts, folder.path)
    values = np.asarray(part.rows(key=key_of(EVALUATION_SEED)))
    rbm, log_z = load(run), summary.log_z
    log_p = -free_energies(rbm, values, key=key_of(EVALUATION_SEED)).astype(float) - log_z.value
    log_p = log_p - _log_z_apart(rbm, values, part.weights)
    if part.log_density is not None:
        log_p = log_p + np.asarray(part.log_density)
    share = np.ones(len(part)) if part.weights is None else np.asarray(part.weights, float)
    low = -math.inf if log_z.low is None else log_z.low
    high = math.inf if log_z.high is None else log_z.high
    error = (high - low) / (2 * NORMAL)
    parts = () if rows.columns is None else rows.columns.columns
    names = {column.name for column in parts if column.parts}
    size = int(np.prod(rbm.dense_weights.shape))
    about = (config.command, size, folder.metrics(), rows.name, names)
    return _Scored(run, values, log_p, share / share.sum(), error, summary, score, *about)


def _log_z_apart(rbm: RBM, rows: np.ndarray, weights: Any) -> np.ndarray:
    """Return by how much each row's own log Z differs from the mean over rows, nats, shape (n,).

    It is 0 for models with one log Z. Where documents differ in length, the summary has only the
    mean of their log Z.
    """
    if not takes_lengths(rbm.visible):
        return np.zeros(len(rows))
    share = None if weights is None else np.asarray(weights, float)
    way = Automatic(Annealed(seconds=SECONDS))
    key = key_of(EVALUATION_SEED)
    found = log_z_of_rows(rbm, lengths_of_rows(rbm, rows), share, way, key=key)
    return found.of_row - found.mean.value


def _beside(one: _Scored, best: _Scored) -> Compared:
    apart, share = best.log_p - one.log_p, one.weights_of_rows
    behind = float(apart @ share)
    score, paired = one.score, 0.0
    if one.run != best.run:
        spread = float((apart - behind) ** 2 @ share / max(effective_size(share) - 1.0, 1.0))
        paired = NORMAL * math.sqrt(spread + one.error**2 + best.error**2)
    return Compared(
        run=one.run,
        value=score.value,
        low=score.low,
        high=score.high,
        converged=bool(score.converged),
        behind=behind,
        behind_low=behind - paired,
        behind_high=behind + paired,
        seconds=one.summary.seconds,
        updates=one.summary.updates,
        weights=one.weights,
        command=one.command,
    )
