"""Whether a column of dates has habits of the calendar: a season, days of the week, hours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .dependence import Information, classes_of, information
from .frames import RawColumn
from .moments import HOURS, NAMES, divided, has_times, only, span_of

LONG, SHORT = 731, 14  # days: dates of at least so many are divided into years, or into weeks
QUARTER = 89  # days
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
    counts = np.bincount(days - days.min())  # of each day, also of those without a row
    every = divided(RawColumn("", np.arange(days.min(), days.max() + 1).astype("datetime64[D]")))
    is_monthly = only(found.day[~missing]) is not None

    def gain(part: str) -> float:
        """Return the nats per row that a part explains; 0 if that may be chance."""
        classes = np.where(missing, -1, found.place(part))
        of_days = np.bincount(every.place(part), minlength=len(NAMES[part]))
        evenly = _uneven(classes, np.ones(len(HOURS)) if part == "hour" else of_days)
        worth = len(days) / _dispersion(counts, every.place(part if part != "hour" else "weekday"))
        each = [evenly, *(information(classes, other) for other in others)]
        each = [one._replace(rows=min(one.rows, int(worth))) for one in each]
        is_sure = any(one.is_sure(SURE / tests) for one in each)
        return sum(one.corrected for one in each) if is_sure else 0.0

    if is_monthly and span_of(raw) >= QUARTER:
        return ("year", "month")
    weekday = ("weekday",) if gain("weekday") else ()
    varies = has_times(raw.form) and only(found.hour[~missing]) is None
    by_hour = varies and gain("hour") > 0
    hour = ("hour",) if has_times(raw.form) and (by_hour or not varies) else ()
    of_trend = sum(information(trend, other).corrected for other in others)
    if span_of(raw) >= LONG and gain("month") > of_trend:
        return ("year", "month", *weekday, *hour)
    return ("week", "weekday", *hour) if weekday or by_hour else ()


def _dispersion(counts: np.ndarray, classes: np.ndarray) -> float:
    """Return how many times as much the counts of days vary within classes as by chance, or 1.

    So many rows are worth one: those of a monthly report all have the same date.
    """
    sizes = np.maximum(np.bincount(classes), 1)
    mean = (np.bincount(classes, counts) / sizes)[classes]
    seen = mean > 0
    freedom = seen.sum() - len(np.unique(classes[seen]))
    apart = ((counts - mean)[seen] ** 2 / mean[seen]).sum()
    return max(1.0, float(apart) / max(1, int(freedom)))


def _uneven(classes: np.ndarray, expected: np.ndarray) -> Information:
    """Return how far the shares of classes are from those expected, as nats per row."""
    counts = np.bincount(classes[classes >= 0], minlength=len(expected))
    rows, shares = counts.sum(), expected / expected.sum()
    seen = counts > 0
    nats = float((counts[seen] / rows * np.log(counts[seen] / rows / shares[seen])).sum())
    return Information(nats, int((expected > 0).sum()) - 1, int(rows))
