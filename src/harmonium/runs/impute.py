"""Fill in the missing cells of a table, using a model of a table that has the same columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._base.threefry import key_of
from ..data.readers import read_frame
from ..errors import InputError
from ..inference import impute
from ..io.storage import load
from ..tables import Columns, Frame, RawColumn
from ..tables.base import Guess
from ..tables.writing import SUFFIXES
from .folder import RunFolder
from .options import AS_DECIDED, TextOptions
from .rows import text_format_for
from .writing import check_target, write_filled

DRAW = "draw"
DRAWS = 10  # chains per row, over which predictions are averaged


@dataclass(frozen=True, kw_only=True)
class FilledColumn:
    """A column with filled-in cells.

    Attributes:
        name: the column's name.
        missing: the number of missing cells.
        probability: mean over cells of the probability of the most probable state; None if the
            column has no states.
        standard_deviation: mean over cells of the standard deviation of the draws, in the units of
            the column; None if the column has states.
    """

    name: str
    missing: int
    probability: float | None = None
    standard_deviation: float | None = None


@dataclass(frozen=True, kw_only=True)
class UnfilledColumn:
    """A column whose missing cells stay empty: its name, the number of such cells, and why."""

    name: str
    missing: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Filling:
    """The result of filling in a table: the files, the method, and the filled columns."""

    table: str
    run: str
    out: str
    rows: int
    method: str
    converged: bool
    message: str
    columns: list[FilledColumn]
    not_filled: list[UnfilledColumn]


def fill(
    table: str,
    run: str,
    out: str,
    *,
    guess: str = Guess.MEAN,
    draws: int | None = None,
    sweeps: int,
    seed: int = 0,
    overwrite: bool = False,
    text: TextOptions = AS_DECIDED,
    guard: bool = False,
) -> Filling:
    """Write a table with its missing cells filled in; return what was filled.

    If `draws` is given, `draws` complete tables are written, with cells drawn from p(missing |
    observed); otherwise each missing cell gets its best guess, or one draw if `guess` is "draw".
    The help of `harmonium impute` describes the arguments.

    Raises:
        InputError: a file cannot be read or written, the table is incompatible with the run, or
            both `guess` and `draws` are given.
    """
    if draws is not None and guess != Guess.MEAN:
        raise InputError(
            f"--as {guess}: expected no --draws, which draws all missing cells; got --draws"
            f" {draws}; leave one of the two out."
        )
    check_target(f"--out {out}", out, SUFFIXES, overwrite)
    rbm = load(run)
    columns = RunFolder(run).columns_of_table()
    if columns.past:
        raise InputError(
            f"{run}: expected a run on a table; got one on a series, whose rows overlap; continue"
            " the series with harmonium forecast."
        )
    text_format = text_format_for(table, run, text)
    frame = read_frame(table, columns, text_format)
    codes = columns.encode(frame, table)
    imputed = impute(rbm, codes, key=key_of(seed), draws=draws or DRAWS, sweeps=sweeps)
    if guess == DRAW:
        filled = columns.completed(frame, imputed.draws[0], seed=seed)
    elif draws is None:
        filled = columns.filled(frame, imputed.mean, Guess(guess), imputed.spread)
    else:
        completed = [
            columns.completed(frame, rows, seed=seed + i) for i, rows in enumerate(imputed.draws)
        ]
        filled = _stacked(completed)
    write_filled(filled, frame, table, out, text_format, guard)
    return Filling(
        table=table,
        run=run,
        out=out,
        rows=len(frame) * (draws or 1),
        method=imputed.method,
        converged=imputed.converged,
        message=imputed.message,
        columns=_filled_columns(columns, frame, imputed.mean, imputed.draws),
        not_filled=_unfilled_columns(columns, frame),
    )


def _unfilled_columns(columns: Columns, frame: Frame) -> list[UnfilledColumn]:
    missing = {column.name: int(column.is_missing.sum()) for column in frame.columns}
    return [
        UnfilledColumn(name=name, missing=missing[name], why=why)
        for name, why in columns.unfilled(frame).items()
    ]


def _stacked(frames: list[Frame]) -> Frame:
    """Stack tables into one table; an added first column has the number of each table, from 1."""
    first = frames[0]
    numbers = np.repeat(np.arange(1.0, len(frames) + 1), len(first))
    columns = [RawColumn("imputation", numbers)]
    for i, column in enumerate(first.columns):
        values = np.concatenate([frame.columns[i].values for frame in frames])
        columns.append(replace(column, values=values))
    return Frame(tuple(columns), first.has_names)


def _filled_columns(
    columns: Columns, frame: Frame, means: np.ndarray, draws: np.ndarray
) -> list[FilledColumn]:
    raw = {column.name: column for column in columns.split(frame).columns}
    probabilities = columns.probabilities(means)
    filled = []
    for place, column in enumerate(columns.modelled):
        missing = raw[column.name].is_missing
        if not missing.any():
            continue
        probability = None
        deviation = None
        if column.states is not None:
            probability = float(probabilities[place][missing].max(1).mean())
        else:
            cells = [column.cells(rows[missing, place], np.random.default_rng(0)) for rows in draws]
            if cells[0].dtype.kind == "f":
                deviation = float(np.std(cells, axis=0).mean())
        filled.append(
            FilledColumn(
                name=column.name,
                missing=int(missing.sum()),
                probability=probability,
                standard_deviation=deviation,
            )
        )
    return filled
