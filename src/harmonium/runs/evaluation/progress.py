"""Stages of an evaluation, one after another: a failure does not affect the others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TypeVar

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ...signals import Asked
from ..display import Display
from ..failures import failure_of
from .base import NotKnown, ReportProgress

T = TypeVar("T")


class EvaluationProgress:
    """Runs stages so that a failure does not affect the others; use it as a context manager.

    Progress goes to the display's console: a bar on a terminal, lines in a pipe.

    Attributes:
        seconds: running time of each stage, by its name.
        interrupted: whether the user interrupted a stage; the later ones are then left out.
    """

    def __init__(self, display: Display):
        self.display = display
        self.bar: Progress | None = None
        self.seconds: dict[str, float] = {}
        self.interrupted = False

    def __enter__(self) -> EvaluationProgress:
        """Start the live display if there is a terminal."""
        if self.display.console.is_terminal:
            self.bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                TimeElapsedColumn(),
                console=self.display.console,
                transient=True,
            )
            self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the live display; the table is printed in its place."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def run(
        self, stage: str, compute: Callable[[ReportProgress], T], at_most: float | None = None
    ) -> T:
        """Return the result of a stage; errors are passed on.

        Args:
            stage: its name.
            compute: the function that computes the result, called with a progress callback.
            at_most: about how many seconds it may take, to be shown; None for no limit shown.
        """
        progress = self._progress_of(stage, at_most)
        start = time.perf_counter()
        try:
            return compute(progress)
        finally:
            self.seconds[stage] = round(time.perf_counter() - start, 2)
            if self.bar is not None:
                self.bar.remove_task(self.bar.task_ids[-1])

    def attempt(
        self,
        stage: str,
        compute: Callable[[ReportProgress], T],
        at_most: float | None = None,
        title: str = "",
    ) -> T | NotKnown:
        """Return the result of a stage, or the reason why there is none under this title."""
        if self.interrupted:
            return NotKnown(title, "interrupted")
        try:
            return self.run(stage, compute, at_most)
        except KeyboardInterrupt:
            Asked.number = 0
            self.interrupted = True
            return NotKnown(title, "interrupted")
        except Exception as error:
            return NotKnown(title, failure_of(error))

    def _progress_of(self, stage: str, at_most: float | None) -> ReportProgress:
        """Show that a stage begins; return its progress callback."""
        limit = "" if at_most is None else f", at most {at_most:g} s"
        if self.bar is None:
            self.display.say(f"{stage}{limit}")
            return self.display.timer(stage, math.inf if at_most is None else at_most)
        bar = self.bar
        task = bar.add_task(f"{stage}{limit}", total=None)
        return lambda part: bar.update(task, total=1.0, completed=part)
