"""Conversion of data frames and arrays to tables, and of tables back to the original types."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import narwhals as nw
import numpy as np

from ..errors import InputError
from .frames import CellKind, Frame, RawColumn, frame_of_array

OFFSET = r"(?:UTC|GMT)?([+-])(\d\d):?(\d\d)"  # a time zone given as an offset


class AbstractContainer(ABC):
    """The type of a container of rows, such as a data frame, used to create similar containers."""

    @abstractmethod
    def rows(self, frame: Frame) -> Any:
        """Return the rows of a table in a container of this type."""

    @abstractmethod
    def means(self, frame: Frame) -> Any:
        """Return rows of means in a container of this type, without rounding them to integers."""

    @abstractmethod
    def holds_fractions(self, data: Any) -> list[bool]:
        """Return whether each column of the data has a floating-point type."""

    @abstractmethod
    def filled(self, data: Any, before: Frame, after: Frame) -> Any:
        """Return the data with their missing cells filled.

        All other cells, and the types of the columns, are unchanged.

        Args:
            data: rows in a container of this kind, possibly with other types.
            before: the cells of the data.
            after: the cells with missing ones filled, possibly followed by additional columns.
        """


def is_gap(cell: Any) -> bool:
    """Return whether an object denotes a missing cell: None, NaN, NaT or pandas' NA."""
    try:
        return cell is None or bool(cell != cell)
    except TypeError:  # pandas' NA is neither equal to itself nor different
        return True
    except ValueError:  # an array is not a missing cell
        return False


def word_of(cell: Any) -> str:
    """Return an object as text; whole numbers have no decimal point, whatever their type."""
    if isinstance(cell, Real) and not isinstance(cell, Integral | bool) and cell == int_of(cell):
        return str(int_of(cell))
    return str(cell)


def int_of(number: Any) -> int | None:
    """Return the nearest integer, or None for infinity."""
    if abs(number) < float("inf"):
        return round(number)
    return None


def decimal_of(number: float) -> Decimal:
    """Return the `Decimal` with the digits that Python displays for a float."""
    return Decimal(repr(float(number)))


def _as_duration(seconds: float) -> timedelta:
    return timedelta(seconds=float(seconds))


def _as_time(seconds: float) -> time:
    # A drawn number of seconds may exceed a day, which a time cannot represent.
    return (datetime.min + timedelta(seconds=float(seconds) % 86_400)).time()


def _seconds_of_day(cell: time) -> float:
    midnight = datetime.combine(date.min, time())
    return (datetime.combine(date.min, cell.replace(tzinfo=None)) - midnight).total_seconds()


def _itself(cell: Any) -> Any:
    return cell


class NumberType(NamedTuple):
    """A type of objects that are represented as numbers in a table.

    Attributes:
        type: the Python type of the objects.
        number: converts an object to a number.
        object: converts a number back to an object.
    """

    type: type
    number: Callable[[Any], float]
    object: Callable[[float], Any]


NUMBER_TYPES = (  # more specific types come first
    NumberType(Integral, float, int_of),
    NumberType(Decimal, float, decimal_of),
    NumberType(Real, float, float),
    NumberType(timedelta, timedelta.total_seconds, _as_duration),
    NumberType(time, _seconds_of_day, _as_time),
)


