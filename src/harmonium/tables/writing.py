"""Writing a table as text, each cell as it was read."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from .frames import Frame, RawColumn

SUFFIXES = (".csv", ".tsv")


def text_of(frame: Frame, path: str | Path) -> str:
    """Return a frame as text: separated by tabs for .tsv, else by commas.

    Columns of whole numbers are written without a point, others with the fewest digits that read
    back as the same number, dates in the form in which they were read, and missing cells empty. A
    table without names is written without names.
    """
    out = io.StringIO()
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    if frame.has_names:
        writer.writerow(frame.names)
    writer.writerows(zip(*map(_cells, frame.columns), strict=True))
    return out.getvalue()


def plain(column: RawColumn) -> list[Any]:
    """Return the cells as numbers and words, dates in their form, None where one is missing."""
    cells = column.values.tolist()
    if column.values.dtype.kind == "M":
        cells = _cells(column)
    return [None if gap else x for gap, x in zip(column.is_missing, cells, strict=True)]


def _cells(column: RawColumn) -> list[str]:
    missing, values = column.is_missing, column.values
    is_whole = values.dtype.kind == "f" and _are_whole(values[~missing])
    return [
        "" if gap else _cell(value, column.form, is_whole)
        for value, gap in zip(values, missing, strict=True)
    ]


def _are_whole(numbers: np.ndarray) -> bool:
    return bool((numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all())


def _cell(value: Any, form: str, is_whole: bool) -> str:
    if isinstance(value, np.datetime64):
        moment: datetime = value.astype("datetime64[us]").item()
        return moment.strftime(form or "%Y-%m-%d")
    if not isinstance(value, float | np.floating):
        return str(value)
    number = str(int(value)) if is_whole else repr(float(value))
    before, _, after = form.partition("#")
    if form == "," or after.startswith(","):
        number, after = number.replace(".", ","), after.removeprefix(",")
    if "#" not in form:
        return number
    return f"{'-' * number.startswith('-')}{before}{number.removeprefix('-')}{after}"
