"""Tables from files of any format."""

from __future__ import annotations

import os

import numpy as np

from ..errors import input_error
from ..tables import Columns, Frame
from ..tables.frames import frame_of_array
from ..tables.text_format import TextFormat
from .readers import Contents, read_file


def read_frame(
    path: str | os.PathLike,
    known: Columns | None = None,
    text_format: TextFormat | None = None,
) -> Frame:
    """Read the columns of a table; those of an array are named by their numbers.

    Args:
        path: the file.
        known: columns of a table, as which those of the same name are read.
        text_format: how a text file is read, as far as it is not decided.

    Raises:
        InputError: as `read_file`, or an array that is no matrix of numbers.
    """
    empty = None if known is None else known.empty
    return frame_in(read_file(path, known=empty, text_format=text_format), str(path))


def frame_in(found: Contents, label: str) -> Frame:
    """Return the columns of a file that was read; `read_frame` says what is raised."""
    if found.frame is not None:
        return found.frame
    rows = np.asarray(found.train)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        shown = f"an array of {rows.dtype}, shape {rows.shape}"
        raise input_error(label, "a table", shown, "give rows of columns")
    return frame_of_array(rows, ())
