"""The rows that a model learns from, their meaning, and how they were prepared.

Every source, a file or a built-in set, becomes one `Table`: an array of numbers by `as_table`, the
columns of a table by `table_of`, an alignment by `table_of_alignment`.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import count_of
from ..sequences import Alignment, Sites
from ..tables import Columns, Frame
from .kinds import Kind


@dataclass(frozen=True, eq=False, kw_only=True)
class Table:
    """Rows in the user's coding, with their meaning.

    Rows are stored in small types: 0/1 and whole grey levels up to 255 as uint8, spins as int8,
    codes as the smallest unsigned integer type, all others as float32. The rows of a large file
    stay in the file as they are. The value of a grey level is `train / scale`.

    Attributes:
        name: The built-in set's name, or the file's stem.
        train: The training rows, shape (rows, columns).
        kind: What the numbers are: "binary", "grey", "spins", "codes", "real", or the codes of
            "columns" of a table.
        test: The source's own test rows in the same coding, or None.
        validation: The source's own validation rows in the same coding, or None.
        scale: The grey level that means 1; 1.0 for every other kind.
        states: The number of states of each code; None for every other kind.
        image_shape: Height and width of one row as a picture, or None.
        labels: One label for each row of `train`, or None.
        test_labels: One label for each row of `test`, or None.
        weights: One weight for each row of `train`, or None if all count equally.
        exhaustive: Whether the rows are the whole distribution, so that none are held out.
        notes: One sentence for each step that was applied to the data.
        columns: What the columns mean, for rows of kind "columns", whose numbers are their codes;
            NaN stands for a missing cell.
        log_density: For such rows, log p(row of the table) − log p(row of codes) of each.
        sites: What the sites of an alignment mean, for rows of kind "codes" that are sequences.
        groups: A number for each row of `train`; rows of one group are held out together. None if
            each row may be held out by itself.

    Example:
        >>> rows = hm.bars_and_stripes(2)
        >>> table = hm.data.as_table(rows, name="small", image_shape=(2, 2), exhaustive=True)
        >>> table.train.shape, table.kind, table.is_discrete
        ((8, 4), 'binary', True)
        >>> table.notes
        ('small: 8 rows of 4 binary values.',)
    """

    name: str
    train: np.ndarray
    kind: Kind
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

    def __post_init__(self) -> None:
        """Take the kind as a word too."""
        object.__setattr__(self, "kind", Kind(self.kind))

    @property
    def is_discrete(self) -> bool:
        """Whether all values are known, and each is one of a few."""
        if self.columns is not None:
            complete = not np.isnan(self.train).any()
            return complete and self.columns.layer.n_states is not None
        return self.kind != Kind.REAL


def describe(table: Table, kept: int | None = None) -> str:
    """Return one line on a table: "digits: 1,437 rows × 64 grey levels (0–16), ...".

    `kept` is the number of its rows that are used for training; all of them if None.
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
    line = f"{table.name}: {count_of(kept or rows, noun)} × {columns:,} {meaning}"
    if table.validation is not None:
        line += f", {count_of(len(table.validation), 'validation row')}"
    if table.test is not None:
        line += f", {count_of(len(table.test), 'test row')}"
    return line + (", the whole distribution" if table.exhaustive else "")


def table_of(frame: Frame, columns: Columns, *, name: str, source: str) -> Table:
    """Return the rows of a table of named columns, as codes.

    Args:
        frame: the cells.
        columns: what they mean.
        name: the table's name.
        source: what error messages call it.

    Raises:
        InputError: a cell that a column does not know.
    """
    return Table(
        name=name,
        train=columns.encode(frame, source),
        kind=Kind.COLUMNS,
        notes=tuple(columns.described(frame)),
        columns=columns,
        log_density=columns.log_density(frame),
    )


def table_of_alignment(alignment: Alignment, *, name: str) -> Table:
    """Return the sequences of an alignment as codes, with their weights and clusters."""
    return Table(
        name=name,
        train=alignment.codes,
        kind=Kind.CODES,
        states=alignment.sites.states,
        weights=alignment.weights.astype(np.float32),
        notes=alignment.notes,
        sites=alignment.sites,
        groups=alignment.neighbours.cluster,
    )


def table_of_sequences(
    codes: np.ndarray, sites: Sites, *, name: str, notes: tuple[str, ...] = ()
) -> Table:
    """Return sequences that a model of these sites is to score: all rows, each of weight 1."""
    return Table(
        name=name,
        train=codes,
        kind=Kind.CODES,
        states=sites.states,
        sites=sites,
        notes=notes,
    )
