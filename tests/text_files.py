"""What tests of text files share."""

from pathlib import Path

from harmonium.tables import Frame
from harmonium.tables.text import open_text
from harmonium.tables.text_format import TextFormat


def read_text(
    path: Path, label: str, known: Frame | None = None, text_format: TextFormat | None = None
) -> Frame:
    """Return the columns of a text file."""
    return open_text(path, label, text_format, known).frame(known)
