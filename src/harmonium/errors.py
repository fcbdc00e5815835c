"""Errors whose messages say what was expected, what was found, and what to do.

Every error that a user can cause is a `HarmoniumError`, so that one `except` catches them all and
the command can print each as a single line.
"""

__all__ = [  # the errors; the other functions are internal
    "HarmoniumError",
    "InputError",
    "Interrupted",
    "MissingDependencyError",
    "ModelFileError",
    "NotFiniteError",
]


class HarmoniumError(Exception):
    """Base class of every error that harmonium raises on purpose."""


class InputError(HarmoniumError, ValueError):
    """The input is invalid; the message says what was expected, what was found and what to do."""


class ModelFileError(InputError):
    """A file that should hold a model is missing, truncated, inconsistent or of another format."""


class NotFiniteError(HarmoniumError, ArithmeticError):
    """A quantity that must be finite is not, such as log Z of a model whose Z diverges."""


class MissingDependencyError(HarmoniumError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it."""


class Interrupted(KeyboardInterrupt):
    """A user interrupted a long computation; the message says how far it got."""


def input_error(source: str, expected: str, found: str, advice: str) -> InputError:
    """Return the one-line error "SOURCE: expected ...; found ...; ADVICE."."""
    return InputError(" ".join(f"{source}: expected {expected}; found {found}; {advice}.".split()))


def count_of(number: int, noun: str) -> str:
    """Return "1 row", "1,437 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
