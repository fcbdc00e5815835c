"""Questions about a table: the distributions of columns given cells or ranges of other columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from .._base.checks import checked_key, positive_integer
from .._base.programs import compiled
from .._base.statistics import student_95
from .._base.threefry import fold_in
from ..errors import InputError
from ..rbm import RBM
from ..tables import Columns, Frame
from ..tables.base import AbstractColumn
from ..tables.conditions import Conditions, meant, meant_in_quotes, split_outside, unquoted
from .imputation import Imputation, impute

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_STATES = 20  # numeric columns with more states are summarised by their quantiles
FEWEST_CHAINS = 8  # the interval is estimated from differences between chains


class Answer(NamedTuple):
    """The answer to a question: the distribution of one column.

    Attributes:
        name: the name of the column.
        values: the values of the column as text, or the names of quantiles.
        shares: the probability of each value; None if the answer consists of quantiles.
        reach: half the width of the 95 % interval of each probability, estimated from the
            differences between families of chains (those with a common ancestor); 0 if exact. None
            if the answer consists of quantiles.
        quantiles: the 5, 25, 50, 75 and 95 % quantiles as text, or None.
        method: a description of the computation.
        converged: whether the distribution is exact or its chains have mixed.
        message: a sentence that confirms convergence, or states the problem and its remedy.

    Example:
        >>> values, shares, reach = ["long", "short"], [0.286, 0.714], [0.02, 0.02]
        >>> answer = hm.inference.Answer("fur", values, shares, reach, None, "64 chains")
        >>> dict(zip(answer.values, answer.shares))
        {'long': 0.286, 'short': 0.714}
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
    """Return the distributions of the columns named in a question.

    If all known cells are exact values, probabilities are exact sums over up to 2^22 states or,
    with more states, averages of p(column | h) over a population of annealed Gibbs chains, as in
    `impute`. If ranges are given, probabilities are frequencies among the draws within the ranges.

    Args:
        rbm: a model of the columns' codes.
        columns: the columns of the table.
        question: the columns in question and, after a bar, known cells and ranges, as in "survived
            | sex=female, age=30..40". Names and values that contain commas, bars or equal signs
            must be quoted. All other columns are unknown and summed over.
        key: a JAX random key.
        chains: number of Gibbs chains, at least 8, if the sum is not exact.
        sweeps: initial number of sweeps per chain; averages are over the last two thirds. Chains
            that have not mixed restart with twice as many sweeps, for some seconds; if this fails,
            `converged` is False.

    Raises:
        InputError: the question names an unknown column or cell, hardly any draw is within a range,
            there are fewer than 8 chains, or there is no key.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet, fur = np.array(["cat", "dog"], object), np.array(["long", "short"], object)
        >>> columns = columns_of(Frame((RawColumn("pet", pet), RawColumn("fur", fur))))
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> answer = hm.ask(rbm, columns, "fur | pet=dog", key=jax.random.key(0))[0]
        >>> answer.values, np.round(answer.shares, 3).tolist()  # 1 + 3 to 1 + 9
        (['long', 'short'], [0.286, 0.714])
    """
    key = checked_key(key)
    if positive_integer(chains, "chains") < FEWEST_CHAINS:
        raise InputError(f"chains: expected at least {FEWEST_CHAINS}; got {chains}.")
    unknown, *rest = split_outside(question, "|")
    known = "|".join(rest)
    names = [unquoted(name) for name in split_outside(unknown, ",") if name.strip()]
    by_name = {column.name: column for column in (*columns.columns, *columns.parts) if column.parts}
    _check_names(names, by_name)
    conditions = Conditions(Frame(()), ())
    if known.strip():
        conditions = columns.conditions(known, "QUESTION")
    row = _row_of(columns, conditions, names)

    def imputation(key: PRNGKeyArray) -> Imputation:
        return impute(rbm, row, key=key, draws=chains, sweeps=sweeps)

    seed = int(_seed(key))  # for drawing one of the cells that a code represents
    if conditions.ranges:
        distributions = _by_draws(columns, conditions, imputation, chains, seed, key)
    else:
        distributions = _by_means(columns, imputation(key), seed)
    return [distributions.answer(by_name[name], columns) for name in names]


@compiled
def _seed(key: PRNGKeyArray) -> Array:
    return jax.random.bits(key)


def _row_of(columns: Columns, conditions: Conditions, names: list[str]) -> np.ndarray:
    """Return the codes of the known cells, shape (1, units), with NaN for unknown cells."""
    row = np.full((1, len(columns.modelled)), np.nan, np.float32)
    if conditions.cells.columns:
        row = columns.encode(conditions.cells, "QUESTION", may_lack=True)
    unknown = [
        part.name
        for part, code in zip(columns.modelled, row[0], strict=True)
        if part in columns.given_parts and np.isnan(code)
    ]
    if unknown:
        raise InputError(
            "QUESTION: expected a value of each given column after the bar; got none of"
            f" {', '.join(unknown):.200}."
        )
    known = {*conditions.cells.names}
    known.update(columns.modelled[unit].name for unit in np.flatnonzero(~np.isnan(row[0])))
    for name in names:
        if name in known:
            raise InputError(
                f"QUESTION: expected different columns before and after the bar; got {name!r} on"
                " both sides; remove it from one side."
            )
    return row


