"""The folder of a run, with its options, metrics, model, checkpoints, summary and report."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from .._base.files import inside, parsed_json
from .._base.processes import by_first
from ..errors import InputError, ModelFileError
from ..io.formats.base import write_new, write_whole
from ..io.storage import MODEL, format_to_write
from ..rbm import RBM
from ..sequences import Sites
from ..tables import Columns
from ..training import TrainState
from .agreement import check_units
from .checkpoints import Checkpoints
from .jsonable import read_json, to_json
from .leftovers import (
    COLUMNS,
    CONFIG,
    ENSEMBLE,
    EVALUATION,
    LEFT_BY_RUNS,
    METRICS,
    OLD_EVALUATION,
    REPORT,
    ROWS,
    SITES,
    SUMMARY,
    are_of_run,
)
from .schema import read_record
from .summaries import EvaluationTable, RowsSummary, Summary, is_record
from .train_options import RunConfig
from .writing import OTHER_NAME, check_folder

T = TypeVar("T", Columns, Sites)


class RunFolder:
    """The folder of a run. Files are written whole or not at all; metrics are appended as lines.

    To write several files, use the folder as a context manager, which prevents other commands from
    using the run. If several processes share a run, all of them call the methods that write, but
    only the first process writes (`by_first`).
    """

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path)
        self._locked: int | None = None
        self.checkpoints = Checkpoints(self.path)

    def __enter__(self) -> RunFolder:
        """Lock the folder against other processes until the context, or this process, ends.

        Raises:
            InputError: another process is using the run.
        """
        self._lock()
        return self

    @by_first
    def _lock(self) -> None:
        if os.name == "posix":
            import fcntl  # POSIX only

            descriptor = os.open(self.path, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                raise InputError(
                    f"{self.path}: expected a run that no other process uses; got a run in use;"
                    " wait for the other process, or end it."
                ) from None
            except OSError:  # the file system does not support locks
                os.close(descriptor)
            else:
                self._locked = descriptor

    def __exit__(self, *error: object) -> None:
        """Release the lock."""
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    @classmethod
    def claim(cls, out: str | None, name: str, overwrite: bool, config: RunConfig) -> RunFolder:
        """Create the folder of a new run and write its options; no two runs get the same folder.

        Without `out`, the folder is `runs/NAME` or, if that exists, `runs/NAME-2` and so on.

        Raises:
            InputError: `out` cannot be created, holds something other than a run, or holds a run
                although `overwrite` is False.
        """
        return cls(cls._claimed(out, name, overwrite, config))

    @classmethod
    @by_first
    def _claimed(cls, out: str | None, name: str, overwrite: bool, config: RunConfig) -> str:
        """Create the folder, and return its path."""
        path = Path("runs", name.strip(". ") or "run") if out is None else Path(out)
        try:
            if out is None and not overwrite:
                path = _first_free(path)
            check_target(path, overwrite=overwrite)
            cls(path)._begin(config, overwrite)
        except FileExistsError:
            raise _taken(path) from None
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(
                f"--out {path}: expected a folder that can be written to; got {reason};"
                f" {OTHER_NAME}."
            ) from None
        return str(path)

    def _begin(self, config: RunConfig, overwrite: bool) -> None:
        """Write the options, which reserves the folder; if `overwrite`, remove an older run."""
        self.path.mkdir(parents=True, exist_ok=True)
        if overwrite:
            with self:
                for name in LEFT_BY_RUNS:
                    _remove(self.path / name)
                self.write_config(config)
        else:
            write_new(self.file(CONFIG), config.to_json().encode())
        self.file(METRICS).touch()
        self.checkpoints.make_folder()

    @by_first
    def restore(self, config: RunConfig, columns: Columns | None, sites: Sites | None) -> None:
        """Recreate the folder of a run after it was moved or removed."""
        self.checkpoints.make_folder()
        self.write_config(config)
        self.write_meaning(columns, sites)

    def file(self, name: str) -> Path:
        """Return the path of one of the run's files.

        Raises:
            InputError: a symbolic link leads outside the folder; such files are not used.
        """
        return inside(self.path, name)

    def config(self) -> RunConfig:
        """Read the run's options."""
        return RunConfig.read(self.file(CONFIG))

    @by_first
    def write_config(self, config: RunConfig) -> None:
        """Write the run's options."""
        write_whole(self.file(CONFIG), config.to_json().encode())

    def columns(self) -> Columns | None:
        """Read the column types of the run's table; return None if the rows are not a table.

        Raises:
            InputError: the file is damaged, or does not belong to the run's model.
        """
        return self._meaning(COLUMNS, Columns.from_record)

    def columns_of_table(self) -> Columns:
        """Read the column types of the run's table; raise InputError if the rows are not a table.

        Raises:
            InputError: the run's rows are not a table, or the file is damaged.
        """
        expected = "the folder of a run on a table"
        return self._needed(self.columns(), expected, "a model of plain numbers", "TABLE")

    def sites(self) -> Sites | None:
        """Read the sites of the run's alignment; return None if the rows are not sequences.

        Raises:
            InputError: the file is damaged, or does not belong to the run's model.
        """
        return self._meaning(SITES, Sites.from_record)

    def sites_of_alignment(self) -> Sites:
        """Read the sites of the run's alignment; raise InputError if the rows are not sequences.

        Raises:
            InputError: the run's rows are not sequences, or the file is damaged.
        """
        expected = "the folder of a run on an alignment"
        return self._needed(self.sites(), expected, "a model of other rows", "FILE.fasta")

    def _meaning(self, name: str, from_record: Callable[[Any, str], T]) -> T | None:
        """Read a file of column types or sites; return None if the file does not exist."""
        path = self.file(name)
        if not path.is_file():
            return None
        meaning = from_record(read_json(path), str(path))
        check_units(meaning.layer, path, self.path / MODEL)
        return meaning

    def _needed(self, meaning: T | None, expected: str, content: str, source: str) -> T:
        """Return `meaning`, the column types or sites; raise InputError if it is None."""
        if meaning is None:
            raise InputError(
                f"{self.path}: expected {expected}; got {content}; train one with: harmonium train"
                f" {source}."
            )
        return meaning

    @by_first
    def write_meaning(self, columns: Columns | None, sites: Sites | None) -> None:
        """Write the column types of the run's table, or the sites of its alignment."""
        for name, meaning in ((COLUMNS, columns), (SITES, sites)):
            if meaning is not None:
                text = json.dumps(meaning.record(), indent=2, ensure_ascii=False) + "\n"
                write_whole(self.file(name), text.encode())

    @by_first
    def add_metrics(self, records: Sequence[dict[str, Any]]) -> None:
        """Append records to the metrics file; if this fails, append none of them."""
        lines = "".join(to_json(record) + "\n" for record in records).encode()
        with self.file(METRICS).open("ab", buffering=0) as file:
            end = os.fstat(file.fileno()).st_size
            try:
                if file.write(lines) != len(lines):  # the disk is full
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file.name))
            except OSError:
                with suppress(OSError):
                    # An incomplete line would hide all later lines.
                    file.truncate(end)
                raise

    def metrics(self) -> list[dict[str, Any]]:
        """Read the metrics up to the first damaged line; a crash may have truncated a line."""
        file = self.file(METRICS)
        records = []
        content = file.read_bytes() if file.is_file() else b""
        for line in content.splitlines():
            try:
                record = parsed_json(line)
            except ValueError:
                break
            if not is_record(record):
                break
            records.append(record)
        return records

    @by_first
    def keep_metrics_until(self, updates: int) -> None:
        """Remove all metrics recorded after update `updates`, from which the run continues."""
        records = [record for record in self.metrics() if record["update"] <= updates]
        lines = [to_json(record) + "\n" for record in records]
        write_whole(self.file(METRICS), "".join(lines).encode())

    def save(
        self,
        rbm: RBM,
        state: TrainState,
        fingerprint: str,
        models: Sequence[RBM] = (),
    ) -> None:
        """Write the model, and the state to resume from.

        Args:
            rbm: the model; for an ensemble, its first model.
            state: the state to resume from.
            fingerprint: a hash of the rows.
            models: all models of an ensemble, once its run has ended.
        """
        files = {self.model(number): model for number, model in enumerate(models)}
        files[self.file(MODEL)] = rbm
        for path, model in files.items():
            self._write_model(str(path), format_to_write(path).serialise(model, path.name))
        self.checkpoints.write(state, fingerprint)

    @by_first
    def _write_model(self, path: str, content: bytes) -> None:
        Path(path).parent.mkdir(exist_ok=True)
        write_whole(path, content)

    def model(self, number: int) -> Path:
        """Return the path of the model with this index in an ensemble."""
        return self.file(f"{ENSEMBLE}/model-{number}.safetensors")

    @by_first
    def write_summary(self, summary: Summary) -> None:
        """Write the summary that the command reports."""
        write_whole(self.file(SUMMARY), (to_json(summary, indent=2) + "\n").encode())

    def summary(self) -> Summary | None:
        """Read the summary that `harmonium train` reported; None if the run has not ended.

        Raises:
            InputError: the file is damaged; the message names the field.
        """
        path = self.file(SUMMARY)
        return Summary.read(path) if path.is_file() else None

    @by_first
    def write_rows(self, rows: RowsSummary) -> None:
        """Write the summary of the run's rows."""
        write_whole(self.file(ROWS), (to_json(asdict(rows), indent=2) + "\n").encode())

    def rows(self) -> RowsSummary:
        """Read the summary of the run's rows; empty if the file is missing or damaged."""
        try:
            return read_record(RowsSummary, self.file(ROWS))
        except InputError:
            return RowsSummary()

    @by_first
    def write_evaluation(self, evaluation: dict[str, Any]) -> None:
        """Write an evaluation of the run's own rows, as JSON."""
        write_whole(self.file(EVALUATION), (to_json(evaluation, indent=2) + "\n").encode())

    def evaluation(self) -> EvaluationTable | None:
        """Read the table of the saved evaluation; None if the run has not been evaluated.

        Raises:
            InputError: the file is damaged; the message names the field.
        """
        path = self.file(EVALUATION)
        return EvaluationTable.read(path) if path.is_file() else None

    @by_first
    def drop_summary(self) -> None:
        """Remove summary, report, evaluation and ensemble, which more training makes obsolete."""
        for name in (SUMMARY, REPORT, EVALUATION, OLD_EVALUATION, ENSEMBLE):
            _remove(self.path / name)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise InputError if a new run may not use a folder; change nothing on disk.

    Raises:
        InputError: the path is a file, or a folder that holds something other than a run, or a
            folder that holds a run although `overwrite` is False.
    """
    check_folder(f"--out {path}", path)
    if not path.is_dir() or not any(path.iterdir()):
        return
    try:
        RunFolder(path).config()
    except ModelFileError:
        if not are_of_run(path):
            raise InputError(
                f"--out {path}: expected a new or empty folder; got a folder that holds something"
                f" other than a run; {OTHER_NAME}."
            ) from None
    if not overwrite:
        raise _taken(path)


def _taken(path: Path) -> InputError:
    return InputError(
        f"--out {path}: expected a new or empty folder; got one that holds a run; {OTHER_NAME}, or"
        " add --overwrite."
    )


def _first_free(path: Path) -> Path:
    """Create the first of the folders NAME, NAME-2, ... that does not exist; return its path."""
    candidate = path
    for number in itertools.count(2):
        try:
            candidate.mkdir(parents=True)
            break
        except FileExistsError:
            candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def _remove(item: Path) -> None:
    if item.is_dir() and not item.is_symlink():
        shutil.rmtree(item)
    else:
        item.unlink(missing_ok=True)
