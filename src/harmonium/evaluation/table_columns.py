"""Prediction of each column of a table from the other columns; detection of unexpected cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import checked_key
from .._base.numerics import from_numpy, whole_number
from .._base.programs import compiled
from .._base.threefry import fold_in
from ..data.parts import in_parts
from ..inference import Imputation, impute
from ..layers.capabilities import variance_given
from ..rbm import RBM
from ..tables import Columns, RawColumn

__all__ = ["CellScores", "ColumnScore", "cell_scores", "column_scores", "unexpected"]

COMPLETIONS = 8  # number of completions of a row whose other cells are partly missing
SWEEPS = 16  # number of sweeps of the chains that draw completions
STEPS_PER_DEVIATION = 2.5  # grid points per standard deviation of a unit given all other units
MARGIN = 4.0  # standard deviations of a column by which a grid extends beyond the cells
MOST_POINTS = 2**12
COMPLETE = "Converged: every row with a scored cell is complete."


class CellScores(NamedTuple):
    """Each cell's probability given the other cells of its row.

    Attributes:
        log_p: log p(cell | other cells), in nats, shape (rows, columns in `Columns.modelled`); for
            numbers, p is a density, per unit of measurement. NaN if the cell is missing.
        guesses: the best guess of each cell from the other cells of its row, in the format of the
            table: an array for each column in `Columns.modelled`.
        converged: whether the completions of rows with missing cells are exact, or come from chains
            that mixed.
        message: a sentence that confirms convergence or describes the problem.

    Example:
        >>> guesses = [np.array(["cat"]), np.array(["long"])]
        >>> scores = hm.evaluation.CellScores(np.log([[0.25, 0.5]]), guesses)
        >>> scores.converged, scores.message
        (True, 'Converged: every row with a scored cell is complete.')
    """

    log_p: np.ndarray
    guesses: list[np.ndarray]
    converged: bool = True
    message: str = COMPLETE


class ColumnScore(NamedTuple):
    """Scores for the prediction of a column from the other columns, averaged over its cells.

    Attributes:
        name: the name of the column.
        kind: the type of the column, such as "category".
        cells: the number of cells that are not missing.
        log_p: the mean of log p(cell | other cells), in nats.
        stderr: the standard error of `log_p`.
        alone: the mean of log p(cell) under the distribution of the column on its own, which is
            estimated from the training rows.
        correct: the fraction of cells whose best guess is right; None for columns without states.
        commonest: the accuracy of always guessing the most frequent state; None for columns
            without states.
        error: the root mean square error of the best guess; None for columns without numbers.
        spread: the standard deviation of the cells; None for columns without numbers.

    Example:
        >>> figures = (3, -0.59, 0.1, -0.64, 0.667, 0.667, None, None)
        >>> fur = hm.evaluation.ColumnScore("fur", "category", *figures)
        >>> fur.log_p > fur.alone, fur.correct > fur.commonest  # against the column by itself
        (True, False)
    """

    name: str
    kind: str
    cells: int
    log_p: float
    stderr: float
    alone: float
    correct: float | None
    commonest: float | None
    error: float | None
    spread: float | None


def cell_scores(
    rbm: RBM,
    columns: Columns,
    codes: Any,
    *,
    key: PRNGKeyArray,
    progress: Callable[[float], None] | None = None,
) -> CellScores:
    """Return log p and the best guess of each cell, given the other cells of its row.

    The probabilities of a unit's states, or of a fine grid of its values, follow from the free
    energies of the row with each of these values in place of the cell. If other cells are missing,
    p is averaged over completions that are drawn from the model without using the cell.

    Args:
        rbm: a model of the columns.
        columns: the columns of the table.
        codes: rows as returned by `columns.encode`, with NaN for missing cells.
        key: a JAX random key.
        progress: a function called with the fraction done, from 0 to 1.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> words = {"pet": ["cat", "dog", "dog"], "fur": ["long", "short", "short"]}
        >>> frame = Frame(tuple(RawColumn(k, np.array(x, object)) for k, x in words.items()))
        >>> columns = columns_of(frame)  # as hm.open_source("pets.csv").columns
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> codes = columns.encode(frame, "rows")
        >>> scores = hm.evaluation.cell_scores(rbm, columns, codes, key=jax.random.key(0))
        >>> print(scores.log_p[:2].round(3))  # log 2/6 and log 10/14
        [[-1.099 -1.099]
         [-0.336 -0.336]]
        >>> [guesses.tolist() for guesses in scores.guesses]
        [['dog', 'dog', 'dog'], ['short', 'short', 'short']]
    """
    rows = rbm.visible.validate(codes, "codes", missing=True).astype(np.float32)
    key = checked_key(key)
    log_p = np.full((len(rows), len(columns.modelled)), np.nan)
    guesses = []
    imputations: list[Imputation] = []
    given = {part.name for part in columns.given_parts}
    for unit, column in enumerate(columns.modelled):
        means = np.full((len(rows), column.states or 1), np.nan)
        if column.name in given:  # the model assigns no probability to given cells
            guesses.append(_best_guesses(column, means))
            continue
        for group in _completed(rbm, rows, unit, fold_in(key, unit)):
            if group.imputation is not None:
                imputations.append(group.imputation)
            cells = rows[group.rows, unit]
            values, log_step = _values_of(rbm, rows[:, unit], unit, column.states)
            conditionals = [
                _conditionals(rbm, completion, unit, cells, values)
                for completion in group.completions
            ]
            of_cells, of_values = (
                np.logaddexp.reduce(logs) - np.log(len(logs))
                for logs in zip(*conditionals, strict=True)
            )
            log_p[group.rows, unit] = of_cells - log_step
            p = np.exp(of_values)
            if not column.states:
                p = (p @ values)[:, None]
            means[group.rows] = p
        log_p[:, unit] += _log_density(column, rows[:, unit])
        guesses.append(_best_guesses(column, means))
        if progress is not None:
            progress((unit + 1) / len(columns.modelled))
    if not imputations:
        return CellScores(log_p, guesses)
    unconverged = [imputation for imputation in imputations if not imputation.converged]
    last = (unconverged or imputations)[-1]
    return CellScores(log_p, guesses, last.converged, last.message)


def column_scores(
    rbm: RBM, columns: Columns, codes: Any, learned: Any, *, key: PRNGKeyArray
) -> list[ColumnScore]:
    """Return scores for the prediction of each column from the other columns, in table order.

    Args:
        rbm: a model of the columns.
        columns: the columns of the table.
        codes: rows to predict, as returned by `columns.encode`.
        learned: the training rows, from which the distribution of each column alone is estimated.
        key: a JAX random key.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet = np.array(["cat", "dog", "dog"], object)
        >>> fur = np.array(["long", "short", "short"], object)
        >>> frame = Frame((RawColumn("pet", pet), RawColumn("fur", fur)))
        >>> columns = columns_of(frame)
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> codes = columns.encode(frame, "rows")
        >>> key = jax.random.key(0)
        >>> pet, fur = hm.evaluation.column_scores(rbm, columns, codes, codes, key=key)
        >>> round(float(fur.log_p), 3), round(float(fur.alone), 3)  # given the pet, and by itself
        (-0.591, -0.64)
    """
    rows = np.asarray(codes, float)
    learned = np.asarray(learned, float)
    scores = cell_scores(rbm, columns, rows, key=key)
    by_name = {}
    given = {part.name for part in columns.given_parts}
    for unit, column in enumerate(columns.modelled):
        is_known = ~np.isnan(rows[:, unit])
        if not is_known.any() or column.name in given:
            continue
        own = rows[is_known, unit]
        log_p = scores.log_p[is_known, unit]
        learned_own = learned[~np.isnan(learned[:, unit]), unit]
        alone = _log_p_alone(own, learned_own, column.states) + _log_density(column, own)
        guesses = scores.guesses[unit][is_known]
        cells = _cells(column, own)
        correct = commonest = error = spread = None
        if cells.dtype.kind == "f":
            error = float(np.sqrt(np.mean((guesses - cells) ** 2)))
            spread = float(cells.std())
        if column.states:
            correct = float(np.mean(guesses == cells))
            values, counts = np.unique(learned_own, return_counts=True)
            commonest = float(np.mean(own == values[counts.argmax()]))
        by_name[column.name] = ColumnScore(
            column.name,
            column.kind,
            cells=len(own),
            log_p=float(log_p.mean()),
            stderr=float(log_p.std() / np.sqrt(max(1, len(log_p) - 1))),
            alone=float(alone.mean()),
            correct=correct,
            commonest=commonest,
            error=error,
            spread=spread,
        )
    return [by_name[part.name] for part in columns.parts if part.name in by_name]


class _Group(NamedTuple):
    """Indices of rows with a known cell of one unit, and completions drawn without that cell."""

    rows: np.ndarray
    completions: np.ndarray
    imputation: Imputation | None = None


def _completed(rbm: RBM, rows: np.ndarray, unit: int, key: Any) -> list[_Group]:
    """Return the rows in which this unit's cell is known, first those with no missing cells."""
    is_known = ~np.isnan(rows[:, unit])
    has_gaps = np.isnan(np.delete(rows, unit, axis=1)).any(1)
    groups = []
    complete = np.flatnonzero(is_known & ~has_gaps)
    if len(complete):
        groups.append(_Group(complete, rows[complete][None]))
    incomplete = np.flatnonzero(is_known & has_gaps)
    if len(incomplete):
        others = rows[incomplete]
        others[:, unit] = np.nan
        imputation = impute(rbm, others, key=key, draws=COMPLETIONS, sweeps=SWEEPS)
        completions = imputation.draws.astype(np.float32)
        groups.append(_Group(incomplete, completions, imputation))
    return groups


