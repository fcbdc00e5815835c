"""The mapping from a table's columns to the units of a layer: types and codings by column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..data.groups import column_groups
from ..errors import InputError
from ..layers import AbstractLayer, Exclusive, Mixed
from ..layers.capabilities import is_rescalable, is_shiftable
from ..layers.registry import layer_named
from ..tables.columns import KINDS
from ..tables.containers import AbstractContainer, ArrayLike
from ..tables.frames import frame_of_array
from .base import FLOATS

READ_AS_TABLE = "table"
TABLE_KINDS = (
    "auto",
    READ_AS_TABLE,
    *map(str, KINDS),
)  # further values of `visible`, in addition to the names of layers


@dataclass(frozen=True, eq=False)
class Part:
    """Columns of the same kind, which form one layer.

    Attributes:
        kind: the kind of the columns, such as "gaussian" or "potts".
        columns: the indices of the columns in the table.
        offset, scale: for each column, the offset to subtract and the scale to divide by.
        categories: for columns of codes, the sorted values of each column, indexed by the codes.
        groups: groups of 0/1 columns that encode one categorical variable, as positions in
            `columns`.
    """

    kind: str
    columns: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    categories: tuple[np.ndarray, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()

    @property
    def layer(self) -> AbstractLayer:
        """A layer of this kind with one unit for each column."""
        if self.groups:
            return Exclusive(len(self.columns), self.groups)
        states = None
        if self.categories:
            states = max(2, len(self.categories[0]))
        return layer_named(self.kind, "visible", *TABLE_KINDS).make(len(self.columns), states)

    def encode(self, table: np.ndarray, name: str) -> np.ndarray:
        """Encode the columns as units of the layer."""
        if not self.categories:
            self._check(table, name)
            return (table[:, self.columns] - self.offset) / self.scale
        pairs = zip(self.columns, self.categories, strict=True)
        return np.stack([_codes(table[:, c], values, c, name) for c, values in pairs], axis=1)

    def _check(self, table: np.ndarray, name: str) -> None:
        """Raise InputError, naming the table column, if any entry is outside the domain."""
        cells = table[:, self.columns]
        wrong = self.layer.coding.outside(cells) & ~np.isnan(cells)
        if wrong.any():
            row, unit = np.argwhere(wrong)[0]
            place = self.columns[unit]
            domain = self.layer.coding.describe(0)
            raise InputError(
                f"{name}: {domain}; got {table[row, place]:g} in row {row}, column {place}"
                f" (number of invalid values: {int(wrong.sum()):,})."
            )

    def decode(self, rows: np.ndarray) -> np.ndarray:
        """Decode encoded rows to the columns of the table."""
        if not self.categories:
            return rows * self.scale + self.offset
        pairs = zip(rows.T.astype(int), self.categories, strict=True)
        return np.stack([values[np.minimum(c, len(values) - 1)] for c, values in pairs], axis=1)

    def decode_means(self, means: np.ndarray) -> np.ndarray:
        """Decode mean states to table columns; for categories, choose the most probable one."""
        if not self.categories:
            return self.decode(means)
        by_site = means.reshape(len(means), len(self.columns), -1)
        return self.decode(by_site[..., : len(self.categories[0])].argmax(-1))


@dataclass(frozen=True, eq=False)
class Columns:
    """The mapping from a table's columns to the units of a layer, divided into parts.

    Attributes:
        parts: the parts, each of which has columns of the same kind.
        count: the number of columns.
        container: the type of array or data frame passed to `fit`, in which results are returned.
    """

    parts: tuple[Part, ...]
    count: int
    container: AbstractContainer = field(default_factory=lambda: ArrayLike(np.dtype(float)))

    @property
    def layer(self) -> AbstractLayer:
        """A new layer: the layer of the only part, or a `Mixed` layer of several parts."""
        layers = [part.layer for part in self.parts]
        if len(layers) == 1:
            return layers[0]
        return Mixed(*layers)

    def checked(self, estimator: Any, X: Any) -> np.ndarray:
        """Check that X has the columns of `fit`, and return it as an array of numbers."""
        allow_nan: Any = "allow-nan"
        return np.asarray(
            validate_data(estimator, X, reset=False, dtype=FLOATS, ensure_all_finite=allow_nan)
        )

    @property
    def table(self) -> Any:
        """Raise InputError, since `ask` needs named columns, which an array of numbers lacks.

        Raises:
            InputError: always.
        """
        raise InputError(
            "ask: expected an estimator fitted to a table with named columns; got one fitted to an"
            ' array of numbers; fit it to a data frame, or set visible="table".'
        )

    def dtype_of(self, table: np.ndarray) -> Any:
        """Return the floating-point type to compute with."""
        return table.dtype

    def log_density(self, table: np.ndarray) -> np.ndarray:
        """Return log p(row) − log p(encoded row) = −Σ log scale, summed over the known cells."""
        scales = np.ones(self.count)
        for part in self.parts:
            scales[part.columns] = part.scale
        return -(~np.isnan(table) @ np.log(scales))

    def encode(self, table: np.ndarray, name: str = "X") -> np.ndarray:
        """Encode the rows of a table.

        Raises:
            InputError: a cell contains a category that was not seen in `fit`.
        """
        return np.concatenate([part.encode(table, name) for part in self.parts], axis=1)

    def decode(self, rows: np.ndarray) -> Any:
        """Decode encoded rows to a table."""
        table = self._table(rows, [len(part.columns) for part in self.parts], Part.decode)
        return self.container.rows(frame_of_array(table, ()))

    def decode_means(self, means: np.ndarray) -> Any:
        """Decode mean states to a table."""
        widths = [part.layer.size for part in self.parts]
        table = self._table(means, widths, Part.decode_means)
        return self.container.means(frame_of_array(table, ()))

    def _table(
        self, array: np.ndarray, widths: Sequence[int], decode: Callable[[Part, np.ndarray], Any]
    ) -> np.ndarray:
        table = np.empty((len(array), self.count))
        pieces = np.split(array, np.cumsum(widths)[:-1], axis=1)
        for part, piece in zip(self.parts, pieces, strict=True):
            table[:, part.columns] = decode(part, piece)
        return table


def read_columns(spec: Any, table: np.ndarray, names: Any = None) -> Columns:
    """Choose the units for the columns of a table.

    Args:
        spec: the name of one kind for all columns; or pairs (kind, columns), with columns by index,
            by name, as a slice or as a mask; or "auto" to choose a kind for each column: "ising" if
            all values are −1 or 1 and some are −1, "bernoulli" if all are in [0, 1], else
            "gaussian". With "auto", mutually exclusive 0/1 columns are treated as one categorical
            variable.
        table: the rows, shape (n, columns).
        names: the columns' names, or None.

    Raises:
        InputError: a kind is unknown, or a column is assigned to no pair or to several pairs.
    """
    count = table.shape[1]
    is_auto = isinstance(spec, str) and spec == "auto"
    if is_auto:
        kinds = [_kind_of(column) for column in table.T]
    elif isinstance(spec, str):
        kinds = [spec] * count
    else:
        kind_of = kinds_by_place(spec, count, names, "visible")
        missing = sorted(set(range(count)) - set(kind_of))
        if missing:
            raise InputError(f"visible: expected a kind for every column; got none for {missing}.")
        kinds = [kind_of[place] for place in range(count)]
    parts = []
    for kind in dict.fromkeys(kinds):
        parts += _parts(kind, np.flatnonzero(np.array(kinds) == kind), table)
    if is_auto:
        parts = [_with_groups(part, table) for part in parts]
    return Columns(tuple(parts), count)


def _with_groups(part: Part, table: np.ndarray) -> Part:
    """Add the groups of mutually exclusive 0/1 columns to a part, unless cells are missing."""
    if part.kind != "bernoulli" or np.isnan(table[:, part.columns]).any():
        return part
    return replace(part, groups=column_groups(table[:, part.columns]).all)


def _parts(kind: str, columns: np.ndarray, table: np.ndarray) -> list[Part]:
    """Return the parts of one kind: one part or, for categories, one per number of categories."""
    cells = table[:, columns]
    row = layer_named(kind, "visible", *TABLE_KINDS)
    if row.rows != "codes":
        layer = row.make(len(columns))
        cells = np.where(np.isnan(cells).all(0), 0.0, cells)  # a column without values has no scale
        # The deviation of a constant column is rounding error, not a scale.
        is_constant = np.nanmax(cells, 0) == np.nanmin(cells, 0)
        deviation = np.nanstd(cells, 0, dtype=float)
        scale = np.where(is_constant | ~is_rescalable(layer), 1.0, deviation)
        offset = np.where(is_shiftable(layer), np.nanmean(cells, 0, dtype=float), 0.0)
        return [Part(kind, columns, offset, scale)]
    categories = [np.unique(column[~np.isnan(column)]) for column in cells.T]
    counts = np.array([len(values) for values in categories])
    parts = []
    for count in np.unique(counts):
        places = np.flatnonzero(counts == count)
        n = len(places)
        values = tuple(categories[place] for place in places)
        parts.append(Part(kind, columns[places], np.zeros(n), np.ones(n), values))
    return parts


def _kind_of(column: np.ndarray) -> str:
    column = column[~np.isnan(column)]
    if not len(column):
        return "gaussian"
    if np.isin(column, (-1, 1)).all() and (column < 0).any():
        return "ising"
    if column.min() >= 0 and column.max() <= 1:
        return "bernoulli"
    return "gaussian"


def kinds_by_place(spec: Any, count: int, names: Any, argument: str) -> dict[int, str]:
    """Return the kinds of the specified columns, keyed by column index.

    Args:
        spec: a mapping from names to kinds, or pairs (kind, columns) as in scikit-learn's
            `ColumnTransformer`, with columns by index, name, slice or mask.
        count: the number of columns.
        names: the names of the columns, or None.
        argument: the name of the argument for error messages.

    Raises:
        InputError: the form of `spec` is invalid, or a column does not exist or is specified
            twice.
    """
    kinds: dict[int, str] = {}
    try:
        if isinstance(spec, Mapping):
            spec = [(kind, [name]) for name, kind in spec.items()]
        for kind, columns in spec:
            for place in places_of(columns, count, names):
                if place in kinds:
                    raise ValueError(f"column {place} is named twice")
                kinds[place] = kind
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{argument}: expected a mapping from names to kinds, or a list of pairs"
            f" (kind, columns); got {spec!r} ({error})."
        ) from None
    return kinds


def places_of(columns: Any, count: int, names: Any) -> list[int]:
    """Return the indices of the columns selected by a slice, a mask, indices or names.

    Raises:
        ValueError: there are no such columns.
    """
    if isinstance(columns, slice):
        return list(range(count))[columns]
    if isinstance(columns, int | str | np.integer):
        columns = [columns]
    selection = list(columns)
    if selection and all(isinstance(entry, bool | np.bool_) for entry in selection):
        if len(selection) != count:
            raise ValueError(f"the mask has {len(selection)} entries for {count} columns")
        return np.flatnonzero(selection).tolist()
    known = [] if names is None else list(names)
    places = [known.index(entry) if isinstance(entry, str) else int(entry) for entry in selection]
    if any(not -count <= place < count for place in places):
        raise ValueError(f"there are {count} columns")
    return [place % count for place in places]


def _codes(column: np.ndarray, values: np.ndarray, place: int, name: str) -> np.ndarray:
    values = values.astype(min(values.dtype, column.dtype, key=lambda dtype: dtype.itemsize))
    column = column.astype(values.dtype)
    missing = np.isnan(column)
    codes = np.searchsorted(values, column)
    wrong = (values[np.minimum(codes, len(values) - 1)] != column) & ~missing
    if wrong.any():
        row = int(np.argmax(wrong))
        known = ", ".join(f"{value:g}" for value in values[:10])
        raise InputError(
            f"{name}: expected, in column {place}, a category seen in fit, such as {known}; got"
            f" {column[row]:g} in row {row}."
        )
    if not missing.any():
        return codes
    return np.where(missing, np.nan, codes)
