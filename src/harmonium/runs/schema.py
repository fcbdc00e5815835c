"""Read records from JSON files into frozen dataclasses, and check the types of all fields.

The types of a dataclass's fields are the schema. A field missing from a file takes its default,
since files from earlier versions lack newer fields; names unknown to the dataclass are ignored,
since later versions write additional fields.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from .._base.files import shortened
from ..errors import ModelFileError, printable
from .jsonable import read_json
from .options import is_number

T = TypeVar("T")
RESTORE = "restore the file, or train a new model"
_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    NoneType: "null",
    list: "a list",
    tuple: "a list",
    dict: "an object",
}


class Misfit(Exception):  # noqa: N818  (the reader of the file turns it into an error)
    """Raised for a value whose type does not match the type of its field.

    Attributes:
        place: the path of names and indices to the value.
        expected: a description of a valid value.
        value: the value found, or `MISSING` if there is no value.
    """

    def __init__(self, place: tuple[str | int, ...], expected: str, value: Any):
        super().__init__(place, expected, value)
        self.place = place
        self.expected = expected
        self.value = value

    def __str__(self) -> str:
        """Return "expected ... as FIELD; got ..."."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.place)
        at = f" as {''.join(steps).removeprefix('.')}" if self.place else ""
        if self.value is MISSING:
            content = "nothing"
        elif isinstance(self.value, list | dict) and self.value:  # may be long
            content = _WORDS[type(self.value)]
        else:
            content = repr(self.value)
        return printable(f"expected {self.expected}{at}; got {shortened(content)}")


def read_record(kind: type[T], path: Path, advice: str = RESTORE) -> T:
    """Read a record, an instance of a dataclass, from a JSON file.

    Args:
        kind: a dataclass.
        path: the file.
        advice: what to do with a damaged file.

    Raises:
        InputError: the file does not exist, or is not JSON.
        ModelFileError: a field is missing or has the wrong type; the message names file and field.
    """
    return record_from(kind, read_json(path, has_paths=True), str(path), advice)


def record_from(kind: type[T], value: Any, label: str, advice: str = RESTORE) -> T:
    """Convert a JSON value to a record; raise ModelFileError in the same cases as `read_record`."""
    try:
        return as_kind(value, kind)
    except Misfit as misfit:
        raise ModelFileError(f"{label}: {misfit}; {advice}.") from None


def fits(value: Any, kind: Any) -> bool:
    """Return whether a JSON value has the type `kind`, as checked by `as_kind`."""
    try:
        as_kind(value, kind)
    except Misfit:
        return False
    return True


def as_kind(value: Any, kind: Any, place: tuple[str | int, ...] = ()) -> Any:
    """Convert a JSON value to a type, for example an object to a dataclass or a list to a tuple.

    Args:
        value: the JSON value.
        kind: a dataclass, bool, int, float, str, None, Any, or a Literal, union, list, tuple or
            dict of these.
        place: the path of names and indices to the value.

    Raises:
        Misfit: the value does not have this type.
    """
    outer = get_origin(kind)
    inner = get_args(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _object(value, kind, place)
    if outer in (UnionType, Union):
        return _first_that_fits(value, kind, place)
    if outer in (list, tuple) and isinstance(value, list):
        return outer(as_kind(item, inner[0], (*place, i)) for i, item in enumerate(value))
    if outer is dict and isinstance(value, dict):
        return {name: as_kind(item, inner[1], (*place, name)) for name, item in value.items()}
    if outer is Literal and isinstance(value, str) and value in inner:
        return value
    if outer is None and _is_plain(value, kind):
        return value
    raise Misfit(place, in_words(kind), value)


def _is_plain(value: Any, kind: Any) -> bool:
    if kind in (int, float):  # a bool is not a number, but an int is a valid float
        return is_number(value) and isinstance(value, int | kind)
    return isinstance(value, NoneType if kind is None else kind)


def _first_that_fits(value: Any, kind: Any, place: tuple[str | int, ...]) -> Any:
    misfits = []
    for option in get_args(kind):
        try:
            return as_kind(value, option, place)
        except Misfit as misfit:
            misfits.append(misfit)
    deepest = max(misfits, key=lambda misfit: len(misfit.place))
    # An error about a field within an object is more useful than one about the whole union.
    if len(deepest.place) > len(place):
        raise deepest
    raise Misfit(place, in_words(kind), value)


def _object(value: Any, kind: Any, place: tuple[str | int, ...]) -> Any:
    if not isinstance(value, dict):
        raise Misfit(place, in_words(kind), value)
    types = _types_of(kind)
    values = {}
    for field in fields(kind):
        if field.name in value:
            values[field.name] = as_kind(value[field.name], types[field.name], (*place, field.name))
        elif field.default is MISSING and field.default_factory is MISSING:
            raise Misfit((*place, field.name), in_words(types[field.name]), MISSING)
    return kind(**values)


@cache
def _types_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def in_words(kind: Any) -> str:
    """Describe a type in words, such as "a whole number or null"."""
    outer = get_origin(kind)
    inner = get_args(kind)
    if outer in (UnionType, Union):
        return " or ".join(map(in_words, inner))
    if outer is Literal:
        return " or ".join(map(str, inner))
    return "an object" if is_dataclass(kind) else _WORDS[outer or kind]
