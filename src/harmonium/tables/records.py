"""Columns as JSON holds them: the kinds by their names, and columns from their records."""

from __future__ import annotations

from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from ..errors import input_error
from .base import AbstractColumn
from .calendars import Calendar, Dates
from .continuous import Continuous
from .discrete import Discrete
from .unmodelled import Key, LeftOut
from .words import Words

KINDS: dict[str, Any] = {
    kind.kind: kind for kind in (Words, Discrete, Continuous, Dates, Calendar, Key, LeftOut)
}


def entries_of(record: Any, label: str) -> list[dict[str, Any]]:
    """Return the entries of a record of columns, each with a name and a kind.

    Raises:
        InputError: the record is damaged.
    """
    try:
        entries = [dict(entry) for entry in record["columns"]]
        named = [entry["kind"] in KINDS and isinstance(entry["name"], str) for entry in entries]
    except (TypeError, KeyError, ValueError):
        expected = 'an object {"columns": [{"name": …, "kind": …}, …]}'
        raise input_error(label, expected, "something else", "see columns.json of a run") from None
    if not all(named):
        wrong = entries[named.index(False)]
        expected = f"a kind among {', '.join(KINDS)}"
        found = f"{wrong['kind']!r} for {wrong['name']!r}"[:80]
        raise input_error(label, expected, found, "correct it")
    return entries


def column_from(entry: dict[str, Any], label: str) -> AbstractColumn:
    """Return the column that `AbstractColumn.record` described.

    Raises:
        InputError: the entry is damaged.
    """
    try:
        kind = KINDS[entry["kind"]]
        others = {name: value for name, value in entry.items() if name != "kind"}
        values = {name: _value_of(value, label) for name, value in others.items()}
        types = get_type_hints(kind)
        wrong = [name for name, value in values.items() if not _fits(value, types.get(name))]
        if wrong:
            raise ValueError(f"{entry[wrong[0]]!r} as the {wrong[0]} of a column"[:80])
        return kind(**values)
    except (KeyError, TypeError, ValueError) as error:
        expected = f"a kind among {', '.join(KINDS)} with its fields"
        advice = (
            "restore the file, or train anew; in your own list give the name and the kind alone"
        )
        raise input_error(label, expected, str(error), advice) from None


def _value_of(value: Any, label: str) -> Any:
    """Return a field of a column, which may itself be a column or several."""
    if isinstance(value, list):
        return tuple(_value_of(each, label) for each in value)
    is_column = isinstance(value, dict) and isinstance(value.get("kind"), str)
    return column_from(value, label) if is_column else value


def _fits(value: Any, kind: Any) -> bool:
    """Return whether a value from a file is of the type of a field, such as `tuple[str, ...]`."""
    inner = get_args(kind)
    if get_origin(kind) is UnionType:
        return any(_fits(value, each) for each in inner)
    if get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            return False
        kinds = (inner[0],) * len(value) if inner[-1] is ... else inner
        return len(kinds) == len(value) and all(map(_fits, value, kinds))
    if kind is Any:
        return value is None or isinstance(value, str | int | float)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, int | float if kind is float else get_origin(kind) or kind)
