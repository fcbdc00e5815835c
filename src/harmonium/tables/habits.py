"""Whether a column of dates has habits of the calendar: a season, days of the week, hours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .dependence import Information, classes_of, information
from .frames import RawColumn
from .moments import HOURS, NAMES, divided, has_times, only, span_of

LONG, SHORT = 731, 14  # days: dates of at least so many are divided into years, or into weeks
SURE = 1e-3  # chance that a column without habits is divided


def parts_of(raw: RawColumn, others: Sequence[np.ndarray]) -> tuple[str, ...]:
    """Return the parts into which a column of dates is best divided; none for its trend alone.

    A month, a day of the week or an hour is a part if dates are more frequent in some of them than
    by chance, or if another column depends on it; a month only if it says more about dates and
    other columns than the trend does, which the years then show coarsely.

    Args:
        raw: the dates.
        others: the classes of each other column, −1 where a cell is missing.
    """
    if span_of(raw) < SHORT:
        return ()
    missing, found, tests = raw.is_missing, divided(raw), 3 * (len(others) + 1)
    trend = classes_of(np.where(missing, np.nan, found.days), None)
    days = found.days[~missing]
    every = divided(RawColumn("", np.arange(days.min(), days.max() + 1).astype("datetime64[D]")))

    def gain(part: str) -> float:
        """Return the nats per row that a part explains; 0 if that may be chance."""
        classes = np.where(missing, -1, found.place(part))
        of_days = np.bincount(every.place(part), minlength=len(NAMES[part]))
        evenly = _uneven(classes, np.ones(len(HOURS)) if part == "hour" else of_days)
        each = [evenly, *(information(classes, other) for other in others)]
        is_sure = any(found.is_sure(SURE / tests) for found in each)
        return sum(found.corrected for found in each) if is_sure else 0.0

    weekday = ("weekday",) if gain("weekday") else ()
    varies = has_times(raw.form) and only(found.hour[~missing]) is None
    by_hour = varies and gain("hour") > 0
    hour = ("hour",) if has_times(raw.form) and (by_hour or not varies) else ()
    of_trend = sum(information(trend, other).corrected for other in others)
    if span_of(raw) >= LONG and gain("month") > of_trend:
        return ("year", "month", *weekday, *hour)
    return ("week", "weekday", *hour) if weekday or by_hour else ()


def _uneven(classes: np.ndarray, expected: np.ndarray) -> Information:
    """Return how far the shares of classes are from those expected, as nats per row."""
    counts = np.bincount(classes[classes >= 0], minlength=len(expected))
    rows, shares = counts.sum(), expected / expected.sum()
    seen = counts > 0
    nats = float((counts[seen] / rows * np.log(counts[seen] / rows / shares[seen])).sum())
    return Information(nats, int((expected > 0).sum()) - 1, int(rows))
