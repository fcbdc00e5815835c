"""JSON, which has no NaN and no infinity: values for it, and objects from files, checked."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._files import bytes_of, parsed_json, parser_errors
from .options import is_number

ENDS = ("value", "low", "high")
SCORES = {  # what other functions take from a summary
    "log_z": {*ENDS, "method", "converged", "message"},
    "log_likelihood": {*ENDS, "converged", "rows"},
}


def jsonable(value: Any) -> Any:
    """Return a value in JSON's own types; a number that is not finite becomes None."""
    if isinstance(value, Mapping):
        return {str(name): jsonable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):  # an array, or a NumPy scalar
        return jsonable(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Return a value as standard JSON, which every reader accepts."""
    return json.dumps(jsonable(value), indent=indent, allow_nan=False)


def read_json(path: Path) -> Any:
    """Return what a JSON file holds.

    Raises:
        InputError: there is no such file, or it holds something else.
    """
    content = bytes_of(path, str(path))
    with parser_errors(path, "a JSON file", "restore it, or write it again"):
        return parsed_json(content)


def is_record(found: Any) -> bool:
    """Return whether a value is a record of metrics: numbers by name, None for infinite ones."""
    if not isinstance(found, dict) or not all(is_number(found.get(n)) for n in ("update", "epoch")):
        return False
    return all(value is None or is_number(value) for value in found.values())


def is_summary(found: Any) -> bool:
    """Return whether a value has the scores of a summary, as far as there are any."""
    if not isinstance(found, dict) or not isinstance(found.get("message", ""), str):
        return False
    scores = [(name, found[name]) for name in SCORES if found.get(name) is not None]
    return all(
        isinstance(score, dict)
        and SCORES[name] <= score.keys()
        and all(score[end] is None or is_number(score[end]) for end in ENDS)
        for name, score in scores
    )
