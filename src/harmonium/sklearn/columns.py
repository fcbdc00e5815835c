"""The mapping from a table's columns to the units of a layer: types by column, and codings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from ..data.groups import column_groups
from ..errors import InputError
from ..layers import AbstractLayer, Exclusive, Mixed
from ..layers.capabilities import is_rescalable, is_shiftable
from ..layers.registry import layer_named
from ..tables.arrays import ArrayLike
from ..tables.base_container import AbstractContainer
from ..tables.frames import frame_of_array
from .base import FLOATS


def hidden_layer(kind: Any, size: int) -> AbstractLayer:
    """Return a hidden layer by its registered name, or by ("potts", 3) for units of 3 states.

    Raises:
        InputError: an unknown name.
    """
    name, states = kind if isinstance(kind, tuple) and len(kind) == 2 else (kind, None)
    return layer_named(name, "hidden").make(size, states)


@dataclass(frozen=True, eq=False)
class Part:
    """Columns of one kind, which form one layer.

    Attributes:
        kind: the name of the kind.
        columns: the indices of the columns in the table.
        offset, scale: each column has its offset subtracted and is then divided by its scale.
        categories: for columns of codes, the sorted values of each column; a code is an index.
        groups: groups of 0/1 columns that say one thing, by their places among `columns`.
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
        states = max(2, len(self.categories[0])) if self.categories else None
        return layer_named(self.kind, "visible", "auto").make(len(self.columns), states)

    def encode(self, table: np.ndarray, name: str) -> np.ndarray:
        """Return the columns in the library's coding."""
        if not self.categories:
            self._check(table, name)
            return (table[:, self.columns] - self.offset) / self.scale
        pairs = zip(self.columns, self.categories, strict=True)
        return np.stack([_codes(table[:, c], values, c, name) for c, values in pairs], axis=1)

    def _check(self, table: np.ndarray, name: str) -> None:
        """Raise InputError for the first entry outside the domain, with its column in the table."""
        cells = table[:, self.columns]
        wrong = self.layer.coding.outside(cells) & ~np.isnan(cells)
        if wrong.any():
            row, unit = np.argwhere(wrong)[0]
            place, domain = self.columns[unit], self.layer.coding.describe(0)
            found = f"found {table[row, place]:g} in row {row}, column {place}"
            raise InputError(f"{name}: {domain}; {found} ({int(wrong.sum())} such entries).")

    def decode(self, rows: np.ndarray) -> np.ndarray:
        """Return columns of the table from rows in the library's coding."""
        if not self.categories:
            return rows * self.scale + self.offset
        pairs = zip(rows.T.astype(int), self.categories, strict=True)
        return np.stack([values[np.minimum(c, len(values) - 1)] for c, values in pairs], axis=1)

    def decode_means(self, means: np.ndarray) -> np.ndarray:
        """Return columns of the table from mean states; for codes, the most probable category."""
        if not self.categories:
            return self.decode(means)
        by_site = means.reshape(len(means), len(self.columns), -1)
        return self.decode(by_site[..., : len(self.categories[0])].argmax(-1))


@dataclass(frozen=True, eq=False)
class Columns:
    """The mapping from a table's columns to the units of a layer, part by part.

    Attributes:
        parts: columns of one kind each.
        count: how many columns there are.
        container: what rows were in, as results are.
    """

    parts: tuple[Part, ...]
    count: int
    container: AbstractContainer = field(default_factory=lambda: ArrayLike(np.dtype(float)))

    @property
    def layer(self) -> AbstractLayer:
        """The layer without parameters: that of the only part, or a `Mixed` layer of all parts."""
        layers = [part.layer for part in self.parts]
        return layers[0] if len(layers) == 1 else Mixed(*layers)

    def checked(self, estimator: Any, X: Any) -> np.ndarray:
        """Return X, which must have the columns of `fit`, as an array of numbers."""
        finite: Any = "allow-nan"
        return np.asarray(
            validate_data(estimator, X, reset=False, dtype=FLOATS, ensure_all_finite=finite)
        )

    def dtype_of(self, table: np.ndarray) -> Any:
        """Return the type of number to compute with."""
        return table.dtype

    def log_density(self, table: np.ndarray) -> np.ndarray:
        """Return log p(row) − log p(encoded row) = −Σ log scale, over the cells that are there."""
        scales = np.ones(self.count)
        for part in self.parts:
            scales[part.columns] = part.scale
        return -(~np.isnan(table) @ np.log(scales))

    def encode(self, table: np.ndarray, name: str = "X") -> np.ndarray:
        """Return rows in the library's coding.

        Raises:
            InputError: a category that did not occur in `fit`.
        """
        return np.concatenate([part.encode(table, name) for part in self.parts], axis=1)

    def decode(self, rows: np.ndarray) -> Any:
        """Return the table from rows in the library's coding."""
        table = self._gathered(rows, [len(p.columns) for p in self.parts], Part.decode)
        return self.container.rows(frame_of_array(table, ()))

    def decode_means(self, means: np.ndarray) -> Any:
        """Return the table from mean states."""
        table = self._gathered(means, [p.layer.size for p in self.parts], Part.decode_means)
        return self.container.means(frame_of_array(table, ()))

    def _gathered(
        self, array: np.ndarray, widths: Sequence[int], read: Callable[[Part, np.ndarray], Any]
    ) -> np.ndarray:
        table = np.empty((len(array), self.count))
        pieces = np.split(array, np.cumsum(widths)[:-1], axis=1)
        for part, piece in zip(self.parts, pieces, strict=True):
            table[:, part.columns] = read(part, piece)
        return table


