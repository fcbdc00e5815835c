"""Decoding the text of a file with the most plausible encoding."""

from __future__ import annotations

import codecs
import re
import unicodedata
from typing import NamedTuple

from ..errors import InputError, count_of

MARKS = (  # UTF-32 first, since its mark begins with the mark of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
EIGHT_BITS = ("cp1252", "mac_roman")  # in order of preference if both are possible
TITLES = {
    "cp1252": "Windows-1252",
    "mac_roman": "Mac Roman",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
}
LOOKED_AT = 2**20  # characters used to determine the encoding
# Fractions of zeros that identify UTF-16 without a mark: the minimum in every second byte (digits
# and line ends have such zeros in any script), and the maximum in the bytes between.
WIDE = 0.1
STRAY = 0.02
FEWEST = 5  # minimum number of non-ASCII letters needed to reject an encoding
MOST_ODD = 0.34  # maximum fraction of odd non-ASCII letters: normal text has almost none
CONTROLS = r"[\x00-\x08\x0e-\x1f]"
STRAY_CONTROLS = 0.02  # maximum number per line; more would be separators or binary data
LINE_END = r"\r\n?|\n"
ENDS = "\x1a\x00"  # end of DOS files, and padding of the last block


class Decoded(NamedTuple):
    """The decoded text of a file.

    Attributes:
        text: the text.
        encoding: the name of the encoding; "" for UTF-8.
        stray: a description of the control characters removed; "" if there were none.
    """

    text: str
    encoding: str = ""
    stray: str = ""


def decoded(content: bytes, label: str) -> Decoded:
    """Decode the text of a file with the most plausible encoding.

    Raises:
        InputError: the file is not text, or its encoding is unknown.
    """
    encodings = [name for mark, name in MARKS if content.startswith(mark)][:1]
    # ASCII letters in UTF-16 are also valid UTF-8, with a zero next to each letter.
    encodings = encodings or [name for name in (_wide(content), "utf-8") if name]
    for encoding in encodings:
        text, stray = _without_strays(content, encoding)
        if text is not None:
            return Decoded(text, TITLES.get(encoding, ""), stray)
    texts = {name: text for name in EIGHT_BITS if (text := _text(content, name)) is not None}
    if encodings != ["utf-8"] or not texts:
        raise InputError(
            f"{label}: expected text with one row per line; got binary content; save it as UTF-8"
            " text, or rename the file to match its format."
        )
    odd = {name: _oddity(text) for name, text in texts.items()}
    encoding = min(odd, key=lambda name: odd[name])
    if odd[encoding] > MOST_ODD and len(re.findall(rb"[\x80-\xff]", content[:LOOKED_AT])) >= FEWEST:
        raise InputError(
            f"{label}: expected text in UTF-8, UTF-16, Windows-1252 or Mac Roman; got bytes in"
            " another encoding; save it as UTF-8."
        )
    return Decoded(texts[encoding], TITLES[encoding])


def _without_strays(content: bytes, encoding: str) -> tuple[str | None, str]:
    """Decode text, remove a few stray control characters, and describe what was removed.

    The text is None if the bytes are invalid or contain too many control characters.
    """
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return None, ""
    bare = _without_end(text)
    zeros = text[len(bare) :].count("\0")
    controls = re.findall(CONTROLS, bare)
    lines = len(re.findall(LINE_END, bare))
    if len(controls) > max(1, STRAY_CONTROLS * lines) or (controls and lines < 2):
        return None, ""
    strays = ""
    if zeros > 1:
        strays = f"{count_of(zeros, 'zero byte')} at its end"
    if controls:
        examples = ", ".join(sorted({f"{sign!r}" for sign in controls})[:3])
        strays = f"{count_of(len(controls), 'control character')}, such as {examples}"
    return re.sub(CONTROLS, "", bare), strays


def _text(content: bytes, encoding: str) -> str | None:
    """Decode text, or return None if the bytes are invalid or contain control characters."""
    try:
        text = _without_end(content.decode(encoding))
    except UnicodeDecodeError:
        return None
    if re.search(CONTROLS, text):
        return None
    return text


def _without_end(text: str) -> str:
    """Return a text without a final DOS end-of-file mark or zero bytes that pad the last block."""
    bare = text.rstrip(ENDS)
    if len(re.findall(LINE_END, bare)) > 1:
        return bare
    return text.rstrip("\x1a")


def _wide(content: bytes) -> str | None:
    """Return which UTF-16 encoding text without a byte order mark has, or None for other text."""
    sample = content[:LOOKED_AT]
    half = max(1, len(sample) // 2)
    first = sample[0::2].count(0) / half
    second = sample[1::2].count(0) / half
    if len(content) % 2 or min(first, second) > STRAY or max(first, second) < WIDE:
        return None
    encoding = "utf-16-le" if second > first else "utf-16-be"
    text = _text(content, encoding)
    if text is None or not re.search(r"[\r\n]", text):
        return None
    return encoding


def _oddity(text: str) -> float:
    """Return the fraction of non-ASCII characters whose neighbours suggest a wrong encoding."""
    beginning = text[:LOOKED_AT]
    places = [match.start() for match in re.finditer(r"[^\x00-\x7f]", beginning)]
    odd = sum(
        _is_odd(beginning[place - 1 : place], beginning[place], beginning[place + 1 : place + 2])
        for place in places
    )
    return odd / max(1, len(places))


def _is_odd(before: str, sign: str, after: str) -> bool:
    """Return whether a character suggests a wrong encoding, as in: JosŽ, na•ve, Bjšrn."""
    if not before.isascii() and not after.isascii():
        return True  # Cyrillic or Greek, read as Western letters
    is_inside = before.isalpha() and after.isalpha()
    if not sign.isalpha():
        if sign in "¡¿‘":
            return before.isalnum()
        # A dash may join two names, and an apostrophe may occur within a word.
        return is_inside and sign != "’" and (sign not in "–—" or after.islower())
    if not before.isalpha() and not after.isalpha():
        return sign not in "àÀ"
    if sign.isupper() and (before.islower() or (is_inside and after.islower())):
        return True
    if sign.islower() and before.islower() and after.isupper():
        return True
    return is_inside and all(map(_is_consonant, (before, sign, after)))


def _is_consonant(letter: str) -> bool:
    return unicodedata.normalize("NFD", letter)[0].lower() not in "aeiouyæœøı"
