"""Whether a command may use the rows of a run's source, which its folder only names.

A folder from others can name any file of the computer where a command reads it, and the report
would show that file's rows. So rows outside the folder are used only if the folder holds their
hashes, which nobody can write who does not have the rows, or if the user names the file in this
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
    """Return a run's options, to read its rows.

    Args:
        folder: the folder of the run.
        source: the file of rows that the user names in this command; None for the run's own.

    Raises:
        InputError: the run's source is a file outside its folder, of which the folder knows no
            hashes.
    """
    config = folder.config()
    if source is not None:
        return replace(config, source=source, folder=str(Path.cwd()))
    if not _exists(config.origin):
        return config  # of no file: the reader says what it looked for
    if not _is_own(folder, config) and not any(folder.rows().hashes.values()):
        raise InputError(
            f"{folder.path}: expected a source of which the run holds hashes; got {config.origin},"
            " outside the run, and none: another version or user made it; if you know this file"
            f" and may use its rows, add --source {config.origin}."
        )
    return config


def check_hashes(
    folder: RunFolder, config: RunConfig, hashes: Mapping[str, str], has_columns: bool
) -> None:
    """Refuse rows of a source that nobody has named, unless the run is known to have had them.

    Args:
        folder: the folder of the run.
        config: its options.
        hashes: those of the rows that were read, by the name of the part.
        has_columns: whether the source is a table, whose names and words are shown.

    Raises:
        InputError: they are other rows.
    """
    if _is_own(folder, config):
        return
    known = folder.rows().hashes
    # What the columns mean must not come from the file either: its names are content too.
    has_meaning = folder.file(COLUMNS).is_file() or not has_columns
    if not has_meaning or any(known[part] != digest for part, digest in hashes.items()):
        raise InputError(
            f"{config.origin}: expected the rows that {folder.path} began with; got other rows;"
            " restore the source, or name one with --source, if its rows may be used."
        )


def _exists(origin: str) -> bool:
    """Return whether a source may name anything that can be read: a file, a folder or a pattern."""
    if origin in BUILTIN or is_in_blocks(origin):
        return True
    return any(path.exists() for path in _paths(origin))


def _is_own(folder: RunFolder, config: RunConfig) -> bool:
    """Return whether a run's rows are harmonium's own, or lie in the folder of the run."""
    if config.source in BUILTIN and config.origin == config.source:
        return not folder.file(COLUMNS).is_file()  # with which it would be read as a file
    for path in _paths(config.origin):
        if path.is_file():
            return path.resolve().is_relative_to(folder.path.resolve())
    return False


def _paths(origin: str) -> list[Path]:
    """Return the files that a source may name: FILE, or FILE.npz:KEY."""
    return [Path(name) for name in (origin, origin.rpartition(":")[0]) if name]
