"""Fill in the missing cells of a table by a model that was trained on such a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.threefry import key_of
from ..data.readers import read_frame
from ..inference import impute
from ..io.storage import load
from ..tables import Columns, Frame, RawColumn
from ..tables.writing import SUFFIXES
from .folder import RunFolder
from .options import check_count, check_seed, check_target
from .text_formats import text_format_for
from .writing import write_filled

DRAWS = 10  # chains of each row, of which the averages are taken


def fill(
    table: str,
    run: str,
    out: str,
    draws: int | None,
    sweeps: int,
    seed: int,
    overwrite: bool,
    text: Mapping[str, Any] | None = None,
    guard: bool = False,
) -> dict[str, Any]:
    """Write a table with its missing cells filled in; return what was filled, column by column.

    Args:
        table: the table, a text or Parquet file.
        run: a run folder.
        out: the file to write, .csv or .tsv.
        draws: None for the best guess of each cell; else a number of complete tables, whose cells
            are drawn from p(missing | seen). They are written one below the other, numbered in a
            first column `imputation`.
        sweeps: Gibbs sweeps of each chain at first, where no sum is feasible.
        seed: the random seed.
        overwrite: whether an existing file is replaced.
        text: how a text file is read, as `text_format_for` takes it.
        guard: whether cells that a spreadsheet would run as formulas are guarded.

    Raises:
        InputError: a file that cannot be read or written, or a table that does not fit the run.
    """
    check_count("--sweeps", sweeps)
    check_seed(seed)
    if draws is not None:
        check_count("--draws", draws)
    check_target(f"--out {out}", out, SUFFIXES, overwrite)
    rbm = load(run)
    columns = RunFolder(run).columns_of_table()
    text_format = text_format_for(table, run, text or {})
    frame = read_frame(table, columns, text_format)
    codes = columns.encode(frame, table)
    found = impute(rbm, codes, key=key_of(seed), draws=draws or DRAWS, sweeps=sweeps)
    if draws is None:
        filled = columns.filled(frame, found.mean)
    else:
        each = enumerate(found.draws)
        filled = _stacked([columns.completed(frame, one, seed=seed + i) for i, one in each])
    write_filled(filled, frame, table, out, text_format, guard)
    return {
        "table": table,
        "run": run,
        "out": out,
        "rows": len(frame) * (draws or 1),
        "method": found.method,
        "converged": found.converged,
        "message": found.message,
        "columns": _summary(columns, frame, found.mean, found.draws),
        "not_filled": _not_filled(columns, frame),
    }


def _not_filled(columns: Columns, frame: Frame) -> list[dict[str, Any]]:
    """Return the columns that keep missing cells, how many, and why."""
    missing = {column.name: int(column.is_missing.sum()) for column in frame.columns}
    why = columns.unfilled(frame)
    return [{"name": name, "missing": missing[name], "why": text} for name, text in why.items()]


def _stacked(frames: list[Frame]) -> Frame:
    """Return the tables one below the other, numbered from 1 in a first column."""
    first = frames[0]
    numbers = np.repeat(np.arange(1.0, len(frames) + 1), len(first))
    columns = [RawColumn("imputation", numbers)]
    for i, column in enumerate(first.columns):
        values = np.concatenate([frame.columns[i].values for frame in frames])
        columns.append(replace(column, values=values))
    return Frame(tuple(columns), first.has_names)


def _summary(
    columns: Columns, frame: Frame, means: np.ndarray, draws: np.ndarray
) -> list[dict[str, Any]]:
    """Return for each column how many cells were missing, and how sure their guesses are.

    That is the mean probability of the most probable state or, for real numbers, the standard
    deviation of the draws in the column's own unit.
    """
    raw = {column.name: column for column in columns.split(frame).columns}
    lines = []
    probabilities = columns.probabilities(means)
    for place, column in enumerate(columns.modelled):
        missing = raw[column.name].is_missing
        if not missing.any():
            continue
        line: dict[str, Any] = {"name": column.name, "missing": int(missing.sum())}
        if column.states is None:
            cells = [column.cells(one[missing, place], np.random.default_rng(0)) for one in draws]
            if cells[0].dtype.kind == "f":
                line["standard_deviation"] = float(np.std(cells, axis=0).mean())
        else:
            line["probability"] = float(probabilities[place][missing].max(1).mean())
        lines.append(line)
    return lines
