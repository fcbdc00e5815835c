"""What a model file may say of a layer's fields, checked before any layer is made."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterable
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from ... import __name__ as home

# Of whole numbers that no array's size bounds, such as the number of trials of a count: what a
# layer computes for each of them still fits in memory, and uint16 holds them.
MOST = 2**16 - 1
SCALARS = (int, float, bool, str)


def wrong_number(described: Any, place: str, entries: int) -> str | None:
    """Return the first number of a description that no model needs, and its place; None if none.

    Args:
        described: layers, weights or one of their fields, as `Native` writes them.
        place: what it describes, such as "visible".
        entries: the number of entries of all arrays of the model, which bounds its sizes.
    """
    inner: Iterable[tuple[str, Any]] = ()
    if isinstance(described, dict):
        # `fields` alone is no part of a name that a user knows: visible.total.
        inner = ((place if k == "fields" else f"{place}.{k}", v) for k, v in described.items())
    elif isinstance(described, list):
        inner = ((f"{place}.{number}", item) for number, item in enumerate(described))
    elif isinstance(described, float) and not math.isfinite(described):
        return f"a number that is not finite at {place}"
    elif isinstance(described, int) and abs(described) > max(MOST, entries):
        return f"{described:,} at {place}, more than {MOST:,} and than its arrays have entries"
    wrong = (wrong_number(item, name, entries) for name, item in inner)
    return next((words for words in wrong if words is not None), None)


def wrong_field(kind: type, name: str, value: Any) -> str | None:
    """Return what is wrong with the description of a field of a type; None if it may be right.

    Args:
        kind: the type of layer or weights.
        name: the name of the field.
        value: what the file says of it: a description as `Native` writes it.
    """
    field = next(field for field in dataclasses.fields(kind) if field.name == name)
    hint = _hints(kind).get(name, Any)
    if not field.metadata.get("static") and not _is_described(value):
        # A default array would be as large as the size says, whatever the file holds.
        is_optional = type(None) in get_args(hint) or hint is Any
        if _is_ours(kind) or (value is None and not is_optional):
            return "a value that is no array and no layer"
    if isinstance(value, dict) or _fits(value, hint):
        return None
    return f"{value!r:.40}"


def _is_ours(kind: type) -> bool:
    """Return whether harmonium itself defines a type, by whatever name a file calls it."""
    return kind.__module__.partition(".")[0] == home


def _is_described(value: Any) -> bool:
    """Return whether a value is an array or a layer, or a list of them."""
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
