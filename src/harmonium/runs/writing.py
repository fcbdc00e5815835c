"""Tables that a command writes, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._base.files import bytes_of, unzipped
from ..data.readers import cells_of
from ..io.formats.base import write_whole
from ..tables import Frame, RawColumn
from ..tables.text_format import TextFormat
from ..tables.writing import TextStyle, text_of, text_with


def frame_of(columns: dict[str, np.ndarray]) -> Frame:
    """Return the table of these columns by name: words as objects, numbers as floats."""
    return Frame(tuple(RawColumn(name, values) for name, values in columns.items()))


def write_table(frame: Frame, out: str, guard: bool = False) -> None:
    """Write a table as text, as `text_of` returns it."""
    write_whole(Path(out), text_of(frame, out, guard).encode())


def write_filled(
    frame: Frame,
    kept: Frame,
    source: str,
    out: str,
    text_format: TextFormat | None = None,
    guard: bool = False,
) -> None:
    """Write a table, or several below each other, with all cells of the source as they are there.

    Args:
        frame: the table to write, as `text_with` takes it.
        kept: the table as it was read.
        source: the file from which it was read.
        out: the file to write, separated by tabs for .tsv, else as the source is.
        text_format: how the source was read.
        guard: whether cells that a spreadsheet would run as formulas are guarded.
    """
    cells = cells_of(source, len(kept), text_format, kept)
    if cells is None:
        write_table(frame, out, guard)
        return
    content = unzipped(bytes_of(Path(source), source), source)
    style = TextStyle.of(content, cells.delimiter, len(kept.columns))._replace(is_guarded=guard)
    write_whole(Path(out), text_with(frame, kept, cells, out, style).encode())