@dataclass(frozen=True)
class Objects:
    """How to convert the cells of a column back to objects.

    Attributes:
        words: the object that each word represents; other words represent themselves.
        number: converts a number to an object.
        moment: converts a date and time to an object.
    """

    words: Mapping[str, Any] = field(default_factory=dict)
    number: Callable[[float], Any] = float
    moment: Callable[[datetime], Any] = _itself

    @classmethod
    def of(cls, cells: Sequence[Any]) -> Objects:
        """Return how to convert a column back to objects, given the objects it was read from."""
        known = [cell for cell in cells if not is_gap(cell)]
        number_type = _number_type_of(known)
        if number_type is not None:
            return cls(number=number_type.object)
        if _are_days(known):
            return cls.of_words(known, moment=datetime.date)
        return cls.of_words(known)

    @classmethod
    def of_words(cls, cells: Sequence[Any], moment: Any = _itself) -> Objects:
        """Return how to convert words back to the objects that were read as words."""
        return cls({word_of(cell): cell for cell in cells}, moment=moment)

    def cells(self, raw: RawColumn) -> list[Any]:
        """Return the cells of a column as objects, with None for missing cells."""
        values = raw.values
        to_object: Callable[[Any], Any] = self._of_word
        if raw.cell_kind is CellKind.NUMBERS:
            to_object = self.number
        elif raw.cell_kind is CellKind.DATES:
            to_object = self.moment
            values = values.astype("datetime64[us]")
        return _converted(values.tolist(), raw.is_missing.tolist(), to_object, None)

    def _of_word(self, word: Any) -> Any:
        return self.words.get(word, word)


def column_of(name: str, cells: Sequence[Any], *, is_category: bool = False) -> RawColumn:
    """Read objects as a column: numbers if all are numbers, dates if all are dates, else words.

    Args:
        name: the name of the column.
        cells: the objects.
        is_category: whether the objects were declared as categories, which are read as words.
    """
    gaps = [is_gap(cell) for cell in cells]
    known = [cell for cell, gap in zip(cells, gaps, strict=True) if not gap]
    number_type = _number_type_of(known)
    if number_type is not None and not is_category:
        numbers = _converted(cells, gaps, number_type.number, np.nan)
        return RawColumn(name, np.array(numbers))
    if (_are_days(known) or _are_moments(known)) and not is_category:
        dates = np.array(_converted(cells, gaps, _itself, None), "datetime64[us]")
        return RawColumn(name, dates, form_of(dates))
    words = np.empty(len(cells), object)
    words[:] = _converted(cells, gaps, word_of, None)
    return RawColumn(name, words, is_category=is_category)


def _converted(
    cells: Sequence[Any], gaps: Sequence[bool], convert: Callable[[Any], Any], missing: Any
) -> list[Any]:
    return [missing if gap else convert(cell) for cell, gap in zip(cells, gaps, strict=True)]


def form_of(dates: np.ndarray) -> str:
    """Return a date format with the year first, without the time if all times are midnight."""
    known = dates[~np.isnat(dates)]
    if (known == known.astype("datetime64[D]")).all():
        return "%Y-%m-%d"
    return "%Y-%m-%d %H:%M:%S"


def _are(cells: Sequence[Any], kind: type) -> bool:
    # Booleans are integers in Python, but words in a table.
    return bool(cells) and all(
        isinstance(cell, kind) and not isinstance(cell, bool) for cell in cells
    )


def _number_type_of(cells: Sequence[Any]) -> NumberType | None:
    return next((kind for kind in NUMBER_TYPES if _are(cells, kind.type)), None)


def _are_days(cells: Sequence[Any]) -> bool:
    return _are(cells, date) and not any(isinstance(cell, datetime) for cell in cells)


def _are_moments(cells: Sequence[Any]) -> bool:
    return _are(cells, datetime) and all(cell.tzinfo is None for cell in cells)


def frame_in_array(array: np.ndarray, names: tuple[str, ...]) -> Frame:
    """Return an array of numbers, objects or words as a table."""
    if array.dtype.kind not in "OUS":
        return frame_of_array(array, names)
    pairs = zip(names, array.T, strict=True)
    return Frame(tuple(column_of(name, cells.tolist()) for name, cells in pairs))


