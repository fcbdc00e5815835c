"""Columns of dates and times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from ..errors import input_error
from .base import AbstractColumn
from .frames import RawColumn


@dataclass(frozen=True, kw_only=True)
class Dates(AbstractColumn):
    """Dates and times, as the number of days since 1970 or, with times, of seconds.

    Attributes:
        inner: the column of these numbers.
    """

    kind = "date"
    inner: AbstractColumn

    @classmethod
    def of(cls, raw: RawColumn, name: str, inner: AbstractColumn) -> Dates:
        """Return the column of dates whose numbers, `since_1970`, are those of another column."""
        return cls(name=name, form=raw.form, inner=inner)

    @property
    def states(self) -> int | None:
        """Those of the numbers."""
        return self.inner.states

    @property
    def summary(self) -> str:
        """The form of the dates."""
        return f"dates such as {self.form}"

    def codes(self, raw: RawColumn, label: str) -> np.ndarray:
        """Return the codes of the numbers."""
        if raw.values.dtype.kind != "M" and not raw.is_missing.all():
            found, advice = f"{raw.values[~raw.is_missing][0]!r}", "write all dates alike"
            raise input_error(f"{label}: column {self.name!r}", "dates", found, advice)
        return self.inner.codes(since_1970(raw), label)

    def log_density(self, raw: RawColumn) -> np.ndarray:
        """Return the log density for each day, or each second."""
        return self.inner.log_density(since_1970(raw))

    def told(self, text: str) -> RawColumn:
        """Return a column of one date in the column's form."""
        moment = datetime.strptime(text, self.form)
        return RawColumn(self.name, np.array([moment], "datetime64[us]"), self.form)

    def shown(self, cell: Any) -> str:
        """Return a date in its form."""
        return cell.astype("datetime64[us]").item().strftime(self.form)

    def best(self, means: np.ndarray) -> np.ndarray:
        """Return the dates of the best numbers."""
        return self._dates(self.inner.best(means))

    def cells(self, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the dates of the numbers."""
        return self._dates(self.inner.cells(codes, rng))

    def _dates(self, numbers: np.ndarray) -> np.ndarray:
        whole = np.rint(numbers).astype(np.int64)
        dates = whole.astype("datetime64[s]" if "%H" in self.form else "datetime64[D]")
        return dates.astype("datetime64[us]")


def since_1970(raw: RawColumn) -> RawColumn:
    """Return the days since 1970, or the seconds if there are times; NaN for missing dates."""
    unit = "s" if "%H" in raw.form else "D"
    if raw.values.dtype.kind != "M":
        return RawColumn(raw.name, np.full(len(raw.values), np.nan), raw.form)
    whole = raw.values.astype(f"datetime64[{unit}]")
    numbers = np.where(np.isnat(whole), np.nan, whole.astype(np.int64))
    return RawColumn(raw.name, numbers, raw.form)
