"""How well each column of a table is predicted from the others, and which cells are unexpected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._numerics import from_numpy
from ..checks import checked_key
from ..data.parts import rows_at_once
from ..layers.capabilities import variance_given
from ..missing import impute
from ..rbm import RBM
from ..tables import Columns, RawColumn

__all__ = ["CellScores", "ColumnScore", "cell_scores", "column_scores", "unexpected"]

COMPLETIONS, SWEEPS = 8, 16  # of the other cells of a row, where some are missing
STEPS_PER_SPREAD = 2.5  # points of a grid in one standard deviation given all other units
BEYOND = 4.0  # standard deviations of a column, by which a grid is wider than the cells
MOST_POINTS = 2**12


COMPLETE = "Converged: no cell is missing beside one that is scored."


class CellScores(NamedTuple):
    """Each cell's probability given the other cells of its row.

    Attributes:
        log_p: log p(cell | other cells), nats, or of the density in the column's own unit of
            measurement, shape (rows, columns with a unit); NaN where the cell is missing.
        guesses: the best guess of each cell from the others, in the table's own form: an array for
            each column with a unit.
        converged: whether completions of rows with missing cells are exact, or their chains mixed.
        message: a sentence that says so, or what is wrong.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> words = {"pet": ["cat", "dog", "dog"], "fur": ["long", "short", "short"]}
        >>> frame = Frame(tuple(RawColumn(k, np.array(x, object)) for k, x in words.items()))
        >>> columns = columns_of(frame)  # as hm.open_source("pets.csv").columns
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> codes = columns.encode(frame, "rows")
        >>> found = hm.cell_scores(rbm, columns, codes, key=jax.random.key(0))
        >>> found.log_p.shape, [guesses.tolist() for guesses in found.guesses]
        ((3, 2), [['dog', 'dog', 'dog'], ['short', 'short', 'short']])
    """

    log_p: np.ndarray
    guesses: list[np.ndarray]
    converged: bool = True
    message: str = COMPLETE


class ColumnScore(NamedTuple):
    """How well a column is predicted from the others, as means over its cells.

    Attributes:
        name: the column.
        kind: its kind, such as "category".
        cells: the number of cells.
        log_p: log p(cell | other cells), nats.
        stderr: its standard error.
        alone: log p(cell) of the column by itself, from the rows that the model learned from.
        correct: the share of cells whose best guess is right, for states; else None.
        commonest: the share that guessing the most frequent state gets right; else None.
        error: the root of the mean squared error of the best guess, for numbers; else None.
        spread: the standard deviation of the cells; else None.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> words = {"pet": ["cat", "dog", "dog"], "fur": ["long", "short", "short"]}
        >>> frame = Frame(tuple(RawColumn(k, np.array(x, object)) for k, x in words.items()))
        >>> columns = columns_of(frame)  # as hm.open_source("pets.csv").columns
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> codes = columns.encode(frame, "rows")
        >>> pet, fur = hm.column_scores(rbm, columns, codes, codes, key=jax.random.key(0))
        >>> fur.name, fur.kind, fur.cells, round(fur.correct, 3), fur.error
        ('fur', 'category', 3, 0.667, None)
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
    """Return log p of each cell given the others of its row, and the best guess from them.

    The probabilities of a unit's states, or of a fine grid of its values, follow from the free
    energy of the row with each of them. Where other cells are missing, p is an average over
    completions that are drawn from the model without the cell.

    Args:
        rbm: a model of the columns.
        columns: what they mean.
        codes: rows as `columns.encode` returns them, NaN where a cell is missing.
        key: a JAX random key.
        progress: is called with the part that is done, from 0 to 1.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> words = {"pet": ["cat", "dog", "dog"], "fur": ["long", "short", "short"]}
        >>> frame = Frame(tuple(RawColumn(k, np.array(x, object)) for k, x in words.items()))
        >>> columns = columns_of(frame)  # as hm.open_source("pets.csv").columns
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> codes = columns.encode(frame, "rows")
        >>> found = hm.cell_scores(rbm, columns, codes, key=jax.random.key(0))
        >>> print(found.log_p[:2].round(3))  # log 2/6 and log 10/14
        [[-1.099 -1.099]
         [-0.336 -0.336]]
    """
    rows = rbm.visible.validate(codes, "codes", missing=True).astype(np.float32)
    key, found, guesses = checked_key(key), [], []
    said = [(True, COMPLETE)]
    for unit, column in enumerate(columns.modelled):
        log_p = np.full(len(rows), np.nan)
        means = np.full((len(rows), column.states or 1), np.nan)
        completed = _completed(rbm, rows, unit, jax.random.fold_in(key, unit), said)
        for which, completions in completed:
            given = rows[which, unit]
            grid, log_measure = _values_of(rbm, rows[:, unit], unit, column.states)
            each = [_log_shares(rbm, one, unit, given, grid, log_measure) for one in completions]
            log_p[which] = np.logaddexp.reduce([cell for cell, _ in each]) - np.log(len(each))
            share = np.exp(np.logaddexp.reduce([of_grid for _, of_grid in each])) / len(each)
            means[which] = share if column.states else (share @ grid)[:, None]
        density = _density(column, rows[:, unit])
        found.append(log_p + density)
        guesses.append(_guessed(column, means))
        if progress is not None:
            progress((unit + 1) / len(columns.modelled))
    converged = all(sure for sure, _ in said)
    message = next(text for sure, text in reversed(said) if sure == converged)
    return CellScores(np.stack(found, axis=1), guesses, converged, message)


