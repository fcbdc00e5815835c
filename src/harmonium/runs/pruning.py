"""Stop a trial that is behind the others: the median rule, from the records that runs write."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import NamedTuple

from ..training import Report
from .display import nats
from .folder import METRICS, RunFolder
from .leftovers import trials_in
from .train import EndedEarly

PRUNED = "pruned"
FEWEST_OTHERS = 5
SHARE_BEFORE = 0.2  # of a trial's updates, before which nothing is stopped: curves cross early
SCORE = "log_likelihood"


class Curve(NamedTuple):
    """Updates at which a run was measured, and its log-likelihoods of held-out rows there."""

    updates: list[int]
    values: list[float]

    def best(self, update: int) -> float | None:
        """Return the highest value up to an update; None if the run has not got as far."""
        if not self.updates or self.updates[-1] < update or self.updates[0] > update:
            return None
        both = zip(self.updates, self.values, strict=True)
        return max(value for at, value in both if at <= update)


class Curves:
    """The learning curves of runs, each read again only when its file has changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int], Curve]] = {}

    def of(self, run: Path) -> Curve:
        """Return the curve of a run."""
        try:
            status = (run / METRICS).stat()
        except OSError:
            return Curve([], [])
        stamp = (status.st_size, status.st_mtime_ns)
        if self._known.get(run, (None,))[0] != stamp:
            records = [each for each in RunFolder(run).metrics() if each.get(SCORE) is not None]
            curve = Curve([each["update"] for each in records], [each[SCORE] for each in records])
            self._known[run] = stamp, curve
        return self._known[run][1]


class Pruner:
    """A callback of `fit` that stops a run which is behind the others of its sweep.

    A run stops if its highest log-likelihood so far is below the median of those that the other
    runs had at the same update. At least `FEWEST_OTHERS` must have got as far, and the run must
    have made `SHARE_BEFORE` of its updates.
    """

    def __init__(self, run: Path, curves: Curves):
        self.run, self.curves = run, curves

    def __call__(self, report: Report) -> None:
        """Look at a report.

        Raises:
            EndedEarly: the run is behind.
        """
        reason = self.reason(report)
        if reason is not None:
            raise EndedEarly(PRUNED, reason)

    def reason(self, report: Report) -> str | None:
        """Return why the run should stop; None if it should go on."""
        early = report.updates < SHARE_BEFORE * report.total
        if early or report.updates >= report.total or SCORE not in report.metrics:
            return None
        own = self.curves.of(self.run).best(report.updates)
        rest = [self.curves.of(each) for each in trials_in(self.run.parent) if each != self.run]
        others = [best for one in rest if (best := one.best(report.updates)) is not None]
        if own is None or len(others) < FEWEST_OTHERS or own >= median(others):
            return None
        return (
            f"pruned after {report.updates:,} updates: held-out log-likelihood {nats(own)}, below"
            f" {nats(median(others))}, the median of {len(others)} other trials at this update"
        )
