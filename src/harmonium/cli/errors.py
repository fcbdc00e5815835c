"""Describe errors in the command line in the same form as all other errors."""

from __future__ import annotations

import re
from typing import Any

from ..errors import HarmoniumError


def sentence_of(error: Exception) -> str | None:
    """Return the message of an error that the parser or harmonium raised; None for other errors.

    The parser's errors have no importable base class common to all versions of Typer, but their
    names and attributes are the same in all versions.
    """
    if isinstance(error, HarmoniumError):
        return str(error)
    if not hasattr(error, "format_message"):
        return None
    context: Any = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "harmonium")
    command = path.removeprefix("harmonium").strip() or "command"
    see = f"see {path} --help"
    described = _DESCRIBED.get(type(error).__name__)
    if described is not None:
        return f"{described(error, command)}; {see}."
    message = str(error.format_message()).rstrip(".")  # pyright: ignore[reportAttributeAccessIssue]
    for pattern, words in _REWORDED:
        match = re.search(pattern, message)
        if match is not None:
            known = getattr(getattr(context, "command", None), "commands", {})
            commands = [name for name, command in known.items() if not command.hidden]
            listed = " or ".join(filter(None, (", ".join(commands[:-1]), *commands[-1:])))
            return f"{command}: {words.format(*match.groups(), commands=listed)}; {see}."
    return f"{command}: {message[:1].lower()}{message[1:]}; {see}."


def _no_such_option(error: Any, command: str) -> str:
    close = " or ".join(sorted(getattr(error, "possibilities", None) or ()))
    meant = ""
    if close:
        meant = f" (perhaps you mean {close})"
    of = "harmonium" if command == "command" else command
    return f"{error.option_name}: expected an option of {of}; got no such option{meant}"


def _missing(error: Any, command: str) -> str:
    name = getattr(getattr(error, "param", None), "metavar", None) or "an argument"
    return f"{command}: expected {name}; got nothing"


def _bad_option(error: Any, command: str) -> str:
    if "requires" in str(error.message):
        return f"{error.option_name}: expected a value after it; got none"
    return f"{error.option_name}: expected no value; got one"


_REWORDED = (
    (r"extra argument\S* \((.*)\)", "expected nothing more; got {0}"),
    (r"No such command '(.*?)'", "expected {commands}; got {0!r}"),
)
_DESCRIBED = {
    "NoSuchOption": _no_such_option,
    "MissingParameter": _missing,
    "BadOptionUsage": _bad_option,
}
