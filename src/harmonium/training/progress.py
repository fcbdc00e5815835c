"""The progress of a run: a bar in a notebook, a line on a terminal, and nothing elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from .._base.html import bar
from .state import CURVES, Report

SECONDS_BETWEEN = 0.2  # drawing more often takes time, and nobody can read faster


class ProgressBar:
    """A callback of `fit` that shows the current epoch, the time left and the log-likelihood.

    In a notebook it draws a bar, and on a terminal it writes a line to standard error; elsewhere,
    as in a log file, nothing is written. Pass its method `part` as the `progress` argument of
    functions such as `log_likelihood`.

    Args:
        title: the text before the bar.

    Example:
        >>> rows, key = hm.bars_and_stripes(2), jax.random.key(0)
        >>> rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), rows, key=key)
        >>> fit = hm.fit(rbm, rows, key=key, epochs=2, callbacks=[hm.ProgressBar()])
        >>> score = hm.log_likelihood(fit.rbm, rows, progress=hm.ProgressBar("log Z").part)
    """

    def __init__(self, title: str = ""):
        self.title = title
        self.began = time.perf_counter()
        self.drawn = 0.0
        self.known: dict[str, float] = {}
        self.place: Any = None

    def __call__(self, report: Report) -> None:
        """Show a report of `fit`."""
        self.known |= {name: report.metrics[name] for name in CURVES if name in report.metrics}
        words = f"epoch {report.epoch:,.0f} of {report.epochs:,.0f}"
        latest = next((name for name in CURVES if name in self.known), None)
        if latest:
            name, _, _ = CURVES[latest].partition(",")  # the name without its unit
            words += f", {name} {self.known[latest]:.4g}"
        self._show(report.updates / report.total, report.seconds_left, words)

    def part(self, part: float) -> None:
        """Show the fraction of a computation that is done, from 0 to 1."""
        spent = time.perf_counter() - self.began
        left = None
        if part:
            left = spent * (1 - part) / part
        self._show(part, left, "")

    def _show(self, part: float, left: float | None, words: str) -> None:
        now = time.perf_counter()
        is_done = part >= 1.0
        if now - self.drawn < SECONDS_BETWEEN and not is_done:
            return
        self.drawn = now
        phrases = [self.title, words, clock(now - self.began)]
        if left is not None and not is_done:
            phrases.append(f"{clock(left)} left")
        text = ", ".join(filter(None, phrases))
        if _in_notebook():
            self._in_cell(bar(part, text))
        elif sys.stderr is not None and sys.stderr.isatty():
            line = f"\r\033[K{part:4.0%}  {text}"
            if is_done:
                line += "\n"
            print(line, end="", file=sys.stderr, flush=True)

    def _in_cell(self, html: str) -> None:
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

        if self.place is None:
            self.place = display(HTML(html), display_id=True)
        else:
            self.place.update(HTML(html))


def _in_notebook() -> bool:
    """Return whether the code runs in the kernel of a notebook."""
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def clock(seconds: float) -> str:
    """Format a duration as a clock does: 0:07, 12:30, 3:05:00."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02}:{rest:02}"
    return f"{minutes}:{rest:02}"
