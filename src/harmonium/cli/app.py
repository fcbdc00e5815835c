"""The command line as a whole."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .base import USERS_MISTAKE, complain
from .evaluate import EVALUATE_HELP, evaluate_cli
from .info import INFO_HELP, info_cli
from .sample import SAMPLE_HELP, sample_cli
from .train import RESUME_HELP, TRAIN_HELP, resume_cli, train_cli

app = typer.Typer(
    help="Restricted Boltzmann machines: train them, sample them, and say how good they are.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog="Exit status: 0 done, 2 a mistake in the input, 3 diverged or not converged,"
    " 130 interrupted, 1 a fault of ours.",
)
app.command("train", help=TRAIN_HELP)(train_cli)
app.command("resume", help=RESUME_HELP)(resume_cli)
app.command("sample", help=SAMPLE_HELP)(sample_cli)
app.command("evaluate", help=EVALUATE_HELP)(evaluate_cli)
app.command("info", help=INFO_HELP)(info_cli)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from .. import __version__

        print(f"harmonium {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command; a mistake on the command line is one line and exit status 2."""
    try:
        status = app(standalone_mode=False)
    except Exception as error:
        # The parser's own errors share no importable base between Typer's versions.
        if not hasattr(error, "format_message"):
            raise
        complain(error.format_message())  # pyright: ignore[reportAttributeAccessIssue]
        status = USERS_MISTAKE
    sys.exit(status or 0)
