"""How a command reads a text file: as it is told, else as the run read its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.readers import is_text
from ..tables.text_format import TextFormat
from .folder import CONFIG, RunFolder


def text_format_for(file: str, run: str, told: Mapping[str, Any]) -> TextFormat:
    """Return how a file is read that is to fit a run.

    Args:
        file: the file; what a run says of text is of no use for another one.
        run: a run folder, or a model, which says nothing.
        told: the options of the command, by name, those that were given.
    """
    is_run = (Path(run) / CONFIG).is_file()
    own = RunFolder(run).config().text_format if is_run and is_text(file) else TextFormat()
    return replace(own, **told)
