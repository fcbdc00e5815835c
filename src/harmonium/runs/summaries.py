"""The summary of a run, as summary.json holds it.

A number that is not finite is null there, since JSON has no such numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ModelFileError
from ..partition_function.base import LogZ
from .schema import RESTORE, fits, read_record

T = TypeVar("T")
SCORE_AGAIN = "remove the file, and score the run again with harmonium resume"


@dataclass(frozen=True, kw_only=True)
class LogZSummary:
    """Log Z with its 95 % interval, as `LogZ`."""

    value: float
    low: float | None
    high: float | None
    method: str
    converged: bool | None
    message: str
    ess: float | None = None
    gap: float | None = None
    forward_estimate: float | None = None
    reverse_estimate: float | None = None
    checked: bool = True

    @property
    def trusted(self) -> LogZ | None:
        """It as a `LogZ`, without the weights of chains; None unless it has converged."""
        if not self.converged or self.low is None or self.high is None:
            return None
        about = {"method": self.method, "converged": True, "message": self.message}
        return LogZ(value=self.value, low=self.low, high=self.high, **about)


@dataclass(frozen=True, kw_only=True)
class ScoreSummary:
    """A log-likelihood in nats per row, with its 95 % interval, and the name of its rows."""

    value: float
    low: float | None
    high: float | None
    converged: bool | None
    rows: str
    n_rows: int
    method: str
    stderr_rows: float | None = None
    without_hidden_units: float | None = None

    def part_of(self, parts: Mapping[str, T], run: Path) -> T:
        """Return the rows that the score is of, among those of the run's source.

        Raises:
            ModelFileError: the source has none of this name.
        """
        if self.rows in parts:
            return parts[self.rows]
        names = " or ".join(parts)
        raise ModelFileError(
            f"{run / 'summary.json'}: expected a score of {names} rows, which the source in"
            f" {run / 'config.json'} has; found one of {self.rows!r}; {RESTORE}."
        )


@dataclass(frozen=True, kw_only=True)
class MeanSummary:
    """The mean log-likelihood of the models of an ensemble."""

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
    """What `harmonium train` reports, and writes as summary.json."""

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
        """Read what a run wrote.

        Raises:
            ModelFileError: a field is of another type; names the file and the field.
            InputError: the file cannot be read, or is no JSON.
        """
        return read_record(cls, path, SCORE_AGAIN)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as a value of JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class _Progress:
    """What every record of metrics has."""

    update: int
    epoch: float


def is_record(value: Any) -> bool:
    """Return whether a value is a record of metrics: numbers by name, None for infinite ones."""
    return fits(value, _Progress) and fits(value, dict[str, float | None])
