"""The base class for the blocks of an evaluation, which measure, export and print scores."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ...errors import count_of
from ..failures import NotMeasuredError
from .target import Target

Line = tuple[str, str, str]  # a quantity, its value, and how to read it
Picture = tuple[str, Callable[[Any, Target], Any]]
ReportProgress = Callable[[float], Any]
MOST_ROWS = 10_000
NO_ROWS = "no rows; name them as DATA"


class AbstractBlock(ABC):
    """A block of scores in an evaluation; subclasses are frozen dataclasses that hold the scores.

    Attributes:
        name: the block's key in the JSON.
        title: the name of a missing result in the table; "" if a missing result is not listed.
        stage: its name in the progress display.
        seconds: approximate time limit, in seconds; None for no limit.
        is_slow: whether `--quick` omits the block.
        pictures: names of picture files, each with the function that draws it, which is called with
            `harmonium.plot` and the target. Matplotlib is imported only if pictures are drawn.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    stage: ClassVar[str]
    seconds: ClassVar[float | None] = None
    is_slow: ClassVar[bool] = False
    pictures: ClassVar[tuple[Picture, ...]] = ()

    @classmethod
    @abstractmethod
    def measure(cls, target: Target, progress: ReportProgress) -> Self:
        """Return the result for a model and its rows.

        Results needed by later blocks and pictures are also stored in the target.

        Raises:
            NotMeasuredError: there is nothing to measure.
        """

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON types, except that numbers may be infinite or NaN."""

    @abstractmethod
    def lines(self) -> list[Line]:
        """Return the result as lines of the printed table."""


@dataclass(frozen=True)
class NotKnown:
    """A placeholder for the result of a block that could not be measured.

    Attributes:
        title: the title of the block.
        reason: the reason why there is no result.
    """

    title: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the reason in JSON types."""
        return {"not_known": self.reason}

    def lines(self) -> list[Line]:
        """Return the line of the printed table that gives the reason; [] if `title` is empty."""
        return [(self.title, "not known", f"{self.reason}.")] if self.title else []


@dataclass(frozen=True)
class RowMean:
    """A mean over rows, with its standard error.

    Attributes:
        value: the mean.
        stderr_rows: the standard error of the mean; NaN for a single row.
        rows: the name of the part of the rows, such as "test".
        n_rows: the number of rows.
    """

    value: float
    stderr_rows: float
    rows: str
    n_rows: int

    @classmethod
    def of(cls, values: np.ndarray, rows: str) -> RowMean:
        """Return the mean of values of shape (n,), one for each row."""
        n = len(values)
        deviation = float(np.std(values, ddof=1, dtype=np.float64)) if n > 1 else math.nan
        mean = float(np.mean(values, dtype=np.float64))
        return cls(mean, deviation / math.sqrt(n), rows, n)

    @property
    def precision(self) -> str:
        """The standard error of the mean and the number of rows, as text."""
        error = "" if self.n_rows == 1 else f"± {figures(self.stderr_rows, 2)} over "
        return f"{error}{count_of(self.n_rows, row_noun(self.rows))}"

    def to_json(self) -> dict[str, Any]:
        """Return the mean in JSON types."""
        return asdict(self)


def scored_rows(target: Target, most: int) -> tuple[np.ndarray, str]:
    """Return up to `most` rows to score, in the user's coding, and the name of their part.

    Raises:
        NotMeasuredError: there are no rows.
    """
    if target.name is None:
        raise NotMeasuredError(NO_ROWS)
    return target.rows(target.name, most), target.name


def row_noun(rows: str) -> str:
    """Return the noun for a row of the part named `rows`, such as "training row" or "test row"."""
    return "training row" if rows == "train" else f"{rows} row"


def figures(number: float | None, digits: int = 3) -> str:
    """Format a number with `digits` significant digits, or as "unknown" if it is not finite."""
    if number is None or not math.isfinite(number):
        return "unknown"
    return f"{number:#.{digits}g}".rstrip(".")