@dataclass(frozen=True, eq=False)
class ArrayLike(AbstractContainer):
    """An array.

    Attributes:
        dtype: the dtype of the array.
        objects: for an array of objects or words, how to convert each column back to objects.
    """

    dtype: np.dtype
    objects: tuple[Objects, ...] = ()

    @classmethod
    def of(cls, array: np.ndarray) -> ArrayLike:
        """Return the container of an array."""
        if array.dtype.kind not in "OUS":
            return cls(array.dtype)
        return cls(array.dtype, tuple(Objects.of(column.tolist()) for column in array.T))

    def rows(self, frame: Frame) -> np.ndarray:
        """Return an array of the same dtype; if it is an integer dtype, numbers are rounded."""
        return self._array(frame, self.dtype)

    def means(self, frame: Frame) -> np.ndarray:
        dtype = self.dtype
        if self.dtype.kind in "biu":
            dtype = np.dtype(float)
        return self._array(frame, dtype)

    def holds_fractions(self, data: Any) -> list[bool]:
        array = np.asarray(data)
        return [array.dtype.kind == "f"] * array.shape[1]

    def filled(self, data: Any, before: Frame, after: Frame) -> np.ndarray:
        array = np.asarray(data)
        own = ArrayLike.of(array)
        filled = replace(own, objects=self.objects or own.objects)._array(after, own.dtype)
        for place, column in enumerate(before.columns):
            is_known = ~column.is_missing
            filled[is_known, place] = array[is_known, place]
        return filled

    def _array(self, frame: Frame, dtype: np.dtype) -> np.ndarray:
        columns = [values for values in map(_numbers_of, frame.columns) if values is not None]
        if dtype.kind in "OUS" or len(columns) < len(frame.columns):
            return self._array_of_objects(frame, dtype)
        numbers = np.stack(columns, axis=1)
        if dtype.kind == "b":
            return numbers > 0.5
        if dtype.kind in "iu":
            ends = np.iinfo(dtype)
            return np.clip(np.rint(numbers), ends.min, ends.max).astype(dtype)
        return numbers.astype(dtype)

    def _array_of_objects(self, frame: Frame, dtype: np.dtype) -> np.ndarray:
        added = [Objects()] * (len(frame.columns) - len(self.objects))
        cells = np.empty((len(frame), len(frame.columns)), object)
        for place, objects in enumerate([*self.objects, *added]):
            cells[:, place] = objects.cells(frame.columns[place])
            # A missing cell in arrays is NaN, as in scikit-learn.
            cells[frame.columns[place].is_missing, place] = np.nan
        if dtype.kind in "US":
            return cells.astype(dtype.kind)
        return cells


def _numbers_of(column: RawColumn) -> np.ndarray | None:
    """Return the numbers of a column (all NaN if no cell is known), or None for words and dates."""
    if column.cell_kind is CellKind.NUMBERS:
        return column.values
    if column.is_missing.all():
        return np.full(len(column.values), np.nan)
    return None


def is_dataframe(data: Any) -> bool:
    """Return whether data are a data frame of a library that narwhals supports, such as pandas."""
    return nw.dependencies.is_into_dataframe(data)


def is_all_numbers(data: Any) -> bool:
    """Return whether all columns of a data frame are numeric, without missing cells."""
    table = nw.from_native(data, eager_only=True)
    return all(
        column.dtype.is_numeric()
        and not column.is_null().any()
        and not (column.dtype.is_float() and column.is_nan().any())
        for column in table.iter_columns()
    )


def is_single(data: Any) -> bool:
    """Return whether all columns of a data frame have type float32."""
    table = nw.from_native(data, eager_only=True)
    return all(kind == nw.Float32 for kind in table.schema.values())


