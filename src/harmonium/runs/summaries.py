"""The summary of a run, as stored in summary.json.

In this file, a number that is not finite is null, since JSON has no such numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .._base.statistics import log_mean_exp
from ..errors import ModelFileError
from ..likelihood.partition_function.base import LogZ
from ..likelihood.scoring import LogLikelihood
from .schema import RESTORE, fits, read_record

T = TypeVar("T")
# Statuses with which a run or an evaluation ends.
DONE = "done"
DIVERGED = "diverged"
INTERRUPTED = "interrupted"
NORMAL = 1.96  # standard deviations from the centre of a 95 % interval to its ends
EVALUATE_AGAIN = "remove the file, and evaluate the run again"
SCORE_AGAIN = "remove the file, and score the run again with harmonium resume"


@dataclass(frozen=True, kw_only=True)
class LogZSummary:
    """Log Z with its 95 % interval: the serialisable part of `LogZ`."""

    value: float
    low: float | None
    high: float | None
    method: str
    converged: bool | None
    ess: float | None = None
    gap: float | None = None
    message: str
    checked: bool = True
    forward_estimate: float | None = None
    reverse_estimate: float | None = None

    @classmethod
    def of(cls, log_z: LogZ) -> LogZSummary:
        """Return the summary of log Z; forward and reverse estimates replace the log weights."""
        record = log_z._asdict()
        forward = record.pop("forward")
        reverse = record.pop("reverse")
        if forward is not None:
            record["forward_estimate"] = float(log_mean_exp(forward))
        if reverse is not None:
            record["reverse_estimate"] = -float(log_mean_exp(reverse))
        return cls(**record)

    @property
    def is_zero(self) -> bool:
        """Whether log Z is 0 by definition, as in a model of targets given the other units."""
        return self.value == self.low == self.high == 0.0

    @property
    def stderr(self) -> float:
        """The standard error, in nats; infinite if either end of the interval is infinite."""
        if self.low is None or self.high is None:
            return math.inf
        return (self.high - self.low) / (2 * NORMAL)

    @property
    def trusted(self) -> LogZ | None:
        """The summary as a `LogZ` without log weights; None if log Z has not converged."""
        if not self.converged or self.low is None or self.high is None:
            return None
        about = {"method": self.method, "converged": True, "message": self.message}
        return LogZ(value=self.value, low=self.low, high=self.high, **about)


@dataclass(frozen=True, kw_only=True)
class BaselineSummary:
    """A simpler model of the same rows, whose log-likelihood is exact.

    Attributes:
        name: the simpler model's name in a table.
        words: its name in a sentence.
        value: its log-likelihood, in nats per row.
        gain: the log-likelihood of the run's model minus `value`.
        stderr: standard error of the gain over rows; None if unknown.
    """

    name: str
    words: str
    value: float
    gain: float
    stderr: float | None = None

    @property
    def difference(self) -> str:
        """The gain and its standard error, as text."""
        error = ""
        if self.stderr is not None and math.isfinite(self.stderr):
            error = f" ± {self.stderr:.3f}"
        return f"{self.gain:+.3f}{error}"


@dataclass(frozen=True, kw_only=True)
class ScoreSummary:
    """The mean log-likelihood of rows, in nats per row, with its 95 % interval and baselines."""

    value: float
    low: float | None
    high: float | None
    method: str
    converged: bool | None
    stderr_rows: float | None = None
    rows: str
    n_rows: int
    baselines: list[BaselineSummary] = field(default_factory=list)
    per_unit: float | None = None
    note: str = ""

    @classmethod
    def of(
        cls,
        score: LogLikelihood,
        *,
        rows: str,
        n_rows: int,
        n_units: int,
        baselines: Sequence[BaselineSummary] = (),
    ) -> ScoreSummary:
        """Return the summary of a log-likelihood.

        Args:
            score: the log-likelihood.
            rows: the name of the rows.
            n_rows: the number of rows.
            n_units: the number of visible units.
            baselines: simpler models of the same rows, if known.
        """
        record = score._asdict()
        del record["log_z"]  # log Z has a separate summary
        return cls(
            **record,
            rows=rows,
            n_rows=n_rows,
            baselines=list(baselines),
            per_unit=score.value / n_units,
        )

    def part_of(self, parts: Mapping[str, T], run: Path) -> T:
        """Return the part of the rows, such as the test rows, that was scored.

        Raises:
            ModelFileError: the run's source has no part of this name.
        """
        if self.rows in parts:
            return parts[self.rows]
        names = " or ".join(parts)
        raise ModelFileError(
            f"{run / 'summary.json'}: expected a score of {names} rows, which the source in"
            f" {run / 'config.json'} has; got a score of {self.rows} rows; {RESTORE}."
        )


@dataclass(frozen=True, kw_only=True)
class MeanSummary:
    """The log-likelihood of rows, in nats per row, averaged over the models of an ensemble."""

    value: float
    stderr_models: float | None
    models: int
    converged: bool | None
    rows: str


@dataclass(frozen=True, kw_only=True)
class EnsembleSummary:
    """The models of an ensemble: their files, and their log-likelihoods."""

    models: list[str]
    log_likelihoods: list[ScoreSummary]
    mean: MeanSummary


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The summary that `harmonium train` reports and writes as summary.json."""

    run: str = ""
    status: str = ""
    message: str = ""
    model: str = ""
    updates: int | None = None
    seconds: float | None = None
    samples_per_second: float | None = None
    notes: list[str] = field(default_factory=list)
    log_z: LogZSummary | None = None
    log_likelihood: ScoreSummary | None = None
    ensemble: EnsembleSummary | None = None
    report: str | None = None

    @classmethod
    def read(cls, path: Path) -> Summary:
        """Read the summary of a run.

        Raises:
            ModelFileError: a field has the wrong type; the message names the file and the field.
            InputError: the file cannot be read, or is not JSON.
        """
        return read_record(cls, path, SCORE_AGAIN)