def _values_of(
    rbm: RBM, codes: np.ndarray, unit: int, states: int | None
) -> tuple[np.ndarray, float]:
    """Return the states of a unit, or a grid of its values, and the log of the grid spacing."""
    if states is not None:
        return np.arange(states, dtype=np.float32), 0.0
    # The grid is wide enough to contain nearly all probability, and fine enough for the narrowest
    # peak: given the other visible units, p is a mixture of normal densities, whose common standard
    # deviation is `_conditional_deviation`.
    known = codes[~np.isnan(codes)]
    deviation = max(float(known.std()), 1e-3)
    low = known.min() - MARGIN * deviation
    high = known.max() + MARGIN * deviation
    step = float(_conditional_deviation(rbm, unit)) / STEPS_PER_DEVIATION
    count = int(np.clip(np.ceil((high - low) / step), 64, MOST_POINTS))
    grid = np.linspace(low, high, _power_of_two(count), dtype=np.float32)
    return grid, float(np.log(grid[1] - grid[0]))


def _power_of_two(count: int) -> int:
    """Return the smallest power of two ≥ `count`, so that programs are compiled for few sizes."""
    return 1 << (count - 1).bit_length()


@compiled
def _conditional_deviation(rbm: RBM, unit: int) -> Float[Array, ""]:
    """Return the standard deviation of a real-valued unit given all other units."""
    visible = rbm.visible
    known = jnp.arange(visible.n_units) != unit
    values = visible.mean(visible.zero_inputs)
    variances = visible.fold(variance_given(visible, visible.zero_inputs, known, values))
    return jnp.sqrt(jnp.where(known, 0.0, variances).sum())


