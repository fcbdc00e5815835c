"""`harmonium info`."""

from __future__ import annotations

from typing import Annotated, Any

from ..errors import printable
from ..runs.options import Argument, Option, Scale, TextOptions
from .base import print_json, typed
from .options import Json


def info(
    path: Annotated[str, Argument("A run folder, a model, or a data source.", "PATH")],
    *,
    visible: Annotated[
        str, Option("Kind of visible units for which data are read, as in `train`.")
    ] = "auto",
    scale: Scale = None,
    text: TextOptions,
    as_json: Json = False,
) -> None:
    """Describe the contents of a run folder, a model file or a data source.

    Examples:
      harmonium info runs/digits
      harmonium info model.safetensors --json
      harmonium info rows.csv
      harmonium info codes.csv --visible potts
    """
    from ..runs.info import UNFINISHED
    from ..runs.info import info as describe

    description = describe(path, visible, scale, text.given)
    if as_json:
        print_json(description)
        return
    if description.get("state") == UNFINISHED:
        go_on = typed("resume", description["run"])
        description["state"] = f"{UNFINISHED}; continue with: {go_on}"
    for name, value in description.items():
        _print_entry(name.replace("_", " "), value)


def _print_entry(name: str, value: Any) -> None:
    """Print a name and its value, with the items of a list on separate lines."""
    if not isinstance(value, list):
        value = [value]
    for line in value:
        print(f"{name:<12}  {printable(str(line))}")  # a line break must not seem to start an entry
        name = ""
