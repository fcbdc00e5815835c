"""Run the stages of an evaluation one after another; a failed stage does not affect the others."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from ..._base.signals import Asked
from ..display import Display
from ..failures import failure_of
from .base import NotKnown, ReportProgress

T = TypeVar("T")


class EvaluationProgress:
    """A context manager that runs stages, so that a failed stage does not affect the others.

    Progress is shown on the console of `display`: as a bar on a terminal, else as lines.

    Attributes:
        seconds: running time of each stage, by its name.
        interrupted: whether the user interrupted a stage; later stages are then omitted.
    """

    def __init__(self, display: Display):
        self.display = display
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            console=display.console,
            transient=True,
            disable=not display.console.is_terminal,
        )
        self.seconds: dict[str, float] = {}
        self.interrupted = False

    def __enter__(self) -> EvaluationProgress:
        """Start the live display if there is a terminal."""
        self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the live display, so that the table takes its place on the terminal."""
        self.bar.stop()

    def run(
        self, stage: str, compute: Callable[[ReportProgress], T], at_most: float | None = None
    ) -> T:
        """Run a stage and return its result; an error ends the evaluation.

        Args:
            stage: the name of the stage.
            compute: the function that computes the result, called with a progress callback.
            at_most: approximate time limit to show, in seconds; None to show no limit.
        """
        limit = "" if at_most is None else f", at most {at_most:g} s"
        task = self.bar.add_task(f"{stage}{limit}", total=None)
        if self.bar.disable:
            self.display.say(f"{stage}{limit}")
            progress = self.display.timer(stage, at_most or math.inf)
        else:
            progress = partial(self._advance, task)
        start = time.perf_counter()
        try:
            return compute(progress)
        finally:
            self.seconds[stage] = round(time.perf_counter() - start, 2)
            self.bar.remove_task(task)

    def attempt(
        self,
        stage: str,
        compute: Callable[[ReportProgress], T],
        at_most: float | None = None,
        title: str = "",
    ) -> T | NotKnown:
        """Run a stage; return its result or, if it fails, a placeholder with the reason."""
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

    def _advance(self, task: TaskID, part: float) -> None:
        self.bar.update(task, total=1.0, completed=part)
