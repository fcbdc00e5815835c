"""Alphabets of sequences, and which one a file is written in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import input_error

GAP = "-"
MOSTLY = 0.95  # of the letters of a nucleotide file are A, C, G, T, U or N
AT_LEAST = 0.5  # of them are, in a file that has all four and no letter of amino acids alone
AMBIGUOUS = "BDHKMRSVWXY*?"  # what other letters nucleotides are written with


class Alphabet(NamedTuple):
    """Letters in the order of their codes; the gap has code 0.

    Attributes:
        name: "protein", "rna", "dna" or "told".
        letters: the letters, the gap first.
        unclear: letters that stand for several, or for rare ones; they are read as gaps.
        same: letters that are read as another one, such as T as U in RNA.
    """

    name: str
    letters: str
    unclear: str = ""
    same: tuple[tuple[str, str], ...] = ()

    @property
    def codes(self) -> np.ndarray:
        """The code of each byte: −1 for an unclear letter, −2 for one that is none."""
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


def alphabet_named(told: str, counts: np.ndarray, label: str) -> Alphabet:
    """Return the alphabet that an option names, or the one of the letters.

    Args:
        told: "auto", "protein", "rna", "dna", or all letters with the gap first, as "-AB".
        counts: how often each byte is a letter of the sequences, shape (256,).
        label: what error messages call the file.

    Raises:
        InputError: no such alphabet, or a nucleotide file that is told to be protein.
    """
    found = _alphabet_of(counts)
    if told.lower() == "auto":
        return found
    if told.lower() in KNOWN:
        told = told.lower()
        if told == "protein" and found is not PROTEIN and counts.sum() >= 100:
            letters = "".join(chr(k) for k in np.flatnonzero(counts))
            advice = f"leave the alphabet out, or choose --alphabet {found.name}"
            raise input_error(label, "protein sequences, as told", f"only {letters}", advice)
        return KNOWN[told]
    if len(told) < 3 or told[0] != GAP or len(set(told)) < len(told) or not told.isascii():
        expected = f"auto, {', '.join(KNOWN)}, or all letters with the gap first, as -ACGU"
        raise input_error("--alphabet", expected, repr(told), "choose one of them")
    return Alphabet("told", told.upper())


def _alphabet_of(counts: np.ndarray) -> Alphabet:
    """Return the alphabet of most letters: nucleotides if nearly all letters are such."""
    number = {letter: int(counts[ord(letter)]) for letter in "ACGTUN"}
    clear, total = sum(number.values()), counts.sum()
    # Consensus sequences have many R, Y, S …; a family of proteins has L, E, I, P, F or Q.
    has_four = all((number["A"], number["C"], number["G"], number["T"] + number["U"]))
    has_no_others = clear + counts[list(AMBIGUOUS.encode())].sum() == total
    fraction = AT_LEAST if has_four and has_no_others else MOSTLY
    if not total or clear < fraction * total:
        return PROTEIN
    return RNA if number["U"] > number["T"] else DNA
