"""Interpretations of the numbers in rows: a vocabulary shared by tables, readers and layers."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """The interpretation of the numbers in rows, such as binary values or grey levels.

    Attributes:
        coding: the coding under which a layer for such rows is registered, such as "levels".
        layer: the name of the default layer for such rows, or "" if the kind determines none.
        noun: the word for values of this kind in messages to the user.
    """

    coding: str
    layer: str
    noun: str

    def __new__(cls, word: str, coding: str, layer: str, noun: str) -> Kind:
        """Create a member and set its attributes."""
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
        """Return the kind's word in quotes, like the repr of a string."""
        return repr(self.value)
