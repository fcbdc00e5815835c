"""Convert values to standard JSON, which has no NaN or infinity, and read JSON files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from .._base.files import bytes_of, parsed_json, parser_errors


def jsonable(value: Any) -> Any:
    """Convert a value to JSON types; a number that is not finite becomes None."""
    if is_dataclass(value):
        record: Any = value
        return jsonable(asdict(record))
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
    """Encode a value as standard JSON, with null in place of NaN and infinity."""
    return json.dumps(jsonable(value), indent=indent, allow_nan=False)


def read_json(path: Path, *, has_paths: bool = False) -> Any:
    """Return the contents of a JSON file.

    Args:
        path: the file.
        has_paths: whether the file contains paths; see `parsed_json`.

    Raises:
        InputError: the file does not exist, or is not JSON.
    """
    content = bytes_of(path, str(path))
    with parser_errors(path, "a JSON file", "restore it, or write it again"):
        return parsed_json(content, has_paths=has_paths)
