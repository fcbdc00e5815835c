"""`harmonium report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import DONE, display, run_command
from .options import Source, word
from .terminal import print_data

REPORT_HELP = """Write the report of a run: one HTML page, in which the model can be played with.

The page is complete: it needs no network, and can be sent by e-mail. `harmonium train` writes one
when a run ends; this command makes it again, also for a run that was interrupted.

\b
Examples:
  harmonium report runs/digits --open
  harmonium report runs/digits --out digits.html
"""


def report_cli(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[
        str | None,
        word("--out", metavar="FILE", help="File to write.  [default: report.html of the run]"),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
    source: Source = None,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Write a report; its help text is REPORT_HELP."""

    def command() -> int:
        from ..runs.options import check_target
        from ..runs.report import report

        if out is not None:
            check_target(f"--out {out}", out, (".html",), overwrite)
        path = report(run, out, display(as_json=True), source)  # on standard error
        print_data(f"{path}\n")
        if show:
            opened(path)
        return DONE

    raise typer.Exit(run_command(command))


def opened(path: str | Path) -> None:
    """Open a page in the user's browser."""
    import webbrowser

    webbrowser.open(Path(path).resolve().as_uri())
