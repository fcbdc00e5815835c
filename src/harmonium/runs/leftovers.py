"""What runs leave in their folders, and whether a folder without options is that of a run."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import InputError
from ..io.storage import MODEL
from .checkpoints import CHECKPOINTS, Checkpoints

CONFIG = "config.json"
METRICS = "metrics.jsonl"
COLUMNS = "columns.json"
SITES = "sites.json"
ROWS = "rows.json"  # what the run learned of its rows, and hashes by which they are known
SUMMARY = "summary.json"
REPORT = "report.html"
STUDY = "study.db"  # of `harmonium tune`: its runs are folders beside it
STUDY_BEFORE_0_1 = "study.journal"
EVALUATION = "evaluation.json"  # of the run's own rows, by `harmonium evaluate`
OLD_EVALUATION = "evaluation"  # pictures that earlier versions drew
ENSEMBLE = "ensemble"  # all models of a run of several
LEFT_BY_RUNS = (
    METRICS,
    COLUMNS,
    SITES,
    ROWS,
    MODEL,
    SUMMARY,
    REPORT,
    CHECKPOINTS,
    "pictures",  # of earlier versions, as is the next
    OLD_EVALUATION,
    EVALUATION,
    ENSEMBLE,
)
BEGUN = {CONFIG, METRICS, CHECKPOINTS}  # by a run that has written nothing yet
PARTIAL = ".partial"  # the end of the name of a file that is being written


def is_run(path: str | os.PathLike) -> bool:
    """Return whether a path is the folder of a run."""
    return Path(path, CONFIG).is_file()


def trials_in(path: str | os.PathLike) -> list[Path]:
    """Return the folders of the runs of `harmonium tune`; none if the path is no folder of its."""
    if not any(Path(path, study).is_file() for study in (STUDY, STUDY_BEFORE_0_1)):
        return []
    return sorted(config.parent for config in Path(path).glob(f"trial-*/{CONFIG}"))


def are_of_run(folder: Path) -> bool:
    """Return whether the files of a folder without options are those of a run.

    A disk that was full, or a computer that lost its power, may leave config.json empty. Such a
    folder may be replaced by a new run, but never one that may be anything else: it has a
    checkpoint of harmonium's, or empty files of the names that a run begins with and nothing more.
    """
    names = {path.name for path in folder.iterdir() if not path.name.endswith(PARTIAL)}
    if CONFIG not in names or not names <= {CONFIG, *LEFT_BY_RUNS} or _size(folder / CONFIG):
        return False
    return _has_checkpoint(folder) or (names <= BEGUN and not any(map(_size, folder.iterdir())))


def _has_checkpoint(folder: Path) -> bool:
    try:
        return Checkpoints(folder).whole.exists()
    except InputError:
        return False


def _size(path: Path) -> int:
    """Return the number of bytes of a file, or of files in a folder; a link counts as one."""
    if path.is_symlink():
        return 1
    return sum(1 for _ in os.scandir(path)) if path.is_dir() else path.stat().st_size
