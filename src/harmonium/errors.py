"""Errors that a user can read: what was given, what was expected, and what to do.

Everything that a user can bring about raises a `HarmoniumError`, so that one `except` catches them
and the command can print each as a single line.
"""

__all__ = [  # the errors; the rest is for our own modules
    "HarmoniumError",
    "InputError",
    "Interrupted",
    "MissingDependencyError",
    "ModelFileError",
    "NotFiniteError",
]


class HarmoniumError(Exception):
    """Base of every error that harmonium raises on purpose."""


class InputError(HarmoniumError, ValueError):
    """The input cannot be used as given; says what was expected, what was found, what to do."""


class ModelFileError(InputError):
    """A file that should hold a model is missing, truncated, foreign or inconsistent."""


class NotFiniteError(HarmoniumError, ArithmeticError):
    """A quantity that must be finite is not, such as log Z of a model that has none."""


class MissingDependencyError(HarmoniumError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it."""


class Interrupted(KeyboardInterrupt):
    """A user's interruption of long work; the message says how far it got."""


def input_error(source: str, expected: str, found: str, advice: str) -> InputError:
    """Return the one-line error "SOURCE: expected ...; found ...; ADVICE."."""
    return InputError(" ".join(f"{source}: expected {expected}; found {found}; {advice}.".split()))


def count_of(number: int, noun: str) -> str:
    """Return "1 row", "1,437 rows"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
