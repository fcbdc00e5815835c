"""The columns of a table and the units that model them, with exact probabilities of cells.

A column encodes its cells as codes, which are the states of its unit, and decodes codes into cells.
If a code represents several cells, the column stores the probability of each cell given the code.
Thus every cell has a probability (or a density, in the column's own unit of measurement), and
different types for the same column can be compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from .._base.files import bytes_of, parsed_json, parser_errors
from ..errors import InputError, count_of
from ..layers import (
    AbstractLayer,
    Bernoulli,
    Categorical,
    Conditional,
    Gaussian,
    Mixed,
    MultivariateGaussian,
)
from .base import AbstractColumn, AbstractPart, Guess
from .calendars import Calendar, Dates
from .conditions import Conditions, parsed_conditions
from .continuous import Continuous
from .discrete import Discrete
from .frames import Frame, RawColumn, with_gaps, words_of
from .series import lag_name, next_row, with_lags
from .unmodelled import Key, LeftOut
from .words import Words

KINDS: dict[str, Any] = {
    column.kind: column for column in (Words, Discrete, Continuous, Dates, Calendar, Key, LeftOut)
}
# The maximum number of continuous columns that share a precision matrix.
MOST_CORRELATED = 128
MOST_SETS = 50  # maximum number of sets of draws when few rows fall within the ranges of conditions


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table and the units that model them.

    The units are ordered by type: Bernoulli units for columns of two values, then one `Categorical`
    layer for all columns of more values, then Gaussian units, beginning with the given columns.

    Attributes:
        columns: all columns, in the order of the table.
        given: the names of the columns that are given in every row; the model is conditional on
            them (`Conditional`).
        past: in a series, the number of earlier rows whose cells are added to each row, in columns
            named by `lag_name`; 0 if the rows are not a series.
    """

    columns: tuple[AbstractColumn, ...]
    given: tuple[str, ...] = ()
    past: int = 0

    @property
    def parts(self) -> tuple[AbstractPart, ...]:
        """The columns and parts of columns that have a unit, in the order of the table."""
        return tuple(part for column in self.columns for part in column.parts)

    @property
    def modelled(self) -> tuple[AbstractPart, ...]:
        """The columns and parts of columns that have a unit, in the order of the units."""
        binary = (part for part in self.parts if part.states == 2)
        several = (part for part in self.parts if part.states is not None and part.states > 2)
        continuous = [part for part in self.parts if part.states is None]
        given = {part.name for part in self.given_parts}
        continuous.sort(key=lambda part: part.name not in given)  # a stable sort
        return (*binary, *several, *continuous)

    @property
    def given_parts(self) -> tuple[AbstractPart, ...]:
        """The columns and parts of columns that are given in every row."""
        given = (column for column in self.columns if column.name in self.given)
        return tuple(part for column in given for part in column.parts)

    def with_given(self, given: Iterable[str], label: str) -> Columns:
        """Return the same columns, of which those with these names are given in every row.

        Raises:
            InputError: a name is not that of a modelled column, or all modelled columns are named.
        """
        names = tuple(dict.fromkeys(given))
        modelled = [column.name for column in self.columns if column.parts]
        left_out = {
            column.name: f", which is left out ({column.summary})"
            for column in self.columns
            if not column.parts
        }
        for name in names:
            if name not in modelled:
                reason = left_out.get(name, "")
                raise InputError(
                    f"{label}: expected given columns among {', '.join(modelled):.200}; got"
                    f" {name!r}{reason}."
                )
        if len(names) == len(modelled):
            raise InputError(
                f"{label}: expected at least one column that is not given; got all columns as"
                f" given: {', '.join(names):.200}."
            )
        return replace(self, given=names)

    def with_past(self, past: int, label: str) -> Columns:
        """Return the columns of a series whose rows also have the cells of `past` earlier rows.

        The columns of earlier rows are given, and have the types of the original columns. Dates are
        left out, since they advance from row to row.

        Raises:
            InputError: a date is given, or there are no other columns than dates.
        """
        dates = [c.name for c in self.columns if isinstance(c, Dates | Calendar)]
        for name in dates:
            if name in self.given:
                raise InputError(
                    f"{label}: expected given columns of a series that are no dates, which a series"
                    f" leaves out; got {name!r}; add a column of what matters about the date, such"
                    " as the day of the week."
                )
        if not any(column.parts for column in self.columns if column.name not in dates):
            raise InputError(
                f"{label}: expected a series with a column that can be modelled, besides dates; got"
                f" only {', '.join(dates):.200}."
            )
        columns = tuple(
            LeftOut(name=column.name, form=column.form, why="the dates of a series")
            if column.name in dates
            else column
            for column in self.columns
        )
        lagged = tuple(
            replace(column, name=lag_name(column.name, lag))
            for lag in range(past, 0, -1)
            for column in columns
            if column.parts
        )
        names = [column.name for column in lagged]
        names += [column.name for column in columns if column.parts and column.name in self.given]
        return replace(self, columns=(*lagged, *columns), given=tuple(names), past=past)

    def rows_of_series(self, frame: Frame, label: str) -> Frame:
        """Return the table; if it is a series without columns of earlier rows, these are added."""
        if not self.past or all(name in frame.names for name in self.given):
            return frame
        return with_lags(frame, self.of_series, self.past, label)

    def next_row(self, frame: Frame, label: str) -> Frame:
        """Return the row after the end of a series, with empty cells but those of earlier rows."""
        return next_row(frame, self.of_series, self.past, label)

    @property
    def of_series(self) -> list[str]:
        """The names of the columns whose earlier cells are given."""
        of_row = [column.name for column in self.columns]
        return [name for name in of_row if lag_name(name, 1) in self.given]

    @property
    def layer(self) -> AbstractLayer:
        """A new layer with the units of all columns."""
        states = [column.states for column in self.modelled]
        of_states = [column for column in self.modelled if (column.states or 0) > 2]
        several = [int(column.states or 0) for column in of_states]
        orders = [column.order for column in of_states]
        if not any(orders):
            orders = []
        parts: list[AbstractLayer] = []
        if 2 in states:
            parts.append(Bernoulli(states.count(2)))
        # A single layer contains all units, with different numbers of states. Compared with one
        # layer per column, fifteen columns compile five times as fast and run equally fast.
        if several:
            parts.append(Categorical(len(several), several, orders=orders))
        if None in states:
            given = sum(part.states is None for part in self.given_parts)
            counts = (given, states.count(None) - given)
            parts += [_continuous_layer(count) for count in counts if count]
        layer = parts[0] if len(parts) == 1 else Mixed(*parts)
        if not self.given:
            return layer
        names = {part.name for part in self.given_parts}
        units = [place for place, part in enumerate(self.modelled) if part.name in names]
        return Conditional(layer, given=units)

    @property
    def empty(self) -> Frame:
        """A table without rows, which has the names, cell types and formats of the columns."""
        return self.decode(np.zeros((0, len(self.modelled))))

    def encode(self, frame: Frame, label: str, *, may_lack: bool = False) -> np.ndarray:
        """Encode the rows of a table as states of the layer, with NaN for missing cells.

        Columns are matched by name, in any order; additional columns are ignored.

        Args:
            frame: the table.
            label: the name of the table in error messages.
            may_lack: whether the cells of an absent column count as missing.

        Raises:
            InputError: a column is absent, or has a cell that cannot be encoded.
        """
        known = [column.name for column in self.columns if column.parts]
        absent = [name for name in known if name not in frame.names]
        if absent and not may_lack:
            others = ""
            if absent[1:]:
                others = f", nor {count_of(len(absent) - 1, 'other')}"
            raise InputError(
                f"{label}: expected {count_of(len(known), 'column')}, matched by name; got no"
                f" column {absent[0]!r}{others}; add every missing column; its cells may be empty."
            )
        # In an array without known cells, the dtype carries no information.
        raw = {
            column.name: column
            for column in self.split(frame, label).columns
            if not column.is_missing.all()
        }
        missing = np.full(len(frame), np.nan)
        codes = [
            part.codes(raw.get(part.name, RawColumn(part.name, missing)), label)
            for part in self.modelled
        ]
        rows = np.stack(codes, axis=1).astype(np.float32)
        if not may_lack:
            self.check_given(rows, label)
        return rows

    def check_given(self, rows: np.ndarray, label: str) -> None:
        """Raise InputError if the code of a given column is missing (NaN) in any row.

        Args:
            rows: rows as returned by `encode`.
            label: the name of the table in the error message.
        """
        given = {part.name for part in self.given_parts}
        for part, column in zip(self.modelled, rows.T, strict=True):
            if part.name in given and np.isnan(column).any():
                row = int(np.flatnonzero(np.isnan(column))[0])
                raise InputError(
                    f"{label}: expected a value in each given column; got none in column"
                    f" {part.name!r} of row {row + 1}; fill it in, or drop the row."
                )

    def taking_unseen_as_missing(self) -> Columns:
        """Return a copy that treats unknown categories as missing cells."""
        columns = tuple(column.taking_unseen_as_missing() for column in self.columns)
        return replace(self, columns=columns)

    def unseen_in(self, frame: Frame) -> dict[str, list[str]]:
        """Return the categories of a table that have no code, keyed by column name."""
        raw = {column.name: column for column in frame.columns}
        unseen = {c.name: c.unseen_in(raw[c.name]) for c in self.columns if c.name in raw}
        return {name: words for name, words in unseen.items() if words}

    def split(self, frame: Frame, label: str = "rows") -> Frame:
        """Return the table with a column for each part, which replaces any column of the same name.

        Raises:
            InputError: a cell cannot be divided into parts.
        """
        known = {column.name: column for column in self.columns}
        parts = {
            part.name: part
            for raw in frame.columns
            if raw.name in known
            for part in known[raw.name].split(raw, label)
        }
        others = (raw for raw in frame.columns if raw.name not in parts)
        return Frame((*others, *parts.values()), frame.has_names)

    def conditions(self, text: str, label: str) -> Conditions:
        """Parse conditions on a row, such as "sex=female,age=30..40".

        Raises:
            InputError: a condition is not NAME=VALUE or NAME=LOW..HIGH, its name is not that of a
                modelled column, or its value is invalid for the column.
        """
        columns = [column for column in self.columns if column.parts]
        known = {column.name: column for column in (*columns, *self.parts)}
        return parsed_conditions(text, known, label)

    def log_density(self, frame: Frame) -> np.ndarray:
        """Return log p(cells) − log p(codes) per row, over modelled columns that are not given."""
        raw = {column.name: column for column in frame.columns}
        targets = (c for c in self.columns if c.parts and c.name not in self.given)
        log_densities = (c.log_density(raw[c.name]) for c in targets)
        return sum(log_densities, np.zeros(len(frame)))

    def decode(self, rows: np.ndarray, *, seed: int = 0, known: Frame | None = None) -> Frame:
        """Decode states of the layer into a table with the original order of columns.

        Args:
            rows: the states of the layer, one row each.
            seed: the seed for drawing a cell if a code represents several cells.
            known: a table of cells given when the rows were drawn, which are returned unchanged.
                Each row of `known` corresponds to the same number of consecutive rows.
        """
        rng = np.random.default_rng(seed)
        place = {part.name: i for i, part in enumerate(self.modelled)}
        cells = {}
        missing = {}
        for part in self.parts:
            codes = rows[:, place[part.name]]
            missing[part.name] = np.isnan(codes)
            cells[part.name] = part.cells(np.where(missing[part.name], 0.0, codes), rng)
        decoded = self._merged(cells, missing, len(rows), rng)
        if known is None or not known.columns:
            return decoded
        repeated = known.taken(np.repeat(np.arange(len(known)), len(rows) // len(known)))
        given = {raw.name: raw for raw in repeated.columns}
        return Frame(tuple(_filled(given.get(raw.name, raw), raw) for raw in decoded.columns))

    def draw(
        self, conditions: Conditions, drawn: Callable[[int], np.ndarray], n: int, *, seed: int = 0
    ) -> tuple[np.ndarray, Frame]:
        """Draw n rows that satisfy the conditions, and return them as codes and as a table.

        Args:
            conditions: the known cells and ranges.
            drawn: a function that draws rows of codes, a different set for each argument 0, 1, …;
                rows outside the ranges are discarded.
            n: number of rows.
            seed: the seed for drawing the cells of the first set.

        Raises:
            InputError: too few of the rows drawn are within the ranges.
        """
        codes: list[np.ndarray] = []
        frames: list[Frame] = []
        n_inside = 0
        n_drawn = 0
        for number in range(MOST_SETS):
            rows = drawn(number)
            frame = self.decode(rows, seed=seed + number, known=conditions.cells)
            inside = np.flatnonzero(conditions.hold_for(self.split(frame)))
            codes.append(rows[inside])
            frames.append(frame.taken(inside))
            n_inside += len(inside)
            n_drawn += len(rows)
            if n_inside >= n:
                break
        if n_inside < n:
            names = ", ".join(condition.name for condition in conditions.ranges)
            raise InputError(
                f"the range of {names}: expected {n:,} draws within it; got {n_inside:,} of"
                f" {n_drawn:,} draws; widen the range."
            )
        columns = [
            replace(column, values=np.concatenate([f.columns[i].values for f in frames])[:n])
            for i, column in enumerate(frames[0].columns)
        ]
        return np.concatenate(codes)[:n], Frame(tuple(columns))

    def _merged(
        self,
        cells: dict[str, np.ndarray],
        missing: dict[str, np.ndarray],
        rows: int,
        rng: np.random.Generator,
    ) -> Frame:
        """Combine the cells of all parts into a table."""
        raw = []
        for column in self.columns:
            names = [part.name for part in column.parts]
            values = column.merged([cells[name] for name in names], rows, rng)
            gaps = [missing[name] for name in names if name in missing]
            if np.any(gaps):
                values = with_gaps(values, np.any(gaps, axis=0))
            raw.append(RawColumn(column.name, values, column.form, digits=column.digits))
        return Frame(tuple(raw))

    def lacking(self, frame: Frame, gaps: np.ndarray, known: Frame | None = None) -> Frame:
        """Return a copy of a table with the cells marked in `gaps` set to missing.

        Args:
            frame: the table.
            gaps: a mask of missing codes, with one column for each entry of `modelled`.
            known: a table of cells to keep. Each row of `known` corresponds to the same number of
                consecutive rows of `frame`.
        """
        place = {part.name: i for i, part in enumerate(self.modelled)}
        parts = {
            column.name: [place[part.name] for part in column.parts] for column in self.columns
        }
        is_given = {}
        if known is not None and known.columns:
            repeated = np.repeat(np.arange(len(known)), len(frame) // len(known))
            is_given = {raw.name: ~raw.is_missing[repeated] for raw in known.columns}
        columns = []
        for raw in frame.columns:
            missing = np.asarray(gaps[:, parts[raw.name]].any(axis=1))
            if raw.name in is_given:
                missing &= ~is_given[raw.name]
            columns.append(replace(raw, values=with_gaps(raw.values, missing)))
        return Frame(tuple(columns), frame.has_names)

    def pieces(self, states: np.ndarray) -> list[np.ndarray]:
        """Split an array of states into one array per entry of `modelled`.

        A binary unit has a single column.

        Args:
            states: shape (n, columns), in the order used by `layer.encode`.
        """
        counts = [column.states or 1 for column in self.modelled]
        widths = [count - (count == 2) for count in counts]
        return np.split(states, np.cumsum(widths[:-1], dtype=int), axis=1)

    def probabilities(self, means: np.ndarray) -> list[np.ndarray]:
        """Return the probabilities of the codes, or the mean code, for each modelled column.

        Args:
            means: the mean state of all units in each row, in the order used by `layer.encode`.
        """
        probabilities = []
        for column, piece in zip(self.modelled, self.pieces(means), strict=True):
            if column.states == 2:
                probabilities.append(np.concatenate([1.0 - piece, piece], axis=1))
            else:
                probabilities.append(piece)
        return probabilities

    def decode_means(
        self,
        means: np.ndarray,
        guess: Guess = Guess.MEAN,
        spread: np.ndarray | None = None,
    ) -> Frame:
        """Return a table with the best guess for each cell, given the mean states of the units.

        Args:
            means: the mean state of all units in each row, in the order used by `layer.encode`.
            guess: the point estimate used for numbers.
            spread: the standard deviations of the states, or None if unknown.
        """
        guesses = {}
        spreads: Any = [None] * len(self.modelled)
        if spread is not None:
            spreads = [piece[:, 0] for piece in self.pieces(spread)]
        triples = zip(self.modelled, self.probabilities(means), spreads, strict=True)
        for part, mean, deviation in triples:
            guesses[part.name] = part.best(mean, guess, deviation)
        return self._merged(guesses, {}, len(means), np.random.default_rng(0))

    def filled(
        self,
        frame: Frame,
        means: np.ndarray,
        guess: Guess = Guess.MEAN,
        spread: np.ndarray | None = None,
        *,
        constants: bool = False,
    ) -> Frame:
        """Return the table with each missing cell replaced by the best guess.

        Columns that are not modelled are unchanged.

        Args:
            frame: the table, which has all modelled columns.
            means: as in `decode_means`.
            guess: as in `decode_means`.
            spread: as in `decode_means`.
            constants: whether to fill a constant column of numbers with its number.
        """
        return self._with_cells(frame, self.decode_means(means, guess, spread), constants)

    def completed(
        self, frame: Frame, codes: np.ndarray, *, seed: int = 0, constants: bool = False
    ) -> Frame:
        """Return the table with its missing cells filled by decoding rows of codes.

        Columns that are not modelled are unchanged.

        Args:
            frame: the table.
            codes: one row of codes for each row of the table.
            seed: the seed for drawing a cell if a code represents several cells.
            constants: whether to fill a constant column of numbers with its number.
        """
        return self._with_cells(frame, self.decode(codes, seed=seed), constants)

    def _with_cells(self, frame: Frame, other: Frame, constants: bool) -> Frame:
        """Fill the missing cells of modelled columns with cells from another table."""
        pairs = zip(self.columns, other.columns, strict=True)
        cells = {
            column.name: raw
            for column, raw in pairs
            if column.parts or (constants and column.is_number)
        }
        filled = (_filled(raw, cells.get(raw.name, raw)) for raw in frame.columns)
        return Frame(tuple(filled), frame.has_names)

    def unfilled(self, frame: Frame) -> dict[str, str]:
        """Return the reasons why missing cells are not filled in, keyed by column name."""
        why = {column.name: column.summary for column in self.columns if not column.parts}
        gaps = [raw.name for raw in frame.columns if raw.is_missing.any()]
        known = {column.name for column in self.columns}
        why |= {name: "not a column of the run" for name in gaps if name not in known}
        return {name: why[name] for name in gaps if name in why}

    def described(self, frame: Frame) -> list[str]:
        """Return a line of text for each column: its type, values and fraction of missing cells."""
        lines = []
        for column, raw in zip(self.columns, frame.columns, strict=True):
            fraction = float(raw.is_missing.mean())
            missing = ""
            if fraction >= 0.005:  # less would be shown as 0 %
                missing = f"{fraction:.0%} missing"
            elif fraction > 0:
                missing = "few missing"
            lines.append((column.name, column.kind.value, column.summary, missing, raw.note))
        widths = [min(40, max(len(line[i]) for line in lines)) for i in range(3)]
        return [
            "  ".join(
                cell.ljust(width) for cell, width in zip(line, (*widths, 0, 0), strict=True)
            ).rstrip()
            for line in lines
        ]

    @classmethod
    def from_record(cls, record: Any, label: str) -> Columns:
        """Return the columns described by `record`.

        Raises:
            InputError: the record is damaged.
        """
        columns = cls(tuple(column_from(entry, label) for entry in entries_of(record, label)))
        advice = "restore the file, or train a new model"
        given = record.get("given", [])
        past = record.get("past", 0)
        are_names = isinstance(given, list) and all(isinstance(name, str) for name in given)
        if not are_names or type(past) is not int or past < 0:
            raise InputError(
                f'{label}: expected a list of names under "given" and a whole number under "past";'
                f" got {given!r:.80} and {past!r:.80}; {advice}."
            )
        columns = replace(columns.with_given(given, label), past=past)
        # If a damaged record has contradictory fields, an error is raised here.
        with parser_errors(label, "the columns of a run on a table", advice):
            codes = np.zeros((1, len(columns.modelled)), np.float32)
            columns.encode(columns.decode(codes), label)
            columns.layer.encode(codes)
        return columns

    def record(self) -> dict[str, Any]:
        """Return the columns as a dictionary that can be written as JSON."""
        record = {"format": "harmonium columns", "columns": [c.record() for c in self.columns]}
        if self.given:
            record |= {"given": list(self.given), "past": self.past}
        return record


def load_columns(run: str | os.PathLike) -> Columns:
    """Load the column types of a run on a table, to be used by `ask`, `column_scores` or `encode`.

    Args:
        run: the folder of a run on a table.

    Raises:
        InputError: the folder does not contain `columns.json`, or the file is damaged.

    Example:
        >>> hm.tables.load_columns("nowhere")
        Traceback (most recent call last):
        ...
        harmonium.errors.InputError: nowhere/columns.json: expected the columns of a run on a \
table; got no such file; give the folder of such a run.
    """
    path = Path(run) / "columns.json"
    expected = "the columns of a run on a table"
    advice = "give the folder of such a run"
    if not path.exists():
        raise InputError(f"{path}: expected {expected}; got no such file; {advice}.")
    content = bytes_of(path, str(path))
    with parser_errors(path, expected, advice):
        record = parsed_json(content)
    return Columns.from_record(record, str(path))


def _continuous_layer(count: int) -> AbstractLayer:
    """Return a layer for the continuous columns, with a full precision matrix if there are few.

    With an independent precision for each unit, Bernoulli hidden units learn a correlation of 0.99
    slowly and inaccurately: on scikit-learn's breast-cancer data, the mean log-likelihood of
    held-out rows was −26.7 nats, compared with −2.4 nats with the matrix and −4.0 nats under a
    normal distribution. Gaussian hidden units could replace the matrix, but their Gibbs chains mix
    slowly when columns are strongly correlated.
    """
    if 1 < count <= MOST_CORRELATED:
        return MultivariateGaussian(count)
    return Gaussian(count)


def _filled(raw: RawColumn, other: RawColumn) -> RawColumn:
    """Return a column with its missing cells filled from another column.

    If the cells of the two columns have different types, all cells become words.
    """
    missing = raw.is_missing
    if not missing.any() or other.is_missing.all():
        return raw
    values = raw.values
    others = other.values
    digits = raw.digits
    if missing.all():
        values = values.astype(others.dtype)
        digits = other.digits
    elif raw.cell_kind is not other.cell_kind:
        values = words_of(raw)
        others = words_of(other)
    form = raw.form or other.form
    return replace(raw, values=np.where(missing, others, values), form=form, digits=digits)


# --- Columns in JSON ------------------------------------------------------------------------------


def entries_of(record: Any, label: str) -> list[dict[str, Any]]:
    """Return the entries of a record of columns after checking that each has a name and a kind.

    Raises:
        InputError: the record is damaged.
    """
    try:
        entries = [dict(entry) for entry in record["columns"]]
        are_known = [entry["kind"] in KINDS and isinstance(entry["name"], str) for entry in entries]
    except (TypeError, KeyError, ValueError):
        raise InputError(
            f'{label}: expected an object {{"columns": [{{"name": …, "kind": …}}, …]}}; got'
            " something else; see columns.json of a run for an example."
        ) from None
    if not all(are_known):
        wrong = entries[are_known.index(False)]
        shown = f"{wrong['kind']!r} for {wrong['name']!r}"[:80]
        raise InputError(f"{label}: expected a kind among {', '.join(KINDS)}; got {shown}.")
    return entries


def column_from(entry: dict[str, Any], label: str) -> AbstractColumn:
    """Return the column described by an entry from `AbstractColumn.record`.

    Raises:
        InputError: the entry is damaged.
    """
    try:
        column_class = KINDS[entry["kind"]]
        values = {name: _value_of(value, label) for name, value in entry.items() if name != "kind"}
        types = get_type_hints(column_class)
        wrong = [name for name, value in values.items() if not _fits(value, types.get(name))]
        if wrong:
            raise ValueError(f"{entry[wrong[0]]!r} as the {wrong[0]} of a column"[:80])
        return column_class(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{label}: expected a kind among {', '.join(KINDS)} with its fields; got {error};"
            " restore the file, or train a new model; if you wrote the list yourself, give only the"
            " name and the kind of each column."
        ) from None


def _value_of(value: Any, label: str) -> Any:
    """Convert the value of a column's field, which may contain columns, from JSON."""
    if isinstance(value, list):
        return tuple(_value_of(element, label) for element in value)
    is_column = isinstance(value, dict) and isinstance(value.get("kind"), str)
    if is_column:
        return column_from(value, label)
    return value


def _fits(value: Any, annotation: Any) -> bool:
    """Return whether a value matches the annotation of a field, such as `tuple[str, ...]`."""
    inner = get_args(annotation)
    if get_origin(annotation) is UnionType:
        return any(_fits(value, alternative) for alternative in inner)
    if get_origin(annotation) is tuple:
        if not isinstance(value, tuple):
            return False
        types = inner
        if inner[-1] is ...:
            types = (inner[0],) * len(value)
        return len(types) == len(value) and all(map(_fits, value, types))
    if annotation is Any:
        return value is None or isinstance(value, str | int | float)
    if isinstance(value, bool):
        return annotation is bool
    # An integer is accepted as a real number, since 1.0 may be written as 1 in JSON.
    if annotation is float:
        return isinstance(value, int | float)
    return isinstance(value, get_origin(annotation) or annotation)
