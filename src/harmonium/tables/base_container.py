"""The base class of what rows are in: a data frame or an array, with its types and names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .frames import Frame


class AbstractContainer(ABC):
    """What the rows of a table are in, without the rows."""

    @abstractmethod
    def rows(self, frame: Frame) -> Any:
        """Return new rows, of the same columns."""

    @abstractmethod
    def means(self, frame: Frame) -> Any:
        """Return rows of mean numbers, which are no whole numbers in an array of integers."""

    @abstractmethod
    def filled(self, data: Any, before: Frame, after: Frame) -> Any:
        """Return data of the same columns with the missing cells that were filled.

        All other cells stay as they are, and so do the types of the columns.

        Args:
            data: rows in a container of this kind, perhaps with other types.
            before: their cells.
            after: their cells, filled, perhaps followed by further columns.
        """
