"""Data frames of any library, read as tables and written back with the same types."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from ..errors import InputError
from .frames import Frame, RawColumn

ISO = {False: "%Y-%m-%d", True: "%Y-%m-%d %H:%M:%S"}


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


def empty_like(data: Any) -> Any:
    """Return a data frame with the columns of another one, and no rows."""
    return nw.from_native(data, eager_only=True).head(0).to_native()


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
    return Frame(tuple(_raw(str(column.name), column) for column in table.iter_columns()))


def _raw(name: str, series: Any) -> RawColumn:
    kind = series.dtype
    missing = series.is_null().to_numpy()
    if kind.is_numeric():
        values = series.cast(nw.Float64).to_numpy().astype(float)
        return RawColumn(name, np.where(missing, np.nan, values))
    if kind in (nw.Date, nw.Datetime):
        if _zone_of(kind) is not None:
            series = series.dt.replace_time_zone(None)  # the time on the clock there
        values = series.cast(nw.Datetime("us")).to_numpy().astype("datetime64[us]")
        values = np.where(missing, np.datetime64("NaT", "us"), values)
        days = values[~np.isnat(values)]
        has_times = bool((days != days.astype("datetime64[D]")).any())
        return RawColumn(name, values, ISO[has_times])
    cells = [
        None if gap or x is None or x != x else x
        for gap, x in zip(missing, series.to_list(), strict=True)
    ]
    known = [cell for cell in cells if cell is not None]
    if known and all(isinstance(x, int | float) and not isinstance(x, bool) for x in known):
        return RawColumn(name, np.array([np.nan if x is None else float(x) for x in cells]))
    values = np.empty(len(cells), object)
    values[:] = [None if cell is None else str(cell) for cell in cells]
    return RawColumn(name, values)


def _zone_of(kind: Any) -> str | None:
    """Return the time zone of a type; None without one."""
    return getattr(kind, "time_zone", None)


def like(frame: Frame, data: Any) -> Any:
    """Return a frame as a data frame of the library of `data`, with the types of its columns.

    A column whose cells do not fit the type, such as a missing one among integers, gets the type
    that its cells have.
    """
    model = nw.from_native(data, eager_only=True)
    space = model.implementation
    made = []
    for column in frame.columns:
        series = nw.new_series(column.name, _cells(column, model), backend=space)
        if column.name in model.columns:
            series = _cast(series, model[column.name])
        made.append(series)
    native = nw.concat([series.to_frame() for series in made], how="horizontal").to_native()
    if hasattr(native, "index") and len(native) == len(getattr(data, "index", ())):
        native.index = data.index  # pandas: rows keep their labels
    return native


def _cells(column: RawColumn, model: Any) -> list[Any]:
    words = column.values.dtype.kind == "O"
    is_bool = words and column.name in model.columns and model[column.name].dtype == nw.Boolean
    gaps = column.is_missing
    cells = column.values.tolist()
    if is_bool:
        cells = [cell == "True" for cell in cells]
    return [None if gap else cell for gap, cell in zip(gaps, cells, strict=True)]


def _cast(series: Any, model: Any) -> Any:
    """Return a series with the type of another one, if its values allow that."""
    if series.dtype == nw.Object:
        return series
    zone, wanted = _zone_of(model.dtype), model.to_native()
    try:
        if zone is not None:
            series = series.dt.replace_time_zone(zone)
        native = series.to_native()
        if hasattr(native, "astype"):  # pandas and its like: categories and extension types too
            return nw.from_native(native.astype(wanted.dtype), series_only=True)
        return series.cast(model.dtype)
    except Exception:  # libraries raise errors of their own kinds
        return series
