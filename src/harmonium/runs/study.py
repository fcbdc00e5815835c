"""The trials of `harmonium tune`: an Optuna study shared by any number of processes.

Optuna's storage (an SQLite file) assigns each trial to one process. Optuna's heartbeat detects that
a process has ended; Optuna's retry callback then requeues the trial for any free process.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base.files import parser_errors
from ..errors import InputError
from ..io.convert.base import optional
from ..io.formats.base import write_new
from .folder import RunFolder
from .jsonable import jsonable
from .leftovers import STUDY, STUDY_BEFORE_0_1
from .schema import record_from
from .summaries import DONE, MeanSummary, ScoreSummary
from .tune_spec import SearchSpec

OPTUNA = ("optuna", "tune", "tune")  # the package, the command that needs it, the extra
NAME = "harmonium"
SECONDS_BETWEEN_HEARTBEATS = 10
SECONDS_UNTIL_STALE = 60  # time without a heartbeat
SECONDS_FOR_A_LOCK = 60  # wait for the lock of SQLite, which allows one writer at a time
FEWEST_OTHERS = 5  # a trial is pruned only if this many others have a value at the same epoch
# Attributes of the study and of trials, in addition to Optuna's.
SPEC = "spec"
ROWS = "rows"
RESULT = "result"
PROBLEM = "problem"
SURPLUS = "surplus"


@dataclass(frozen=True, kw_only=True)
class TrialScore:
    """The log-likelihood of held-out rows, in nats per row, with standard errors if known.

    Attributes:
        value: the log-likelihood; for an ensemble, the mean over its models.
        low: the lower end of its 95 % interval, which accounts for the error of log Z alone.
        high: the upper end of this interval.
        stderr_rows: the standard error over rows, for a single model.
        stderr_models: the standard error over the models of an ensemble.
        converged: whether log Z is trusted.
        rows: the name of the part of the rows that was scored.
    """

    value: float
    low: float | None = None
    high: float | None = None
    stderr_rows: float | None = None
    stderr_models: float | None = None
    converged: bool | None = None
    rows: str | None = None

    @classmethod
    def of(cls, score: ScoreSummary | MeanSummary) -> TrialScore:
        """Return the trial's score from a run's score, or from the mean over a run's models."""
        names = [field.name for field in fields(cls) if hasattr(score, field.name)]
        return cls(**{name: getattr(score, name) for name in names})

    @property
    def stderr(self) -> float | None:
        """The standard error over models if there are several, else over rows."""
        return self.stderr_rows if self.stderr_models is None else self.stderr_models


@dataclass(frozen=True, kw_only=True)
class AbstractResult:
    """The result of a trial: how the trial ended, and its score."""

    status: str
    message: str
    updates: int | None = None
    seconds: float | None = None
    log_likelihood: TrialScore | None = None

    @property
    def value(self) -> float:
        """The log-likelihood by which trials are ranked; −∞ if there is none."""
        return -math.inf if self.log_likelihood is None else self.log_likelihood.value


@dataclass(frozen=True, kw_only=True)
class TrialResult(AbstractResult):
    """The result of a trial, as stored in the study."""


class Problem(NamedTuple):
    """Why a trial could not be run; the trial is requeued when the search is restarted."""

    message: str


