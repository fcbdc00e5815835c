"""What the columns of a table mean, and the units that model them, exactly undone.

`columns_of` decides for each column of a `Frame` what it is. A column turns its cells into
codes, which its unit takes, and codes into cells. One code may stand for several cells: then the
column knows how probable each of them is, given the code. So every cell has a probability (or a
density, in the column's own unit of measurement), and two ways to read a column can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import count_of, input_error
from ..layers import AbstractLayer, Bernoulli, Categorical, Gaussian, Mixed
from .base import AbstractColumn, check_numbers, decimals_of
from .continuous import Continuous
from .dates import Dates, since_1970
from .discrete import FEW_NUMBERS, Discrete
from .frames import Frame, RawColumn
from .left_out import LeftOut
from .words import MOST_WORDS, Words

TIED = 0.1  # a number that this share of the rows has needs a probability of its own,
STANDS_OUT = 10.0  # if it occurs so many times as often as the median one: not by a coarse scale
LARGEST = 2.0**53  # tied numbers above this, in units of their last digit, are not counted
MOST_DIFFERENT = 10_000  # words of which there are more are no categories
IS_TEXT = 0.5  # share of cells that are all different, above which words are no categories


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
            parts.append(Gaussian(states.count(None)))
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

    def cells_told(self, text: str, label: str) -> Frame:
        """Return one row of the cells that are told, as "sex=female,age=30".

        Raises:
            InputError: a part that is not NAME=VALUE, a name that no unit models, or a value that
                is not of the column's kind.
        """
        known = {column.name: column for column in self.modelled}
        raw = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not equals or name not in known:
                expected = f"NAME=VALUE with a name among {', '.join(known)}"
                raise input_error(label, expected[:300], repr(part), "name a column, or a file")
            try:
                raw.append(known[name].told(value))
            except ValueError:
                shown = f"{value!r} for {name!r}"
                raise input_error(label, "a value as in the table", shown, "correct it") from None
        if not raw:
            raise input_error(label, "cells such as sex=female", "none", "name some, or a file")
        return Frame(tuple(raw))

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
            if missing.any():
                cells = cells.astype(object) if cells.dtype.kind == "O" else cells
                blank = {"O": None, "M": np.datetime64("NaT")}.get(cells.dtype.kind, np.nan)
                cells[missing] = blank
            raw.append(RawColumn(column.name, cells, column.form))
        return Frame(tuple(raw))

    def filled(self, frame: Frame, means: np.ndarray, label: str) -> Frame:
        """Return the table with its missing cells filled by the best single guesses.

        Args:
            frame: the table; columns without a unit stay as they are, but for missing constants.
            means: the mean state of all units in each row, as `layer.encode` writes states.
            label: what error messages call the table.

        Raises:
            InputError: a column of a unit is not there.
        """
        self.encode(frame, label)
        guesses, first = {}, 0
        for column in self.modelled:
            width = 1 if column.states in (2, None) else int(column.states or 0)
            here = means[:, first : first + width]
            pair = np.concatenate([1.0 - here, here], axis=1) if column.states == 2 else here
            guesses[column.name] = column.best(pair)
            first += width
        known = {column.name: column for column in self.columns}
        return Frame(
            tuple(_filled(raw, guesses, known.get(raw.name)) for raw in frame.columns),
            frame.has_names,
        )

    def completed(self, frame: Frame, codes: np.ndarray, *, seed: int = 0) -> Frame:
        """Return the table with its missing cells taken from completed rows of codes.

        Args:
            frame: the table; columns without a unit stay as they are, but for missing constants.
            codes: one row of codes for each row of the table.
            seed: seed of the cells that a code stands for.
        """
        made = {column.name: column.values for column in self.decode(codes, seed=seed).columns}
        known = {column.name: column for column in self.columns}
        modelled = {column.name for column in self.modelled}
        guesses = {name: cells for name, cells in made.items() if name in modelled}
        return Frame(
            tuple(_filled(raw, guesses, known.get(raw.name)) for raw in frame.columns),
            frame.has_names,
        )

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
        return cls(tuple(_from_record(entry, label) for entry in entries_of(record, label)))

    def record(self) -> dict[str, Any]:
        """Return the columns as JSON can hold them."""
        return {"format": "harmonium columns", "columns": [c.record() for c in self.columns]}


def columns_of(
    frame: Frame,
    told: dict[str, str] | None = None,
    label: str = "table",
    *,
    keep_counters: bool = False,
) -> Columns:
    """Decide what each column of a table is.

    Args:
        frame: the table.
        told: kinds by name of column, which are not decided: names of `KINDS`.
        label: what error messages call the table.
        keep_counters: whether numbers that count the rows are modelled like others.

    Raises:
        InputError: `told` names a column or a kind that does not exist, a column cannot be of the
            kind that it should be, or no column can be modelled.
    """
    told = told or {}
    for name, kind in told.items():
        if name not in frame.names:
            expected = f"a column of {label}"
            raise input_error(
                f"column {name!r}", expected, "none", f"choose among {', '.join(frame.names)}"[:200]
            )
        if kind not in KINDS:
            raise input_error(
                f"column {name!r}", f"a kind among {', '.join(KINDS)}", repr(kind), "choose one"
            )
    columns = tuple(
        _column_of(raw, told.get(raw.name), label, keep_counters) for raw in frame.columns
    )
    found = Columns(columns)
    if not found.modelled:
        reasons = "; ".join(f"{c.name}: {c.summary}" for c in columns[:5])
        raise input_error(label, "a column that can be modelled", reasons, "check how it was read")
    return found


def _column_of(raw: RawColumn, kind: str | None, label: str, keep_counters: bool) -> AbstractColumn:
    if kind is not None:
        return _told(raw, kind, label)
    values = raw.values[~raw.is_missing]
    if not len(values):
        return LeftOut(name=raw.name, form=raw.form, why="no cell has a value")
    different = len(set(values.tolist()))
    if different == 1:
        only = values[0].item() if isinstance(values[0], np.generic) else values[0]
        shown = str(only)[:40]
        constant = only if values.dtype.kind != "M" else None
        return LeftOut(name=raw.name, form=raw.form, why=f"always {shown}", value=constant)
    if values.dtype.kind == "O":
        hardly_repeats = different > max(MOST_WORDS, IS_TEXT * len(values))
        if hardly_repeats or different == len(values) > 10 or different > MOST_DIFFERENT:
            return LeftOut(
                name=raw.name, form=raw.form, why=f"text: {different:,} different values"
            )
        return Words.of(raw, raw.name)
    if values.dtype.kind == "M":
        return Dates.of(raw, raw.name, _numbers_of(since_1970(raw), raw.name))
    check_numbers(raw, label)
    if _counts_rows(values) and not keep_counters:
        return LeftOut(name=raw.name, form=raw.form, why="an identifier: it counts the rows")
    return _numbers_of(raw, raw.name)


def _numbers_of(raw: RawColumn, name: str) -> AbstractColumn:
    values = raw.values[~raw.is_missing]
    seen, counts = np.unique(values, return_counts=True)
    few = len(seen) <= FEW_NUMBERS and len(values) >= 10 * len(seen)
    tied = counts.max() >= max(TIED * len(values), STANDS_OUT * np.median(counts))
    if abs(values).max() >= LARGEST * 10.0 ** -(decimals_of(values) or 0):
        return Continuous.of(raw, name)
    return (Discrete if few or tied or len(seen) == 2 else Continuous).of(raw, name)


def _told(raw: RawColumn, kind: str, label: str) -> AbstractColumn:
    if kind == LeftOut.kind:
        return LeftOut(name=raw.name, form=raw.form)
    if raw.is_missing.all():
        raise input_error(
            f"{label}: column {raw.name!r}", "cells with values", "none", "leave it out"
        )
    if kind != Words.kind:
        wanted = "M" if kind == Dates.kind else "f"
        if raw.values.dtype.kind != wanted:
            odd = next(value for value in raw.values if value is not None)
            found = f"words such as {str(odd)[:40]!r}"
            expected = "dates" if wanted == "M" else "numbers"
            raise input_error(
                f"{label}: column {raw.name!r}", expected, found, "read it as category"
            )
    if kind == Dates.kind:
        return Dates.of(raw, raw.name, _numbers_of(since_1970(raw), raw.name))
    return KINDS[kind].of(raw, raw.name)


KINDS: dict[str, Any] = {kind.kind: kind for kind in (Words, Discrete, Continuous, Dates, LeftOut)}


def columns_from(record: Any, frame: Frame, label: str) -> Columns:
    """Return the columns that `Columns.record` described; a kind without details is fitted anew.

    Raises:
        InputError: the record is damaged, or does not fit the table.
    """
    entries = entries_of(record, label)
    told = {entry["name"]: entry["kind"] for entry in entries if len(entry) == 2}
    given = {e["name"]: _from_record(e, label) for e in entries if len(e) > 2}
    for name in given:
        if name not in frame.names:
            raise input_error(label, "columns of the table", f"{name!r}", "correct the name")
    fitted = columns_of(frame, told, label).columns
    return Columns(tuple(given.get(column.name, column) for column in fitted))


def entries_of(record: Any, label: str) -> list[dict[str, Any]]:
    """Return the entries of a record of columns, each with a name and a kind.

    Raises:
        InputError: the record is damaged.
    """
    try:
        entries = [dict(entry) for entry in record["columns"]]
        named = [isinstance(entry["name"], str) and entry["kind"] in KINDS for entry in entries]
        if not all(named):
            wrong = entries[named.index(False)]
            expected = f"a name and a kind among {', '.join(KINDS)} for each column"
            raise input_error(label, expected, f"{wrong}"[:80], "correct it")
        return entries
    except (TypeError, KeyError, ValueError):
        expected = 'an object {"columns": [{"name": …, "kind": …}, …]}'
        raise input_error(label, expected, "something else", "see columns.json of a run") from None


def _from_record(entry: dict[str, Any], label: str) -> AbstractColumn:
    try:
        kind = KINDS[entry["kind"]]
        others = {name: value for name, value in entry.items() if name != "kind"}
        made: dict[str, Any] = {
            n: tuple(v) if isinstance(v, list) else v for n, v in others.items()
        }
        if "inner" in made:
            made["inner"] = _from_record(made["inner"], label)
        return kind(**made)
    except (KeyError, TypeError, ValueError) as error:
        expected = f"a kind among {', '.join(KINDS)} with its fields"
        raise input_error(label, expected, str(error), "give the name and the kind alone") from None


def _filled(raw: RawColumn, guesses: dict[str, np.ndarray], column: Any) -> RawColumn:
    missing, values = raw.is_missing, raw.values
    if raw.name in guesses:
        cells = guesses[raw.name]
        values = values.astype(cells.dtype) if missing.all() else values
        values = np.where(missing, cells.astype(values.dtype), values)
    elif column is not None and missing.any():
        values = values.astype(object) if column.value is not None else values
        values = np.where(missing, column.value, values) if column.value is not None else values
    return RawColumn(raw.name, values, raw.form or (column.form if column else ""))


def _counts_rows(values: np.ndarray) -> bool:
    """Return whether numbers rise by one from row to row, as an index does."""
    return len(values) > 10 and bool((np.diff(values) == 1).all())
