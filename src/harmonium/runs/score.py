"""Score rows of a table and find their unexpected cells; or score aligned sequences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._base.threefry import fold_in, key_of
from ..data import Dataset
from ..data.readers import read_frame
from ..evaluation import cell_scores, unexpected
from ..evaluation.table_columns import CellScores
from ..io.storage import load
from ..likelihood.scoring import LogLikelihood, free_energies
from ..sequences import read_sequences
from ..tables import Columns, Frame
from ..tables.writing import SUFFIXES
from .display import Display, nats
from .final_score import scored_by_run
from .folder import RunFolder
from .options import AS_DECIDED, TextOptions
from .rows import text_format_for
from .writing import check_target, frame_of, write_table

SHOWN = 10  # rows listed


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A log-likelihood with its 95 % interval, in nats per row."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, score: LogLikelihood) -> Interval:
        """Return the mean and interval of a log-likelihood."""
        return cls(value=score.value, low=score.low, high=score.high)


@dataclass(frozen=True, kw_only=True)
class RowScore:
    """The score of a table row, with the row's number (from 1) and its least expected cells."""

    row: int
    log_p: float
    least_expected: str


@dataclass(frozen=True, kw_only=True)
class SequenceScore:
    """The score of a sequence: its name, and its log p in nats."""

    name: str
    log_p: float


@dataclass(frozen=True, kw_only=True)
class AbstractScores:
    """The scores of the rows of a file under the model of a run.

    Attributes:
        run: the folder of the run.
        out: the file with the scores of all rows; None if none was written.
        log_likelihood: the mean log p of the rows.
        method: a description of how log Z was computed.
        converged: whether log Z is trusted.
    """

    run: str
    out: str | None
    log_likelihood: Interval
    method: str
    converged: bool


@dataclass(frozen=True, kw_only=True)
class TableScores(AbstractScores):
    """The scores of the rows of a table."""

    table: str
    rows: int
    least_probable: list[RowScore]


@dataclass(frozen=True, kw_only=True)
class AlignmentScores(AbstractScores):
    """The scores of aligned sequences."""

    source: str
    sequences: int
    sites: int
    notes: list[str]
    least_probable: list[SequenceScore]


def score_table(
    table: str,
    run: str,
    *,
    out: str | None,
    seconds: float,
    seed: int,
    overwrite: bool,
    display: Display,
    text: TextOptions = AS_DECIDED,
    guard: bool = False,
) -> TableScores:
    """Score each row of a table by log p, find its least expected cells, and write both to `out`.

    The help of `harmonium score` describes the arguments.

    Raises:
        InputError: a file cannot be read or written, or the table is incompatible with the run.
    """
    if out is not None:
        check_target(f"--out {out}", out, SUFFIXES, overwrite)
    rbm = load(run)
    folder = RunFolder(run)
    columns = folder.columns_of_table()
    frame = read_frame(table, columns, text_format_for(table, run, text))
    codes = columns.encode(frame, table)
    key = key_of(seed)
    log_density = columns.log_density(frame)
    rows = Dataset(codes, log_density=log_density, name=table)
    progress = display.timer("log Z")
    score = scored_by_run(folder, rbm, rows, seconds, key=key, progress=progress)
    energies = free_energies(rbm, codes, key=fold_in(key, 1))
    log_p = log_density - energies - score.log_z.value
    key = fold_in(key, 2)
    progress = display.timer("cells given the others")
    cells = cell_scores(rbm, columns, codes, key=key, progress=progress)
    reasons = _reasons(columns, frame, cells)
    if out is not None:
        scores = _identifiers(columns, frame)
        scores["row"] = frame.row_numbers.astype(float)
        scores["log_p"] = np.round(log_p.astype(float), 4)
        scores["least_expected"] = np.array(reasons, object)
        write_table(frame_of(scores), out, guard)
    return TableScores(
        table=table,
        run=run,
        out=out,
        rows=len(frame),
        log_likelihood=Interval.of(score),
        method=score.method,
        converged=score.converged,
        least_probable=[
            RowScore(
                row=int(frame.row_numbers[row]),
                log_p=float(log_p[row]),
                least_expected=reasons[row],
            )
            for row in np.argsort(log_p)[:SHOWN]
        ],
    )


def _identifiers(columns: Columns, frame: Frame) -> dict[str, np.ndarray]:
    """Return the columns that are not modelled, such as names, by which people identify rows."""
    names = {column.name for column in columns.columns if not column.parts}
    names -= {"row", "log_p", "least_expected"}
    identifiers = {}
    for column in frame.columns:
        values = column.values
        if column.name in names and len(set(values.tolist())) > 1:
            is_shown = values.dtype.kind in "Of"
            identifiers[column.name] = values if is_shown else values.astype(str).astype(object)
    return identifiers


def _reasons(columns: Columns, frame: Frame, scores: CellScores) -> list[str]:
    """Return the least expected cells of each row, in words."""
    by_name = {column.name: column for column in columns.modelled}
    cells = {column.name: column.values for column in columns.split(frame).columns}
    return [
        ", ".join(
            f"{name}={by_name[name].shown(cells[name][row])} ({nats(log_p, 1)} nats)"
            for name, log_p in few
        )
        for row, few in enumerate(unexpected(scores, columns))
    ]


def score_sequences(
    source: str,
    run: str,
    *,
    out: str | None,
    seconds: float,
    seed: int,
    overwrite: bool,
    guard: bool = False,
) -> AlignmentScores:
    """Score each sequence of a file by log p, as `score_table` scores rows.

    Raises:
        InputError: a file cannot be read or written, or the sequences do not match the run's sites.
    """
    if out is not None:
        check_target(f"--out {out}", out, SUFFIXES, overwrite)
    rbm = load(run)
    folder = RunFolder(run)
    sites = folder.sites_of_alignment()
    raw = read_sequences(source)
    codes = sites.encode(raw, source)
    score = scored_by_run(folder, rbm, Dataset(codes, name=source), seconds, key=key_of(seed))
    log_p = -free_energies(rbm, codes).astype(float) - score.log_z.value
    if out is not None:
        scores = {"name": np.array(raw.names, object), "log_p": np.round(log_p, 4)}
        scores["per_site"] = np.round(log_p / len(sites.columns), 5)
        write_table(frame_of(scores), out, guard)
    return AlignmentScores(
        source=source,
        run=run,
        out=out,
        sequences=len(codes),
        sites=len(sites.columns),
        notes=list(raw.notes),
        log_likelihood=Interval.of(score),
        method=score.method,
        converged=score.converged,
        least_probable=[
            SequenceScore(name=raw.names[row], log_p=float(log_p[row]))
            for row in np.argsort(log_p)[:SHOWN]
        ],
    )