class Study:
    """An Optuna study in which a retried trial uses the folder of its first attempt.

    Attributes:
        spec: the search.
        study: the Optuna study.
    """

    def __init__(self, spec: SearchSpec):
        """Open the study of a folder, or create it.

        Raises:
            InputError: the folder contains the study of a different search.
            MissingDependencyError: Optuna is not installed.
        """
        self.spec = spec
        self.optuna: Any = optional(*OPTUNA)
        file = spec.folder / STUDY
        with quietly(self.optuna), parser_errors(file, "a study of Optuna"):
            if not file.is_file():
                self._create(file)
            storages = self.optuna.storages
            self._retry = storages.RetryHeartbeatStaleTrialCallback(
                # A retried trial continues from its checkpoint and reports only later values.
                inherit_intermediate_values=True
            )
            storage = storages.RDBStorage(
                f"sqlite:///{file}",
                engine_kwargs={"connect_args": {"timeout": SECONDS_FOR_A_LOCK}},
                heartbeat_interval=SECONDS_BETWEEN_HEARTBEATS,
                grace_period=SECONDS_UNTIL_STALE,
                heartbeat_stale_trial_callback=self._retry,
            )
            # Require this many trials that have ended, and this many with a value at this epoch.
            pruner = self.optuna.pruners.MedianPruner(FEWEST_OTHERS, n_min_trials=FEWEST_OTHERS)
            self.study = self.optuna.load_study(study_name=NAME, storage=storage, pruner=pruner)
        known = self.study.user_attrs[SPEC]
        record = jsonable(spec.record)
        changed = [key for key in record if known.get(key) != record[key]]
        if changed:
            raise InputError(
                f"{spec.folder}: expected the study of {spec.path}; got a study with"
                f" another {' and '.join(changed)}; choose another folder, for example with --out,"
                f" or restore {spec.path}."
            )

    def _create(self, file: Path) -> None:
        """Create the study in a temporary file, since only one process may create its tables."""
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            new = Path(folder, STUDY)
            url = f"sqlite:///{new}"
            journal = file.with_name(STUDY_BEFORE_0_1)
            if journal.is_file():
                self._copy(journal, url)
            else:
                study = self.optuna.create_study(storage=url, study_name=NAME, direction="maximize")
                study.set_user_attr(SPEC, jsonable(self.spec.record))
            with suppress(FileExistsError):  # another process has just created the study
                write_new(file, new.read_bytes())

    def _copy(self, journal: Path, url: str) -> None:
        """Copy a study of `harmonium sweep`; unfinished trials count as failed in the copy."""
        backends = self.optuna.storages.journal
        storage = self.optuna.storages.JournalStorage(backends.JournalFileBackend(str(journal)))
        self.optuna.copy_study(
            from_study_name="sweep", from_storage=storage, to_storage=url, to_study_name=NAME
        )
        states = self.optuna.trial.TrialState
        study = self.optuna.load_study(study_name=NAME, storage=url)
        for trial in study.get_trials(states=(states.RUNNING,)):
            study.tell(trial.number, state=states.FAIL)

    def trials(self) -> dict[int, Any]:
        """Return Optuna's last attempt at each trial, keyed by the number of the trial's folder."""
        attempts = self.study.get_trials(deepcopy=False)
        folders = self._folders(attempts)
        latest: dict[int, Any] = {}
        for attempt in attempts:
            number = folders.get(self._first_attempt(attempt))
            if number is not None and not (number in latest and has_ended(latest[number])):
                latest[number] = attempt
        return latest

    def _folders(self, attempts: list[Any]) -> dict[int, int]:
        """Return each trial's folder number, keyed by Optuna's number of its first attempt."""
        first = [
            attempt.number
            for attempt in attempts
            if self._first_attempt(attempt) == attempt.number and SURPLUS not in attempt.user_attrs
        ]
        return {optunas: number for number, optunas in enumerate(first)}

    def _first_attempt(self, attempt: Any) -> int:
        with quietly(self.optuna):
            first = self._retry.retried_trial_number(attempt)
        return attempt.number if first is None else first

    def retry_failed(self) -> None:
        """Requeue the trials that failed, since the cause of the failures may be gone."""
        with quietly(self.optuna):
            for trial in self.trials().values():
                if trial.state.name == "FAIL":
                    self._retry(self.study, trial)

    def fail_stale(self) -> None:
        """Requeue the trials whose processes ended without reporting a result."""
        with quietly(self.optuna):
            self.optuna.storages.fail_stale_trials(self.study)

    def result(self, trial: Any) -> TrialResult:
        """Return how an Optuna trial ended."""
        return record_from(TrialResult, trial.user_attrs[RESULT], str(self.spec.folder / STUDY))

    def run_one(self, objective: Callable[[Any, int], TrialResult | Problem]) -> None:
        """Run one trial: a queued trial if there is one, otherwise a new trial.

        The sampler maximises the log-likelihood of completed trials; the other trials show which
        options to avoid.

        Args:
            objective: a function of an Optuna trial and the number of its folder.

        Raises:
            KeyboardInterrupt: the user interrupted the trial, which is requeued.
        """
        pruned = self.optuna.TrialPruned
        running = None

        def called(trial: Any) -> float:
            nonlocal running
            running = trial.number
            attempts = self.study.get_trials(deepcopy=False)
            first = self._first_attempt(attempts[trial.number])
            number = self._folders(attempts)[first]
            if number >= self.spec.trials and first == trial.number:
                # Another process has started the last trial in the meantime.
                trial.set_user_attr(SURPLUS, True)
                raise pruned
            self.study.sampler = self._sampler(number)
            result = objective(trial, number)
            if isinstance(result, Problem):
                trial.set_user_attr(PROBLEM, result.message)
                return np.nan  # marks the trial as failed
            trial.set_user_attr(RESULT, jsonable(result))
            if result.status != DONE or result.log_likelihood is None:
                raise pruned
            return result.value

        try:
            with quietly(self.optuna):
                self.study.optimize(called, n_trials=1)
        except KeyboardInterrupt:
            if running is not None:
                with quietly(self.optuna):
                    self._retry(self.study, self.study.get_trials()[running])
            raise

    def _sampler(self, number: int) -> Any:
        """Return the sampler for a trial, with a seed that depends only on the trial's number."""
        samplers = self.optuna.samplers
        seed = int(np.random.SeedSequence([0, number]).generate_state(1)[0])
        if self.spec.sampler == "tpe":
            # Running trials count as bad results, so that processes do not try the same values at
            # once.
            return samplers.TPESampler(seed=seed, constant_liar=True)
        random = samplers.RandomSampler(seed=seed)
        if self.spec.sampler == "random":
            return random
        return samplers.PartialFixedSampler(self.spec.point(number), random)

    def check_rows(self, folder: RunFolder) -> None:
        """Raise InputError if a trial's rows differ from the rows of the first trial that ended.

        Raises:
            InputError: the source has changed.
        """
        fingerprint = folder.checkpoints.fingerprint_of_rows
        known = self.study.user_attrs.get(ROWS)
        if known is None:
            self.study.set_user_attr(ROWS, fingerprint)
        elif known != fingerprint:
            raise InputError(
                f"{folder.path}: expected the same rows as in other trials; got different rows;"
                " restore the source, remove this folder, and start again."
            )


def has_ended(trial: Any) -> bool:
    """Return whether a trial has a result, even if only that it diverged or was pruned."""
    return trial.state.name in ("COMPLETE", "PRUNED")


@contextmanager
def quietly(optuna: Any) -> Iterator[None]:
    """Hide Optuna's messages about experimental features and progress, within the context."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
