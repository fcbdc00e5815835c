"""Data frames of any library, read as tables and given back with their types and names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np

from ..errors import InputError
from .base_container import AbstractContainer
from .frames import Frame, RawColumn
from .objects import Objects, column_of, decimal_of, form_of, int_of, is_gap

OFFSET = r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)"  # a zone that is no place


def is_dataframe(data: Any) -> bool:
    """Return whether data are a data frame of a library that narwhals knows, such as pandas."""
    return nw.dependencies.is_into_dataframe(data)


def is_all_numbers(data: Any) -> bool:
    """Return whether all columns of a data frame are numbers, without a missing cell."""
    table = nw.from_native(data, eager_only=True)
    return all(
        column.dtype.is_numeric()
        and not column.is_null().any()
        and not (column.dtype.is_float() and column.is_nan().any())
        for column in table.iter_columns()
    )


def is_single(data: Any) -> bool:
    """Return whether all columns of a data frame are numbers of single precision."""
    table = nw.from_native(data, eager_only=True)
    return all(kind == nw.Float32 for kind in table.schema.values())


def frame_of(data: Any, label: str = "table") -> Frame:
    """Return the columns of a data frame: numbers, dates, and words for all else.

    Args:
        data: a data frame of pandas, polars, pyarrow or another library, or a `Frame`.
        label: what error messages call it.

    Raises:
        InputError: not a data frame, without rows, or with names that occur twice.
    """
    if isinstance(data, Frame):
        return data
    if not is_dataframe(data):
        raise InputError(f"{label}: expected a data frame; got {type(data).__name__}.")
    try:
        table = nw.from_native(data, eager_only=True)
    except (nw.exceptions.NarwhalsError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{label}: expected columns with different names; {reason}") from None
    if not table.shape[0] or not table.shape[1]:
        raise InputError(f"{label}: expected rows and columns; got shape {table.shape}.")
    columns = tuple(_raw(str(column.name), column) for column in table.iter_columns())
    # 0 and "0" are different names in pandas, but not in a table.
    name, count = Counter(column.name for column in columns).most_common(1)[0]
    if count > 1:
        raise InputError(f"{label}: expected columns with different names; found {name} twice.")
    return Frame(columns)


def is_category(series: Any) -> bool:
    """Return whether the type of a series says that its cells are categories."""
    return series.dtype == nw.Categorical or series.dtype == nw.Enum


def objects_of(series: Any) -> Objects:
    """Return what the cells of a series are as Python objects."""
    kind = series.dtype
    if kind == nw.Decimal:
        return Objects(number=decimal_of)
    if kind.is_numeric():
        return Objects(number=int_of if kind.is_integer() else float)
    if kind == nw.Date:
        return Objects(moment=datetime.date)
    if kind == nw.Datetime:
        zone = _zone_of(kind)
        return Objects() if zone is None else Objects(moment=partial(_instant, zone=zone))
    if kind == nw.String:
        return Objects()
    if is_category(series):
        return Objects.of_words(series.drop_nulls().unique().to_list())
    return Objects.of(series.to_list())


def _raw(name: str, series: Any) -> RawColumn:
    kind = series.dtype
    if kind.is_numeric():
        missing = series.is_null().to_numpy()
        values = series.cast(nw.Float64).to_numpy().astype(float)
        return RawColumn(name, np.where(missing, np.nan, values))
    if kind in (nw.Date, nw.Datetime):
        missing = series.is_null().to_numpy()
        if _zone_of(kind) is not None:
            series = series.dt.replace_time_zone(None)  # the time on the clock there
        values = series.cast(nw.Datetime("us")).to_numpy().astype("datetime64[us]")
        values = np.where(missing, np.datetime64("NaT", "us"), values)
        return RawColumn(name, values, form_of(values))
    if not is_category(series):
        return column_of(name, series.to_list())
    # pandas turns intervals of whole numbers into others where a cell is missing
    same = {cell: cell for cell in series.drop_nulls().unique().to_list()}
    cells = [None if is_gap(cell) else same.get(cell, cell) for cell in series.to_list()]
    return column_of(name, cells, is_category=True)


def _zone_of(kind: Any) -> str | None:
    """Return the time zone of a type; None without one."""
    return getattr(kind, "time_zone", None)


def _instant(moment: datetime, zone: str) -> datetime:
    """Return the instant of a time on the clock of a zone, also where clocks skip or repeat it."""
    offset = re.fullmatch(OFFSET, zone)
    if offset is None:
        place: tzinfo = ZoneInfo(zone)
    else:
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        place = timezone(-shift if offset[1] == "-" else shift)
    return moment.replace(tzinfo=place).astimezone(UTC)


def like(frame: Frame, data: Any) -> Any:
    """Return a table as a data frame of the library of `data`, with the types of its columns.

    Args:
        frame: the table, with the columns of `data`.
        data: a data frame; with as many rows, its row labels are kept.
    """
    return _side_by_side(FrameLike.of(data).series(frame), frame, data)


@dataclass(frozen=True, eq=False)
class FrameLike(AbstractContainer):
    """A data frame of pandas, polars, pyarrow or another library.

    Attributes:
        head: the frame without rows.
        objects: what the cells of each column are.
    """

    head: Any
    objects: tuple[Objects, ...]

    @classmethod
    def of(cls, data: Any) -> FrameLike:
        """Return the container of a data frame."""
        table = nw.from_native(data, eager_only=True)
        objects = tuple(objects_of(column) for column in table.iter_columns())
        return cls(table.head(0).to_native(), objects)

    def rows(self, frame: Frame) -> Any:
        """Return a data frame of the same library and types.

        A column whose cells do not fit its type, such as a missing one among integers, gets the
        type that its cells have.
        """
        return _side_by_side(self.series(frame), frame, self.head)

    def series(self, frame: Frame) -> list[Any]:
        """Return the columns of a table with the types of the frame's."""
        head = nw.from_native(self.head, eager_only=True)
        return [
            _series(objects.cells(raw), [like])
            for raw, like, objects in zip(
                frame.columns, head.iter_columns(), self.objects, strict=True
            )
        ]

    def means(self, frame: Frame) -> Any:
        """Return a data frame of the same library and types."""
        return self.rows(frame)

    def filled(self, data: Any, before: Frame, after: Frame) -> Any:
        """Return a data frame like the data; categories of `fit` are added to theirs."""
        table = nw.from_native(data, eager_only=True)
        head = nw.from_native(self.head, eager_only=True)
        columns = []
        pairs = zip(before.columns, after.columns, strict=False)
        rows = zip(table.iter_columns(), head.iter_columns(), self.objects, pairs, strict=True)
        for own, fitted, objects, (old, new) in rows:
            series = _with_categories(own, fitted, objects)
            gaps = old.is_missing & ~new.is_missing
            if gaps.any():
                kind = _objects_for(series, objects, old)
                series = _with_cells(series, fitted, kind.cells(new), gaps)
            columns.append(series)
        space = table.implementation
        added = after.columns[len(columns) :]
        indicators = [nw.new_series("", raw.values.tolist(), backend=space) for raw in added]
        return _side_by_side([*columns, *indicators], after, data)


