"""Write files whole or not at all, and never overwrite an existing file unless asked to."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .._base.files import bytes_of, unzipped
from ..data.readers import cells_of
from ..errors import InputError
from ..io.formats.base import write_whole
from ..tables import Frame, RawColumn
from ..tables.text_format import TextFormat
from ..tables.writing import TextStyle, text_of, text_with

OTHER_NAME = "choose another name"


def check_target(name: str, out: str, suffixes: Sequence[str], overwrite: bool) -> None:
    """Raise InputError if a file cannot be written in these formats, or must not be overwritten.

    Args:
        name: the name of the file in error messages.
        out: the file.
        suffixes: the file-name suffixes of the formats that can be written.
        overwrite: whether the file may already exist.
    """
    path = Path(out)
    check_path(name, path)
    if path.suffix.lower() not in suffixes:
        endings = " or ".join(filter(None, (", ".join(suffixes[:-1]), suffixes[-1])))
        raise InputError(f"{name}: expected a name ending in {endings}; got {path.name!r}.")
    if path.is_dir():
        raise InputError(f"{name}: expected a file; got a folder; {OTHER_NAME}.")
    if not path.absolute().parent.is_dir():
        raise InputError(
            f"{name}: expected a file in a folder that exists; got no folder"
            f" {str(path.parent)!r}; create this folder first."
        )
    if path.exists() and not overwrite:
        raise InputError(
            f"{name}: expected a new file; got one that exists; {OTHER_NAME}, or add --overwrite."
        )


def check_path(name: str, path: Path) -> None:
    """Raise InputError for an impossible file name, or for a link to a path that does not exist.

    Args:
        name: the name of the file or folder in error messages.
        path: the path to which it is to be written.
    """
    if "\0" in str(path):
        raise InputError(
            f"{name}: expected a name without the character NUL; got {str(path)!r}; {OTHER_NAME}."
        )
    for link in (path, *path.parents):
        if link.is_symlink() and not link.exists():
            raise InputError(
                f"{name}: expected a place to write to; got a link to {link.readlink()}, which"
                f" does not exist; remove the link {link}."
            )


def check_folder(name: str, path: Path) -> None:
    """Raise InputError unless a path is a writable folder or can become one; change nothing.

    Args:
        name: the name of the folder in error messages.
        path: the folder.

    Raises:
        InputError: the path is a file, or the folder is not writable.
    """
    check_path(name, path)
    if path.exists() and not path.is_dir():
        raise InputError(f"{name}: expected a folder; got a file; {OTHER_NAME}.")
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not existing.is_dir():
        obstacle = f"a file at {existing}"
    elif not os.access(existing, os.W_OK):
        obstacle = f"no permission to write in {existing}"
    else:
        return
    raise InputError(
        f"{name}: expected a folder that can be written to; got {obstacle}; {OTHER_NAME}."
    )


def frame_of(columns: dict[str, np.ndarray]) -> Frame:
    """Return a table with these named columns: text as objects, numbers as floats."""
    return Frame(tuple(RawColumn(name, values) for name, values in columns.items()))


def write_table(frame: Frame, out: str, guard: bool = False) -> None:
    """Write a table to a text file, in the form that `text_of` returns."""
    write_whole(Path(out), text_of(frame, out, guard).encode())


def write_filled(
    frame: Frame,
    original: Frame,
    source: str,
    out: str,
    text_format: TextFormat | None = None,
    guard: bool = False,
) -> None:
    """Write a table, or several stacked tables, with known cells spelled as in the source.

    Args:
        frame: the table to write, in the form for `text_with`.
        original: the table as it was read.
        source: the file from which the table was read.
        out: the file to write: tab-separated if .tsv, otherwise with the source's separator.
        text_format: how the source was read.
        guard: whether to write ' before cells that a spreadsheet would run as formulas.
    """
    cells = cells_of(source, len(original), text_format, original)
    if cells is None:
        write_table(frame, out, guard)
        return
    content = unzipped(bytes_of(Path(source), source), source)
    style = TextStyle.of(content, cells.delimiter, len(original.columns))._replace(is_guarded=guard)
    write_whole(Path(out), text_with(frame, original, cells, out, style).encode())
