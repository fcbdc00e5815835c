"""Answer a question about a table's columns: the distribution of some, given others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._threefry import key_of
from ..errors import input_error
from ..io.storage import load
from ..missing import impute
from ..tables import Columns
from .folder import RunFolder
from .options import check_count, check_seed

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
        question: "survived | sex=female, pclass=1": columns, and after a bar cells that are known.
            All other columns count as unknown, and are summed over.
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
    row = np.full((1, len(modelled)), np.nan, np.float32)
    if known.strip():
        given = columns.cells_told(known, "QUESTION")
        row = columns.encode(given, "QUESTION", may_lack=True)
    for name in names:
        if not np.isnan(row[0, modelled[name]]):
            raise input_error("QUESTION", "unknown columns before the bar", repr(name), "drop it")
    found = impute(rbm, row, key=key_of(seed), draws=chains, sweeps=sweeps)
    return [_answer(columns, modelled[name], found, seed) for name in names]


def _answer(columns: Columns, place: int, found: Any, seed: int) -> Answer:
    column = columns.modelled[place]
    cells = column.cells(found.draws[:, 0, place].astype(float), np.random.default_rng(seed))
    if column.states is None or column.states > MOST_STATES:
        ends = np.quantile(np.sort(cells), QUANTILES, method="nearest") if len(cells) else cells
        words = [column.shown(end) for end in ends]
        names = [f"{share:.0%}" for share in QUANTILES]
        return Answer(column.name, names, None, None, words, found.method)
    shares = columns.probabilities(found.mean)[place][0].astype(float)
    reach = 2.0 * columns.pieces(found.stderr)[place][0].astype(float)
    reach = np.broadcast_to(reach, shares.shape)  # of two values both are as uncertain
    values = column.state_names()
    return Answer(column.name, values, shares.tolist(), reach.tolist(), None, found.method)
