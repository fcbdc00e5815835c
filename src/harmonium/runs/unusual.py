"""Score the rows of a table: how probable each is, and which of its cells are unexpected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from .._base.threefry import key_of
from ..data import Dataset
from ..data.readers import read_frame
from ..evaluation import cell_scores, unexpected
from ..evaluation.table_columns import CellScores
from ..io.storage import load
from ..likelihood.scoring import free_energies
from ..rbm import RBM
from ..tables import Columns, Frame
from .display import Display, nats
from .folder import RunFolder
from .score import check_scoring, likelihood_brief, scored_by_run
from .text_formats import text_format_for
from .writing import frame_of, write_table

SHOWN = 10  # rows in the report


def score(
    table: str,
    run: str,
    out: str | None,
    seconds: float,
    seed: int,
    overwrite: bool,
    display: Display,
    text: Mapping[str, Any] | None = None,
    guard: bool = False,
) -> dict[str, Any]:
    """Return log p of each row of a table, and its least expected cells; write them if asked.

    Args:
        table: the table, a text or Parquet file.
        run: a run folder.
        out: the file to write, .csv or .tsv; None for none.
        seconds: time after which log Z takes no more steps.
        seed: the random seed.
        overwrite: whether an existing file is replaced.
        display: shows progress.
        text: how a text file is read, as `text_format_for` takes it.
        guard: whether cells that a spreadsheet would run as formulas are guarded.

    Raises:
        InputError: a file that cannot be read or written, or a table that does not fit the run.
    """
    check_scoring(out, seconds, seed, overwrite)
    rbm = load(run)
    folder = RunFolder(run)
    columns = folder.columns_of_table()
    frame = read_frame(table, columns, text_format_for(table, run, text or {}))
    codes = columns.encode(frame, table)
    key = key_of(seed)
    rows = Dataset(codes, log_density=columns.log_density(frame), name=table)
    progress = display.timer("log Z")
    whole = scored_by_run(folder, rbm, rows, seconds, key=key, progress=progress)
    energies = free_energies(rbm, codes, key=jax.random.fold_in(key, 1))
    log_p = columns.log_density(frame) - energies - whole.log_z.value
    key = jax.random.fold_in(key, 2)
    progress = display.timer("cells given the others")
    reasons = _reasons(
        rbm, columns, frame, cell_scores(rbm, columns, codes, key=key, progress=progress)
    )
    if out is not None:
        numbers = np.arange(1.0, len(frame) + 1)
        named = np.array(reasons, object)
        scores = {"row": numbers, "log_p": np.round(log_p.astype(float), 4)}
        write_table(
            frame_of({**_identifiers(columns, frame), **scores, "least_expected": named}),
            out,
            guard,
        )
    order = np.argsort(log_p)[:SHOWN]
    return {
        "table": table,
        "run": run,
        "out": out,
        "rows": len(frame),
        **likelihood_brief(whole),
        "least_probable": [
            {"row": int(row) + 1, "log_p": float(log_p[row]), "least_expected": reasons[row]}
            for row in order
        ],
    }


def _identifiers(columns: Columns, frame: Frame) -> dict[str, np.ndarray]:
    """Return the columns that no unit models, such as names, by which a person finds a row."""
    left_out = {column.name for column in columns.columns if not column.parts}
    found = {c.name: c.values for c in frame.columns if c.name in left_out}
    found = {name: values for name, values in found.items() if len(set(values.tolist())) > 1}
    return {
        name: values if values.dtype.kind in "Of" else values.astype(str).astype(object)
        for name, values in found.items()
        if name not in ("row", "log_p", "least_expected")
    }


def _reasons(rbm: RBM, columns: Columns, frame: Frame, scores: CellScores) -> list[str]:
    """Return for each row its least expected cells in words."""
    by_name = {column.name: column for column in columns.modelled}
    cells = {column.name: column.values for column in columns.split(frame).columns}
    found = unexpected(scores, columns)
    return [
        ", ".join(
            f"{name}={by_name[name].shown(cells[name][row])} ({nats(value, 1)} nats)"
            for name, value in some
        )
        for row, some in enumerate(found)
    ]
