"""Write the pictures of an evaluation, as PNG files in a folder named by the user."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..failures import failure_of
from .base import Picture, ReportProgress
from .target import Target


@dataclass(frozen=True)
class Pictures:
    """The picture files that were written, and why each of the other pictures is missing."""

    written: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    def draw(
        self, pictures: Iterable[Picture], target: Target, folder: Path, progress: ReportProgress
    ) -> None:
        """Draw pictures and write them to a folder, which is created if needed.

        Args:
            pictures: names of files, each with the function that draws the picture.
            target: the model, its rows, and the measurements so far.
            folder: the folder to write to.
            progress: progress callback, called with the fraction done, 0 to 1.
        """
        from ... import plot

        pictures = list(pictures)
        for number, (name, draw) in enumerate(pictures):
            path = folder / f"{name}.png"
            try:
                figure = draw(plot, target)
                path.parent.mkdir(parents=True, exist_ok=True)
                plot.save_figure(figure, path)
                self.written.append(str(path))
            except Exception as error:
                self.left_out[path.name] = failure_of(error)
            progress((number + 1) / len(pictures))

    def lines(self) -> list[str]:
        """Return the list of pictures, as lines to print below the table."""
        lines = [f"  {path}" for path in self.written]
        lines += [f"  no {name}: {reason}." for name, reason in self.left_out.items()]
        return ["", "pictures", *lines] if lines else []
