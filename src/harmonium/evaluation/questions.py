"""Questions about a table's columns: the distribution of some, given cells and ranges of others."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import checked_key, positive_integer
from ..errors import InputError, input_error
from ..missing import impute
from ..rbm import RBM
from ..tables import Columns
from ..tables.base import AbstractColumn

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_STATES = 20  # of more, the distribution is told by its quantiles
FEWEST_CHAINS = 8  # the interval is by their differences


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


def ask(
    rbm: RBM,
    columns: Columns,
    question: str,
    *,
    key: PRNGKeyArray,
    chains: int = 500,
    sweeps: int = 1_000,
) -> list[Answer]:
    """Return the distributions of the columns that a question names.

    Where given cells are exact values, probabilities are averages of p(column | h) over Gibbs
    chains, or exact sums over the states of few units. Given ranges, they are shares of the draws
    that lie in them.

    Args:
        rbm: a model of the columns' codes.
        columns: what the columns are.
        question: "survived | sex=female, age=30..40": columns, and after a bar cells that are known
            and ranges. All other columns count as unknown, and are summed over.
        key: a JAX random key.
        chains: Gibbs chains, at least 8, where the sum is not exact.
        sweeps: sweeps of each chain; averages are over the second half.

    Raises:
        InputError: columns or cells that the table does not have, or a range that hardly any draw
            reaches; fewer than 8 chains, or no key.
    """
    key = checked_key(key)
    if positive_integer(chains, "chains") < FEWEST_CHAINS:
        raise InputError(f"chains: expected at least {FEWEST_CHAINS}; got {chains}.")
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
    seed = int(jax.random.bits(key))  # of the cells that a code stands for
    if told is None or not told.ranges:
        found = impute(rbm, row, key=key, draws=chains, sweeps=sweeps)
        return [_answer(columns, modelled[name], found, seed) for name in names]

    def drawn(turn: int) -> np.ndarray:
        of_turn = jax.random.fold_in(key, turn)
        return impute(rbm, row, key=of_turn, draws=chains, sweeps=sweeps).draws[:, 0]

    codes, frame = told.draw(drawn, columns.decode, chains, seed=seed)
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