def _objects_for(series: Any, fitted: Objects, raw: RawColumn) -> Objects:
    """Return what new cells of a series are: as its own, or as in `fit` if it has none."""
    own = objects_of(series)
    if series.dtype.is_numeric() or series.dtype in (nw.Date, nw.Datetime, nw.String):
        return own
    kind = fitted if raw.is_missing.all() else own
    return replace(kind, words={**fitted.words, **own.words})


def _with_cells(series: Any, fitted: Any, cells: list[Any], gaps: np.ndarray) -> Any:
    """Return a series with other cells where it has gaps, of its own type or else of another."""
    new = _series([x if gap else None for x, gap in zip(cells, gaps, strict=True)], [series])
    if _type_of(new) == _type_of(series):
        known = nw.new_series("", (~gaps).tolist(), backend=series.implementation)
        if series.implementation.is_pandas_like():
            for other in (known, new):  # otherwise rows would be matched by their labels
                other.to_native().index = series.to_native().index
        # some types of pandas, such as sparse ones or dictionaries without a word, cannot do it
        with suppress(Exception):
            merged = series.zip_with(known, new)
            if _type_of(merged) == _type_of(series):
                return merged
    pairs = zip(series.to_list(), cells, gaps, strict=True)
    return _series([cell if gap else old for old, cell, gap in pairs], [series, fitted])


