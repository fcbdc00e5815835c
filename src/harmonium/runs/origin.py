"""Decide whether a command may read a run's source, which the run's folder only names.

A folder made by someone else can name any file on the computer that reads the folder, and the
report would show that file's rows. So rows outside the folder are used only if the folder holds
their hashes, which cannot be computed without the rows, or if the user names the file in this
command.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..data.block_files import is_in_blocks
from ..data.builtin import BUILTIN
from ..errors import InputError
from .folder import RunFolder
from .leftovers import COLUMNS
from .train_options import RunConfig


def config_of(folder: RunFolder, source: str | None = None) -> RunConfig:
    """Return a run's options, after checking that its rows may be read.

    Args:
        folder: the folder of the run.
        source: a file of rows named by the user in this command; None for the run's own.

    Raises:
        InputError: the run's source is a file outside its folder, and the folder has no hashes of
            the source.
    """
    config = folder.config()
    if source is not None:
        return replace(config, source=source, folder=str(Path.cwd()))
    if not _exists(config.origin):
        return config  # the source names no file, and reading it raises a clear error
    if not _is_own(folder, config) and not any(folder.rows().hashes.values()):
        raise InputError(
            f"{folder.path}: expected hashes of the run's rows, since {config.origin} is outside"
            " the run's folder; got none, so another user or version made the run; if you know this"
            f" file and may use its rows, add --source {config.origin}."
        )
    return config


def check_hashes(
    folder: RunFolder, config: RunConfig, hashes: Mapping[str, str], has_columns: bool
) -> None:
    """Raise InputError if rows from outside the run's folder differ from the run's own rows.

    Args:
        folder: the folder of the run.
        config: the options of the run.
        hashes: hashes of the rows that were read, by name of the part.
        has_columns: whether the source is a table, whose column names and words are shown.

    Raises:
        InputError: the rows differ from the run's rows.
    """
    if _is_own(folder, config):
        return
    known = folder.rows().hashes
    # Column types must not be inferred from the file either: column names are contents too.
    has_meaning = folder.file(COLUMNS).is_file() or not has_columns
    if not has_meaning or any(known[part] != digest for part, digest in hashes.items()):
        raise InputError(
            f"{config.origin}: expected the rows that {folder.path} began with; got other rows;"
            " restore the source, or name a file with --source if you may use its rows."
        )


def _exists(origin: str) -> bool:
    """Return whether a source may be readable: a data set, an existing file, or a pattern."""
    if origin in BUILTIN or is_in_blocks(origin):
        return True
    return any(path.exists() for path in _paths(origin))


def _is_own(folder: RunFolder, config: RunConfig) -> bool:
    """Return whether a run's rows are a built-in data set, or are in the folder of the run."""
    if config.source in BUILTIN and config.origin == config.source:
        return not folder.file(COLUMNS).is_file()  # with column types, such a file is read
    for path in _paths(config.origin):
        if path.is_file():
            return path.resolve().is_relative_to(folder.path.resolve())
    return False


def _paths(origin: str) -> list[Path]:
    """Return the files that a source may refer to, as FILE or FILE.npz:KEY."""
    return [Path(name) for name in (origin, origin.rpartition(":")[0]) if name]
