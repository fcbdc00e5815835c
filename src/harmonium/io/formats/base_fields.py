"""Checks of the fields that a model file gives to layers, before any layer is made."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from ... import __name__ as home
from ...errors import InputError, ModelFileError
from .base import COPY_AGAIN

# The largest whole number that no array's size bounds, such as the trials of a binomial unit:
# uint16 holds it, and arrays of this length fit in memory.
MOST = 2**16 - 1
SCALARS = (int, float, bool, str)  # what JSON has besides null, lists and objects


def check_numbers(description: Any, place: str, entries: int, source: str, advice: str) -> None:
    """Check the numbers of a description: a model file must not ask for more than it holds.

    Args:
        description: layers, weights or one of their fields, as `Native` writes them.
        place: what it describes, such as "visible".
        entries: the number of entries of all arrays of the model, which bounds its sizes.
        source: the name of the model in error messages.
        advice: what to do.

    Raises:
        InputError: a number that is not finite, or a size that no array of the model has.
    """
    most = max(MOST, entries)
    for where, value in _values(description, place):
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(
                f"{source}: expected finite numbers; got {value} at {where}; {advice}."
            )
        if isinstance(value, int) and abs(value) > most:
            raise InputError(
                f"{source}: expected sizes that fit the arrays; got {value:,} at {where}, more than"
                f" {MOST:,} and than its arrays have entries; {advice}."
            )


def _values(description: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield all values of a description with their places."""
    if isinstance(description, dict):
        for name, inner in description.items():
            # `fields` alone is no part of a name that a user knows: visible.total.
            yield from _values(inner, place if name == "fields" else f"{place}.{name}")
    elif isinstance(description, list):
        for number, inner in enumerate(description):
            yield from _values(inner, f"{place}.{number}")
    else:
        yield place, description


def check_field(kind: type, name: str, value: Any, path: Path) -> None:
    """Check the description of a field of a type of layer or weights.

    Args:
        kind: the type.
        name: the name of the field.
        value: its description, as `Native` writes it.
        path: the model file.

    Raises:
        ModelFileError: a value that the field cannot have, by its annotation.
    """
    expected = f"{path}: expected arrays and sizes that fit together in {kind.__name__}"
    field = next(field for field in dataclasses.fields(kind) if field.name == name)
    hint = _hints(kind).get(name, Any)
    if not field.metadata.get("static") and not _is_array_or_layer(value):
        # A default array would be as large as the size says, whatever the file holds.
        is_optional = type(None) in get_args(hint) or hint is Any
        if _is_ours(kind) or (value is None and not is_optional):
            raise ModelFileError(
                f"{expected}; got a value that is no array and no layer as its {name};"
                f" {COPY_AGAIN}."
            )
    if not isinstance(value, dict) and not _fits(value, hint):
        raise ModelFileError(f"{expected}; got {value!r:.40} as its {name}; {COPY_AGAIN}.")


def _is_ours(kind: type) -> bool:
    """Return whether harmonium itself defines a type, by whatever name a file calls it."""
    return kind.__module__.partition(".")[0] == home


def _is_array_or_layer(value: Any) -> bool:
    """Return whether a value describes an array or a layer, or a list of them."""
    return isinstance(value, dict) or (
        isinstance(value, list) and all(isinstance(item, dict) for item in value)
    )


@cache
def _hints(kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except Exception:  # names of annotations that exist for type checkers only
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value of JSON has an annotated type; True for types that JSON has not."""
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in inner)
    if hint is type(None):
        return value is None
    if hint is float:
        return type(value) in (int, float)
    if hint in SCALARS:  # bool is a subclass of int, but no size
        return type(value) is hint
    if origin is tuple and inner[-1:] == (Ellipsis,):
        return isinstance(value, list) and all(_fits(item, inner[0]) for item in value)
    return True