def _with_categories(series: Any, fitted: Any, objects: Objects) -> Any:
    """Return a series of categories with those of `fit`, if it lacks any: those of `fit` first."""
    own = _categories_of(series)
    if own is None:
        return series
    known = _categories_of(fitted)
    known = list(objects.words.values()) if known is None else known
    if set(known) <= set(own):
        return series
    kind = _type_of(series)
    order = {"ordered": kind.ordered} if hasattr(kind, "ordered") else {}
    categories = list(dict.fromkeys([*known, *own]))
    return _cast(series, type(kind)(categories, **order))


def _categories_of(series: Any) -> list[Any] | None:
    """Return the categories that the type of a series has; None if it has none of its own."""
    declared: Any = getattr(_type_of(series), "categories", None)
    return list(declared) if is_category(series) and hasattr(declared, "__iter__") else None


def _type_of(series: Any) -> Any:
    """Return the library's own type of a series."""
    native = series.to_native()
    return native.dtype if hasattr(native, "dtype") else native.type


def _cast(series: Any, kind: Any) -> Any:
    """Return a series with another type of its library."""
    native = series.to_native()
    cast = native.astype if hasattr(native, "astype") else native.cast
    return nw.from_native(cast(kind), series_only=True)


def _series(cells: list[Any], models: Sequence[Any]) -> Any:
    """Return objects as a series of the type of the first model that can have them all.

    If none can, it has the type that its library finds for them.
    """
    gaps = sum(cell is None for cell in cells)
    for model in models:
        try:
            series = _native_series(cells, model)
        except Exception:  # libraries raise errors of their own kinds
            continue
        # some libraries make NaN of what is no category, and False of a missing boolean
        if series.null_count() == gaps:
            return series
    space = models[0].implementation
    if models[0].dtype.is_numeric() and all(isinstance(x, int | float | None) for x in cells):
        numbers = [float("nan") if x is None else float(x) for x in cells]
        return nw.new_series("", numbers, backend=space)
    return nw.new_series("", cells, backend=space)


def _native_series(cells: list[Any], model: Any) -> Any:
    space, kind = model.implementation.to_native_namespace(), _type_of(model)
    if model.implementation.is_pandas_like():
        native = space.Series(cells, dtype=kind)
    elif model.implementation.is_polars():
        native = space.Series(values=cells, dtype=kind)
    else:
        native = space.chunked_array([space.array(cells, type=kind)])
    return nw.from_native(native, series_only=True)


def _side_by_side(columns: list[Any], frame: Frame, like: Any) -> Any:
    """Return series as a data frame with the names and the row labels of another one."""
    model = nw.from_native(like, eager_only=True)
    added = frame.names[len(model.columns) :]
    is_pandas = model.implementation.is_pandas_like()
    # names of pandas may be of any type, and are set afterwards
    names = map(str, range(len(columns))) if is_pandas else [*model.columns, *added]
    frames = [s.alias(name).to_frame() for s, name in zip(columns, names, strict=True)]
    native = nw.concat(frames, how="horizontal").to_native()
    if is_pandas:
        native.columns = [*like.columns, *added] if added else like.columns
        if len(native) == len(like):
            native.index = like.index
    return native
