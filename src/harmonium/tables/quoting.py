"""Names and values in quotes, where a user writes several in one line: "a, b"=yes, c=2."""

from __future__ import annotations

import re
from collections.abc import Iterable

# In double or single quotes, which are doubled within, up to a sign that ends a name or a value.
QUOTED = re.compile(r"""("(?:[^"]|"")*"|'(?:[^']|'')*')(?=\s*(?:[=,|]|\.\.|$))""")
SIGNS = "=,|"


def split_outside(text: str, mark: str) -> list[str]:
    """Split a text at a mark, but not within quotes.

    Quotes open at the beginning of a name or a value alone, so that inches and apostrophes stay.
    """
    pieces: list[str] = []
    begin = place = 0
    is_beginning = True
    while place < len(text):
        quoted = QUOTED.match(text, place) if is_beginning else None
        if quoted is not None:
            place = quoted.end()
            is_beginning = False
        elif text.startswith(mark, place):
            pieces.append(text[begin:place])
            place = begin = place + len(mark)
            is_beginning = True
        else:
            sign = text[place]
            is_beginning = sign in SIGNS or (is_beginning and sign.isspace())
            place += 1
    return [*pieces, text[begin:]]


def is_quoted(text: str) -> bool:
    """Return whether a text is a name or a value in quotes."""
    return QUOTED.fullmatch(text.strip()) is not None


def unquoted(text: str) -> str:
    """Return a name or a value without blanks around it, and without its quotes."""
    bare = text.strip()
    if not is_quoted(bare):
        return bare
    sign = bare[0]
    return bare[1:-1].replace(2 * sign, sign)


def meant_in_quotes(piece: str, names: Iterable[str], otherwise: str) -> str:
    """Return how a name is written of which a piece was cut off, or other advice."""
    for name in names:
        if re.search(r"[=,|]", name) and name.startswith(piece.strip("\"' ")):
            return f"""write it in quotes: '"{name[:80]}"'"""
    return otherwise