class _Estimate(NamedTuple):
    """The probabilities of a column's states, and the half-widths of their 95 % intervals."""

    probabilities: np.ndarray
    half_widths: np.ndarray


class _Distributions(NamedTuple):
    """The distributions of all columns of one row.

    Attributes:
        estimates: the probabilities of each unit's states.
        frame: a table of draws.
        method: a description of the computation.
        imputation: the underlying imputation; if there are several, the least reliable.
    """

    estimates: list[_Estimate]
    frame: Frame
    method: str
    imputation: Imputation

    def answer(self, column: AbstractColumn, columns: Columns) -> Answer:
        """Return the distribution of one column, as probabilities of its values or as quantiles."""
        frame = columns.split(self.frame)
        cells = next(drawn.values for drawn in frame.columns if drawn.name == column.name)
        values = [f"{level:.0%}" for level in QUANTILES]
        shares = None
        half_widths = None
        quantiles = None
        has_words = cells.dtype.kind == "O"
        estimates = {
            part.name: (part, estimate)
            for part, estimate in zip(columns.modelled, self.estimates, strict=True)
            if part.states and (part.states <= MOST_STATES or has_words)
        }
        if column.name in estimates:
            part, estimate = estimates[column.name]
            values = part.state_names()
            shares = estimate.probabilities.astype(float).tolist()
            # If there are two values, their shares have the same half-width.
            half_widths = np.broadcast_to(estimate.half_widths, len(shares)).astype(float).tolist()
        else:
            places = np.quantile(np.sort(cells), QUANTILES, method="nearest")
            quantiles = [column.shown(place) for place in places]
        return Answer(
            column.name,
            values,
            shares,
            half_widths,
            quantiles,
            method=self.method,
            converged=self.imputation.converged,
            message=self.imputation.message,
        )


def _by_means(columns: Columns, imputation: Imputation, seed: int) -> _Distributions:
    """Return distributions estimated by averages of p(column | h)."""
    probabilities = columns.probabilities(imputation.mean)
    errors = columns.pieces(imputation.stderr)
    return _Distributions(
        [
            _Estimate(p[0].astype(float), 2.0 * error[0])
            for p, error in zip(probabilities, errors, strict=True)
        ],
        columns.decode(imputation.draws[:, 0].astype(float), seed=seed),
        imputation.method,
        imputation,
    )


def _by_draws(
    columns: Columns,
    conditions: Conditions,
    imputation: Callable[[PRNGKeyArray], Imputation],
    chains: int,
    seed: int,
    key: PRNGKeyArray,
) -> _Distributions:
    """Return distributions estimated by frequencies among the draws within the ranges."""
    imputations: list[Imputation] = []

    def draw(attempt: int) -> np.ndarray:
        imputations.append(imputation(fold_in(key, attempt)))
        return imputations[-1].draws[:, 0]

    codes, frame = columns.draw(conditions, draw, chains, seed=seed)
    # Chains of a family count as one draw, also among draws within the ranges.
    fractions = [_effective_fraction(own) for own in imputations]
    size = max(min(float(np.mean(fractions)), 1.0) * len(codes), 2.0)
    return _Distributions(
        [
            _frequencies(own, part.states, size)
            for own, part in zip(codes.T, columns.modelled, strict=True)
        ],
        frame,
        f"{len(codes):,} draws",
        min(imputations, key=lambda own: own.converged),
    )


def _effective_fraction(imputation: Imputation) -> float:
    """Return the effective number of draws of the single row, divided by the number of draws."""
    assert imputation.effective is not None
    return float(imputation.effective[0]) / len(imputation.draws)


def _frequencies(codes: np.ndarray, states: int | None, size: float) -> _Estimate:
    """Return the frequencies of states among draws with this effective sample size."""
    counts = np.zeros(1)
    if states:
        counts = np.bincount(codes.astype(int), minlength=states)
    p = (counts + 0.5) / (len(codes) + 0.5 * len(counts))  # no state has probability 0
    return _Estimate(p, student_95(int(size) - 1) * np.sqrt(p * (1.0 - p) / size))


def _check_names(names: list[str], columns: dict[str, Any]) -> None:
    for name in names or [""]:
        if name not in columns:
            advice = "as in: survived | sex=female; put known cells after the bar"
            advice = meant_in_quotes(name, columns, meant(name, columns, advice))
            known = ", ".join(columns)
            raise InputError(
                f"QUESTION: expected columns among {known:.300}; got {name!r}; {advice}."
            )
