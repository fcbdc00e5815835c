"""Show the progress of a run: as a live display on a terminal, and as plain lines elsewhere."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.segment import Segment
from rich.text import Text

from .._base.sharding import clock as common_clock
from ..errors import printable, printable_lines
from ..training import Report
from ..training.progress import clock

LINES = 20  # lines per run, if progress is written to a pipe
SECONDS_BETWEEN_LINES = 5.0


class PatientConsole(Console):
    """A console that is safe for text from files and survives write errors.

    Names and cells cannot control the terminal, and [red] is not interpreted as a colour. If the
    reader of a pipe exits (as `head` does), a terminal is closed, or a disk is full, the console
    stops writing and the run continues.
    """

    def __init__(self, **options: Any):
        plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
        super().__init__(**plain | options)

    def render(self, *args: Any, **options: Any) -> Iterator[Segment]:
        """Yield the segments of a renderable; replace control characters that Rich did not add."""
        for segment in super().render(*args, **options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Stop writing, without an error."""
        self.quiet = True
        # Python flushes the stream on exit, which would raise the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())

    @property
    def file(self) -> Any:
        """The stream that the console writes to."""
        return _PatientFile(self, Console.file.fget(self))  # pyright: ignore


class _PatientFile:
    """A stream that silences its console after a write error other than a broken pipe.

    `harmonium.cli.output` records errors of standard output, so the command ends with an error.
    """

    def __init__(self, console: Console, stream: Any):
        self._console = console
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text; if that fails, silence the console."""
        return self._attempt(self._stream.write, text) or len(text)

    def flush(self) -> None:
        """Flush the stream; if that fails, silence the console."""
        self._attempt(self._stream.flush)

    def _attempt(self, call: Any, *given: Any) -> Any:
        try:
            return call(*given)
        except BrokenPipeError:
            raise  # for the console to handle
        except OSError:
            self._console.quiet = True


def short(number: float) -> str:
    """Format a count in few characters: 950, 12.3k, 4.56M."""
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.0f}"


def nats(number: float | None, digits: int = 2, sign: str = "") -> str:
    """Format a value in nats, with `digits` decimals, or as "unknown" if it is not finite."""
    if number is None or not math.isfinite(number):
        return "unknown"
    return f"{number:{sign}.{digits}f}" if abs(number) < 1e6 else f"{number:{sign}.4g}"


def describe_metrics(metrics: dict[str, Any]) -> str:
    """Format the latest log-likelihood with its interval, and the free-energy gap.

    The log-likelihood is measured less often than other metrics; if it is not from the last epoch,
    its epoch is shown.
    """
    parts = []
    if "log_likelihood" in metrics:
        low = metrics["log_likelihood_low"]
        high = metrics["log_likelihood_high"]
        value = f"log-likelihood {nats(metrics['log_likelihood'])}"
        interval = f" [{nats(low)}, {nats(high)}]" if high > low else ""
        at = metrics.get("measured_at")
        now = metrics.get("epoch")
        parts.append(value + interval + ("" if at in (None, now) else f" (epoch {at:.0f})"))
    if "free_energy_gap" in metrics:
        parts.append(f"free-energy gap {nats(metrics['free_energy_gap'], sign='+')}")
    return "  ".join(parts)


class Display:
    """A callback of `fit`, and a context manager, that shows the progress of a run."""

    def __init__(self, console: Console):
        self.console = console
        self.known: dict[str, Any] = {}
        self.next_line = 0.0
        self.live: Live | None = None
        self.bar: Any = None
        self.task: Any = None

    def say(self, text: str) -> None:
        """Print a line of text in full and without colours."""
        line = printable(text)  # a line break in a name must not start a new line
        self.console.print(line, highlight=False, soft_wrap=True, markup=False, emoji=False)

    def __enter__(self) -> Display:
        """Start the live display if there is a terminal."""
        if self.console.is_terminal:
            self.bar = Progress(
                TextColumn("epoch {task.fields[epoch]}"),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[speed]} samples/s"),
                TextColumn("{task.fields[left]} left"),
            )
            self.task = self.bar.add_task("", total=None, epoch="0", speed="–", left="–")
            first = Group(self.bar, Text("compiling", style="dim"))
            self.live = Live(first, console=self.console)
            self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the live display; its last state stays visible."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def __call__(self, report: Report) -> None:
        """Show the metrics of a report from `fit`."""
        self.known |= report.metrics
        if "log_likelihood" in report.metrics:
            self.known["measured_at"] = report.metrics["epoch"]
        epoch = f"{report.epoch:.0f}/{report.epochs:.0f}"
        speed = short(report.samples_per_second)
        if self.live is not None:
            progress = {"completed": report.updates, "total": report.total}
            left = clock(report.seconds_left)
            self.bar.update(self.task, epoch=epoch, speed=speed, left=left, **progress)
            self.live.update(Group(self.bar, Text(describe_metrics(self.known) or "measuring")))
        elif report.metrics and (
            report.updates >= self.next_line or report.updates == report.total
        ):
            self.next_line = report.updates + report.total / LINES
            self.say(
                f"epoch {epoch}  {describe_metrics(self.known)}  {speed} samples/s"
                f"  {clock(report.seconds_left)} left"
            )

    def timer(self, what: str, at_most: float = math.inf) -> Any:
        """Return a function that a long computation calls with the fraction done, to show progress.

        Args:
            what: the name of the computation.
            at_most: the time limit of the computation, in seconds.

        The fraction may decrease, as when an estimate restarts with more steps because it has not
        converged; this is shown as a new attempt. Most computations end early, as soon as their
        result is precise enough.
        """
        began = shown = common_clock()
        end = began + at_most
        done = 0.0
        attempt = 1

        def progress(part: float) -> None:
            nonlocal began, shown, done, attempt
            now = common_clock()
            if part < done:
                began = now
                attempt = attempt + 1
            done = part
            if now - shown > SECONDS_BETWEEN_LINES and 0.0 < part < 1.0 and now > began:
                shown = now
                left = min((now - began) * (1 - part) / part, max(0.0, end - now))
                again = f" (attempt {attempt})" if attempt > 1 else ""
                self.say(f"{what}{again}: {100 * part:.0f} %, at most {clock(left)} left")

        return progress
