"""The study of a sweep: a journal file of Optuna's that many processes share, without a server.

Every trial is one process's at a time: who works on a trial holds its lock, from before the trial
is in the journal until its result is. So a trial that is neither finished nor locked belongs to a
process that has ended, and is taken up again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, input_error
from ..io.convert.base import optional
from .folder import RunFolder
from .jsonable import jsonable
from .leftovers import STUDY
from .locks import Locks, Mutex
from .sweep_spec import SweepSpec

OPTUNA = ("optuna", "sweep", "sweep")  # the package, what needs it, the extra
LOCKS = "study.lock"
TAKING, WRITING, FIRST = 1, 2, 3  # numbers of locks; 0 is that of `Locks` itself
# What the journal has besides what Optuna writes.
SPEC, ROWS, RESULT, PROBLEM = "spec", "rows", "result", "problem"


class Taken(NamedTuple):
    """A trial that this process holds: Optuna's, its number, and the values of its options."""

    trial: Any
    number: int
    values: dict[str, Any]


class Study:
    """The trials of a sweep, as all its processes see them; use it as a context manager."""

    def __init__(self, spec: SweepSpec):
        """Join the study, or begin it.

        Raises:
            InputError: the folder has a study of another sweep, or no locks.
            MissingDependencyError: Optuna is not installed.
        """
        self.spec = spec
        self.optuna: Any = optional(*OPTUNA)
        spec.folder.mkdir(parents=True, exist_ok=True)
        self.locks = Locks(spec.folder, LOCKS)
        with self.locks.hold(TAKING), _silently(self.optuna):
            journal, storages = str(spec.folder / STUDY), self.optuna.storages
            backend = storages.journal.JournalFileBackend(journal, Mutex(self.locks, WRITING))
            self.storage = storages.JournalStorage(backend)
            self.study = self.optuna.create_study(
                storage=self.storage, study_name="sweep", direction="maximize", load_if_exists=True
            )
            if SPEC not in self.study.user_attrs:
                self.study.set_user_attr(SPEC, jsonable(spec.record))
        known, told = self.study.user_attrs[SPEC], jsonable(spec.record)
        if known != told:
            self.locks.close()
            raise _other_sweep(spec, [key for key in told if known.get(key) != told[key]])

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        """Release the trials of this process."""
        self.locks.close()

    def trials(self) -> list[Any]:
        """Return all trials as the journal has them now, by their numbers."""
        return self.study.get_trials(deepcopy=False)

    def unfinished(self) -> list[Any]:
        """Return the trials that are begun and not finished."""
        return [one for one in self.trials() if not one.state.is_finished()]

    def take(self, aside: set[int]) -> Taken | None:
        """Return a trial for this process: one whose process has ended, else a new one.

        Args:
            aside: numbers of trials that are not to be taken.

        Returns:
            None if all trials are finished, aside, or at work in other processes.
        """
        with self.locks.hold(TAKING), _silently(self.optuna):
            for one in self.unfinished():
                if one.number not in aside and self._is_left(one.number):
                    return self._taken(one.number)
            begun = [one for one in self.trials() if one.state.name != "WAITING"]
            if len(begun) >= self.spec.trials:
                return None
            number = len(begun)
            self.locks.attempt(FIRST + number)
            self._sampler_of(number)
            if self.spec.sampler == "grid" and len(self.trials()) == number:
                self.study.enqueue_trial(self.spec.point(number))
            return self._valued(self.study.ask())

    def _is_left(self, number: int) -> bool:
        """Return whether nobody is at work on an unfinished trial; it is then locked."""
        if not self.locks.attempt(FIRST + number):
            return False
        if self.trials()[number].state.is_finished():  # between two looks
            self.locks.release(FIRST + number)
            return False
        path = self.spec.run(number)
        try:
            with RunFolder(path) if path.is_dir() else nullcontext():
                return True
        except InputError:  # someone has resumed the run by hand
            self.locks.release(FIRST + number)
            return False

    def _taken(self, number: int) -> Taken:
        of_study = self.storage.get_study_id_from_name(self.study.study_name)
        found = self.storage.get_trial_id_from_study_id_trial_number(of_study, number)
        self._sampler_of(number)
        return self._valued(self.optuna.trial.Trial(self.study, found))

    def _valued(self, trial: Any) -> Taken:
        """Draw the values that the journal does not have yet."""
        values = {name: one.suggest(trial, name) for name, one in self.spec.search.items()}
        return Taken(trial, trial.number, values)

    def _sampler_of(self, number: int) -> None:
        """Draw with a seed of the trial's own, whichever process draws."""
        samplers = self.optuna.samplers
        seed = int(np.random.SeedSequence([0, number]).generate_state(1)[0])
        if self.spec.sampler == "tpe":
            self.study.sampler = samplers.TPESampler(seed=seed, constant_liar=True)
        else:
            self.study.sampler = samplers.RandomSampler(seed=seed)

    def tell(self, taken: Taken, value: float | None, result: dict[str, Any]) -> None:
        """Finish a trial, and release it.

        Args:
            taken: the trial.
            value: its objective; None for a run that diverged.
            result: what the table says of it. A run that did not end as it should is no result for
                the sampler, but a hint of where not to look.
        """
        states = self.optuna.trial.TrialState
        with _silently(self.optuna):
            taken.trial.set_user_attr(RESULT, jsonable(result))
            if result["status"] == "done":
                self.study.tell(taken.trial, value)
            else:
                if value is not None:
                    taken.trial.report(value, step=result["updates"])
                self.study.tell(taken.trial, state=states.PRUNED)
        self.locks.release(FIRST + taken.number)

    def check_rows(self, folder: RunFolder) -> None:
        """Refuse a trial that has learned from other rows than the first one that ended.

        Raises:
            InputError: the source has changed.
        """
        found = folder.checkpoints.fingerprint_of_rows
        with self.locks.hold(TAKING):
            known = self.study.user_attrs.get(ROWS)
            if known is None:
                self.study.set_user_attr(ROWS, found)
            elif known != found:
                advice = "restore the source, remove this folder, and sweep again"
                raise input_error(str(folder.path), "the rows of all trials", "other rows", advice)

    def put_aside(self, taken: Taken, reason: str) -> None:
        """Leave a trial unfinished that cannot be run, with the reason, and release it."""
        taken.trial.set_user_attr(PROBLEM, reason)
        self.locks.release(FIRST + taken.number)


def _other_sweep(spec: SweepSpec, changed: list[str]) -> InputError:
    found = f"one of another {' and '.join(changed)}"
    advice = "name another folder, as with --out, or restore the file"
    return input_error(str(spec.folder), f"the study of {spec.path}", found, advice)


@contextmanager
def _silently(optuna: Any) -> Iterator[None]:
    """Hide what Optuna says of itself: what is experimental there, and what it has done."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
