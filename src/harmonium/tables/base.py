"""Base classes for the columns of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from .frames import CellKind, RawColumn
from .numbers import MOST_DIGITS, dressed, is_clock, is_number, number_in

MOST_DECIMALS = 6  # decimals of the step assumed for unrounded numbers; more for small numbers
SMALLEST = 300  # most decimals of a step whose multiples float64 can represent
EPSILON = float(np.finfo(float).eps)


class ColumnKind(StrEnum):
    """The type of a column; each value is the type's name in files, options and documentation."""

    CATEGORY = "category"
    DISCRETE = "discrete"
    CONTINUOUS = "continuous"
    DATE = "date"
    CALENDAR = "calendar"
    KEY = "key"
    LEFT_OUT = "left out"


class Guess(StrEnum):
    """The point estimate of a number: mean (least squares), median (least absolute error) or mode.

    `MEAN` is the mean rounded to a number that can occur in the column; `EXACT` is the unrounded
    mean. The estimate of a category is always the most probable category.
    """

    MEAN = "mean"
    EXACT = "exact mean"
    MEDIAN = "median"
    MODE = "mode"


@dataclass(frozen=True, kw_only=True)
class AbstractColumn(ABC):
    """The interface of a typed column of a table.

    Attributes:
        name: the name of the column.
        form: the text format of its dates or numbers, as in `RawColumn`.
        digits: the number of digits after the decimal point, or None, as in `RawColumn`.
    """

    kind: ClassVar[ColumnKind]
    name: str
    form: str = ""
    digits: int | None = None

    def __post_init__(self):
        """Check the format of numbers."""
        check_digits(self.digits)

    @property
    @abstractmethod
    def summary(self) -> str:
        """A brief description of the column's values."""

    @property
    @abstractmethod
    def parts(self) -> tuple[AbstractPart, ...]:
        """The parts of the column, one for each unit; usually only the column itself."""

    @abstractmethod
    def split(self, raw: RawColumn, label: str) -> tuple[RawColumn, ...]:
        """Split the cells of the column into the cells of its parts.

        Raises:
            InputError: a cell cannot be divided into parts.
        """

    @abstractmethod
    def merged(
        self, cells: Sequence[np.ndarray], rows: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Combine the cells of the parts into `rows` cells of the column.

        If several cells are possible, one of them is drawn at random.
        """

    @abstractmethod
    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return log p(cell | codes) for each cell, or log |dcode/dcell| if codes are real numbers.

        The result for a missing cell is 0.
        """

    def parsed(self, text: str) -> RawColumn:
        """Parse a cell entered by a user as text, and return it as a column with one cell.

        Raises:
            ValueError: the text is not a possible cell of the column.
        """
        return RawColumn(self.name, np.array([number_in(text, self.form)]), self.form)

    @property
    def is_number(self) -> bool:
        """Whether all cells are the same number."""
        return False

    @property
    def known_cells(self) -> list[str]:
        """The possible cells as text, or [] if they cannot be listed."""
        return []

    def unseen_in(self, raw: RawColumn) -> list[str]:
        """Return the categories in `raw` that have no code in this column."""
        return []

    def taking_unseen_as_missing(self) -> AbstractColumn:
        """Return a copy of the column that treats unknown categories as missing cells."""
        return self

    def shown(self, cell: Any) -> str:
        """Return a cell as text."""
        if not isinstance(cell, float | np.floating):
            return str(cell)
        if is_clock(self.form):
            return dressed(str(cell), self.form)
        return f"{cell:g}"

    def record(self) -> dict[str, Any]:
        """Return the column as JSON: its name, its kind, and fields that differ from defaults."""
        return {"name": self.name, "kind": self.kind.value} | {
            field.name: _plain(getattr(self, field.name))
            for field in fields(self)
            if field.name != "name" and getattr(self, field.name) != field.default
        }


@dataclass(frozen=True, kw_only=True)
class AbstractUnmodelled(AbstractColumn):
    """A column that no unit models.

    Attributes:
        why: the reason why the column is not modelled.
    """

    why: str = "left out as requested"

    @property
    def summary(self) -> str:
        return self.why

    @property
    def parts(self) -> tuple[AbstractPart, ...]:
        """An empty tuple, since no unit models the column."""
        return ()

    def split(self, raw: RawColumn, label: str) -> tuple[RawColumn, ...]:
        return ()

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return zeros, since the column does not contribute to probabilities."""
        return np.zeros(len(raw.values))


class AbstractPart(AbstractColumn):
    """A column, or a part of a column, whose cells are encoded as the states of one unit."""

    @property
    @abstractmethod
    def states(self) -> int | None:
        """The number of different codes (0, 1, …), or None if codes are real numbers."""

    @property
    def order(self) -> tuple[int, ...]:
        """The codes in ascending order of their cells, or () if the cells have no order."""
        return ()

    @abstractmethod
    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        """Return the code of each cell, or NaN for a missing cell.

        Raises:
            InputError: a cell has no code.
        """

    @abstractmethod
    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Decode each code into a cell, drawn at random if the code represents several cells."""

    @property
    def parts(self) -> tuple[AbstractPart, ...]:
        return (self,)

    def split(self, raw: RawColumn, label: str) -> tuple[RawColumn, ...]:
        return (raw,)

    def merged(
        self, cells: Sequence[np.ndarray], rows: int, rng: np.random.Generator
    ) -> np.ndarray:
        return cells[0]

    def best(
        self, means: np.ndarray, guess: Guess = Guess.MEAN, spread: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the best guess for the cell of each row, given the mean state of the unit.

        Args:
            means: the probability of each code, shape (n, states), or the mean code, shape (n, 1).
            guess: the point estimate used for numbers.
            spread: the standard deviation of each row's code, shape (n,), or None if unknown.
        """
        codes = means[:, 0]
        if self.states is not None:
            codes = means.argmax(1).astype(float)
        return self.cells(codes, np.random.default_rng(0))

    @property
    def known_cells(self) -> list[str]:
        if self.states is not None:
            return self.state_names()
        return []

    def state_names(self) -> list[str]:
        """Return the cell of each code as text, or [] if codes are real numbers."""
        codes = np.arange(float(self.states or 0))
        return [self.shown(cell) for cell in self.cells(codes, np.random.default_rng(0))]


def _plain(value: Any) -> Any:
    """Convert the value of a column's field, such as another column, to a JSON value."""
    if isinstance(value, AbstractColumn):
        return value.record()
    if isinstance(value, tuple):
        return [_plain(element) for element in value]
    return value


def check_numbers(raw: RawColumn, label: str) -> None:
    """Raise InputError unless all cells that are not missing are finite numbers."""
    if raw.cell_kind is not CellKind.NUMBERS:
        if raw.is_missing.all():
            return
        rows = np.flatnonzero(~raw.is_missing)
        row = next((row for row in rows if not is_number(str(raw.values[row]))), rows[0])
        raise InputError(
            f"{label}: column {raw.name!r}: expected numbers; got {str(raw.values[row])[:40]!r}"
            f" in row {row + 1}; correct it, or leave the cell empty."
        )
    infinite = np.isinf(raw.values)
    if infinite.any():
        raise InputError(
            f"{label}: column {raw.name!r}: expected finite numbers; got infinity"
            f" in row {int(np.argmax(infinite)) + 1}; correct it, or leave the cell empty."
        )


def check_digits(digits: int | None) -> None:
    """Raise ValueError if the number of digits after the decimal point is invalid."""
    if digits is not None and not 0 <= digits <= MOST_DIGITS:
        raise ValueError(f"{digits} digits after the point; from 0 to {MOST_DIGITS} are possible")


def decimals_of(values: np.ndarray) -> int | None:
    """Return the number of decimals to which all numbers are rounded, or None if they are not."""
    largest = float(np.abs(values).max(initial=0.0))
    noise = 4 * EPSILON * largest
    for decimals in range(MOST_DIGITS + 1):
        # Rounding below float64's own spacing changes no number, so the test would prove nothing.
        if 10.0**-decimals < noise:
            return None
        # Allow for rounding errors in sums of rounded numbers, but do not treat tiny numbers as 0.
        slack = min(10.0 ** (-3 - decimals), 1e-12 * largest)
        if slack < noise:
            slack = 0.0
        # For most columns, testing the first numbers suffices and is faster.
        if _are_rounded(values[:100], decimals, slack) and _are_rounded(values, decimals, slack):
            return decimals
    return None


def _are_rounded(values: np.ndarray, decimals: int, slack: float) -> bool:
    errors = np.abs(values - np.round(values, decimals))
    return bool(errors.max(initial=0.0) <= slack)


def step_of(values: np.ndarray) -> float:
    """Return the largest power of ten such that all numbers are (nearly) multiples of it."""
    decimals = decimals_of(values)
    if decimals is None:
        magnitude = int(np.floor(np.log10(np.abs(values).max())))
        decimals = min(MOST_DECIMALS - min(magnitude + 1, 0), SMALLEST)
    return 10.0**-decimals
