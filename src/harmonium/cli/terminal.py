"""Filter all text that is shown on a terminal, so that text from files cannot control it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import printable_lines


class Shown:
    """A text stream that replaces control characters and text-direction characters by ?.

    Rich bypasses this stream, since Rich's own colours are control characters;
    `PatientConsole` replaces such characters in the text that Rich lays out.

    Attributes:
        rich_proxied_file: the wrapped stream, under the name that Rich looks for.
    """

    def __init__(self, stream: Any):
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write text, with control characters replaced, except line breaks and tabs."""
        self.rich_proxied_file.write(printable_lines(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the stream."""
        return getattr(self.rich_proxied_file, name)


@contextmanager
def shown_text() -> Iterator[None]:
    """Pass all text that is printed within the context through `Shown`."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (stream and Shown(stream) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def below(stream: Any) -> Any:
    """Return the stream that `Shown` wraps, to which Rich writes even while its display is live."""
    return stream.rich_proxied_file if isinstance(stream, Shown) else stream


def print_data(text: str) -> None:
    """Print rows or a path, with control characters replaced only if the output is a terminal."""
    stream = sys.stdout
    if stream is None or not stream.isatty():
        stream = below(stream)
    print(text, end="", file=stream)
