"""The columns of a table, and the units that model them, exactly undone.

A column turns its cells into codes, which its unit takes, and codes into cells. One code may stand
for several cells: then the column knows how probable each of them is, given the code. So every cell
has a probability (or a density, in the column's own unit of measurement), and two ways to read a
column can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import count_of, input_error
from ..layers import (
    AbstractLayer,
    Bernoulli,
    Categorical,
    Gaussian,
    Mixed,
    MultivariateGaussian,
)
from .base import AbstractColumn
from .frames import Frame, RawColumn, with_gaps
from .records import column_from, entries_of
from .told import Told, told_of

MOST_CORRELATED = 128  # continuous columns that share a precision matrix


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a table, and the units that model them.

    The units are in the order of their kinds: Bernoulli units for columns of two values, then one
    `Categorical` layer for all columns of more, then Gaussian units.

    Attributes:
        columns: all columns, in the table's order.
    """

    columns: tuple[AbstractColumn, ...]

    @property
    def modelled(self) -> tuple[AbstractColumn, ...]:
        """The columns that have a unit, in the order of the units."""
        kinds = (lambda s: s == 2, lambda s: s is not None and s > 2, lambda s: s is None)
        return tuple(c for is_kind in kinds for c in self.columns if is_kind(c.states))

    @property
    def layer(self) -> AbstractLayer:
        """The layer of their units, without parameters."""
        states = [column.states for column in self.modelled]
        more = [int(s) for s in states if s is not None and s > 2]
        parts: list[AbstractLayer] = []
        if 2 in states:
            parts.append(Bernoulli(states.count(2)))
        if more:
            parts.append(Categorical(len(more), more))
        if None in states:
            parts.append(_reals(states.count(None)))
        return parts[0] if len(parts) == 1 else Mixed(*parts)

    def encode(self, frame: Frame, label: str, *, may_lack: bool = False) -> np.ndarray:
        """Return the rows as the layer takes them, NaN where a cell is missing.

        Columns are found by their names, in any order; others are ignored.

        Args:
            frame: the table.
            label: what error messages call it.
            may_lack: whether the cells of a column that is not there count as missing.

        Raises:
            InputError: a column is not there, or has a cell that it did not have before.
        """
        raw = {column.name: column for column in frame.columns}
        absent = [column.name for column in self.modelled if column.name not in raw]
        if absent and not may_lack:
            found = f"no column {absent[0]!r}" + (
                f" and {len(absent) - 1} others" if absent[1:] else ""
            )
            advice = "add it; its cells may be empty"
            raise input_error(
                label, f"{count_of(len(self.modelled), 'column')} by name", found, advice
            )
        nothing = np.full(len(frame), np.nan)
        codes = [
            column.codes(raw.get(column.name, RawColumn(column.name, nothing)), label)
            for column in self.modelled
        ]
        return np.stack(codes, axis=1).astype(np.float32)

    def told(self, text: str, label: str) -> Told:
        """Return what is told of a row, as "sex=female,age=30..40".

        Raises:
            InputError: a part that is not NAME=VALUE or NAME=LOW..HIGH, a name that no unit models,
                or a value that is not of the column's kind.
        """
        return told_of(text, {column.name: column for column in self.modelled}, label)

    def log_density(self, frame: Frame) -> np.ndarray:
        """Return each row's sum of log densities: log p(cells) − log p(codes)."""
        raw = {column.name: column for column in frame.columns}
        return sum(
            (column.log_density(raw[column.name]) for column in self.modelled), np.zeros(len(frame))
        )

    def decode(self, rows: np.ndarray, *, seed: int = 0) -> Frame:
        """Return the table of rows of the layer, in its own order of columns."""
        rng = np.random.default_rng(seed)
        place = {column.name: i for i, column in enumerate(self.modelled)}
        raw = []
        for column in self.columns:
            codes = rows[:, place[column.name]] if column.name in place else np.zeros(len(rows))
            missing = np.isnan(codes)
            cells = column.cells(np.where(missing, 0.0, codes), rng)
            cells = with_gaps(cells, missing) if missing.any() else cells
            raw.append(RawColumn(column.name, cells, column.form))
        return Frame(tuple(raw))

    def pieces(self, states: np.ndarray) -> list[np.ndarray]:
        """Split numbers for the columns of states among `modelled`; one for a unit of two values.

        Args:
            states: shape (n, columns), in the order in which `layer.encode` writes states.
        """
        widths = [1 if column.states in (2, None) else column.states for column in self.modelled]
        return np.split(states, np.cumsum(widths[:-1], dtype=int), axis=1)

    def probabilities(self, means: np.ndarray) -> list[np.ndarray]:
        """Return each modelled column's probabilities of its codes, or its mean code.

        Args:
            means: the mean state of all units in each row, as `layer.encode` writes states.
        """
        pairs = zip(self.modelled, self.pieces(means), strict=True)
        return [
            np.concatenate([1.0 - piece, piece], axis=1) if column.states == 2 else piece
            for column, piece in pairs
        ]

    def decode_means(self, means: np.ndarray) -> Frame:
        """Return the table of the best single guess of each cell.

        Args:
            means: the mean state of all units in each row, as `layer.encode` writes states.
        """
        pairs = zip(self.modelled, self.probabilities(means), strict=True)
        guesses = {column.name: column.best(each) for column, each in pairs}
        rng, nothing = np.random.default_rng(0), np.zeros(len(means))
        return Frame(
            tuple(
                RawColumn(c.name, guesses.get(c.name, c.cells(nothing, rng)), c.form)
                for c in self.columns
            )
        )

    def filled(self, frame: Frame, means: np.ndarray) -> Frame:
        """Return the table with its missing cells filled by the best single guesses.

        Args:
            frame: the table, of which all modelled columns are there.
            means: the mean state of all units in each row, as `layer.encode` writes states.
        """
        guesses = self.decode_means(means).columns
        return self._with_cells(frame, {column.name: column.values for column in guesses})

    def completed(self, frame: Frame, codes: np.ndarray, *, seed: int = 0) -> Frame:
        """Return the table with its missing cells taken from completed rows of codes.

        Args:
            frame: the table.
            codes: one row of codes for each row of the table.
            seed: seed of the cells that a code stands for.
        """
        made = self.decode(codes, seed=seed).columns
        return self._with_cells(frame, {column.name: column.values for column in made})

    def _with_cells(self, frame: Frame, cells: dict[str, np.ndarray]) -> Frame:
        """Return the table with missing cells replaced, also those of constants."""
        rng, nothing = np.random.default_rng(0), np.zeros(len(frame))
        known = {column.name: column for column in self.columns}
        filled = []
        for raw in frame.columns:
            column = known.get(raw.name)
            if column is not None:
                made = cells[raw.name] if raw.name in cells else column.cells(nothing, rng)
                raw = _filled(raw, RawColumn(raw.name, made, raw.form or column.form))
            filled.append(raw)
        return Frame(tuple(filled), frame.has_names)

    def described(self, frame: Frame) -> list[str]:
        """Return a table in text: each column, what it is, its values, the share missing."""
        lines = []
        for column, raw in zip(self.columns, frame.columns, strict=True):
            missing = float(raw.is_missing.mean())
            note = (
                f"{missing:.0%} missing" if missing >= 0.005 else "few missing" if missing else ""
            )
            lines.append((column.name, column.kind, column.summary, note, raw.note))
        widths = [min(40, max(len(line[i]) for line in lines)) for i in range(3)]
        return [
            "  ".join(cell.ljust(w) for cell, w in zip(line, (*widths, 0, 0), strict=True)).rstrip()
            for line in lines
        ]

    @classmethod
    def from_record(cls, record: Any, label: str) -> Columns:
        """Return the columns that `record` described.

        Raises:
            InputError: the record is damaged.
        """
        return cls(tuple(column_from(entry, label) for entry in entries_of(record, label)))

    def record(self) -> dict[str, Any]:
        """Return the columns as JSON can hold them."""
        return {"format": "harmonium columns", "columns": [c.record() for c in self.columns]}


def _reals(count: int) -> AbstractLayer:
    """Return the layer of the continuous columns, with a full precision matrix if it is small."""
    return MultivariateGaussian(count) if 1 < count <= MOST_CORRELATED else Gaussian(count)


def _filled(raw: RawColumn, other: RawColumn) -> RawColumn:
    """Return a column with its missing cells taken from another one, if that has any cell."""
    missing = raw.is_missing
    if not missing.any() or other.is_missing.all():
        return raw
    values = raw.values.astype(other.values.dtype) if missing.all() else raw.values
    values = np.where(missing, other.values.astype(values.dtype), values)
    return RawColumn(raw.name, values, other.form)