def column_scores(
    rbm: RBM, columns: Columns, codes: Any, learned: Any, *, key: PRNGKeyArray
) -> list[ColumnScore]:
    """Return how well each column is predicted from the others, in the table's order.

    Args:
        rbm: a model of the columns.
        columns: what they mean.
        codes: rows to predict, as `columns.encode` returns them.
        learned: rows that the model learned from, which say what each column is like by itself.
        key: a JAX random key.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> words = {"pet": ["cat", "dog", "dog"], "fur": ["long", "short", "short"]}
        >>> frame = Frame(tuple(RawColumn(k, np.array(x, object)) for k, x in words.items()))
        >>> columns = columns_of(frame)  # as hm.open_source("pets.csv").columns
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> codes = columns.encode(frame, "rows")
        >>> pet, fur = hm.column_scores(rbm, columns, codes, codes, key=jax.random.key(0))
        >>> round(float(fur.log_p), 3), round(float(fur.alone), 3)  # given the pet, and alone
        (-0.591, -0.64)
    """
    rows, others = np.asarray(codes, float), np.asarray(learned, float)
    found, scores = cell_scores(rbm, columns, rows, key=key), []
    for unit, column in enumerate(columns.modelled):
        is_seen = ~np.isnan(rows[:, unit])
        if not is_seen.any():
            continue
        seen, log_p = rows[is_seen, unit], found.log_p[is_seen, unit]
        density = _density(column, seen)
        known = others[~np.isnan(others[:, unit]), unit]
        alone = _log_p_alone(seen, known, column.states) + density
        guess, cells = found.guesses[unit][is_seen], _cells(column, seen)
        measures: dict[str, Any] = dict.fromkeys(("correct", "commonest", "error", "spread"))
        if cells.dtype.kind == "f":
            measures["error"] = float(np.sqrt(np.mean((guess - cells) ** 2)))
            measures["spread"] = float(cells.std())
        if column.states:
            measures["correct"] = float(np.mean(guess == cells))
            values, counts = np.unique(known, return_counts=True)
            measures["commonest"] = float(np.mean(seen == values[counts.argmax()]))
        stderr = float(log_p.std() / np.sqrt(max(1, len(log_p) - 1)))
        means = float(log_p.mean()), stderr, float(alone.mean())
        scores.append(ColumnScore(column.name, column.kind, len(seen), *means, **measures))
    order = [column.name for column in columns.parts]
    return sorted(scores, key=lambda score: order.index(score.name))


def _completed(
    rbm: RBM, rows: np.ndarray, unit: int, key: Any, said: list[tuple[bool, str]]
) -> list[tuple[np.ndarray, Any]]:
    """Return which rows have the cell, and their completions: complete rows first, then others.

    What is to be said of the completions is appended to `said`.
    """
    seen, gaps = ~np.isnan(rows[:, unit]), np.isnan(np.delete(rows, unit, axis=1)).any(1)
    found = []
    for which in (np.flatnonzero(seen & ~gaps), np.flatnonzero(seen & gaps)):
        if not len(which):
            continue
        some = rows[which]
        completions = some[None]
        if np.isnan(np.delete(some, unit, axis=1)).any():
            without = some.copy()
            without[:, unit] = np.nan
            drawn = impute(rbm, without, key=key, draws=COMPLETIONS, sweeps=SWEEPS)
            completions = drawn.draws.astype(np.float32)
            said.append((drawn.converged, drawn.message))
        found.append((which, completions))
    return found


def _values_of(
    rbm: RBM, codes: np.ndarray, unit: int, states: int | None
) -> tuple[np.ndarray, float]:
    """Return the states of a unit, or a grid of its values, and the log of the grid's step."""
    if states is not None:
        return np.arange(states, dtype=np.float32), 0.0
    known = codes[~np.isnan(codes)]
    width = max(float(known.std()), 1e-3)
    low, high = known.min() - BEYOND * width, known.max() + BEYOND * width
    fine = float(_least_spread(rbm, unit)) / STEPS_PER_SPREAD
    count = int(np.clip(np.ceil((high - low) / fine), 64, MOST_POINTS))
    grid = np.linspace(low, high, 1 << (count - 1).bit_length(), dtype=np.float32)
    return grid, float(np.log(grid[1] - grid[0]))


@eqx.filter_jit
def _least_spread(rbm: RBM, unit: int) -> Float[Array, ""]:
    """Return the standard deviation of a real unit given all others."""
    visible = rbm.visible
    known = jnp.arange(visible.n_units) != unit
    values = visible.mean(visible.zero_inputs)
    spread = visible.fold(variance_given(visible, visible.zero_inputs, known, values))
    return jnp.sqrt(jnp.where(known, 0.0, spread).sum())


