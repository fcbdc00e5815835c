"""Columns as JSON holds them: the classes by their kinds, and columns from their records."""

from __future__ import annotations

from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ..errors import InputError
from .base import AbstractColumn
from .calendars import Calendar, Dates
from .continuous import Continuous
from .discrete import Discrete
from .unmodelled import Key, LeftOut
from .words import Words

KINDS: dict[str, Any] = {
    column.kind: column for column in (Words, Discrete, Continuous, Dates, Calendar, Key, LeftOut)
}


def entries_of(record: Any, label: str) -> list[dict[str, Any]]:
    """Return the entries of a record of columns, each with a name and a kind.

    Raises:
        InputError: the record is damaged.
    """
    try:
        entries = [dict(entry) for entry in record["columns"]]
        are_known = [entry["kind"] in KINDS and isinstance(entry["name"], str) for entry in entries]
    except (TypeError, KeyError, ValueError):
        raise InputError(
            f'{label}: expected an object {{"columns": [{{"name": …, "kind": …}}, …]}}; got'
            " something else; see columns.json of a run."
        ) from None
    if not all(are_known):
        wrong = entries[are_known.index(False)]
        shown = f"{wrong['kind']!r} for {wrong['name']!r}"[:80]
        raise InputError(f"{label}: expected a kind among {', '.join(KINDS)}; got {shown}.")
    return entries


def column_from(entry: dict[str, Any], label: str) -> AbstractColumn:
    """Return the column that `AbstractColumn.record` described.

    Raises:
        InputError: the entry is damaged.
    """
    try:
        column_class = KINDS[entry["kind"]]
        values = {name: _value_of(value, label) for name, value in entry.items() if name != "kind"}
        types = get_type_hints(column_class)
        wrong = [name for name, value in values.items() if not _fits(value, types.get(name))]
        if wrong:
            raise ValueError(f"{entry[wrong[0]]!r} as the {wrong[0]} of a column"[:80])
        return column_class(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{label}: expected a kind among {', '.join(KINDS)} with its fields; got {error};"
            " restore the file, or train anew; in a list of your own give the name and the kind"
            " alone."
        ) from None


def _value_of(value: Any, label: str) -> Any:
    """Return a field of a column, which may itself be a column or several."""
    if isinstance(value, list):
        return tuple(_value_of(element, label) for element in value)
    is_column = isinstance(value, dict) and isinstance(value.get("kind"), str)
    return column_from(value, label) if is_column else value


def _fits(value: Any, annotation: Any) -> bool:
    """Return whether a value from a file is of the type of a field, such as `tuple[str, ...]`."""
    inner = get_args(annotation)
    if get_origin(annotation) is UnionType:
        return any(_fits(value, alternative) for alternative in inner)
    if get_origin(annotation) is tuple:
        if not isinstance(value, tuple):
            return False
        types = (inner[0],) * len(value) if inner[-1] is ... else inner
        return len(types) == len(value) and all(map(_fits, value, types))
    if annotation is Any:
        return value is None or isinstance(value, str | int | float)
    if isinstance(value, bool):
        return annotation is bool
    # A whole number may stand for a real one, as JSON writes 1.0 as 1.
    if annotation is float:
        return isinstance(value, int | float)
    return isinstance(value, get_origin(annotation) or annotation)
