"""Writing a table as text, each cell as it was read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .frames import Frame, RawColumn
from .moments import shown_date
from .number_forms import dressed, is_clock
from .text import Cells
from .text_style import TextStyle

SUFFIXES = (".csv", ".tsv")
PLAIN = TextStyle()


def text_of(frame: Frame, path: str | Path, guard: bool = False) -> str:
    """Return a frame as text: separated by tabs for .tsv, else by commas.

    Numbers are written with as many digits after the point as all numbers of their column had; if
    these differed, whole numbers without a point, others with the fewest digits that read back as
    the same number. Dates have the form in which they were read, and missing cells are empty. A
    table without names is written without names. With `guard`, cells that a
    spreadsheet would run as formulas are guarded.
    """
    cells = zip(*map(_cells, frame.columns), strict=True)
    return _text(
        frame.names if frame.has_names else (), cells, path, ",", PLAIN._replace(is_guarded=guard)
    )


def text_with(
    frame: Frame, kept: Frame, source: Cells, path: str | Path, style: TextStyle | None = None
) -> str:
    """Return a filled frame as text in which all cells of the source stand as they stood there.

    Args:
        frame: the table to write: one or several copies of the source's rows, below each other,
            with columns of its own before those of the source.
        kept: the table as it was read; where a cell is missing, that of `frame` is written.
        source: the cells of the file.
        path: the file to write.
        style: how the file wrote them.
    """
    gaps = np.stack([column.is_missing for column in kept.columns], axis=1)
    more = len(frame.columns) - len(kept.columns)
    made = zip(*map(_cells, frame.columns), strict=True)
    rows = (
        [
            *new[:more],
            *(b or a if gap else a for a, b, gap in zip(old, new[more:], at, strict=True)),
        ]
        for new, old, at in zip(made, itertools.cycle(source.rows), itertools.cycle(gaps))
    )
    names = frame.names if frame.has_names else ()
    return _text(names, rows, path, source.delimiter, style or PLAIN, more)


def _text(
    names: Sequence[str],
    rows: Iterable[Sequence[str]],
    path: str | Path,
    separator: str,
    style: TextStyle = PLAIN,
    added: int = 0,
) -> str:
    delimiter = "\t" if Path(path).suffix.lower() == ".tsv" else separator
    first = [style.line(names, delimiter, are_names=True, added=added)] if names else []
    lines = (style.line(row, delimiter, are_names=False, added=added) for row in rows)
    return "".join([style.mark, *first, *lines])


def plain(column: RawColumn) -> list[Any]:
    """Return the cells as numbers and words, dates in their form, None where one is missing."""
    cells = column.values.tolist()
    if column.values.dtype.kind == "M" or is_clock(column.form):
        cells = _cells(column)
    return [None if gap else x for gap, x in zip(column.is_missing, cells, strict=True)]


def _cells(column: RawColumn) -> list[str]:
    missing, values = column.is_missing, column.values
    is_whole = values.dtype.kind == "f" and _are_whole(values[~missing])
    return [
        "" if gap else _cell(value, column.form, is_whole, column.digits)
        for value, gap in zip(values, missing, strict=True)
    ]


def _are_whole(numbers: np.ndarray) -> bool:
    return bool((numbers == np.rint(numbers)).all() and (np.abs(numbers) < 2**53).all())


def _number(value: float, is_whole: bool, digits: int | None) -> str:
    """Return a number with as many digits after the point as its column has, or the fewest."""
    if digits is not None:
        return f"{value:.{digits}f}"
    return str(int(value)) if is_whole else repr(float(value))


def _cell(value: Any, form: str, is_whole: bool, digits: int | None) -> str:
    if isinstance(value, np.datetime64):
        return shown_date(form or "%Y-%m-%d", value)
    if not isinstance(value, float | np.floating):
        return str(value)
    return dressed(_number(float(value), is_whole, digits), form)