def frame_of(data: Any, label: str = "table") -> Frame:
    """Return a data frame as a table of numbers, dates and (for all other types) words.

    Args:
        data: a data frame of pandas, polars, pyarrow or another library, or a `Frame`.
        label: the name of the data in error messages.

    Raises:
        InputError: `data` is not a data frame, has no rows or no columns, or repeats a name.
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
        raise InputError(
            f"{label}: expected at least one row and one column; got shape {table.shape}."
        )
    columns = tuple(_raw(str(column.name), column) for column in table.iter_columns())
    # 0 and "0" are different names in pandas, but equal in a table.
    name, count = Counter(column.name for column in columns).most_common(1)[0]
    if count > 1:
        raise InputError(
            f"{label}: expected columns with different names; got {name} more than once."
        )
    return Frame(columns)


def is_category(series: Any) -> bool:
    """Return whether the type of a series is categorical."""
    return series.dtype == nw.Categorical or series.dtype == nw.Enum


def objects_of(series: Any) -> Objects:
    """Return how to convert the cells of a series, read as a column, back to Python objects."""
    kind = series.dtype
    if kind == nw.Decimal:
        return Objects(number=decimal_of)
    if kind.is_numeric():
        if kind.is_integer():
            return Objects(number=int_of)
        return Objects()
    if kind == nw.Date:
        return Objects(moment=datetime.date)
    if kind == nw.Datetime:
        zone = _zone_of(kind)
        if zone is None:
            return Objects()
        return Objects(moment=partial(_instant, zone=zone))
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
            # Keep the local time in that zone.
            series = series.dt.replace_time_zone(None)
        values = series.cast(nw.Datetime("us")).to_numpy().astype("datetime64[us]")
        values = np.where(missing, np.datetime64("NaT", "us"), values)
        return RawColumn(name, values, form_of(values))
    if not is_category(series):
        return column_of(name, series.to_list())
    # pandas changes the type of integer intervals if a cell is missing.
    declared = {cell: cell for cell in series.drop_nulls().unique().to_list()}
    cells = [None if is_gap(cell) else declared.get(cell, cell) for cell in series.to_list()]
    return column_of(name, cells, is_category=True)


def _zone_of(kind: Any) -> str | None:
    """Return the time zone of a type, or None if the type has no time zone."""
    return getattr(kind, "time_zone", None)


def _instant(moment: datetime, zone: str) -> datetime:
    """Return the UTC time of a local time in a zone, even if clocks skip or repeat that time."""
    offset = re.fullmatch(OFFSET, zone)
    if offset is None:
        clock: tzinfo = ZoneInfo(zone)
    else:
        shift = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        clock = timezone(-shift if offset[1] == "-" else shift)
    return moment.replace(tzinfo=clock).astimezone(UTC)


@dataclass(frozen=True, eq=False)
class FrameLike(AbstractContainer):
    """A data frame of pandas, polars, pyarrow or another library.

    Attributes:
        head: the frame without rows.
        objects: how to convert the cells of each column back to objects.
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
        """Return a data frame of the same library with the same types.

        If a column's type cannot represent its cells, such as missing cells among integers, the
        library infers a type from the cells.
        """
        return _data_frame(self.series(frame), frame, self.head)

    def series(self, frame: Frame) -> list[Any]:
        """Return the columns of a table as series with the types of the data frame's columns."""
        head = nw.from_native(self.head, eager_only=True)
        columns = zip(frame.columns, head.iter_columns(), self.objects, strict=True)
        return [_series_of(objects.cells(raw), [model]) for raw, model, objects in columns]

    def means(self, frame: Frame) -> Any:
        return self.rows(frame)

    def holds_fractions(self, data: Any) -> list[bool]:
        table = nw.from_native(data, eager_only=True)
        return [series.dtype.is_float() for series in table.iter_columns()]

    def filled(self, data: Any, before: Frame, after: Frame) -> Any:
        """Return the data with missing cells filled, and with the categories of this container."""
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
        return _data_frame([*columns, *indicators], after, data)


def _objects_for(series: Any, fitted: Objects, raw: RawColumn) -> Objects:
    """Return how to convert new cells: like those of the series, or by `fitted` if it has none."""
    own = objects_of(series)
    if series.dtype.is_numeric() or series.dtype in (nw.Date, nw.Datetime, nw.String):
        return own
    kind = fitted if raw.is_missing.all() else own
    return replace(kind, words={**fitted.words, **own.words})


