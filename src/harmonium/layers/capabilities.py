"""What only some layers can do: an algorithm asks for it by type, through a function here."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from jaxtyping import Array, Float

from .base import AbstractLayer

# ---------------------------------------------------------------- rows with a length


class AbstractDocuments(AbstractLayer):
    """A layer of rows with a length that the model takes as given, as a document's count of words.

    Its p(x) is p(x | length), and log Z is one per length.
    """

    # A free length with one log Z would need no contract, but its chains move through lengths by a
    # word or two a sweep.

    @abstractmethod
    def lengths(self, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch"]:
        """Return the length of each state."""

    @abstractmethod
    def with_lengths(self, lengths: Float[Array, "*batch"]) -> AbstractDocuments:
        """Return the layer of states of these lengths: one length, or one for each row."""


def takes_lengths(layer: AbstractLayer) -> bool:
    """Return whether the model takes the length of a row as given."""
    return isinstance(layer, AbstractDocuments)


def lengths_of(layer: Any, x: Float[Array, "*batch columns"]) -> Float[Array, "*batch"]:
    """Return the length of each state of a layer that takes lengths as given."""
    return layer.lengths(x)


def with_lengths(layer: Any, lengths: Float[Array, "*batch"]) -> Any:
    """Return the layer of states of these lengths."""
    return layer.with_lengths(lengths)
