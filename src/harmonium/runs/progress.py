"""The blocks of an evaluation, one after another: a failure does not affect the others."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from ..errors import HarmoniumError
from ..signals import Asked
from .display import Display
from .memory import memory_error

DEBUG = "HARMONIUM_DEBUG"
ReportProgress = Callable[[float], Any]


class Unknown(NamedTuple):
    """The result of a block that could not be measured.

    Attributes:
        reason: why there is no result, in words.
    """

    reason: str


class NotMeasuredError(HarmoniumError):
    """A block has nothing to measure; the message says why."""


class EvaluationProgress:
    """Runs blocks so that a failure does not affect the others; use it as a context manager.

    Progress goes to the display's console: a bar on a terminal, lines in a pipe.

    Attributes:
        seconds: running time of each block, by its name.
        interrupted: whether the user interrupted a block; the later ones are then left out.
    """

    def __init__(self, display: Display):
        self.display, self.bar = display, None
        self.seconds: dict[str, float] = {}
        self.interrupted = False

    def __enter__(self) -> EvaluationProgress:
        """Start the live display if there is a terminal."""
        if self.display.console.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
            )
            console = self.display.console
            self.bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
            self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the live display; the table is printed in its place."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def run(
        self, name: str, compute: Callable[[ReportProgress], Any], at_most: float | None = None
    ) -> Any:
        """Return the result of a block, which gets a progress callback; errors are passed on.

        Args:
            name: the name of the block.
            compute: the function that computes it, called with a progress callback.
            at_most: about how many seconds it may take, to be shown; None for no limit shown.
        """
        limit = "" if at_most is None else f", at most {at_most:g} s"
        progress = self._begun(f"{name}{limit}", name, at_most)
        began = time.perf_counter()
        try:
            return compute(progress)
        finally:
            self.seconds[name] = round(time.perf_counter() - began, 2)
            if self.bar is not None:
                self.bar.remove_task(self.bar.task_ids[-1])

    def attempt(
        self, name: str, compute: Callable[[ReportProgress], Any], at_most: float | None = None
    ) -> Any:
        """Return the result of a block, or the reason why there is none."""
        if self.interrupted:
            return Unknown("interrupted")
        try:
            return attempt(lambda: self.run(name, compute, at_most))
        except KeyboardInterrupt:
            Asked.number, self.interrupted = 0, True
            return Unknown("interrupted")

    def _begun(self, title: str, name: str, at_most: float | None) -> ReportProgress:
        if self.bar is None:
            self.display.say(title)
            return self.display.timer(name, math.inf if at_most is None else at_most)
        bar, task = self.bar, self.bar.add_task(title, total=None)
        return lambda part: bar.update(task, total=1.0, completed=part)


def attempt(compute: Callable[[], Any]) -> Any:
    """Return the computed result, or the reason why there is none."""
    try:
        return compute()
    except HarmoniumError as error:
        return Unknown(" ".join(str(error).split()).rstrip("."))
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        return Unknown(_internal_error(error))


def _internal_error(error: Exception) -> str:
    if memory_error(error) is not None:
        return "memory ran out"
    first_line = next(iter(str(error).splitlines()), "").rstrip(".")
    return f"an internal error: {type(error).__name__}: {first_line}"
