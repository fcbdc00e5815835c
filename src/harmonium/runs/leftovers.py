"""The names of the files in run folders, and tests of whether a folder belongs to a run."""

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
ROWS = "rows.json"  # what the run learned about its rows, and hashes that identify them
SUMMARY = "summary.json"
REPORT = "report.html"
STUDY = "study.db"  # written by `harmonium tune`, next to the folders of its runs
STUDY_BEFORE_0_1 = "study.journal"
EVALUATION = "evaluation.json"  # scores of the run's own rows, by `harmonium evaluate`
OLD_EVALUATION = "evaluation"  # pictures that earlier versions drew
ENSEMBLE = "ensemble"  # all models of an ensemble
LEFT_BY_RUNS = (
    METRICS,
    COLUMNS,
    SITES,
    ROWS,
    MODEL,
    SUMMARY,
    REPORT,
    CHECKPOINTS,
    "pictures",  # written by earlier versions, like the next entry
    OLD_EVALUATION,
    EVALUATION,
    ENSEMBLE,
)
BEGUN = {CONFIG, METRICS, CHECKPOINTS}  # the first files of a run
PARTIAL = ".partial"  # suffix of a file that is being written


def is_run(path: str | os.PathLike) -> bool:
    """Return whether a path is the folder of a run."""
    return Path(path, CONFIG).is_file()


def trials_in(path: str | os.PathLike) -> list[Path]:
    """Return the run folders of a `harmonium tune` search; empty if the path is not a search."""
    if not any(Path(path, study).is_file() for study in (STUDY, STUDY_BEFORE_0_1)):
        return []
    return sorted(config.parent for config in Path(path).glob(f"trial-*/{CONFIG}"))


def are_of_run(folder: Path) -> bool:
    """Return whether a folder whose options cannot be read contains only files of a run.

    A full disk or a power failure may leave config.json empty. A new run may replace such a folder,
    but must not replace a folder that may hold anything else. So the folder must contain a
    harmonium checkpoint, or only empty files with the names of a run's first files.
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
    """Return the size of a file in bytes, or a folder's number of entries; 1 for a link."""
    if path.is_symlink():
        return 1
    return sum(1 for _ in os.scandir(path)) if path.is_dir() else path.stat().st_size
