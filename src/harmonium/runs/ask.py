"""Answer a question about a table's columns: the distribution of some, given others."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from .._threefry import key_of
from ..errors import input_error
from ..io.storage import load
from ..missing import impute
from ..tables import Columns
from ..tables.base import AbstractColumn
from .folder import RunFolder
from .options import check_count, check_seed
from .sample import inside

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_STATES = 20  # of more, the distribution is told by its quantiles


class Answer(NamedTuple):
    """The distribution of one column.

    Attributes:
        name: the column.
        values: its values in words, or the names of quantiles.
        shares: the probability of each value, or None for quantiles.
        reach: half the width of the 95 % interval of each probability, by the differences between
            chains; 0 where it is exact. None for quantiles.
        quantiles: the 5, 25, 50, 75 and 95 % quantiles in words, or None.
        method: how it was computed.
    """

    name: str
    values: list[str]
    shares: list[float] | None
    reach: list[float] | None
    quantiles: list[str] | None
    method: str


def ask(run: str, question: str, chains: int, sweeps: int, seed: int) -> list[Answer]:
    """Return the distributions of the columns that a question names.

    Args:
        run: the folder of a run on a table.
        question: "survived | sex=female, age=30..40": columns, and after a bar cells that are known
            and ranges. All other columns count as unknown, and are summed over.
        chains: Gibbs chains, where the sum is not exact.
        sweeps: sweeps of each chain; averages are over the second half.
        seed: the random seed.

    Raises:
        InputError: not the folder of a run on a table, or columns or cells that it does not have.
    """
    check_count("--chains", chains, least=8)
    check_count("--sweeps", sweeps, least=2)
    check_seed(seed)
    rbm, columns = load(run), RunFolder(run).columns_of_table()
    wanted, _, known = question.partition("|")
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    modelled = {column.name: i for i, column in enumerate(columns.modelled)}
    for name in names or [""]:
        if name not in modelled:
            expected = f"columns among {', '.join(modelled)}"[:300]
            raise input_error("QUESTION", expected, repr(name), "as in: survived | sex=female")
    row, told = np.full((1, len(modelled)), np.nan, np.float32), None
    if known.strip():
        told = columns.told(known, "QUESTION")
        if told.cells.columns:
            row = columns.encode(told.cells, "QUESTION", may_lack=True)
    for name in names:
        if not np.isnan(row[0, modelled[name]]):
            raise input_error("QUESTION", "unknown columns before the bar", repr(name), "drop it")
    if told is None or not told.ranges:
        found = impute(rbm, row, key=key_of(seed), draws=chains, sweeps=sweeps)
        return [_answer(columns, modelled[name], found, seed) for name in names]

    def drawn(turn: int) -> np.ndarray:
        key = jax.random.fold_in(key_of(seed), turn)
        return impute(rbm, row, key=key, draws=chains, sweeps=sweeps).draws[:, 0]

    codes, frame = inside(told, columns, drawn, chains, seed)
    cells = {column.name: column.values for column in frame.columns}
    return [
        _counted(columns.modelled[modelled[name]], codes[:, modelled[name]], cells[name])
        for name in names
    ]


def _counted(column: AbstractColumn, codes: np.ndarray, cells: np.ndarray) -> Answer:
    """Return the answer of independent draws, counted."""
    method = f"{len(codes):,} draws"
    if column.states is None or column.states > MOST_STATES:
        return _by_quantiles(column, cells, method)
    counts = np.bincount(codes.astype(int), minlength=column.states)
    shares = (counts + 0.5) / (len(codes) + 0.5 * column.states)  # no share is certainly 0
    reach = 2.0 * np.sqrt(shares * (1.0 - shares) / len(codes))
    values = column.state_names()
    return Answer(column.name, values, shares.tolist(), reach.tolist(), None, method)


def _by_quantiles(column: AbstractColumn, cells: np.ndarray, method: str) -> Answer:
    ends = np.quantile(np.sort(cells), QUANTILES, method="nearest") if len(cells) else cells
    words = [column.shown(end) for end in ends]
    return Answer(column.name, [f"{share:.0%}" for share in QUANTILES], None, None, words, method)


def _answer(columns: Columns, place: int, found: Any, seed: int) -> Answer:
    column = columns.modelled[place]
    cells = column.cells(found.draws[:, 0, place].astype(float), np.random.default_rng(seed))
    if column.states is None or column.states > MOST_STATES:
        return _by_quantiles(column, cells, found.method)
    shares = columns.probabilities(found.mean)[place][0].astype(float)
    reach = 2.0 * columns.pieces(found.stderr)[place][0].astype(float)
    reach = np.broadcast_to(reach, shares.shape)  # of two values both are as uncertain
    values = column.state_names()
    return Answer(column.name, values, shares.tolist(), reach.tolist(), None, found.method)
