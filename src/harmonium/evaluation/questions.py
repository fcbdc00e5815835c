"""Questions about a table's columns: the distribution of some, given cells and ranges of others."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import checked_key, positive_integer
from ..errors import InputError, input_error
from ..missing import Imputation, impute
from ..rbm import RBM
from ..statistics import student_95
from ..tables import Columns, Frame
from ..tables.base import AbstractColumn, AbstractPart
from ..tables.quoting import meant_in_quotes, split_outside, unquoted
from ..tables.told import Told, meant

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_STATES = 20  # numbers of more states are told by their quantiles
FEWEST_CHAINS = 8  # the interval is by their differences


class Answer(NamedTuple):
    """The distribution of one column.

    Attributes:
        name: the column.
        values: its values in words, or the names of quantiles.
        shares: the probability of each value, or None for quantiles.
        reach: half the width of the 95 % interval of each probability, by the differences between
            families of chains; 0 where it is exact. None for quantiles.
        quantiles: the 5, 25, 50, 75 and 95 % quantiles in words, or None.
        method: how it was computed.
        converged: whether it is exact, or its chains have mixed.
        message: a sentence that says so, or what is wrong and what to do.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet, fur = np.array(["cat", "dog"], object), np.array(["long", "short"], object)
        >>> columns = columns_of(Frame((RawColumn("pet", pet), RawColumn("fur", fur))))
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> found = hm.ask(rbm, columns, "fur | pet=dog", key=jax.random.key(0))[0]
        >>> found.name, found.reach, found.quantiles, found.method
        ('fur', [0.0, 0.0], None, 'exact, 2 terms')
    """

    name: str
    values: list[str]
    shares: list[float] | None
    reach: list[float] | None
    quantiles: list[str] | None
    method: str
    converged: bool = True
    message: str = ""


def ask(
    rbm: RBM,
    columns: Columns,
    question: str,
    *,
    key: PRNGKeyArray,
    chains: int = 1_000,
    sweeps: int = 1_000,
) -> list[Answer]:
    """Return the distributions of the columns that a question names.

    Where given cells are exact values, probabilities are exact sums over up to 2^22 states, or
    averages of p(column | h) over a population of annealed Gibbs chains, as `impute` has it. Given
    ranges, they are shares of the draws that lie in them.

    Args:
        rbm: a model of the columns' codes.
        columns: what the columns are.
        question: "survived | sex=female, age=30..40": columns, and after a bar cells that are known
            and ranges. Names and values with commas, bars or equal signs are in quotes. All other
            columns count as unknown, and are summed over.
        key: a JAX random key.
        chains: Gibbs chains, at least 8, where the sum is not exact.
        sweeps: sweeps of each chain at first; averages are over the last two thirds. Chains
            that have not mixed begin anew with twice as many, for some seconds; then `converged` is
            False.

    Raises:
        InputError: columns or cells that the table does not have, or a range that hardly any draw
            reaches; fewer than 8 chains, or no key.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet, fur = np.array(["cat", "dog"], object), np.array(["long", "short"], object)
        >>> columns = columns_of(Frame((RawColumn("pet", pet), RawColumn("fur", fur))))
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> found = hm.ask(rbm, columns, "fur | pet=dog", key=jax.random.key(0))[0]
        >>> found.values, np.round(found.shares, 3).tolist()  # 1 + 3 to 1 + 9
        (['long', 'short'], [0.286, 0.714])
    """
    key = checked_key(key)
    if positive_integer(chains, "chains") < FEWEST_CHAINS:
        raise InputError(f"chains: expected at least {FEWEST_CHAINS}; got {chains}.")
    wanted, *after = split_outside(question, "|")
    known = "|".join(after)
    names = [unquoted(name) for name in split_outside(wanted, ",") if name.strip()]
    named = {column.name: column for column in (*columns.columns, *columns.parts) if column.parts}
    for name in names or [""]:
        if name not in named:
            expected = f"columns among {', '.join(named)}"[:300]
            advice = "as in: survived | sex=female; what is known stands after the bar"
            advice = meant_in_quotes(name, named, meant(name, named, advice))
            raise input_error("QUESTION", expected, repr(name), advice)
    told = columns.told(known, "QUESTION") if known.strip() else Told(Frame(()), ())
    place = {part.name: i for i, part in enumerate(columns.modelled)}
    row = np.full((1, len(place)), np.nan, np.float32)
    if told.cells.columns:
        row = columns.encode(told.cells, "QUESTION", may_lack=True)
    for name in names:
        is_told = name in told.cells.names or (name in place and not np.isnan(row[0, place[name]]))
        if is_told:
            raise input_error("QUESTION", "unknown columns before the bar", repr(name), "drop it")
    seed = int(jax.random.bits(key))  # of the cells that a code stands for
    sets: list[Imputation] = []

    def drawn(turn: int) -> np.ndarray:
        key_turn = jax.random.fold_in(key, turn) if told.ranges else key
        sets.append(impute(rbm, row, key=key_turn, draws=chains, sweeps=sweeps))
        return sets[-1].draws[:, 0]

    if told.ranges:
        codes, frame = columns.draw(told, drawn, chains, seed=seed)
        # Chains of a family count as one draw, also among those that lie in the ranges.
        worth = min(float(np.mean([_worth(found) for found in sets])), 1.0)
        parts = zip(codes.T, columns.modelled, strict=True)
        shares = [_counted(of_part, part, worth) for of_part, part in parts]
        method = f"{len(codes):,} draws"
    else:
        frame = columns.decode(drawn(0).astype(float), seed=seed)
        found = sets[0]
        spread = columns.pieces(found.stderr)
        means = columns.probabilities(found.mean)
        shares = [
            (p[0].astype(float), 2.0 * each[0]) for p, each in zip(means, spread, strict=True)
        ]
        method = found.method
    doubtful = min(sets, key=lambda found: found.converged)
    how = method, doubtful.converged, doubtful.message
    cells = {c.name: c.values for c in columns.split(frame).columns}
    answers = []
    for name in names:
        states = columns.modelled[place[name]].states if name in place else None
        if states and (states <= MOST_STATES or cells[name].dtype.kind == "O"):  # words, or few
            answers.append(_by_shares(columns.modelled[place[name]], *shares[place[name]], *how))
        else:
            answers.append(_by_quantiles(named[name], cells[name], *how))
    return answers


def _worth(found: Imputation) -> float:
    """Return how many independent draws each draw of the one row is worth."""
    assert found.effective is not None
    return float(found.effective[0]) / len(found.draws)


def _by_shares(part: AbstractPart, shares: np.ndarray, reach: np.ndarray, *how: Any) -> Answer:
    reach = np.broadcast_to(reach, shares.shape)  # of two values both are as uncertain
    each = shares.astype(float).tolist(), reach.astype(float).tolist()
    return Answer(part.name, part.state_names(), *each, None, *how)


def _by_quantiles(column: AbstractColumn, cells: np.ndarray, *how: Any) -> Answer:
    ends = np.quantile(np.sort(cells), QUANTILES, method="nearest")
    words = [column.shown(end) for end in ends]
    return Answer(column.name, [f"{share:.0%}" for share in QUANTILES], None, None, words, *how)


def _counted(codes: np.ndarray, part: AbstractPart, worth: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of the states among draws, and half of their 95 % intervals.

    Args:
        codes: the draws.
        part: the column.
        worth: how many independent draws each of them is worth.
    """
    counts = np.bincount(codes.astype(int), minlength=part.states) if part.states else np.zeros(1)
    shares = (counts + 0.5) / (len(codes) + 0.5 * len(counts))  # no share is certainly 0
    size = max(worth * len(codes), 2.0)
    return shares, student_95(int(size) - 1) * np.sqrt(shares * (1.0 - shares) / size)
