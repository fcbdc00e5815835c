"""The command line as a whole."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from .ask import ASK_HELP, ask_cli
from .base import DONE, INTERRUPTED, USERS_MISTAKE, complain
from .compare import COMPARE_HELP, compare_cli
from .errors import sentence_of
from .evaluate import EVALUATE_HELP, evaluate_cli
from .export import EXPORT_HELP, export_cli
from .impute import IMPUTE_HELP, impute_cli
from .info import INFO_HELP, info_cli
from .output import Output, check_output, open_closed_streams, remembered_errors
from .report import REPORT_HELP, report_cli
from .sample import SAMPLE_HELP, sample_cli
from .score import SCORE_HELP, score_cli
from .sequences import CONTACTS_HELP, MOTIFS_HELP, SCAN_HELP, contacts_cli, motifs_cli, scan_cli
from .terminal import shown_text
from .train import RESUME_HELP, TRAIN_HELP, resume_cli, train_cli
from .trust import trusting
from .tune import TUNE_HELP, sweep_cli, tune_cli

HELP = """Train, sample and evaluate restricted Boltzmann machines (RBMs).

\b
Start with:
  harmonium train digits          train on handwritten digits, half a minute
  harmonium sample runs/digits --out samples.png
  harmonium evaluate runs/digits

`harmonium COMMAND --help` describes each command.
"""
EPILOG = (
    "Exit status: 0 done, 2 an error in the input, 3 diverged (or, with --must-converge, not"
    " converged), 130 interrupted (143 by SIGTERM, 129 by SIGHUP), 1 an internal error."
)

app = typer.Typer(
    help=HELP,
    epilog=EPILOG,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("train", help=TRAIN_HELP, short_help="Train a model on data.")(train_cli)
app.command("resume", help=RESUME_HELP, short_help="Go on with a training run.")(resume_cli)
app.command("tune", help=TUNE_HELP, short_help="Search options by many runs.")(tune_cli)
app.command("sweep", help=TUNE_HELP, hidden=True)(sweep_cli)
app.command("sample", help=SAMPLE_HELP, short_help="Draw rows from a model.")(trusting(sample_cli))
app.command("impute", help=IMPUTE_HELP, short_help="Fill in missing cells of a table.")(
    trusting(impute_cli)
)
app.command("ask", help=ASK_HELP, short_help="Ask how columns of a table are distributed.")(
    trusting(ask_cli)
)
app.command("score", help=SCORE_HELP, short_help="Score rows of a table, or sequences.")(
    trusting(score_cli)
)
app.command("scan", help=SCAN_HELP, short_help="Score all single mutants of a sequence.")(
    trusting(scan_cli)
)
app.command("contacts", help=CONTACTS_HELP, short_help="Find coupled sites of sequences.")(
    trusting(contacts_cli)
)
app.command("motifs", help=MOTIFS_HELP, short_help="Show what hidden units look for in sequences.")(
    trusting(motifs_cli)
)
app.command("evaluate", help=EVALUATE_HELP, short_help="Score a model.")(trusting(evaluate_cli))
app.command("report", help=REPORT_HELP, short_help="Write a page to play with a model.")(
    trusting(report_cli)
)
app.command("compare", help=COMPARE_HELP, short_help="Compare runs on the same rows.")(
    trusting(compare_cli)
)
app.command("export", help=EXPORT_HELP, short_help="Write a model for other programs.")(
    trusting(export_cli)
)
app.command("info", help=INFO_HELP, short_help="Describe a run, a model or a file.")(
    trusting(info_cli)
)


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
    """Return the command with all its options, which takes Typer a tenth of a second."""
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; an error on the command line is one line and exit status 2."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # so that a terminal without − still prints
            stream.reconfigure(errors="replace")
    given = None if arguments is None else list(arguments)
    # Rich and Typer write to the outer one; the inner one remembers why the system refused.
    with remembered_errors() as output, shown_text():
        status = _status_of(given, output)
    sys.exit(status)


def _status_of(arguments: list[str] | None, output: Output) -> int:
    """Run the command and return its exit status; an error is one line."""
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
    """Run the command, and return its exit status.

    Raises:
        InputError: what it printed cannot be written.
    """
    status = DONE
    try:
        status = _command()(given, prog_name="harmonium", standalone_mode=False) or DONE
        check_output()
    except OSError as error:  # of help, say, which no command of ours prints
        check_output(error)
    except SystemExit:  # with which Typer ends where the reader of its help has gone
        if not isinstance(output.cause, BrokenPipeError):
            raise
    return status
