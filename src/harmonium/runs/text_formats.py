"""How a command reads a text file: as its options say, else as the run read its own."""

from __future__ import annotations

from dataclasses import replace

from ..data.readers import is_text
from ..tables.text_format import TextFormat
from .config import TextOptions
from .folder import RunFolder
from .leftovers import is_run


def text_format_for(file: str, run: str, options: TextOptions) -> TextFormat:
    """Return how a file is read that is to fit a run.

    Args:
        file: the file; what a run says of text is of no use for another one.
        run: a run folder, or a model, which says nothing.
        options: those of the command.
    """
    text_format = TextFormat()
    if is_run(run) and is_text(file):
        text_format = RunFolder(run).config().text_format
    return replace(text_format, **options.given)
