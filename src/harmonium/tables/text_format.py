"""The user's options for reading a text file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..errors import InputError

SEPARATORS = {"tab": "\t", "space": " ", "comma": ",", "semicolon": ";", r"\t": "\t"}


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """The user's options for reading a text file; omitted options are inferred from the file.

    Attributes:
        header: the number of the line that names the columns, counting all lines of the file;
            "none" if there is no such line; None to infer it.
        separator: the separator between cells: one character, or the word tab, space (any number of
            blanks), comma or semicolon; None to infer it.
        missing: additional words for missing cells, ignoring case.
        skip: the number of lines to skip before the table.

    Raises:
        InputError: an option has an invalid value.
    """

    header: int | Literal["none"] | None = None
    separator: str | None = None
    missing: tuple[str, ...] = ()
    skip: int = 0

    def __post_init__(self):
        """Check the values and normalise them."""
        if self.separator is not None:
            object.__setattr__(self, "separator", _separator(self.separator))
        object.__setattr__(self, "missing", _words(self.missing))
        if not _is_whole(self.skip, least=0):
            raise InputError(
                f"--skip: expected a whole number of lines, at least 0; got {_shown(self.skip)}."
            )
        if self.header in (None, "none"):
            return
        if not _is_whole(self.header, least=1):
            raise InputError(
                "--header: expected the number of the line that names the columns, or none;"
                f" got {_shown(self.header)}; the first line has the number 1."
            )
        if int(self.header) <= self.skip:
            raise InputError(
                f"--header: expected a line after line {self.skip:,}, the last that --skip drops;"
                f" got line {self.header:,}; count all lines of the file, including dropped ones."
            )


def _separator(value: Any) -> str:
    mark = value
    if isinstance(value, str):
        mark = SEPARATORS.get(value, value)
    is_mark = isinstance(mark, str) and len(mark) == 1 and not mark.isalnum()
    if not is_mark or mark in "\"'\n\r.+-\0":
        raise InputError(
            "--separator: expected one character such as ; or |, or one of the words tab, space,"
            f" comma and semicolon; got {_shown(value)}; give the separator between two cells."
        )
    return mark


def _words(values: Any) -> tuple[str, ...]:
    # Treat a string as one word, not as a sequence of letters.
    words = values
    if isinstance(values, str):
        words = (values,)
    is_sequence = isinstance(words, list | tuple)
    if not is_sequence or not all(isinstance(word, str) and word.strip() for word in words):
        raise InputError(
            f"--missing: expected words that mean a missing cell; got {_shown(values)}; write,"
            " for example, --missing unknown."
        )
    return tuple(word.strip() for word in words)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _shown(value: Any) -> str:
    return repr(value)[:40]