def _conditionals(
    rbm: RBM, rows: np.ndarray, unit: int, cells: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return log p of the cells, and of all values of the unit, given the other units.

    The probabilities follow from the free energies of the row with the cell, and with each value in
    its place.
    """
    count = _power_of_two(len(values))
    padded = from_numpy(np.concatenate([values, np.repeat(values[-1:], count - len(values))]))
    number = whole_number(unit)
    energies = in_parts(
        lambda part, _: _energies(rbm, part, padded, number),
        np.concatenate([rows, cells[:, None]], axis=1),
        (count + 1) * rbm.widest,
    )
    log_weights = -energies.astype(float)
    of_values = log_weights[:, : len(values)]
    total = np.logaddexp.reduce(of_values, axis=1)
    return log_weights[:, -1] - total, of_values - total[:, None]


@compiled
def _energies(
    rbm: RBM, rows: Float[Array, "n units_and_cell"], values: Float[Array, " values"], unit: Array
) -> Float[Array, "n values_and_cell"]:
    """Return each row's free energy for every value of one unit and, last, for its own cell."""
    cells = rows[:, -1:]
    rows = rows[:, :-1]
    candidates = jnp.concatenate(
        [jnp.broadcast_to(values, (len(rows), len(values))), cells], axis=1
    )
    is_unit = jnp.arange(rows.shape[1]) == unit
    others = jnp.where(is_unit, 0.0, rows)
    states = jnp.where(is_unit, candidates[..., None], others[:, None])
    return rbm.free_energy(rbm.visible.encode(states))


def _log_p_alone(cells: np.ndarray, known: np.ndarray, states: int | None) -> np.ndarray:
    """Return log p of codes without other columns: smoothed frequencies, or a normal density."""
    if states is not None:
        counts = np.bincount(known.astype(int), minlength=states) + 1.0 / states
        return np.log(counts / counts.sum())[cells.astype(int)]
    mean = known.mean()
    spread = max(float(known.std()), 1e-6)
    return -0.5 * ((cells - mean) / spread) ** 2 - np.log(spread) - 0.5 * np.log(2.0 * np.pi)


def _cells(column: Any, codes: np.ndarray) -> np.ndarray:
    """Return the cell that each code represents; for binned numbers, the mean of the bin."""
    if column.states is None:
        return column.cells(codes, np.random.default_rng(0))
    return column.best(np.eye(column.states)[codes.astype(int)])


def _log_density(column: Any, codes: np.ndarray) -> np.ndarray:
    """Return log p(cell | code) for cells drawn at random from the cells that a code represents."""
    filled = np.where(np.isnan(codes), 0.0, codes)
    cells = column.cells(filled, np.random.default_rng(0))
    return column.log_density(RawColumn(column.name, cells, column.form))


def _best_guesses(column: Any, means: np.ndarray) -> np.ndarray:
    """Return the best guess of each cell; it is arbitrary if the means are NaN."""
    fallback = np.zeros(means.shape[1])
    fallback[0] = float(column.states is not None)
    return column.best(np.where(np.isnan(means), fallback, means))


def unexpected(
    scores: CellScores, columns: Columns, count: int = 3
) -> list[list[tuple[str, float]]]:
    """Return, for each row, the columns whose cells are most unexpected, with their log p.

    A column is listed for a row if the log p of its cell is below the column's mean log p over all
    rows.

    Args:
        scores: the scores of all cells.
        columns: the columns of the table.
        count: the largest number of columns to name for a row.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> pet, fur = np.array(["cat", "dog"], object), np.array(["long", "short"], object)
        >>> frame = Frame((RawColumn("pet", pet), RawColumn("fur", fur)))
        >>> columns = columns_of(frame)
        >>> log_p = np.log([[0.25, 0.5], [0.75, 0.5]])
        >>> scores = hm.evaluation.CellScores(log_p, guesses=[pet, fur])
        >>> [[name for name, _ in row] for row in hm.evaluation.unexpected(scores, columns)]
        [['pet'], []]
    """
    names = [column.name for column in columns.modelled]
    log_p = scores.log_p
    typical = np.nanmean(np.where(np.isnan(log_p).all(0), 0.0, log_p), axis=0)
    surprise = np.nan_to_num(typical - log_p, nan=0.0)
    order = np.argsort(-surprise, axis=1)[:, :count]
    return [
        [(names[i], float(log_p[row, i])) for i in columns_of_row if surprise[row, i] > 0]
        for row, columns_of_row in enumerate(order)
    ]
