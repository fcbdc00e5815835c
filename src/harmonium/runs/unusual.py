"""Score the rows of a table: how probable each is, and which of its cells are unexpected."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from .._threefry import key_of
from ..data import Dataset
from ..data.frames import read_frame
from ..evaluation import cell_scores, unexpected
from ..io.storage import load
from ..likelihood import free_energies, log_likelihood
from ..rbm import RBM
from ..tables import Columns, Frame
from .display import nats
from .folder import RunFolder
from .score import check_scoring, finite_score, likelihood_brief
from .writing import frame_of, write_table

SHOWN = 10  # rows in the report


def score(
    table: str, run: str, out: str | None, seconds: float, seed: int, overwrite: bool
) -> dict[str, Any]:
    """Return log p of each row of a table, and its least expected cells; write them if asked.

    Args:
        table: the table, a text or Parquet file.
        run: a run folder.
        out: the file to write, .csv or .tsv; None for none.
        seconds: time after which log Z takes no more steps.
        seed: the random seed.
        overwrite: whether an existing file is replaced.

    Raises:
        InputError: a file that cannot be read or written, or a table that does not fit the run.
    """
    check_scoring(out, seconds, seed, overwrite)
    rbm, columns = load(run), RunFolder(run).columns_of_table()
    frame = read_frame(table, columns)
    codes, key = columns.encode(frame, table), key_of(seed)
    rows = Dataset(codes, log_density=columns.log_density(frame), name=table)
    whole = finite_score(rbm, lambda: log_likelihood(rbm, rows, key=key, seconds=seconds))
    energies = free_energies(rbm, codes, key=jax.random.fold_in(key, 1))
    log_p = columns.log_density(frame) - energies - whole.log_z.value
    reasons = _reasons(rbm, columns, frame, codes, jax.random.fold_in(key, 2))
    if out is not None:
        numbers = np.arange(1.0, len(frame) + 1)
        named = np.array(reasons, object)
        scores = {"row": numbers, "log_p": np.round(log_p.astype(float), 4)}
        write_table(frame_of({**scores, "least_expected": named}), out)
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


def _reasons(rbm: RBM, columns: Columns, frame: Frame, codes: np.ndarray, key: Any) -> list[str]:
    """Return for each row its least expected cells in words."""
    by_name = {column.name: column for column in columns.modelled}
    cells = {column.name: column.values for column in columns.split(frame).columns}
    found = unexpected(cell_scores(rbm, columns, codes, key=key), columns)
    return [
        ", ".join(
            f"{name}={by_name[name].shown(cells[name][row])} ({nats(value, 1)} nats)"
            for name, value in some
        )
        for row, some in enumerate(found)
    ]
