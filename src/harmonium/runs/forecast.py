"""Forecast the next rows of a series with a model of each row given the rows before it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._base.threefry import key_of
from ..data.readers import frame_in, read_file
from ..errors import InputError
from ..inference.forecasting import drawn_futures
from ..io.storage import load
from ..tables import Columns, Frame
from ..tables.frames import CellKind
from ..tables.series import lag_name
from ..tables.writing import SUFFIXES
from .folder import RunFolder
from .options import AS_DECIDED, TextOptions
from .origin import config_of
from .rows import text_format_for
from .writing import check_target, frame_of, write_table

LEVELS = (0.05, 0.5, 0.95)  # quantiles of a number: the median, and an interval of 90 %


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The forecast of one column at one step of the series.

    Attributes:
        step: the number of the row after the end of the series, from 1.
        name: the name of the column.
        value: the median of a number, or the most probable of categories or of two values.
        low: the 5 % quantile of a number; None with a probability.
        high: the 95 % quantile of a number; None with a probability.
        probability: the probability of the category or value; None for other numbers.
    """

    step: int
    name: str
    value: str
    low: str | None = None
    high: str | None = None
    probability: float | None = None


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """A forecast, and whether the draws behind it are reliable.

    Attributes:
        run: the folder of the run.
        series: the file whose rows are continued.
        out: the file of all draws; None if none was written.
        draws: the number of drawn continuations.
        steps: the number of rows of each continuation.
        expected: the forecasts, by step and column.
        converged: whether the draws are reliable.
        message: why the draws are reliable, or why not.
    """

    run: str
    series: str
    out: str | None
    draws: int
    steps: int
    expected: list[Expected]
    converged: bool
    message: str


def forecast_series(
    run: str,
    series: str | None = None,
    *,
    steps: int,
    draws: int,
    out: str | None = None,
    seed: int = 0,
    overwrite: bool = False,
    text: TextOptions = AS_DECIDED,
    guard: bool = False,
) -> Forecast:
    """Draw continuations of a series; return quantiles or probabilities for each forecast cell.

    The help of `harmonium forecast` describes the arguments.

    Raises:
        InputError: the run was not trained on a series, or a file cannot be read or written.
    """
    if out is not None:
        check_target(f"--out {out}", out, SUFFIXES, overwrite)
    folder = RunFolder(run)
    rbm = load(run)
    columns = folder.columns_of_table()
    present = columns.of_series
    is_series = columns.past > 0 and len(columns.given) == columns.past * len(present)
    if not is_series:
        raise InputError(
            f"{run}: expected a run on a series, trained with --past and no other given columns;"
            " got another run; train one on the series."
        )
    source = config_of(folder, None).origin if series is None else series
    text_format = text_format_for(source, run, text)
    frame = frame_in(read_file(source, known=columns.empty, text_format=text_format), str(source))
    place = {part.name: unit for unit, part in enumerate(columns.modelled)}
    lags = [(name, lag) for name in present for lag in range(columns.past, 0, -1)]
    given = np.array([place[lag_name(name, lag)] for name, lag in lags])
    later = np.array([place[lag_name(name, lag - 1)] for name, lag in lags])
    start = columns.encode(columns.next_row(frame, str(source)), str(source))[0]
    futures = drawn_futures(rbm, start, given, later, steps, draws, key=key_of(seed))
    drawn = columns.decode(futures.rows.reshape(draws * steps, -1).astype(float), seed=seed)
    if out is not None:
        write_table(_draws_table(drawn, present, draws, steps), out, guard)
    return Forecast(
        run=run,
        series=str(Path(source)),
        out=out,
        draws=draws,
        steps=steps,
        expected=_expected(columns, drawn, present, draws, steps),
        converged=futures.converged,
        message=futures.message,
    )


def _draws_table(drawn: Frame, names: list[str], draws: int, steps: int) -> Frame:
    """Return all draws as a table: the number of the draw, the step, and the columns."""
    numbers = {
        "draw": np.repeat(np.arange(1.0, draws + 1), steps),
        "step": np.tile(np.arange(1.0, steps + 1), draws),
    }
    columns = [column for column in drawn.columns if column.name in names]
    return Frame((*frame_of(numbers).columns, *columns))


def _expected(
    columns: Columns, drawn: Frame, names: list[str], draws: int, steps: int
) -> list[Expected]:
    """Return the quantiles of numbers, and the most probable categories, of each step."""
    kinds = {column.name: column for column in columns.columns}
    expected = []
    for step in range(steps):
        rows = drawn.taken(np.arange(step, draws * steps, steps))
        for column in rows.columns:
            if column.name not in names:
                continue
            shown = kinds[column.name].shown
            is_of_words = column.cell_kind is CellKind.WORDS
            # Of two values, an interval says only whether both are possible.
            has_two_values = [part.states for part in kinds[column.name].parts] == [2]
            if is_of_words or has_two_values:
                cells = column.values.astype(str) if is_of_words else column.values
                values, counts = np.unique(cells, return_counts=True)
                best = int(counts.argmax())
                forecast = Expected(
                    step=step + 1,
                    name=column.name,
                    value=str(shown(values[best])),
                    probability=float(counts[best] / draws),
                )
            else:
                places = np.quantile(np.sort(column.values), LEVELS, method="nearest")
                low, median, high = (str(shown(place)) for place in places)
                forecast = Expected(
                    step=step + 1, name=column.name, value=median, low=low, high=high
                )
            expected.append(forecast)
    return expected
