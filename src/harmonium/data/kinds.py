"""What the numbers of rows are: one vocabulary for tables, readers and layers."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What the numbers of rows are.

    Attributes:
        coding: how such rows are read, in the words by which layers are registered.
        layer: the name of the usual layer for such rows, "" where each column has its own.
        noun: what notes call such numbers.
    """

    coding: str
    layer: str
    noun: str

    def __new__(cls, word: str, coding: str, layer: str, noun: str) -> Kind:
        """Return a member with its attributes."""
        kind = str.__new__(cls, word)
        kind._value_ = word
        kind.coding = coding
        kind.layer = layer
        kind.noun = noun
        return kind

    BINARY = "binary", "levels", "bernoulli", "binary values"
    GREY = "grey", "levels", "bernoulli", "grey levels"
    SPINS = "spins", "spins", "ising", "spins"
    CODES = "codes", "codes", "potts", "codes"
    REAL = "real", "reals", "gaussian", "real numbers"
    COLUMNS = "columns", "codes", "", "columns of a table"
    UNDECIDED = "undecided", "", "", "numbers"

    def __repr__(self) -> str:
        """Return the word in quotes, as that of a string."""
        return repr(self.value)
