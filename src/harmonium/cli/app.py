"""Build the `harmonium` command from its subcommands, run it, and set the exit status."""

from __future__ import annotations

import atexit
import gc
import io
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from .ask import ask
from .base import DONE, INTERRUPTED, USERS_MISTAKE, complain
from .command import add_command
from .compare import compare
from .errors import sentence_of
from .evaluate import evaluate
from .export import export
from .forecast import forecast
from .impute import impute
from .info import info
from .output import Output, check_output, open_closed_streams, remembered_errors
from .report import report
from .sample import sample
from .score import score
from .sequences import contacts, motifs, scan
from .terminal import shown_text
from .train import resume, train
from .tune import sweep, tune

HELP = """Train, sample and evaluate restricted Boltzmann machines (RBMs).

\b
Start with:
  harmonium train digits          train on handwritten digits (half a minute)
  harmonium sample runs/digits --out samples.png
  harmonium evaluate runs/digits

`harmonium COMMAND --help` describes each command.
"""
EPILOG = (
    "Exit status: 0 for success, 2 for an error in the input, 3 if a run diverged (or, with"
    " --must-converge, if log Z or the chains did not converge), 130 if interrupted (143 by"
    " SIGTERM, 129 by SIGHUP), 1 for an internal error."
)

app = typer.Typer(
    help=HELP,
    epilog=EPILOG,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_command(app, train, "Train a model on data.")
add_command(app, resume, "Continue a training run.")
add_command(app, tune, "Search for the best options.")
add_command(app, sweep, "Search for the best options.", name="sweep", hidden=True)
for function, summary in (
    (sample, "Draw rows from a model."),
    (impute, "Fill in missing cells of a table."),
    (ask, "Ask how columns of a table are distributed."),
    (forecast, "Forecast the next rows of a series."),
    (score, "Score rows of a table, or sequences."),
    (scan, "Score all single mutants of a sequence."),
    (contacts, "Find coupled sites of sequences."),
    (motifs, "Show the motifs that hidden units detect in sequences."),
    (evaluate, "Score a model."),
    (report, "Write an interactive page on a model."),
    (compare, "Compare runs on the same rows."),
    (export, "Write a model for other programs."),
    (info, "Describe a run, a model or a file."),
):
    add_command(app, function, summary, reads_models=True)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from .. import __version__

        print(f"harmonium {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


@cache
def _command() -> Any:
    """Build the command only once, because Typer takes a tenth of a second to build it."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; report invalid arguments in a one-line message, with exit status 2."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # print ? for characters that it cannot encode
            stream.reconfigure(errors="replace")
    given = None if arguments is None else list(arguments)
    # `shown_text` wraps the stream of `remembered_errors`, which records why a write failed.
    with remembered_errors() as output, shown_text():
        status = _status_of(given, output)
    # On exit, Python searches all objects that are not frozen for cycles, which takes a quarter of
    # a second. Freeze them at exit and not now, since Python code may call this function and go on.
    atexit.register(gc.freeze)
    sys.exit(status)


def _status_of(arguments: list[str] | None, output: Output) -> int:
    """Run the command and return its exit status; report invalid arguments in one line."""
    try:
        return _status(arguments, output)
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted.")
        return INTERRUPTED
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        complain(sentence)
        return USERS_MISTAKE


def _status(given: list[str] | None, output: Output) -> int:
    """Run the command and return its exit status.

    Raises:
        InputError: the output of the command cannot be written.
    """
    status = DONE
    try:
        status = _command()(given, prog_name="harmonium", standalone_mode=False) or DONE
        check_output()
    except OSError as error:  # for example from the help, which Typer prints
        check_output(error)
    except SystemExit:  # raised by Typer if the reader of the help has gone
        if not isinstance(output.cause, BrokenPipeError):
            raise
    return status
