"""Which rows are on the device for which updates of a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from .._base.statistics import effective_size

D = TypeVar("D")  # rows in memory, a `Dataset`
NO_END = 2**31 - 1  # counts of updates are 32-bit integers


class Window(NamedTuple, Generic[D]):
    """Rows that are on the device for some updates in succession.

    A window counts as an epoch of its own rows: nothing in the compiled loop knows of streams, and
    a stream of one window is bit for bit the run with these rows in memory.

    Attributes:
        dataset: the rows, with padding rows.
        count: how many of them count; they are visited in a shuffled order.
        begin: the number of updates made before the first one on these rows.
        end: the number of updates made after the last one.
        passes: the passes over windows of this size that were made before; the order follows it.
    """

    dataset: D
    count: Int[Array, ""]
    begin: int
    end: int
    passes: int


class AbstractWindows(ABC, Generic[D]):
    """The windows of a run, in the order in which they are learned from."""

    @abstractmethod
    def at(self, updates: int) -> Window[D]:
        """Return the window of the update that follows so many."""


class AbstractRows(ABC, Generic[D]):
    """Rows to train on: all in memory, or read while a model learns.

    Attributes:
        is_whole: whether all rows are in memory.
        weights: the weights of the rows, or None.
    """

    is_whole: ClassVar[bool] = True
    weights: Any

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows, which is visited once in an epoch."""

    @property
    def effective_rows(self) -> float:
        """The number of rows; if they are weighted, (Σw)²/Σw² (Kish 1965)."""
        if self.weights is None:
            return float(len(self))
        return float(effective_size(np.asarray(self.weights, np.float64)))

    @property
    @abstractmethod
    def head(self) -> D:
        """Rows to begin a run with, with padding rows: all rows if they are in memory."""

    @property
    @abstractmethod
    def in_memory(self) -> D:
        """The rows, where all of them must be in memory.

        Raises:
            InputError: they are not.
        """

    @abstractmethod
    def some(self, count: int) -> D:
        """Return at most `count` rows from all parts of the source, as far as that is known."""

    @abstractmethod
    def kept_exact(self) -> AbstractRows[D]:
        """Return the rows, for products in bfloat16: later ones must be small whole numbers too."""

    @abstractmethod
    def windows(
        self, batch_size: int, *, key: PRNGKeyArray, end: int = NO_END
    ) -> AbstractWindows[D]:
        """Return the windows of a run with updates of so many rows.

        Args:
            batch_size: rows in an update.
            key: determines in which order the parts of a source are read.
            end: the number of updates at the end of the run; nothing is read ahead for later ones.
        """


class OneWindow(AbstractWindows[D]):
    """All rows, for all updates."""

    def __init__(self, dataset: D, padded: D):
        self.window = Window(padded, count_of_rows(dataset), 0, NO_END, 0)

    def at(self, updates: int) -> Window[D]:
        return self.window


def count_of_rows(rows: Any) -> Int[Array, ""]:
    """Return the number of rows as an array, so that no program is compiled for it."""
    return jnp.asarray(len(rows), jnp.int32)
