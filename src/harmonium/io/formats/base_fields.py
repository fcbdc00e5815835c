"""Checks of the fields of layers in a model file, made before any layer is created."""

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

# The largest integer allowed for a field that no array size bounds, such as the number of trials of
# a binomial unit. This limit fits in uint16, and arrays of this length fit in memory.
MOST = 2**16 - 1
SCALARS = (int, float, bool, str)  # JSON's types other than null, lists and objects


def check_numbers(description: Any, place: str, entries: int, source: str, advice: str) -> None:
    """Check the numbers in a description, so that a small file cannot request much memory.

    Args:
        description: the JSON description of layers, weights or one of their fields, as written by
            `Native`.
        place: the described part of the model, such as "visible".
        entries: the total number of entries of the model's arrays, which bounds all sizes.
        source: the name of the model in error messages.
        advice: the advice at the end of error messages.

    Raises:
        InputError: a number is not finite, or a size is larger than the model's arrays allow.
    """
    most = max(MOST, entries)
    for where, value in _values(description, place):
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(
                f"{source}: expected finite numbers; got {value} at {where}; {advice}."
            )
        if isinstance(value, int) and abs(value) > most:
            raise InputError(
                f"{source}: expected sizes consistent with the arrays; got {value:,} at {where},"
                f" which exceeds both {MOST:,} and the number of entries in the arrays; {advice}."
            )


def _values(description: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield the location and value of each entry of a nested description."""
    if isinstance(description, dict):
        for name, inner in description.items():
            # Omit `fields`, which is not part of the names that users know, such as visible.total.
            yield from _values(inner, place if name == "fields" else f"{place}.{name}")
    elif isinstance(description, list):
        for number, inner in enumerate(description):
            yield from _values(inner, f"{place}.{number}")
    else:
        yield place, description


def check_field(kind: type, name: str, value: Any, path: Path) -> None:
    """Check the description of one field of a layer or weight type.

    Args:
        kind: the layer or weight type.
        name: the name of the field.
        value: the description of the field, as written by `Native`.
        path: the model file.

    Raises:
        ModelFileError: the field's annotation does not allow the value.
    """
    expected = f"{path}: expected arrays and sizes that fit together in {kind.__name__}"
    field = next(field for field in dataclasses.fields(kind) if field.name == name)
    hint = _hints(kind).get(name, Any)
    if not field.metadata.get("static") and not _is_array_or_layer(value):
        # A default array would be as large as the size field requests, whatever the file contains.
        is_optional = type(None) in get_args(hint) or hint is Any
        if _is_ours(kind) or (value is None and not is_optional):
            raise ModelFileError(
                f"{expected}; got a value that is no array and no layer as its {name};"
                f" {COPY_AGAIN}."
            )
    if not isinstance(value, dict) and not _fits(value, hint):
        raise ModelFileError(f"{expected}; got {value!r:.40} as its {name}; {COPY_AGAIN}.")


def _is_ours(kind: type) -> bool:
    """Return whether harmonium itself defines a type, whatever name a file gives to the type."""
    return kind.__module__.partition(".")[0] == home


def _is_array_or_layer(value: Any) -> bool:
    """Return whether a value describes an array or a layer, or a list of them.

    In a list, None represents an absent array, such as an absent block of `BlockWeights`.
    """
    if isinstance(value, list):
        return all(item is None or _is_array_or_layer(item) for item in value)
    return isinstance(value, dict)


@cache
def _hints(kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except Exception:  # annotations may use names that exist only for type checkers
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a JSON value has the annotated type; True for a type that JSON lacks."""
    origin = get_origin(hint)
    inner = get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in inner)
    if hint is type(None):
        return value is None
    if hint is float:
        return type(value) in (int, float)
    if hint in SCALARS:  # bool is a subclass of int, but not a size
        return type(value) is hint
    if origin is tuple and inner[-1:] == (Ellipsis,):
        return isinstance(value, list) and all(_fits(item, inner[0]) for item in value)
    return True