@dataclass(frozen=True, kw_only=True)
class RowsSummary:
    """A summary of the rows of a run, so that later commands need not read the source.

    Column types and sites are in separate files, which people read and edit.

    Attributes:
        train: a hash of the training rows, by which later commands recognise them.
        validation: a hash of the held-out rows; None if there are none.
        test: a hash of the test rows; None if there are none.
        counts: the number of rows in each part; empty in folders from earlier versions, which have
            only hashes.
        image_shape: height and width of a row as a picture; None if rows are not pictures.
    """

    train: str | None = None
    validation: str | None = None
    test: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    image_shape: tuple[int, int] | None = None

    @property
    def hashes(self) -> dict[str, str | None]:
        """The hash of each part, by name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}


@dataclass(frozen=True, kw_only=True)
class EvaluationTable:
    """The table of an evaluation, as shown in the report of a run.

    Attributes:
        heads: the lines above the table, which describe the scored rows.
        sections: the lines of the table in groups; each line has a quantity, its value, and how to
            read the value.
    """

    heads: list[str]
    sections: list[list[tuple[str, str, str]]]

    @classmethod
    def read(cls, path: Path) -> EvaluationTable:
        """Read the table from the file of an evaluation.

        Raises:
            ModelFileError: a field has the wrong type; the message names the file and the field.
            InputError: the file cannot be read, or is not JSON.
        """
        return read_record(_Evaluated, path, EVALUATE_AGAIN).table


@dataclass(frozen=True, kw_only=True)
class _Evaluated:
    """The part of evaluation.json that the report of a run needs."""

    table: EvaluationTable


@dataclass(frozen=True, kw_only=True)
class _Progress:
    """The fields that every record of metrics has."""

    update: int
    epoch: float


def is_record(value: Any) -> bool:
    """Return whether a value is a record of metrics: a dict of numbers (None if not finite)."""
    return fits(value, _Progress) and fits(value, dict[str, float | None])
