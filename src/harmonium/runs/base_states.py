"""What is common to the forms in which a training state is kept on disk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from ..training import TrainState


class AbstractStates(ABC):
    """A form of checkpoints. If several processes share a run, each makes the same calls.

    Attributes:
        suffix: of the names of such files or folders.
    """

    suffix: ClassVar[str]

    @abstractmethod
    def check(self) -> None:
        """Check that such checkpoints can be written here, before a run begins.

        Raises:
            MissingDependencyError: a package that they need is not installed.
        """

    @abstractmethod
    def write(self, state: TrainState, path: Path, header: dict[str, Any]) -> None:
        """Write a state and its header, with a checksum of all, where nothing is yet.

        Raises:
            OSError: it cannot be written.
        """

    @abstractmethod
    def header(self, path: Path) -> dict[str, Any]:
        """Read the header of a state, and compare the checksum of all that is there.

        Raises:
            ModelFileError: it is damaged, or something else.
        """

    @abstractmethod
    def read(self, path: Path, like: TrainState) -> TrainState:
        """Read a state, in the structure of `like` and spread as it is.

        Raises:
            ModelFileError: it is damaged, or that of another run.
        """
