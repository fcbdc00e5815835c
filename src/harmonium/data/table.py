"""The `Table`: rows for training a model, their meaning, and notes on their preparation.

Every source, whether a file or a built-in set, becomes a `Table`. A file reader creates a table
whose kind is undecided; the meaning of the numbers or columns is decided later (in `coding` and
`sources`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import count_of
from ..sequences import Sites
from ..tables import Columns, Frame
from .kinds import Kind


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Rows in the user's coding, with their meaning.

    Rows are stored in small types: 0/1 and integer grey levels up to 255 as uint8, spins as int8,
    codes in the smallest unsigned integer type, all other numbers as float32. The rows of a large
    file remain unchanged on disk. Grey levels are converted to [0, 1] as `train / scale`.

    Attributes:
        name: The name of the built-in set, or of the file without its suffix.
        train: The training rows, shape (rows, columns). While the kind is undecided, the array may
            have any shape and dtype, and is None if any cell is missing or not a number.
        kind: The interpretation of the numbers: "binary", "grey", "spins", "codes", "real", or
            "columns" for encoded columns of a table; "undecided" just after reading a file.
        test: The source's own test rows in the same coding, or None.
        validation: The source's own validation rows in the same coding, or None.
        scale: The grey level that means 1; 1.0 for every other kind.
        states: The number of states of each code; None for every other kind.
        image_shape: Height and width of one row as a picture, or None.
        labels: One label for each row of `train`, or None.
        test_labels: One label for each row of `test`, or None.
        weights: One weight for each row of `train`, or None if all rows count equally.
        exhaustive: Whether the rows are the complete distribution rather than a sample, so that
            none are held out.
        notes: One sentence for each step applied to the data.
        columns: The column types, if the kind is "columns"; the numbers are then codes, and NaN
            means a missing cell.
        log_density: For kind "columns", log p(row of the table) − log p(row of codes) for each row,
            in nats.
        sites: The sites of an alignment, for rows of kind "codes" that are sequences.
        groups: A group number for each row of `train`; rows of the same group are held out
            together. None if rows may be held out one by one.
        frame: The cells of a table's columns, as long as the column types are undecided.
        given: The indices of the columns of plain numbers that are given in every row; those of a
            table are recorded in `columns`.
        is_series: Whether earlier rows are given with each row; the groups are blocks of rows.

    Example:
        >>> rows = hm.bars_and_stripes(2)
        >>> table = hm.data.as_table(rows, name="small", image_shape=(2, 2), exhaustive=True)
        >>> table.train.shape, table.kind
        ((8, 4), 'binary')
        >>> table.notes
        ('small: 8 rows of 4 binary values.',)
    """

    name: str
    train: Any
    kind: Kind = Kind.UNDECIDED
    test: np.ndarray | None = None
    validation: np.ndarray | None = None
    scale: float = 1.0
    states: int | None = None
    image_shape: tuple[int, int] | None = None
    labels: np.ndarray | None = None
    test_labels: np.ndarray | None = None
    weights: np.ndarray | None = None
    exhaustive: bool = False
    notes: tuple[str, ...] = ()
    columns: Columns | None = None
    log_density: np.ndarray | None = None
    sites: Sites | None = None
    groups: np.ndarray | None = None
    frame: Frame | None = None
    given: tuple[int, ...] = ()
    is_series: bool = False

    def __post_init__(self) -> None:
        """Convert a kind given as a string."""
        object.__setattr__(self, "kind", Kind(self.kind))


def describe(table: Table, count: int | None = None) -> str:
    """Return a one-line description: "digits: 1,437 rows × 64 grey levels (0–16), ...".

    `count` is the number of rows used for training; None means all rows.
    """
    values = {
        Kind.GREY: f"(0–{table.scale:g})",
        Kind.SPINS: "(−1/+1)",
        Kind.CODES: f"({table.states} states)",
    }
    rows, columns = table.train.shape
    noun = "row"
    meaning = f"{table.kind.noun} {values.get(table.kind, '')}".strip()
    if table.sites is not None:
        noun = "sequence"
        meaning = f"sites ({table.sites.alphabet.name})"
    line = f"{table.name}: {count_of(count or rows, noun)} × {columns:,} {meaning}"
    if table.validation is not None:
        line += f", {count_of(len(table.validation), 'validation row')}"
    if table.test is not None:
        line += f", {count_of(len(table.test), 'test row')}"
    if table.exhaustive:
        line += ", the whole distribution"
    return line
