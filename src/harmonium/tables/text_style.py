"""How a text file writes its cells: its mark of UTF-8, line ends, and which columns have quotes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

BEGINNING = 2**18  # bytes by which the style is found
# What makes a spreadsheet take a cell for a formula, also in the wide letters of East Asian text.
FORMULAS = tuple("=+-@\t\r\n＝＋－＠")
UTF8, UTF16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")


class TextStyle(NamedTuple):
    """How a text file writes its cells.

    Attributes:
        mark: what it begins with.
        line_end: what ends its lines.
        names_are_quoted: whether its names are in quotes.
        quoted: the places of columns whose cells are in quotes.
        is_guarded: whether cells that a spreadsheet would run as formulas are written as `guarded`.
    """

    mark: str = ""
    line_end: str = "\n"
    names_are_quoted: bool = False
    quoted: frozenset[int] = frozenset()
    is_guarded: bool = False

    @classmethod
    def of(cls, content: bytes, delimiter: str, width: int) -> TextStyle:
        """Return the style of a file.

        Args:
            content: the file, unpacked.
            delimiter: what separates its cells.
            width: the number of its columns.
        """
        beginning = content[:BEGINNING]
        # Latin-1 reads all bytes, and the signs of a style are ASCII.
        text = beginning.decode("utf-16" if beginning[:2] in UTF16 else "latin-1", "ignore")
        ends = re.search(r"\r?\n|\r", text)
        mark = re.escape(delimiter)
        cell = rf'(?:^|{mark})("(?:[^"]|"")*"|[^{mark}"]*)'
        lines = (re.findall(cell, line) for line in re.split(r"\r?\n|\r", text))
        first, *others = [line for line in lines if len(line) == width] or [[]]
        by_column = zip(*others, strict=True)
        quoted = {place for place, cells in enumerate(by_column) if _are_quoted(cells)}
        return cls(
            mark="\ufeff" if content.startswith(UTF8) else "",
            line_end=ends[0] if ends else "\n",
            names_are_quoted=bool(first) and all(cell.startswith('"') for cell in first),
            quoted=frozenset(quoted),
        )

    def line(self, cells: Sequence[str], delimiter: str, *, are_names: bool, added: int) -> str:
        """Return a line of cells.

        Args:
            cells: the cells.
            delimiter: what separates them.
            are_names: whether they are names.
            added: how many of them the file did not have, before its own.
        """
        special = re.compile(rf'["\r\n{re.escape(delimiter)}]')
        parts = []
        shown = map(guarded, cells) if self.is_guarded else cells
        for place, cell in enumerate(shown, -added):
            is_quoted = self.names_are_quoted if are_names else place in self.quoted
            # a missing cell stays without quotes, in which it would be an empty word to some
            needs_quotes = special.search(cell) or (is_quoted and cell)
            parts.append(f'"{cell.replace(chr(34), chr(34) * 2)}"' if needs_quotes else cell)
        line = delimiter.join(parts)
        return f"{line or chr(34) * 2}{self.line_end}"


def guarded(cell: str) -> str:
    """Return a cell with ' before it if a spreadsheet would take it for a formula; numbers stay.

    Example:
        >>> from harmonium.tables.text_style import guarded
        >>> [guarded(cell) for cell in ("=1+1", "@home", "-1.5", "x=1")]
        ["'=1+1", "'@home", '-1.5', 'x=1']
    """
    return f"'{cell}" if cell.startswith(FORMULAS) and not _is_number(cell) else cell


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number, perhaps of money or percent, such as -$1,250.50."""
    core = "".join(letter for letter in cell if unicodedata.category(letter) != "Sc")
    try:
        float(core.removesuffix("%").replace(",", ""))
    except ValueError:
        return False
    return cell == cell.strip()  # float takes a tab before a number, and a spreadsheet acts on it


def _are_quoted(cells: Iterable[str]) -> bool:
    """Return whether all cells are in quotes, but for words that R writes for missing ones."""
    known = [cell for cell in cells if cell not in ("", "NA")]
    return bool(known) and all(cell.startswith('"') for cell in known)
