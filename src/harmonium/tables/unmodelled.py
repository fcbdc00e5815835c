"""Columns that no unit models: constants, free text, and keys, which identify rows."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import AbstractUnmodelled, ColumnKind
from .dates import is_date
from .frames import CellKind, RawColumn

SHORTEST = 6  # characters of a key without a number; shorter texts of one length are often words
MOST_ALIKE = 0.01  # maximum probability that two new keys are equal
ALPHABETS = (  # the first that contains all characters seen at a position is used for new keys
    string.digits,
    string.digits + "abcdef",
    string.digits + "ABCDEF",
    string.ascii_lowercase,
    string.ascii_uppercase,
    string.digits + string.ascii_lowercase,
    string.digits + string.ascii_uppercase,
    string.ascii_letters,
    string.digits + string.ascii_letters,
)
BY_CHANCE = 1e-3  # probability below which the absence of a character is not chance
MOST_DIGITS = 15  # float64 can represent every integer with this many digits
LARGEST = 2**53 - 1  # larger integers are not exact, and cannot identify rows


@dataclass(frozen=True, kw_only=True)
class LeftOut(AbstractUnmodelled):
    """A column without a unit: a constant, an identifier, free text, or one without known cells.

    Attributes:
        value: the value of a constant column (dates with the year first), or None for others.
    """

    kind = ColumnKind.LEFT_OUT
    value: Any = None

    @classmethod
    def constant(cls, raw: RawColumn) -> LeftOut:
        """Create a left-out column from cells that are either missing or have the same value."""
        value = raw.known.tolist()[0]
        if raw.cell_kind is CellKind.DATES:
            value = str(raw.known[0])
        why = f"always {str(value)[:40]}"
        if raw.cell_kind is CellKind.WORDS and raw.is_missing.any():
            # An empty cell in a column of "yes" usually means "no", so no value is assumed.
            return cls(name=raw.name, form=raw.form, why=f"{why}, or empty")
        return cls(name=raw.name, form=raw.form, digits=raw.digits, why=why, value=value)

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, int | float)

    def merged(
        self, cells: Sequence[np.ndarray], rows: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return cells with the constant value, or missing cells if there is none."""
        if self.is_number:
            return np.full(rows, float(self.value))
        if self.value is not None and is_date(self.form):
            return np.full(rows, np.datetime64(self.value, "us"))
        return np.full(rows, self.value, object)


@dataclass(frozen=True, kw_only=True)
class Key(AbstractUnmodelled):
    """A column that identifies each row by a counter, a number within text, or random characters.

    Attributes:
        before: the text before the number in each cell.
        after: the text after the number.
        width: the number of digits if numbers are padded with zeros; 0 if they are not padded; −1
            for a column of plain numbers without text.
        last: the largest number.
        signs: for keys without a number, the possible characters at each position; else empty.
    """

    kind = ColumnKind.KEY
    before: str = ""
    after: str = ""
    width: int = -1
    last: int = 0
    signs: tuple[str, ...] = ()

    def __post_init__(self):
        """Check numbers and lengths, which may come from an untrusted file."""
        super().__post_init__()
        if not -1 <= self.width <= MOST_DIGITS or abs(self.last) > LARGEST:
            raise ValueError(f"a key of {self.width} digits with the last number {self.last}")
        if not all(self.signs):
            raise ValueError("a position without characters in a key")

    @classmethod
    def of_numbers(cls, raw: RawColumn, why: str) -> Key:
        """Create a key from a column of integers that identify the rows."""
        last = int(min(max(np.nanmax(raw.values), -LARGEST), LARGEST))
        return cls(name=raw.name, form=raw.form, digits=raw.digits, why=why, last=last)

    @classmethod
    def of_text(cls, raw: RawColumn) -> Key | None:
        """Create a key from texts that are all different and in the same format, or return None."""
        cells = raw.known.tolist()
        if not cells or len(set(cells)) < len(cells):
            return None
        why = f"an identifier: {len(cells):,} different texts of one form"
        matches = [
            re.fullmatch(r"(\D*)(\d{1,15})(\D*)", cell, re.ASCII | re.DOTALL) for cell in cells
        ]
        numbered = [match for match in matches if match is not None]
        around = {(match[1], match[3]) for match in numbered}
        if len(numbered) < len(cells) or len(around) > 1:
            return cls._of_signs(raw.name, cells, why)
        [(before, after)] = around
        digits = [match[2] for match in numbered]
        width = len(digits[0])
        is_padded = len(set(map(len, digits))) == 1 and (width > 1 or digits[0] == "0")
        return cls(
            name=raw.name,
            why=why,
            before=before,
            after=after,
            width=width if is_padded else 0,
            last=max(map(int, digits)),
        )

    @classmethod
    def _of_signs(cls, name: str, cells: list[str], why: str) -> Key | None:
        """Return a column of identifiers from texts with the same length and kinds of characters.

        Return None if there are too few possible keys.
        """
        if len(set(map(len, cells))) > 1 or len(cells[0]) < SHORTEST:
            return None
        signs = tuple(_alphabet(set(place), len(cells)) for place in zip(*cells, strict=True))
        # The birthday problem: among n known and n new keys, drawn from equally probable ones, two
        # are equal with a probability of about (2n)² / (2 · number of possible keys).
        log_names = float(sum(np.log(len(alphabet)) for alphabet in signs if alphabet))
        is_large = log_names > np.log(2.0 * len(cells) ** 2 / MOST_ALIKE)
        has_digits = any(set(alphabet) & set(string.digits) for alphabet in signs)
        if not (all(signs) and is_large and has_digits):
            return None
        return cls(name=name, why=why, signs=signs)

    def merged(
        self, cells: Sequence[np.ndarray], rows: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Return new keys: the numbers after the last number, or randomly drawn characters."""
        numbers = np.arange(self.last + 1, self.last + 1 + rows)
        if self.width < 0 and not self.signs:
            return numbers.astype(float)
        names = np.empty(rows, object)
        if self.signs:
            places = [rng.choice(list(alphabet), rows) for alphabet in self.signs]
            names[:] = ["".join(signs) for signs in zip(*places, strict=True)]
        else:
            width = max(self.width, 0)
            names[:] = [f"{self.before}{number:0{width}d}{self.after}" for number in numbers]
        return names


def _alphabet(signs: set[str], rows: int) -> str:
    """Return the characters for new keys at a position: one of `ALPHABETS`, or "" if none matches.

    If some characters of the alphabet are absent, and this is unlikely by chance in so many rows,
    only the observed characters are used, such as 8, 9, a and b for the variant of a UUID.
    """
    alphabet = next((alphabet for alphabet in ALPHABETS if signs <= set(alphabet)), "")
    log_chance = rows * np.log(len(signs) / max(1, len(alphabet)))
    if len(signs) == 1 or (alphabet and log_chance < np.log(BY_CHANCE)):
        return "".join(sorted(signs))
    return alphabet
