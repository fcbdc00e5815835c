"""Tables that a command writes, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..io.formats.base import write_whole
from ..tables import Frame, RawColumn
from ..tables.writing import text_of


def frame_of(columns: dict[str, np.ndarray]) -> Frame:
    """Return the table of these columns by name: words as objects, numbers as floats."""
    return Frame(tuple(RawColumn(name, values) for name, values in columns.items()))


def write_table(frame: Frame, out: str) -> None:
    """Write a table as text, separated by tabs for .tsv, else by commas."""
    write_whole(Path(out), text_of(frame, out).encode())