def _with_cells(series: Any, fitted: Any, cells: list[Any], gaps: np.ndarray) -> Any:
    """Fill the missing cells of a series with new cells, preserving its type if possible."""
    in_gaps = [cell if gap else None for cell, gap in zip(cells, gaps, strict=True)]
    new = _series_of(in_gaps, [series])
    if _type_of(new) == _type_of(series):
        known = nw.new_series("", (~gaps).tolist(), backend=series.implementation)
        if series.implementation.is_pandas_like():
            # Otherwise pandas would align rows by their labels.
            for other in (known, new):
                other.to_native().index = series.to_native().index
        # Some pandas types do not support this call: sparse ones, or categories without a word.
        with suppress(Exception):
            merged = series.zip_with(known, new)
            if _type_of(merged) == _type_of(series):
                return merged
    pairs = zip(series.to_list(), cells, gaps, strict=True)
    return _series_of([cell if gap else old for old, cell, gap in pairs], [series, fitted])


def _with_categories(series: Any, fitted: Any, objects: Objects) -> Any:
    """Return the series with the categories of `fitted` before its own, unless it has them all."""
    own = _categories_of(series)
    if own is None:
        return series
    known = _categories_of(fitted)
    if known is None:
        known = list(objects.words.values())
    if set(known) <= set(own):
        return series
    kind = _type_of(series)
    order = {}
    if hasattr(kind, "ordered"):
        order = {"ordered": kind.ordered}
    categories = type(kind)(list(dict.fromkeys([*known, *own])), **order)
    native = series.to_native()
    cast = native.astype if hasattr(native, "astype") else native.cast
    return nw.from_native(cast(categories), series_only=True)


def _categories_of(series: Any) -> list[Any] | None:
    """Return the categories in the type of a series, or None if the type declares none."""
    declared: Any = getattr(_type_of(series), "categories", None)
    if is_category(series) and hasattr(declared, "__iter__"):
        return list(declared)
    return None


def _type_of(series: Any) -> Any:
    """Return the type of a series in its own library, such as the dtype in pandas."""
    native = series.to_native()
    return native.dtype if hasattr(native, "dtype") else native.type


def _series_of(cells: list[Any], models: Sequence[Any]) -> Any:
    """Return objects as a series with the first type among `models` that can represent them all.

    If no type among them can, the library infers a type from the objects.
    """
    gaps = sum(cell is None for cell in cells)
    for model in models:
        try:
            series = _native_series(cells, model)
        except Exception:  # libraries raise various errors
            continue
        # Some libraries convert unknown categories to NaN, and a missing boolean to False.
        if series.null_count() == gaps:
            return series
    space = models[0].implementation
    if models[0].dtype.is_numeric() and all(isinstance(cell, int | float | None) for cell in cells):
        numbers = _converted(cells, [cell is None for cell in cells], float, float("nan"))
        return nw.new_series("", numbers, backend=space)
    return nw.new_series("", cells, backend=space)


def _native_series(cells: list[Any], model: Any) -> Any:
    space = model.implementation.to_native_namespace()
    kind = _type_of(model)
    if model.implementation.is_pandas_like():
        native = space.Series(cells, dtype=kind)
    elif model.implementation.is_polars():
        native = space.Series(values=cells, dtype=kind)
    else:
        native = space.chunked_array([space.array(cells, type=kind)])
    return nw.from_native(native, series_only=True)


def _data_frame(columns: list[Any], frame: Frame, like: Any) -> Any:
    """Return series as a data frame with the names and the row labels of another frame."""
    model = nw.from_native(like, eager_only=True)
    added = frame.names[len(model.columns) :]
    is_pandas = model.implementation.is_pandas_like()
    # Names in pandas may have any type, and are set afterwards.
    names = [*model.columns, *added]
    if is_pandas:
        names = map(str, range(len(columns)))
    frames = [s.alias(name).to_frame() for s, name in zip(columns, names, strict=True)]
    native = nw.concat(frames, how="horizontal").to_native()
    if is_pandas:
        native.columns = [*like.columns, *added] if added else like.columns
        if len(native) == len(like):
            native.index = like.index
    return native