def _log_shares(
    rbm: RBM,
    rows: np.ndarray,
    unit: int,
    cells: np.ndarray,
    values: np.ndarray,
    log_measure: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return log p of the cells, and of all values of the unit, given the other units."""
    count = 1 << (len(values) - 1).bit_length()  # few sizes are compiled
    padded = np.concatenate([values, np.repeat(values[-1:], count - len(values))])
    size = min(rows_at_once((count + 1) * rbm.widest), 1 << (len(rows) - 1).bit_length())
    energies = []
    for first in range(0, len(rows), size):
        some, own = rows[first : first + size], cells[first : first + size]
        filled = np.concatenate([some, np.repeat(some[:1], size - len(some), axis=0)])
        every = np.tile(padded, (size, 1))
        every = np.concatenate([every, np.resize(own, size)[:, None]], axis=1)
        given = (from_numpy(filled), from_numpy(every.astype(np.float32)))
        energies.append(np.asarray(_energies(rbm, *given, jnp.asarray(unit)))[: len(some)])
    found = -np.concatenate(energies).astype(float)
    of_values, of_cells = found[:, : len(values)], found[:, -1]
    total = np.logaddexp.reduce(of_values, axis=1)
    return of_cells - total - log_measure, of_values - total[:, None]


@eqx.filter_jit
def _energies(
    rbm: RBM, rows: Float[Array, "n units"], values: Float[Array, "n values"], unit: Array
) -> Float[Array, "n values"]:
    """Return F of each row with each value of one unit."""
    is_unit = jnp.arange(rows.shape[1]) == unit
    every = jnp.where(is_unit, values[..., None], jnp.where(is_unit, 0.0, rows)[:, None])
    return rbm.free_energy(rbm.visible.encode(every))


def _log_p_alone(cells: np.ndarray, known: np.ndarray, states: int | None) -> np.ndarray:
    """Return log p of codes in a column by itself: smoothed frequencies, or a normal density."""
    if states is not None:
        counts = np.bincount(known.astype(int), minlength=states) + 1.0 / states
        return np.log(counts / counts.sum())[cells.astype(int)]
    mean, spread = known.mean(), max(float(known.std()), 1e-6)
    return -0.5 * ((cells - mean) / spread) ** 2 - np.log(spread) - 0.5 * np.log(2.0 * np.pi)


def _cells(column: Any, codes: np.ndarray) -> np.ndarray:
    """Return what codes stand for, by one cell each: for numbers, the mean of those of a state."""
    if column.states is None:
        return column.cells(codes, np.random.default_rng(0))
    return column.best(np.eye(column.states)[codes.astype(int)])


def _density(column: Any, codes: np.ndarray) -> np.ndarray:
    """Return log p(cell | code) of cells that the codes may stand for."""
    filled = np.where(np.isnan(codes), 0.0, codes)
    cells = column.cells(filled, np.random.default_rng(0))
    return column.log_density(RawColumn(column.name, cells, column.form))


def _guessed(column: Any, means: np.ndarray) -> np.ndarray:
    """Return the best guesses; any cell where there is none."""
    fallback = np.zeros(means.shape[1])
    fallback[0] = float(column.states is not None)
    return column.best(np.where(np.isnan(means), fallback, means))


def unexpected(
    found: CellScores, columns: Columns, count: int = 3
) -> list[list[tuple[str, float]]]:
    """Return for each row the columns whose cells are least expected, with their log p.

    A cell is compared with what is usual for its column: it is named if log p lies below the
    column's mean over all rows.

    Args:
        found: the scores of all cells.
        columns: what the columns mean.
        count: how many columns to name at most.

    Example:
        >>> from harmonium.tables import Frame, RawColumn, columns_of
        >>> words = {"pet": ["cat", "dog", "dog"], "fur": ["long", "short", "short"]}
        >>> frame = Frame(tuple(RawColumn(k, np.array(x, object)) for k, x in words.items()))
        >>> columns = columns_of(frame)  # as hm.open_source("pets.csv").columns
        >>> rbm = hm.RBM(columns.layer, hm.Bernoulli(1), np.log([[3.0], [3.0]]))
        >>> codes = columns.encode(frame, "rows")
        >>> found = hm.cell_scores(rbm, columns, codes, key=jax.random.key(0))
        >>> [sorted(name for name, _ in row) for row in hm.unexpected(found, columns)]
        [['fur', 'pet'], [], []]
    """
    names = [column.name for column in columns.modelled]
    typical = np.nanmean(np.where(np.isnan(found.log_p).all(0), 0.0, found.log_p), axis=0)
    below = np.nan_to_num(found.log_p - typical, nan=0.0)
    order = np.argsort(below, axis=1)[:, :count]
    return [
        [(names[i], float(found.log_p[row, i])) for i in some if below[row, i] < 0]
        for row, some in enumerate(order)
    ]
