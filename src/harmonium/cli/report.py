"""`harmonium report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..runs.options import Argument, Option, Source
from .base import display
from .options import Open, Overwrite
from .terminal import print_data


def report(
    run: Annotated[str, Argument("A run folder.", "RUN")],
    out: Annotated[
        str | None, Option("File to write.  [default: report.html of the run]", "FILE")
    ] = None,
    overwrite: Overwrite = False,
    source: Source = None,
    is_opened: Open = False,
) -> None:
    """Write the report of a run: a page with its results and an interactive view of its model.

    The page is self-contained: it needs no network and can be sent by e-mail. `harmonium train`
    writes the report when a run ends; this command rewrites it, or writes it for an interrupted
    run.

    Examples:
      harmonium report runs/digits --open
      harmonium report runs/digits --out digits.html
    """
    from ..runs.report import report as write_report
    from ..runs.writing import check_target

    if out is not None:
        check_target(f"--out {out}", out, (".html",), overwrite)
    path = write_report(run, out, display(as_json=True), source)  # on standard error
    print_data(f"{path}\n")
    if is_opened:
        open_page(path)


def open_page(path: str | Path) -> None:
    """Open a page in the user's browser."""
    import webbrowser

    webbrowser.open(Path(path).resolve().as_uri())
