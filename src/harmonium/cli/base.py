"""What all commands share: exit statuses, one-line errors, and output as text or as JSON."""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from .._base.signals import Asked
from .interruption import signals_as_interrupts
from .output import check_output
from .terminal import below

DONE = 0
INTERNAL_ERROR = 1
USERS_MISTAKE = 2
NOT_REACHED = 3
INTERRUPTED = 130
BY_SIGNAL = 128  # the signal's number is added, as shells and batch systems expect
DEBUG = "HARMONIUM_DEBUG"


def run_command(
    command: Callable[..., int | None],
    arguments: Callable[[], dict[str, Any]] = dict,
    *,
    is_distributed: bool = False,
) -> int:
    """Run a command and return its exit status; report an error in one line.

    Args:
        command: a function that returns the exit status, or None for 0.
        arguments: a function that checks and returns the arguments of `command`.
        is_distributed: whether other processes run the same command.
    """
    ended_by = list[int]()
    try:
        with _quiet(), signals_as_interrupts(ended_by, complain):
            if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "1") == "1":  # set by JAX for child processes
                os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # XLA is verbose about JAX's own cache
            values = arguments()  # check them before processes wait for one another
            with _together(is_distributed):
                status = DONE
                try:
                    status = command(**values) or DONE
                    check_output()
                except OSError as error:
                    check_output(error)
        return _status(status, ended_by)
    except (Exception, KeyboardInterrupt) as error:
        status, line = _outcome(error)
        complain(line)
        if status == INTERNAL_ERROR and Asked.is_shared:
            sys.stdout.flush()
            os._exit(status)  # otherwise JAX waits for a process that has ended, then aborts
        return _status(status, ended_by)


def _together(is_distributed: bool) -> AbstractContextManager[None]:
    if not is_distributed:
        return nullcontext()
    from .distributed import distributed

    return distributed()


def _outcome(error: BaseException) -> tuple[int, str]:
    """Return the exit status and the error message of a command that failed."""
    from ..errors import HarmoniumError

    match error:
        case HarmoniumError():
            return USERS_MISTAKE, str(error)
        case KeyboardInterrupt():
            return INTERRUPTED, f"{str(error) or 'interrupted'}."
        case OSError():
            name = error.filename or "a file"
            reason = f"{error.strerror or error}".lower()
            return (
                USERS_MISTAKE,
                f"{name}: expected a file that can be read and written; got {reason}.",
            )
    return _outcome_of_other(error)


def _status(status: int, ended_by: list[int]) -> int:
    """Return the exit status or, after an interruption, 128 plus the signal's number."""
    if status == INTERRUPTED and ended_by:
        return BY_SIGNAL + ended_by[0]
    return status


def typed(*words: Any) -> str:
    """Return a harmonium command line with these arguments, ready to be typed in this shell.

    The line begins with `harmonium`, with the path of this program if the shell would not find it
    by that name, or with `python -m harmonium` if the program was started in this way.
    """
    program = Path(sys.argv[0])
    called = ["harmonium"]
    if program.parts[-2:] == ("harmonium", "__main__.py"):
        called = [sys.executable, "-m", "harmonium"]
    elif program.stem == "harmonium" and program.exists():
        on_path = shutil.which(program.name)
        if on_path is None or not program.samefile(on_path):
            called = [str(program)]
    return shlex.join([*called, *map(str, words)])


def _outcome_of_other(error: BaseException) -> tuple[int, str]:
    """Return the exit status and message for an error that harmonium did not raise itself."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    from ..runs.failures import memory_error

    lack = memory_error(error)
    if lack is not None:
        return USERS_MISTAKE, str(lack)
    first_line = next(iter(str(error).splitlines()), "").rstrip(".")
    if Asked.is_shared:  # connection errors have no type of their own
        return INTERNAL_ERROR, (
            f"{type(error).__name__}: {first_line}. If another process has ended, continue from"
            " the last checkpoint with: harmonium resume RUN --distributed"
        )
    return INTERNAL_ERROR, (
        f"internal error: {type(error).__name__}: {first_line}."
        f" Set {DEBUG}=1 to see the traceback, and please report the error."
    )


def complain(message: str) -> None:
    """Print a message as one line on standard error, unless the stream cannot be written."""
    index = _process_index()
    speaker = "harmonium"
    if index > 0:
        speaker = f"harmonium: process {index}"
    with suppress(OSError):  # the exit status also reports the error
        print(f"{speaker}: {' '.join(message.split())}", file=sys.stderr)


def _process_index() -> int:
    if not Asked.is_shared:  # then JAX need not be imported
        return 0
    from .._base.processes import process_index

    return process_index()


def status_of_chains(converged: bool | None, message: str, must_converge: bool) -> int:
    """Return 0; if chains have not converged, warn, and return 3 if `must_converge`."""
    if converged:
        return DONE
    complain(message)
    return NOT_REACHED if must_converge else DONE


def display(as_json: bool) -> Any:
    """Return a progress display, on standard error if standard output is used for JSON."""
    from ..runs.display import Display, PatientConsole

    stream = below(sys.stderr if as_json else sys.stdout)
    return Display(PatientConsole(file=stream, quiet=_process_index() > 0))


def print_json(record: Any) -> None:
    """Print a record as JSON, the only output of a command with `--json`."""
    from ..runs.jsonable import to_json

    print(to_json(record, indent=2))


def nats(value: float | None, digits: int = 3) -> str:
    """Format a value in nats, or return "unknown" if it is not finite."""
    from ..runs.display import nats

    return nats(value, digits)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings of other packages, unless Python's -W is given or HARMONIUM_DEBUG is set."""
    if sys.warnoptions or os.environ.get(DEBUG):
        yield
        return
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it logs the location of its cache
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
