"""What the sites of an alignment mean: letters to codes and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, count_of, input_error
from ..layers import AbstractLayer, Potts
from .alphabets import GAP, Alphabet
from .reading import RawAlignment

FORMAT = "harmonium sites"
MOST_COLUMNS = 10**8  # of an alignment; a file may say anything


@dataclass(frozen=True)
class Sites:
    """The sites of an alignment that are modelled, and the letters that stand there.

    Attributes:
        alphabet: the letters, in the order of their codes.
        kept: the columns of the alignment that are sites of the model, counted from 0.
        width: the number of columns of the alignment.
    """

    alphabet: Alphabet
    kept: tuple[int, ...]
    width: int

    @property
    def states(self) -> int:
        """The number of letters, the gap included."""
        return len(self.alphabet.letters)

    @property
    def layer(self) -> AbstractLayer:
        """The layer of the sites, without parameters."""
        return Potts(len(self.kept), self.states)

    def encode(self, raw: RawAlignment, label: str) -> np.ndarray:
        """Return the codes of sequences at the modelled sites; unclear letters become gaps.

        Raises:
            InputError: another number of columns, or a letter that is not of the alphabet, with its
                sequence and line.
        """
        if raw.letters.shape[1] != self.width:
            expected = f"sequences of {self.width:,} columns, as the model's alignment has"
            advice = "align them to the same columns"
            raise input_error(label, expected, f"{raw.letters.shape[1]:,}", advice)
        return codes_of(raw, self.alphabet, label)[:, list(self.kept)]

    def words(self, codes: np.ndarray) -> list[str]:
        """Return the sequences of rows of codes, at full width: gaps at columns left out."""
        letters = np.full((len(codes), self.width), ord(GAP), np.uint8)
        alphabet = np.frombuffer(self.alphabet.letters.encode(), np.uint8)
        letters[:, list(self.kept)] = alphabet[np.asarray(codes, int)]
        return [row.tobytes().decode() for row in letters]

    def site_of(self, column: int) -> int | None:
        """Return the place among the model's sites of a column counted from 1; None if left out."""
        return self.kept.index(column - 1) if column - 1 in self.kept else None

    def record(self) -> dict[str, Any]:
        """Return the sites as JSON can hold them."""
        name, letters, unclear, same = self.alphabet
        alphabet = {"name": name, "letters": letters, "unclear": unclear, "same": dict(same)}
        kept = list(self.kept)
        return {"format": FORMAT, "alphabet": alphabet, "width": self.width, "kept": kept}

    @classmethod
    def from_record(cls, record: Any, label: str) -> Sites:
        """Return the sites that `record` described.

        Raises:
            InputError: the record is damaged.
        """
        try:
            told = record["alphabet"]
            name, letters, unclear = (str(told[k]) for k in ("name", "letters", "unclear"))
            same = tuple((str(a), str(b)) for a, b in told["same"].items())
            kept, width = tuple(int(k) for k in record["kept"]), int(record["width"])
            fits = len(letters) == len(set(letters)) > 2 and letters[0] == GAP and kept
            if not fits or list(kept) != sorted({k for k in kept if 0 <= k < width}):
                raise ValueError
            alphabet = Alphabet(name, letters, unclear, same)
            if width > MOST_COLUMNS or len(alphabet.codes) != 256:
                raise ValueError
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            expected, advice = "the sites of an alignment", "restore the file, or train anew"
            raise input_error(label, expected, "something else", advice) from None
        return cls(alphabet, kept, width)


def codes_of(raw: RawAlignment, alphabet: Alphabet, label: str) -> np.ndarray:
    """Return the code of each letter; unclear letters become gaps.

    Raises:
        InputError: a letter that is not of the alphabet, with its sequence, line and place.
    """
    codes = alphabet.codes[raw.letters]
    if (codes == -2).any():
        raise _not_a_letter(raw, codes, alphabet, label)
    return np.maximum(codes, 0).astype(np.min_scalar_type(len(alphabet.letters) - 1))


def _not_a_letter(
    raw: RawAlignment, codes: np.ndarray, alphabet: Alphabet, label: str
) -> InputError:
    bad = codes == -2
    row, site = (int(k) for k in np.argwhere(bad)[0])
    found = f"{chr(raw.letters[row, site])!r} at site {site + 1} of {raw.names[row]!r}"
    found += f" (line {raw.lines[row]:,})"
    more = int(np.count_nonzero(bad)) - 1
    found += f" and {more:,} more such" if more else ""
    letters = alphabet.letters + alphabet.unclear
    advice = "correct it, or name another alphabet (protein, rna, dna, or all letters)"
    return input_error(label, f"letters of {alphabet.name}, {letters}", found, advice)


def notes_on_letters(raw: RawAlignment, alphabet: Alphabet, name: str) -> tuple[str, ...]:
    """Return sentences on letters that are read as gaps or as another letter, if there are any."""
    notes = ()
    unclear = alphabet.codes[raw.letters] == -1
    if unclear.any():
        which = "".join(chr(k) for k in np.unique(raw.letters[unclear]))
        rows = count_of(int(unclear.any(1).sum()), "sequence")
        number = count_of(int(unclear.sum()), "unclear letter")
        notes = (f"{name}: {number} ({which}) in {rows} read as gaps.",)
    for letter, other in alphabet.same:
        number = int((raw.letters == ord(letter)).sum())
        if number:
            notes = (*notes, f"{name}: {number:,} {letter} read as {other}.")
    return notes
