"""Save metrics, the model and the training state during a run, so that it can be resumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .._base.files import reason_of
from .._base.processes import by_first
from .._base.sharding import clock
from ..errors import InputError
from ..rbm import RBM
from ..training import Fit, Report, TrainState
from .folder import MODEL, RunFolder
from .prepare import Prepared
from .rows import remember
from .summaries import Summary

SECONDS_BETWEEN_CHECKPOINTS = 30.0  # a killed process loses at most this much work
LOG_LIKELIHOODS = ("log_likelihood", "log_likelihood_low", "log_likelihood_high")


class Checkpointer:
    """A callback of `fit` that writes metrics and periodic checkpoints of a run.

    If a file cannot be written (because the disk is full, say, or the folder has been removed), the
    run continues and tries again later. Only a failure at the end of the run raises an error.
    """

    def __init__(
        self,
        folder: RunFolder,
        prepared: Prepared,
        state: TrainState,
        say: Callable[[str], None],
    ):
        self.folder = folder
        self.prepared = prepared
        self.say = say
        self.records = folder.metrics()
        self.written = len(self.records)
        self.begins_anew = False
        self.trouble = ""
        self.rbm = prepared.model_of(state)
        self.state = state
        self.models: Sequence[RBM] = ()
        self.fingerprint = prepared.fingerprint
        self.began = clock()
        self.saved = -math.inf
        self.speed = Speed(int(state.updates))

    def convert(self, report: Report) -> None:
        """Convert a report's log-likelihoods of standardised rows to those of the original rows."""
        for name in LOG_LIKELIHOODS:
            if name in report.metrics:
                report.metrics[name] += self.prepared.log_density

    def __call__(self, report: Report) -> None:
        """Write metrics; also write a checkpoint if the last one is older than 30 seconds."""
        if report.updates <= int(self.state.updates):  # the run diverged and restarted
            self.records = []
            self.begins_anew = True
            self.speed.updates = 0
        self.rbm = self.prepared.restored(report.rbm)
        self.state = report.state
        self.speed.count(report)
        if report.metrics:
            self.records.append(report.metrics)
        now = clock()  # the same in all processes, so that all write or none does
        is_due = now - self.saved > SECONDS_BETWEEN_CHECKPOINTS
        # Set before writing, so that after a failure the next attempt is 30 seconds later.
        self.saved = now if is_due else self.saved
        try:
            # Write metrics first: a resumed run drops the records after its checkpoint, but must
            # have all records before it.
            self._write_metrics()
            if is_due:
                self._write()
            self.trouble = ""
        except OSError as error:
            reason = reason_of(error).lower()
            if reason != self.trouble:
                self.say(f"cannot write to {self.folder.path}: {reason}; will try again")
            self.trouble = reason

    def keep(self, result: Fit, models: Sequence[RBM] = ()) -> None:
        """Save the final state of a run; after divergence, this is the last finite state."""
        self.rbm = result.rbm
        self.state = result.state
        self.models = models
        self.save()

    def save(self) -> None:
        """Write metrics, the model and the training state.

        Raises:
            InputError: the files cannot be written; the message says how to continue.
        """
        try:
            self._write_metrics()
            self._write()
            self.saved = clock()
        except OSError as error:
            path = self.folder.path
            advice = "make room there"
            if self.folder.checkpoints.exist:
                advice += f", then continue from its last checkpoint with: harmonium resume {path}"
            raise InputError(
                f"{path}: expected a folder to write to; got {reason_of(error).lower()}; {advice}."
            ) from None

    def _write_metrics(self) -> None:
        self._add_metrics()
        self.written = len(self.records)
        self.begins_anew = False

    @by_first
    def _add_metrics(self) -> None:
        if not self.folder.path.is_dir():  # the folder was moved or removed
            rows = self.prepared.rows
            self.folder.restore(self.prepared.config, rows.columns, rows.sites)
            remember(self.folder, rows)
            self.written = 0
        if self.begins_anew:
            self.folder.keep_metrics_until(0)
            self.written = 0
            self.begins_anew = False
        if self.written < len(self.records):
            self.folder.add_metrics(self.records[self.written :])
            self.written = len(self.records)

    def _write(self) -> None:
        self.folder.save(self.rbm, self.state, self.fingerprint, self.models)

    def summary(self, status: str, message: str) -> Summary:
        """Return the run's summary without a score; its `seconds` is the time of this command."""
        return Summary(
            run=str(self.folder.path),
            status=status,
            message=message,
            model=str(self.folder.path / MODEL),
            updates=int(self.state.updates),
            samples_per_second=self.speed.samples_per_second() or self._earlier_speed(),
            seconds=round(clock() - self.began, 2),
            notes=list(self.prepared.rows.notes),
        )

    def _earlier_speed(self) -> float | None:
        """Return the median speed in the metrics file, in rows per second; None if it has none."""
        speeds = [record.get("samples_per_second") for record in self.folder.metrics()]
        known = [speed for speed in speeds if speed]
        return float(np.median(known)) if known else None


class Speed:
    """The mean speed in training rows per second after the first chunk, which compiling slows."""

    def __init__(self, updates: int):
        self.updates = updates
        self.rows = 0.0
        self.seconds = 0.0
        self.first: float | None = None

    def count(self, report: Report) -> None:
        """Add the rows and the seconds of a chunk of updates."""
        updates = report.updates - self.updates
        self.updates = report.updates
        if self.first is None:
            self.first = report.samples_per_second
            return
        seconds = updates / report.updates_per_second
        self.rows += seconds * report.samples_per_second
        self.seconds += seconds

    def samples_per_second(self) -> float | None:
        """Return the mean speed in rows per second; None before the first chunk has ended."""
        return self.rows / self.seconds if self.seconds else self.first
