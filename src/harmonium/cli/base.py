"""What all commands share: exit statuses, one-line errors, output for people and for programs."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

DONE, OUR_FAULT, USERS_MISTAKE, NOT_REACHED, INTERRUPTED = 0, 1, 2, 3, 130


def run_command(command: Callable[[], int | None]) -> int:
    """Run a command and give its exit status; whatever it raises becomes one clear line."""
    from ..errors import HarmoniumError

    try:
        _configure_jax()
        return command() or DONE
    except HarmoniumError as error:
        complain(str(error))
        return USERS_MISTAKE
    except KeyboardInterrupt:
        complain("interrupted.")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except MemoryError:
        complain("the machine ran out of memory. Lower --chains, --batch or --hidden.")
        return USERS_MISTAKE
    except OSError as error:
        complain(f"{error.filename or 'file'}: {error.strerror or error}.")
        return USERS_MISTAKE
    except Exception as error:
        if os.environ.get("HARMONIUM_DEBUG"):
            traceback.print_exc()
        complain(
            f"internal error, which is our fault: {type(error).__name__}: {_first_line(error)}."
            " Set HARMONIUM_DEBUG=1 to see where, and please report it."
        )
        return OUR_FAULT


def complain(message: str) -> None:
    """Print one line on standard error."""
    print(f"harmonium: {' '.join(message.split())}", file=sys.stderr)


def console(as_json: bool) -> Any:
    """Give where progress goes: standard error if standard output holds the JSON alone."""
    from rich.console import Console

    return Console(stderr=as_json)


def print_json(summary: dict[str, Any]) -> None:
    """Print the one JSON object of `--json`."""
    print(json.dumps(summary, indent=2))


def status_of(summary: dict[str, Any]) -> int:
    """Give the exit status of a run."""
    return {"interrupted": INTERRUPTED, "diverged": NOT_REACHED}.get(summary["status"], DONE)


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")


def _configure_jax() -> None:
    """Keep compiled programs between commands, so that the second start is quick."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import jax

    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    jax.config.update("jax_compilation_cache_dir", str(Path(home) / "harmonium" / "jax"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