def read_columns(spec: Any, table: np.ndarray, names: Any = None) -> Columns:
    """Return the mapping from the columns of a table to units.

    Args:
        spec: the name of a kind for all columns; "auto" to choose for each column: spins if all
            values are −1 or 1 and some are −1, Bernoulli if all lie in [0, 1], else Gaussian, and
            groups of 0/1 columns of which at most one is ever on as one category each; or
            pairs (kind, columns), with columns by number, by name, as a slice or as a mask.
        table: the rows, shape (n, columns).
        names: the columns' names, if they have any.

    Raises:
        InputError: an unknown kind, or a column that no pair names or more than one pair names.
    """
    if isinstance(spec, str):
        kinds = [_kind_of(table[:, c]) if spec == "auto" else spec for c in range(table.shape[1])]
    else:
        kinds = _kinds_by_pairs(spec, table.shape[1], names)
    found = np.array(kinds)
    parts = [
        part
        for kind in dict.fromkeys(kinds)
        for part in _parts(kind, np.flatnonzero(found == kind), table)
    ]
    if isinstance(spec, str) and spec == "auto":
        parts = [_with_groups(part, table) for part in parts]
    return Columns(tuple(parts), table.shape[1])


def _with_groups(part: Part, table: np.ndarray) -> Part:
    """Return the part with the groups that its columns form, if they hold 0 and 1 alone."""
    if part.kind != "bernoulli" or np.isnan(table[:, part.columns]).any():
        return part
    return replace(part, groups=column_groups(table[:, part.columns]).all)


def _parts(kind: str, columns: np.ndarray, table: np.ndarray) -> list[Part]:
    """Return the parts of one kind: one, or for codes one for each number of categories."""
    chosen, zeros, ones = table[:, columns], np.zeros(len(columns)), np.ones(len(columns))
    row = layer_named(kind, "visible", "auto")
    if row.rows != "codes":
        layer = row.make(len(columns))
        some = np.where(np.isnan(chosen).all(0), 0.0, chosen)  # a column without cells has no scale
        # the spread of a constant column is rounding error, not a scale
        constant = np.nanmax(some, 0) == np.nanmin(some, 0)
        spread = np.where(constant | ~is_rescalable(layer), 1.0, np.nanstd(some, 0, dtype=float))
        offset = np.where(is_shiftable(layer), np.nanmean(some, 0, dtype=float), 0.0)
        return [Part(kind, columns, offset, spread)]
    categories = [np.unique(column[~np.isnan(column)]) for column in chosen.T]
    counts = np.array([len(values) for values in categories])
    parts = []
    for count in np.unique(counts):
        here = np.flatnonzero(counts == count)
        some = tuple(categories[i] for i in here)
        parts.append(Part(kind, columns[here], zeros[here], ones[here], some))
    return parts


def _kind_of(column: np.ndarray) -> str:
    column = column[~np.isnan(column)]
    if not len(column):
        return "gaussian"
    if np.isin(column, (-1, 1)).all() and (column < 0).any():
        return "ising"
    return "bernoulli" if column.min() >= 0 and column.max() <= 1 else "gaussian"


def _kinds_by_pairs(spec: Any, count: int, names: Any) -> list[str]:
    try:
        pairs = [(kind, places_of(columns, count, names)) for kind, columns in spec]
    except (TypeError, ValueError) as error:
        expected = "a kind's name, 'auto', or a list of pairs (kind, columns)"
        raise InputError(f"visible: expected {expected}; got {spec!r} ({error}).") from None
    kinds: list[str | None] = [None] * count
    for kind, places in pairs:
        for place in places:
            if kinds[place] is not None:
                raise InputError(f"visible: column {place} is named twice.")
            kinds[place] = kind
    missing = [place for place, kind in enumerate(kinds) if kind is None]
    if missing:
        raise InputError(f"visible: expected a kind for every column; none for {missing}.")
    return [str(kind) for kind in kinds]


def places_of(columns: Any, count: int, names: Any) -> list[int]:
    """Return the indices of the columns that a slice, a mask, numbers or names select.

    Raises:
        ValueError: there are no such columns.
    """
    if isinstance(columns, slice):
        return list(range(count))[columns]
    listed = [columns] if isinstance(columns, int | str | np.integer) else list(columns)
    if listed and all(isinstance(each, bool | np.bool_) for each in listed):
        if len(listed) != count:
            raise ValueError(f"a mask of {len(listed)} for {count} columns")
        return [place for place, chosen in enumerate(listed) if chosen]
    known = [] if names is None else list(names)
    places = [known.index(each) if isinstance(each, str) else int(each) for each in listed]
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
        raise InputError(
            f"{name}: column {place} expected a category seen in fit, one of"
            f" {', '.join(f'{v:g}' for v in values[:10])}; found {column[row]:g} in row {row}."
        )
    return np.where(missing, np.nan, codes) if missing.any() else codes
