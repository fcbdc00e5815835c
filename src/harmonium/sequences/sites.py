"""Sequence alphabets and alignment sites, which convert letters to codes and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, count_of
from ..layers import AbstractLayer, Potts
from .raw_alignment import RawAlignment

GAP = "-"
# Minimum fractions of A, C, G, T, U and N among the letters of a nucleotide file: in general, and
# for a file with all four bases and no letter used only for amino acids.
MOSTLY = 0.95
AT_LEAST = 0.5
AMBIGUOUS = "BDHKMRSVWXY*?"  # other letters in nucleotide sequences
FORMAT = "harmonium sites"
MOST_COLUMNS = 10**8  # in an alignment; a limit for untrusted files


class Alphabet(NamedTuple):
    """An alphabet: letters in the order of their codes, with code 0 for the gap.

    Attributes:
        name: "protein", "rna", "dna", or "told" for letters listed by the user.
        letters: the letters, with the gap first.
        unclear: letters of ambiguous or rare residues, which are treated as gaps.
        same: pairs (letter, the letter it is read as), such as ("T", "U") in RNA.
    """

    name: str
    letters: str
    unclear: str = ""
    same: tuple[tuple[str, str], ...] = ()

    @property
    def codes(self) -> np.ndarray:
        """The code of each byte: −1 for an ambiguous letter, −2 for a byte outside the alphabet."""
        table = np.full(256, -2)
        table[list(self.unclear.encode())] = -1
        table[list(self.letters.encode())] = np.arange(len(self.letters))
        for letter, other in self.same:
            table[ord(letter)] = self.letters.index(other)
        return table


PROTEIN = Alphabet("protein", GAP + "ACDEFGHIKLMNPQRSTVWY", "BJOUXZ*?")
RNA = Alphabet("rna", GAP + "ACGU", "N" + AMBIGUOUS, (("T", "U"),))
DNA = Alphabet("dna", GAP + "ACGT", "N" + AMBIGUOUS, (("U", "T"),))
KNOWN = {alphabet.name: alphabet for alphabet in (PROTEIN, RNA, DNA)}


def alphabet_named(option: str, counts: np.ndarray, label: str) -> Alphabet:
    """Return the alphabet named by an option; for "auto", infer it from the letters' counts.

    Args:
        option: "auto", "protein", "rna", "dna", or all letters with the gap first, such as "-AB".
        counts: the count of each byte among the letters of the sequences, shape (256,).
        label: the name of the file in error messages.

    Raises:
        InputError: the alphabet is unknown, or is "protein" for a file of nucleotides.
    """
    likely = _alphabet_of(counts)
    name = option.lower()
    if name == "auto":
        return likely
    if name in KNOWN:
        if name == "protein" and likely is not PROTEIN and counts.sum() >= 100:
            letters = "".join(chr(k) for k in np.flatnonzero(counts))
            raise InputError(
                f"{label}: expected protein sequences, as requested; got only the letters"
                f" {letters}; leave the alphabet out, or choose --alphabet {likely.name}."
            )
        return KNOWN[name]
    is_distinct = len(set(option)) == len(option)
    if len(option) < 3 or option[0] != GAP or not is_distinct or not option.isascii():
        raise InputError(
            f"--alphabet: expected auto, {', '.join(KNOWN)}, or all letters with the gap first,"
            f" such as -ACGU; got {option!r}."
        )
    return Alphabet("told", option.upper())


def _alphabet_of(counts: np.ndarray) -> Alphabet:
    """Infer the alphabet: RNA or DNA if nearly all letters are nucleotides, otherwise protein."""
    bases = {letter: int(counts[ord(letter)]) for letter in "ACGTUN"}
    clear = sum(bases.values())
    total = counts.sum()
    # Consensus sequences of nucleotides have many R, Y, S …; proteins have L, E, I, P, F or Q.
    has_four = all((bases["A"], bases["C"], bases["G"], bases["T"] + bases["U"]))
    has_no_others = clear + counts[list(AMBIGUOUS.encode())].sum() == total
    fraction = MOSTLY
    if has_four and has_no_others:
        fraction = AT_LEAST
    if not total or clear < fraction * total:
        return PROTEIN
    return RNA if bases["U"] > bases["T"] else DNA


@dataclass(frozen=True)
class Sites:
    """The modelled sites of an alignment, and their alphabet.

    Attributes:
        alphabet: the letters, in the order of their codes.
        columns: the index of each site's column in the alignment, from 0.
        width: the number of columns in the alignment.
    """

    alphabet: Alphabet
    columns: tuple[int, ...]
    width: int

    @property
    def states(self) -> int:
        """The number of letters, including the gap."""
        return len(self.alphabet.letters)

    @property
    def layer(self) -> AbstractLayer:
        """A new Potts layer with one unit per site."""
        return Potts(len(self.columns), self.states)

    def encode(self, raw: RawAlignment, label: str) -> np.ndarray:
        """Return the codes of sequences at the modelled sites; ambiguous letters count as gaps.

        Raises:
            InputError: the number of columns differs from `width`, or a letter is not in the
                alphabet; the message gives the sequence and its line.
        """
        if raw.letters.shape[1] != self.width:
            raise InputError(
                f"{label}: expected sequences of {self.width:,} columns, as in the model's data;"
                f" got {raw.letters.shape[1]:,} columns; align them to the same columns."
            )
        return codes_of(raw, self.alphabet, label)[:, list(self.columns)]

    def words(self, codes: np.ndarray) -> list[str]:
        """Decode rows of codes into strings of `width` letters, with gaps at unmodelled columns."""
        letters = np.full((len(codes), self.width), ord(GAP), np.uint8)
        alphabet = np.frombuffer(self.alphabet.letters.encode(), np.uint8)
        letters[:, list(self.columns)] = alphabet[np.asarray(codes, int)]
        return [row.tobytes().decode() for row in letters]

    def site_of(self, column: int) -> int | None:
        """Return the index of the site at a column (counted from 1); None if it is not modelled."""
        if column - 1 not in self.columns:
            return None
        return self.columns.index(column - 1)

    def record(self) -> dict[str, Any]:
        """Return the sites as a dictionary that can be written as JSON."""
        alphabet = self.alphabet._asdict() | {"same": dict(self.alphabet.same)}
        return {
            "format": FORMAT,
            "alphabet": alphabet,
            "width": self.width,
            "kept": list(self.columns),
        }

    @classmethod
    def from_record(cls, record: Any, label: str) -> Sites:
        """Return the sites described by `record`.

        Raises:
            InputError: the record is damaged.
        """
        try:
            fields = record["alphabet"]
            alphabet = Alphabet(
                name=str(fields["name"]),
                letters=str(fields["letters"]),
                unclear=str(fields["unclear"]),
                same=tuple((str(a), str(b)) for a, b in fields["same"].items()),
            )
            columns = tuple(int(column) for column in record["kept"])
            width = int(record["width"])
            letters = alphabet.letters
            is_alphabet = len(letters) == len(set(letters)) > 2 and letters[0] == GAP
            is_ascending = list(columns) == sorted({k for k in columns if 0 <= k < width})
            if not (is_alphabet and columns and is_ascending) or width > MOST_COLUMNS:
                raise ValueError
            _ = alphabet.codes  # raises ValueError for letters beyond ASCII
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
            raise InputError(
                f"{label}: expected the sites of an alignment; got other content; restore the"
                " file, or train a new model."
            ) from None
        return cls(alphabet, columns, width)


def codes_of(raw: RawAlignment, alphabet: Alphabet, label: str) -> np.ndarray:
    """Return the code of each letter in an alignment; ambiguous letters are treated as gaps.

    Raises:
        InputError: a letter is not in the alphabet; the message gives its sequence, line and
            position.
    """
    codes = alphabet.codes[raw.letters]
    if (codes == -2).any():
        raise _not_a_letter(raw, codes, alphabet, label)
    return np.maximum(codes, 0).astype(np.min_scalar_type(len(alphabet.letters) - 1))


def _not_a_letter(
    raw: RawAlignment, codes: np.ndarray, alphabet: Alphabet, label: str
) -> InputError:
    is_wrong = codes == -2
    row, site = (int(place) for place in np.argwhere(is_wrong)[0])
    others = int(np.count_nonzero(is_wrong)) - 1
    more = f" and {others:,} more such letters" * (others > 0)
    return InputError(
        f"{label}: expected letters among {alphabet.letters}{alphabet.unclear}; got"
        f" {chr(raw.letters[row, site])!r} at site {site + 1} of {raw.names[row]!r} (line"
        f" {raw.lines[row]:,}){more}; correct it, or name another alphabet (protein, rna, dna, or"
        " all letters)."
    )


def notes_on_letters(raw: RawAlignment, alphabet: Alphabet, name: str) -> tuple[str, ...]:
    """Return notes on letters that are read as gaps or as another letter; () if there are none."""
    notes = []
    is_unclear = alphabet.codes[raw.letters] == -1
    if is_unclear.any():
        letters = "".join(chr(byte) for byte in np.unique(raw.letters[is_unclear]))
        rows = count_of(int(is_unclear.any(1).sum()), "sequence")
        count = count_of(int(is_unclear.sum()), "ambiguous letter")
        notes.append(f"{name}: {count} ({letters}) in {rows} read as gaps.")
    for letter, other in alphabet.same:
        count = int((raw.letters == ord(letter)).sum())
        if count:
            notes.append(f"{name}: {count:,} {letter} read as {other}.")
    return tuple(notes)
